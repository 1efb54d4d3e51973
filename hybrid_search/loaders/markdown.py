"""Markdown files; the first heading is the title."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hybrid_search.domain import Document
from hybrid_search.loaders._files import read_text

if TYPE_CHECKING:
    from pathlib import Path

_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class MarkdownLoader:
    """Takes the text as it is; cutting at headings is the chunker's work."""

    title_from_heading: bool = True
    suffixes: tuple[str, ...] = (".md", ".markdown")

    def load(self, path: Path, id: str) -> Document:  # noqa: A002
        """Read one file. Raises ``DocumentError`` where it can't be."""
        text = read_text(path)
        title = first_heading(text) if self.title_from_heading else ""
        return Document(id, text, title, {"path": id}, str(path.absolute()))


def first_heading(text: str) -> str:
    r"""Return the first heading's words, or nothing where there is none outside a code fence.

    >>> first_heading("Draft\n## Leave ##\nAsk early.")
    'Leave'
    """
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
        elif mark:
            fence = mark[1]
        elif (heading := _HEADING.fullmatch(line)) and heading[1]:
            return heading[1]
    return ""


def create(*, title_from_heading: bool = True) -> MarkdownLoader:
    """Make the loader.

    >>> create().suffixes
    ('.md', '.markdown')
    """
    return MarkdownLoader(title_from_heading)
