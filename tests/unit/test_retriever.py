"""One search over legs of stores and over objects of others."""

import math
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_search import BM25Index, IdentifierIndex, Retriever, SearchRequest, VectorIndex, connect
from hybrid_search.backends import embedded
from hybrid_search.domain import Condition, Embedding, IndexSpec
from hybrid_search.embedders import hashing
from hybrid_search.errors import (
    DeadlineExceeded,
    Degraded,
    FingerprintMismatch,
    InvalidInput,
    Throttled,
    Unavailable,
)

PATIENCE = 10
DOCUMENTS = [{"id": f"d{n}", "content": f"parcel number X-{n} lost at sea"} for n in range(8)]


class Listed:
    """An object of others: gives its documents in their order, for every query."""

    def __init__(self, *documents, name=None):
        self.documents = list(documents)
        self.asked = []
        if name is not None:
            self.name = name

    def add_document(self, document):
        self.documents.append(document)

    def search(self, query, k):
        self.asked.append((query, k))
        return [(document, 1.0) for document in self.documents[:k]]


class Failing(Listed):
    """An object of others that raises."""

    def __init__(self, error, **options):
        super().__init__(**options)
        self.error = error

    def search(self, query, k):
        raise self.error


class BadEmbedder:
    """The hashing embedder, whose queries raise."""

    def __init__(self, error):
        inner = hashing.create(16)
        self.space, self.embed_documents = inner.space, inner.embed_documents
        self.error = error

    def embed_query(self, text, deadline=None):
        raise self.error


def filled(*indexes, **options):
    """A retriever with the documents in it, over one store."""
    retriever = Retriever(*indexes, **options)
    for document in DOCUMENTS:
        retriever.add_document(document)
    return retriever


@pytest.fixture(scope="module")
def retriever():
    with connect(memory=True, embedder="hashing", cache=False, fields={"n": "integer"}) as search:
        search.add({"id": d["id"], "text": d["content"], "n": n} for n, d in enumerate(DOCUMENTS))
        yield search.retriever


def ids(result):
    return [hit.document_id for hit in result.hits]


def refused(retriever, query="parcel", **options):
    with pytest.raises(InvalidInput) as raised:
        retriever.retrieve(SearchRequest(query, **options))
    return str(raised.value)


# --- What is asked for ----------------------------------------------------------------------


@pytest.mark.parametrize("query", ["", " \n\t", "\x00", "\ufeff", None, 5])
def test_a_query_without_words_is_named(retriever, query):
    assert refused(retriever, query) == f"query is {query!r}: expected some words"


@pytest.mark.parametrize("name", ["top_k", "candidates"])
@pytest.mark.parametrize("value", [0, -1, 10_001, 1.0, "5", None, True])
def test_a_bad_number_is_named(retriever, name, value):
    said = f"{name} is {value!r}: expected a whole number, 1 to 10,000"
    assert refused(retriever, **{name: value}) == said


@pytest.mark.parametrize(
    ("offset", "top_k"), [(-1, 1), (9_991, 10), (10_000, 1), ("0", 1), (0.0, 1)]
)
def test_a_bad_offset_is_named(retriever, offset, top_k):
    assert refused(retriever, offset=offset, top_k=top_k) == (
        f"offset is {offset!r}: expected 0 or more, with offset + top_k at most 10,000"
    )


@pytest.mark.parametrize("value", [0, -1.0, math.inf, math.nan, "5"])
def test_a_bad_deadline_is_named(retriever, value):
    said = f"deadline is {value!r}: expected seconds above 0"
    assert refused(retriever, deadline=value) == said


@pytest.mark.parametrize("value", [-1, math.inf, math.nan, "60"])
def test_a_bad_constant_or_weight_is_named(retriever, value):
    said = refused(retriever, rank_constant=value)
    assert said == f"rank_constant is {value!r}: expected a number of 0 or more"
    said = refused(retriever, weights={"bm25": value})
    assert said == f"weight of bm25 is {value!r}: expected a number of 0 or more"


@pytest.mark.parametrize("option", [{"legs": ("bm52",)}, {"weights": {"bm52": 1}}])
def test_an_unknown_leg_is_named_with_the_choices(retriever, option):
    assert refused(retriever, **option) == (
        "unknown leg 'bm52': expected one of bm25, identifier, vector (did you mean bm25?)"
    )


def test_an_unknown_filter_field_is_named_with_the_choices(retriever):
    said = refused(retriever, filter=Condition("m", "eq", 1))
    assert said == "unknown filter field 'm': expected one of n"


