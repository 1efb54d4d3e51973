"""The embedded store: ``protocols.Store`` over one SQLite file, or in memory."""

from __future__ import annotations

import sqlite3
from contextlib import ExitStack, contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from hybrid_search.analysis import analysis_fingerprint
from hybrid_search.backends.embedded import records
from hybrid_search.backends.embedded.columns import Columns, next_columns
from hybrid_search.backends.embedded.database import Database, until
from hybrid_search.backends.embedded.failures import translated
from hybrid_search.backends.embedded.filters import allowed
from hybrid_search.backends.embedded.indexing import up_to_date
from hybrid_search.backends.embedded.ranking import Ranker, needs_vectors
from hybrid_search.backends.embedded.tables import drop_tables, read_meta
from hybrid_search.backends.embedded.writing import delete_documents, write_documents
from hybrid_search.domain import Snapshot, StoreStatus
from hybrid_search.errors import (
    DeadlineExceeded,
    HybridSearchError,
    InvalidInput,
    StoreUnavailable,
)
from hybrid_search.schema import refuse_other_reader

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from hybrid_search.backends.embedded.tables import Meta
    from hybrid_search.domain import (
        Answer,
        Ask,
        Chunk,
        Deadline,
        Document,
        Head,
        IndexSpec,
        RankedHit,
        Restriction,
        WriteResult,
    )
    from hybrid_search.protocols import Prepare


