"""An index that somebody else made: searched read-only, by the names of its fields."""

from __future__ import annotations

import secrets

import pytest
from opensearchpy import OpenSearch, helpers

from hybrid_search.embedders.hashing import vectorise
from hybrid_search.errors import FingerprintMismatch, InvalidInput, NotFound, ReadOnlyStore
from tests import nodes
from tests.contract.stores import connected

MAPPING = {
    "title": {"type": "text"},
    "body": {"type": "text", "fields": {"raw": {"type": "keyword", "ignore_above": 256}}},
    "notes": {"type": "text"},
    "tags": {"type": "text"},
    "page": {"properties": {"number": {"type": "short"}, "section": {"type": "keyword"}}},
    "price": {"type": "half_float"},
    "day": {"type": "date", "format": "dd/MM/yyyy"},
    "draft": {"type": "boolean"},
    "owner": {"type": "keyword"},
    "doc": {"type": "keyword"},
    "place": {"type": "geo_point"},
    "embedding": {
        "type": "knn_vector",
        "dimension": 64,
        "method": {"name": "hnsw", "engine": "lucene", "space_type": "cosinesimil"},
    },
}
SOURCES = {
    "1": {
        "title": "Power",
        "body": "the cold store lost power INV-2024-7831",
        "page": {"number": 3, "section": "x"},
        "day": "31/12/1969",
        "price": 1.5,
        "draft": False,
        "owner": "ann",
        "doc": "report",
    },
    "2": {
        "title": "Leave",
        "body": ["ask for leave", "INV-2024-7832 two weeks ahead"],
        "page": {"number": 4, "section": "y"},
        "day": "01/01/2026",
        "owner": "bob",
        "doc": "handbook",
    },
    "3": {
        "title": "Power again",
        "body": "power is back",
        "draft": True,
        "owner": "ann",
        "doc": "report",
    },
}


@pytest.fixture(scope="module")
def prefix(node_url):
    """Two indexes of theirs behind one alias; one of them alone has an alias too."""
    made = f"hybrid-search-test-{secrets.token_hex(4)}-"
    for n, index in enumerate((f"{made}one", f"{made}two")):
        body = {
            "settings": {"index.knn": True},
            "mappings": {"properties": MAPPING},
            "aliases": {f"{made}both": {}},
        }
        nodes.call(node_url, "PUT", f"/{index}", body)
        with OpenSearch(node_url) as client:
            actions = [
                {
                    "_index": index,
                    "_id": i,
                    "_source": {**s, "embedding": vectorise(str(s["body"]), 64).tolist()},
                }
                for i, s in SOURCES.items()
                if n == 0 or i == "1"
            ]
            helpers.bulk(client, actions, refresh=True)
    yield made
    nodes.remove(node_url, made)


@pytest.fixture
def open_search(node_url, prefix):
    opened = []

    def make(name="one", **settings):
        given = {
            "opensearch_url": node_url,
            "text_fields": "title^2, body",
            "vector_field": "embedding",
            "title_field": "title",
        }
        opened.append(connected(f"{prefix}{name}", **{**given, **settings}))
        return opened[-1]

    yield make
    for search in opened:
        search.close()


def ids(result):
    return [hit.document_id for hit in result.hits]


def test_every_leg_searches_and_hits_have_text_title_and_the_rest_as_metadata(open_search):
    result = open_search().search("power INV-2024-7831", strict=True)
    assert {leg.leg: leg.hits for leg in result.legs} == {"bm25": 3, "vector": 3, "identifier": 1}
    best = result.hits[0]
    assert (best.document_id, best.title) == ("1", "Power")
    assert best.text == "Power\nthe cold store lost power INV-2024-7831"
    assert best.metadata["page"] == {"number": 3, "section": "x"}
    assert "embedding" not in best.metadata
    leave = open_search().search("leave").hits[0]
    assert leave.text == "Leave\nask for leave\nINV-2024-7832 two weeks ahead"


def test_without_a_vector_field_it_is_searched_by_words(open_search):
    search = open_search(vector_field="")
    assert search.retriever.legs == ("bm25", "identifier")
    assert search.embedder is None
    assert set(ids(search.search("power"))) == {"1", "3"}


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"field": "page.number", "op": "range", "value": {"gt": 3}}, {"2"}),
        ({"field": "page.section", "op": "in", "value": ["x", "z"]}, {"1"}),
        ({"field": "draft", "op": "exists"}, {"1", "3"}),
        ({"field": "draft", "op": "eq", "value": "true"}, {"3"}),
        ({"field": "price", "op": "eq", "value": 1.5}, {"1"}),
        ({"field": "day", "op": "eq", "value": "1969-12-31"}, {"1"}),
        ({"field": "day", "op": "range", "value": {"lte": "1969-12-31"}}, {"1"}),
        ({"field": "day", "op": "range", "value": {"gt": "1969-12-31"}}, {"2"}),
        ({"field": "day", "op": "in", "value": ["2026-01-01", "1999-09-09"]}, {"2"}),
        ({"field": "day", "op": "in", "value": []}, set()),
        ({"field": "body.raw", "op": "eq", "value": "power is back"}, {"3"}),
        ({"not": {"field": "owner", "op": "eq", "value": "ann"}}, {"2"}),
    ],
    ids=str,
)
def test_their_fields_can_be_filtered_on_by_their_types(open_search, condition, expected):
    for legs in (["bm25"], ["vector"]):
        result = open_search().search("power leave", filter=condition, legs=legs)
        assert set(ids(result)) == expected


