"""One ask, answered from one moment of the store.

Every part of a query becomes a mask of the chunks it finds and a score for each; parts combine
by numpy. What the caller may not see is masked out of every part before the best are taken.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from hybrid_search.analysis import analyzer
from hybrid_search.backends.embedded import bm25
from hybrid_search.backends.embedded.bm25 import Found
from hybrid_search.backends.embedded.vectors import similarities
from hybrid_search.domain import Answer, Constant, Match, Nearest, RankedHit, Scored
from hybrid_search.errors import DeadlineExceeded, InvalidInput
from hybrid_search.schema import check_vector

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

    from hybrid_search.backends.embedded.columns import Array, Columns, Mask
    from hybrid_search.domain import Ask, Deadline, EngineQuery

MAX_TERMS = 1024
"""Different words of one text that are searched for; OpenSearch has the same limit."""


@dataclass(slots=True)
class Ranker:
    """Answers asks within one read transaction and one set of allowed chunks."""

    connection: sqlite3.Connection
    columns: Columns
    allowed: Mask
    index: str
    deadline: Deadline | None = None
    notes: list[str] = field(default_factory=list)

    def answer(self, ask: Ask) -> Answer:
        """Take the first alternative that finds anything, and of that the best.

        Raises ``InvalidInput`` for a vector that does not fit, and ``DeadlineExceeded``.
        """
        began = time.perf_counter()
        self.notes = []
        hits: tuple[RankedHit, ...] = ()
        within = self.allowed & self._only(ask.only) if ask.only else self.allowed
        for alternative in ask.alternatives:
            found = self._find(alternative)
            mask = found.mask & within
            count = np.count_nonzero(mask)
            if count:
                telling = ask.limit is None or count <= ask.limit
                hits = self._best(mask, found.scores, ask.size) if telling else ()
                break
        took = (time.perf_counter() - began) * 1000
        return Answer(hits, took_ms=took, notes=tuple(dict.fromkeys(self.notes)))

    def _find(self, query: EngineQuery) -> Found:
        if self.deadline and self.deadline.remaining() == 0:
            raise DeadlineExceeded("no answer within the time given")
        if isinstance(query, Match):
            return self._match(query)
        if isinstance(query, Nearest):
            return self._nearest(query)
        if isinstance(query, Constant):
            mask = self._find(query.query).mask
            return Found(mask, np.where(mask, query.score, 0.0))
        return self._scored(query)

    def _match(self, query: Match) -> Found:
        language = self.columns.meta.spec.language
        terms = self._cut(analyzer(language).tokens(query.field, query.text))
        if query.phrase:
            return bm25.phrase(self.connection, self.columns, query.field, terms)
        return bm25.match(self.connection, self.columns, query.field, terms, every=query.every)

    def _cut(self, terms: Sequence[str]) -> Sequence[str]:
        different = dict.fromkeys(terms)
        if len(different) <= MAX_TERMS:
            return terms
        self.notes.append(
            f"the query has {len(different)} different words: the first {MAX_TERMS} were searched"
        )
        kept = set(list(different)[:MAX_TERMS])
        return [term for term in terms if term in kept]

    def _nearest(self, query: Nearest) -> Found:
        spec = self.columns.meta.spec
        if spec.space is None:
            raise InvalidInput("this index holds no vectors: it was made without an embedder")
        vector = np.asarray(query.vector, np.float32).ravel()
        if wrong := check_vector(vector, spec.space):
            raise InvalidInput(f"the query can't be compared: {wrong}")
        scores = similarities(self.columns["vector"], vector, self.allowed, spec.space_type)
        return Found(self.allowed, scores)

    def _scored(self, query: Scored) -> Found:
        required = [self._find(part) for part in query.required]
        masks = [part.mask for part in required]
        combine = np.logical_and if query.every else np.logical_or
        mask = combine.reduce(masks) if masks else np.full(len(self.allowed), query.every)
        optional = [self._find(part) for part in query.optional]
        scores = np.zeros(len(self.allowed))
        for part in required + optional:
            scores += np.where(part.mask, part.scores, 0.0)
        return Found(mask, scores)

    def _only(self, ids: Iterable[str]) -> Mask:
        sql = "SELECT number FROM chunks WHERE id = ?"
        rows = [self.connection.execute(sql, (each,)).fetchone() for each in ids]
        return self.columns.mask(np.array([row[0] for row in rows if row], np.int64))

    def _best(self, mask: Mask, scores: Array, size: int) -> tuple[RankedHit, ...]:
        """Order by score as float32, so that noise of the sum is no order; then by chunk id."""
        if size < 1:
            return ()
        slots = np.flatnonzero(mask)
        rounded = scores[slots].astype(np.float32)
        if len(slots) > size:
            least = np.partition(rounded, len(slots) - size)[len(slots) - size]
            slots, rounded = slots[rounded >= least], rounded[rounded >= least]
        ids, documents = self.columns["id"][slots], self.columns["document_id"][slots]
        best = sorted(zip((-rounded).tolist(), ids, documents, strict=True))[:size]
        return tuple(RankedHit(i, -score, self.index, document) for score, i, document in best)


def needs_vectors(query: EngineQuery) -> bool:
    """Whether any part of a query looks at vectors."""
    if isinstance(query, Constant):
        return needs_vectors(query.query)
    if isinstance(query, Scored):
        return any(map(needs_vectors, query.required + query.optional))
    return isinstance(query, Nearest)
