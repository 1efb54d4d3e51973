"""Ids, hashes, typed values, fingerprints."""

import math
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_search import schema
from hybrid_search.domain import Document, IndexSpec, VectorSpace
from hybrid_search.errors import DocumentError, FingerprintMismatch, InvalidInput

SPACE = VectorSpace("titan", 1024)
SPEC = IndexSpec(space=SPACE, fields={"team": "keyword"})
texts = st.text(st.characters(codec=None, exclude_categories=()), max_size=12)


# --- Ids and hashes -------------------------------------------------------------------------


@settings(deadline=None)
@given(st.tuples(texts, texts, st.integers(0, 99)), st.tuples(texts, texts, st.integers(0, 99)))
def test_chunk_ids_are_equal_where_the_place_is(one, other):
    assert (schema.chunk_id(*one) == schema.chunk_id(*other)) == (one == other)


def test_parts_of_an_id_do_not_run_into_each_other():
    assert schema.chunk_id("ab", "c", 0) != schema.chunk_id("a", "bc", 0)
    assert schema.chunk_id("", "d1", 1) != schema.chunk_id("", "d", 11)


def test_an_id_is_32_hex_digits_and_no_other_kinds():
    made = [schema.chunk_id("t", "d", 0), schema.head_id("t", "d"), schema.text_hash("d")]
    assert all(len(one) == 32 and int(one, 16) >= 0 for one in made)
    assert len(set(made)) == len(made)


def test_an_id_is_the_same_in_every_release():
    """Stored ids are compared with derived ones: a change orphans every index there is."""
    assert schema.chunk_id("", "handbook", 0) == "ede04f3032c51363c53c4de888c32245"


DOCUMENT = Document("d", "text", "title", {"team": "ops", "n": 1}, "s.md")


@pytest.mark.parametrize(
    "changed",
    [
        {"text": "texts"},
        {"title": ""},
        {"metadata": {"team": "ops"}},
        {"metadata": {"team": "ops", "n": 2}},
        {"source": ""},
    ],
)
def test_any_change_of_content_changes_the_hash(changed):
    assert schema.content_hash(replace(DOCUMENT, **changed)) != schema.content_hash(DOCUMENT)


def test_the_hash_is_not_of_the_id_nor_of_the_order_of_the_metadata():
    same = replace(DOCUMENT, id="other", metadata={"n": 1, "team": "ops"})
    assert schema.content_hash(same) == schema.content_hash(DOCUMENT)


def test_a_field_declared_later_changes_the_stored_hash():
    assert schema.stored_hash(DOCUMENT, {}) == schema.content_hash(DOCUMENT)
    assert schema.stored_hash(DOCUMENT, {"absent": "keyword"}) == schema.content_hash(DOCUMENT)
    declared = [schema.stored_hash(DOCUMENT, {name: "keyword"}) for name in ("team", "n")]
    assert len({schema.content_hash(DOCUMENT), *declared}) == 3


# --- Names ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["docs", "a", "0", "a-b_c", "a" * 100])
def test_collection_names(name):
    assert schema.check_collection(name) == name


@pytest.mark.parametrize(
    "name", ["", "Docs", "-a", "_a", "a.b", "a/b", "..", "a" * 101, "é", "a\n"]
)
def test_a_bad_collection_name_is_named(name):
    with pytest.raises(InvalidInput) as raised:
        schema.check_collection(name)
    assert repr(name) in str(raised.value)
    assert "expected lower-case letters, digits" in str(raised.value)


def test_fields():
    schema.check_fields(dict.fromkeys(["a", "A_1"], "keyword") | {"day": "date"})
    with pytest.raises(
        InvalidInput, match="field 'n' has type 'int': expected one of keyword, int"
    ):
        schema.check_fields({"n": "int"})
    for name in ("", "1a", "a.b", "a-b", "_a", "a\n"):
        with pytest.raises(InvalidInput) as raised:
            schema.check_fields({name: "keyword"})
        assert f"field name {name!r} can't be used" in str(raised.value)


# --- Typed values ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "given_", "value"),
    [
        ("keyword", "ops", "ops"),
        ("keyword", 7, "7"),
        ("keyword", False, "false"),
        ("keyword", "a\ud800", "a\ufffd"),
        ("keyword", "x" * schema.MAX_KEYWORD, "x" * schema.MAX_KEYWORD),
        ("integer", "2020", 2020),
        ("integer", 3.0, 3),
        ("integer", 2**63 - 1, 2**63 - 1),
        ("integer", -(2**63), -(2**63)),
        ("float", "2.5", 2.5),
        ("float", 2, 2.0),
        ("boolean", "TRUE", True),
        ("boolean", False, False),
        ("date", "1970-01-01", 0),
        ("date", date(1970, 1, 2), 86_400_000),
        ("date", datetime.fromisoformat("1970-01-01T00:00:01"), 1000),
        ("date", datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), 0),
        ("date", " 1970-01-01T00:00:00.5Z ", 500),
        ("date", 1234, 1234),
        ("date", "1969-12-31", -86_400_000),
    ],
)
def test_values_are_converted(kind, given_, value):
    made = schema.typed(kind, given_)
    assert (made, type(made)) == (value, type(value))


