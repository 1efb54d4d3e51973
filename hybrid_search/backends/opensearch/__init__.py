"""OpenSearch 2.x and 3.x: one index holds the text, the vectors and the head records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid_search.backends.opensearch.connection import Access, Connection
from hybrid_search.backends.opensearch.foreign import ForeignStore, Names
from hybrid_search.backends.opensearch.store import OpenSearchStore
from hybrid_search.domain import IndexSpec

if TYPE_CHECKING:
    from hybrid_search.protocols import Store

__all__ = ["Access", "Names", "create"]


def create(
    access: Access,
    collection: str = "docs",
    spec: IndexSpec | None = None,
    foreign: Names | None = None,
) -> Store:
    """Open a collection, or with ``foreign`` an index that somebody else made.

    Nothing is sent until the store is used. Raises ``InvalidInput`` for an unusable address and
    ``AccessDenied`` where requests have to be signed and there are no credentials.
    """
    wanted = spec or IndexSpec(space=None)
    connection = Connection(access)
    if foreign is not None:
        return ForeignStore(connection, collection, foreign, wanted.space)
    return OpenSearchStore(connection, collection, wanted)
