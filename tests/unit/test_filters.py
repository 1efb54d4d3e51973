"""Filters: two forms in, one typed tree out; errors name the value and the choices."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_search.domain import And, Condition, Not, Or
from hybrid_search.errors import InvalidInput
from hybrid_search.filters import MAX_CONDITIONS, MAX_DEPTH, check, parse, parse_short

FIELDS = {"team": "keyword", "year": "integer", "price": "float", "open": "boolean", "day": "date"}


def refused(call, *arguments):
    with pytest.raises(InvalidInput) as raised:
        call(*arguments)
    return str(raised.value)


# --- The JSON form --------------------------------------------------------------------------


def as_json(tree):
    """The JSON form of a tree."""
    match tree:
        case Condition():
            return {"field": tree.field, "op": tree.op, "value": tree.value}
        case Not():
            return {"not": as_json(tree.part)}
        case And():
            return {"and": [as_json(part) for part in tree.parts]}
        case Or():
            return {"or": [as_json(part) for part in tree.parts]}


conditions = st.one_of(
    st.builds(Condition, st.sampled_from(["team", "other"]), st.just("eq"), st.text()),
    st.builds(Condition, st.just("team"), st.just("in"), st.lists(st.text())),
    st.builds(
        Condition,
        st.just("year"),
        st.just("range"),
        st.dictionaries(
            st.sampled_from(["gt", "gte", "lt", "lte"]), st.integers(-10, 10), min_size=1
        ),
    ),
    st.builds(Condition, st.just("day"), st.just("exists"), st.just(True)),
)
trees = st.recursive(
    conditions,
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(And, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Or, st.lists(inner, max_size=3).map(tuple)),
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(trees)
def test_json_is_read_back_as_the_tree_it_was_made_from(tree):
    assert parse(as_json(tree)) == tree


@settings(deadline=None)
@given(trees)
def test_a_tree_is_taken_as_it_is(tree):
    assert parse(tree) is tree


def test_nothing_is_no_filter():
    assert parse(None) is None
    assert check(None, FIELDS) is None


def test_op_is_eq_where_none_is_given():
    assert parse({"field": "team", "value": "ops"}) == Condition("team", "eq", "ops")


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ("team=ops", "filter is 'team=ops': expected an object with field, op and value"),
        ([], "filter is []: expected an object with field, op and value"),
        (
            {"xor": []},
            "filter has the keys 'xor': expected field, op and value, or one of and, or, not",
        ),
        (
            {"and": [], "or": []},
            "filter has the keys 'and', 'or': expected field, op and value, or one of and, or, not",
        ),
        ({}, "filter has the keys : expected field, op and value, or one of and, or, not"),
        ({"and": {"field": "a"}}, "filter 'and' is {'field': 'a'}: expected a list of filters"),
        ({"or": [None]}, "filter has an empty part"),
        ({"not": None}, "filter has an empty part"),
        (
            {"field": "team", "valeu": "ops"},
            "unknown filter key 'valeu': expected one of field, op, value (did you mean value?)",
        ),
        (
            {"field": "team", "op": "like"},
            "unknown filter op 'like': expected one of eq, exists, in, range",
        ),
        (
            {"field": "team", "op": "in", "value": "ops"},
            "filter op 'in' has the value 'ops': expected a list",
        ),
        (
            {"field": "year", "op": "range", "value": {}},
            "filter op 'range' has the value {}: expected an object with some of gt, gte, lt, lte",
        ),
        (
            {"field": "year", "op": "range", "value": {"from": 1}},
            (
                "filter op 'range' has the value {'from': 1}: expected an object with some of "
                "gt, gte, lt, lte"
            ),
        ),
    ],
)
def test_what_cannot_be_read_is_named(given_, said):
    assert refused(parse, given_) == said


def nested(depth):
    tree = {"field": "team", "value": "ops"}
    for _ in range(depth):
        tree = {"not": tree}
    return tree


def test_depth_has_a_limit_that_is_named():
    assert parse(nested(MAX_DEPTH)) is not None
    for depth in (MAX_DEPTH + 1, 5_000):
        assert f"at most {MAX_DEPTH} levels" in refused(parse, nested(depth))


# --- The short form -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("team=ops", Condition("team", "eq", "ops")),
        (" team = ops ", Condition("team", "eq", "ops")),
        ("team=", Condition("team", "eq", "")),
        ("team=a=b", Condition("team", "eq", "a=b")),
        ("team=a>b", Condition("team", "eq", "a>b")),
        ("team=ops, dev", Condition("team", "in", ("ops", "dev"))),
        ("team=*", Condition("team", "exists", value=True)),
        ("team!=ops", Not(Condition("team", "eq", "ops"))),
        ("team!=ops,dev", Not(Condition("team", "in", ("ops", "dev")))),
        ("team!=*", Not(Condition("team", "exists", value=True))),
        ("year>=2020", Condition("year", "range", {"gte": "2020"})),
        ("year<=2020", Condition("year", "range", {"lte": "2020"})),
        ("year>2020", Condition("year", "range", {"gt": "2020"})),
        ("year<2020", Condition("year", "range", {"lt": "2020"})),
    ],
)
def test_short_form(text, tree):
    assert parse_short([text]) == tree


def test_several_short_filters_must_all_hold():
    parts = [parse_short([text]) for text in ("team=ops", "year>2020")]
    assert parse_short(["team=ops", "year>2020"]) == And(tuple(parts))
    assert parse_short([]) is None


@pytest.mark.parametrize("text", ["team", "", "=ops", "team ops"])
def test_a_short_filter_that_cannot_be_read_is_named(text):
    said = refused(parse_short, [text])
    assert said == (
        f"filter {text!r} can't be read: expected field=value, with one of >= <= != = > < between"
    )


# --- Types ----------------------------------------------------------------------------------

DAY = int(datetime(2024, 5, 17, tzinfo=UTC).timestamp()) * 1000


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        (Condition("year", "eq", "2020"), 2020),
        (Condition("price", "eq", "2.5"), 2.5),
        (Condition("open", "eq", "True"), True),
        (Condition("team", "eq", 7), "7"),
        (Condition("team", "eq", value=True), "true"),
        (Condition("day", "eq", "2024-05-17"), DAY),
        (Condition("day", "eq", date(2024, 5, 17)), DAY),
        (Condition("day", "eq", "2024-05-17T02:00:00+02:00"), DAY),
        (Condition("day", "range", {"gte": "2024-05-17", "lt": DAY + 1}), None),
        (Condition("year", "in", ["2020", 2021]), (2020, 2021)),
        (Condition("team", "exists"), True),
        (Condition("team", "exists", value=False), False),
    ],
)
def test_values_get_the_type_of_their_field(condition, value):
    value = {"gte": DAY, "lt": DAY + 1} if value is None else value
    checked = check(condition, FIELDS)
    assert (checked.field, checked.op, checked.value) == (condition.field, condition.op, value)
    assert type(checked.value) is type(value)


@settings(deadline=None)
@given(trees.filter(lambda tree: "other" not in repr(tree)))
def test_what_is_checked_stays_so(tree):
    once = check(tree, FIELDS)
    assert check(once, FIELDS) == once


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        (Condition("year", "eq", "soon"), "filter on 'year': 'soon' is not a integer"),
        (Condition("year", "in", [2020, 2.5]), "filter on 'year': 2.5 is not a integer"),
        (Condition("year", "range", {"gt": None}), "filter on 'year': None is not a integer"),
        (Condition("team", "eq"), "filter on 'team': None is not a keyword"),
        (Condition("team", "eq", ["ops"]), "filter on 'team': ['ops'] is not a keyword"),
        (Condition("day", "eq", "17.5.2024"), "filter on 'day': '17.5.2024' is not a date"),
        (Condition("day", "eq", 2**63), f"filter on 'day': {2**63} is not a date"),
        (Condition("open", "eq", "yes"), "filter on 'open': 'yes' is not a boolean"),
        (Condition("team", "in", "ops"), "filter op 'in' has the value 'ops': expected a list"),
        (
            Condition("year", "range", 2020),
            (
                "filter op 'range' has the value 2020: expected an object with some of "
                "gt, gte, lt, lte"
            ),
        ),
        (
            Condition("tema", "eq", "ops"),
            (
                "unknown filter field 'tema': expected one of day, open, price, team, year "
                "(did you mean team?)"
            ),
        ),
    ],
)
@pytest.mark.parametrize("wrap", [lambda c: c, Not, lambda c: And((c,)), lambda c: Or((Not(c),))])
def test_a_bad_condition_is_named_however_deep(condition, said, wrap):
    assert refused(check, wrap(condition), FIELDS) == said


def test_a_field_of_an_index_without_any():
    said = refused(check, Condition("team", "eq", "ops"), {})
    assert said.startswith("filter on 'team': this collection declares no field to filter on.")
    assert "HYBRID_SEARCH_FIELDS" in said


def test_the_number_of_conditions_is_limited():
    one = Condition("team", "eq", "ops")
    assert check(Or((one,) * MAX_CONDITIONS), FIELDS) is not None
    too_many = And((Or((one,) * MAX_CONDITIONS), Not(one)))
    said = refused(check, too_many, FIELDS)
    assert said == f"filter has {MAX_CONDITIONS + 1} conditions: at most {MAX_CONDITIONS}"
