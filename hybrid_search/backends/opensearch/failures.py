"""What the engine's errors mean. Classified by ``error.type`` first, by status second.

A full disk is reported as status 429, as is "too many requests": a loop keyed on the status
would retry for ever on a full disk.
"""

from __future__ import annotations

from typing import Any

from hybrid_search.errors import (
    AccessDenied,
    DocumentError,
    HybridSearchError,
    InvalidInput,
    NotFound,
    StoreFull,
    StoreUnavailable,
    Throttled,
)

TOO_MANY_CLAUSES = ("too_many_nested_clauses", "too_many_clauses")


class TooManyClausesError(HybridSearchError):
    """The engine counted more terms than it allows: the query has to be shorter."""


class ConflictError(HybridSearchError):
    """A newer version is there already."""


def failure_of(status: Any, info: Any, where: str, text: Any = "") -> HybridSearchError:
    """Turn a status and an error body into one of our errors."""
    error = info.get("error", info) if isinstance(info, dict) else {}
    kind, reason = _described(error, text)
    if "cluster_block" in kind:
        return StoreFull(_blocked(where, reason))
    if any(mark in kind or mark in reason for mark in TOO_MANY_CLAUSES):
        return TooManyClausesError(f"{where}: {reason}")
    if kind == "version_conflict_engine_exception":
        return ConflictError(reason)
    if kind in ("strict_dynamic_mapping_exception", "mapper_parsing_exception"):
        return DocumentError(reason)
    if status == 401:
        return AccessDenied(
            f"{where} refused the sign-in (401): check HYBRID_SEARCH_OPENSEARCH_USER and "
            "HYBRID_SEARCH_OPENSEARCH_PASSWORD, or HYBRID_SEARCH_OPENSEARCH_AUTH=sigv4"
        )
    if status == 403:
        return AccessDenied(
            f"{where} does not allow this (403): {reason or text}. Check the role's index "
            "permissions; with sigv4 also HYBRID_SEARCH_REGION, the credentials and the clock"
        )
    return _by_status(status, kind, reason, where)


def _by_status(status: Any, kind: str, reason: str, where: str) -> HybridSearchError:
    message = f"{where}: {kind or 'error'} ({status}): {reason}"
    match status:
        case 404:
            return NotFound(message)
        case 409:
            return ConflictError(message)
        case 413:
            return DocumentError(f"too large for the node (http.max_content_length): {reason}")
        case 429:
            return Throttled(message)
        case 400:
            return InvalidInput(message)
        case int() if status >= 500:
            return StoreUnavailable(message)
    return HybridSearchError(message)


def _described(error: Any, text: Any) -> tuple[str, str]:
    if not isinstance(error, dict):
        return str(error or text or ""), str(error or text or "")
    deepest = error
    causes = [c for c in (error.get("root_cause") or [{}]) if isinstance(c, dict)]
    cause = error.get("caused_by")
    while isinstance(cause, dict):
        deepest, cause = cause, cause.get("caused_by")
    kind = str(error.get("type", ""))
    if kind == "search_phase_execution_exception" and causes:
        kind = str(causes[0].get("type", kind)) or kind
    reasons = [str(e.get("reason") or "") for e in (error, *causes[:1], deepest)]
    return kind, "; ".join(dict.fromkeys(r for r in reasons if r))[:600]


def _blocked(where: str, reason: str) -> str:
    return (
        f"{where} takes no writes now: {reason}. Usually the disk is full: free space, then clear "
        'the block (PUT <index>/_settings {"index.blocks.read_only_allow_delete": null})'
    )
