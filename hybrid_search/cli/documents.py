"""``hybrid-search get`` and ``delete``: documents by their id."""

import json
from dataclasses import asdict
from typing import Annotated

import typer
from rich.text import Text

from hybrid_search.cli.printing import count, pairs, plain
from hybrid_search.cli.session import TEXT_ONLY, Session
from hybrid_search.errors import NotFound


def get(
    context: typer.Context,
    id: Annotated[  # noqa: A002
        str, typer.Argument(help="The document's id, as search shows it.", show_default=False)
    ],
) -> None:
    """Show one document as it is stored; with --json its chunks too."""
    session: Session = context.obj
    with session.opened(**TEXT_ONLY) as opened:
        stored = opened.get(id)
    head, document = stored.head, stored.document
    if session.json:
        state = {"version": head.version, "complete": head.complete}
        chunks = [asdict(chunk) for chunk in stored.chunks]
        session.emit({**asdict(document), **state, "chunks": chunks})
        return
    metadata = json.dumps(dict(document.metadata), ensure_ascii=False)
    session.show(Text(plain(document.title or document.id), "bold"))
    session.show(
        pairs(
            [
                ("id", document.id),
                ("source", document.source),
                ("metadata", metadata if document.metadata else ""),
                ("version", f"{head.version}, {count(head.chunk_count, 'chunk')}"),
                ("state", "" if head.complete else "a write has not ended: add it again"),
            ]
        )
    )
    session.say(f"\n{document.text.rstrip()}")


def delete(
    context: typer.Context,
    ids: Annotated[
        list[str],
        typer.Argument(metavar="ID", help="The documents' ids.", show_default=False),
    ],
) -> None:
    """Delete documents with all their chunks. Exit code 1 where none of them existed."""
    session: Session = context.obj
    with session.opened() as opened:
        results = opened.delete(*ids)
    deleted = [r.document_id for r in results if r.status == "deleted"]
    absent = [r.document_id for r in results if r.status == "absent"]
    failed = [r for r in results if r.status == "dead"]
    if session.json:
        session.emit(
            {
                "deleted": deleted,
                "absent": absent,
                "dead": [{"document_id": r.document_id, "reason": r.reason} for r in failed],
            }
        )
    else:
        for result in results:
            reason = f": {result.reason}" if result.reason else ""
            session.say(f"{result.document_id}: {_WORDS[result.status]}{reason}")
    if failed:
        raise typer.Exit(3)
    if not deleted:
        raise typer.Exit(NotFound.exit_code)


_WORDS = {"deleted": "deleted", "absent": "there is no such document", "dead": "not deleted"}
