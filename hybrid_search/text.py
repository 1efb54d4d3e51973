"""Text at the edge: made safe once, so that nothing behind has to think of it."""

from __future__ import annotations

import re
import unicodedata

REPLACEMENT = "\ufffd"

_SURROGATES = re.compile("[\ud800-\udfff]")
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_MARKS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


def clean(text: str) -> tuple[str, tuple[str, ...]]:
    r"""Make a text safe for every engine and model: the text and notes on what was changed.

    Normalised to NFC (engines do not fold combining marks), lone surrogates become U+FFFD,
    control characters become spaces, bidirectional marks nothing.

    >>> clean("cafe\u0301\x00")
    ('café ', ('1 control character replaced by a space',))
    """
    notes = []
    text, count = _SURROGATES.subn(REPLACEMENT, text)
    if count:
        notes.append(_note(count, "lone surrogate", "replaced"))
    text, count = _CONTROLS.subn(" ", text)
    if count:
        notes.append(_note(count, "control character", "replaced by a space"))
    text, count = _MARKS.subn("", text)
    if count:
        notes.append(_note(count, "invisible direction mark", "removed"))
    return unicodedata.normalize("NFC", text), tuple(notes)


def whole(text: str) -> str:
    r"""Replace lone surrogates, which no encoder takes, and leave everything else.

    >>> whole("a\ud800")
    'a\ufffd'
    """
    return _SURROGATES.sub(REPLACEMENT, text)


def _note(count: int, what: str, done: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'} {done}"
