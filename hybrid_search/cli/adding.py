"""``hybrid-search add``: files into the collection, and what became of each."""

from collections import Counter
from typing import Annotated, Any

import typer
from rich.text import Text

from hybrid_search import sources
from hybrid_search.cli.printing import cell, count, duration, pairs, table
from hybrid_search.cli.progress import Progress
from hybrid_search.cli.session import Session
from hybrid_search.errors import DocumentError
from hybrid_search.hybrid import HybridSearch
from hybrid_search.ingestion import AddReport

STOPPED = "Stopped. What was stored is kept; run the same command again to go on where it was."
MOST_DEAD = 20
"""Documents listed on a terminal; ``--json`` lists all."""


def add(
    context: typer.Context,
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH", help="Files, folders, or patterns in quotes.", show_default=False
        ),
    ],
    title_from_heading: Annotated[
        bool,
        typer.Option(
            metavar="", help="A Markdown file's first heading is its title.", show_default=False
        ),
    ] = True,
) -> None:
    """Add or replace documents: .md, .markdown and .txt files.

    A document's id is its path below the folder given. What is there already with the same
    content costs nothing. Exit code 3 where some could not be stored.
    """
    session: Session = context.obj
    found = sources.find(paths, title_from_heading=title_from_heading)
    with session.opened() as search:
        report = ingest(session, search, found)
        if session.json:
            session.emit(as_json(search, report, found.unknown))
        else:
            _print(session, search, report, found.unknown)
    if report.dead:
        raise typer.Exit(DocumentError.exit_code)


def ingest(session: Session, search: HybridSearch, found: sources.Sources) -> AddReport:
    """Add what was found, showing how far it is."""
    session.when_stopped = STOPPED
    total = len(found.files)
    if not session.err.is_terminal and not session.json:
        session.note(f"adding {count(total, 'file')} to the {search.store.description}")
    with Progress(session, total) as progress:
        report = search.add(found.documents(), on_result=progress.advance)
    report.dead[:0] = found.dead
    report.seen += len(found.dead)
    return report


def as_json(search: HybridSearch, report: AddReport, unknown: Counter[str]) -> dict[str, Any]:
    """Put a report in the form that ``--json`` prints."""
    changed = report.added + report.replaced
    return {
        "outcome": "partial" if report.dead else "done" if changed else "nothing_to_do",
        "seen": report.seen,
        "added": report.added,
        "replaced": report.replaced,
        "unchanged": report.unchanged,
        "dead": [{"document_id": d.document_id, "reason": d.reason} for d in report.dead],
        "skipped": dict(unknown),
        "chunks": report.chunks,
        "embedding": embedding(search),
        "seconds": round(report.seconds, 3),
        "store": search.description,
    }


def embedding(search: HybridSearch) -> dict[str, int] | None:
    """Say what embedding cost since the collection was opened; None where nothing embeds."""
    from hybrid_search.embedders._cache import CachedEmbedder

    if not isinstance(search.embedder, CachedEmbedder):
        return None
    stats = search.embedder.stats
    return {
        "calls": stats.calls,
        "texts": stats.misses,
        "cache_hits": stats.hits,
        "tokens": stats.tokens,
    }


def _print(
    session: Session, search: HybridSearch, report: AddReport, unknown: Counter[str]
) -> None:
    session.say(_headline(report), "bold")
    session.show(
        pairs(
            [
                ("embedded", _embedded(embedding(search))),
                ("left out", _left_out(unknown)),
                ("store", search.description),
            ]
        )
    )
    if report.dead:
        session.show(Text(f"\n{count(len(report.dead), 'document')} not stored:", "bold red"))
        rows = table("document", "reason")
        for dead in report.dead[:MOST_DEAD]:
            rows.add_row(cell(dead.document_id), cell(dead.reason))
        session.show(rows)
        if len(report.dead) > MOST_DEAD:
            session.say(f"... and {len(report.dead) - MOST_DEAD:,} more: --json lists all", "dim")


def _headline(report: AddReport) -> str:
    told = {"added": report.added, "replaced": report.replaced, "unchanged": report.unchanged}
    parts = [f"{number:,} {what}" for what, number in told.items() if number]
    parts += [f"{len(report.dead):,} not stored"] if report.dead else []
    changed = report.added + report.replaced
    chunks = f" ({count(report.chunks, 'chunk')})" if changed else ""
    start = "" if changed or report.dead else "Nothing to do: "
    spent = duration(report.seconds)
    return f"{start}{count(report.seen, 'document')}: {', '.join(parts)}{chunks} in {spent}"


def _embedded(cost: dict[str, int] | None) -> str:
    if cost is None or not (cost["texts"] or cost["cache_hits"]):
        return ""
    made = f"{count(cost['texts'], 'text')} in {count(cost['calls'], 'call')}"
    return f"{made} ({count(cost['tokens'], 'token')}), {cost['cache_hits']:,} from the cache"


def _left_out(unknown: Counter[str]) -> str:
    known = ", ".join(sorted(sources.loaders()))
    return f"{sources.counted(unknown)} (read are {known})" if unknown else ""
