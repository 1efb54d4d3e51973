"""``hybrid-search compare``: the same query as each leg ranks it, and as they are fused."""

from collections.abc import Container
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from hybrid_search import filters
from hybrid_search.cli import labels, options
from hybrid_search.cli.printing import one_line, table, warnings_of
from hybrid_search.cli.searching import empty
from hybrid_search.errors import InvalidInput
from hybrid_search.explaining import Column, Comparison, Placed

if TYPE_CHECKING:
    from hybrid_search.cli.session import Session

ABSENT = "–"
MARK = "✓ "
GAP = 2
"""Between two columns."""


def compare(
    context: typer.Context,
    query: options.Query,
    rank_constant: Annotated[
        str | None,
        typer.Option(
            help="One fusion for each of these (60).", metavar="K,K,...", show_default=False
        ),
    ] = None,
    top: Annotated[
        int, typer.Option(help="How many of each ranking to show.", metavar="N", min=1)
    ] = 3,
    candidates: options.Candidates = None,
    filter: options.Filters = None,  # noqa: A002
    leg: options.Legs = None,
    deadline: options.Deadline = None,
) -> None:
    """Show the ranks that each leg and the fusion give, side by side.

    A row is a chunk that is among the first of any ranking; a dash means that this leg did not
    find it among its candidates.
    """
    session: Session = context.obj
    with session.opened() as opened:
        compared = opened.compare(
            " ".join(query),
            constants(rank_constant),
            top=candidates or opened.settings.candidates,
            candidates=candidates,
            filter=filters.parse_short(filter or []),
            legs=leg or None,
            deadline=deadline,
        )
        if session.json:
            session.emit(as_json(compared, top))
        elif any(column.hits for column in compared.columns) or not empty(session, opened):
            session.show(side_by_side(compared, top, session.out.width))
            for warning in warnings_of(compared.degraded, compared.notes):
                session.show(warning)


def constants(given: str | None) -> tuple[float, ...]:
    """Read ``1,60``. Raises ``InvalidInput`` that names what is no number.

    >>> constants("1, 60")
    (1.0, 60.0)
    """
    parts = [part.strip() for part in (given or "").split(",") if part.strip()]
    try:
        return tuple(float(part) for part in parts)
    except ValueError as error:
        raise InvalidInput(
            f"rank constant is {given!r}: expected numbers of 0 or more, e.g. 1,60"
        ) from error


def as_json(compared: Comparison, top: int) -> dict[str, Any]:
    """Put a comparison in the form that ``--json`` prints, with the first ``top`` of each."""
    columns = [
        {"name": column.name, "hits": [asdict(hit) for hit in column.hits[:top]]}
        for column in compared.columns
    ]
    return {**asdict(compared), "columns": columns}


def side_by_side(compared: Comparison, top: int, width: int, answers: Container[str] = ()) -> Table:
    """Make the table: a row for each chunk, a column for each ranking; ``answers`` are marked."""
    names = [column.name.replace(" (", "\n").rstrip(")") for column in compared.columns]
    room = width - sum(max(map(len, name.split("\n"))) + GAP for name in names)
    made = table("chunk")
    for name in names:
        made.add_column(name, justify="right")
    ranks = [{hit.id: hit.rank for hit in column.hits} for column in compared.columns]
    for hit in _rows(compared.columns, top):
        label = _label(hit, max(room, 24), marked=hit.id in answers)
        made.add_row(label, *(_rank(column.get(hit.id), top) for column in ranks))
    return made


def _rows(columns: tuple[Column, ...], top: int) -> list[Placed]:
    """Take the first of each ranking, in the order of the last one, which is a fusion."""
    shown = {hit.id: hit for column in columns for hit in column.hits[:top]}
    order = {hit.id: hit.rank for hit in columns[-1].hits} if columns else {}
    return sorted(shown.values(), key=lambda hit: (order.get(hit.id, len(order) + 1), hit.rank))


def _label(hit: Placed, room: int, *, marked: bool) -> Text:
    """Name a chunk on one line: its document, and its own heading."""
    label = Text(MARK if marked else "", "bold green")
    steps = labels.path("", hit.headings, hit.text).split(labels.BETWEEN)
    between = labels.BETWEEN if steps[-1] else ""
    room -= len(label) + len(between)
    place = labels.cropped_left(one_line(hit.document_id), max(room // 2, room - len(steps[-1])))
    label.append(place, "not bold cyan").append(between, "not bold dim")
    return label.append(labels.cropped(steps[-1], room - len(place)), "bold default")


def _rank(rank: int | None, top: int) -> Text:
    if rank is None:
        return Text(ABSENT, "dim")
    return Text(f"#{rank}", "bold green" if rank == 1 else "" if rank <= top else "dim")
