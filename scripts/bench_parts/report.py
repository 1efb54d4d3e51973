"""Tables of results, for people, for programs and for the README, and the targets they are held to.

Times are taken by calling everything that is compared in turn, in one run, in an order shuffled
anew each time: on a shared machine only the ratios mean something.
"""

from __future__ import annotations

import random
import sys
import time
from collections import defaultdict
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


@dataclass(frozen=True, slots=True)
class Target:
    """A number that was promised."""

    what: str
    value: float
    bound: float
    at_most: bool = True

    @property
    def met(self) -> bool:
        """Whether the promise is kept."""
        return self.value <= self.bound if self.at_most else self.value >= self.bound

    def __str__(self) -> str:
        sign = "<=" if self.at_most else ">="
        verdict = "met" if self.met else "MISSED"
        return f"{verdict}: {self.what} is {_shown(self.value)}, target {sign} {self.bound:g}"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under columns, with what has to be known to read them."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    targets: tuple[Target, ...] = ()
    notes: tuple[str, ...] = ()
    formats: Mapping[str, str] = field(default_factory=dict)
    """How the numbers of a column are written, where three digits are not what is wanted."""

    def text(self) -> str:
        """Show it on a terminal."""
        cells = self._cells()
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join(
                cell.rjust(width) if place else cell.ljust(width)
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in cells
        ]
        return "\n".join((self.title, *lines, *map(str, self.targets), *self.notes, ""))

    def markdown(self) -> str:
        """Show it in a README."""
        head, *rows = self._cells()
        lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
        below = [f"{line}  " for line in (*map(str, self.targets), *self.notes)]
        return "\n".join((f"**{self.title}**", "", *lines, "", *below, ""))

    def _cells(self) -> list[list[str]]:
        """Write every value, the columns' names first."""
        formats = [self.formats.get(column, "") for column in self.columns]
        rows = [
            [format(v, f) if f else _shown(v) for v, f in zip(row, formats, strict=True)]
            for row in self.rows
        ]
        return [list(self.columns), *rows]

    def record(self) -> dict[str, Any]:
        """Show it to a program: unrounded, a row an object."""
        return {
            "title": self.title,
            "rows": [dict(zip(self.columns, row, strict=True)) for row in self.rows],
            "targets": [asdict(target) | {"met": target.met} for target in self.targets],
            "notes": list(self.notes),
        }


@dataclass(slots=True)
class Timings:
    """Wall-clock and processor milliseconds of calls by name. All threads' work counts as CPU."""

    seed: int = 1
    wall: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    cpu: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def interleave(self, calls: Mapping[str, Callable[[], object]]) -> None:
        """Time each call once, in a shuffled order."""
        names = list(calls)
        random.Random(self.seed).shuffle(names)
        self.seed += 1
        for name in names:
            self.take(name, calls[name])

    def take(self, name: str, call: Callable[[], object]) -> None:
        """Time one call."""
        wall, cpu = time.perf_counter(), time.process_time()
        call()
        self.cpu[name].append((time.process_time() - cpu) * 1000)
        self.wall[name].append((time.perf_counter() - wall) * 1000)

    def p50(self, name: str) -> float:
        """Return the median wall-clock time."""
        return percentile(self.wall[name], 0.5)

    def ratio(self, name: str, floor: str) -> float:
        """Return how the median stands to another's."""
        return self.p50(name) / self.p50(floor)

    def rows(self, floor: str) -> list[tuple[Any, ...]]:
        """Make a row a name: p50, p95, ratios of both to the floor's, CPU, its ratio."""
        return [
            (
                name,
                self.p50(name),
                percentile(self.wall[name], 0.95),
                self.ratio(name, floor),
                percentile(self.wall[name], 0.95) / percentile(self.wall[floor], 0.95),
                _mean(self.cpu[name]),
                _mean(self.cpu[name]) / _mean(self.cpu[floor]),
            )
            for name in self.wall
        ]


def say(message: str) -> None:
    """Show progress, apart from the results."""
    print(message, file=sys.stderr, flush=True)


def percentile(values: Iterable[float], share: float) -> float:
    """Return the smallest value that at least this share of all values does not exceed.

    >>> percentile([4, 1, 3, 2], 0.5), percentile([4, 1, 3, 2], 0.95)
    (2, 4)
    """
    ordered = sorted(values)
    rank = -int(-share * len(ordered) // 1)  # the ceiling
    return ordered[max(rank, 1) - 1]


TIMING_COLUMNS = ("", "p50 ms", "p95 ms", "p50 ratio", "p95 ratio", "CPU ms", "CPU ratio")


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _shown(value: Any) -> str:
    if not isinstance(value, float):
        return "" if value is None else str(value)
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) >= 1 else f"{value:.3f}"
