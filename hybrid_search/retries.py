"""The only retry policy: which errors, how often, how long, and who is told.

Nothing else in the package retries: the AWS and OpenSearch clients are built with their own
retries off, so the number of requests is the number of attempts made here. The wait is "full
jitter" (AWS Architecture Blog, "Exponential Backoff and Jitter"): uniform between nothing and a
window that doubles with each attempt.
"""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import tenacity

from hybrid_search.errors import HybridSearchError, ModelUnavailable, StoreUnavailable, Throttled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from hybrid_search.domain import Deadline

T = TypeVar("T")

_FIRST_WINDOW = 0.25


@dataclass(frozen=True, slots=True)
class Policy:
    """What to try again, and how patiently.

    Attributes:
        on: The error classes that are tried again, and no others.
        attempts: How many calls at most, the first one included.
        wait_max: The longest wait between two calls, in seconds.
        limits: Fewer attempts for some error classes; the first class that fits counts.
    """

    on: tuple[type[HybridSearchError], ...]
    attempts: int
    wait_max: float
    limits: Mapping[type[HybridSearchError], int] = field(default_factory=dict)


_TRANSIENT = (Throttled, ModelUnavailable, StoreUnavailable)

QUERY = Policy(on=_TRANSIENT, attempts=4, wait_max=1.0)
"""Somebody is waiting: about a second in all, then the search goes on without."""

INGEST = Policy(on=_TRANSIENT, attempts=15, wait_max=20.0)
"""Nobody is waiting: a minute and a half on average, which outlasts most storms."""


def call(
    function: Callable[[], T],
    policy: Policy,
    deadline: Deadline | None = None,
    on_retry: Callable[[str], None] | None = None,
    stop: threading.Event | None = None,
) -> T:
    """Call until it succeeds, or the attempts or the time are used up.

    Args:
        function: The whole attempt, reading of the answer's body included.
        policy: What to try again.
        deadline: No wait ends after it: then the call gives up at once.
        on_retry: Told the error's ``reason`` before each wait.
        stop: Once set, waits end and nothing is tried again.

    Returns:
        What the function returned.

    Raises:
        HybridSearchError: The last error of the function itself, never one about retrying.

    An error's ``retry_after`` (seconds), where it has one, is the least wait.

    >>> answers = iter([Throttled("busy"), "done"])
    >>> def attempt():
    ...     answer = next(answers)
    ...     if isinstance(answer, Exception):
    ...         raise answer
    ...     return answer
    >>> tally = Tally()
    >>> with testing():
    ...     call(attempt, QUERY, on_retry=tally)
    'done'
    >>> tally.counts
    {'throttled': 1}
    """
    try:
        return function()  # most calls succeed at once, and need no machinery
    except policy.on as error:
        first: HybridSearchError | None = error
    stop = stop or threading.Event()

    def attempt() -> T:
        nonlocal first
        if first is not None:
            known, first = first, None
            raise known
        return function()

    def given_up(state: tenacity.RetryCallState) -> bool:
        if stop.is_set() or state.attempt_number >= _allowed(policy, _error(state)):
            return True
        return deadline is not None and state.upcoming_sleep >= deadline.remaining()

    def tell(state: tenacity.RetryCallState) -> None:
        if on_retry is not None and (error := _error(state)) is not None:
            on_retry(error.reason)

    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(policy.on),
        stop=given_up,
        wait=_wait(policy),
        sleep=tenacity.sleep_using_event(stop),
        before_sleep=tell,
        reraise=True,
    )
    return retrying(attempt)


class Tally:
    """Counts retries by reason; give it as ``on_retry``. Safe to share between threads."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, reason: str) -> None:
        """Count one retry."""
        with self._lock:
            self._counts[reason] += 1

    @property
    def counts(self) -> dict[str, int]:
        """Retries so far by reason, most frequent first."""
        with self._lock:
            return dict(self._counts.most_common())


@dataclass(frozen=True, slots=True)
class _Testing:
    attempts: int | None


_testing: _Testing | None = None


@contextmanager
def testing(attempts: int | None = None) -> Iterator[None]:  # noqa: PT028 - no test itself
    """Within it nothing waits, in any thread; ``attempts`` caps every policy if given.

    For tests of code that uses this package, as ``stamina.set_testing`` is for its own.

    >>> with testing(attempts=1):
    ...     call(lambda: "one try", INGEST)
    'one try'
    """
    global _testing
    before, _testing = _testing, _Testing(attempts)
    try:
        yield
    finally:
        _testing = before


def _allowed(policy: Policy, error: HybridSearchError | None) -> int:
    limits = [count for kind, count in policy.limits.items() if isinstance(error, kind)]
    allowed = min([policy.attempts, *limits[:1]])
    mode = _testing
    return allowed if mode is None or mode.attempts is None else min(allowed, mode.attempts)


def _wait(policy: Policy) -> Callable[[tenacity.RetryCallState], float]:
    jitter = tenacity.wait_random_exponential(multiplier=_FIRST_WINDOW, max=policy.wait_max)

    def seconds(state: tenacity.RetryCallState) -> float:
        asked = getattr(_error(state), "retry_after", None)
        return 0.0 if _testing else max(jitter(state), asked or 0.0)

    return seconds


def _error(state: tenacity.RetryCallState) -> HybridSearchError | None:
    error = state.outcome.exception() if state.outcome is not None else None
    return error if isinstance(error, HybridSearchError) else None
