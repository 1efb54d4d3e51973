"""Codes: what looks like an identifier in the user's own words, found whole.

Plain RRF lets two mediocre ranks beat one first place, which ruins identifier queries whenever
the vector side has nothing to say about codes. This leg gives the chunks that hold the codes a
ranking of their own. It says nothing when the query has no code, or when the codes are so common
that they tell nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hybrid_search.domain import Ask, Constant, Match, Scored

if TYPE_CHECKING:
    from hybrid_search.domain import EngineQuery, Variant, Vector
    from hybrid_search.protocols import Leg

LIMIT = 10
"""More chunks than this with the same codes: the codes tell nothing.

Chosen on scifact's training queries (the leg gained with up to 10 chunks found, and lost with 11
to 20), and on none of the queries that are reported.
"""
MAX_CODES = 20
MOST_CODES_FIRST = 10_000.0
"""Points a code, far above any BM25 score, so that the number of codes decides first."""

_BREAKS = re.compile(r"[\s,;()\[\]{}<>|=\"'“”‘’„«»‹›]+")
_QUOTED = re.compile(r'"([^"]+)"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|‹([^›]+)›')
_EDGES = re.compile(r"^[^\w]+|[^\w]+$|^_+|_+$")
_JOINED = re.compile(r"[^\W_]+(?:[-./_:+#@\\]+[^\W_]+)+")
_MIXED = re.compile(r"(?=.*\d)(?=.*[^\W\d_])[^\W_]+")
_ACRONYM_NUMBER = re.compile(r"\b([A-Z][A-Z0-9]{1,9}) (\d{2,})\b")
_LONG_NUMBER = re.compile(r"\d{5,}")


@dataclass(frozen=True, slots=True)
class Code:
    """One identifier-like piece of a query. ``spaced`` ones are found as adjacent parts."""

    text: str
    spaced: bool = False


def codes(text: str) -> list[Code]:
    """Recognise what looks like an identifier, in the order of the query, each once.

    >>> [code.text for code in codes("What happened in INC-2023-Q4-011 (see RFC 9110)?")]
    ['RFC 9110', 'INC-2023-Q4-011']
    >>> codes("a state-of-the-art plan for May 2024")
    []
    """
    spaced = ["".join(groups).strip() for groups in _QUOTED.findall(text)]
    unquoted = _QUOTED.sub(" ", text)
    spaced += [f"{name} {number}" for name, number in _ACRONYM_NUMBER.findall(unquoted)]
    unquoted = _ACRONYM_NUMBER.sub(" ", unquoted)
    words = (_EDGES.sub("", word) for word in _BREAKS.split(unquoted))
    found = [Code(s, spaced=True) for s in spaced if any(c.isalnum() for c in s)]
    found += [Code(word) for word in words if looks_like_code(word)]
    return list(dict.fromkeys(found))[:MAX_CODES]


def looks_like_code(word: str) -> bool:
    """Tell whether one word, already trimmed of punctuation, is identifier-like.

    Parts joined by ``- . / _ : + # @`` that hold a digit; letters mixed with digits; snake_case;
    dotted names of three parts; upper-case prefixes with two joints; numbers of five digits.

    >>> [w for w in "nn44 err_timeout e.g 2024 80017 10/2019".split() if looks_like_code(w)]
    ['nn44', 'err_timeout', '80017', '10/2019']
    """
    if _LONG_NUMBER.fullmatch(word) or _MIXED.fullmatch(word):
        return True
    if not _JOINED.fullmatch(word):
        return False
    if any(c.isdigit() for c in word) or "_" in word:
        return True
    dotted = word.count(".") >= 2 and all(len(part) > 1 for part in word.split("."))
    prefix = word.split("-")[0]
    return dotted or (word.count("-") >= 2 and len(prefix) > 1 and prefix.isupper())


@dataclass(frozen=True, slots=True)
class IdentifierLeg:
    """Chunks that hold all codes of the query; else any, most codes first; else their parts."""

    name: str = "identifier"
    needs_vector: bool = False
    literal: bool = True
    limit: int = LIMIT

    def ask(self, variant: Variant, vector: Vector | None, candidates: int) -> Ask | None:  # noqa: ARG002
        """Ask for the codes among the variant's words; nothing where there are none."""
        found = codes(variant.text)
        if not found:
            return None
        words = (Match("content", variant.text),)
        alternatives: list[EngineQuery] = [Scored(tuple(Constant(_query(c)) for c in found), words)]
        if len(found) > 1:
            counted = tuple(Constant(_query(c), MOST_CODES_FIRST) for c in found)
            alternatives.append(Scored(counted, words, every=False))
        if not all(code.spaced for code in found):
            alternatives.append(Scored(tuple(Constant(_parts(c)) for c in found), words))
        return Ask(tuple(alternatives), candidates, limit=self.limit)


def _query(code: Code) -> Match:
    return _parts(code) if code.spaced else Match("codes", code.text, every=True)


def _parts(code: Code) -> Match:
    return Match("parts", code.text, phrase=True)


def create(limit: int = LIMIT) -> Leg:
    """Make the leg; with more than ``limit`` chunks found it says nothing.

    >>> from hybrid_search.domain import Variant
    >>> create().ask(Variant("how to travel"), None, 10) is None
    True
    """
    return IdentifierLeg(limit=limit)
