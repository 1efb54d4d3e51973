"""``hybrid-search search``: hits, and how each leg did."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from hybrid_search import filters
from hybrid_search.cli import hits, options
from hybrid_search.cli.printing import count, duration, warnings_of
from hybrid_search.cli.session import Session
from hybrid_search.domain import SearchResult
from hybrid_search.hybrid import HybridSearch


def search(
    context: typer.Context,
    query: options.Query,
    top_k: Annotated[
        int, typer.Option("--top-k", "-k", help="How many hits to show.", metavar="N")
    ] = 10,
    offset: Annotated[int, typer.Option(help="Hits to leave out first.", metavar="N")] = 0,
    candidates: options.Candidates = None,
    rank_constant: options.RankConstant = None,
    filter: options.Filters = None,  # noqa: A002
    leg: options.Legs = None,
    strict: options.Strict = False,
    deadline: options.Deadline = None,
) -> None:
    """Search the collection: every leg at once, fused into one order.

    Each hit shows its score and which leg found it at which rank. An answer that lacks a leg
    says so.
    """
    session: Session = context.obj
    with session.opened() as opened:
        result = opened.search(
            " ".join(query),
            top_k=top_k,
            offset=offset,
            candidates=candidates,
            rank_constant=rank_constant,
            filter=filters.parse_short(filter or []),
            legs=leg or None,
            strict=strict,
            deadline=deadline,
        )
        if session.json:
            session.emit(as_json(result))
        else:
            _print(session, opened, result, offset)


def as_json(result: SearchResult) -> dict[str, Any]:
    """Put a result in the form that ``--json`` prints."""
    return {
        "query": result.query,
        "hits": [asdict(hit) for hit in result.hits],
        "legs": [asdict(leg) for leg in result.legs],
        "degraded": [asdict(one) for one in result.degraded],
        "notes": list(result.notes),
        "took_ms": round(result.took_ms, 2),
        "total": result.total,
        "request_id": result.request_id,
    }


def empty(session: Session, opened: HybridSearch) -> bool:
    """Say so where nothing was ever added; tell whether that is so."""
    if opened.store.snapshot() is not None:
        return False
    session.say(f"Nothing has been added to the {opened.store.description} yet.")
    session.say("Start with:  hybrid-search add FOLDER", "dim")
    return True


def _print(session: Session, opened: HybridSearch, result: SearchResult, offset: int) -> None:
    from hybrid_search.cli.snippets import Marker

    if not result.hits and empty(session, opened):
        return
    marker = Marker(result.query, opened.settings.language)
    for block in hits.listed(result.hits, offset + 1, marker, session.out.width):
        session.show(block)
        session.show()
    if not result.hits:
        session.say("No hits. Fewer or other words may help, or no --filter.")
    for warning in warnings_of(result.degraded, result.notes):
        session.show(warning)
    shown = f"{len(result.hits)} of {count(result.total, 'chunk')} found"
    took = duration(result.took_ms / 1000)
    session.say(f"{shown} in {took}, {opened.store.description}", "dim")
