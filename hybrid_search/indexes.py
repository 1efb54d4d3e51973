"""The founding objects: one leg of a store each, with ``add_document`` and ``search``.

They work alone and together in a ``Retriever``. Without a store they keep everything in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from hybrid_search import registry
from hybrid_search.domain import Chunk, IndexSpec, Prepared, PreparedChunk
from hybrid_search.errors import DocumentError, HybridSearchError, InvalidInput
from hybrid_search.foreign import as_document, has_id
from hybrid_search.ingestion import checked_document
from hybrid_search.retriever import Retriever
from hybrid_search.schema import chunk_id

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hybrid_search.domain import Document
    from hybrid_search.protocols import Embedder, Leg, Store

_given: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()
"""For each in-memory store, the caller's own objects by chunk id: they are what is returned."""


class StoreIndex:
    """One leg over one store."""

    def __init__(
        self,
        leg: Leg,
        store: Store | None = None,
        embedder: Embedder | None = None,
        tenant: str = "",
    ) -> None:
        self.leg = leg
        self.embedder = embedder
        self._tenant = tenant
        self._store = store
        self._alone: Retriever | None = None

    @property
    def store(self) -> Store:
        """The store that is asked; one in memory is made at the first use where none was given."""
        if self._store is None:
            spec = IndexSpec(space=self.embedder.space if self.embedder else None)
            self._store = registry.create("backends", "embedded", path=None, spec=spec)
            _given[self._store] = {}
        return self._store

    def add_document(self, document: Any) -> None:
        """Store one searchable unit. Raises ``DocumentError`` where it can't be stored.

        A document without an ``id`` can only go into memory, where the object itself is its key.
        """
        given = _given.get(self.store)
        if given is None and not has_id(document):
            raise InvalidInput("a document without an 'id' can't be kept: give it one")
        checked = checked_document(as_document(document))
        if not checked.text.strip():
            raise DocumentError(f"document {checked.id!r} was not stored: no text")
        [result] = self.store.write(self._tenant, [checked], self._prepare)
        if result.status == "dead":
            raise DocumentError(f"document {checked.id!r} was not stored: {result.reason}")
        if given is not None:
            given[chunk_id(self._tenant, checked.id, 0)] = document
        else:
            self.store.refresh()

    def search(self, query: str, k: int = 1) -> list[tuple[Any, float]]:
        """Return the ``k`` best documents with this leg's own scores, best first."""
        if self._alone is None:
            self._alone = Retriever(self)
        return self._alone.search_one(query, k)

    def original(self, key: str) -> Any:
        """Return the caller's own object under a chunk id, or None where it is not known."""
        return _given.get(self.store, {}).get(key)

    def _prepare(self, documents: Sequence[Document], spec: IndexSpec) -> list[Prepared]:
        """Make each document one chunk: what a retriever gets is never cut."""
        if spec.space is None:
            return [Prepared((PreparedChunk(self._unit(d), None),)) for d in documents]
        if self.embedder is None:
            missing = "the store holds vectors: add through an index with an embedder"
            return [Prepared(error=missing) for _ in documents]
        embedded = self.embedder.embed_documents([d.text for d in documents])
        return [
            Prepared(error=str(one))
            if isinstance(one, HybridSearchError)
            else Prepared((PreparedChunk(self._unit(d), one.vector),))
            for d, one in zip(documents, embedded, strict=True)
        ]

    def _unit(self, document: Document) -> Chunk:
        return Chunk(
            id=chunk_id(self._tenant, document.id, 0),
            document_id=document.id,
            position=0,
            text=document.text,
            end=len(document.text),
            title=document.title,
            source=document.source,
            metadata=document.metadata,
        )


class BM25Index(StoreIndex):
    """Words.

    >>> index = BM25Index()
    >>> index.add_document({"id": "1", "content": "incident INC-2023-Q4-011"})
    >>> [document["id"] for document, score in index.search("INC-2023-Q4-011")]
    ['1']
    """

    def __init__(self, store: Store | None = None, tenant: str = "") -> None:
        super().__init__(registry.create("legs", "bm25"), store, None, tenant)


class VectorIndex(StoreIndex):
    """Meaning, by any text-to-vector function or an ``Embedder``.

    >>> index = VectorIndex(lambda text: [text.count("a"), 1 + text.count("b")])
    >>> index.add_document({"id": "1", "content": "aaa"})
    >>> [document["id"] for document, score in index.search("aa")]
    ['1']
    """

    def __init__(
        self,
        embed: Embedder | Callable[[str], Sequence[float]],
        store: Store | None = None,
        tenant: str = "",
    ) -> None:
        embedder: Any = embed
        if not hasattr(embed, "embed_documents"):
            embedder = registry.create("embedders", "function", function=embed)
        super().__init__(registry.create("legs", "vector"), store, embedder, tenant)


class IdentifierIndex(StoreIndex):
    """Codes, found whole.

    >>> index = IdentifierIndex()
    >>> for code in ("INC-2023-Q4-010", "INC-2023-Q4-011"):
    ...     index.add_document({"id": code, "content": f"incident {code}"})
    >>> [document["id"] for document, score in index.search("what is inc-2023-q4-011?", k=2)]
    ['INC-2023-Q4-011']
    """

    def __init__(self, store: Store | None = None, tenant: str = "") -> None:
        super().__init__(registry.create("legs", "identifier"), store, None, tenant)
