"""Records of the write protocol: heads, chunks and blanks, as they are stored."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from hybrid_search.domain import Document, Head
from hybrid_search.schema import field_values

if TYPE_CHECKING:
    from hybrid_search.domain import IndexSpec, PreparedChunk


@dataclass(frozen=True, slots=True)
class HeadRecord:
    """A head as one index holds it. ``seq_no`` is -1 while it is not stored yet."""

    tenant: str
    document_id: str
    version: int
    write_id: str
    content_hash: str
    document: Document | None
    """None for a deleted document, and where it was not read."""
    deleted: bool = False
    complete: bool = False
    chunk_count: int = 0
    span: int = 0
    seq_no: int = -1
    term: int = -1

    def source(self) -> dict[str, Any]:
        """Make the stored source of this head."""
        source: dict[str, Any] = {
            "kind": "head",
            "tenant": self.tenant,
            "document_id": self.document_id,
            "version": self.version,
            "write_id": self.write_id,
            "content_hash": self.content_hash,
            "state": "complete" if self.complete else "pending",
            "deleted": self.deleted,
            "chunk_count": self.chunk_count,
            "span": self.span,
            "at": now(),
        }
        if self.document is not None:
            document = self.document
            source["body"] = {
                "text": document.text,
                "title": document.title,
                "metadata": dict(document.metadata),
                "source": document.source,
            }
        return source

    def head(self) -> Head:
        """Show it as the domain's head."""
        document = self.document or Document(self.document_id, "")
        return Head(
            document=document,
            tenant=self.tenant,
            version=self.version,
            content_hash=self.content_hash,
            chunk_count=self.chunk_count,
            complete=self.complete,
            deleted=self.deleted,
        )

    def stored_at(self, seq_no: int, term: int) -> HeadRecord:
        """Return this head with the place where the index now holds it."""
        return replace(self, seq_no=seq_no, term=term)


def head_record(found: dict[str, Any]) -> HeadRecord:
    """Read a head from a get or search hit."""
    source = found["_source"]
    body = source.get("body")
    document = None
    if body is not None:
        document = Document(
            source["document_id"], body["text"], body["title"], body["metadata"], body["source"]
        )
    return HeadRecord(
        tenant=source["tenant"],
        document_id=source["document_id"],
        version=source["version"],
        write_id=source["write_id"],
        content_hash=source["content_hash"],
        document=document,
        deleted=source["deleted"],
        complete=source["state"] == "complete",
        chunk_count=source["chunk_count"],
        span=source["span"],
        seq_no=found.get("_seq_no", -1),
        term=found.get("_primary_term", -1),
    )


def chunk_source(
    prepared: PreparedChunk, tenant: str, version: int, spec: IndexSpec
) -> dict[str, Any]:
    """Make the stored source of a chunk. Raises ``DocumentError`` for a wrong metadata value."""
    chunk = prepared.chunk
    source: dict[str, Any] = {
        "kind": "chunk",
        "tenant": tenant,
        "document_id": chunk.document_id,
        "version": version,
        "chunk_id": chunk.id,
        "position": chunk.position,
        "text": chunk.text,
        "start": chunk.start,
        "end": chunk.end,
    }
    given = {
        "title": chunk.title,
        "headings": list(chunk.headings),
        "parent": chunk.parent,
        "source": chunk.source,
        "truncated": chunk.truncated,
        "metadata": dict(chunk.metadata),
        "fields": field_values(spec.fields, chunk.metadata),
        "vector": prepared.vector,
    }
    return source | {k: v for k, v in given.items() if v is not None and not _empty(v)}


def blank_source(tenant: str, document_id: str, version: int) -> dict[str, Any]:
    """Make what stands in place of a surplus chunk: no text and no vector, so no leg finds it."""
    return {
        "kind": "blank",
        "tenant": tenant,
        "document_id": document_id,
        "version": version,
        "at": now(),
    }


def now() -> str:
    """Return this moment in UTC, for people: nothing is ordered by it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _empty(value: Any) -> bool:
    return isinstance(value, str | list | dict | int) and not value
