"""Asking every leg at one time. A leg that failed or answered in part is a value, not an error.

What is ready together goes to a store in one request: the text legs at once, the vector leg with
them when its vector is remembered, otherwise as soon as it is there.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from hybrid_search import filters
from hybrid_search.concurrency import Pool, outcome
from hybrid_search.domain import (
    Answer,
    Ask,
    Deadline,
    Degraded,
    LegReport,
    RankedHit,
    Ranking,
    Restriction,
    Snapshot,
)
from hybrid_search.errors import HybridSearchError, InvalidInput, Unavailable
from hybrid_search.foreign import chunk_key, document_key
from hybrid_search.protocols import LegIndex, Remembering

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from concurrent.futures import Future

    from hybrid_search.domain import SearchRequest, Variant, Vector
    from hybrid_search.protocols import Embedder, Index, Store

THREADS = 32
"""Of each of two pools: a hanging embedder can't keep the text legs from starting."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where hits of one store can be read."""

    store: Store
    snapshot: Snapshot
    hits: dict[str, RankedHit] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Asked:
    """What all legs said."""

    rankings: tuple[Ranking, ...] = ()
    reports: tuple[LegReport, ...] = ()
    degraded: tuple[Degraded, ...] = ()
    notes: tuple[str, ...] = ()
    places: tuple[Place, ...] = ()
    documents: dict[str, Any] = field(default_factory=dict)
    deadline: Deadline | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """What one leg said to one variant: an answer, or why there is none."""

    leg: str
    variant: Variant
    answer: Answer | HybridSearchError
    took_ms: float
    place: Place | None = None
    documents: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Question:
    """One leg's ask for one variant, and the vector it waits for."""

    leg: str
    index: LegIndex
    variant: Variant

    def ask(self, vector: Vector | None, request: SearchRequest, only: Sequence[str]) -> Ask | None:
        """Make the ask once the vector is there."""
        made = self.index.leg.ask(self.variant, vector, request.candidates)
        if made is None or not only:
            return made
        return Ask(made.alternatives, made.size, made.limit, tuple(only))


class Asking:
    """The indexes by name, and the threads that ask them."""

    def __init__(self, indexes: Sequence[Index | LegIndex]) -> None:
        self.indexes: dict[str, Index | LegIndex] = {}
        for index in indexes:
            self.indexes[_free_name(name_of(index), self.indexes)] = index
        self._text = Pool(THREADS, "hybrid-search-text")
        self._vector = Pool(THREADS, "hybrid-search-vector")

    def _key(self, document: Any) -> str:
        """Name a document by its own id; beside a store, as the store would name its chunk."""
        beside_store = any(isinstance(index, LegIndex) for index in self.indexes.values())
        return chunk_key(document) if beside_store else document_key(document)

    def writers(self) -> list[Index | LegIndex]:
        """List the indexes to write through: those that can embed come first."""
        return sorted(self.indexes.values(), key=lambda i: getattr(i, "embedder", None) is None)

    def ask_all(
        self,
        request: SearchRequest,
        variants: Sequence[Variant],
        tenants: tuple[str, ...] | None,
        deadline: Deadline,
        only: Sequence[str] = (),
    ) -> Asked:
        """Ask the request's legs. Raises when every one failed, and for what is no state of things.

        That is ``InvalidInput`` (an unknown field in the filter) and ``FingerprintMismatch``.
        """
        if tenants == ():
            return Asked(notes=("the scope is empty: nothing was searched",))
        chosen = {n: i for n, i in self.indexes.items() if n in (request.legs or self.indexes)}
        of_store: dict[int, list[Question]] = {}
        others: list[tuple[str, Variant, Future[Told]]] = []
        for name, index in chosen.items():
            if not isinstance(index, LegIndex):
                _refuse_filter(name, request, tenants)
                variant = variants[0]
                others.append((name, variant, self._ask_object(name, index, variant, request)))
                continue
            asked = variants[:1] if index.leg.literal else variants
            made = [Question(name, index, variant) for variant in asked]
            of_store.setdefault(id(index.store), []).extend(made)
        batches = [
            _Batch(self, questions, request, tenants, only, deadline)
            for questions in of_store.values()
        ]
        told = [t for batch in batches for t in batch.collect()]
        for name, variant, future in others:
            answered = outcome(future, deadline)
            if isinstance(answered, HybridSearchError):
                answered = Told(name, variant, answered, 0.0)
            told.append(answered)
        order = list(self.indexes)
        told.sort(key=lambda one: order.index(one.leg))
        return _summed_up(told)

    def _ask_object(
        self, name: str, index: Index, variant: Variant, request: SearchRequest
    ) -> Future[Told]:
        def ask() -> Told:
            started = time.monotonic()
            hits: list[RankedHit] = []
            documents: dict[str, Any] = {}
            for document, score in _searched(name, index, variant.text, request.candidates):
                key = self._key(document)
                if key not in documents:
                    documents[key] = document
                    hits.append(RankedHit(key, score))
            answer = Answer(tuple(hits[: request.candidates]))
            return Told(name, variant, answer, _ms(started), documents=documents)

        return self._text.start(ask)

    def start_text(self, call: Callable[[], list[Told]]) -> Future[list[Told]]:
        """Run what needs no vector."""
        return self._text.start(call)

    def start_vector(self, call: Callable[[], list[Told]]) -> Future[list[Told]]:
        """Run what waits for a vector."""
        return self._vector.start(call)

    def close(self) -> None:
        """Take no more searches."""
        self._text.close()
        self._vector.close()


