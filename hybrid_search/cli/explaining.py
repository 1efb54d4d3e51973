"""``hybrid-search explain``: why a chunk stands where it stands, or is not found."""

from dataclasses import asdict
from typing import Annotated

import typer
from rich.text import Text

from hybrid_search import filters
from hybrid_search.cli import labels, options
from hybrid_search.cli.printing import cell, count, one_line, table, warnings_of
from hybrid_search.cli.session import Session
from hybrid_search.explaining import Explanation


def explain(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="The query, in quotes.", show_default=False)],
    id: Annotated[  # noqa: A002
        str, typer.Argument(help="A document's id, or a chunk's.", show_default=False)
    ],
    candidates: options.Candidates = None,
    rank_constant: options.RankConstant = None,
    filter: options.Filters = None,  # noqa: A002
    leg: options.Legs = None,
    deadline: options.Deadline = None,
) -> None:
    """Explain where a document stands for a query: rank, score and points leg by leg.

    Of a document its best chunk is explained. A leg that does not find it says why.
    """
    session: Session = context.obj
    with session.opened() as opened:
        explained = opened.explain(
            query,
            id,
            candidates=candidates,
            rank_constant=rank_constant,
            filter=filters.parse_short(filter or []),
            legs=leg or None,
            deadline=deadline,
        )
    if session.json:
        session.emit(asdict(explained))
    else:
        _print(session, explained)


def _print(session: Session, explained: Explanation) -> None:
    name = labels.path(explained.title, (), explained.text)
    session.show(Text(name or one_line(explained.document_id), "bold"))
    session.show(Text(one_line(explained.document_id), "cyan"))
    session.show(Text(_place(explained)))
    made = table("leg")
    for column in ("rank", "raw score", "points"):
        made.add_column(column, justify="right")
    made.add_column("why")
    for leg in explained.legs:
        made.add_row(
            cell(leg.leg if leg.variant == "direct" else f"{leg.leg} ({leg.variant})"),
            f"#{leg.rank}" if leg.rank else "–",
            "–" if leg.raw_score is None else f"{leg.raw_score:.4g}",
            f"{leg.points:.5f}",
            cell(leg.why),
        )
    session.show(made)
    for warning in warnings_of(explained.degraded, explained.notes):
        session.show(warning)


def _place(explained: Explanation) -> str:
    if explained.rank is None:
        return f"not among the {count(explained.total, 'chunk')} found"
    total = count(explained.total, "chunk")
    return f"rank {explained.rank} of {total}, score {explained.score:.5f}"
