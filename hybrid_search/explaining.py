"""Why a chunk stands where it stands, or is not there; and the legs side by side."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hybrid_search import registry
from hybrid_search.domain import Chunk, Contribution, Degraded, Fused, LegReport, RankedHit
from hybrid_search.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hybrid_search.asking import Asked
    from hybrid_search.domain import Ranking, SearchRequest
    from hybrid_search.protocols import Store
    from hybrid_search.retriever import Retriever


@dataclass(frozen=True, slots=True)
class Placed:
    """One chunk at one rank of one column."""

    rank: int
    id: str
    document_id: str
    score: float
    text: str
    title: str
    headings: tuple[str, ...] = ()
    contributions: tuple[Contribution, ...] = ()


@dataclass(frozen=True, slots=True)
class Column:
    """One leg's top, or the fusion's with one rank constant."""

    name: str
    hits: tuple[Placed, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Each leg's top and the fusions', side by side, out of one search."""

    query: str
    columns: tuple[Column, ...]
    legs: tuple[LegReport, ...]
    degraded: tuple[Degraded, ...]
    notes: tuple[str, ...]
    took_ms: float


@dataclass(frozen=True, slots=True)
class LegExplanation:
    """How one leg saw one chunk.

    ``rank`` is None outside the window; ``raw_score`` None where the leg does not find it at all;
    ``last_score`` is that of the last chunk of the window, which it would have had to beat.
    """

    leg: str
    variant: str
    rank: int | None
    raw_score: float | None
    points: float
    last_score: float | None
    window: int
    why: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """Where one chunk stands for one query, and why. ``rank`` is None outside the window."""

    query: str
    id: str
    document_id: str
    text: str
    title: str
    headings: tuple[str, ...]
    rank: int | None
    total: int
    score: float
    legs: tuple[LegExplanation, ...]
    degraded: tuple[Degraded, ...]
    notes: tuple[str, ...]
    took_ms: float


def compare(
    retriever: Retriever, request: SearchRequest, rank_constants: Sequence[float], top: int
) -> Comparison:
    """Ask once, and fuse the same rankings once for each rank constant."""
    started = time.monotonic()
    asked = retriever.ask(request)
    columns = [(r.leg, _as_fused(r)[:top]) for r in asked.rankings]
    for constant in rank_constants:
        fused = _fuse(replace(request, rank_constant=constant), asked)
        columns.append((f"fused (k={constant:g})", fused[:top]))
    chunks = retriever.chunks(asked, [f for _, column in columns for f in column])
    return Comparison(
        query=request.query,
        columns=tuple(Column(name, _placed(column, chunks)) for name, column in columns),
        legs=asked.reports,
        degraded=asked.degraded,
        notes=asked.notes,
        took_ms=(time.monotonic() - started) * 1000,
    )


def explain(
    retriever: Retriever, store: Store, tenant: str, request: SearchRequest, wanted: str
) -> Explanation:
    """Explain one chunk, or the best chunk of one document. Raises ``NotFound``."""
    started = time.monotonic()
    asked = retriever.ask(request)
    fused = _fuse(request, asked)
    candidates = _candidates(store, tenant, wanted)
    places = {f.chunk_id: rank for rank, f in enumerate(fused, 1) if f.chunk_id in candidates}
    alone = retriever.ask(request, only=list(candidates))
    best = min(places, key=places.__getitem__) if places else _best(request, alone, candidates)
    chunk = candidates[best]
    found = next((f for f in fused if f.chunk_id == best), None)
    return Explanation(
        query=request.query,
        id=best,
        document_id=chunk.document_id,
        text=chunk.text,
        title=chunk.title,
        headings=chunk.headings,
        rank=places.get(best),
        total=len(fused),
        score=found.score if found else 0.0,
        legs=tuple(_legs(best, found, asked, alone, request.candidates)),
        degraded=asked.degraded,
        notes=asked.notes,
        took_ms=(time.monotonic() - started) * 1000,
    )


def _candidates(store: Store, tenant: str, wanted: str) -> dict[str, Chunk]:
    chunks = {chunk.id: chunk for chunk in store.chunks(tenant, wanted)}
    snapshot = store.snapshot()
    if not chunks and snapshot is not None:
        chunks = store.fetch(snapshot, [RankedHit(wanted, 0.0)])
        chunks = {k: c for k, c in chunks.items() if _seen(store, tenant, c)}
    if not chunks:
        raise NotFound(f"there is no document and no chunk {wanted!r} in this collection")
    return chunks


def _seen(store: Store, tenant: str, chunk: Chunk) -> bool:
    """A chunk id of another tenant's is no way around the scope."""
    return not tenant or any(own.id == chunk.id for own in store.chunks(tenant, chunk.document_id))


def _best(request: SearchRequest, alone: Asked, candidates: Mapping[str, Chunk]) -> str:
    fused = _fuse(request, alone)
    return fused[0].chunk_id if fused else next(iter(candidates))


def _legs(
    chunk_id: str, fused: Fused | None, asked: Asked, alone: Asked, window: int
) -> list[LegExplanation]:
    contributions = {(c.leg, c.variant): c for c in (fused.contributions if fused else ())}
    scores = {
        (r.leg, r.variant): hit.score
        for r in alone.rankings
        for hit in r.hits
        if hit.chunk_id == chunk_id
    }
    explained = []
    for ranking in asked.rankings:
        key = (ranking.leg, ranking.variant)
        given = contributions.get(key)
        score = given.raw_score if given else scores.get(key)
        last = ranking.hits[-1].score if ranking.hits else None
        explained.append(
            LegExplanation(
                leg=ranking.leg,
                variant=ranking.variant,
                rank=given.rank if given else None,
                raw_score=score,
                points=given.points if given else 0.0,
                last_score=last,
                window=window,
                why=_why(ranking, given, score, last),
            )
        )
    return explained


def _why(
    ranking: Ranking, given: Contribution | None, score: float | None, last: float | None
) -> str:
    if given is not None:
        count = len(ranking.hits)
        return f"rank {given.rank} of the {count} that this leg found"
    if not ranking.hits:
        return "the leg had nothing to say to this query"
    if score is None:
        return "not found: it holds nothing of what this leg asked for"
    return f"outside the window: scores {score:.4g}, the last of {len(ranking.hits)} has {last:.4g}"


def _fuse(request: SearchRequest, asked: Asked) -> list[Fused]:
    fusion = registry.create(
        "fusion", "rrf", rank_constant=request.rank_constant, weights=dict(request.weights)
    )
    fused: list[Fused] = fusion(asked.rankings)[: request.candidates]
    return fused


def _as_fused(ranking: Ranking) -> list[Fused]:
    return [Fused(hit.chunk_id, hit.score) for hit in ranking.hits]


def _placed(column: Sequence[Fused], chunks: Mapping[str, Chunk]) -> tuple[Placed, ...]:
    placed = []
    for rank, fused in enumerate(column, 1):
        if (chunk := chunks.get(fused.chunk_id)) is not None:
            placed.append(
                Placed(
                    rank=rank,
                    id=fused.chunk_id,
                    document_id=chunk.document_id,
                    score=fused.score,
                    text=chunk.text,
                    title=chunk.title,
                    headings=chunk.headings,
                    contributions=fused.contributions,
                )
            )
    return tuple(placed)
