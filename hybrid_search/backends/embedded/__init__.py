"""The embedded backend: one SQLite file, no server. Advised to about 50,000 chunks.

A search reads its text legs from FTS5's postings and its vectors from memory, both as of one
moment; a write is one transaction over documents, chunks, tokens and vectors, so that a kill
leaves either all of a batch or nothing. The modules, in the order a search meets them: ``store``
(the protocol), ``database`` (connections), ``columns`` (what is in memory), ``filters``,
``ranking``, ``bm25`` and ``vectors``; and a write: ``writing``, ``indexing``, ``tables``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hybrid_search.backends.embedded.records import searchable_text
from hybrid_search.backends.embedded.store import EmbeddedStore
from hybrid_search.domain import IndexSpec
from hybrid_search.languages import language
from hybrid_search.schema import check_collection, check_fields

if TYPE_CHECKING:
    import os

__all__ = ["EmbeddedStore", "create", "searchable_text"]

_TEXT_ONLY = IndexSpec(space=None)


def create(
    path: str | os.PathLike[str] | None = None,
    collection: str = "docs",
    spec: IndexSpec = _TEXT_ONLY,
    patience: float = 20.0,
) -> EmbeddedStore:
    """Open the store ``<path>/<collection>.sqlite3``, or one in memory where there is no path.

    Nothing is made before the first write, which stores ``spec`` as the index's own. A writer
    waits up to ``patience`` seconds for the writer of another process. Raises ``InvalidInput``
    for an unusable collection name, field name or language.
    """
    check_collection(collection)
    check_fields(spec.fields)
    language(spec.language)
    file = None if path is None else Path(path) / f"{collection}.sqlite3"
    return EmbeddedStore(file, collection, spec, patience)
