"""Every noun that travels between modules: frozen, slotted, and free of engines.

It imports the standard library only, so that the client SDK can share it.
"""

from typing import TYPE_CHECKING

from hybrid_search.domain.deadline import (
    Deadline,
)
from hybrid_search.domain.documents import (
    Chunk,
    Document,
    Embedding,
    Head,
    Metadata,
    VectorSpace,
)
from hybrid_search.domain.filtering import (
    And,
    Condition,
    Filter,
    Not,
    Op,
    Or,
)
from hybrid_search.domain.questions import (
    Answer,
    Ask,
    Constant,
    EngineQuery,
    Match,
    Nearest,
    RankedHit,
    Restriction,
    Scored,
)
from hybrid_search.domain.searching import (
    Contribution,
    Degraded,
    Fused,
    Hit,
    LegReport,
    Ranking,
    SearchRequest,
    SearchResult,
    Variant,
)
from hybrid_search.domain.storing import (
    FieldType,
    IndexSpec,
    Prepared,
    PreparedChunk,
    Snapshot,
    StoreStatus,
    WriteResult,
    WriteStatus,
)

if TYPE_CHECKING:
    from hybrid_search.domain.documents import Vector as Vector

__all__ = [
    "And",
    "Answer",
    "Ask",
    "Chunk",
    "Condition",
    "Constant",
    "Contribution",
    "Deadline",
    "Degraded",
    "Document",
    "Embedding",
    "EngineQuery",
    "FieldType",
    "Filter",
    "Fused",
    "Head",
    "Hit",
    "IndexSpec",
    "LegReport",
    "Match",
    "Metadata",
    "Nearest",
    "Not",
    "Op",
    "Or",
    "Prepared",
    "PreparedChunk",
    "RankedHit",
    "Ranking",
    "Restriction",
    "Scored",
    "SearchRequest",
    "SearchResult",
    "Snapshot",
    "StoreStatus",
    "Variant",
    "VectorSpace",
    "WriteResult",
    "WriteStatus",
]
