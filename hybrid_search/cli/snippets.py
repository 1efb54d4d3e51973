"""The part of a chunk that says most about the query, with the query's words marked."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from rich.text import Text

from hybrid_search.analysis import analyzer
from hybrid_search.cli.printing import one_line

if TYPE_CHECKING:
    from hybrid_search.analysis import Analyzer

MARK = "bold yellow"
BEFORE = 40
"""Characters shown before the first word that is found."""
_WORD = re.compile(r"[^\W_]+")


class Found(NamedTuple):
    """A word of the query in a text."""

    start: int
    end: int
    term: str


class Marker:
    """Finds a query's words in texts as the words leg does: whatever their ending or accents.

    >>> Marker("cafés", "english").snippet("One CAFE more", 80).spans
    [Span(4, 8, 'bold yellow')]
    """

    def __init__(self, query: str, language: str) -> None:
        self._analyzer: Analyzer = analyzer(language)
        self._wanted = {term for word in _WORD.findall(query) for term in self._terms(word)}

    def snippet(self, text: str, length: int) -> Text:
        """Cut out about so many characters, where most of the query's words are."""
        text = one_line(text)
        found = self._found(text)
        start = _best_start(found, length) if len(text) > length else 0
        start = 0 if start <= BEFORE else text.rfind(" ", 0, start - BEFORE) + 1
        end = len(text)
        if end - start > length:
            end = max(text.rfind(" ", start, start + length), start + length // 2)
        shown = Text("… " if start else "")
        offset = len(shown) - start
        shown.append(text[start:end])
        for one in _joined(found, text):
            if one.start >= start and one.end <= end:
                shown.stylize(MARK, one.start + offset, one.end + offset)
        return shown.append(" …") if end < len(text) else shown

    def _terms(self, word: str) -> list[str]:
        terms = self._analyzer.content_tokens(word)
        return [term for term in terms if len(term) > 1 or term.isdigit()]

    def _found(self, text: str) -> list[Found]:
        return [
            Found(word.start(), word.end(), term)
            for word in _WORD.finditer(text)
            for term in self._terms(word[0])
            if term in self._wanted
        ]


def _best_start(found: list[Found], length: int) -> int:
    """Return where a window begins that holds the most different words; the first of equals."""
    best, most = 0, 0
    for first in found:
        inside = {f.term for f in found if first.start <= f.start < first.start + length - BEFORE}
        if len(inside) > most:
            best, most = first.start, len(inside)
    return best


def _joined(found: list[Found], text: str) -> list[Found]:
    """Make one of the parts of a code: "INC-2023" is marked with its hyphen."""
    joined: list[Found] = []
    for one in found:
        between = text[joined[-1].end : one.start] if joined else " "
        if len(between) <= 1 and not between.isspace():
            joined[-1] = joined[-1]._replace(end=one.end)
        else:
            joined.append(one)
    return joined
