"""What the node or the network does wrong: a leg is left out and named, a write is never lost."""

from __future__ import annotations

import secrets

import pytest

from hybrid_search import retries
from hybrid_search.errors import (
    AccessDenied,
    DeadlineExceeded,
    Degraded,
    HybridSearchError,
    NotFound,
    StoreFull,
    StoreUnavailable,
    Throttled,
)
from tests import nodes
from tests.contract.stores import connected
from tests.proxy import RecordingProxy

TEXTS = {"a": "the cold store lost power", "b": "ask for leave early", "c": "power is back"}
HTML = {"Content-Type": "text/html"}


@pytest.fixture
def proxy(node_url):
    with RecordingProxy(node_url) as made:
        yield made


@pytest.fixture(scope="module")
def name(node_url):
    """One collection for all tests: each has a tenant of its own in it."""
    prefix = f"hybrid-search-test-{secrets.token_hex(4)}-"
    yield f"{prefix}failures"
    nodes.remove(node_url, prefix)


@pytest.fixture
def open_search(proxy, name, request):
    """Open the collection through the proxy, as this test's tenant."""

    def make(**settings):
        tenant = request.node.name
        given = {"opensearch_url": proxy.url, "legs": ("bm25", "vector"), "tenant": tenant}
        return connected(name, **{**given, **settings})

    return make


@pytest.fixture
def search(proxy, open_search):
    """Three documents are in; the proxy has seen nothing yet, and no vector is remembered."""
    with open_search() as made:
        made.add([{"id": i, "text": t} for i, t in TEXTS.items()])
        proxy.clear()
        yield made


def pending(search):
    """How many writes nobody has finished."""
    search.store.refresh()
    return search.status().pending


def searching(call):
    return call.path.startswith("/_msearch")


def by_vector(call):
    return searching(call) and b'"knn"' in call.body


def writing(call):
    return call.path.startswith("/_bulk")


def of_chunks(call):
    return writing(call) and b'"kind":"chunk"' in call.body


def failed(kind, status):
    error = {"type": kind, "reason": f"made up: {kind}", "root_cause": [{"type": kind}]}
    return {"error": error, "status": status}


def answered(failed_shards=0, *, timed_out=False):
    shards = {"total": 3, "successful": 3 - failed_shards, "skipped": 0, "failed": failed_shards}
    return {
        "took": 1,
        "timed_out": timed_out,
        "_shards": shards,
        "hits": {"hits": []},
        "status": 200,
    }


def counted(proxy, when):
    return sum(map(when, proxy.calls))


# --- A leg that does not answer -------------------------------------------------------------


@pytest.mark.parametrize(
    ("response", "reason", "detail"),
    [
        (
            failed("circuit_breaking_exception", 503),
            "store_unavailable",
            "circuit_breaking_exception",
        ),
        (failed("es_rejected_execution_exception", 429), "throttled", "es_rejected"),
        (failed("null_pointer_exception", 500), "store_unavailable", "null_pointer"),
        (answered(failed_shards=1), "partial_shards", "1 of 3 shards"),
        (answered(timed_out=True), "timed_out", "stopped before"),
    ],
    ids=["breaker", "rejected", "defect", "partial", "timed out"],
)
def test_a_leg_that_fails_is_left_out_and_named(search, proxy, response, reason, detail):
    proxy.answer(by_vector, 200, {"took": 1, "responses": [response]})
    result = search.search("power")
    [degraded] = result.degraded
    assert (degraded.leg, degraded.reason) == ("vector", reason)
    assert detail in degraded.detail
    assert [hit.document_id for hit in result.hits] == ["c", "a"]
    assert {c.leg for hit in result.hits for c in hit.contributions} == {"bm25"}
    assert {leg.leg: bool(leg.error) for leg in result.legs} == {"bm25": False, "vector": True}
    with pytest.raises(Degraded) as refused:
        search.search("again power", strict=True)
    assert all(word in str(refused.value) for word in ("vector", reason))
    assert (refused.value.http_status, refused.value.exit_code) == (503, 7)


