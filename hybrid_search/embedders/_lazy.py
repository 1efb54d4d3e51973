"""Something costly that is made at first use, once, whichever thread comes first."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Once(Generic[T]):
    """Calls ``make`` at the first call and remembers what it gave; a failure is tried again.

    >>> made = Once(lambda: object())
    >>> made() is made()
    True
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: list[T] = []
        self._lock = threading.Lock()

    def __call__(self) -> T:
        """Return the one object."""
        with self._lock:
            if not self._made:
                self._made.append(self._make())
            return self._made[0]
