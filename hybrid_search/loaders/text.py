"""Plain text files; they have no title."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hybrid_search.domain import Document
from hybrid_search.loaders._files import read_text

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class TextLoader:
    """Takes the text as it is."""

    suffixes: tuple[str, ...] = (".txt",)

    def load(self, path: Path, id: str) -> Document:  # noqa: A002
        """Read one file. Raises ``DocumentError`` where it can't be."""
        return Document(id, read_text(path), metadata={"path": id}, source=str(path.absolute()))


def create() -> TextLoader:
    """Make the loader.

    >>> create().suffixes
    ('.txt',)
    """
    return TextLoader()
