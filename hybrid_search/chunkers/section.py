"""One chunk a section: cut at headings (``#`` to ``######``), never inside a code fence.

A heading without a text of its own stays with the section that follows it. A section longer than
the limit is cut again, at the last paragraph, line, sentence or word that fits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hybrid_search.domain import Chunk
from hybrid_search.errors import InvalidInput
from hybrid_search.schema import chunk_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hybrid_search.domain import Document
    from hybrid_search.protocols import Chunker

MAX_CHARACTERS = 2000
"""About 400 English words; embedding models see between 256 and 8,192 tokens."""
MIN_MAX_CHARACTERS = 100

_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_CUTS = (re.compile(r"\n[ \t]*\n"), re.compile(r"\n"), re.compile(r"[.!?…]\s"), re.compile(r"\s"))


@dataclass(frozen=True, slots=True)
class Section:
    """A slice of the text and the headings above it, outermost first, without its own."""

    start: int
    end: int
    headings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SectionChunker:
    """Cuts at headings, then at ``max_characters``."""

    max_characters: int = MAX_CHARACTERS

    @property
    def name(self) -> str:
        """The name with its parameters, as fingerprints hold it."""
        return f"section(max_characters={self.max_characters})"

    def chunk(self, document: Document, tenant: str = "") -> list[Chunk]:
        """Cut one document. Blank stretches make no chunk."""
        chunks: list[Chunk] = []
        for section in sections(document.text):
            for start, end in _pieces(document.text, section, self.max_characters):
                position = len(chunks)
                chunks.append(
                    Chunk(
                        id=chunk_id(tenant, document.id, position),
                        document_id=document.id,
                        position=position,
                        text=document.text[start:end],
                        start=start,
                        end=end,
                        title=document.title,
                        headings=section.headings,
                        source=document.source,
                        metadata=document.metadata,
                    )
                )
        return chunks


def create(max_characters: int = MAX_CHARACTERS) -> Chunker:
    r"""Make the chunker. Raises ``InvalidInput`` for a limit below 100 characters.

    >>> from hybrid_search.domain import Document
    >>> [c.text for c in create().chunk(Document("d", "# Leave\nAsk early.\n# Pay\nMonthly."))]
    ['# Leave\nAsk early.\n', '# Pay\nMonthly.']
    """
    if max_characters < MIN_MAX_CHARACTERS:
        raise InvalidInput(
            f"max_characters is {max_characters}: expected {MIN_MAX_CHARACTERS} or more"
        )
    return SectionChunker(max_characters)


def chunk_by_section(text: str) -> list[str]:
    r"""Cut a text at its headings and return the sections, as the founding example does.

    >>> chunk_by_section("# A\none\n## B\ntwo")
    ['# A\none', '## B\ntwo']
    """
    return [text[s.start : s.end].strip() for s in sections(text)]


def sections(text: str) -> list[Section]:
    """Cut a text at its headings; blank text has no section.

    The slices are in order and cover the text but for blank stretches at its beginning.
    """
    found: list[Section] = []
    path: list[tuple[int, str]] = []
    start = 0
    above: tuple[str, ...] = ()
    for offset, level, title in _headings(text):
        if _has_body(text[start:offset]):
            found.append(Section(start, offset, above))
            start = offset
        elif not text[start:offset].strip():
            start = offset
        del path[next((i for i, (depth, _) in enumerate(path) if depth >= level), len(path)) :]
        if start == offset:
            above = tuple(name for _, name in path)
        path.append((level, title))
    if text[start:].strip():
        found.append(Section(start, len(text), above))
    return found


def _headings(text: str) -> Iterator[tuple[int, int, str]]:
    offset, fence = 0, ""
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        if fence:
            closes = mark and mark[1].startswith(fence) and not line[mark.end() :].strip()
            fence = "" if closes else fence
        elif mark:
            fence = mark[1]
        elif heading := _HEADING.fullmatch(line.rstrip("\r\n")):
            yield offset, len(heading[1]), heading[2]
        offset += len(line)


def _has_body(text: str) -> bool:
    return any(line.strip() and not _HEADING.fullmatch(line) for line in text.splitlines())


def _pieces(text: str, section: Section, limit: int) -> Iterator[tuple[int, int]]:
    start = section.start
    while section.end - start > limit:
        end = _last_cut(text, start, start + limit)
        if text[start:end].strip():
            yield start, end
        start = end
    if text[start : section.end].strip():
        yield start, section.end


def _last_cut(text: str, start: int, limit: int) -> int:
    for pattern in _CUTS:
        cut = max((m.end() for m in pattern.finditer(text, start + 1, limit)), default=0)
        if cut > start + (limit - start) // 2:
            return cut
    return limit
