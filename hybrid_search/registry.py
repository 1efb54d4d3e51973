"""Components by name. A component's name is its module's name; adding one is adding one file.

A module ``hybrid_search/<family>/<name>.py`` (or package) offers ``create(...)``. Its keyword
parameters are the component's parameters. Other distributions add components through entry
points of the group ``hybrid_search.<family>`` that name such a ``create`` function.

>>> sorted(names("fusion"))
['rrf']
>>> create("fusion", "rrf", rank_constant=1)
RRF(rank_constant=1, weights={})
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from hybrid_search.errors import InvalidInput, choices

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FAMILIES = ("legs", "fusion", "embedders", "backends", "chunkers", "loaders")
"""The folders that hold components, in reading order."""


@dataclass(frozen=True, slots=True)
class Component:
    """What ``hybrid-search components`` lists: where a component lives and what it takes."""

    family: str
    name: str
    file: str
    summary: str
    parameters: Mapping[str, str]
    needs: str = ""
    """What is missing to use it here, e.g. an extra that is not installed."""


@cache
def names(family: str) -> tuple[str, ...]:
    """List the components of one family. Raises ``InvalidInput`` for an unknown family."""
    if family not in FAMILIES:
        raise choices("component family", family, FAMILIES)
    package = importlib.import_module(f"hybrid_search.{family}")
    own = {m.name for m in pkgutil.iter_modules(package.__path__) if not m.name.startswith("_")}
    return tuple(sorted(own | {entry.name for entry in entry_points(group=_group(family))}))


@cache
def factory(family: str, name: str) -> Callable[..., Any]:
    """Import one component and return its ``create``. Raises ``InvalidInput``."""
    if name not in names(family):
        raise choices(family.removesuffix("s"), name, names(family))
    for entry in entry_points(group=_group(family), name=name):
        made: Callable[..., Any] = entry.load()
        return made
    module = importlib.import_module(f"hybrid_search.{family}.{name}")
    found: Callable[..., Any] = module.create
    return found


def create(family: str, name: str, **parameters: Any) -> Any:
    """Make one component. Raises ``InvalidInput`` that lists the parameters it takes."""
    make = factory(family, name)
    known = inspect.signature(make).parameters
    for parameter in parameters:
        if parameter not in known:
            raise choices(f"parameter of {family} {name}", parameter, known)
    for needed in known.values():
        if needed.default is needed.empty and needed.name not in parameters:
            raise InvalidInput(
                f"{family} {name!r} needs the parameter {needed.name!r}, and it was not given"
            )
    try:
        return make(**parameters)
    except ImportError as error:
        raise InvalidInput(f"{family} {name!r} needs a package that is missing: {error}") from error


def create_from(family: str, name: str, available: Mapping[str, Any]) -> Any:
    """Make one component from those of the available values that it takes."""
    known = inspect.signature(factory(family, name)).parameters
    return create(family, name, **{k: v for k, v in available.items() if k in known})


def describe(family: str, name: str) -> Component:
    """Describe one component without making it."""
    make = factory(family, name)
    parameters = {p.name: _show(p) for p in inspect.signature(make).parameters.values()}
    module = inspect.getmodule(make)
    file = module.__name__.replace(".", "/") if module else ""
    file += "/__init__.py" if hasattr(module, "__path__") else ".py"
    summary = (inspect.getdoc(module) or inspect.getdoc(make) or "").split("\n")[0]
    needs = getattr(module, "missing", lambda: "")()
    return Component(family, name, file, summary, parameters, needs)


def _show(parameter: inspect.Parameter) -> str:
    kind = "" if parameter.annotation is inspect.Parameter.empty else str(parameter.annotation)
    if parameter.default is inspect.Parameter.empty:
        return kind
    return f"{kind} = {parameter.default!r}"


def _group(family: str) -> str:
    return f"hybrid_search.{family}"
