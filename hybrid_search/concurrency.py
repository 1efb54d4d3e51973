"""The one bounded pool: deadlines, copied context variables, failures kept as values."""

from __future__ import annotations

import contextvars
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, TypeVar

from hybrid_search.errors import DeadlineExceeded, HybridSearchError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hybrid_search.domain import Deadline

T = TypeVar("T")
U = TypeVar("U")


class Pool:
    """A thread pool whose tasks see the caller's context and give failures as values.

    A thread that outlives its deadline cannot be stopped; every outgoing call has its own
    timeout, so it ends by itself.

    >>> with Pool(2) as pool:
    ...     pool.all([lambda: 1, lambda: 2])
    [1, 2]
    """

    def __init__(self, workers: int, name: str = "hybrid-search") -> None:
        self._executor = ThreadPoolExecutor(max_workers=workers, thread_name_prefix=name)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def start(self, call: Callable[[], T]) -> Future[T]:
        """Run ``call`` in a thread, with a copy of the caller's context variables."""
        return self._executor.submit(contextvars.copy_context().run, call)

    def all(
        self, calls: Sequence[Callable[[], T]], deadline: Deadline | None = None
    ) -> list[T | HybridSearchError]:
        """Run all calls and wait for them: one value a call, in order.

        A ``HybridSearchError`` is returned in its call's place; any other exception is a defect
        and is raised once all calls have ended.
        """
        futures = [self.start(call) for call in calls]
        wait(futures, timeout=None if deadline is None else deadline.remaining())
        return [outcome(future, deadline) for future in futures]  # type: ignore[arg-type]

    def close(self) -> None:
        """Take no more work; threads end with what they are doing."""
        self._executor.shutdown(wait=False, cancel_futures=True)


def outcome(future: Future[U], deadline: Deadline | None = None) -> U | HybridSearchError:
    """Wait for a future until the deadline and return its value or its failure.

    Raises whatever is no ``HybridSearchError``: that is a defect, not a state of the world.
    """
    done, _ = wait([future], timeout=None if deadline is None else deadline.remaining())
    if not done:
        return DeadlineExceeded("no answer within the time given")
    failure = future.exception()
    if failure is None:
        return future.result()
    if isinstance(failure, HybridSearchError):
        return failure
    raise failure
