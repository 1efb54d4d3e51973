"""What a chunk is called in print: the title and the headings above it, and its own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hybrid_search.cli.printing import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(.*?)[ \t]*#*[ \t]*")
BETWEEN = " › "


def path(title: str, headings: Sequence[str], text: str) -> str:
    r"""Name a chunk by its place, each step once; empty where nothing has a name.

    >>> path("Handbook", ["Handbook", "Leave"], "## Parents\nAsk early.")
    'Handbook › Leave › Parents'
    """
    steps = [one_line(step) for step in (title, *headings, *split(text)[0])]
    return BETWEEN.join(dict.fromkeys(step for step in steps if step))


def cropped(text: str, room: int) -> str:
    """Cut a text's end off where it is too long.

    >>> cropped("Customer remedy", 9)
    'Customer…'
    """
    return text if len(text) <= room else f"{text[: max(room - 1, 0)].rstrip()}…"


def cropped_left(text: str, room: int) -> str:
    """Cut a text's beginning off: the end of a path tells more.

    >>> cropped_left("incidents/2023/011.md", 12)
    '…2023/011.md'
    """
    return text if len(text) <= room else f"…{text[len(text) - max(room - 1, 1) :]}"


def split(text: str) -> tuple[list[str], str]:
    r"""Part the headings at a chunk's beginning from its text.

    >>> split("# Leave\n\nAsk early.")
    (['Leave'], 'Ask early.')
    """
    lines = text.split("\n")
    own: list[str] = []
    for number, line in enumerate(lines):
        heading = _HEADING.fullmatch(line)
        if heading:
            own.append(heading[1])
        elif line.strip():
            return own, "\n".join(lines[number:])
    return own, ""
