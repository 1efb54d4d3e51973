"""The options that several commands share, and the group that takes the global ones anywhere."""

from typing import Annotated, Any

import typer
import typer.core

from hybrid_search.cli import completion

Query = Annotated[
    list[str],
    typer.Argument(
        metavar="QUERY",
        help="What to look for; several words need no quotes.",
        show_default=False,
    ),
]
Filters = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        "-f",
        metavar="FIELD=VALUE",
        help="Only what has this; also != >= <= > <, a,b for one of, * for any. Repeatable.",
        show_default=False,
    ),
]
Legs = Annotated[
    list[str] | None,
    typer.Option(
        "--leg",
        "-l",
        metavar="NAME",
        help="Ask this leg only. Repeatable.",
        autocompletion=completion.legs,
        show_default=False,
    ),
]
Candidates = Annotated[
    int | None,
    typer.Option(help="Hits that each leg contributes (100).", metavar="N", show_default=False),
]
RankConstant = Annotated[
    float | None,
    typer.Option(help="k of Reciprocal Rank Fusion (60).", metavar="K", show_default=False),
]
Strict = Annotated[
    bool,
    typer.Option("--strict", metavar="", help="An error (7) where a leg does not answer in full."),
]
Deadline = Annotated[
    float | None,
    typer.Option(help="How long it may take (10).", metavar="SECONDS", show_default=False),
]
Collection = Annotated[
    str | None,
    typer.Option(
        help="Which collection (docs).",
        metavar="NAME",
        show_default=False,
    ),
]
OpenSearchUrl = Annotated[
    str | None,
    typer.Option(
        "--opensearch-url",
        help="An OpenSearch node (OPENSEARCH_URL); '' is the embedded store.",
        metavar="URL",
        show_default=False,
    ),
]
Embedder = Annotated[
    str | None,
    typer.Option(
        help="What makes the vectors (what the collection was made with).",
        metavar="NAME",
        autocompletion=completion.embedders,
        show_default=False,
    ),
]
Home = Annotated[
    str | None,
    typer.Option(
        help="Folder of the embedded store, the cache and the logs.",
        metavar="FOLDER",
        show_default=False,
    ),
]
Tenant = Annotated[
    str | None,
    typer.Option(
        help="Whose documents are written, and the only ones found.",
        metavar="NAME",
        show_default=False,
    ),
]
Json = Annotated[
    bool,
    typer.Option("--json", metavar="", help="One JSON value on stdout, errors as JSON on stderr."),
]
Debug = Annotated[
    bool, typer.Option("--debug", metavar="", help="Show tracebacks and what libraries log.")
]


class Group(typer.core.TyperGroup):
    """Takes the global options before and after the command's name."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Move the global options to the front, then parse."""
        taking = {name for p in self.params if not _is_flag(p) for name in p.opts}
        flags = {name for p in self.params if _is_flag(p) for name in p.opts}
        return super().parse_args(ctx, hoisted(args, taking, flags))


def hoisted(args: list[str], taking: set[str], flags: set[str]) -> list[str]:
    """Put the options named first, with their values; nothing moves from behind ``--``.

    >>> hoisted(["search", "whale", "--json", "--home", "x"], {"--home"}, {"--json"})
    ['--json', '--home', 'x', 'search', 'whale']
    """
    end = args.index("--") if "--" in args else len(args)
    first: list[str] = []
    rest: list[str] = []
    waiting = iter(args[:end])
    for one in waiting:
        if one in taking:
            first += [one, *([value] if (value := next(waiting, None)) is not None else [])]
        elif one in flags or one.partition("=")[0] in taking:
            first.append(one)
        else:
            rest.append(one)
    return first + rest + args[end:]


def _is_flag(parameter: Any) -> bool:
    return bool(getattr(parameter, "is_flag", False))
