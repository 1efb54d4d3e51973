"""Folding: letters to lower case and to plain ASCII where Lucene's ``asciifolding`` does so.

Only what ends in ASCII is changed: "é" becomes "e" and "ß" becomes "ss", while the accents of
Greek, the dots of Cyrillic "й" and the voicing marks of kana are letters of their own and stay.
"""

from __future__ import annotations

import re
import unicodedata

_LETTERS = {
    "ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "ł": "l", "þ": "th", "ı": "i",
    "ħ": "h", "ŧ": "t", "ŋ": "n", "ŉ": "n", "ĸ": "q", "ƒ": "f", "ə": "a", "ǝ": "a", "ɛ": "e",
    "ɔ": "o", "ƀ": "b", "ɓ": "b", "ƈ": "c", "ɖ": "d", "ɗ": "d", "ɠ": "g", "ɨ": "i", "ƙ": "k",
    "ɲ": "n", "ʉ": "u", "ƴ": "y", "ƶ": "z",
}  # fmt: skip
_PUNCTUATION = dict.fromkeys("‐‑‒–—―", "-") | dict.fromkeys("‘’‚‛′‹›＇", "'")
_PUNCTUATION |= dict.fromkeys("“”„‟″«»", '"')
_SPECIAL = _LETTERS | _PUNCTUATION
_HALF_AND_FULL_WIDTH = re.compile("[\uff01-\uff9f]+")


class _Table(dict[int, str]):
    """A table for ``str.translate`` that works out each character once."""

    def __missing__(self, code: int) -> str:
        folded = self[code] = _fold_character(chr(code))
        return folded


def fold(text: str) -> str:
    """Return the text in lower case, its Latin letters without accents.

    >>> fold("Zürich, ŒUVRE, Straße, ﬁn")
    'zurich, oeuvre, strasse, fin'
    """
    return text.lower().translate(_TABLE)


def fold_width(text: str) -> str:
    """Return full-width ASCII and half-width katakana in their usual width.

    >>> fold_width("ＡＢＣ ｶﾞｽ")
    'ABC ガス'
    """
    return _HALF_AND_FULL_WIDTH.sub(lambda run: unicodedata.normalize("NFKC", run[0]), text)


def compose(text: str) -> str:
    """Return the text in NFC, the form in which accents are part of their letters."""
    return unicodedata.normalize("NFC", text)


def _fold_character(character: str) -> str:
    if character.isascii():
        return character
    if character in _SPECIAL:
        return _SPECIAL[character]
    if _is_mark(character):
        return ""
    if not _is_foldable(character):
        return character
    parts = unicodedata.normalize("NFKD", character)
    plain = "".join(_LETTERS.get(p, p) for p in parts if not _is_mark(p)).lower()
    fits = plain.isascii() and (plain.isalnum() or len(plain) == 1)
    return plain if fits else character


def _is_mark(character: str) -> bool:
    """Whether it is an accent on its own, or a variation selector."""
    return "\u0300" <= character <= "\u036f" or "\ufe00" <= character <= "\ufe0f"


def _is_foldable(character: str) -> bool:
    full_width = "\uff01" <= character <= "\uff5e"
    return full_width or unicodedata.category(character) in {"Lu", "Ll", "Lt", "No"}


_TABLE = _Table()
