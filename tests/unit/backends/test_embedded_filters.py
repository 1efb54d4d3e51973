"""Filters against plain Python, on random documents and random trees."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_search.domain import And, Condition, Document, Match, Nearest, Not, Or, Restriction
from hybrid_search.errors import InvalidInput
from tests.unit.backends.embedded_helpers import opened, rank, vector_of, write

FIELDS = {
    "team": "keyword", "year": "integer", "price": "float", "open": "boolean", "day": "date",
}  # fmt: skip
START = datetime(2026, 1, 1, tzinfo=UTC)

VALUES = {
    "team": st.sampled_from(["ops", "dev", "é", "10", "9"]),
    "year": st.integers(2019, 2023),
    "price": st.sampled_from([-1.5, 0.0, 2.25, 1e9]),
    "open": st.booleans(),
    "day": st.integers(0, 4).map(lambda days: (START + timedelta(days)).isoformat()),
}
metadata = st.fixed_dictionaries(
    {},
    optional={
        name: values if name == "open" else st.one_of(values, st.lists(values, max_size=3))
        for name, values in VALUES.items()
    },
)


@st.composite
def conditions(draw):
    name = draw(st.sampled_from(sorted(FIELDS)))
    value, op = VALUES[name], draw(st.sampled_from(["eq", "in", "range", "exists"]))
    match op:
        case "eq":
            return Condition(name, op, draw(value))
        case "in":
            return Condition(name, op, draw(st.lists(value, max_size=3)))
        case "range":
            bounds = st.dictionaries(st.sampled_from(["gt", "gte", "lt", "lte"]), value, min_size=1)
            return Condition(name, op, draw(bounds))
        case _:
            return Condition(name, op, draw(st.sampled_from([None, True, False])))


trees = st.recursive(
    conditions(),
    lambda parts: st.one_of(
        parts.map(Not),
        st.lists(parts, max_size=3).map(lambda p: And(tuple(p))),
        st.lists(parts, max_size=3).map(lambda p: Or(tuple(p))),
    ),
    max_leaves=8,
)
TESTS = {
    "gt": lambda a, b: a > b, "gte": lambda a, b: a >= b,
    "lt": lambda a, b: a < b, "lte": lambda a, b: a <= b,
}  # fmt: skip


def holds(tree, metadata):
    match tree:
        case Not():
            return not holds(tree.part, metadata)
        case And():
            return all(holds(part, metadata) for part in tree.parts)
        case Or():
            return any(holds(part, metadata) for part in tree.parts)
    values = metadata.get(tree.field, [])
    values = values if isinstance(values, list) else [values]
    match tree.op:
        case "eq":
            return tree.value in values
        case "in":
            return any(value in tree.value for value in values)
        case "range":
            return any(all(TESTS[b](v, w) for b, w in tree.value.items()) for v in values)
    return bool(values) == (tree.value is not False)


@settings(max_examples=80, deadline=None)
@given(st.lists(metadata, min_size=1, max_size=8), trees)
def test_both_legs_find_what_the_filter_lets_through(given_metadata, tree):
    with opened(fields=FIELDS) as store:
        write(store, *(Document(f"d{i}", "word", metadata=m) for i, m in enumerate(given_metadata)))
        wanted = {f"d{i}" for i, m in enumerate(given_metadata) if holds(tree, m)}
        for query in (Match("content", "word"), Nearest(vector_of("word"))):
            hits = rank(store, query, restriction=Restriction(filter=tree)).hits
            assert {hit.document_id for hit in hits} == wanted


def test_the_filter_works_before_the_best_are_taken():
    """A1: a thousand nearer chunks of another tenant hide none of the few that are asked for."""
    inside = {"day": "2026-01-15"}
    with opened(fields=FIELDS) as store:
        write(store, *((f"b{i}", "word") for i in range(1000)), tenant="b")
        write(
            store,
            *(Document(f"a{i}", f"word and more {i}", metadata=inside) for i in range(5)),
            Document("early", "word", metadata={"day": "2025-12-31"}),
            Document("late", "word", metadata={"day": "2026-02-01"}),
            tenant="a",
        )
        january = Condition("day", "range", {"gte": "2026-01-01", "lt": "2026-02-01"})
        held = Restriction(("a",), january)
        for query in (Match("content", "word"), Nearest(vector_of("word"))):
            hits = rank(store, query, size=5, restriction=held).hits
            assert {hit.document_id for hit in hits} == {f"a{i}" for i in range(5)}
            assert rank(store, query, restriction=Restriction(())).hits == ()
            assert rank(store, query, restriction=Restriction(("nobody",))).hits == ()
            both = rank(store, query, size=2000, restriction=Restriction(("a", "b"))).hits
            assert len(both) == 1007


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (Condition("colour", "eq", "red"), "unknown filter field 'colour'.*team"),
        (Condition("year", "eq", "x"), "'year': 'x' is not a integer"),
        (Condition("year", "eq", None), "'year': None is not a integer"),
        (Condition("year", "eq", [1]), r"'year': \[1\] is not a integer"),
        (Condition("year", "in", 2020), "'in' takes a list"),
        (Condition("year", "range", {}), "'range' takes bounds"),
        (Condition("year", "range", {"over": 1}), "bound .* 'over': expected one of gt, gte"),
        (Condition("year", "like", 1), "filter operation 'like'"),
    ],
)
def test_a_bad_filter_is_refused_by_name(condition, message):
    with opened(fields=FIELDS) as store:
        write(store, ("a", "word"))
        held = Restriction(filter=Or((condition,)))
        with pytest.raises(InvalidInput, match=message):
            rank(store, Match("content", "word"), restriction=held)


def test_a_list_of_values_may_be_long():
    with opened(fields=FIELDS) as store:
        write(store, Document("a", "word", metadata={"year": 7}))
        held = Restriction(filter=Condition("year", "in", list(range(300_000))))
        assert len(rank(store, Match("content", "word"), restriction=held).hits) == 1
