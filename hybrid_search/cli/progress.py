"""How far an ``add`` is: a bar on a terminal, elsewhere one line a minute."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, TextColumn
from rich.progress import Progress as Bar
from rich.text import Text

from hybrid_search.cli.printing import duration

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.progress import Task

    from hybrid_search.cli.session import Session
    from hybrid_search.domain import WriteResult

EVERY = 60.0
"""Seconds between two lines where there is no terminal."""


class Progress:
    """Told of each result; shows what it means for the whole. A context manager."""

    def __init__(
        self, session: Session, total: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._session = session
        self._total = total
        self._clock = clock
        self._done = 0
        self._began = self._said = clock()
        self._bar = _bar(session) if session.err.is_terminal else None

    def __enter__(self) -> Progress:
        if self._bar is not None:
            self._bar.start()
            self._bar.add_task("adding", total=self._total)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, result: WriteResult) -> None:
        """Count one document, stored or not."""
        del result
        self._done += 1
        if self._bar is not None:
            self._bar.advance(self._bar.task_ids[0])
        elif self._clock() - self._said >= EVERY:
            self._said = self._clock()
            self._session.note(self._line())

    def _line(self) -> str:
        pace = _pace(self._done, self._total, self._clock() - self._began)
        return f"{self._done:,} of {self._total:,} documents, {pace}"


class _Pace(ProgressColumn):
    """Documents a second since the beginning, because batches end in bursts; and the time left."""

    def render(self, task: Task) -> Text:
        if not task.completed or not task.elapsed or task.total is None:
            return Text("first batch ...", "dim")
        return Text(_pace(task.completed, task.total, task.elapsed), "dim")


def _pace(done: float, total: float, seconds: float) -> str:
    rate = done / max(seconds, 0.001)
    return f"{rate:,.1f} a second, {duration((total - done) / rate)} left"


def _bar(session: Session) -> Bar:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), _Pace())
    return Bar(*columns, console=session.err, transient=True)
