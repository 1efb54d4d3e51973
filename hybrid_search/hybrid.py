"""What ``connect()`` gives: one collection to add to, search, compare and explain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hybrid_search import explaining, filters
from hybrid_search.domain import Document, SearchRequest
from hybrid_search.errors import NotFound
from hybrid_search.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from hybrid_search.domain import (
        Chunk,
        Head,
        SearchResult,
        StoreStatus,
        WriteResult,
    )
    from hybrid_search.explaining import Comparison, Explanation
    from hybrid_search.ingestion import AddReport, Ingestor
    from hybrid_search.protocols import Embedder, Store
    from hybrid_search.retriever import Retriever
    from hybrid_search.settings import Settings


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document as it is stored: its head, and the chunks it was cut into."""

    head: Head
    chunks: tuple[Chunk, ...]

    @property
    def document(self) -> Document:
        """The document itself."""
        return self.head.document


class HybridSearch:
    """One collection: made by ``connect()``, usable as a context manager, safe in threads.

    >>> from hybrid_search import connect
    >>> with connect(memory=True, embedder="hashing") as search:
    ...     report = search.add([{"id": "a", "text": "Parcel X-17 was lost at sea."}])
    ...     hits = search.search("x-17").hits
    >>> report.added, hits[0].document_id, [c.leg for c in hits[0].contributions]
    (1, 'a', ['bm25', 'vector', 'identifier'])
    """

    def __init__(
        self,
        settings: Settings,
        store: Store,
        retriever: Retriever,
        ingestor: Ingestor,
        embedder: Embedder | None,
    ) -> None:
        self.settings = settings
        self.store = store
        self.retriever = retriever
        self.embedder = embedder
        self._ingestor = ingestor

    def __enter__(self) -> HybridSearch:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def description(self) -> str:
        """Which store this is, and what embeds."""
        space = f"; vectors by {self.embedder.space}" if self.embedder else "; no vectors"
        return self.store.description + space

    def add(
        self,
        documents: Iterable[Document | Any],
        *,
        refresh: bool = True,
        on_result: Callable[[WriteResult], None] | None = None,
    ) -> AddReport:
        """Add or replace documents: cut, embed, store. Same content again costs nothing.

        Takes ``Document`` objects or mappings with ``id``, ``text`` (or ``content``), ``title``,
        ``source`` and ``metadata``. With ``refresh`` they are findable when this returns.
        Raises ``FingerprintMismatch``, ``StoreUnavailable``, ``AccessDenied``; a document that
        can't be stored is listed in the report's ``dead``.
        """
        report = self._ingestor.add((_as_document(d) for d in documents), on_result)
        if refresh and (report.added or report.replaced):
            self.store.refresh()
        return report

    def search(self, query: str, **options: Any) -> SearchResult:
        """Search. Options: the fields of ``SearchRequest``, defaults from the settings.

        ``filter`` may be in its JSON form. Raises ``InvalidInput``, ``FingerprintMismatch``, and
        the first failure when no leg answered.
        """
        return self.retriever.retrieve(self._request(query, options))

    def compare(
        self, query: str, rank_constants: Sequence[float] = (), top: int = 3, **options: Any
    ) -> Comparison:
        """Show each leg's top and the fusion's side by side, once for each rank constant."""
        request = self._request(query, options)
        constants = tuple(rank_constants) or (request.rank_constant,)
        return explaining.compare(self.retriever, request, constants, top)

    def explain(self, query: str, id: str, **options: Any) -> Explanation:  # noqa: A002
        """Say where a chunk, or the best chunk of a document, stands for a query, and why."""
        request = self._request(query, options)
        wanted, tenant = _stored_id(id), self.settings.tenant
        return explaining.explain(self.retriever, self.store, tenant, request, wanted)

    def get(self, document_id: str) -> StoredDocument:
        """Read a document with its chunks. Raises ``NotFound``."""
        tenant, wanted = self.settings.tenant, _stored_id(document_id)
        head = self.store.heads(tenant, [wanted]).get(wanted)
        if head is None:
            raise NotFound(f"there is no document {document_id!r} in this collection")
        return StoredDocument(head, tuple(self.store.chunks(tenant, wanted)))

    def delete(self, *document_ids: str, refresh: bool = True) -> list[WriteResult]:
        """Remove documents with all their chunks: one result each, ``deleted`` or ``absent``."""
        results = self.store.delete(self.settings.tenant, [_stored_id(i) for i in document_ids])
        if refresh and any(result.status == "deleted" for result in results):
            self.store.refresh()
        return results

    def status(self) -> StoreStatus:
        """Count and describe the collection."""
        return self.store.status()

    def close(self) -> None:
        """Close store, embedder and threads."""
        self.retriever.close()
        self.store.close()
        if self.embedder is not None:
            self.embedder.close()

    def _request(self, query: str, options: dict[str, Any]) -> SearchRequest:
        settings = self.settings
        defaults: dict[str, Any] = {
            "rank_constant": settings.rank_constant,
            "candidates": max(settings.candidates, int(options.get("top_k", 1))),
            "weights": {k: v for k, v in settings.weights.items() if k in self.retriever.legs},
            "deadline": settings.search_deadline,
        }
        given = {k: v for k, v in options.items() if v is not None}
        given["filter"] = filters.parse(options.get("filter"))
        for name in ("legs", "tenants"):
            if name in given:
                given[name] = tuple(given[name])
        return SearchRequest(query, **{**defaults, **given})


def _stored_id(document_id: str) -> str:
    """Make an id what it became when the document was added."""
    return clean(document_id)[0]


def _as_document(given: Any) -> Document:
    from hybrid_search.foreign import as_document

    document = as_document(given)
    nested = document.metadata.get("metadata")
    if isinstance(given, Document) or not isinstance(nested, dict):
        return document
    rest = {k: v for k, v in document.metadata.items() if k != "metadata"}
    return Document(document.id, document.text, document.title, {**nested, **rest}, document.source)
