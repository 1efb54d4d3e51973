"""An index, or an alias over several, that somebody else made: searched, never written.

Its field names come from the settings. Ids are its ``_id``; equal scores are ordered by id among
the hits that came, since there is no field of ours to sort by in the engine.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hybrid_search.backends.opensearch.queries import Layout
from hybrid_search.backends.opensearch.reading import Reader, key_of, place_of
from hybrid_search.backends.opensearch.topology import CACHED_SECONDS
from hybrid_search.domain import Chunk, IndexSpec, Snapshot, StoreStatus, VectorSpace
from hybrid_search.errors import InvalidInput, NotFound, ReadOnlyStore, choices
from hybrid_search.schema import refuse_other_space

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hybrid_search.backends.opensearch.connection import Connection
    from hybrid_search.domain import (
        Answer,
        Ask,
        Deadline,
        Document,
        FieldType,
        Head,
        RankedHit,
        Restriction,
        WriteResult,
    )
    from hybrid_search.errors import HybridSearchError
    from hybrid_search.protocols import Prepare

TYPES: Mapping[str, FieldType] = {
    "keyword": "keyword",
    "constant_keyword": "keyword",
    "boolean": "boolean",
    "date": "date",
    **dict.fromkeys(("byte", "short", "integer", "long", "unsigned_long"), "integer"),
    **dict.fromkeys(("half_float", "float", "double", "scaled_float"), "float"),
}


@dataclass(frozen=True, slots=True)
class Names:
    """What the other index calls its fields."""

    text: tuple[str, ...]
    vector: str = ""
    title: str = ""
    tenant: str = ""
    document: str = ""


class ForeignStore:
    """Read-only store over somebody else's index."""

    def __init__(
        self, connection: Connection, collection: str, names: Names, space: VectorSpace | None
    ) -> None:
        self.collection = collection
        self._connection = connection
        self._names = names
        self._space = space
        self._cached: tuple[float, Snapshot, dict[str, dict[str, Any]]] | None = None

    @property
    def description(self) -> str:
        """Which index this is, for people."""
        return f"OpenSearch at {self._connection.url} (index {self.collection}, read-only)"

    def snapshot(self) -> Snapshot:
        """Resolve the name to physical indexes and check the named fields against each.

        Raises ``NotFound`` where there is none, ``InvalidInput`` for a field that is not there or
        of the wrong type, and ``FingerprintMismatch`` where the vectors have another length than
        the embedder's.
        """
        return self._resolve()[0]

    def fields(self, snapshot: Snapshot) -> Mapping[str, str]:  # noqa: ARG002
        """Name the fields that can be filtered on, nested objects with dots."""
        properties = self._resolve()[1]
        return {n: TYPES[str(b["type"])] for n, b in properties.items() if b.get("type") in TYPES}

    def rank(
        self,
        snapshot: Snapshot,
        asks: Sequence[Ask],
        restriction: Restriction,
        deadline: Deadline | None = None,
    ) -> list[Answer | HybridSearchError]:
        """Put all asks in one multi-search."""
        if restriction.tenants is not None and not self._names.tenant:
            raise InvalidInput(
                f"index {self.collection!r} has no tenant field: set HYBRID_SEARCH_TENANT_FIELD, "
                "or search without a tenant"
            )
        return self._reader(snapshot).rank(snapshot, asks, restriction, deadline)

    def fetch(
        self, snapshot: Snapshot, hits: Sequence[RankedHit], deadline: Deadline | None = None
    ) -> dict[str, Chunk]:
        """Read documents with one multi-get; each is one chunk."""
        found = self._reader(snapshot).fetch(snapshot, hits, deadline)
        return {key: self._chunk(key, source) for key, source in found.items()}

    def write(
        self,
        tenant: str,
        documents: Sequence[Document],
        prepare: Prepare,
    ) -> list[WriteResult]:
        """Refuse: raises ``ReadOnlyStore``."""
        del tenant, documents, prepare
        raise self._read_only()

    def delete(self, tenant: str, document_ids: Sequence[str]) -> list[WriteResult]:
        """Refuse: raises ``ReadOnlyStore``."""
        del tenant, document_ids
        raise self._read_only()

    def heads(self, tenant: str, document_ids: Sequence[str]) -> dict[str, Head]:
        """Give none: there are no heads in such an index."""
        del tenant, document_ids
        return {}

    def chunks(self, tenant: str, document_id: str) -> list[Chunk]:
        """Find the documents whose key, id or document field is this one."""
        snapshot = self.snapshot()
        index, id_ = place_of(document_id, snapshot)
        target = self.collection if id_ == document_id else index
        named: list[dict[str, Any]] = [{"ids": {"values": [id_]}}]
        if self._names.document:
            named.append({"term": {self._names.document: document_id}})
        held: list[dict[str, Any]] = [{"bool": {"should": named, "minimum_should_match": 1}}]
        if self._names.tenant and tenant:
            held.append({"term": {self._names.tenant: tenant}})
        body = {
            "size": 1_000,
            "query": {"bool": {"filter": held}},
            "_source": {"excludes": [self._names.vector]},
        }
        hits = self._connection.read("POST", f"/{target}/_search", body)["hits"]["hits"]
        return [self._chunk(key_of(hit, snapshot), hit["_source"]) for hit in hits]

    def scan_heads(self, tenant: str | None = None) -> Iterator[Head]:
        """Give none: there are no heads in such an index."""
        del tenant
        return iter(())

    def refresh(self) -> None:
        """Do nothing: nothing is written."""

    def status(self) -> StoreStatus:
        """Count its documents."""
        snapshot = self.snapshot()
        count = int(self._connection.read("GET", f"/{self.collection}/_count")["count"])
        return StoreStatus(
            backend="opensearch (read-only)",
            location=self._connection.url,
            collection=self.collection,
            documents=count,
            chunks=count,
            size_bytes=0,
            spec=snapshot.spec,
            indices=snapshot.indices,
        )

    def drop(self) -> None:
        """Refuse: raises ``ReadOnlyStore``."""
        raise self._read_only()

    def close(self) -> None:
        """Close the connections."""
        self._connection.close()

    def _resolve(self) -> tuple[Snapshot, dict[str, dict[str, Any]]]:
        if self._cached and time.monotonic() < self._cached[0]:
            return self._cached[1], self._cached[2]
        try:
            found = self._connection.read("GET", f"/{self.collection}/_mapping")
        except NotFound as error:
            raise NotFound(f"there is no index {self.collection!r} to search read-only") from error
        properties: dict[str, dict[str, Any]] = {}
        for index, body in sorted(found.items()):
            own = flatten(body.get("mappings", {}).get("properties", {}))
            self._check(index, own)
            properties = {**own, **properties}
        space_type = self._space_type(properties)
        space = self._space if self._names.vector else None
        snapshot = Snapshot(tuple(sorted(found)), IndexSpec(space=space, space_type=space_type))
        self._cached = (time.monotonic() + CACHED_SECONDS, snapshot, properties)
        return snapshot, properties

    def _check(self, index: str, properties: dict[str, dict[str, Any]]) -> None:
        names = self._names
        wanted = [*names.text, names.vector, names.title, names.tenant, names.document]
        for name in filter(None, (n.split("^")[0] for n in wanted)):
            if name not in properties:
                raise choices(f"field of index {index}", name, properties)
        if not names.vector:
            return
        body = properties[names.vector]
        if body.get("type") != "knn_vector":
            raise InvalidInput(
                f"field {names.vector!r} of index {index!r} is of type {body.get('type')!r}: "
                "expected knn_vector"
            )
        length = body.get("dimension")
        if self._space is not None and length is not None:
            theirs = VectorSpace(self._space.model, int(length), self._space.normalized)
            refuse_other_space(IndexSpec(space=theirs), self._space, f"index {index!r}")

    def _space_type(self, properties: dict[str, dict[str, Any]]) -> str:
        body = properties.get(self._names.vector, {})
        return str(body.get("space_type") or body.get("method", {}).get("space_type") or "l2")

    def _reader(self, snapshot: Snapshot) -> Reader:
        dates = frozenset(n for n, kind in self.fields(snapshot).items() if kind == "date")
        layout = Layout(
            content=self._names.text,
            codes=(),
            parts=(),
            vector=self._names.vector,
            tenant=self._names.tenant,
            chunk_id="",
            document_id=self._names.document,
            filter_prefix="",
            dates=dates,
        )
        return Reader(self._connection, layout)

    def _chunk(self, key: str, source: dict[str, Any]) -> Chunk:
        names = self._names
        texts = [_value(source, name.split("^")[0]) for name in names.text]
        taken = {names.title, names.vector, *(n.split("^")[0] for n in names.text)}
        return Chunk(
            id=key,
            document_id=_value(source, names.document) or key,
            position=0,
            text="\n".join(filter(None, texts)),
            title=_value(source, names.title),
            metadata={k: v for k, v in source.items() if k not in taken},
        )

    def _read_only(self) -> ReadOnlyStore:
        return ReadOnlyStore(
            f"index {self.collection!r} is searched read-only (HYBRID_SEARCH_TEXT_FIELDS is set): "
            "unset it to write into a collection of ours"
        )


def flatten(properties: Mapping[str, Any], above: str = "") -> dict[str, dict[str, Any]]:
    """Name every field of a mapping with its full path, sub-fields included."""
    flat: dict[str, dict[str, Any]] = {}
    for name, body in properties.items():
        path = f"{above}{name}"
        if "type" in body:
            flat[path] = body
        flat |= flatten(body.get("properties", {}), f"{path}.")
        flat |= flatten(body.get("fields", {}), f"{path}.")
    return flat


def _value(source: Mapping[str, Any], path: str) -> str:
    value: Any = source
    for name in path.split(".") if path else ():
        value = value.get(name, "") if isinstance(value, dict) else ""
    if isinstance(value, list):
        return "\n".join(str(v) for v in value)
    return str(value) if path and value is not None else ""
