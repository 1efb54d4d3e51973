"""One search: what is asked for, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hybrid_search.domain.documents import Metadata
    from hybrid_search.domain.filtering import Filter
    from hybrid_search.domain.questions import RankedHit


@dataclass(frozen=True, slots=True)
class Variant:
    """One text to search with, its weight, and where it came from."""

    text: str
    weight: float = 1.0
    origin: str = "direct"


@dataclass(frozen=True, slots=True)
class Ranking:
    """What one leg found for one variant, best first. The first rank is 1."""

    leg: str
    hits: tuple[RankedHit, ...]
    variant: str = "direct"
    weight: float = 1.0
    scored: bool = True
    """False for objects of others: only their ranks are meaningful."""


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one ranking gave one hit. Absent from a ranking = no contribution, zero points."""

    leg: str
    variant: str
    rank: int
    raw_score: float
    points: float


@dataclass(frozen=True, slots=True)
class Fused:
    """One chunk after the fusion of one variant: ``score == math.fsum(points)``.

    ``parts`` are the values of its contributions, which are made when they are looked at: of
    a window of hundreds, a page shows ten.
    """

    chunk_id: str
    score: float
    parts: tuple[tuple[str, str, int, float, float], ...] = ()

    @property
    def contributions(self) -> tuple[Contribution, ...]:
        """What each ranking gave, in the order of the rankings."""
        return tuple(Contribution(*part) for part in self.parts)


@dataclass(frozen=True, slots=True)
class LegReport:
    """How one leg did for one variant. ``error`` is empty when it answered in full."""

    leg: str
    variant: str
    hits: int
    took_ms: float
    error: str = ""


@dataclass(frozen=True, slots=True)
class Degraded:
    """A part of the search that did not take part, and why."""

    leg: str
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Hit:
    """One result. ``score`` is final; ``fused_score`` is what the fusion gave."""

    id: str
    document_id: str
    score: float
    fused_score: float
    text: str
    title: str
    metadata: Metadata
    contributions: tuple[Contribution, ...]
    variant_scores: Mapping[str, float] = field(default_factory=dict)
    headings: tuple[str, ...] = ()
    source: str = ""
    position: int = 0
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """Everything one search depends on.

    ``candidates`` is how many hits each ranking contributes; ``top_k`` and ``offset`` are the
    page and never change the order. ``tenants`` of None leaves the caller's own scope.
    """

    query: str
    top_k: int = 10
    offset: int = 0
    candidates: int = 100
    rank_constant: float = 60
    filter: Filter | None = None
    legs: tuple[str, ...] | None = None
    weights: Mapping[str, float] = field(default_factory=dict)
    tenants: tuple[str, ...] | None = None
    strict: bool = False
    deadline: float | None = None
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A page of hits, and everything that led to it."""

    query: str
    hits: tuple[Hit, ...]
    legs: tuple[LegReport, ...]
    degraded: tuple[Degraded, ...] = ()
    notes: tuple[str, ...] = ()
    took_ms: float = 0.0
    request_id: str = ""
    rankings: tuple[Ranking, ...] = ()
    total: int = 0
    """How many chunks the window holds; pages end there."""