@pytest.mark.parametrize(
    ("kind", "given_"),
    [
        ("keyword", None),
        ("keyword", {"a": 1}),
        ("keyword", ["a"]),
        ("keyword", "x" * (schema.MAX_KEYWORD + 1)),
        ("integer", "2.5"),
        ("integer", 2.5),
        ("integer", True),
        ("integer", math.inf),
        ("integer", 2**63),
        ("integer", None),
        ("float", "much"),
        ("float", "nan"),
        ("float", math.inf),
        ("float", True),
        ("float", 10**400),
        ("boolean", 1),
        ("boolean", "yes"),
        ("date", "tomorrow"),
        ("date", True),
        ("date", 2**63),
        ("date", -(2**63) - 1),
        ("date", 1.5),
        ("date", None),
    ],
)
def test_a_value_of_another_type_is_named_with_the_type(kind, given_):
    with pytest.raises(ValueError) as raised:
        schema.typed(kind, given_)
    assert str(raised.value) == f"{given_!r} is not a {kind}"


@settings(deadline=None)
@given(st.datetimes(timezones=st.just(UTC)))
def test_a_date_is_its_milliseconds(moment):
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    exact = since / timedelta(milliseconds=1)
    assert abs(schema.typed("date", moment) - exact) <= 0.51
    assert schema.typed("date", moment.isoformat()) == schema.typed("date", moment)


def test_declared_fields_are_taken_and_lists_stay_lists():
    fields = {"team": "keyword", "year": "integer", "none": "float", "empty": "date"}
    metadata = {"team": ["ops", 7], "year": "2020", "none": None, "empty": [], "other": object()}
    assert schema.field_values(fields, metadata) == {"team": ["ops", "7"], "year": 2020}


def test_a_bad_value_names_the_field():
    with pytest.raises(DocumentError, match="metadata field 'year': 'soon' is not a integer"):
        schema.field_values({"year": "integer"}, {"year": [2020, "soon"]})


@pytest.mark.parametrize(
    ("vector", "wrong"),
    [
        (None, "has no vector"),
        (np.ones(3, np.float32), "its vector has 3 dimensions, the index has 4"),
        (np.array([1, math.nan, 0, 0], np.float32), "its vector has a value that is not finite"),
        (np.array([1, math.inf, 0, 0], np.float32), "its vector has a value that is not finite"),
        (np.zeros(4, np.float32), "its vector is zero"),
        (np.array([0, 0, 0, -1], np.float32), ""),
    ],
)
def test_what_is_wrong_with_a_vector(vector, wrong):
    assert schema.check_vector(vector, VectorSpace("m", 4)) == wrong


# --- The fingerprint ------------------------------------------------------------------------

specs = st.builds(
    IndexSpec,
    space=st.none() | st.builds(VectorSpace, st.text(), st.integers(1, 4096), st.booleans()),
    language=st.text(),
    chunker=st.text(),
    space_type=st.sampled_from(schema.SPACE_TYPES),
    shards=st.integers(1, 9),
    fields=st.dictionaries(st.text(), st.sampled_from(schema.FIELD_TYPES)),
)


@settings(deadline=None)
@given(specs)
def test_a_spec_comes_back_from_the_meta(spec):
    assert schema.from_meta(schema.to_meta(spec)) == spec


def test_what_a_later_release_wrote_is_ignored():
    assert schema.from_meta(schema.to_meta(SPEC) | {"later": 1}) == SPEC


@settings(deadline=None)
@given(specs)
def test_the_same_spec_may_read_and_write(spec):
    schema.refuse_other_reader(spec, spec, "it")
    schema.refuse_other_writer(spec, spec, "it")


def refusal(refuse, stored, wanted):
    with pytest.raises(FingerprintMismatch) as raised:
        refuse(stored, wanted, "index docs.1")
    return str(raised.value)


@pytest.mark.parametrize(
    "space",
    [
        VectorSpace("local", 1024),
        VectorSpace("titan", 512),
        VectorSpace("titan", 1024, normalized=False),
    ],
)
def test_another_vector_space_refuses_search_and_write_and_names_both(space):
    wanted = replace(SPEC, space=space)
    for refuse in (schema.refuse_other_reader, schema.refuse_other_writer):
        said = refusal(refuse, SPEC, wanted)
        assert said.startswith("index docs.1 ")
        assert f"made with {SPACE};" in said
        assert f"ask for {space}." in said


def test_another_space_type_refuses_search_and_names_both():
    said = refusal(schema.refuse_other_reader, SPEC, replace(SPEC, space_type="l2"))
    assert "compares vectors by cosinesimil; the settings ask for l2" in said


def test_text_legs_may_search_any_index():
    schema.refuse_other_reader(SPEC, replace(SPEC, space=None, space_type="l2"), "it")
    schema.refuse_other_reader(replace(SPEC, space=None), replace(SPEC, space_type="l2"), "it")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"language": "french"}, "made with language english; the settings ask for french"),
        ({"chunker": "other"}, "made with chunker section; the settings ask for other"),
        ({"schema_version": 2}, "made with schema version 1; the settings ask for 2"),
        ({"space": None}, f"made with embedding model {SPACE}; the settings ask for None"),
        ({"fields": {"team": "date"}}, "holds field 'team' as keyword; the settings say date"),
    ],
)
def test_what_refuses_a_write_still_lets_read(changed, words):
    wanted = replace(SPEC, **changed)
    schema.refuse_other_reader(SPEC, wanted, "index docs.1")
    assert words in refusal(schema.refuse_other_writer, SPEC, wanted)


def test_a_new_field_and_another_layout_are_no_other_fingerprint():
    wanted = replace(SPEC, fields={"year": "integer"}, shards=5, replicas=2, engine="faiss")
    schema.refuse_other_writer(SPEC, wanted, "it")
