"""What every search needs of every chunk, in memory: ids, tenants, lengths and vectors.

``Columns`` never change once made, so a search works on one moment without a lock. The next
state shares their arrays: new chunks are appended beyond what older states look at, removed
ones are only marked, and when a quarter is marked everything is read afresh.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from hybrid_search.backends.embedded.tables import TEXT_FIELDS
from hybrid_search.backends.embedded.vectors import comparable

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from hybrid_search.backends.embedded.tables import Meta
    from hybrid_search.domain import IndexSpec

Array: TypeAlias = "NDArray[Any]"
Mask: TypeAlias = "NDArray[np.bool_]"

REMOVALS_KEPT = 1000
"""Changes whose removed chunks stay listed; who is further behind reads everything again."""
_WORTH_KEEPING = 0.75
_BLOCK = 2000
_VECTOR = "vector"
_KINDS: dict[str, Any] = {
    "number": np.int64, "id": object, "document_id": object, "tenant": np.int32,
} | {f"{name}_tokens": np.int32 for name in TEXT_FIELDS}  # fmt: skip
_CHUNKS = f"SELECT {', '.join(_KINDS)} FROM chunks WHERE number > ? ORDER BY number"  # noqa: S608
_VECTORS = "SELECT vector FROM vectors WHERE number > ? ORDER BY number"


class Growing:
    """An array with room at its end: appending does not move what is there."""

    def __init__(self, width: tuple[int, ...], dtype: Any) -> None:
        self._room = np.empty((0, *width), dtype)
        self._used = 0

    def append(self, rows: Array) -> None:
        """Add rows at the end."""
        end = self._used + len(rows)
        if end > len(self._room):
            bigger = np.empty(
                (max(end, len(self._room) * 3 // 2), *self._room.shape[1:]), self._room.dtype
            )
            bigger[: self._used] = self._room[: self._used]
            self._room = bigger
        self._room[self._used : end] = rows
        self._used = end

    def view(self) -> Array:
        """Return all rows so far."""
        return self._room[: self._used]


@dataclass(frozen=True, slots=True)
class Columns:
    """One moment of all chunks; slot i of every column is the same chunk, in number order."""

    meta: Meta
    growing: dict[str, Growing]
    tenants: dict[str, int]
    live: Mask
    length_factors: dict[str, Array] = field(default_factory=dict)
    """BM25's length factor of every chunk by text field, kept by ``bm25``."""

    def __getitem__(self, name: str) -> Array:
        return self.growing[name].view()[: len(self.live)]

    @property
    def count(self) -> int:
        """How many chunks there are."""
        return int(np.count_nonzero(self.live))

    def slots(self, numbers: Array) -> tuple[Array, Mask]:
        """Find the slots of chunk numbers, and say which of the numbers are there and live."""
        places = np.searchsorted(self["number"], numbers)
        places[places == len(self.live)] = 0
        if not len(self.live):
            return places, np.zeros(len(numbers), bool)
        return places, (self["number"][places] == numbers) & self.live[places]

    def mask(self, numbers: Array) -> Mask:
        """Return the live chunks among these numbers."""
        places, known = self.slots(numbers)
        return self.at(places[known])

    def at(self, places: Array) -> Mask:
        """Return a mask that is true at these slots."""
        found = np.zeros(len(self.live), bool)
        found[places] = True
        return found

    def of_tenants(self, names: Iterable[str]) -> Mask:
        """Return the live chunks of these tenants."""
        codes = [self.tenants[name] for name in names if name in self.tenants]
        return self.live & np.isin(self["tenant"], codes)


def next_columns(
    connection: sqlite3.Connection, meta: Meta, last: Columns | None, *, vectors: bool
) -> Columns:
    """Read what is new since ``last``, in the transaction in which ``meta`` was read."""
    if last is None or not _continues(last, meta, vectors=vectors):
        return _read_all(connection, meta, vectors=vectors)
    if last.meta == meta:
        return last
    sql = "SELECT number FROM removed WHERE change > ?"
    gone = [row[0] for row in connection.execute(sql, (last.meta.change,))]
    live = last.live & ~last.mask(np.array(gone, np.int64))
    if np.count_nonzero(live) < _WORTH_KEEPING * len(live):
        return _read_all(connection, meta, vectors=vectors)
    return _read_new(connection, meta, last, live)


def _continues(last: Columns, meta: Meta, *, vectors: bool) -> bool:
    behind = meta.change - last.meta.change
    same = last.meta.incarnation == meta.incarnation and 0 <= behind <= REMOVALS_KEPT
    return same and (not vectors or _VECTOR in last.growing)


def _read_all(connection: sqlite3.Connection, meta: Meta, *, vectors: bool) -> Columns:
    growing = {name: Growing((), kind) for name, kind in _KINDS.items()}
    if vectors and meta.spec.space:
        growing[_VECTOR] = Growing((meta.spec.space.dimensions,), np.float32)
    return _read_new(connection, meta, Columns(meta, growing, {}, np.zeros(0, bool)))


def _read_new(
    connection: sqlite3.Connection, meta: Meta, last: Columns, live: Mask | None = None
) -> Columns:
    """Append the chunks with higher numbers to the columns of ``last``."""
    live = last.live if live is None else live
    after = int(last["number"][-1]) if len(live) else 0
    added = 0
    for rows in _blocks(connection, _CHUNKS, after):
        for (name, kind), values in zip(_KINDS.items(), zip(*rows, strict=True), strict=True):
            column = _codes(last.tenants, values) if name == "tenant" else values
            last.growing[name].append(np.array(column, kind))
        added += len(rows)
    if _VECTOR in last.growing:
        for rows in _blocks(connection, _VECTORS, after):
            last.growing[_VECTOR].append(_stored(rows, meta.spec))
    live = np.concatenate([live, np.ones(added, bool)])
    return Columns(meta, last.growing, last.tenants, live)


def _blocks(
    connection: sqlite3.Connection, sql: str, after: int
) -> Iterator[list[tuple[Any, ...]]]:
    cursor = connection.execute(sql, (after,))
    while rows := cursor.fetchmany(_BLOCK):
        yield rows


def _codes(tenants: dict[str, int], names: Iterable[str]) -> list[int]:
    return [tenants.setdefault(name, len(tenants)) for name in names]


def _stored(rows: list[tuple[Any, ...]], spec: IndexSpec) -> Array:
    vectors = np.frombuffer(b"".join(row[0] for row in rows), "<f4").reshape(len(rows), -1)
    return comparable(vectors, spec.space_type)