def test_when_every_leg_fails_the_first_failure_is_raised(search, proxy):
    proxy.answer(searching, 200, {"responses": [failed("circuit_breaking_exception", 503)]})
    with pytest.raises(StoreUnavailable, match="circuit_breaking_exception"):
        search.search("power")


@pytest.mark.parametrize("body", [{"responses": []}, {}, []], ids=str)
def test_an_answer_that_is_short_of_a_leg_is_none(search, proxy, body):
    proxy.answer(by_vector, 200, body)
    [degraded] = search.search("power").degraded
    assert (degraded.leg, degraded.reason) == ("vector", "store_unavailable")
    assert "1 searches were sent, 0 were answered" in degraded.detail


@pytest.mark.parametrize("headers", [HTML, {}], ids=["html", "said to be JSON"])
def test_a_page_of_some_proxy_is_no_answer(search, proxy, headers):
    page = "<html><body>Please sign in</body></html>"
    proxy.answer(by_vector, 200, page, headers=headers)
    [degraded] = search.search("power").degraded
    assert (degraded.leg, degraded.reason) == ("vector", "store_unavailable")
    proxy.answer(searching, 200, page, headers=headers)
    with pytest.raises(StoreUnavailable, match="not JSON"):
        search.search("power")


def test_a_dropped_connection_is_tried_once_more(search, proxy):
    with retries.testing():
        proxy.drop(by_vector, times=1)
        assert search.search("power").degraded == ()
        assert counted(proxy, by_vector) == 2
        proxy.clear()
        proxy.drop(by_vector)
        [degraded] = search.search("other power").degraded
    assert (degraded.leg, degraded.reason) == ("vector", "store_unavailable")
    assert counted(proxy, by_vector) == 2


def test_a_dropped_fetch_is_tried_once_more(search, proxy):
    with retries.testing():
        proxy.drop(lambda call: call.path == "/_mget", times=1)
        assert [hit.document_id for hit in search.search("power").hits][:2] == ["c", "a"]


def test_a_node_that_hangs_costs_the_deadline_and_not_more(search, proxy):
    proxy.delay(by_vector, 60)
    result = search.search("power", deadline=1.0)
    assert [(d.leg, d.reason) for d in result.degraded] == [("vector", "deadline_exceeded")]
    assert [hit.document_id for hit in result.hits] == ["c", "a"]
    assert result.took_ms < 2_000
    assert counted(proxy, by_vector) == 1


def test_a_read_that_times_out_is_not_tried_again(proxy, open_search, search):
    with open_search(opensearch_timeout=0.2) as impatient:
        proxy.delay(lambda call: call.path == "/_mget", 60)
        with pytest.raises(DeadlineExceeded, match=r"0\.2 s"):
            impatient.get("a")
        assert counted(proxy, lambda call: call.path == "/_mget") == 1


def test_nobody_listens():
    with connected("any", opensearch_url="http://127.0.0.1:9", legs=("bm25",)) as search:
        with retries.testing(), pytest.raises(StoreUnavailable) as caught:
            search.search("power")
        assert "HYBRID_SEARCH_OPENSEARCH_URL" in str(caught.value)
        assert "\n" not in str(caught.value)


def reading(call):
    return call.path == "/_mget"


def unanswered(kind):
    return {"docs": [{"_index": "x", "_id": "y", "error": {"type": kind, "reason": "made up"}}]}


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("no_shard_available_action_exception", StoreUnavailable),
        ("security_exception", AccessDenied),
    ],
)
def test_a_record_that_no_shard_gave_is_not_absent(search, proxy, kind, error):
    assert len(search.search("power").hits) == 3
    proxy.answer(reading, 200, unanswered(kind))
    for attempt in (lambda: search.get("a"), lambda: search.search("power", top_k=1)):
        with retries.testing(), pytest.raises(error, match="made up"):
            attempt()


