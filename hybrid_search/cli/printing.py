"""Small things that every command prints: safe text, numbers, sizes, tables."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hybrid_search.domain import Degraded

_UNITS = ("bytes", "kB", "MB", "GB", "TB")
_INVISIBLE = ("Cc", "Cs", "Co")


def plain(text: str) -> str:
    r"""Make a text inert for a terminal: no control character, escape sequence or surrogate.

    >>> plain("red \x1b[31m alert\n")
    'red  [31m alert\n'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c == "\n" or not _harmful(c) else " " for c in text)


def one_line(text: str) -> str:
    """Put a text on one line, safely."""
    return " ".join(plain(text).split())


def cell(text: str, style: str = "") -> Text:
    """Make a table's cell out of foreign words."""
    return Text(plain(text), style=style)


def size(number: float) -> str:
    """Write a size with its unit.

    >>> size(999), size(1_234_567)
    ('999 bytes', '1.2 MB')
    """
    unit = 0
    while number >= 1000 and unit < len(_UNITS) - 1:
        number, unit = number / 1000, unit + 1
    return f"{number:.0f} {_UNITS[0]}" if unit == 0 else f"{number:.1f} {_UNITS[unit]}"


def count(number: int, what: str) -> str:
    """Write a number with its noun.

    >>> count(1, "document"), count(12_000, "chunk")
    ('1 document', '12,000 chunks')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def duration(seconds: float) -> str:
    """Write a time as people do.

    >>> duration(0.042), duration(3.21), duration(200)
    ('42 ms', '3.2 s', '3 min 20 s')
    """
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 100:
        return f"{seconds:.1f} s"
    return f"{seconds // 60:.0f} min {seconds % 60:.0f} s"


def table(*columns: str) -> Table:
    """Make a table with a rule below its head and nothing else."""
    made = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        header_style="bold",
    )
    for name in columns:
        made.add_column(name, overflow="fold")
    return made


def pairs(rows: Iterable[tuple[str, str]]) -> Table:
    """Make a list of names and values, without those that have none."""
    made = Table.grid(padding=(0, 2, 0, 0))
    made.add_column(style="dim", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in rows:
        if value:
            made.add_row(name, cell(value))
    return made


def warnings_of(degraded: Iterable[Degraded], notes: Iterable[str]) -> Iterable[Text]:
    """Say in words what did not answer in full, and what else there is to know."""
    for one in degraded:
        reason = one.reason.replace("_", " ")
        detail = f": {one.detail}" if one.detail else ""
        yield Text(one_line(f"! {one.leg} did not answer in full ({reason}{detail})"), "yellow")
    for note in notes:
        yield Text(one_line(f"Note: {note}"), "dim")


def _harmful(character: str) -> bool:
    return unicodedata.category(character) in _INVISIBLE or "\u202a" <= character <= "\u202e"