def test_other_fields_can_t_be_filtered_on(open_search):
    for field in ("place", "body", "nothing"):
        with pytest.raises(InvalidInput, match=r"expected one of body\.raw, day, doc, draft"):
            open_search().search("power", filter={"field": field, "op": "exists"})


def test_their_tenant_field_holds_every_leg(open_search):
    search = open_search(tenant_field="owner", tenant="bob")
    for leg in ("bm25", "vector"):
        assert set(ids(search.search("power leave", legs=[leg]))) <= {"2"}
    assert ids(search.search("power leave")) == ["2"]
    with pytest.raises(NotFound):
        search.explain("power", "1")
    with pytest.raises(InvalidInput, match="HYBRID_SEARCH_TENANT_FIELD"):
        open_search(tenant="bob").search("power")


def test_documents_are_named_by_their_own_field(open_search):
    search = open_search(document_field="doc")
    assert set(ids(search.search("power"))) == {"report", "handbook"}
    assert search.explain("power", "report").document_id == "report"
    assert search.explain("power", "2").document_id == "handbook"


def test_an_alias_over_several_keeps_equal_ids_apart(open_search, prefix):
    search = open_search("both")
    result = search.search("power")
    assert {h.id for h in result.hits} == {
        *(f"{prefix}one/{i}" for i in "123"),
        f"{prefix}two/1",
    }
    assert {hit.text for hit in result.hits if hit.id.endswith("/1")} == {
        "Power\nthe cold store lost power INV-2024-7831"
    }
    for hit in result.hits:
        told = search.explain("power", hit.id)
        assert (told.id, told.score) == (hit.id, hit.score)
    assert (search.status().documents, len(search.status().indices)) == (4, 2)


def test_equal_scores_are_ordered_by_id(open_search):
    result = open_search("both").search("cold store", legs=["bm25"])
    assert [hit.score for hit in result.hits] == [1 / 61, 1 / 62]
    assert [hit.id for hit in result.hits] == sorted(hit.id for hit in result.hits)


@pytest.mark.parametrize("count", [300, 1_000, 5_000])
def test_many_words_over_many_fields_stay_below_the_engine_s_limit(open_search, count):
    """Terms times fields: four fields fail at 300 words where nothing is cut."""
    search = open_search(text_fields="title, body, notes, tags", legs=("bm25",))
    result = search.search("power " + " ".join(f"word{n}" for n in range(count)), strict=True)
    assert "1" in ids(result)
    assert any("were not searched" in note for note in result.notes)


def test_it_is_never_written(open_search):
    search = open_search()
    for attempt in (
        lambda: search.add([{"id": "new", "text": "new"}]),
        lambda: search.delete("1"),
        search.store.drop,
    ):
        with pytest.raises(ReadOnlyStore, match="read-only"):
            attempt()
    assert search.status().documents == 3
    assert list(search.store.scan_heads()) == []


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"text_fields": "boddy"}, InvalidInput, r"unknown field of index .*did you mean body\?"),
        ({"vector_field": "title"}, InvalidInput, "'text': expected knn_vector"),
        ({"tenant_field": "ownr"}, InvalidInput, r"did you mean owner\?"),
        (
            {"dimensions": 128},
            FingerprintMismatch,
            "hashing, 64 dimensions.*hashing, 128 dimensions",
        ),
        ({"collection": "hybrid-search-test-none"}, NotFound, "hybrid-search-test-none"),
    ],
    ids=str,
)
def test_settings_that_do_not_fit_say_which_and_what_there_is(
    open_search, settings, error, message, node_url
):
    if "collection" in settings:
        search = connected(settings["collection"], opensearch_url=node_url, text_fields="body")
    else:
        search = open_search(**settings)
    with pytest.raises(error, match=message):
        search.search("power")


def test_without_the_settings_the_advice_is_to_set_them(open_search):
    with pytest.raises(Exception, match="HYBRID_SEARCH_TEXT_FIELDS"):
        open_search(text_fields=(), vector_field="", title_field="").search("power")
