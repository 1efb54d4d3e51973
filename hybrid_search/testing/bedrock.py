"""A Bedrock on this machine, to be scripted: throttles, hangs, cuts bodies and refuses.

boto3 talks to it through ``endpoint_url`` over real HTTP, so what is tested is what runs.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from hybrid_search.testing import _titan
from hybrid_search.testing._server import BedrockServer, Route
from hybrid_search.testing.faults import Fault, Request, Rule, not_found

if TYPE_CHECKING:
    from collections.abc import Callable


class FakeBedrock:
    """Answers ``InvokeModel`` for Titan's text models on the loopback interface.

    Vectors have some meaning: texts that share words lie near each other. Rules are asked in the
    order they were added; the first that takes a request decides.

    >>> import json, urllib.request
    >>> with FakeBedrock() as bedrock:
    ...     url = f"{bedrock.endpoint_url}/model/amazon.titan-embed-text-v2:0/invoke"
    ...     sent = json.dumps({"inputText": "blue whale", "dimensions": 256}).encode()
    ...     request = urllib.request.Request(url, sent, {"Authorization": "any"})
    ...     with urllib.request.urlopen(request) as answer:
    ...         tokens = json.load(answer)["inputTextTokenCount"]
    >>> tokens, bedrock.texts
    (3, ['blue whale'])
    """

    def __init__(self, latency: float = 0.0) -> None:
        self.latency = latency
        """Seconds between a request and its answer."""

        self._lock = threading.Lock()
        self._rules: list[Rule] = []
        self._requests: list[Request] = []
        self._under_way = 0
        self._most_at_once = 0
        routes = (Route(r"/model/(?P<model>[^/]+)/invoke", "InvokeModel", _invoke_model),)
        self._server = BedrockServer(self, routes)

    def __enter__(self) -> FakeBedrock:
        self._server.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop answering; requests that hang are dropped."""
        for rule in self._rules:
            rule.release()
        self._server.stop()

    @property
    def endpoint_url(self) -> str:
        """Where it listens."""
        return self._server.url

    def environment(self) -> dict[str, str]:
        """Variables with which any AWS client here, or in a subprocess, talks to it."""
        return {
            "AWS_ACCESS_KEY_ID": "fake",
            "AWS_SECRET_ACCESS_KEY": "fake",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": self.endpoint_url,
            "NO_PROXY": "127.0.0.1",
        }

    def script(self, *faults: Fault) -> None:
        """Let the next requests meet these, one each, in this order (``ok()`` = a good answer)."""
        for fault in faults:
            self.fail(fault, times=1)

    def fail(
        self,
        fault: Fault,
        times: int | None = None,
        seconds: float | None = None,
        when: Callable[[Request], bool] | None = None,
    ) -> Rule:
        """Let requests meet a fault until it is released.

        Args:
            fault: What happens to them.
            times: To so many requests only.
            seconds: For so long only, from the first of them.
            when: To requests for which this is true only.

        Returns:
            The rule, to be released.
        """
        rule = Rule(fault, times, seconds, when)
        with self._lock:
            self._rules.append(rule)
        return rule

    @property
    def requests(self) -> list[Request]:
        """Every request so far, in the order of arrival."""
        with self._lock:
            return list(self._requests)

    @property
    def calls(self) -> int:
        """How many requests arrived."""
        return len(self.requests)

    @property
    def texts(self) -> list[str]:
        """The texts that were to be embedded, in the order of arrival."""
        return [request.text for request in self.requests]

    @property
    def most_at_once(self) -> int:
        """The most requests that were under way at one time."""
        return self._most_at_once

    def arrived(self, request: Request) -> Rule | None:
        """Record a request; return the rule it meets, if any. Called by the server."""
        with self._lock:
            self._requests.append(request)
            self._under_way += 1
            self._most_at_once = max(self._most_at_once, self._under_way)
            return next((rule for rule in self._rules if rule.takes(request)), None)

    def left(self) -> None:
        """Record that a request has its answer. Called by the server."""
        with self._lock:
            self._under_way -= 1


def _invoke_model(request: Request) -> dict[str, Any] | Fault:
    version = _titan.version_of(request.model)
    return _titan.answer(version, request.body) if version else not_found()
