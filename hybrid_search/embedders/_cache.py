"""A cache around any embedder: the same text in the same space is embedded once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hybrid_search.domain import Embedding
from hybrid_search.embedders._vectorfile import Key, VectorFile
from hybrid_search.schema import text_hash

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hybrid_search.domain import Deadline, VectorSpace
    from hybrid_search.errors import HybridSearchError
    from hybrid_search.protocols import Embedder

RECENT_QUERIES = 512
"""Queries kept in memory: at 1,024 dimensions about 2 MB."""

SAVED_TOGETHER = 256
"""Texts embedded between two writes: what an interrupted run may have to embed again."""


@dataclass(frozen=True, slots=True)
class CacheStats:
    """``hits`` texts were remembered; ``misses`` were not and cost ``calls`` and ``tokens``.

    Equal texts of one call count once.
    """

    calls: int = 0
    hits: int = 0
    misses: int = 0
    tokens: int = 0


class CachedEmbedder:
    """Remembers vectors in a file, and recent queries in memory. Failures are never kept.

    Without a path only recent queries are remembered. Its vectors are read-only. Threads and
    processes may share the file; one that is damaged or can't be used costs time, never an error.

    >>> from hybrid_search.embedders.hashing import create
    >>> cached = CachedEmbedder(create(), path=None)
    >>> _ = cached.embed_query("whale"), cached.embed_query("whale")
    >>> cached.stats
    CacheStats(calls=1, hits=1, misses=1, tokens=1)
    """

    def __init__(self, inner: Embedder, path: Path | None) -> None:
        self._inner = inner
        self._file = VectorFile(path) if path is not None else None
        self._recent: OrderedDict[str, Embedding] = OrderedDict()
        self._stats = CacheStats()
        self._lock = threading.Lock()

    @property
    def inner(self) -> Embedder:
        """The embedder that is asked for what is not remembered."""
        return self._inner

    @property
    def space(self) -> VectorSpace:
        """The inner embedder's space."""
        return self._inner.space

    @property
    def stats(self) -> CacheStats:
        """The counts so far."""
        return self._stats

    def embed_documents(
        self, texts: Sequence[str], deadline: Deadline | None = None
    ) -> list[Embedding | HybridSearchError]:
        """Embed texts: one value a text, in order. Equal texts are embedded once."""
        values: dict[str, Embedding | HybridSearchError] = {}
        values.update(self._stored("document", list(dict.fromkeys(texts))))
        wanted = [text for text in dict.fromkeys(texts) if text not in values]
        self._count(hits=len(values))
        for first in range(0, len(wanted), SAVED_TOGETHER):
            part = wanted[first : first + SAVED_TOGETHER]
            found = self._inner.embed_documents(part, deadline)
            values.update(zip(part, found, strict=True))
            self._keep("document", dict(zip(part, found, strict=True)))
        return [values[text] for text in texts]

    def embed_query(self, text: str, deadline: Deadline | None = None) -> Embedding:
        """Embed one text. Raises what the inner embedder raises."""
        known = self.remembered(text) or self._stored("query", [text]).get(text)
        if known is None:
            known = self._inner.embed_query(text, deadline)
            self._keep("query", {text: known})
        else:
            self._count(hits=1)
        with self._lock:
            self._recent[text] = known
            if len(self._recent) > RECENT_QUERIES:
                self._recent.popitem(last=False)
        return known

    def close(self) -> None:
        """Close the file and the inner embedder."""
        if self._file is not None:
            self._file.close()
        self._inner.close()

    def remembered(self, text: str) -> Embedding | None:
        """Return a recent query's embedding from memory; None where it would cost anything."""
        with self._lock:
            if text in self._recent:
                self._recent.move_to_end(text)
            return self._recent.get(text)

    def _stored(self, purpose: str, texts: Sequence[str]) -> dict[str, Embedding]:
        if self._file is None:
            return {}
        hashes = {text_hash(text): text for text in texts}
        stored = self._file.read(Key(self.space, purpose), list(hashes))
        return {hashes[digest]: embedding for digest, embedding in stored.items()}

    def _keep(self, purpose: str, found: dict[str, Embedding | HybridSearchError]) -> None:
        made = {text: value for text, value in found.items() if isinstance(value, Embedding)}
        for embedding in made.values():
            embedding.vector.setflags(write=False)
        tokens = sum(embedding.tokens for embedding in made.values())
        self._count(calls=1, misses=len(found), tokens=tokens)
        if self._file is not None:
            self._file.write(
                Key(self.space, purpose), {text_hash(text): made[text] for text in made}
            )

    def _count(self, calls: int = 0, hits: int = 0, misses: int = 0, tokens: int = 0) -> None:
        with self._lock:
            now = self._stats
            self._stats = replace(
                now,
                calls=now.calls + calls,
                hits=now.hits + hits,
                misses=now.misses + misses,
                tokens=now.tokens + tokens,
            )
