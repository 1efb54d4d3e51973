"""Filters: a small closed set, compiled per backend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Op = Literal["eq", "in", "range", "exists"]


@dataclass(frozen=True, slots=True)
class Condition:
    """One test on one declared field. A ``range`` value maps gt, gte, lt, lte to bounds."""

    field: str
    op: Op
    value: Any = None


@dataclass(frozen=True, slots=True)
class And:
    """All of the parts hold."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one of the parts holds."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold (also true where the field is absent)."""

    part: Filter


Filter: TypeAlias = Condition | And | Or | Not
