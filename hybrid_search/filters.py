"""Filters from the user's words to a typed tree, checked against the fields there are.

One typed form, ``{"field": "year", "op": "range", "value": {"gte": 2020}}``, joined by ``and``,
``or`` and ``not``; and the short form ``field=value`` of the command line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast, get_args

from hybrid_search.domain import And, Condition, Not, Op, Or
from hybrid_search.errors import InvalidInput, choices
from hybrid_search.schema import typed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hybrid_search.domain import FieldType, Filter

OPS: tuple[str, ...] = get_args(Op)
BOUNDS = ("gt", "gte", "lt", "lte")
MAX_CONDITIONS = 200
MAX_DEPTH = 16
"""Of ``and``, ``or`` and ``not`` within each other; engines take about 20."""
_SHORT = (">=", "<=", "!=", "=", ">", "<")
_BOUND_OF = {">=": "gte", "<=": "lte", ">": "gt", "<": "lt"}


def parse(given: Any) -> Filter | None:
    """Read a filter from its JSON form, or take one that is built already.

    >>> parse({"not": {"field": "team", "op": "eq", "value": "ops"}})
    Not(part=Condition(field='team', op='eq', value='ops'))
    """
    return _parse(given, 0)


def _parse(given: Any, depth: int) -> Filter | None:
    if given is None or isinstance(given, Condition | And | Or | Not):
        return given
    if depth > MAX_DEPTH:
        raise InvalidInput(f"filter is nested too deep: expected at most {MAX_DEPTH} levels")
    if not isinstance(given, dict):
        raise InvalidInput(f"filter is {given!r}: expected an object with field, op and value")
    if "field" in given:
        return _condition(given)
    if len(given) != 1 or (key := next(iter(given))) not in ("and", "or", "not"):
        raise InvalidInput(
            f"filter has the keys {', '.join(map(repr, given))}: expected field, op and value, "
            "or one of and, or, not"
        )
    if key == "not":
        return Not(_part(given[key], depth + 1))
    if not isinstance(given[key], list):
        raise InvalidInput(f"filter {key!r} is {given[key]!r}: expected a list of filters")
    parts = tuple(_part(part, depth + 1) for part in given[key])
    return And(parts) if key == "and" else Or(parts)


def parse_short(given: Sequence[str]) -> Filter | None:
    """Read the command line's form, all of which must hold: ``team=ops``, ``year>=2020``.

    ``!=`` negates, a comma in the value means "one of", and ``field=*`` means "there is one".

    >>> parse_short(["team=ops,dev", "year>=2020"])
    And(parts=(Condition(field='team', op='in', value=('ops', 'dev')), \
Condition(field='year', op='range', value={'gte': '2020'})))
    """
    parts = [_short(text) for text in given]
    return None if not parts else parts[0] if len(parts) == 1 else And(tuple(parts))


def check(tree: Filter | None, fields: Mapping[str, str]) -> Filter | None:
    """Type every value by its field. Raises ``InvalidInput`` for an unknown field or a bad value.

    >>> check(Condition("year", "eq", "2020"), {"year": "integer"})
    Condition(field='year', op='eq', value=2020)
    """
    if tree is None:
        return None
    if _size(tree) > MAX_CONDITIONS:
        raise InvalidInput(f"filter has {_size(tree)} conditions: at most {MAX_CONDITIONS}")
    return _check(tree, fields)


def _check(tree: Filter, fields: Mapping[str, str]) -> Filter:
    match tree:
        case Condition():
            return _check_condition(tree, fields)
        case And():
            return And(tuple(_check(part, fields) for part in tree.parts))
        case Or():
            return Or(tuple(_check(part, fields) for part in tree.parts))
        case Not():
            return Not(_check(tree.part, fields))


def _check_condition(condition: Condition, fields: Mapping[str, str]) -> Condition:
    if not fields:
        raise InvalidInput(
            f"filter on {condition.field!r}: this collection declares no field to filter on. "
            "Declare some with HYBRID_SEARCH_FIELDS (name=type, ...) and add the documents again"
        )
    if condition.field not in fields:
        raise choices("filter field", condition.field, fields)
    _refuse(condition.op, condition.value)
    kind = cast("FieldType", fields[condition.field])
    value = condition.value
    try:
        match condition.op:
            case "eq":
                value = typed(kind, value)
            case "in":
                value = tuple(typed(kind, one) for one in value)
            case "range":
                value = {bound: typed(kind, one) for bound, one in value.items()}
            case "exists":
                value = value in (None, True)
    except ValueError as error:
        raise InvalidInput(f"filter on {condition.field!r}: {error}") from error
    return Condition(condition.field, condition.op, value)


def _condition(given: dict[str, Any]) -> Condition:
    unknown = set(given) - {"field", "op", "value"}
    if unknown:
        raise choices("filter key", min(unknown), ("field", "op", "value"))
    op, value = given.get("op", "eq"), given.get("value")
    _refuse(op, value)
    return Condition(str(given["field"]), cast("Op", op), value)


def _refuse(op: Any, value: Any) -> None:
    """Raise ``InvalidInput`` for an unknown op, or a value that is not of the op's form."""
    if op not in OPS:
        raise choices("filter op", op, OPS)
    if op == "in" and not isinstance(value, list | tuple):
        raise InvalidInput(f"filter op 'in' has the value {value!r}: expected a list")
    if op == "range" and (not isinstance(value, dict) or not value or set(value) - set(BOUNDS)):
        raise InvalidInput(
            f"filter op 'range' has the value {value!r}: expected an object with some of "
            f"{', '.join(BOUNDS)}"
        )


def _part(given: Any, depth: int) -> Filter:
    part = _parse(given, depth)
    if part is None:
        raise InvalidInput("filter has an empty part")
    return part


def _short(text: str) -> Filter:
    found = min(((text.find(s), -len(s), s) for s in _SHORT if text.find(s) > 0), default=None)
    if found is None:
        raise InvalidInput(
            f"filter {text!r} can't be read: expected field=value, with one of "
            f"{' '.join(_SHORT)} between"
        )
    sign = found[2]
    field, value = text[: found[0]].strip(), text[found[0] + len(sign) :].strip()
    if sign in _BOUND_OF:
        return Condition(field, "range", {_BOUND_OF[sign]: value})
    if value == "*":
        condition = Condition(field, "exists", value=True)
    elif "," in value:
        condition = Condition(field, "in", tuple(v.strip() for v in value.split(",")))
    else:
        condition = Condition(field, "eq", value)
    return Not(condition) if sign == "!=" else condition


def _size(tree: Filter) -> int:
    match tree:
        case Condition():
            return 1
        case Not():
            return _size(tree.part)
        case And() | Or():
            return sum(_size(part) for part in tree.parts)