# --- A write that meets trouble -------------------------------------------------------------


@pytest.mark.parametrize(
    "stage", [writing, of_chunks, lambda call: writing(call) and b'"update"' in call.body]
)
@pytest.mark.parametrize("lost", ["request", "answer"])
def test_whatever_is_lost_on_the_way_a_write_is_whole_and_counted_once(search, proxy, stage, lost):
    proxy.drop(stage, answer_only=lost == "answer", times=1)
    with retries.testing():
        report = search.add([{"id": "new", "text": "brand new"}, {"id": "b", "text": "leave now"}])
    assert (report.added, report.replaced, report.dead) == (1, 1, [])
    assert search.get("new").head.version == 1
    assert search.get("b").head.version == 2
    assert [c.text for c in search.get("b").chunks] == ["leave now"]
    assert pending(search) == 0
    assert search.search("brand new").hits[0].document_id == "new"


@pytest.mark.parametrize("stage", range(3), ids=["heads", "chunks", "completion"])
@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
def test_a_write_that_broke_off_is_finished_by_the_next(search, proxy, stage, done):
    """The node goes away at each stage in turn, with the request done or not."""
    stages = (b'"create"', b'"kind":"chunk"', b'"update"')
    document = {"id": "new", "text": "brand new"}
    proxy.drop(lambda call: writing(call) and stages[stage] in call.body, answer_only=done)
    with retries.testing(attempts=1), pytest.raises(StoreUnavailable):
        search.add([document])
    proxy.clear()
    report = search.add([document])
    finished = done and stage == 2
    assert (report.added, report.unchanged) == ((0, 1) if finished else (1, 0))
    stored = search.get("new")
    assert (stored.head.version, stored.head.complete) == (1, True)
    assert [c.text for c in stored.chunks] == ["brand new"]
    assert pending(search) == 0
    tenant = search.settings.tenant
    assert [h.document.id for h in search.store.scan_heads(tenant)] == [*TEXTS, "new"]


def test_shards_that_have_not_started_are_waited_for(search, proxy):
    """Of an index that another writer has made just now."""
    proxy.answer(reading, 200, unanswered("no_shard_available_action_exception"), times=10)
    with retries.testing():
        assert search.add([{"id": "new", "text": "brand new"}]).added == 1
    assert counted(proxy, reading) == 10 + 1
    assert search.get("new").head.version == 1


def test_a_bulk_answer_that_lacks_items_is_no_success(search, proxy):
    proxy.answer(writing, 200, {"took": 1, "errors": False, "items": []})
    with retries.testing(attempts=2), pytest.raises(StoreUnavailable, match="answered with 0"):
        search.add([{"id": "new", "text": "brand new"}])
    assert counted(proxy, writing) == 2
    proxy.clear()
    with pytest.raises(NotFound):
        search.get("new")


def test_of_a_bulk_only_what_was_rejected_is_sent_again(search, proxy):
    rejected = {"type": "es_rejected_execution_exception", "reason": "queue is full"}
    items = [
        {"index": {"status": 201, "_seq_no": 1, "_primary_term": 1}},
        {"index": {"status": 429, "error": rejected}},
    ]
    proxy.answer(of_chunks, 200, {"took": 1, "errors": True, "items": items}, times=1)
    with retries.testing():
        report = search.add([{"id": "x", "text": "one"}, {"id": "y", "text": "two"}])
    assert report.added == 2
    first, again = (call.lines() for call in proxy.calls if of_chunks(call))
    assert [line["text"] for line in first[1::2]] == ["one", "two"]
    assert again == first[2:]


