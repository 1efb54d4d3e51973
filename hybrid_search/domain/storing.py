"""Writing, and what an index is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hybrid_search.domain.documents import Chunk, Vector, VectorSpace

FieldType = Literal["keyword", "integer", "float", "boolean", "date"]


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