class _Batch:
    """All questions to one store in one search."""

    def __init__(
        self,
        asking: Asking,
        questions: list[Question],
        request: SearchRequest,
        tenants: tuple[str, ...] | None,
        only: Sequence[str],
        deadline: Deadline,
    ) -> None:
        self._request = request
        self._only = only
        self._deadline = deadline
        self._store = questions[0].index.store
        self._text: list[tuple[Question, Vector | None]] = []
        self._futures: list[tuple[list[Question], Future[list[Told]]]] = []
        self._empty = questions
        snapshot = self._store.snapshot()
        if snapshot is None:
            return
        self._empty = []
        self._place = Place(self._store, snapshot)
        checked = filters.check(
            request.filter, self._store.fields(snapshot) if request.filter else {}
        )
        self._restriction = Restriction(tenants, checked)
        waiting: list[Question] = []
        for question in questions:
            vector = _remembered(question)
            if vector is None and question.index.leg.needs_vector:
                waiting.append(question)
            else:
                self._text.append((question, vector))
        for question in waiting:
            future = asking.start_vector(partial(self._embed_and_rank, question))
            self._futures.append(([question], future))
        if self._text and self._futures:
            text, self._text = self._text, []
            future = asking.start_text(partial(self._rank, text))
            self._futures.append(([q for q, _ in text], future))

    def collect(self) -> list[Told]:
        """Wait for all answers; what was not worth a thread is asked in this one."""
        nothing = Answer((), notes=("nothing has been added to this collection yet",))
        told = [Told(q.leg, q.variant, nothing, 0.0) for q in self._empty]
        if self._text:
            told += self._rank(self._text)
        for questions, future in self._futures:
            answered = outcome(future, self._deadline)
            if isinstance(answered, HybridSearchError):
                answered = [Told(q.leg, q.variant, answered, 0.0) for q in questions]
            told += answered
        return told

    def _embed_and_rank(self, question: Question) -> list[Told]:
        embedder: Embedder | None = question.index.embedder
        if embedder is None:
            raise InvalidInput(f"leg {question.leg!r} needs an embedder, and there is none")
        started = time.monotonic()
        try:
            vector = embedder.embed_query(question.variant.text, self._deadline).vector
        except Unavailable as error:
            return [Told(question.leg, question.variant, error, _ms(started))]
        return self._rank([(question, vector)], started)

    def _rank(
        self, questions: list[tuple[Question, Vector | None]], started: float | None = None
    ) -> list[Told]:
        started = time.monotonic() if started is None else started
        asks = [(q, q.ask(vector, self._request, self._only)) for q, vector in questions]
        sent = [ask for _, ask in asks if ask is not None]
        place, held = self._place, self._restriction
        answers = iter(self._store.rank(place.snapshot, sent, held, self._deadline))
        took = _ms(started)
        return [
            Told(q.leg, q.variant, Answer(()), 0.0)
            if ask is None
            else Told(q.leg, q.variant, next(answers), took, place)
            for q, ask in asks
        ]


