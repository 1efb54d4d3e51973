"""Settings to assembled objects: the only composition root."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hybrid_search import registry
from hybrid_search import settings as settings_module
from hybrid_search.backends import opensearch
from hybrid_search.domain import IndexSpec
from hybrid_search.embedders._cache import CachedEmbedder
from hybrid_search.errors import InvalidInput
from hybrid_search.hybrid import HybridSearch
from hybrid_search.indexes import StoreIndex
from hybrid_search.ingestion import Ingestor
from hybrid_search.languages import language
from hybrid_search.retriever import Retriever
from hybrid_search.schema import SCHEMA_VERSION, check_collection, check_fields
from hybrid_search.telemetry import QueryLog

if TYPE_CHECKING:
    from hybrid_search.protocols import Chunker, Embedder, Store
    from hybrid_search.settings import Settings


def connect(*, memory: bool = False, embedder: Any = None, **overrides: Any) -> HybridSearch:
    """Open one collection: OpenSearch where its URL is set, else the embedded store.

    Settings come from the environment (``HYBRID_SEARCH_...``) and are overridden by keyword:
    ``connect(collection="handbook", opensearch_url="https://...")``. ``embedder`` is a name or an
    ``Embedder``; without one, an existing collection's own is used, and a new one gets ``titan``
    on OpenSearch and ``local`` in the embedded store. ``memory`` keeps everything in memory.

    Nothing is made before the first write. Raises ``InvalidInput`` for a bad setting.
    """
    if isinstance(embedder, str):
        overrides["embedder"] = embedder
        embedder = None
    settings = settings_module.load(**overrides)
    _check(settings)
    chunker: Chunker = registry.create("chunkers", settings.chunker, **settings.chunker_options)
    name = settings.embedder
    if embedder is None and not name:
        name = _stored_embedder(settings, memory=memory)
    if embedder is None and "vector" in settings.legs and _has_vectors(settings):
        embedder = make_embedder(settings, name)
    spec = _spec(settings, chunker, embedder, name)
    store = open_store(settings, spec, memory=memory)
    indexes = [
        StoreIndex(leg, store, embedder if leg.needs_vector else None, settings.tenant)
        for leg in (registry.create("legs", leg_name) for leg_name in settings.legs)
        if embedder is not None or not leg.needs_vector
    ]
    retriever = Retriever(
        *indexes,
        tenants=(settings.tenant,) if settings.tenant else None,
        deadline=settings.search_deadline,
        query_log=None if memory or not settings.query_log else _query_log(settings),
    )
    ingestor = Ingestor(store, chunker, embedder, tenant=settings.tenant, context=settings.context)
    return HybridSearch(settings, store, retriever, ingestor, embedder)


def make_embedder(settings: Settings, name: str) -> Embedder:
    """Make the embedder of a name from those settings that it takes, inside the cache."""
    available = {
        "model": settings.embedding_model,
        "dimensions": settings.dimensions,
        "normalize": settings.normalize,
        "region": settings.region,
        "endpoint_url": settings.embedding_endpoint,
        "concurrency": settings.embedding_concurrency,
    }
    given = {k: v for k, v in available.items() if v not in ("", None)} | settings.embedder_options
    inner: Embedder = registry.create_from("embedders", name, given)
    path = settings.home / "cache" / "embeddings.sqlite3" if settings.cache else None
    return CachedEmbedder(inner, path)


def open_store(settings: Settings, spec: IndexSpec, *, memory: bool = False) -> Store:
    """Open the store that the settings name."""
    if memory or not settings.opensearch_url:
        path = None if memory else settings.home / "collections"
        store: Store = registry.create(
            "backends", "embedded", path=path, collection=settings.collection, spec=spec
        )
        return store
    return opensearch.create(_access(settings), settings.collection, spec, _foreign(settings))


def _access(settings: Settings) -> opensearch.Access:
    return opensearch.Access(
        url=settings.opensearch_url,
        user=settings.opensearch_user,
        password=settings.opensearch_password.get_secret_value(),
        sigv4=settings.opensearch_auth == "sigv4",
        region=settings.region,
        ca=settings.opensearch_ca,
        verify=settings.opensearch_verify,
        timeout=settings.opensearch_timeout,
    )


def _foreign(settings: Settings) -> opensearch.Names | None:
    if not settings.text_fields:
        return None
    return opensearch.Names(
        text=settings.text_fields,
        vector=settings.vector_field,
        title=settings.title_field,
        tenant=settings.tenant_field,
        document=settings.document_field,
    )


def _has_vectors(settings: Settings) -> bool:
    return not settings.text_fields or bool(settings.vector_field)


def _stored_embedder(settings: Settings, *, memory: bool) -> str:
    """Name the embedder that made the collection; for a new one the backend's usual."""
    if not memory and not settings.text_fields and "vector" in settings.legs:
        probe = open_store(settings, IndexSpec(space=None))
        try:
            snapshot = probe.snapshot()
        finally:
            probe.close()
        if snapshot is not None and snapshot.spec.embedder:
            return snapshot.spec.embedder
    return "titan" if settings.opensearch_url and not memory else "local"


def _spec(settings: Settings, chunker: Chunker, embedder: Embedder | None, name: str) -> IndexSpec:
    return IndexSpec(
        space=embedder.space if embedder else None,
        language=settings.language,
        chunker=chunker.name,
        space_type=settings.space_type,
        engine=settings.engine,
        schema_version=SCHEMA_VERSION,
        embedder=name if embedder else "",
        shards=settings.shards,
        replicas=settings.replicas,
        fields=settings.fields,
    )


def _query_log(settings: Settings) -> QueryLog:
    return QueryLog(settings.home / "logs" / "queries.jsonl", text=settings.query_log_text)


def _check(settings: Settings) -> None:
    check_fields(settings.fields)
    language(settings.language)
    if not settings.text_fields:
        check_collection(settings.collection)
    if not settings.legs:
        raise InvalidInput("setting legs is empty: expected at least one of bm25, vector, ...")
