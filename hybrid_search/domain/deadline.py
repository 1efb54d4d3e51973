"""How long something may take."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment after which an answer is of no use. ``at`` is on the monotonic clock.

    >>> Deadline.after(5).remaining() <= 5
    True
    """

    at: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """Make the deadline that lies so many seconds ahead."""
        return cls(time.monotonic() + seconds)

    def remaining(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self.at - time.monotonic())

    def earlier(self, seconds: float) -> Deadline:
        """Return the deadline that lies so many seconds before this one."""
        return Deadline(self.at - seconds)
