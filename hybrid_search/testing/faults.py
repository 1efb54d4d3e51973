"""What can go wrong at a fake Bedrock, and when.

Codes and statuses are those of botocore's service model ``bedrock-runtime``; the texts are those
AWS sends, where one is known.

>>> request = Request("InvokeModel", "amazon.titan-embed-text-v2:0", {"inputText": "x"}, {})
>>> rule = Rule(throttled(), times=1)
>>> rule.takes(request), rule.takes(request)
(True, False)
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it arrived. ``text`` is what was to be embedded, or empty."""

    operation: str
    model: str
    body: Mapping[str, Any]
    headers: Mapping[str, str]

    @property
    def text(self) -> str:
        """The text of an embedding request."""
        return str(self.body.get("inputText", ""))


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to a request instead of a good answer.

    Attributes:
        code: The AWS error's name; empty for a good answer.
        status: Its HTTP status.
        message: Its text.
        delay: Seconds to wait before that; less if the rule is released.
        body: Send this instead of the answer, e.g. a proxy's page.
        cut: Send only half of the body, and close.
        drop: Send nothing, and close.
        headers: More headers, e.g. ``x-amz-retry-after``.
    """

    code: str = ""
    status: int = 200
    message: str = ""
    delay: float = 0.0
    body: bytes = b""
    cut: bool = False
    drop: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)


class Rule:
    """When a fault happens: while it has times and seconds left, and is not released."""

    def __init__(
        self,
        fault: Fault,
        times: int | None = None,
        seconds: float | None = None,
        when: Callable[[Request], bool] | None = None,
    ) -> None:
        self.fault = fault
        self.released = threading.Event()
        self._left = times
        self._seconds = seconds
        self._first: float | None = None
        self._when = when
        self._lock = threading.Lock()

    def release(self) -> None:
        """End it: requests that hang are dropped, later ones are answered well."""
        self.released.set()

    def takes(self, request: Request) -> bool:
        """Say whether this request meets the fault, and count it if so."""
        if self._when is not None and not self._when(request):
            return False
        with self._lock:
            if self.released.is_set() or self._left == 0 or self._over():
                return False
            self._left = None if self._left is None else self._left - 1
            return True

    def _over(self) -> bool:
        now = time.monotonic()
        self._first = now if self._first is None else self._first
        return self._seconds is not None and now - self._first >= self._seconds


def ok() -> Fault:
    """No fault: a good answer, to stand between others in a script."""
    return Fault()


def throttled(retry_after: float | None = None) -> Fault:
    """429, with the header that says for how long if given (seconds)."""
    headers = {} if retry_after is None else {"x-amz-retry-after": str(int(retry_after * 1000))}
    text = "Too many requests, please wait before trying again."
    return Fault("ThrottlingException", 429, text, headers=headers)


def not_ready() -> Fault:
    """429, but no throttling: the model is being loaded."""
    return Fault("ModelNotReadyException", 429, "Model is not ready for inference.")


def model_timeout() -> Fault:
    """408: the model took too long."""
    return Fault("ModelTimeoutException", 408, "The request took too long to process.")


def model_error() -> Fault:
    """424: the model failed on this request."""
    text = "The system encountered an unexpected error during processing. Try your request again."
    return Fault("ModelErrorException", 424, text)


def internal_error() -> Fault:
    """500."""
    return Fault("InternalServerException", 500, "An internal server error occurred.")


def unavailable() -> Fault:
    """503."""
    return Fault("ServiceUnavailableException", 503, "The service isn't currently available.")


def quota_exceeded() -> Fault:
    """400: a quota of the account is used up."""
    return Fault("ServiceQuotaExceededException", 400, "Your request exceeds the service quota.")


def invalid(message: str = "Malformed input request, please reformat your input.") -> Fault:
    """400: this request can't be answered."""
    return Fault("ValidationException", 400, message)


def access_denied() -> Fault:
    """403: the credentials are known and may not do this."""
    return Fault(
        "AccessDeniedException",
        403,
        "You don't have access to the model with the specified model ID.",
    )


def unrecognized_client() -> Fault:
    """403: the access key is not known."""
    text = "The security token included in the request is invalid."
    return Fault("UnrecognizedClientException", 403, text)


def expired_token() -> Fault:
    """403: the session's credentials were good once."""
    text = "The security token included in the request is expired"
    return Fault("ExpiredTokenException", 403, text)


def not_found() -> Fault:
    """404: no such model in this region."""
    text = "Could not resolve the foundation model from the provided model identifier."
    return Fault("ResourceNotFoundException", 404, text)


def html() -> Fault:
    """200, with a page of some proxy for a body."""
    return Fault(body=b"<html><body>Please sign in</body></html>")


def cut_body() -> Fault:
    """200, and the connection closes half-way through the body."""
    return Fault(cut=True)


def hang() -> Fault:
    """No answer: the connection closes when the rule is released, or after a minute."""
    return Fault(drop=True, delay=60.0)


def dropped() -> Fault:
    """The connection closes without an answer."""
    return Fault(drop=True)


def slow(seconds: float) -> Fault:
    """A good answer, late."""
    return Fault(delay=seconds)
