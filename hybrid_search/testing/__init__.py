"""Stand-ins for what costs money or needs an account, for tests of code that uses this package.

A fake Bedrock that throttles twice, met by code that knows nothing of it:

>>> import os
>>> from unittest import mock
>>> from hybrid_search import retries
>>> from hybrid_search.embedders.titan import create
>>> with FakeBedrock() as bedrock, mock.patch.dict(os.environ, bedrock.environment()):
...     bedrock.script(faults.throttled(), faults.throttled())
...     with retries.testing():  # nothing waits
...         found = create().embed_query("blue whale")
>>> found.tokens, bedrock.calls
(3, 3)
"""

from hybrid_search.testing import faults
from hybrid_search.testing.bedrock import FakeBedrock
from hybrid_search.testing.faults import Fault, Request, Rule

__all__ = ["FakeBedrock", "Fault", "Request", "Rule", "faults"]
