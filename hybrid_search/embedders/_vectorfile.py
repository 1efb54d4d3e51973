"""The embedding cache's file: SQLite in WAL mode, shared by threads and processes.

Whatever is wrong with the file is logged and otherwise the same as a file without the vector.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from hybrid_search.domain import Embedding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from hybrid_search.domain import Vector, VectorSpace

    T = TypeVar("T")

BUSY_SECONDS = 5.0
"""How long to wait for another process that is writing."""

_LOOKED_UP_TOGETHER = 500
_SCHEMA = """
CREATE TABLE IF NOT EXISTS embeddings (
    model TEXT NOT NULL, dimensions INTEGER NOT NULL, normalized INTEGER NOT NULL,
    purpose TEXT NOT NULL, text_hash TEXT NOT NULL,
    vector BLOB NOT NULL, tokens INTEGER NOT NULL, truncated INTEGER NOT NULL,
    PRIMARY KEY (model, dimensions, normalized, purpose, text_hash)
)"""
_READ = """
SELECT text_hash, vector, tokens, truncated FROM embeddings
WHERE model = ? AND dimensions = ? AND normalized = ? AND purpose = ? AND text_hash IN ({marks})"""
_WRITE = "INSERT OR REPLACE INTO embeddings VALUES (?, ?, ?, ?, ?, ?, ?, ?)"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Key:
    """What, beside the text, makes two embeddings the same. ``purpose``: query or document."""

    space: VectorSpace
    purpose: str

    @property
    def columns(self) -> tuple[str, int, bool, str]:
        """The key's columns, in the order of the table."""
        return (self.space.model, self.space.dimensions, self.space.normalized, self.purpose)


class VectorFile:
    """Embeddings by key and text hash. No method raises for what is wrong with the file.

    >>> import tempfile, pathlib
    >>> from hybrid_search.domain import VectorSpace
    >>> key = Key(VectorSpace("m", 2), "document")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = VectorFile(pathlib.Path(folder) / "vectors.db")
    ...     file.write(key, {"aa": Embedding(np.ones(2, np.float32), tokens=3)})
    ...     file.read(key, ["aa", "bb"])["aa"].tokens
    ...     file.close()
    3
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._opened: tuple[int, int] | None = None

    def read(self, key: Key, hashes: Sequence[str]) -> dict[str, Embedding]:
        """Return what is stored of these."""
        return self._try(lambda connection: dict(_read(connection, key, hashes)), {})

    def write(self, key: Key, embeddings: Mapping[str, Embedding]) -> None:
        """Store these, in one transaction."""
        rows = [
            (*key.columns, digest, _blob(found), found.tokens, found.truncated)
            for digest, found in embeddings.items()
        ]
        if rows:
            self._try(lambda connection: _write(connection, rows), None)

    def close(self) -> None:
        """Close the file. A later call opens it again."""
        with self._lock:
            self._close()

    def _try(self, work: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        with self._lock:
            try:
                return work(self._open())
            except (sqlite3.Error, OSError) as error:
                _log.warning("embedding cache %s can't be used: %s", self._path, error)
                if _is_damage(error):
                    self._set_aside()
        return otherwise

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with suppress(FileExistsError):
                os.close(os.open(self._path, os.O_CREAT | os.O_EXCL, 0o600))
            self._opened = _identity(self._path.stat())
            self._connection = _connect(self._path)
        return self._connection

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _set_aside(self) -> None:
        """Rename the file, unless another process has put a new one in its place."""
        self._close()
        with suppress(OSError):
            if _identity(self._path.stat()) != self._opened:
                return
            aside = _free_name(self._path)
            self._path.rename(aside)
            for suffix in ("-wal", "-shm"):
                self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
            _log.warning("embedding cache %s is damaged: it is now %s", self._path, aside)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")  # a crash may lose the newest, only
        with connection:
            connection.execute(_SCHEMA)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _read(
    connection: sqlite3.Connection, key: Key, hashes: Sequence[str]
) -> Iterator[tuple[str, Embedding]]:
    for first in range(0, len(hashes), _LOOKED_UP_TOGETHER):
        part = hashes[first : first + _LOOKED_UP_TOGETHER]
        statement = _READ.format(marks=",".join("?" * len(part)))
        for digest, blob, tokens, truncated in connection.execute(statement, (*key.columns, *part)):
            vector = _vector(blob, key.space.dimensions)
            if vector is not None:
                yield digest, Embedding(vector, tokens, truncated)


def _write(connection: sqlite3.Connection, rows: Sequence[tuple[object, ...]]) -> None:
    with connection:
        connection.executemany(_WRITE, rows)


def _blob(embedding: Embedding) -> bytes:
    return np.asarray(embedding.vector, dtype=np.float32).tobytes()


def _vector(blob: object, dimensions: int) -> Vector | None:
    """Read a vector back; None for what can't have been written here."""
    if not isinstance(blob, bytes) or len(blob) != 4 * dimensions:
        return None
    vector = np.frombuffer(blob, dtype=np.float32)
    return vector if np.isfinite(vector).all() else None


def _is_damage(error: Exception) -> bool:
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _free_name(path: Path) -> Path:
    number = 1
    while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    return aside