def _searched(name: str, index: Index, text: str, k: int) -> list[tuple[Any, float]]:
    """Ask an object of others; what it raises, or can't be read, is a leg that did not answer."""
    try:
        return [(document, float(score)) for document, score in index.search(text, k)]
    except HybridSearchError:
        raise
    except Exception as error:
        raise Unavailable(f"{name} raised {type(error).__name__}: {error}") from error


def name_of(index: Any) -> str:
    """Name an index: its leg's name, its own ``name``, or its class."""
    if isinstance(index, LegIndex):
        return index.leg.name
    name = getattr(index, "name", None)
    return name if isinstance(name, str) and name else type(index).__name__


def _free_name(name: str, taken: Iterable[str]) -> str:
    names = set(taken)
    numbered = (f"{name}_{n}" for n in range(2, len(names) + 3))
    return name if name not in names else next(n for n in numbered if n not in names)


def _refuse_filter(name: str, request: SearchRequest, tenants: tuple[str, ...] | None) -> None:
    if request.filter is not None or tenants is not None:
        raise InvalidInput(
            f"index {name!r} takes no filter: its hits would not be held to it. Leave it out "
            "of this search (legs), or search without a filter"
        )


def _remembered(question: Question) -> Vector | None:
    embedder: object = question.index.embedder
    if not question.index.leg.needs_vector or not isinstance(embedder, Remembering):
        return None
    known = embedder.remembered(question.variant.text)
    return None if known is None else known.vector


def _summed_up(told: list[Told]) -> Asked:
    failures = [t.answer for t in told if isinstance(t.answer, HybridSearchError)]
    if failures and len(failures) == len(told):
        raise failures[0]
    for failure in failures:
        if not isinstance(failure, Unavailable):
            raise failure
    rankings: list[Ranking] = []
    notes: list[str] = []
    documents: dict[str, Any] = {}
    places: dict[int, Place] = {}
    for one in told:
        if isinstance(one.answer, HybridSearchError):
            continue
        rankings.append(
            Ranking(
                leg=one.leg,
                hits=one.answer.hits,
                variant=one.variant.origin,
                weight=one.variant.weight,
                scored=not one.documents,
            )
        )
        notes += one.answer.notes
        documents |= one.documents
        if one.place is not None:
            place = places.setdefault(id(one.place), one.place)
            for hit in one.answer.hits:
                place.hits.setdefault(hit.chunk_id, hit)
    return Asked(
        rankings=tuple(rankings),
        reports=tuple(_report(one) for one in told),
        degraded=tuple(d for one in told if (d := _degraded(one)) is not None),
        notes=tuple(dict.fromkeys(notes)),
        places=tuple(places.values()),
        documents=documents,
    )


def _report(told: Told) -> LegReport:
    lacking = _degraded(told)
    hits = 0 if isinstance(told.answer, HybridSearchError) else len(told.answer.hits)
    error = f"{lacking.reason}: {lacking.detail}" if lacking else ""
    return LegReport(told.leg, told.variant.origin, hits, round(told.took_ms, 2), error)


def _degraded(told: Told) -> Degraded | None:
    answer = told.answer
    if isinstance(answer, HybridSearchError):
        return Degraded(told.leg, answer.reason, str(answer))
    if answer.failed_shards:
        shards = f"{answer.failed_shards} of {answer.total_shards} shards did not answer"
        return Degraded(told.leg, "partial_shards", shards)
    if answer.timed_out:
        return Degraded(told.leg, "timed_out", "the engine stopped before it had seen everything")
    return None


def _ms(started: float) -> float:
    return (time.monotonic() - started) * 1000
