"""What every embedder does to texts before its model sees them, and around its calls."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from hybrid_search.errors import DeadlineExceeded, DocumentError, InvalidInput
from hybrid_search.text import whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hybrid_search.domain import Deadline, Embedding
    from hybrid_search.errors import HybridSearchError

BREAK_WITHIN = 200
"""How far before the limit ``cut`` looks for a space, in characters: about two lines of text."""

_CLUSTER_AT_MOST = 64
_JOINER = "\u200d"


def is_blank(text: str) -> bool:
    r"""Say whether there is nothing to embed.

    >>> is_blank(" \n"), is_blank("a")
    (True, False)
    """
    return not text.strip()


def query_text(text: str) -> str:
    """Return the query ready to be embedded. Raises ``InvalidInput`` for a blank one."""
    if is_blank(text):
        raise InvalidInput(f"query {text!r} is blank: expected at least one word to search for")
    return whole(text)


def cut(text: str, limit: int) -> str:
    r"""Return the longest good beginning of at most ``limit`` characters.

    Nothing a reader sees as one character is cut in two (after the grapheme clusters of Unicode
    Standard Annex 29: marks, joined emoji, skin tones, flags, Hangul), and a space not far before
    the limit is preferred.

    >>> cut("one two three", 9), cut("abcdef", 4), cut("cafe\u0301", 4)
    ('one two', 'abcd', 'caf')
    """
    if len(text) <= limit:
        return text
    end = _cluster_start(text, limit)
    for place in range(end, max(end - BREAK_WITHIN, 0), -1):
        if text[place].isspace():
            return text[:place].rstrip() or text[:end]
    return text[:end]


def _cluster_start(text: str, place: int) -> int:
    """Return where the cluster that spans ``place`` starts, or ``place`` if it is a boundary."""
    earliest = max(place - _CLUSTER_AT_MOST, 1)
    for start in range(place, earliest - 1, -1):
        if not _extends(text, start):
            return start
    return place


def _extends(text: str, place: int) -> bool:
    here, before = text[place], text[place - 1]
    if _JOINER in (here, before):
        return True
    if _is_flag_half(here) and _is_flag_half(before):
        return _flag_halves_before(text, place) % 2 == 1
    return (
        unicodedata.category(here).startswith("M")
        or "\U0001f3fb" <= here <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= here <= "\U000e007f"  # tags, as in the flag of Scotland
        or "\u1160" <= here <= "\u11ff"  # Hangul vowels and finals
        or (here == "\n" and before == "\r")
    )


def _is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _flag_halves_before(text: str, place: int) -> int:
    count = 0
    while count < place and _is_flag_half(text[place - 1 - count]):
        count += 1
    return count


def in_batches(
    texts: Sequence[str],
    embed: Callable[[list[str]], Sequence[Embedding | HybridSearchError]],
    size: int,
    deadline: Deadline | None = None,
) -> list[Embedding | HybridSearchError]:
    """Embed texts a batch at a time: one value a text, in order.

    Texts of similar length share a batch, because a batch costs as much as its longest text.
    Blank texts are not embedded; what the deadline left undone is ``DeadlineExceeded``.

    >>> from hybrid_search.domain import Embedding
    >>> import numpy as np
    >>> ones = Embedding(np.ones(2, np.float32))
    >>> found = in_batches(["a", " ", "b"], lambda batch: [ones for _ in batch], size=8)
    >>> found[1], found[2] is ones
    (DocumentError('empty text'), True)
    """
    values: list[Embedding | HybridSearchError] = [DocumentError("empty text") for _ in texts]
    sent = [place for place, text in enumerate(texts) if not is_blank(text)]
    places = sorted(sent, key=lambda place: len(texts[place]))
    for first in range(0, len(places), size):
        batch = places[first : first + size]
        found: Sequence[Embedding | HybridSearchError]
        if deadline is not None and deadline.remaining() <= 0:
            found = [late() for _ in batch]
        else:
            found = embed([whole(texts[i]) for i in batch])
        for place, value in zip(batch, found, strict=True):
            values[place] = value
    return values


def late() -> DeadlineExceeded:
    """Build the value of a text that was not begun."""
    return DeadlineExceeded("the deadline passed before this text was embedded")
