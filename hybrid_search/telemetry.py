"""What happened, one JSON record a search: enough to see a leg that went silent."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid_search.domain import SearchRequest, SearchResult

logger = logging.getLogger(__name__)
MAX_BYTES = 20_000_000
"""Above this the log is set aside as ``.1``, the one before is dropped."""


class QueryLog:
    """Appends records to a file that only its owner can read. Never fails a search.

    ``text=False`` writes a hash of the query's words in their place.
    """

    def __init__(self, path: Path, *, text: bool = True) -> None:
        self._path = path
        self._text = text
        self._lock = threading.Lock()

    def record(self, request: SearchRequest, result: SearchResult) -> None:
        """Write the record of one search."""
        line = json.dumps(query_record(request, result, text=self._text), ensure_ascii=False)
        try:
            with self._lock:
                self._append(line.encode("utf-8", "replace") + b"\n")
        except OSError as error:
            logger.warning("the query log %s was not written: %s", self._path, error)

    def _append(self, line: bytes) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if self._path.exists() and self._path.stat().st_size > MAX_BYTES:
            self._path.replace(self._path.with_suffix(self._path.suffix + ".1"))
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        handle = os.open(self._path, flags, 0o600)
        try:
            os.write(handle, line)
        finally:
            os.close(handle)


def query_record(request: SearchRequest, result: SearchResult, *, text: bool) -> dict[str, Any]:
    """Make the record: query, variants, legs with counts and times, what was shown, versions."""
    words = request.query if text else hashlib.sha256(request.query.encode("utf-8", "replace"))
    return {
        "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "request_id": result.request_id,
        "query": words if isinstance(words, str) else f"sha256:{words.hexdigest()}",
        "variants": sorted({leg.variant for leg in result.legs}),
        "legs": {
            leg.leg: {"hits": leg.hits, "took_ms": leg.took_ms, "error": leg.error}
            for leg in result.legs
        },
        "shown": [hit.id for hit in result.hits],
        "total": result.total,
        "offset": request.offset,
        "degraded": [{"leg": d.leg, "reason": d.reason} for d in result.degraded],
        "notes": list(result.notes),
        "rank_constant": request.rank_constant,
        "candidates": request.candidates,
        "took_ms": round(result.took_ms, 2),
    }