def test_everything_is_checked_even_where_the_page_lies_outside_the_window(retriever):
    assert refused(retriever, " ", offset=50, candidates=10).startswith("query is ' '")
    assert retriever.retrieve(SearchRequest("parcel", offset=50, candidates=10)).hits == ()


def test_no_index_is_an_error():
    with pytest.raises(ValueError, match="got no index: expected at least one"):
        Retriever()


# --- The page -------------------------------------------------------------------------------


def test_score_is_the_sum_of_what_each_leg_gave(retriever):
    result = retriever.retrieve(SearchRequest("lost parcel X-3", rank_constant=7))
    ranks = {
        (ranking.leg, hit.chunk_id): rank
        for ranking in result.rankings
        for rank, hit in enumerate(ranking.hits, 1)
    }
    assert ids(result)[0] == "d3"
    for hit in result.hits:
        points = [1 / (7 + rank) for (_, chunk), rank in ranks.items() if chunk == hit.id]
        assert hit.score == hit.fused_score == math.fsum(points)
        assert [c.points for c in hit.contributions] == points


@settings(deadline=None)
@given(st.integers(1, 10), st.integers(0, 12))
def test_pages_are_slices_of_one_order(retriever, top_k, offset):
    everything = retriever.retrieve(SearchRequest("lost parcel", top_k=50))
    page = retriever.retrieve(SearchRequest("lost parcel", top_k=top_k, offset=offset))
    assert page.hits == everything.hits[offset : offset + top_k]
    assert page.total == everything.total == len(DOCUMENTS)


def test_the_end_of_the_window_is_noted(retriever):
    result = retriever.retrieve(SearchRequest("lost parcel", top_k=4, offset=2, candidates=5))
    assert len(result.hits) == 3
    assert result.total == 5
    assert result.notes == ("window end: pages reach 5 hits deep; raise candidates to go on",)
    last = retriever.retrieve(SearchRequest("lost parcel", top_k=4, offset=6))
    assert last.notes == (f"end of the results: {len(DOCUMENTS)} chunks were found in all",)


def test_what_was_changed_in_the_query_is_noted(retriever):
    result = retriever.retrieve(SearchRequest("parcel\x00"))
    assert result.notes == ("1 control character replaced by a space",)
    long = retriever.retrieve(SearchRequest("parcel " * 20_000, legs=("identifier",)))
    assert "the query was cut to its first 100,000 characters" in long.notes


def test_the_legs_asked_for_are_the_only_ones(retriever):
    result = retriever.retrieve(SearchRequest("parcel X-3", legs=("identifier", "bm25")))
    assert [report.leg for report in result.legs] == ["bm25", "identifier"]


def test_a_leg_with_nothing_to_say_is_reported_with_no_hits(retriever):
    result = retriever.retrieve(SearchRequest("parcel"))
    assert {r.leg: r.hits for r in result.legs}["identifier"] == 0
    assert result.degraded == ()


def test_every_search_has_an_id_its_own_or_the_callers(retriever):
    made = {retriever.retrieve(SearchRequest("parcel")).request_id for _ in range(3)}
    assert len(made) == 3
    assert retriever.retrieve(SearchRequest("parcel", request_id="r1")).request_id == "r1"


def test_an_empty_collection_is_noted():
    result = Retriever(BM25Index()).retrieve(SearchRequest("parcel"))
    assert (result.hits, result.notes) == ((), ("nothing has been added to this collection yet",))


def test_each_search_is_logged():
    class Log:
        def __init__(self):
            self.seen = []

        def record(self, request, result):
            self.seen.append((request.query, result.total))

    log = Log()
    filled(BM25Index(), query_log=log).retrieve(SearchRequest("X-3"))
    assert log.seen == [("X-3", len(DOCUMENTS))]


# --- Scope ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shared_store():
    """One store with a document of the same id for each of three tenants."""
    index = BM25Index()
    store = index.store
    for tenant in ("red", "green", "blue"):
        BM25Index(store, tenant).add_document({"id": "a", "content": f"parcel {tenant}"})
    yield store
    store.close()


@pytest.mark.parametrize(
    ("own", "asked", "seen"),
    [
        (None, None, {"red", "green", "blue"}),
        (None, ("red",), {"red"}),
        (("red", "blue"), None, {"red", "blue"}),
        (("red", "blue"), ("red", "green"), {"red"}),
        (("red",), ("green",), set()),
        (("red",), (), set()),
        ((), None, set()),
        ((), ("red",), set()),
    ],
)
def test_a_request_can_narrow_the_scope_and_never_widen_it(shared_store, own, asked, seen):
    retriever = Retriever(BM25Index(shared_store), tenants=own)
    result = retriever.retrieve(SearchRequest("parcel", tenants=asked))
    assert {hit.text.split()[1] for hit in result.hits} == seen
    if not seen:
        assert result.notes == ("the scope is empty: nothing was searched",)


