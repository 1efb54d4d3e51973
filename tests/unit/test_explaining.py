"""Side by side, and why a chunk stands where it stands."""

import math

import pytest

from hybrid_search import SearchRequest, connect
from hybrid_search.errors import InvalidInput, NotFound
from hybrid_search.schema import chunk_id

QUERY = "lost parcel X-3"


@pytest.fixture(scope="module")
def search():
    with connect(memory=True, embedder="hashing", cache=False) as made:
        made.add(
            {"id": f"d{n}", "text": f"parcel X-{n} lost at sea" + " far" * n} for n in range(8)
        )
        made.add([{"id": "two", "text": "# Birds\nno word of it\n# X-3\nthe lost parcel"}])
        made.add([{"id": "fog", "text": "qqq zzz"}])
        yield made


def legs(explanation):
    return {leg.leg: leg for leg in explanation.legs}


# --- Compare --------------------------------------------------------------------------------


def test_a_column_for_each_leg_and_each_constant(search):
    shown = search.compare(QUERY, rank_constants=[1, 60, 2.5], top=4)
    assert [column.name for column in shown.columns] == [
        "bm25",
        "vector",
        "identifier",
        "fused (k=1)",
        "fused (k=60)",
        "fused (k=2.5)",
    ]
    for column in shown.columns:
        assert [placed.rank for placed in column.hits] == list(range(1, len(column.hits) + 1))
        assert len(column.hits) <= 4
    assert (shown.query, shown.degraded) == (QUERY, ())
    assert [report.leg for report in shown.legs] == ["bm25", "vector", "identifier"]


def test_the_columns_are_those_of_the_search(search):
    shown = search.compare(QUERY, rank_constants=[7], top=5)
    result = search.search(QUERY, rank_constant=7, top_k=5)
    columns = {column.name: column.hits for column in shown.columns}
    assert [(p.id, p.score) for p in columns["fused (k=7)"]] == [
        (hit.id, hit.score) for hit in result.hits
    ]
    for ranking in result.rankings:
        assert [(p.id, p.score) for p in columns[ranking.leg]] == [
            (hit.chunk_id, hit.score) for hit in ranking.hits[:5]
        ]


def test_points_follow_the_columns_constant(search):
    for constant, column in zip((1, 60), search.compare(QUERY, (1, 60)).columns[-2:], strict=True):
        for placed in column.hits:
            points = [1 / (constant + c.rank) for c in placed.contributions]
            assert [c.points for c in placed.contributions] == points
            assert placed.score == math.fsum(points)


def test_the_settings_constant_is_taken_where_none_is_given(search):
    assert search.compare(QUERY).columns[-1].name == "fused (k=60)"


def test_a_bad_constant_is_named(search):
    with pytest.raises(InvalidInput, match="rank_constant is -1: expected a number of 0 or more"):
        search.compare(QUERY, rank_constants=[-1])


# --- Explain --------------------------------------------------------------------------------


def test_a_hit_is_explained_as_the_search_shows_it(search):
    result = search.search(QUERY, top_k=50)
    for rank, hit in enumerate(result.hits, 1):
        explained = search.explain(QUERY, hit.id)
        assert (explained.id, explained.document_id) == (hit.id, hit.document_id)
        assert (explained.rank, explained.total) == (rank, result.total)
        assert explained.score == hit.score == math.fsum(leg.points for leg in explained.legs)
        given = {c.leg: (c.rank, c.raw_score, c.points) for c in hit.contributions}
        for leg in explained.legs:
            if leg.leg in given:
                assert (leg.rank, leg.raw_score, leg.points) == given[leg.leg]
                assert leg.why.startswith(f"rank {leg.rank} of ")


def test_a_document_is_explained_by_its_best_chunk(search):
    explained = search.explain(QUERY, "two")
    assert explained.id == chunk_id("", "two", 1)
    assert explained.text == "# X-3\nthe lost parcel"
    by_chunk = search.explain(QUERY, chunk_id("", "two", 1))
    assert (by_chunk.document_id, by_chunk.rank) == ("two", explained.rank)


def test_a_chunk_outside_the_window_has_its_scores_and_what_it_had_to_beat(search):
    request = {"candidates": 2, "top_k": 2}
    result = search.search(QUERY, **request)
    assert "d7" not in [hit.document_id for hit in result.hits]
    explained = search.explain(QUERY, "d7", **request)
    assert (explained.rank, explained.score, explained.total) == (None, 0.0, result.total)
    full = {
        ranking.leg: {hit.chunk_id: hit.score for hit in ranking.hits}
        for ranking in search.search(QUERY, candidates=100).rankings
    }
    last = {ranking.leg: ranking.hits[-1].score for ranking in result.rankings}
    for name in ("bm25", "vector"):
        leg = legs(explained)[name]
        assert (leg.rank, leg.points, leg.window) == (None, 0.0, 2)
        assert leg.raw_score == pytest.approx(full[name][explained.id], rel=1e-6)
        assert leg.last_score == last[name] >= leg.raw_score
        assert leg.why == (
            f"outside the window: scores {leg.raw_score:.4g}, the last of 2 has {last[name]:.4g}"
        )


def test_a_leg_that_does_not_find_it_says_so(search):
    leg = legs(search.explain(QUERY, "fog"))["bm25"]
    assert (leg.rank, leg.raw_score, leg.points) == (None, None, 0.0)
    assert leg.why == "not found: it holds nothing of what this leg asked for"
    other = legs(search.explain(QUERY, "d1"))["identifier"]
    assert other.why == "not found: it holds nothing of what this leg asked for"


def test_a_leg_without_anything_to_say_says_so(search):
    leg = legs(search.explain("lost parcel", "d1"))["identifier"]
    assert (leg.raw_score, leg.last_score) == (None, None)
    assert leg.why == "the leg had nothing to say to this query"


@pytest.mark.parametrize("wanted", ["nobody", chunk_id("", "nobody", 0), chunk_id("", "two", 9)])
def test_what_is_not_there_is_named(search, wanted):
    with pytest.raises(NotFound) as raised:
        search.explain(QUERY, wanted)
    assert str(raised.value) == f"there is no document and no chunk {wanted!r} in this collection"


def test_an_empty_collection_has_nothing_to_explain():
    with (
        connect(memory=True, embedder="hashing", cache=False) as made,
        pytest.raises(NotFound, match="no document and no chunk 'a'"),
    ):
        made.explain("x", "a")


def test_another_tenants_chunk_is_not_found_by_its_id(tmp_path):
    options = {"embedder": "hashing", "cache": False, "home": tmp_path, "query_log": False}
    with connect(tenant="red", **options) as red, connect(tenant="blue", **options) as blue:
        red.add([{"id": "a", "text": "red parcel"}])
        chunk = chunk_id("red", "a", 0)
        assert red.explain("parcel", chunk).rank == 1
        for wanted in ("a", chunk):
            with pytest.raises(NotFound):
                blue.explain("parcel", wanted)


def test_the_request_of_an_explanation_is_checked(search):
    with pytest.raises(InvalidInput, match="query is ' '"):
        search.explain(" ", "two")


def test_weights_of_the_request_count(search):
    explained = search.explain(QUERY, "d3", weights={"bm25": 3.0})
    leg = legs(explained)["bm25"]
    assert leg.points == 3 / (60 + leg.rank)
    assert SearchRequest(QUERY).rank_constant == 60
