r"""Hybrid search on any OpenSearch: words and meaning asked separately, fused on the client.

>>> from hybrid_search import BM25Index, Retriever, VectorIndex, chunk_by_section
>>> embed = lambda text: [text.count("refund") + 0.1, text.count("leave") + 0.1]
>>> retriever = Retriever(VectorIndex(embed), BM25Index())
>>> for chunk in chunk_by_section("# Refunds\nA refund takes 5 days.\n# Leave\nAsk early."):
...     retriever.add_document({"content": chunk})
>>> for document, score in retriever.search("how long is a refund", k=1):
...     print(document["content"].splitlines()[0], round(score, 4))
# Refunds 0.0328
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hybrid_search.build import connect
    from hybrid_search.chunkers.section import chunk_by_section
    from hybrid_search.domain import Document, SearchRequest, SearchResult
    from hybrid_search.hybrid import HybridSearch
    from hybrid_search.indexes import BM25Index, IdentifierIndex, VectorIndex
    from hybrid_search.retriever import Retriever

__version__ = "0.1.0"

__all__ = [
    "BM25Index",
    "Document",
    "HybridSearch",
    "IdentifierIndex",
    "Retriever",
    "SearchRequest",
    "SearchResult",
    "VectorIndex",
    "chunk_by_section",
    "connect",
]

_HOMES = {
    "BM25Index": "indexes",
    "Document": "domain",
    "HybridSearch": "hybrid",
    "IdentifierIndex": "indexes",
    "Retriever": "retriever",
    "SearchRequest": "domain",
    "SearchResult": "domain",
    "VectorIndex": "indexes",
    "chunk_by_section": "chunkers.section",
    "connect": "build",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for: a program that needs the nouns only loads no client library."""
    if name not in _HOMES:
        raise AttributeError(f"module 'hybrid_search' has no attribute {name!r}")
    return getattr(importlib.import_module(f"hybrid_search.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
