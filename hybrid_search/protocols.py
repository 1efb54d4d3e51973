"""Every seam of the package on one page. A component is anything with these methods.

Each family has a folder; a component's name is its module's name, and the module offers
``create(...)``, whose keyword parameters are the component's parameters (see ``registry``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from hybrid_search.domain import (
        Answer,
        Ask,
        Chunk,
        Deadline,
        Document,
        Embedding,
        Fused,
        Head,
        IndexSpec,
        Prepared,
        RankedHit,
        Ranking,
        Restriction,
        Snapshot,
        StoreStatus,
        Variant,
        Vector,
        VectorSpace,
        WriteResult,
    )
    from hybrid_search.errors import HybridSearchError

    Prepare: TypeAlias = Callable[[Sequence[Document], IndexSpec], Sequence[Prepared]]
    """Chunks and embeds documents for one index; one result a document, failures as values."""


class Index(Protocol):
    """What ``Retriever(*indexes)`` takes. Objects of others join with these two methods."""

    def add_document(self, document: Any) -> None:
        """Make one searchable unit findable."""

    def search(self, query: str, k: int) -> Iterable[tuple[Any, float]]:
        """Return at most ``k`` pairs of document and score, best first."""


@runtime_checkable
class LegIndex(Protocol):
    """An index that is one leg over a store: the retriever asks its store directly."""

    @property
    def store(self) -> Store:
        """The store that is asked."""

    @property
    def leg(self) -> Leg:
        """How it is asked."""

    @property
    def embedder(self) -> Embedder | None:
        """What makes the query's vector, where the leg needs one."""

    def add_document(self, document: Any) -> None:
        """Store one searchable unit."""

    def original(self, key: str) -> Any:
        """Return the caller's own object under a chunk id, or None where it is not known."""


class Leg(Protocol):
    """One way of asking a store."""

    @property
    def name(self) -> str:
        """The leg's name, as results show it."""

    @property
    def needs_vector(self) -> bool:
        """True when it asks with the query's vector."""

    @property
    def literal(self) -> bool:
        """True when it is asked once, with the user's own words, never with generated ones."""

    def ask(self, variant: Variant, vector: Vector | None, candidates: int) -> Ask | None:
        """Say what to ask for this variant; None when the leg has nothing to say to it."""


class Fusion(Protocol):
    """Makes one order out of the rankings of one variant. Pure."""

    def __call__(self, rankings: Sequence[Ranking]) -> list[Fused]:
        """Return every chunk of every ranking, best first; ties by best single rank, then id."""


class Embedder(Protocol):
    """Turns texts into vectors of one space."""

    @property
    def space(self) -> VectorSpace:
        """What its vectors may be compared with."""

    def embed_documents(
        self, texts: Sequence[str], deadline: Deadline | None = None
    ) -> list[Embedding | HybridSearchError]:
        """Embed texts to be found: one value a text, in order; a failure is a value, not raised.

        Raised are only failures that would meet every text (AccessDenied, a missing model).
        """

    def embed_query(self, text: str, deadline: Deadline | None = None) -> Embedding:
        """Embed one text to search with. Raises a ``HybridSearchError``."""

    def close(self) -> None:
        """Let go of what it holds; afterwards it can't be used."""


@runtime_checkable
class Remembering(Protocol):
    """An embedder that may know a query's vector without computing it."""

    def remembered(self, text: str) -> Embedding | None:
        """Return the query's embedding if it is at hand, at no cost; None otherwise."""


class Chunker(Protocol):
    """Cuts a document into chunks: offsets exact, order kept, positions 0, 1, 2, ..."""

    @property
    def name(self) -> str:
        """The name with its parameters, as the index's fingerprint holds it."""

    def chunk(self, document: Document, tenant: str = "") -> list[Chunk]:
        """Cut one document."""


class Store(Protocol):
    """One collection in one backend: write, read by id, ask the engine.

    Every method raises ``StoreUnavailable``, ``AccessDenied`` or ``FingerprintMismatch``.
    """

    @property
    def collection(self) -> str:
        """The collection's name."""

    @property
    def description(self) -> str:
        """For people: which store this is, e.g. ``OpenSearch at https://... (collection docs)``."""

    def snapshot(self) -> Snapshot | None:
        """Resolve the collection to physical indexes and their spec; None when there is none."""

    def fields(self, snapshot: Snapshot) -> Mapping[str, str]:
        """Name the fields a filter may use, with their types."""

    def rank(
        self,
        snapshot: Snapshot,
        asks: Sequence[Ask],
        restriction: Restriction,
        deadline: Deadline | None = None,
    ) -> list[Answer | HybridSearchError]:
        """Put all asks to the engine at once: one value an ask, in order, failures as values."""

    def fetch(
        self, snapshot: Snapshot, hits: Sequence[RankedHit], deadline: Deadline | None = None
    ) -> dict[str, Chunk]:
        """Read chunks by id. What is gone by now is absent from the answer."""

    def write(
        self, tenant: str, documents: Sequence[Document], prepare: Prepare
    ) -> list[WriteResult]:
        """Store documents whole; what is there already with the same content costs nothing.

        Makes the index if there is none. One result a document, in order.
        """

    def delete(self, tenant: str, document_ids: Sequence[str]) -> list[WriteResult]:
        """Remove documents and all their chunks."""

    def heads(self, tenant: str, document_ids: Sequence[str]) -> dict[str, Head]:
        """Read heads; absent and deleted documents are absent from the answer."""

    def chunks(self, tenant: str, document_id: str) -> list[Chunk]:
        """Read all chunks of one document, in order."""

    def scan_heads(self, tenant: str | None = None) -> Iterator[Head]:
        """Read all live heads, in id order, as of one moment."""

    def refresh(self) -> None:
        """Make what was written findable now."""

    def status(self) -> StoreStatus:
        """Count and describe."""

    def drop(self) -> None:
        """Remove the collection and everything in it."""

    def close(self) -> None:
        """Let go of what it holds; afterwards it can't be used."""
