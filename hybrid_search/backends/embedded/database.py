"""The file: who may read and write it when, and in what transaction.

A file has one writing connection behind a lock and a pool of reading ones (WAL: readers never
wait for a writer, here or in another process). In memory there is one connection for all.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing, contextmanager
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any

from hybrid_search.backends.embedded.failures import closed, translated

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hybrid_search.domain import Deadline

_STEPS = 5000
"""Instructions of SQLite's machine between two looks at the clock: well under a millisecond."""
_MEMORY = ":memory:"
_WRITER = ("journal_mode = WAL", "synchronous = FULL", "journal_size_limit = 67108864")
"""Readers never wait; an acknowledged batch survives a power cut; the log is cut to 64 MB."""


class Database:
    """Transactions on one SQLite file, or on one database in memory; safe for many threads."""

    def __init__(self, file: Path | None, collection: str, patience: float) -> None:
        self.file = file
        self._patience = patience
        self.where = f"embedded store {file or 'in memory'} (collection {collection})"
        self._closed = False
        self._pool: list[sqlite3.Connection] = []
        self._pool_lock = Lock()
        self._write_lock = RLock()
        self._writer: sqlite3.Connection | None = None

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection that sees one moment. A file that is not there reads as empty."""
        with translated(self.where), self._lent() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.rollback()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection that writes: all of the block is stored, or nothing of it."""
        with self._write_lock, translated(self.where):
            connection = self._open_writer()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                connection.rollback()
                raise

    def rows(self, sql: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Read rows as of one moment, however long the reader takes and whatever is written."""
        with self.reading() as connection:
            cursor = connection.execute(sql, values)
            if self.file:
                yield from cursor
                return
            found = cursor.fetchall()
        yield from found

    def exists(self) -> bool:
        """Whether there is a file, with an index in it or not."""
        return self.file is None or self.file.exists()

    def size(self) -> int:
        """Bytes on disk, or in memory."""
        if self.file:
            files = [self.file, self.file.with_name(f"{self.file.name}-wal")]
            return sum(f.stat().st_size for f in files if f.exists())
        with self.reading() as connection:
            pages, size = (
                connection.execute(f"PRAGMA {what}").fetchone()[0]
                for what in ("page_count", "page_size")
            )
        return int(pages * size)

    def shrink(self) -> None:
        """Give the space of what was removed back to the disk."""
        with self._write_lock, translated(self.where):
            connection = self._open_writer()
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def check_open(self) -> None:
        """Raise ``StoreUnavailable`` after ``close``."""
        if self._closed:
            raise closed(self.where)

    def close(self) -> None:
        """Close all connections; those in use, as soon as they are given back. Idempotent."""
        with self._write_lock, self._pool_lock:
            self._closed = True
            idle, self._pool = self._pool, []
            if self._writer:
                idle.append(self._writer)
            self._writer = None
        for connection in idle:
            connection.close()

    @contextmanager
    def _lent(self) -> Iterator[sqlite3.Connection]:
        if self.file is None:
            with self._write_lock:
                yield self._open_writer()
        elif not self.exists():
            self.check_open()
            with closing(_connect(_MEMORY, self._patience)) as nothing:
                yield nothing
        else:
            connection = self._take(self.file)
            try:
                yield connection
            finally:
                self._give_back(connection)

    def _take(self, file: Path) -> sqlite3.Connection:
        with self._pool_lock:
            self.check_open()
            if self._pool:
                return self._pool.pop()
        connection = _connect(_address(file), self._patience)
        connection.execute("PRAGMA query_only = ON")
        return connection

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._pool_lock:
            if not self._closed:
                self._pool.append(connection)
                return
        connection.close()

    def _open_writer(self) -> sqlite3.Connection:
        self.check_open()
        if self._writer is None:
            connection = _connect(_made(self.file) if self.file else _MEMORY, self._patience)
            try:
                for setting in _WRITER:
                    connection.execute(f"PRAGMA {setting}")
            except sqlite3.Error:
                connection.close()
                raise
            self._writer = connection
        return self._writer


@contextmanager
def until(deadline: Deadline | None, connection: sqlite3.Connection) -> Iterator[None]:
    """Stop SQLite in the middle of a statement when the deadline has passed."""
    if deadline is None:
        yield
        return
    connection.set_progress_handler(lambda: time.monotonic() >= deadline.at, _STEPS)
    try:
        yield
    finally:
        connection.set_progress_handler(None, _STEPS)


def _connect(name: str, patience: float) -> sqlite3.Connection:
    return sqlite3.connect(
        name, timeout=patience, isolation_level=None, check_same_thread=False, uri=True
    )


def _made(file: Path) -> str:
    file.parent.mkdir(parents=True, exist_ok=True)
    # SQLite gives its side files the rights of this one: nobody else reads them either.
    os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))
    return _address(file)


def _address(file: Path) -> str:
    return f"{file.absolute().as_uri()}?mode=rw"
