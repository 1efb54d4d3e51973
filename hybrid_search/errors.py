"""The exception tree. Each class carries its HTTP status and its exit code.

HybridSearchError                 1  500  something we did not foresee
├── InvalidInput (ValueError)     2  422  the caller can mend it; names value and choices
├── NotFound (KeyError-like)      1  404  no such document, index or collection
├── Refused                       6  409  a guard said no; nothing was changed
│   ├── FingerprintMismatch       6  409  index and settings disagree on model or schema
│   └── ReadOnlyStore             6  409  an index somebody else made is never written
├── Locked                        5  409  another job holds the lock
├── DocumentError                 3  422  one document can't be stored: a dead letter
├── Degraded                      7  503  strict=True and a leg did not answer in full
└── Unavailable                   7  503  something outside did not answer
    ├── StoreUnavailable          7  503  OpenSearch, or the embedded file
    ├── StoreFull                 7  507  disk-full block: retrying does not help
    ├── AccessDenied              7  502  credentials missing, wrong or not allowed
    ├── ModelUnavailable          7  503  the embedding model did not answer
    ├── Throttled                 7  429  too many requests; ``retry_after`` in seconds
    └── DeadlineExceeded          7  504  the time given was used up
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable


class HybridSearchError(Exception):
    """Root of everything this package raises on purpose."""

    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500

    @property
    def reason(self) -> str:
        """One word or two for logs and ``degraded`` lists, e.g. ``throttled``."""
        return _snake(type(self).__name__)


class InvalidInput(HybridSearchError, ValueError):  # noqa: N818
    """A value that can't be used. The message names it, what was expected and the choices."""

    exit_code = 2
    http_status = 422


class NotFound(HybridSearchError):  # noqa: N818
    """There is no such document, index or collection."""

    http_status = 404


class Refused(HybridSearchError):  # noqa: N818
    """A guard said no, and nothing was changed."""

    exit_code = 6
    http_status = 409


class FingerprintMismatch(Refused):
    """The index was made with another model, analyzer, chunker or schema than the settings."""


class ReadOnlyStore(Refused):
    """The index was made by somebody else: it is searched, never written."""


class Locked(HybridSearchError):  # noqa: N818
    """Another job holds the lock."""

    exit_code = 5
    http_status = 409


class DocumentError(HybridSearchError):
    """One document can't be stored as it is. Others are not affected."""

    exit_code = 3
    http_status = 422


class Degraded(HybridSearchError):  # noqa: N818
    """A part of the search did not answer in full, and the caller asked for all or nothing."""

    exit_code = 7
    http_status = 503


class Unavailable(HybridSearchError):  # noqa: N818
    """Something outside this process did not answer as it should."""

    exit_code = 7
    http_status = 503


class StoreUnavailable(Unavailable):
    """The store did not answer."""


class StoreFull(Unavailable):
    """The store takes no writes: its disk is full, or an index block is set."""

    http_status = 507


class AccessDenied(Unavailable):
    """Credentials are missing, wrong, expired, or not allowed to do this."""

    http_status = 502


class ModelUnavailable(Unavailable):
    """The model did not answer, or answered with an error of its own."""


class Throttled(Unavailable):
    """Too many requests. Trying again later helps."""

    http_status = 429


class DeadlineExceeded(Unavailable):
    """The time given was used up."""

    http_status = 504


def choices(what: str, value: object, allowed: Iterable[str]) -> InvalidInput:
    """Build the error for a name that is not among the allowed ones, with the nearest ones first.

    >>> str(choices("leg", "bm52", ["bm25", "vector"]))
    "unknown leg 'bm52': expected one of bm25, vector (did you mean bm25?)"
    """
    import difflib

    names = sorted(allowed)
    near = difflib.get_close_matches(str(value), names, n=1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    listed = ", ".join(names) if names else "nothing (none is available)"
    return InvalidInput(f"unknown {what} {value!r}: expected one of {listed}{hint}")


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")
