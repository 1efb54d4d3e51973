"""Text to tokens, the same way OpenSearch's analyzers do it.

Three fields come of one text. *Content* is for prose: Unicode words (UAX #29), folded, without
stop words, stemmed. *Codes* keeps identifiers whole ("inv-2024-7831"). *Parts* holds the pieces
of those codes ("inv", "2024", "7831"), so that a code is found by what is remembered of it.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from functools import cache
from itertools import pairwise
from threading import Lock
from typing import TYPE_CHECKING, Literal

import Stemmer

from hybrid_search.folding import compose, fold, fold_width
from hybrid_search.languages import LANGUAGES, language

if TYPE_CHECKING:
    from collections.abc import Callable

    from hybrid_search.languages import Language

ANALYSIS_VERSION = 1
"""Raised with every change here that gives other tokens; embedded indexes are then rebuilt."""
MAX_TOKEN = 255
"""Characters of a token; what is longer is cut."""
MEMO_SIZE = 100_000

TextField = Literal["content", "codes", "parts"]

_PROBE = "L'été’s Häuser INV-2024/7831 1,024.5 node.js naïve_running ações 東京タワー ｶﾞ ① 👍"
"""A text whose tokens stand for the code of this module in the fingerprint."""

_HAN = "\u2e80-\u2fd5\u3005\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_HAN += "\U00020000-\U0003ffff"
_HIRAGANA = "\u3041-\u3096\u309d-\u309f"
_KATAKANA = "\u3031-\u3035\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
_HANGUL = "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb"
_CJK = _HAN + _HIRAGANA + _KATAKANA + _HANGUL
_PICTURE = "[\u2600-\u27bf\U0001f000-\U0001faff]"
_EMOJI = f"{_PICTURE}(?:[\ufe0f\U0001f3fb-\U0001f3ff]|\u200d{_PICTURE})*"

_CODE = re.compile("[^\\s\x00-\x20\x7f-\x9f\ud800-\udfff\ufffd,;()\\[\\]{}<>\"'|=‘’‚‛“”„‟«»‹›]+")
_PART = re.compile(r"[^\W_]+")
_EDGES = re.compile(r"^[\W_]+|[\W_]+$")
_MEANS_SOMETHING = re.compile(rf"[^\W_]|{_PICTURE}")
_NEEDS_CARE = re.compile(f"[{_HAN}{_HIRAGANA}{_KATAKANA}]")


class _Memo(dict[str, str]):
    """What a function gave for each word; emptied when full, so it stays small and fast."""

    def __init__(self, compute: Callable[[str], str]) -> None:
        super().__init__()
        self._compute = compute

    def __missing__(self, word: str) -> str:
        value = self._compute(word)
        if len(word) <= MAX_TOKEN:
            if len(self) >= MEMO_SIZE:
                self.clear()
            self[word] = value
        return value


class Analyzer:
    """Makes the tokens of one language; safe for many threads.

    >>> Analyzer(LANGUAGES["french"]).content_tokens("L'été à Zürich, aujourd’hui")
    ['zurich', "aujourd'hui"]
    """

    def __init__(self, language: Language) -> None:
        self._language = language
        self._stemmer = Stemmer.Stemmer(language.stemmer, 0) if language.stemmer else None
        # Porter's own programme, and Lucene's with it, leaves "us" and "as" whole.
        self._unstemmed = 2 if language.stemmer == "porter" else 0
        self._lock = Lock()
        self._terms = _Memo(self._term)

    def tokens(self, field: TextField, text: str) -> list[str]:
        """Return the tokens of one logical text field."""
        if field == "content":
            return self.content_tokens(text)
        return code_tokens(text) if field == "codes" else part_tokens(text)

    def content_tokens(self, text: str) -> list[str]:
        """Return the words, folded, without stop words, stemmed, each at most 255 characters."""
        text = compose(text)
        if self._language.cjk:
            return self._pairs(fold_width(text))
        return self._known(_words(text).findall(text))

    def _known(self, words: list[str]) -> list[str]:
        terms = self._terms
        return [term for word in words if (term := terms[word])]

    def _pairs(self, text: str) -> list[str]:
        found = []
        for run in _runs().findall(text):
            if not _is_cjk().match(run):
                found += self._known([run])
            elif len(run) == 1:
                found.append(run)
            else:
                found += map("".join, pairwise(run))
        return found

    def _term(self, word: str) -> str:
        word = self._bare(fold(word))[:MAX_TOKEN]
        if word in self._language.stop_words or not _MEANS_SOMETHING.search(word):
            return ""
        if self._stemmer is None or len(word) <= self._unstemmed:
            return word
        with self._lock:
            return str(self._stemmer.stemWord(word)) or word

    def _bare(self, word: str) -> str:
        """Cut off an elided article before the word, or a possessive after it."""
        article, apostrophe, rest = word.partition("'")
        if apostrophe and rest and article in self._language.articles:
            return rest
        return word.removesuffix("'s") if self._language.possessive else word


def code_tokens(text: str) -> list[str]:
    """Return what stands between spaces, brackets and quotes, folded and without loose ends.

    >>> code_tokens("(see INV-2024-7831, part_nn44.)")
    ['see', 'inv-2024-7831', 'part_nn44']
    """
    return [code for word in _CODE.findall(compose(text)) if (code := _CODES[word])]


def part_tokens(text: str) -> list[str]:
    """Return the runs of letters and digits within the codes.

    >>> part_tokens("INV-2024 part_nn44")
    ['inv', '2024', 'part', 'nn44']
    """
    return " ".join([_PARTS[code] for code in code_tokens(text)]).split()


@cache
def analyzer(name: str) -> Analyzer:
    """Return the process's analyzer for a language. Raises ``InvalidInput`` for an unknown one."""
    return Analyzer(language(name))


