"""BM25 as Lucene has it, over the postings of FTS5.

``score(q, d) = sum over terms t of q: qtf * idf(t) * tf / (tf + k1 * (1 - b + b * len / avglen))``
with ``idf(t) = ln(1 + (N - df + 0.5) / (df + 0.5))``, k1 = 1.2, b = 0.75 and N the live chunks,
whatever the filter. FTS5's own ``bm25()`` sets the idf of every term in half the chunks or more
to nearly nothing and then orders otherwise than Lucene; reading its postings is also faster
(Robertson and Zaragoza 2009; Lucene's ``BM25Similarity`` since 8.0, without its factor k1 + 1).
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hybrid_search.analysis import TextField
    from hybrid_search.backends.embedded.columns import Array, Columns, Mask

K1 = 1.2
B = 0.75


class Found(NamedTuple):
    """Which slots a query finds, and the score of each slot (0 where it is not found)."""

    mask: Mask
    scores: NDArray[np.float64]


def match(
    connection: sqlite3.Connection,
    columns: Columns,
    name: TextField,
    terms: Sequence[str],
    *,
    every: bool = False,
) -> Found:
    """Find the chunks with any of the terms, or with every one, among all that are live."""
    size = len(columns.live)
    scores, hits = np.zeros(size), np.zeros(size, np.int32)
    factors = _length_factors(columns, name)
    wanted = Counter(terms)
    for term, times in wanted.items():
        slots, frequency = _postings(connection, columns, name, term)
        idf = _idf(columns.count, len(slots))
        scores[slots] += times * idf * frequency / (frequency + factors[slots])
        hits[slots] += 1
    mask = hits == len(wanted) if every and wanted else hits > 0
    return Found(mask, np.where(mask, scores, 0.0))


def phrase(
    connection: sqlite3.Connection, columns: Columns, name: TextField, terms: Sequence[str]
) -> Found:
    """Find the chunks with all terms next to each other, in order."""
    size = len(columns.live)
    idf, starts = 0.0, None
    for place, term in enumerate(terms):
        slots, offsets = _occurrences(connection, columns, name, term)
        idf += _idf(columns.count, len(np.unique(slots)))
        begin = (slots << _SHIFT) + offsets - place
        starts = begin if starts is None else np.intersect1d(starts, begin, assume_unique=True)
    if starts is None:
        return Found(np.zeros(size, bool), np.zeros(size))
    slots, frequency = np.unique(starts >> _SHIFT, return_counts=True)
    scores = np.zeros(size)
    scores[slots] = idf * frequency / (frequency + _length_factors(columns, name)[slots])
    return Found(columns.at(slots), scores)


_SHIFT = 32


def _idf(count: int, containing: int) -> float:
    return math.log(1 + (count - containing + 0.5) / (containing + 0.5))


def _length_factors(columns: Columns, name: TextField) -> Array:
    """``k1 * (1 - b + b * len / avglen)`` of every slot."""
    if name not in columns.length_factors:
        lengths = columns[f"{name}_tokens"]
        average = lengths[columns.live].sum() / max(1, columns.count) or 1.0
        columns.length_factors[name] = K1 * (1 - B + B * lengths / average)
    return columns.length_factors[name]


def _postings(
    connection: sqlite3.Connection, columns: Columns, name: TextField, term: str
) -> tuple[Array, Array]:
    """Return the live slots that hold a term, and how often each does."""
    # One string for all rows: fetching them one by one takes most of the time otherwise.
    sql = f"SELECT group_concat(doc) FROM {name}_terms WHERE term = ?"  # noqa: S608
    slots = _live_slots(columns, _integers(connection.execute(sql, (term,)).fetchone()[0]))[0]
    return np.unique(slots, return_counts=True)


def _occurrences(
    connection: sqlite3.Connection, columns: Columns, name: TextField, term: str
) -> tuple[Array, Array]:
    """Return slot and offset of every place where a term stands in a live chunk."""
    sql = f"SELECT group_concat(doc), group_concat(offset) FROM {name}_terms WHERE term = ?"  # noqa: S608
    numbers, offsets = map(_integers, connection.execute(sql, (term,)).fetchone())
    slots, known = _live_slots(columns, numbers)
    return slots, offsets[known]


def _live_slots(columns: Columns, numbers: Array) -> tuple[Array, Mask]:
    places, known = columns.slots(numbers)
    return places[known], known


def _integers(listed: Any) -> Array:
    return np.fromstring(listed or "", np.int64, sep=",")