class EmbeddedStore:
    """One collection in one file; safe for many threads, and for many processes beside it."""

    def __init__(
        self, file: Path | None, collection: str, spec: IndexSpec, patience: float
    ) -> None:
        self._collection = collection
        self._wanted = spec
        self._database = Database(file, collection, patience)
        self._lock = Lock()
        self._columns: Columns | None = None

    @property
    def collection(self) -> str:
        """The collection's name."""
        return self._collection

    @property
    def description(self) -> str:
        """For people: which store this is."""
        return self._database.where

    def snapshot(self) -> Snapshot | None:
        """Return the stored spec; None when nothing was ever written.

        Raises ``FingerprintMismatch`` when its vectors are of another model than is wanted.
        """
        meta = self._meta()
        if meta is None:
            return None
        refuse_other_reader(meta.spec, self._wanted, self.description)
        return Snapshot((self._collection,), meta.spec)

    def fields(self, snapshot: Snapshot) -> Mapping[str, str]:
        """Return the declared fields of the index, with their types."""
        return dict(snapshot.spec.fields)

    def rank(
        self,
        snapshot: Snapshot,
        asks: Sequence[Ask],
        restriction: Restriction,
        deadline: Deadline | None = None,
    ) -> list[Answer | HybridSearchError]:
        """Answer all asks from one moment of the store: one value an ask, failures as values.

        The first search after opening reads every vector; a deadline does not cut that short.
        """
        vectors = any(needs_vectors(query) for ask in asks for query in ask.alternatives)
        try:
            with self._moment(deadline, vectors=vectors) as (connection, columns):
                mask = allowed(connection, columns, restriction)
                ranker = Ranker(connection, columns, mask, snapshot.indices[0], deadline)
                return [self._answer(ranker, ask) for ask in asks]
        except (DeadlineExceeded, InvalidInput) as failure:
            return [failure for _ in asks]

    def fetch(
        self, snapshot: Snapshot, hits: Sequence[RankedHit], deadline: Deadline | None = None
    ) -> dict[str, Chunk]:
        """Read chunks by id; what is gone by now is absent."""
        del snapshot
        sql = "SELECT chunk FROM bodies JOIN chunks USING (number) WHERE id = ?"
        found: dict[str, Chunk] = {}
        with self._reading() as connection:
            if connection is None:
                return found
            with until(deadline, connection):
                for hit in hits:
                    if row := connection.execute(sql, (hit.chunk_id,)).fetchone():
                        found[hit.chunk_id] = records.chunk(row[0])
        return found

    def write(
        self, tenant: str, documents: Sequence[Document], prepare: Prepare
    ) -> list[WriteResult]:
        """Store documents whole, in one transaction; unchanged ones cost one read."""
        return write_documents(self._database, self._wanted, tenant, documents, prepare)

    def delete(self, tenant: str, document_ids: Sequence[str]) -> list[WriteResult]:
        """Remove documents and all their chunks; their versions are remembered."""
        return delete_documents(self._database, tenant, document_ids)

    def heads(self, tenant: str, document_ids: Sequence[str]) -> dict[str, Head]:
        """Read heads; absent and deleted documents are absent from the answer."""
        with self._reading() as connection:
            found = records.heads(connection, tenant, document_ids) if connection else {}
        return {each: head for each, head in found.items() if not head.deleted}

    def chunks(self, tenant: str, document_id: str) -> list[Chunk]:
        """Read all chunks of one document, in order."""
        with self._reading() as connection:
            return records.chunks(connection, tenant, document_id) if connection else []

    def scan_heads(self, tenant: str | None = None) -> Iterator[Head]:
        """Read all live heads, in id order, as of the moment when the first is asked for."""
        if self._meta() is None:
            return
        where, values = (
            ("AND tenant = ?", (records.storable(tenant),)) if tenant is not None else ("", ())
        )
        sql = (
            f"SELECT {records.HEAD_COLUMNS} FROM heads WHERE NOT deleted {where} "  # noqa: S608
            "ORDER BY document_id, tenant"
        )
        for row in self._database.rows(sql, *values):
            yield records.head(row)

    def refresh(self) -> None:
        """Do nothing: what was written is findable at once."""
        self._database.check_open()

    def status(self) -> StoreStatus:
        """Count what is there, whatever the settings want."""
        with self._database.reading() as connection:
            meta = read_meta(connection)
            counts = connection.execute(_COUNTS).fetchone() if meta else (0, 0, 0)
        return StoreStatus(
            backend="embedded",
            location=str(self._database.file or "memory"),
            collection=self._collection,
            documents=counts[0],
            deleted=counts[1],
            chunks=counts[2],
            size_bytes=self._database.size(),
            spec=meta.spec if meta else None,
            indices=(self._collection,) if meta else (),
            version=f"SQLite {sqlite3.sqlite_version}",
        )

    def drop(self) -> None:
        """Remove everything; an empty file stays, because other processes may have it open."""
        self._database.check_open()
        if not self._database.exists():
            return
        with self._database.writing() as connection:
            if read_meta(connection):
                drop_tables(connection)
        self._database.shrink()

    def close(self) -> None:
        """Close the file. Idempotent; what is called later raises ``StoreUnavailable``."""
        self._database.close()
        self._columns = None

    def _meta(self) -> Meta | None:
        with self._database.reading() as connection:
            return read_meta(connection)

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        """Lend a connection to one moment of the index, or None where there is none."""
        with self._database.reading() as connection:
            yield connection if read_meta(connection) else None

    @contextmanager
    def _moment(
        self, deadline: Deadline | None, *, vectors: bool
    ) -> Iterator[tuple[sqlite3.Connection, Columns]]:
        """Lend a connection and the columns that were read at the very moment it sees."""
        with ExitStack() as stack:
            with _held(self._lock, deadline):
                connection = stack.enter_context(self._database.reading())
                meta = read_meta(connection)
                if meta and meta.analysis != analysis_fingerprint():
                    stack.close()
                    self._analyse_again()
                    connection = stack.enter_context(self._database.reading())
                    meta = read_meta(connection)
                if meta is None:
                    raise StoreUnavailable(f"{self.description} was dropped: add documents again")
                refuse_other_reader(meta.spec, self._wanted, self.description)
                columns = next_columns(connection, meta, self._columns, vectors=vectors)
                self._columns = columns
            with until(deadline, connection):
                yield connection, columns

    def _analyse_again(self) -> None:
        with self._database.writing() as connection:
            meta = read_meta(connection)
            if meta:
                up_to_date(connection, meta)

    def _answer(self, ranker: Ranker, ask: Ask) -> Answer | HybridSearchError:
        try:
            with translated(self.description):
                return ranker.answer(ask)
        except HybridSearchError as failure:
            return failure


_COUNTS = """SELECT (SELECT count(*) FROM heads WHERE NOT deleted),
(SELECT count(*) FROM heads WHERE deleted), (SELECT count(*) FROM chunks)"""


@contextmanager
def _held(lock: Lock, deadline: Deadline | None) -> Iterator[None]:
    if not lock.acquire(timeout=-1 if deadline is None else deadline.remaining()):
        raise DeadlineExceeded("no answer within the time given: another search reads the store")
    try:
        yield
    finally:
        lock.release()