@cache
def analysis_fingerprint() -> str:
    """Name everything the tokens depend on: this module, the stemmers, Unicode, the lists.

    An embedded index made under another fingerprint gets its tokens anew from the stored text.
    """
    known = [
        (
            name,
            sorted(each.articles),
            sorted(each.stop_words),
            analyzer(name).content_tokens(_PROBE),
        )
        for name, each in LANGUAGES.items()
    ]
    seen = (known, code_tokens(_PROBE), part_tokens(_PROBE))
    digest = hashlib.blake2b(repr(seen).encode(), digest_size=8).hexdigest()
    return "/".join((str(ANALYSIS_VERSION), Stemmer.version(), unicodedata.unidata_version, digest))


def _code(word: str) -> str:
    return _EDGES.sub("", fold(word))[:MAX_TOKEN]


def _spaced_parts(code: str) -> str:
    return " ".join(_PART.findall(code))


_CODES = _Memo(_code)
_PARTS = _Memo(_spaced_parts)


def _words(text: str) -> re.Pattern[str]:
    return _mixed_words() if _NEEDS_CARE.search(text) else _plain_words()


@cache
def _plain_words() -> re.Pattern[str]:
    return re.compile(f"{_word_pattern('')}|{_EMOJI}")


@cache
def _mixed_words() -> re.Pattern[str]:
    """Han and hiragana one by one, katakana in runs, all else as elsewhere."""
    apart = _HAN + _HIRAGANA + _KATAKANA
    return re.compile(f"[{_HAN}{_HIRAGANA}]|[{_KATAKANA}]+|{_word_pattern(apart)}|{_EMOJI}")


@cache
def _runs() -> re.Pattern[str]:
    return re.compile(f"[{_CJK}]+|{_word_pattern(_CJK)}|{_EMOJI}")


@cache
def _is_cjk() -> re.Pattern[str]:
    return re.compile(f"[{_CJK}]")


def _word_pattern(without: str) -> str:
    """Letters, digits, marks and "_"; inside also an apostrophe, dot or colon (UAX #29)."""
    ahead = f"(?![{without}])" if without else ""
    one = f"(?:{ahead}[\\w{_marks()}])" if without else f"[\\w{_marks()}]"
    letters = f"(?<=[^\\W\\d_])['’‘.:·․‧](?={ahead}[^\\W\\d_])"
    digits = r"(?<=\d)['’‘.․,;](?=\d)"
    return f"{one}+(?:(?:{letters}|{digits}){one}+)*"


@cache
def _marks() -> str:
    """Return all combining marks as ranges: they belong to the word that they stand in."""
    codes = [c for c in range(0x300, 0x10000) if unicodedata.category(chr(c))[0] == "M"]
    members = set(codes)
    starts = [c for c in codes if c - 1 not in members]
    ends = [c for c in codes if c + 1 not in members]
    return "".join(f"{chr(a)}-{chr(b)}" for a, b in zip(starts, ends, strict=True))
