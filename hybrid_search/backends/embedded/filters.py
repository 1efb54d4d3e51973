"""A filter tree, as the mask of the chunks that it lets through."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid_search.domain import And, Condition, Not
from hybrid_search.errors import InvalidInput, choices
from hybrid_search.schema import typed

if TYPE_CHECKING:
    import sqlite3

    from hybrid_search.backends.embedded.columns import Columns, Mask
    from hybrid_search.domain import FieldType, Filter, Restriction

_BOUNDS = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}


def allowed(connection: sqlite3.Connection, columns: Columns, restriction: Restriction) -> Mask:
    """Return the live chunks that a restriction lets through.

    Raises ``InvalidInput`` for an unknown field, operation or bound, or a value of another type.
    """
    tenants = restriction.tenants
    mask = columns.live if tenants is None else columns.of_tenants(tenants)
    if restriction.filter is None:
        return mask
    return mask & _mask(connection, columns, restriction.filter)


def _mask(connection: sqlite3.Connection, columns: Columns, tree: Filter) -> Mask:
    if isinstance(tree, Not):
        return ~_mask(connection, columns, tree.part)
    if isinstance(tree, Condition):
        return _condition(connection, columns, tree)
    combine = np.logical_and if isinstance(tree, And) else np.logical_or
    mask = np.full(len(columns.live), isinstance(tree, And))
    for part in tree.parts:
        mask = combine(mask, _mask(connection, columns, part))
    return mask


def _condition(connection: sqlite3.Connection, columns: Columns, condition: Condition) -> Mask:
    fields = columns.meta.spec.fields
    if condition.field not in fields:
        raise choices("filter field", condition.field, fields)
    test, values = _test(condition, fields[condition.field])
    sql = f"SELECT group_concat(number) FROM field_values WHERE field = ? AND {test}"  # noqa: S608
    listed = connection.execute(sql, (condition.field, *values)).fetchone()[0]
    mask = columns.mask(np.fromstring(listed or "", np.int64, sep=","))
    return ~mask if condition.op == "exists" and condition.value is False else mask


def _test(condition: Condition, kind: FieldType) -> tuple[str, list[Any]]:
    """Return an SQL test of ``value``, and what to bind to it."""
    match condition.op:
        case "exists":
            return "TRUE", []
        case "eq":
            return "value = ?", [_value(condition, kind, condition.value)]
        case "in":
            several = json.dumps([_value(condition, kind, v) for v in _several(condition)])
            return "value IN (SELECT value FROM json_each(?))", [several]
        case "range":
            bounds = _bounds(condition)
            values = [_value(condition, kind, v) for v in bounds.values()]
            return " AND ".join(f"value {_BOUNDS[name]} ?" for name in bounds), values
    raise choices("filter operation", condition.op, ("eq", "in", "range", "exists"))


def _value(condition: Condition, kind: FieldType, value: Any) -> Any:
    if value is None or isinstance(value, list | tuple | dict | set | frozenset):
        raise InvalidInput(f"filter on {condition.field!r}: {value!r} is not a {kind}")
    try:
        return typed(kind, value)
    except ValueError as error:
        raise InvalidInput(f"filter on {condition.field!r}: {error}") from error


def _several(condition: Condition) -> list[Any]:
    if not isinstance(condition.value, list | tuple | set | frozenset):
        raise InvalidInput(
            f"filter on {condition.field!r}: 'in' takes a list of values, not {condition.value!r}"
        )
    return list(condition.value)


def _bounds(condition: Condition) -> dict[str, Any]:
    value = condition.value
    if not isinstance(value, dict) or not value:
        raise InvalidInput(
            f"filter on {condition.field!r}: 'range' takes bounds like {{'gte': 1}}, not {value!r}"
        )
    for name in value:
        if name not in _BOUNDS:
            raise choices(f"bound of the filter on {condition.field!r}", name, _BOUNDS)
    return value
