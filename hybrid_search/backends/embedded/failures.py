"""What SQLite and the file system say, in the words of this package."""

from __future__ import annotations

import errno
import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hybrid_search.errors import DeadlineExceeded, StoreFull, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hybrid_search.errors import HybridSearchError

_FULL = "the disk is full: free some space, then add again; nothing was half written"
_CLOSED = "the store is closed"
_ADVICE = {
    "BUSY": "another process has been writing for too long: try again when it is done",
    "LOCKED": "another process has been writing for too long: try again when it is done",
    "CORRUPT": "the file is damaged: restore a copy, or remove it and add the documents again",
    "NOTADB": "the file is no index of this package: choose another folder or collection",
    "READONLY": "the file or its folder can't be written: check who owns it and its permissions",
    "PERM": "the file or its folder can't be written: check who owns it and its permissions",
    "CANTOPEN": "the file can't be opened: check that its folder can be read and written",
    "IOERR": "the disk gave an error: check the disk, and that it is no network share",
}


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Raise what SQLite or the file system raises as ``StoreUnavailable`` and its siblings."""
    try:
        yield
    except sqlite3.Error as error:
        failure = _from_sqlite(error, where)
        if failure is None:
            raise
        raise failure from error
    except OSError as error:
        raise _from_system(error, where) from error


def closed(where: str) -> StoreUnavailable:
    """Build the error for a store that is used after ``close``."""
    return StoreUnavailable(f"{where}: {_CLOSED}")


def _from_sqlite(error: sqlite3.Error, where: str) -> HybridSearchError | None:
    name = getattr(error, "sqlite_errorname", "").removeprefix("SQLITE_")
    kind = name.split("_")[0]
    if kind == "INTERRUPT":
        return DeadlineExceeded(f"{where}: no answer within the time given")
    if kind == "FULL":
        return StoreFull(f"{where}: {_FULL}")
    if kind in _ADVICE:
        return StoreUnavailable(f"{where}: {_ADVICE[kind]} ({error})")
    return closed(where) if "closed database" in str(error) else None


def _from_system(error: OSError, where: str) -> HybridSearchError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFull(f"{where}: {_FULL}")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StoreUnavailable(f"{where}: {_ADVICE['PERM']} ({error.strerror})")
    return StoreUnavailable(f"{where}: {_ADVICE['CANTOPEN']} ({error.strerror})")
