"""Fitting one text into Titan's two limits, losing as little as possible."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING

from hybrid_search.embedders._texts import cut
from hybrid_search.embedders._titan_model import MAX_CHARACTERS, token_share
from hybrid_search.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from hybrid_search.domain import Embedding

MAX_CUTS = 5
"""How often a text is made shorter before it is given up."""

_MARGIN = 0.97
"""Where the tokens are is an estimate: aim a little below the limit."""

_OVERFLOW = (
    re.compile(r"Max input tokens: (\d+), request input token count: (\d+)", re.IGNORECASE),
    re.compile(r"maxLength: (\d+), actual: (\d+)", re.IGNORECASE),
)


def fit(text: str, send: Callable[[str], Embedding]) -> Embedding:
    """Send the text, and send less of it as long as the model says that it is too long.

    ``truncated`` of the result is the number of characters lost at the end. Raises what ``send``
    raises, and ``DocumentError`` if the text is still too long after ``MAX_CUTS`` cuts.

    >>> import numpy as np
    >>> from hybrid_search.domain import Embedding
    >>> fit("a" * 50_010, lambda sent: Embedding(np.ones(1, np.float32))).truncated
    10
    """
    whole = text.strip()
    sent = cut(whole, MAX_CHARACTERS)
    for _ in range(MAX_CUTS):
        try:
            return replace(send(sent), truncated=len(whole) - len(sent))
        except DocumentError as error:
            size = smaller(sent, str(error))
            if not size:
                raise
            sent = cut(sent, size)
    return replace(send(sent), truncated=len(whole) - len(sent))


def smaller(text: str, message: str) -> int:
    """Compute the next size from an error's two numbers; 0 if it is about something else.

    The numbers say by how much to shrink; where that is in the text is estimated, because the end
    may hold more tokens than the beginning.

    >>> smaller("a" * 50_000, "Too many input tokens. Max input tokens: 8192, request input "
    ...     "token count: 10638")
    37348
    """
    for pattern in _OVERFLOW:
        found = pattern.search(message)
        if found:
            allowed, asked = map(int, found.groups())
            return _beginning(text, _MARGIN * allowed / asked) if asked else 0
    return 0


def _beginning(text: str, share: float) -> int:
    """Return the size of the beginning that holds this share of the text's tokens."""
    reached = list(accumulate(map(token_share, text)))
    return min(bisect_right(reached, reached[-1] * share), len(text) - 1)
