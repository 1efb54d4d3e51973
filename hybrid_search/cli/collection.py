"""``hybrid-search status`` and ``drop``: the collection as a whole."""

from dataclasses import asdict
from typing import Annotated

import typer

from hybrid_search.cli.printing import count, pairs, size
from hybrid_search.cli.searching import empty
from hybrid_search.cli.session import TEXT_ONLY, Session
from hybrid_search.domain import IndexSpec, StoreStatus
from hybrid_search.errors import InvalidInput, NotFound, Refused


def status(context: typer.Context) -> None:
    """Show what is in the collection, where it is stored, and how it was made."""
    session: Session = context.obj
    with session.opened(**TEXT_ONLY) as opened:
        told = opened.status()
        if session.json:
            session.emit(asdict(told))
        elif told.spec is not None or not empty(session, opened):
            session.show(pairs([*_contents(told), *_making(told.spec)]))


def drop(
    context: typer.Context,
    yes: Annotated[bool, typer.Option("--yes", "-y", metavar="", help="Don't ask.")] = False,
) -> None:
    """Remove the collection and everything in it."""
    session: Session = context.obj
    with session.opened(**TEXT_ONLY) as opened:
        if opened.settings.tenant:
            raise Refused("drop removes the documents of all tenants: leave --tenant out")
        told = opened.status()
        if told.spec is None:
            raise NotFound(f"there is no collection in the {opened.store.description}")
        if not yes:
            _ask(session, told, opened.store.description)
        opened.store.drop()
    if session.json:
        session.emit({"dropped": told.collection, "documents": told.documents})
    else:
        session.say(f"Dropped {told.collection}, {count(told.documents, 'document')}.")


def _ask(session: Session, told: StoreStatus, where: str) -> None:
    if session.json or not session.out.is_terminal:
        raise InvalidInput(f"this removes {count(told.documents, 'document')}: confirm with --yes")
    typer.confirm(f"Remove {count(told.documents, 'document')} from the {where}?", abort=True)


def _contents(told: StoreStatus) -> list[tuple[str, str]]:
    waiting = f", {told.pending:,} being written" if told.pending else ""
    return [
        ("collection", told.collection),
        ("store", f"{told.backend}, {told.location}"),
        ("version", told.version),
        ("documents", f"{told.documents:,}{waiting}"),
        ("chunks", f"{told.chunks:,}"),
        ("size", size(told.size_bytes)),
        ("indexes", ", ".join(told.indices) if told.backend != "embedded" else ""),
    ]


def _making(spec: IndexSpec | None) -> list[tuple[str, str]]:
    if spec is None:
        return []
    fields = ", ".join(f"{name}={kind}" for name, kind in spec.fields.items())
    return [
        ("embedder", spec.embedder or "none: words only"),
        ("vectors", f"{spec.space}, {spec.space_type}" if spec.space else ""),
        ("language", spec.language),
        ("chunker", spec.chunker),
        ("fields", fields),
        ("schema", f"version {spec.schema_version}"),
    ]
