"""``hybrid-search demo``: an example collection and three queries that show what it is about."""

from dataclasses import asdict
from typing import Any, NamedTuple

import typer
from rich.text import Text

from hybrid_search import example, sources
from hybrid_search.cli import adding, comparing
from hybrid_search.cli.printing import count, duration
from hybrid_search.cli.session import Session
from hybrid_search.hybrid import HybridSearch
from hybrid_search.ingestion import AddReport
from hybrid_search.schema import chunk_id

COLLECTION = "demo"
TOP = 3
CONSTANTS = (60.0, 1.0)
ANSWERS = 2
"""The grade of a section that answers a query; 1 is related."""


class Shown(NamedTuple):
    """A query of the demo, and what is to be seen."""

    query: str
    look: str


QUERIES = (
    Shown(
        "INC-2023-Q4-011",
        "A code. To the vectors all incidents look alike; the words and the identifier leg find "
        "this one.",
    ),
    Shown(
        "money returned when the freezer warehouse went dark",
        "A paraphrase. The answer shares no word with it, so only its meaning finds it. With "
        "k=60 legs that agree win; with k=1 a first place counts.",
    ),
    Shown(
        "Peut-on éteindre une pile au lithium avec de l'eau ?",
        "French. The words match with or without accents; the local model was made for English.",
    ),
)


def demo(context: typer.Context) -> None:
    """Try it: add an example collection and show three queries side by side.

    No server and no account: the embedded store and a small model on this machine. Its
    collection is "demo"; run again, it adds and embeds nothing.
    """
    session: Session = context.obj
    chosen, missing = _embedder(session)
    with session.opened(**chosen) as opened:
        found = sources.find([str(example.documents_path())])
        if missing and not session.json:
            session.say(missing, "yellow")
        report = adding.ingest(session, opened, found)
        if session.json:
            session.emit(_as_json(opened, report))
            return
        _print_added(session, opened, report)
        session.say("A row is a chunk, a column a ranking; ✓ answers the query.", "dim")
        for shown in QUERIES:
            _print_query(session, opened, shown)
        collection = opened.settings.collection
    session.say("\nGo on with your own words, or your own files:", "bold")
    session.say(
        f"  hybrid-search search --collection {collection} --opensearch-url '' battery on fire"
    )
    session.say("  hybrid-search add FOLDER")


def _embedder(session: Session) -> tuple[dict[str, Any], str]:
    """Choose what is opened: the local model, or where it is not installed, letters only."""
    from hybrid_search.embedders import local

    chosen: dict[str, Any] = {"opensearch_url": "", "collection": COLLECTION, "text_fields": ()}
    chosen |= {
        key: session.given[key] for key in ("collection", "embedder") if key in session.given
    }
    if "embedder" in chosen:
        return chosen, ""
    if not local.missing():
        return {**chosen, "embedder": "local"}, ""
    message = (
        f"The offline model is missing ({local.missing()}), so vectors are made of letters "
        "only, in a collection of their own: the paraphrase will not be found."
    )
    name = f"{chosen['collection']}-letters"
    return {**chosen, "collection": name, "embedder": "hashing"}, message


def _as_json(opened: HybridSearch, report: AddReport) -> dict[str, Any]:
    return {
        "added": {k: v for k, v in asdict(report).items() if k != "dead"},
        "embedding": adding.embedding(opened),
        "store": opened.description,
        "queries": [
            {"look": s.look, **comparing.as_json(opened.compare(s.query, CONSTANTS, top=TOP), TOP)}
            for s in QUERIES
        ],
    }


def _print_added(session: Session, opened: HybridSearch, report: AddReport) -> None:
    cost = adding.embedding(opened) or {"texts": 0}
    if report.added or report.replaced:
        line = (
            f"Added {count(report.added + report.replaced, 'document')} of an invented company, "
            f"{count(report.chunks, 'chunk')}, {count(cost['texts'], 'text')} embedded, "
            f"in {duration(report.seconds)}"
        )
    else:
        line = (
            f"{count(report.unchanged, 'document')} were there already: nothing added, "
            "nothing embedded again"
        )
    session.say(line)
    session.say(opened.description, "dim")


def _print_query(session: Session, opened: HybridSearch, shown: Shown) -> None:
    compared = opened.compare(shown.query, CONSTANTS, top=opened.settings.candidates)
    session.show(Text("\n› ", "dim").append(shown.query, "bold yellow not dim"))
    session.show(Text(shown.look, "italic"))
    answers = _answers(shown.query, opened.settings.tenant)
    session.show(comparing.side_by_side(compared, TOP, session.out.width, answers))


def _answers(query: str, tenant: str) -> set[str]:
    """Return the ids of the chunks that answer a query of the example, by its judgements."""
    numbers = {one["text"]: one["_id"] for one in example.queries()}
    graded = example.qrels().get(numbers[query], {})
    sections = [section.rpartition("#") for section, grade in graded.items() if grade == ANSWERS]
    return {chunk_id(tenant, document, int(number)) for document, _, number in sections}
