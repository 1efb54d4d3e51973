"""One search, top to bottom: ask every leg, fuse on the client, fetch the page, say what happened.

retrieve
├── _checked            the request, made safe; errors name the value
├── asking.ask_all      every leg of every store, and every object of others, at one time
├── fusion.rrf          one order out of the rankings
└── _page               the chunks to show, read from the indexes that ranked them
"""

from __future__ import annotations

import math
import time
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hybrid_search import registry
from hybrid_search.asking import Asked, Asking
from hybrid_search.domain import (
    Chunk,
    Deadline,
    Fused,
    Hit,
    SearchRequest,
    SearchResult,
    Variant,
)
from hybrid_search.errors import Degraded as DegradedError
from hybrid_search.errors import InvalidInput, choices
from hybrid_search.foreign import document_key, text_of
from hybrid_search.protocols import LegIndex
from hybrid_search.text import clean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hybrid_search.domain import Filter
    from hybrid_search.protocols import Fusion, Index
    from hybrid_search.telemetry import QueryLog

MAX_WINDOW = 10_000
"""The engines' own limit on how deep a ranking goes."""
MAX_QUERY = 100_000
FETCH_SHARE = 0.15
"""Of a search's time, kept for reading the page once the legs have answered."""


class Retriever:
    """Searches one or more indexes at the same time and fuses their rankings.

    An index is a façade over a store (``BM25Index``, ``VectorIndex``, ...) or any object with
    ``add_document(document)`` and ``search(query, k)``. Raises ``ValueError`` without one.

    >>> class Words:
    ...     def __init__(self): self.documents = []
    ...     def add_document(self, document): self.documents.append(document)
    ...     def search(self, query, k):
    ...         found = [d for d in self.documents if query in d["content"]]
    ...         return [(d, 1.0) for d in found][:k]
    >>> retriever = Retriever(Words())
    >>> retriever.add_document({"id": "1", "content": "a lost parcel"})
    >>> [(d["id"], round(score, 4)) for d, score in retriever.search("parcel", k=3)]
    [('1', 0.0164)]
    """

    def __init__(
        self,
        *indexes: Index | LegIndex,
        tenants: Sequence[str] | None = None,
        deadline: float = 30.0,
        query_log: QueryLog | None = None,
    ) -> None:
        if not indexes:
            raise InvalidInput("Retriever() got no index: expected at least one")
        self._tenants = None if tenants is None else tuple(tenants)
        self._deadline = deadline
        self._query_log = query_log
        self._asking = Asking(indexes)

    @property
    def legs(self) -> tuple[str, ...]:
        """The names of the legs, in the order of the indexes."""
        return tuple(self._asking.indexes)

    def add_document(self, document: Any) -> None:
        """Make one searchable unit findable through every index; nothing is cut into chunks.

        Each distinct store is written once. ``content`` or ``text`` is what is searched; the key
        is the document's ``id``, else the object itself. Raises ``DocumentError``.
        """
        written: set[int] = set()
        for index in self._asking.writers():
            store = index.store if isinstance(index, LegIndex) else index
            if id(store) not in written:
                written.add(id(store))
                index.add_document(document)

    def search(
        self,
        query: str,
        k: int = 1,
        k_rrf: float = 60,
        candidates: int = 20,
        filter: Filter | None = None,  # noqa: A002
    ) -> list[tuple[Any, float]]:
        """Return the ``k`` best documents with their fused scores, best first.

        Each index contributes at least ``k`` and normally ``candidates`` hits.
        """
        request = SearchRequest(
            query,
            top_k=k,
            candidates=max(candidates, k),
            rank_constant=k_rrf,
            filter=filter,
        )
        asked, fused = self._fused(request)
        page = fused[:k]
        documents = self._documents(asked, page)
        return [(documents[f.chunk_id], f.score) for f in page if f.chunk_id in documents]

    def search_one(self, query: str, k: int) -> list[tuple[Any, float]]:
        """Return the first index's ``k`` best documents with its own scores, without a fusion."""
        asked, fused = self._fused(SearchRequest(query, top_k=k, candidates=k))
        documents = self._documents(asked, fused)
        scores = {hit.chunk_id: hit.score for hit in asked.rankings[0].hits} if fused else {}
        return [
            (documents[f.chunk_id], scores[f.chunk_id]) for f in fused if f.chunk_id in documents
        ]

    def retrieve(self, request: SearchRequest) -> SearchResult:
        """Run one search. Raises ``InvalidInput``; when every leg failed, the first failure.

        With ``strict``, raises ``errors.Degraded`` where anything did not answer in full.
        """
        started = time.monotonic()
        request_id = request.request_id or uuid.uuid4().hex
        asked, fused = self._fused(request)
        page = fused[request.offset : request.offset + request.top_k]
        result = SearchResult(
            query=request.query,
            hits=self._page(asked, page),
            legs=asked.reports,
            degraded=asked.degraded,
            notes=(*asked.notes, *_window_notes(request, len(fused))),
            request_id=request_id,
            rankings=asked.rankings,
            total=len(fused),
        )
        result = replace(result, took_ms=(time.monotonic() - started) * 1000)
        if self._query_log is not None:
            self._query_log.record(request, result)
        return result

    def ask(self, request: SearchRequest, only: Sequence[str] = ()) -> Asked:
        """Ask the legs without fusing; ``only`` restricts to these chunks (for explanations)."""
        checked, notes = _checked(request, self.legs)
        deadline = Deadline.after(checked.deadline or self._deadline)
        share = FETCH_SHARE * (checked.deadline or self._deadline)
        asked = self._asking.ask_all(
            checked, (Variant(checked.query),), self._scope(checked), deadline.earlier(share), only
        )
        return replace(asked, notes=(*notes, *asked.notes), deadline=deadline)

    def chunks(self, asked: Asked, fused: Sequence[Fused]) -> Mapping[str, Chunk]:
        """Read chunks of what was asked: one fetch a store, from the index that ranked each hit."""
        found: dict[str, Chunk] = {}
        for place in asked.places:
            wanted = {f.chunk_id for f in fused if f.chunk_id not in found}
            hits = [place.hits[key] for key in wanted if key in place.hits]
            if hits:
                found |= place.store.fetch(place.snapshot, hits, asked.deadline)
        for one in fused:
            if one.chunk_id not in found and one.chunk_id in asked.documents:
                found[one.chunk_id] = _as_chunk(asked.documents[one.chunk_id], one.chunk_id)
        return found

    def close(self) -> None:
        """Let go of the threads. Stores and embedders belong to who made them."""
        self._asking.close()

    def _fused(self, request: SearchRequest) -> tuple[Asked, list[Fused]]:
        _checked(request, self.legs)
        fusion: Fusion = registry.create(
            "fusion", "rrf", rank_constant=request.rank_constant, weights=dict(request.weights)
        )
        if request.offset >= request.candidates:
            return Asked(), []
        asked = self.ask(request)
        if asked.degraded and request.strict:
            parts = ", ".join(f"{d.leg}: {d.reason} ({d.detail})" for d in asked.degraded)
            raise DegradedError(f"strict search, but not every leg answered in full: {parts}")
        return asked, fusion(asked.rankings)[: request.candidates]

    def _scope(self, request: SearchRequest) -> tuple[str, ...] | None:
        """Narrow the caller's tenants by the request's; a request can never widen them."""
        if request.tenants is None or self._tenants is None:
            return self._tenants if request.tenants is None else request.tenants
        return tuple(t for t in request.tenants if t in self._tenants)

    def _page(self, asked: Asked, page: Sequence[Fused]) -> tuple[Hit, ...]:
        chunks = self.chunks(asked, page)
        return tuple(_hit(f, chunks[f.chunk_id]) for f in page if f.chunk_id in chunks)

    def _documents(self, asked: Asked, page: Sequence[Fused]) -> dict[str, Any]:
        """Give the caller's own objects where they are known, else what the store holds."""
        known: dict[str, Any] = {}
        for fused in page:
            known[fused.chunk_id] = asked.documents.get(fused.chunk_id)
            for index in self._asking.indexes.values():
                if known[fused.chunk_id] is None and isinstance(index, LegIndex):
                    known[fused.chunk_id] = index.original(fused.chunk_id)
        known = {key: document for key, document in known.items() if document is not None}
        rest = [f for f in page if f.chunk_id not in known]
        stored = {key: _as_document(chunk) for key, chunk in self.chunks(asked, rest).items()}
        return {**stored, **known}


