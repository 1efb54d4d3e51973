"""Every noun that travels between modules: frozen, slotted, and free of engines.

This module imports the standard library only, so that the client SDK can share it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector: TypeAlias = NDArray[np.float32]

Metadata: TypeAlias = Mapping[str, Any]
Op = Literal["eq", "in", "range", "exists"]
FieldType = Literal["keyword", "integer", "float", "boolean", "date"]


# --- What a user adds, and what is stored of it -----------------------------------------------


@dataclass(frozen=True, slots=True)
class Document:
    """What a user adds: an id, a text, a title, metadata, and where it came from.

    >>> Document("handbook", "Ask before you order.").title
    ''
    """

    id: str
    text: str
    title: str = ""
    metadata: Metadata = field(default_factory=dict)
    source: str = ""


@dataclass(frozen=True, slots=True)
class Chunk:
    """The unit that is searched: ``text == document.text[start:end]``.

    ``headings`` is the path of headings above the chunk's own, outermost first. ``parent`` is
    the id of the chunk that is shown instead of this one, or empty.
    """

    id: str
    document_id: str
    position: int
    text: str
    start: int = 0
    end: int = 0
    title: str = ""
    headings: tuple[str, ...] = ()
    parent: str = ""
    source: str = ""
    metadata: Metadata = field(default_factory=dict)
    truncated: int = 0
    """How many characters at the end the embedder could not take; they are searched by BM25."""


@dataclass(frozen=True, slots=True)
class Head:
    """The record of one document beside its chunks: the authority on its content and version."""

    document: Document
    tenant: str
    version: int
    content_hash: str
    chunk_count: int
    complete: bool
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class Embedding:
    """One text's vector, the tokens it cost, and how many characters had to be cut off."""

    vector: Vector
    tokens: int = 0
    truncated: int = 0


@dataclass(frozen=True, slots=True)
class VectorSpace:
    """What makes two vectors comparable. Two indexes share vectors only when all of it is equal.

    ``model`` is the base model's name, never an ARN or profile: renaming one makes no new space.
    """

    model: str
    dimensions: int
    normalized: bool = True

    def __str__(self) -> str:
        unit = "normalised" if self.normalized else "not normalised"
        return f"{self.model}, {self.dimensions} dimensions, {unit}"


# --- Filters: a small closed set, compiled per backend -----------------------------------------


@dataclass(frozen=True, slots=True)
class Condition:
    """One test on one declared field. A ``range`` value maps gt, gte, lt, lte to bounds."""

    field: str
    op: Op
    value: Any = None


@dataclass(frozen=True, slots=True)
class And:
    """All of the parts hold."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one of the parts holds."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold (also true where the field is absent)."""

    part: Filter


Filter: TypeAlias = Condition | And | Or | Not


# --- Questions to an engine, in no engine's words ----------------------------------------------


@dataclass(frozen=True, slots=True)
class Match:
    """Literal words against one logical text field, scored by BM25.

    ``field`` is "content" (analysed for the language), "codes" (codes kept whole) or "parts"
    (codes split). ``every`` asks for all words, ``phrase`` for all in order and adjacent.
    """

    field: Literal["content", "codes", "parts"]
    text: str
    every: bool = False
    phrase: bool = False


@dataclass(frozen=True, slots=True)
class Nearest:
    """The chunks whose vectors lie nearest to this one."""

    vector: Vector


@dataclass(frozen=True, slots=True)
class Constant:
    """What ``query`` finds, all with the same score."""

    query: EngineQuery
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Scored:
    """What ``required`` finds (all of it, or any of it), its score plus that of ``optional``.

    ``optional`` changes the order only, never which chunks are found.
    """

    required: tuple[EngineQuery, ...]
    optional: tuple[EngineQuery, ...] = ()
    every: bool = True


EngineQuery: TypeAlias = Match | Nearest | Constant | Scored


@dataclass(frozen=True, slots=True)
class Ask:
    """What one leg asks for one variant.

    ``alternatives`` are tried in order and the first that finds anything is taken. With
    ``limit``, an alternative that finds more than so many counts as not telling anything: the
    answer is empty. ``only`` restricts to these chunk ids (used by explain).
    """

    alternatives: tuple[EngineQuery, ...]
    size: int
    limit: int | None = None
    only: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Restriction:
    """What every leg of a search is held to: the caller's tenants and the user's filter.

    ``tenants`` is None where the caller may see everything, and empty where it may see nothing.
    """

    tenants: tuple[str, ...] | None = None
    filter: Filter | None = None


@dataclass(frozen=True, slots=True)
class RankedHit:
    """One chunk in one ranking. ``index`` is the physical index that gave it."""

    chunk_id: str
    score: float
    index: str = ""
    document_id: str = ""
    """Filled where the ask wanted it, or where it costs nothing."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What an engine said to one ask, best first."""

    hits: tuple[RankedHit, ...]
    took_ms: float = 0.0
    notes: tuple[str, ...] = ()
    failed_shards: int = 0
    total_shards: int = 1
    timed_out: bool = False


# --- One search --------------------------------------------------------------------------------


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
    """One chunk after the fusion of one variant: ``score == math.fsum(points)``."""

    chunk_id: str
    score: float
    contributions: tuple[Contribution, ...]


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


# --- Writing -----------------------------------------------------------------------------------

WriteStatus = Literal["added", "replaced", "unchanged", "deleted", "absent", "dead"]


@dataclass(frozen=True, slots=True)
class PreparedChunk:
    """A chunk with its vector, ready to be stored. ``vector`` is None in a store without one."""

    chunk: Chunk
    vector: Vector | None


@dataclass(frozen=True, slots=True)
class Prepared:
    """All chunks of one document, or the reason why there are none."""

    chunks: tuple[PreparedChunk, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class WriteResult:
    """What became of one document. ``reason`` is filled for ``dead`` ones."""

    document_id: str
    status: WriteStatus
    chunks: int = 0
    version: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class IndexSpec:
    """How an index is made, and what is written into its ``_meta`` as its fingerprint.

    A change of ``space`` (or ``space_type``) refuses search and write; a change of ``language``,
    ``chunker`` or ``schema_version`` refuses writes only. ``fields`` is not part of it.
    """

    space: VectorSpace | None
    language: str = "english"
    chunker: str = "section"
    space_type: str = "cosinesimil"
    engine: str = "lucene"
    schema_version: int = 1
    embedder: str = ""
    """The component that made the vectors: searches use it where no other is set."""
    shards: int = 1
    replicas: int = 0
    fields: Mapping[str, FieldType] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The physical indexes one search uses from its first request to its last."""

    indices: tuple[str, ...]
    spec: IndexSpec


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """What ``hybrid-search status`` shows of a store."""

    backend: str
    location: str
    collection: str
    documents: int
    chunks: int
    size_bytes: int
    spec: IndexSpec | None
    indices: tuple[str, ...] = ()
    version: str = ""
    deleted: int = 0
    pending: int = 0


# --- Time --------------------------------------------------------------------------------------


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