def test_an_empty_scope_asks_nobody():
    other = Listed("a parcel")
    Retriever(other, tenants=()).retrieve(SearchRequest("parcel"))
    assert other.asked == []


@pytest.mark.parametrize("option", [{"filter": Condition("n", "eq", 1)}, {"tenants": ("red",)}])
def test_an_object_that_takes_no_filter_is_refused_by_name(option):
    retriever = Retriever(Listed("parcel", name="theirs"), BM25Index())
    assert refused(retriever, **option).startswith("index 'theirs' takes no filter: ")
    retriever.retrieve(SearchRequest("parcel", legs=("bm25",), tenants=("red",)))


# --- Legs that do not answer ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "reason", "detail"),
    [
        (RuntimeError("broken"), "unavailable", "theirs raised RuntimeError: broken"),
        (KeyError("k"), "unavailable", "theirs raised KeyError: 'k'"),
        (Throttled("slow down"), "throttled", "slow down"),
    ],
)
def test_an_object_that_raises_is_degraded_and_others_answer(error, reason, detail):
    retriever = filled(BM25Index(), Failing(error, name="theirs"))
    result = retriever.retrieve(SearchRequest("X-3"))
    assert ids(result)[0] == "d3"
    assert [(d.leg, d.reason, d.detail) for d in result.degraded] == [("theirs", reason, detail)]
    assert {r.leg: r.error for r in result.legs}["theirs"] == f"{reason}: {detail}"
    with pytest.raises(Degraded, match=f"not every leg answered in full: theirs: {reason}"):
        retriever.retrieve(SearchRequest("X-3", strict=True))


@pytest.mark.parametrize("answer", [["a", "b"], [("a", None)], [("a", "high")], None, 5])
def test_an_answer_that_cannot_be_read_is_degraded(answer):
    class Odd(Listed):
        def search(self, query, k):
            return answer

    result = filled(BM25Index(), Odd()).retrieve(SearchRequest("parcel"))
    assert [(d.leg, d.reason) for d in result.degraded] == [("Odd", "unavailable")]
    assert len(result.hits) == len(DOCUMENTS)


def test_an_embedder_that_fails_degrades_its_leg_only():
    retriever = filled(BM25Index(), VectorIndex(BadEmbedder(Throttled("slow down"))))
    result = retriever.retrieve(SearchRequest("X-3"))
    assert [(d.leg, d.reason) for d in result.degraded] == [("vector", "throttled")]
    assert {c.leg for hit in result.hits for c in hit.contributions} == {"bm25"}


def test_when_all_fail_the_first_failure_is_raised():
    first, second = Throttled("first"), Unavailable("second")
    with pytest.raises(Throttled, match="first"):
        Retriever(Failing(first), Failing(second)).retrieve(SearchRequest("x"))


@pytest.mark.parametrize("error", [InvalidInput("bad"), FingerprintMismatch("other model")])
def test_what_is_no_state_of_the_world_is_raised_though_others_answer(error):
    retriever = filled(BM25Index(), Failing(error))
    with pytest.raises(type(error), match=str(error)):
        retriever.retrieve(SearchRequest("X-3"))


def test_a_leg_that_hangs_is_degraded_at_the_deadline_and_never_delays_the_words():
    release = threading.Event()

    class Hanging(Listed):
        def search(self, query, k):
            release.wait(PATIENCE)
            return []

    try:
        retriever = filled(BM25Index(), Hanging(), deadline=PATIENCE)
        result = retriever.retrieve(SearchRequest("X-3", deadline=0.2))
        assert not release.is_set()
        assert [(d.leg, d.reason) for d in result.degraded] == [("Hanging", "deadline_exceeded")]
        assert ids(result)[0] == "d3"
        with pytest.raises(DeadlineExceeded):
            retriever.retrieve(SearchRequest("X-3", deadline=0.05, legs=("Hanging",)))
    finally:
        release.set()


def test_a_hanging_embedder_never_delays_the_words():
    release, entered = threading.Event(), threading.Event()

    class Hanging(BadEmbedder):
        def embed_query(self, text, deadline=None):
            entered.set()
            release.wait(PATIENCE)
            return Embedding(hashing.create(16).embed_query(text).vector)

    try:
        retriever = filled(BM25Index(), VectorIndex(Hanging(None)))
        result = retriever.retrieve(SearchRequest("X-3", deadline=0.2))
        assert entered.is_set()
        assert [(d.leg, d.reason) for d in result.degraded] == [("vector", "deadline_exceeded")]
        assert len(result.hits) == len(DOCUMENTS)
    finally:
        release.set()