def _checked(request: SearchRequest, legs: Sequence[str]) -> tuple[SearchRequest, tuple[str, ...]]:
    query, notes = clean(request.query) if isinstance(request.query, str) else ("", ())
    if not query.strip():
        raise InvalidInput(f"query is {request.query!r}: expected some words")
    if len(query) > MAX_QUERY:
        query = query[:MAX_QUERY]
        notes += (f"the query was cut to its first {MAX_QUERY:,} characters",)
    for name in ("top_k", "candidates"):
        value = getattr(request, name)
        if not _whole_number(value) or not 1 <= value <= MAX_WINDOW:
            raise InvalidInput(f"{name} is {value!r}: expected a whole number, 1 to {MAX_WINDOW:,}")
    offset = request.offset
    if not _whole_number(offset) or not 0 <= offset <= MAX_WINDOW - request.top_k:
        raise InvalidInput(
            f"offset is {offset!r}: expected 0 or more, with offset + top_k at most {MAX_WINDOW:,}"
        )
    if request.deadline is not None and not (
        isinstance(request.deadline, int | float) and 0 < request.deadline < math.inf
    ):
        raise InvalidInput(f"deadline is {request.deadline!r}: expected seconds above 0")
    if request.legs == ():
        raise InvalidInput(f"legs is empty: expected some of {', '.join(legs)}, or None for all")
    for leg in (*(request.legs or ()), *request.weights):
        if leg not in legs:
            raise choices("leg", leg, legs)
    return replace(request, query=query), notes


def _whole_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _window_notes(request: SearchRequest, total: int) -> tuple[str, ...]:
    if request.offset + request.top_k <= total or request.offset == 0:
        return ()
    if request.offset >= request.candidates or total == request.candidates:
        return (
            f"window end: pages reach {request.candidates} hits deep; raise candidates to go on",
        )
    return (f"end of the results: {total} chunks were found in all",)


def _hit(fused: Fused, chunk: Chunk) -> Hit:
    return Hit(
        id=fused.chunk_id,
        document_id=chunk.document_id,
        score=fused.score,
        fused_score=fused.score,
        text=chunk.text,
        title=chunk.title,
        metadata=chunk.metadata,
        contributions=fused.contributions,
        variant_scores={"direct": fused.score},
        headings=chunk.headings,
        source=chunk.source,
        position=chunk.position,
        start=chunk.start,
        end=chunk.end,
    )


def _as_document(chunk: Chunk) -> dict[str, Any]:
    return {**chunk.metadata, "id": chunk.document_id, "content": chunk.text}


def _as_chunk(document: Any, key: str) -> Chunk:
    """Show an object of others; what it calls its text may be known to its index only."""
    try:
        text = text_of(document)
    except InvalidInput:
        text = ""
    return Chunk(key, document_key(document), 0, text)
