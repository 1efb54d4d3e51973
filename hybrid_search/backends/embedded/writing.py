"""One batch of documents, stored in one transaction.

Embedding takes seconds and a transaction keeps other writers out, so a batch is first compared
with what is stored, then prepared, and only then written. What another writer has stored in
between is found when the heads are read again inside the transaction.
"""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from hybrid_search.backends.embedded import records
from hybrid_search.backends.embedded.columns import REMOVALS_KEPT
from hybrid_search.backends.embedded.indexing import (
    analysed,
    chunk_numbers,
    drop_tokens,
    put_tokens,
    put_values,
    ready_to_write,
    up_to_date,
)
from hybrid_search.backends.embedded.records import storable
from hybrid_search.backends.embedded.tables import read_meta, save_meta
from hybrid_search.domain import Document, Prepared, WriteResult
from hybrid_search.errors import DocumentError
from hybrid_search.schema import (
    check_vector,
    content_hash,
    field_values,
    refuse_other_writer,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from hybrid_search.backends.embedded.database import Database
    from hybrid_search.backends.embedded.tables import Meta
    from hybrid_search.domain import Head, IndexSpec, PreparedChunk, WriteStatus
    from hybrid_search.protocols import Prepare

    Version: TypeAlias = tuple[str, str]
    """A document's id and content hash."""


def write_documents(
    database: Database,
    wanted: IndexSpec,
    tenant: str,
    documents: Sequence[Document],
    prepare: Prepare,
) -> list[WriteResult]:
    """Store documents whole; see ``protocols.Store.write``."""
    hashes = [_hash(document) for document in documents]
    spec, changed = _compare(database, wanted, tenant, documents, hashes)
    made = prepare(list(changed.values()), spec) if changed else ()
    prepared = dict(zip(changed, made, strict=True))
    with database.writing() as connection:
        batch = Batch(connection, ready_to_write(connection, wanted, database.where), tenant)
        results = [
            batch.put(document, digest, prepared.get((document.id, digest)))
            for document, digest in zip(documents, hashes, strict=True)
        ]
        batch.finish()
    return results


def delete_documents(
    database: Database, tenant: str, document_ids: Sequence[str]
) -> list[WriteResult]:
    """Remove documents; see ``protocols.Store.delete``."""
    with database.reading() as connection:
        if read_meta(connection) is None:
            return [WriteResult(each, "absent") for each in document_ids]
    with database.writing() as connection:
        meta = read_meta(connection)
        if meta is None:
            return [WriteResult(each, "absent") for each in document_ids]
        batch = Batch(connection, up_to_date(connection, meta), tenant)
        results = [batch.delete(each) for each in document_ids]
        batch.finish()
    return results


def _compare(
    database: Database,
    wanted: IndexSpec,
    tenant: str,
    documents: Sequence[Document],
    hashes: Sequence[str],
) -> tuple[IndexSpec, dict[Version, Document]]:
    """Say what is to be prepared, once each, and for which spec.

    Documents count one after the other: of one id, the last has the last word.
    """
    with database.reading() as connection:
        meta = read_meta(connection)
        if meta is None:
            spec, known = wanted, {}
        else:
            refuse_other_writer(meta.spec, wanted, database.where)
            spec = meta.spec
            heads = records.heads(connection, tenant, (d.id for d in documents))
            known = {i: head.content_hash for i, head in heads.items() if not head.deleted}
    changed: dict[Version, Document] = {}
    for document, digest in zip(documents, hashes, strict=True):
        if digest and known.get(document.id) != digest:
            changed[document.id, digest] = document
            known[document.id] = digest
    return spec, changed


class Batch:
    """Writes documents of one tenant in the caller's transaction; ``finish`` comes last."""

    def __init__(self, connection: sqlite3.Connection, meta: Meta, tenant: str) -> None:
        self._connection = connection
        self._meta = meta
        self._tenant = storable(tenant)
        self._change = meta.change + 1
        self._touched = False

    def put(self, document: Document, digest: str, prepared: Prepared | None) -> WriteResult:
        """Store one document, or say why not; nothing of a dead one is stored."""
        if not digest:
            return _dead(document, "its metadata can't be written as JSON")
        head = self._head(document.id)
        live = head is not None and not head.deleted
        if prepared is None or (live and head and head.content_hash == digest):
            # Not prepared: it was there when the batch was compared, and changed afterwards.
            count, version = (head.chunk_count, head.version) if head else (0, 0)
            return WriteResult(document.id, "unchanged", count, version)
        try:
            values = self._checked(document, prepared)
            version = self._replace(document, digest, prepared, values, head)
        except DocumentError as error:
            return _dead(document, str(error))
        status: WriteStatus = "replaced" if live else "added"
        return WriteResult(document.id, status, len(prepared.chunks), version)

    def delete(self, document_id: str) -> WriteResult:
        """Leave of a document only its version, so that a later one counts on."""
        head = self._head(document_id)
        if head is None or head.deleted:
            return WriteResult(document_id, "absent")
        self._remove_chunks(document_id)
        self._save_head(Document(document_id, ""), "", 0, head.version + 1, deleted=True)
        return WriteResult(document_id, "deleted", head.chunk_count, head.version + 1)

    def finish(self) -> None:
        """Record that there was a change, if there was one."""
        if not self._touched:
            return
        sql = "DELETE FROM removed WHERE change <= ?"
        self._connection.execute(sql, (self._change - REMOVALS_KEPT,))
        save_meta(self._connection, replace(self._meta, change=self._change))

    def _checked(self, document: Document, prepared: Prepared) -> dict[str, Any]:
        """Return the values of its declared fields, or raise ``DocumentError``."""
        if prepared.error:
            raise DocumentError(prepared.error)
        if not prepared.chunks:
            raise DocumentError("no text")
        space = self._meta.spec.space
        for each in prepared.chunks if space else ():
            if space and (wrong := check_vector(each.vector, space)):
                raise DocumentError(f"chunk {each.chunk.position}: {wrong}")
        return field_values(self._meta.spec.fields, document.metadata)

    def _replace(
        self,
        document: Document,
        digest: str,
        prepared: Prepared,
        values: Mapping[str, Any],
        head: Head | None,
    ) -> int:
        version = head.version + 1 if head else 1
        self._connection.execute("SAVEPOINT document")
        try:
            self._remove_chunks(document.id)
            numbers = [self._add_chunk(document.id, each) for each in prepared.chunks]
            put_values(self._connection, numbers, values)
            self._save_head(document, digest, len(numbers), version, deleted=False)
        except sqlite3.IntegrityError as error:
            self._connection.execute("ROLLBACK TO document")
            raise DocumentError(f"a chunk id is already in use ({error})") from error
        finally:
            self._connection.execute("RELEASE document")
        return version

    def _add_chunk(self, document_id: str, prepared: PreparedChunk) -> int:
        chunk, number = prepared.chunk, self._meta.next_chunk
        self._meta = replace(self._meta, next_chunk=number + 1)
        tokens = analysed(chunk, self._meta.spec)
        place = (storable(chunk.id), self._tenant, storable(document_id), chunk.position)
        self._connection.execute(
            "INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (number, *place, *map(len, tokens.values())),
        )
        body = (number, records.chunk_json(chunk))
        self._connection.execute("INSERT INTO bodies VALUES (?, ?)", body)
        if self._meta.spec.space:
            vector = np.asarray(prepared.vector, "<f4").tobytes()
            self._connection.execute("INSERT INTO vectors VALUES (?, ?)", (number, vector))
        put_tokens(self._connection, number, tokens)
        return number

    def _remove_chunks(self, document_id: str) -> None:
        self._touched = True
        numbers = chunk_numbers(self._connection, self._tenant, storable(document_id))
        sql = "SELECT chunk FROM bodies WHERE number = ?"
        for number in numbers:
            stored = self._connection.execute(sql, (number,)).fetchone()[0]
            drop_tokens(self._connection, number, analysed(records.chunk(stored), self._meta.spec))
        keys = [(number,) for number in numbers]
        for table in ("chunks", "bodies", "vectors", "field_values"):
            sql = f"DELETE FROM {table} WHERE number = ?"  # noqa: S608
            self._connection.executemany(sql, keys)
        gone = [(self._change, number) for number in numbers]
        self._connection.executemany("INSERT INTO removed VALUES (?, ?)", gone)

    def _head(self, document_id: str) -> Head | None:
        return records.heads(self._connection, self._tenant, [document_id]).get(document_id)

    def _save_head(
        self, document: Document, digest: str, chunks: int, version: int, *, deleted: bool
    ) -> None:
        key = (self._tenant, storable(document.id), version, digest, chunks, deleted)
        self._connection.execute(
            "INSERT OR REPLACE INTO heads VALUES (?, ?, ?, ?, ?, ?, ?)",
            (*key, records.document_json(document)),
        )


def _hash(document: Document) -> str:
    """Hash a document's content; empty when its metadata can't be written as JSON."""
    try:
        return content_hash(document)
    except (TypeError, ValueError, RecursionError):
        return ""


def _dead(document: Document, reason: str) -> WriteResult:
    return WriteResult(document.id, "dead", reason=reason)