# --- Objects of others ----------------------------------------------------------------------


def test_the_formula_over_objects_of_others():
    a, b, c = ({"id": name, "content": name} for name in "abc")
    retriever = Retriever(Listed(a, b), Listed(b, c))
    found = retriever.search("x", k=3, k_rrf=1)
    assert [(d["id"], s) for d, s in found] == [
        ("b", math.fsum([1 / (1 + 2), 1 / (1 + 1)])),
        ("a", 1 / (1 + 1)),
        ("c", 1 / (1 + 2)),
    ]
    assert found[0][0] is b


def test_indexes_of_one_name_are_numbered():
    retriever = Retriever(Listed(), Listed(), Listed(name="mine"), Listed(name="mine"), BM25Index())
    assert retriever.legs == ("Listed", "Listed_2", "mine", "mine_2", "bm25")


def test_a_document_that_comes_twice_counts_at_its_first_rank():
    a, b = {"id": "a", "content": "a"}, {"id": "b", "content": "b"}
    found = Retriever(Listed(a, a, b)).search("x", k=5, k_rrf=0)
    assert [(d["id"], s) for d, s in found] == [("a", 1 / 1), ("b", 1 / 2)]


def test_scores_of_others_need_mean_nothing():
    class Odd(Listed):
        def search(self, query, k):
            return iter([("a", math.nan), ("b", -math.inf), ("c", 10**9)])

    found = Retriever(Odd()).search("x", k=5)
    assert found == [("a", 1 / 61), ("b", 1 / 62), ("c", 1 / 63)]


def test_candidates_are_at_least_k():
    other = Listed()
    retriever = Retriever(other)
    retriever.search("x", k=3)
    retriever.search("x", k=50)
    retriever.search("x", k=3, candidates=7)
    assert other.asked == [("x", 20), ("x", 50), ("x", 7)]


def test_more_than_was_asked_for_is_cut():
    class Generous(Listed):
        def search(self, query, k):
            return [(f"document {n}", 1.0) for n in range(k + 5)]

    result = Retriever(Generous()).retrieve(SearchRequest("x", candidates=4))
    assert result.total == 4


def test_a_hit_of_an_object_of_others_has_its_text_and_key():
    [hit] = Retriever(Listed({"id": 7, "content": "words"})).retrieve(SearchRequest("x")).hits
    assert (hit.document_id, hit.text, hit.title) == ("7", "words", "")


def test_others_and_stores_agree_on_the_same_document():
    other, document = Listed(), {"id": "a", "content": "parcel X-1"}
    retriever = Retriever(BM25Index(), IdentifierIndex(), other)
    retriever.add_document(document)
    assert other.documents == [document]
    [(found, score)] = retriever.search("X-1")
    assert found is document
    assert score == pytest.approx(3 / 61)


def test_a_request_is_not_changed(retriever):
    request = SearchRequest("parcel\x00", weights={"bm25": 2.0})
    before = replace(request)
    retriever.retrieve(request)
    assert request == before


# --- What changes meanwhile -----------------------------------------------------------------


def test_a_chunk_that_is_gone_when_the_page_is_read_is_left_out():
    store = embedded.create(None, "docs", IndexSpec(space=None))

    class Deleting:
        """The store, of which a document goes between the ranking and the reading."""

        def __getattr__(self, name):
            return getattr(store, name)

        def fetch(self, snapshot, hits, deadline=None):
            store.delete("", ["d1"])
            return store.fetch(snapshot, hits, deadline)

    filled(BM25Index(store))
    result = Retriever(BM25Index(Deleting())).retrieve(SearchRequest("parcel"))
    assert sorted(ids(result)) == [f"d{n}" for n in range(8) if n != 1]
    assert result.total == 8


def test_threads_get_what_one_thread_gets(retriever):
    words = [f"parcel number X-{n}" for n in range(8)] * 2
    expected = [ids(retriever.retrieve(SearchRequest(text))) for text in words]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda text: ids(retriever.retrieve(SearchRequest(text))), words))
    assert found == expected


def test_a_weight_multiplies_the_points_of_its_leg():
    one, two = Listed("a", "b", name="one"), Listed("b", "a", name="two")
    result = Retriever(one, two).retrieve(SearchRequest("any", weights={"two": 3.0}))
    assert [(hit.text, hit.score) for hit in result.hits] == [
        ("b", 1 / 62 + 3 / 61),
        ("a", 1 / 61 + 3 / 62),
    ]