@pytest.mark.parametrize(
    ("kind", "status", "error"),
    [
        ("es_rejected_execution_exception", 429, Throttled),
        ("unavailable_shards_exception", 503, StoreUnavailable),
    ],
)
def test_what_is_rejected_for_ever_is_given_up(search, proxy, kind, status, error):
    items = [{"index": {"status": status, "error": {"type": kind, "reason": "busy"}}}]
    proxy.answer(of_chunks, 200, {"took": 1, "errors": True, "items": items})
    with retries.testing(attempts=4), pytest.raises(error, match=kind):
        search.add([{"id": "x", "text": "one"}])
    assert counted(proxy, of_chunks) == 4
    proxy.clear()
    assert search.add([{"id": "x", "text": "one"}]).added == 1


def test_a_full_disk_stops_at_once_though_it_is_a_429(search, proxy, node_url, name):
    block = {"index.blocks.read_only_allow_delete": True}
    nodes.call(node_url, "PUT", f"/{name}.1/_settings", block)
    try:
        with pytest.raises(StoreFull) as caught:
            search.add([{"id": "x", "text": "one"}])
        assert len(search.search("power").hits) == 3
    finally:
        nodes.call(node_url, "PUT", f"/{name}.1/_settings", dict.fromkeys(block))
    assert (caught.value.http_status, caught.value.exit_code) == (507, 7)
    assert "read_only_allow_delete" in str(caught.value)
    assert counted(proxy, writing) == 1
    assert search.add([{"id": "x", "text": "one"}]).added == 1


def test_what_is_too_large_for_the_node_is_dead_and_the_others_land(search, proxy):
    """The node's limit is on the request: it is halved until the one document is found."""
    proxy.answer(lambda call: writing(call) and len(call.body) > 50_000, 413, "too large")
    documents = [{"id": f"n{n}", "text": f"small {n}"} for n in range(5)]
    documents.insert(2, {"id": "large", "text": "word " * 12_000})
    report = search.add(documents)
    assert [(d.document_id, d.status) for d in report.dead] == [("large", "dead")]
    assert "http.max_content_length" in report.dead[0].reason
    assert report.added == 5
    with pytest.raises(NotFound):
        search.get("large")


def test_a_document_the_node_refuses_half_way_is_put_back(search, proxy):
    """A chunk that no validation of ours refused: what was there before stays whole."""
    error = {"type": "mapper_parsing_exception", "reason": "failed to parse field [made up]"}
    items = [{"index": {"status": 400, "error": error}}]
    proxy.answer(of_chunks, 200, {"took": 1, "errors": True, "items": items}, times=1)
    report = search.add([{"id": "a", "text": "a text the node refuses"}])
    assert [d.document_id for d in report.dead] == ["a"]
    assert "made up" in report.dead[0].reason
    assert search.get("a").document.text == TEXTS["a"]
    assert [c.text for c in search.get("a").chunks] == [TEXTS["a"]]
    assert pending(search) == 0
    assert search.add([{"id": "a", "text": "a text the node refuses"}]).replaced == 1


def test_a_new_document_the_node_refuses_half_way_is_gone(search, proxy):
    error = {"type": "strict_dynamic_mapping_exception", "reason": "made up"}
    items = [{"index": {"status": 400, "error": error}}]
    proxy.answer(of_chunks, 200, {"took": 1, "errors": True, "items": items}, times=1)
    assert [d.document_id for d in search.add([{"id": "x", "text": "one"}]).dead] == ["x"]
    with pytest.raises(NotFound):
        search.get("x")
    assert pending(search) == 0


def test_a_failure_of_any_kind_is_one_of_ours(search, proxy):
    """But for 404: what is not there is an answer."""
    for status in (400, 405, 409, 418, 500, 502, 503, 504):
        proxy.clear()
        proxy.answer(lambda call: True, status, "no", headers={"Content-Type": "text/plain"})
        for attempt in (lambda: search.search("power"), lambda: search.get("a"), search.status):
            with retries.testing(attempts=1), pytest.raises(HybridSearchError):
                attempt()
