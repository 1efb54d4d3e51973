"""What a user adds, and what is stored of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector: TypeAlias = NDArray[np.float32]

Metadata: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Document:
    """What a user adds: an id, a text, a title, metadata, and where it came from.

    >>> Document("handbook", "Ask before you order.").title
    ''
    """

    id: str
    text: str
    title: str = ""
    metadata: Metadata = field(default_factory=dict)
    source: str = ""


@dataclass(frozen=True, slots=True)
class Chunk:
    """The unit that is searched: ``text == document.text[start:end]``.

    ``headings`` is the path of headings above the chunk's own, outermost first. ``parent`` is
    the id of the chunk that is shown instead of this one, or empty.
    """

    id: str
    document_id: str
    position: int
    text: str
    start: int = 0
    end: int = 0
    title: str = ""
    headings: tuple[str, ...] = ()
    parent: str = ""
    source: str = ""
    metadata: Metadata = field(default_factory=dict)
    truncated: int = 0
    """How many characters at the end the embedder could not take; they are searched by BM25."""


@dataclass(frozen=True, slots=True)
class Head:
    """The record of one document beside its chunks: the authority on its content and version."""

    document: Document
    tenant: str
    version: int
    content_hash: str
    chunk_count: int
    complete: bool
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class Embedding:
    """One text's vector, the tokens it cost, and how many characters had to be cut off."""

    vector: Vector
    tokens: int = 0
    truncated: int = 0


@dataclass(frozen=True, slots=True)
class VectorSpace:
    """What makes two vectors comparable. Two indexes share vectors only when all of it is equal.

    ``model`` is the base model's name, never an ARN or profile: renaming one makes no new space.
    """

    model: str
    dimensions: int
    normalized: bool = True

    def __str__(self) -> str:
        unit = "normalised" if self.normalized else "not normalised"
        return f"{self.model}, {self.dimensions} dimensions, {unit}"
