"""One collection of ours on an OpenSearch cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hybrid_search.backends.opensearch.queries import Layout
from hybrid_search.backends.opensearch.reading import Reader, chunk_of
from hybrid_search.backends.opensearch.records import head_record
from hybrid_search.backends.opensearch.topology import Topology
from hybrid_search.backends.opensearch.writing import Writer
from hybrid_search.domain import Document, StoreStatus
from hybrid_search.errors import HybridSearchError, NotFound
from hybrid_search.schema import head_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hybrid_search.backends.opensearch.connection import Connection
    from hybrid_search.domain import (
        Answer,
        Ask,
        Chunk,
        Deadline,
        Head,
        IndexSpec,
        RankedHit,
        Restriction,
        Snapshot,
        WriteResult,
    )
    from hybrid_search.protocols import Prepare

PAGE = 1_000
KEEP_ALIVE = "2m"


class OpenSearchStore:
    """A store whose chunks, vectors and heads are in one index behind an alias."""

    def __init__(self, connection: Connection, collection: str, wanted: IndexSpec) -> None:
        self.collection = collection
        self._connection = connection
        self._topology = Topology(connection, collection, wanted)
        self._writer = Writer(connection, self._topology)

    @property
    def description(self) -> str:
        """Which store this is, for people."""
        return f"OpenSearch at {self._connection.url} (collection {self.collection})"

    def snapshot(self) -> Snapshot | None:
        """Resolve the alias, at most every few seconds."""
        return self._topology.snapshot()

    def fields(self, snapshot: Snapshot) -> Mapping[str, str]:
        """Name the declared metadata fields with their types."""
        return snapshot.spec.fields

    def rank(
        self,
        snapshot: Snapshot,
        asks: Sequence[Ask],
        restriction: Restriction,
        deadline: Deadline | None = None,
    ) -> list[Answer | HybridSearchError]:
        """Put all asks in one multi-search; on the new index where the resolved one was dropped."""
        answers = self._reader(snapshot).rank(snapshot, asks, restriction, deadline)
        if any(isinstance(answer, NotFound) for answer in answers):
            self._topology.forget()
            moved = self.snapshot()
            if moved is not None and moved.indices != snapshot.indices:
                answers = self._reader(moved).rank(moved, asks, restriction, deadline)
        return answers

    def fetch(
        self, snapshot: Snapshot, hits: Sequence[RankedHit], deadline: Deadline | None = None
    ) -> dict[str, Chunk]:
        """Read chunks with one multi-get, without their vectors."""
        found = self._reader(snapshot).fetch(snapshot, hits, deadline)
        return {k: chunk_of(source) for k, source in found.items() if source["kind"] == "chunk"}

    def write(
        self, tenant: str, documents: Sequence[Document], prepare: Prepare
    ) -> list[WriteResult]:
        """Store documents whole. An id that comes twice is written twice, in order."""
        results: list[WriteResult] = []
        batch: dict[str, Document] = {}
        for document in documents:
            if document.id in batch:
                results += self._writer.write(tenant, list(batch.values()), prepare)
                batch = {}
            batch[document.id] = document
        return results + (
            self._writer.write(tenant, list(batch.values()), prepare) if batch else []
        )

    def delete(self, tenant: str, document_ids: Sequence[str]) -> list[WriteResult]:
        """Remove documents, whatever model the settings name; makes no collection."""
        return self._writer.delete(tenant, list(dict.fromkeys(document_ids)))

    def heads(self, tenant: str, document_ids: Sequence[str]) -> dict[str, Head]:
        """Read heads in real time."""
        snapshot = self.snapshot()
        if snapshot is None or not document_ids:
            return {}
        docs = [{"_index": snapshot.indices[0], "_id": head_id(tenant, i)} for i in document_ids]
        found = self._connection.multi_get(docs)
        records = [head_record(doc) for doc in found if doc.get("found")]
        return {r.document_id: r.head() for r in records if not r.deleted}

    def chunks(self, tenant: str, document_id: str) -> list[Chunk]:
        """Read a document's chunks in real time: their ids follow from the head's count."""
        from hybrid_search.domain import RankedHit
        from hybrid_search.schema import chunk_id

        snapshot = self.snapshot()
        head = self.heads(tenant, [document_id]).get(document_id)
        if snapshot is None or head is None:
            return []
        ids = [chunk_id(tenant, document_id, position) for position in range(head.chunk_count)]
        found = self.fetch(snapshot, [RankedHit(i, 0.0) for i in ids])
        return [found[i] for i in ids if i in found]

    def scan_heads(self, tenant: str | None = None) -> Iterator[Head]:
        """Read all live heads as of one moment: a point in time and ``search_after``, no scroll."""
        snapshot = self.snapshot()
        if snapshot is None:
            return
        path = f"/{snapshot.indices[0]}/_search/point_in_time"
        opened = self._connection.read("POST", path, params={"keep_alive": KEEP_ALIVE})
        pit = opened["pit_id"]
        try:
            yield from self._scan(pit, tenant)
        finally:
            self._connection.read("DELETE", "/_search/point_in_time", {"pit_id": [pit]})

    def _scan(self, pit: str, tenant: str | None) -> Iterator[Head]:
        held: list[dict[str, Any]] = [{"term": {"kind": "head"}}, {"term": {"deleted": False}}]
        if tenant is not None:
            held.append({"term": {"tenant": tenant}})
        body: dict[str, Any] = {
            "size": PAGE,
            "query": {"bool": {"filter": held}},
            "sort": [{"document_id": "asc"}, {"tenant": "asc"}],
            "pit": {"id": pit, "keep_alive": KEEP_ALIVE},
            "track_total_hits": False,
        }
        while True:
            hits = self._connection.read("POST", "/_search", body)["hits"]["hits"]
            yield from (head_record(hit).head() for hit in hits)
            if len(hits) < PAGE:
                return
            body["search_after"] = hits[-1]["sort"]

    def refresh(self) -> None:
        """Make what was written findable now instead of within the refresh interval."""
        if self.snapshot() is not None:
            self._connection.request("POST", f"/{self.collection}/_refresh")

    def status(self) -> StoreStatus:
        """Count and describe; needs the right to read index statistics for the size."""
        snapshot = self.snapshot()
        counts = self._counts() if snapshot else {}
        return StoreStatus(
            backend="opensearch",
            location=self._connection.url,
            collection=self.collection,
            documents=counts.get("live", 0),
            chunks=counts.get("chunk", 0),
            size_bytes=self._size(snapshot),
            spec=snapshot.spec if snapshot else None,
            indices=tuple(self._topology.physical()),
            version=self._version(),
            deleted=counts.get("deleted", 0),
            pending=counts.get("pending", 0),
        )

    def _reader(self, snapshot: Snapshot) -> Reader:
        fields = snapshot.spec.fields.items()
        return Reader(
            self._connection, Layout(dates=frozenset(n for n, k in fields if k == "date"))
        )

    def _counts(self) -> dict[str, int]:
        heads = {"term": {"kind": "head"}}
        live = {"term": {"deleted": False}}
        queries = {
            "live": {"bool": {"filter": [heads, live]}},
            "deleted": {"bool": {"filter": [heads, {"term": {"deleted": True}}]}},
            "pending": {"term": {"state": "pending"}},
            "chunk": {"term": {"kind": "chunk"}},
        }
        path = f"/{self.collection}/_search"
        body = {"size": 0, "aggs": {"n": {"filters": {"filters": queries}}}}
        found = self._connection.read("POST", path, body)
        buckets = found["aggregations"]["n"]["buckets"]
        return {name: bucket["doc_count"] for name, bucket in buckets.items()}

    def _size(self, snapshot: Snapshot | None) -> int:
        if snapshot is None:
            return 0
        try:
            found = self._connection.read("GET", f"/{snapshot.indices[0]}/_stats/store")
        except HybridSearchError:
            return 0  # the role may not read statistics; nothing else depends on it
        return int(found["_all"]["primaries"]["store"]["size_in_bytes"])

    def _version(self) -> str:
        try:
            return str(self._connection.read("GET", "/")["version"]["number"])
        except HybridSearchError:
            return "unknown (the role may not ask)"

    def drop(self) -> None:
        """Remove every physical index of the collection, and with them its aliases."""
        for index in self._topology.physical():
            self._connection.request("DELETE", f"/{index}")
        self._topology.forget()

    def close(self) -> None:
        """Close the connections."""
        self._connection.close()
