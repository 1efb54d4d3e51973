"""``hybrid-search components`` and ``settings``: what there is to choose from."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer
from pydantic import SecretStr
from rich.text import Text

from hybrid_search import registry
from hybrid_search import settings as settings_module
from hybrid_search.cli import completion
from hybrid_search.cli.labels import cropped
from hybrid_search.cli.printing import cell, table
from hybrid_search.registry import Component
from hybrid_search.settings import PREFIX, Settings

if TYPE_CHECKING:
    from hybrid_search.cli.session import Session

HIDDEN = "********"
WIDEST = 40
"""Characters of a parameter's type and default; ``--json`` has all."""
_SECRET = ("key", "token", "secret", "password")


def components(
    context: typer.Context,
    family: Annotated[
        str | None,
        typer.Argument(
            help="One family only, e.g. embedders.",
            autocompletion=completion.families,
            show_default=False,
        ),
    ] = None,
) -> None:
    """List what can be chosen by name: legs, embedders, ... with parameters and what is missing."""
    session: Session = context.obj
    families = (family,) if family else registry.FAMILIES
    found = [registry.describe(f, name) for f in families for name in registry.names(f)]
    if session.json:
        session.emit([{**asdict(one), "parameters": dict(one.parameters)} for one in found])
        return
    made = table("family", "name", "what")
    for number, one in enumerate(found):
        new = number == 0 or found[number - 1].family != one.family
        made.add_row(cell(one.family if new else ""), cell(one.name, "bold"), _about(one))
    session.show(made)


def settings(context: typer.Context) -> None:
    """List every setting with its variable, its value now, and what it means."""
    session: Session = context.obj
    now = session.settings()
    rows = [
        (name, default, shown(now, name), what) for name, default, what in settings_module.table()
    ]
    if session.json:
        session.emit(
            [
                dict(zip(("variable", "default", "value", "meaning"), row, strict=True))
                for row in rows
            ]
        )
        return
    session.say(f"Each is a variable {PREFIX}<NAME>; bold where it differs from its default.\n")
    made = table("name", "value", "meaning")
    for variable, default, value, what in rows:
        changed = value != default and variable != f"{PREFIX}HOME"
        made.add_row(
            cell(variable.removeprefix(PREFIX)), cell(value, "bold" if changed else ""), cell(what)
        )
    session.show(made)


def shown(settings: Settings, variable: str) -> str:
    """Write the value of a setting; secrets only as being there."""
    name = variable.removeprefix(PREFIX).lower()
    value = getattr(settings, name)
    if isinstance(value, SecretStr):
        return HIDDEN if value.get_secret_value() else ""
    if isinstance(value, dict):
        return ", ".join(f"{key}={_masked(key, one)}" for key, one in value.items())
    if isinstance(value, tuple):
        return ", ".join(value)
    return _without_login(value) if isinstance(value, str) else "" if value is None else str(value)


def _masked(key: str, value: Any) -> Any:
    return HIDDEN if any(word in key.lower() for word in _SECRET) else value


def _without_login(value: str) -> str:
    parts = urlsplit(value) if "://" in value else None
    if parts is None or parts.password is None:
        return value
    return value.replace(f":{parts.password}@", f":{HIDDEN}@", 1)


def _about(one: Component) -> Text:
    about = Text(one.summary.replace("``", ""))
    takes = (f"{name}: {cropped(kind, WIDEST)}" for name, kind in one.parameters.items())
    if one.parameters:
        about.append(f"\n{', '.join(takes)}", "dim")
    about.append(f"\n{one.file}", "dim cyan")
    if one.needs:
        about.append(f"\nmissing: {one.needs}", "yellow")
    return about
