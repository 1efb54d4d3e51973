"""Hits for people: what was found where, and which leg found it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from hybrid_search.cli import labels
from hybrid_search.cli.printing import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import RenderableType

    from hybrid_search.cli.snippets import Marker
    from hybrid_search.domain import Contribution, Hit

INDENT = 4
LINES = 2
"""Of a snippet."""


def listed(hits: Sequence[Hit], first: int, marker: Marker, width: int) -> Iterable[RenderableType]:
    """Make one block a hit; ``first`` is the rank of the first one."""
    room = max(40, (width - INDENT) * LINES - 20)
    for rank, hit in enumerate(hits, first):
        name = labels.path(hit.title, hit.headings, hit.text) or one_line(hit.document_id)
        facts = Text(one_line(hit.document_id), "cyan")
        facts.append(f"  {hit.score:.4f}", "dim").append(f"  {contributions(hit.contributions)}")
        body = marker.snippet(labels.split(hit.text)[1] or hit.text, room)
        block = Table.grid(padding=(0, 2, 1, 0))
        block.add_column(width=INDENT - 2, justify="right", style="dim")
        block.add_row(str(rank), Group(Text(name, "bold"), facts, body))
        yield block


def contributions(parts: Iterable[Contribution]) -> str:
    """Say which leg ranked it where.

    >>> from hybrid_search.domain import Contribution
    >>> contributions([Contribution("bm25", "direct", 1, 7.0, 0.016)])
    'bm25 #1'
    """
    return "  ".join(
        f"{part.leg} #{part.rank}" + ("" if part.variant == "direct" else f" ({part.variant})")
        for part in parts
    )
