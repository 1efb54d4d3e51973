"""Documents of others: anything with a text, and an id if it has one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hybrid_search.domain import Document
from hybrid_search.errors import InvalidInput
from hybrid_search.schema import chunk_id

_TEXTS = ("content", "text")
_OWN = {"id", "title", "source", *_TEXTS}


def text_of(document: Any) -> str:
    """Return what is searched of a document: its ``content`` or ``text``, or itself if a string.

    >>> text_of({"content": "a lost parcel"})
    'a lost parcel'
    """
    if isinstance(document, str):
        return document
    for name in _TEXTS:
        value = _get(document, name)
        if isinstance(value, str):
            return value
    raise InvalidInput(
        f"document {str(document)[:80]!r} has no text: expected a 'content' or 'text' string"
    )


def document_key(document: Any) -> str:
    """Return a document's id, else a key that names this very object while it is alive.

    >>> document_key({"id": 7, "content": "x"})
    '7'
    """
    given = None if isinstance(document, str) else _get(document, "id")
    return f"object-{id(document):x}" if given is None else str(given)


def has_id(document: Any) -> bool:
    """Tell whether a document has an id of its own."""
    return not isinstance(document, str) and _get(document, "id") is not None


def chunk_key(document: Any, tenant: str = "") -> str:
    """Return the id under which a store holds this document as one chunk."""
    return chunk_id(tenant, document_key(document), 0)


def as_document(document: Any) -> Document:
    """Turn a document of others into ours; what we have no place for becomes metadata."""
    if isinstance(document, Document):
        return document
    metadata: dict[str, Any] = {}
    if isinstance(document, Mapping):
        metadata = {str(k): v for k, v in document.items() if k not in _OWN}
    title, source = _get(document, "title"), _get(document, "source")
    return Document(
        id=document_key(document),
        text=text_of(document),
        title=title if isinstance(title, str) else "",
        metadata=metadata,
        source=source if isinstance(source, str) else "",
    )


def _get(document: Any, name: str) -> Any:
    if isinstance(document, Mapping):
        return document.get(name)
    value = getattr(document, name, None)
    return None if callable(value) else value
