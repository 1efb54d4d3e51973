"""The commands and the global options. Each command has a module; none is imported by another."""

from collections.abc import Callable
from typing import Annotated

import typer

from hybrid_search.cli import (
    adding,
    collection,
    comparing,
    demonstrating,
    describing,
    documents,
    explaining,
    options,
    searching,
)
from hybrid_search.cli.session import quieten

EVERYWHERE = (
    "The options of [bold]hybrid-search --help[/bold] (--json, --collection, ...) go here too."
)

app = typer.Typer(
    cls=options.Group,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="The options may stand after the command too. What they leave out is read from the "
    "environment: hybrid-search settings lists it.\n\nExample:  hybrid-search demo",
)


def _version(value: bool) -> None:
    if value:
        from hybrid_search import __version__

        typer.echo(f"hybrid-search {__version__}")
        raise typer.Exit


@app.callback()
def configured(
    context: typer.Context,
    collection: options.Collection = None,
    opensearch_url: options.OpenSearchUrl = None,
    embedder: options.Embedder = None,
    home: options.Home = None,
    tenant: options.Tenant = None,
    json: options.Json = False,
    debug: options.Debug = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", metavar="", help="Show the version.", callback=_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Hybrid search: words and meaning asked separately, fused, nothing hidden."""
    del version
    given = {
        "collection": collection,
        "opensearch_url": opensearch_url,
        "embedder": embedder,
        "home": home,
        "tenant": tenant,
    }
    session = context.obj
    session.given = {name: value for name, value in given.items() if value is not None}
    session.json, session.debug = json, debug
    quieten(debug=debug)
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), nl=False)


def _flowing(function: Callable[..., None]) -> str:
    """Join the lines of each paragraph of a docstring: the terminal's width breaks them."""
    return "\n\n".join(" ".join(p.split()) for p in (function.__doc__ or "").split("\n\n"))


def _example(*lines: str) -> str:
    """Make an epilog: one line an example, then where the other options are."""
    return "\n\n".join([f"Example:  {line}" for line in lines] + [EVERYWHERE])


_COMMANDS = (
    (
        "add",
        adding.add,
        ("hybrid-search add handbook/", "hybrid-search add 'docs/**/*.md' notes.txt"),
    ),
    (
        "search",
        searching.search,
        ("hybrid-search search lost parcel", "hybrid-search search refund -f 'year>=2023' --json"),
    ),
    ("compare", comparing.compare, ("hybrid-search compare lost parcel --rank-constant 1,60",)),
    ("explain", explaining.explain, ("hybrid-search explain 'lost parcel' handbook.md",)),
    ("get", documents.get, ("hybrid-search get handbook.md",)),
    ("delete", documents.delete, ("hybrid-search delete handbook.md old/notes.txt",)),
    ("status", collection.status, ("hybrid-search status --collection handbook",)),
    ("drop", collection.drop, ("hybrid-search drop --collection trial --yes",)),
    ("components", describing.components, ("hybrid-search components embedders",)),
    ("settings", describing.settings, ("hybrid-search settings",)),
    ("demo", demonstrating.demo, ("hybrid-search demo",)),
)

for _name, _function, _lines in _COMMANDS:
    app.command(_name, help=_flowing(_function), epilog=_example(*_lines))(_function)
