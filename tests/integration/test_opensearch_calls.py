"""Which calls are made, and nothing but these: what a role has to allow, and what it costs."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import secrets

import pytest

from hybrid_search.errors import AccessDenied, StoreUnavailable
from tests import nodes
from tests.contract.stores import connected
from tests.proxy import RecordingProxy

DOCUMENTS = [
    {
        "id": "a",
        "title": "Report",
        "text": "# Power\nThe cold store lost power, see INV-2024-7831.",
    },
    {"id": "b", "text": "Ask for leave two weeks ahead.", "metadata": {"team": "people"}},
]
QUERY = "who lost power in INV-2024-7831?"
FIELDS = {"team": "keyword"}
FILTER = {"field": "team", "op": "exists"}


@pytest.fixture
def proxy(node_url):
    with RecordingProxy(node_url) as made:
        yield made


@pytest.fixture(scope="module")
def name(node_url):
    """A collection of two documents."""
    prefix = f"hybrid-search-test-{secrets.token_hex(4)}-"
    with connected(f"{prefix}calls", opensearch_url=node_url, fields=FIELDS) as search:
        search.add(DOCUMENTS)
    yield f"{prefix}calls"
    nodes.remove(node_url, prefix)


@pytest.fixture
def search(proxy, name):
    """A connection to it with nothing remembered."""
    with connected(name, opensearch_url=proxy.url, fields=FIELDS) as made:
        proxy.clear()
        yield made


def made(proxy):
    """Method and path of every call, without its parameters."""
    return [(call.method, call.path.partition("?")[0]) for call in proxy.calls]


def asked(proxy):
    """Every search as it was sent."""
    calls = [call for call in proxy.calls if call.path.startswith("/_msearch")]
    return [body for call in calls for body in call.lines()[1::2]]


def lowered(call):
    """A call's headers, whose names have no case."""
    return {name.lower(): value for name, value in call.headers.items()}


# --- Searching ------------------------------------------------------------------------------


def test_a_search_reads_the_mapping_asks_once_and_fetches_the_page(search, proxy, name):
    assert search.search(QUERY).hits[0].document_id == "a"
    calls = made(proxy)
    assert calls[0] == ("GET", f"/{name}/_mapping")
    assert set(calls[1:-1]) == {("POST", "/_msearch")}
    assert calls[-1] == ("POST", "/_mget")
    assert len(calls) == 4, "the words do not wait for the vector, so they are asked apart"
    proxy.clear()
    search.search(QUERY)
    assert made(proxy) == [("POST", "/_msearch"), ("POST", "/_mget")]


@pytest.mark.parametrize("tree", [None, FILTER])
def test_no_call_has_a_parameter_or_a_pipeline(search, proxy, tree):
    search.search(QUERY, filter=tree)
    for call in proxy.calls:
        assert "?" not in call.path
        assert b"pipeline" not in call.body


def test_legs_ask_for_ids_and_scores_only(search, proxy):
    search.search(QUERY, filter=FILTER, candidates=7)
    bodies = asked(proxy)
    assert len(bodies) == 4, "words, vector, and two ways to ask for one code"
    for body in bodies:
        assert body["stored_fields"] == "_none_"
        assert body["sort"] == [{"_score": "desc"}, {"chunk_id": "asc"}]
        assert body["track_total_hits"] is False
        assert not {"_source", "docvalue_fields", "aggs", "explain"} & set(body)
        assert "fields.team" in json.dumps(body["query"])
        assert 0 < int(body["timeout"].removesuffix("ms")) <= 10_000
    [near] = [body for body in bodies if "knn" in body["query"]]
    assert (near["size"], near["query"]["knn"]["vector"]["k"]) == (7, 7)


def test_the_index_asked_is_the_physical_one_and_the_copy_follows_from_the_words(
    search, proxy, name
):
    for _ in range(2):
        search.search(QUERY, legs=["bm25"])
    search.search("other words", legs=["bm25"])
    heads = [call.lines()[0] for call in proxy.calls if call.path.startswith("/_msearch")]
    assert {head["index"] for head in heads} == {f"{name}.1"}
    first, again, other = (head["preference"] for head in heads)
    assert first == again != other


def test_a_vector_is_never_fetched(search, proxy, node_url, name):
    search.search(QUERY)
    search.get("a")
    search.compare(QUERY)
    search.explain(QUERY, "a")
    fetched = [call for call in proxy.calls if call.path == "/_mget"]
    assert len(fetched) >= 4
    for call in fetched:
        for answer in nodes.call(node_url, "POST", "/_mget", call.json())["docs"]:
            assert "vector" not in answer["_source"]
    stored = nodes.call(
        node_url, "POST", f"/{name}/_search", {"query": {"term": {"kind": "chunk"}}}
    )
    assert all("vector" in hit["_source"] for hit in stored["hits"]["hits"])


def test_whatever_reads_asks_only_about_the_collection(search, proxy, name):
    search.get("a")
    search.explain(QUERY, "b")
    search.compare(QUERY, rank_constants=[1, 60])
    list(search.store.scan_heads())
    search.status()
    of_ours = "_mapping|_alias|_search|_stats/store|_search/point_in_time"
    own = rf"/{re.escape(name)}(\.[0-9*]+)?/({of_ours})"
    general = "/_msearch|/_mget|/_search|/_search/point_in_time|/"
    for method, path in made(proxy):
        assert re.fullmatch(f"{own}|{general}", path), (method, path)
        assert method in ("GET", "POST") or (method, path) == ("DELETE", "/_search/point_in_time")


# --- Writing --------------------------------------------------------------------------------


def test_the_first_add_makes_the_index_and_uses_the_write_alias(proxy, prefix):
    name = f"{prefix}first"
    with connected(name, opensearch_url=proxy.url) as search:
        assert search.add(DOCUMENTS).added == 2
    calls = made(proxy)
    assert calls.count(("PUT", f"/{name}.1")) in (1, 2), "2.x is asked again without one setting"
    assert set(calls) == {
        ("GET", f"/_alias/{name}.w*"),
        ("PUT", f"/{name}.1"),
        ("GET", f"/{name}.1/_mapping"),
        ("POST", "/_mget"),
        ("POST", "/_bulk"),
        ("GET", f"/{name}/_mapping"),
        ("POST", f"/{name}/_refresh"),
    }
    bulks = [call for call in proxy.calls if call.path.startswith("/_bulk")]
    assert {call.path for call in bulks} == {"/_bulk?require_alias=true"}
    actions = [line for call in bulks for line in call.lines()[::2]]
    assert [next(iter(action)) for action in actions] == ["create"] * 2 + ["index"] * 2 + [
        "update"
    ] * 2
    assert {next(iter(action.values()))["_index"] for action in actions} == {f"{name}.w1-0"}


def test_adding_again_what_is_there_writes_nothing(search, proxy, name):
    assert search.add(DOCUMENTS).unchanged == 2
    assert made(proxy) == [
        ("GET", f"/_alias/{name}.w*"),
        ("GET", f"/{name}.1/_mapping"),
        ("POST", "/_mget"),
    ]


def test_a_chunk_has_twice_the_version_and_deleting_deletes_no_record(search, proxy):
    for text in ("One text.", "Another text."):
        search.add([{"id": "c", "text": text}])
    search.delete("c")
    bulks = [call for call in proxy.calls if call.path.startswith("/_bulk")]
    chunks = [
        (next(iter(action.values()))["version"], source["kind"])
        for call in bulks
        for action, source in zip(call.lines()[::2], call.lines()[1::2], strict=True)
        if source.get("kind") in ("chunk", "blank")
    ]
    assert chunks == [(2 * 1, "chunk"), (2 * 2, "chunk"), (2 * 3, "blank")]
    assert not [line for call in bulks for line in call.lines() if "delete" in line]
    assert not [call for call in proxy.calls if call.method == "DELETE"]


# --- Signing in -----------------------------------------------------------------------------


@pytest.mark.parametrize("inside", [False, True], ids=["settings", "in the address"])
def test_basic_auth_is_sent_with_every_call_and_never_shown(proxy, name, inside):
    where = {
        "opensearch_url": proxy.url,
        "opensearch_user": "ann",
        "opensearch_password": "p:assé",
    }
    if inside:
        login = "ann:p%3Aass%C3%A9@"
        where = {"opensearch_url": proxy.url.replace("://", f"://{login}")}
    with connected(name, **where, fields=FIELDS) as search:
        search.add([*DOCUMENTS, {"id": "d", "text": "d"}])
        search.search(QUERY)
        assert "ass" not in search.description + search.status().location
    expected = "Basic " + base64.b64encode("ann:p:assé".encode()).decode()
    assert {lowered(call)["authorization"] for call in proxy.calls} == {expected}


def test_a_password_in_the_address_is_in_no_message(proxy, name):
    proxy.drop(lambda call: True)
    address = proxy.url.replace("://", "://ann:secret@")
    with (
        connected(name, opensearch_url=address) as search,
        pytest.raises(StoreUnavailable) as caught,
    ):
        search.search(QUERY)
    assert "secret" not in str(caught.value)
    assert proxy.url in str(caught.value)


def test_a_refused_sign_in_is_one_line_of_advice_and_not_tried_again(search, proxy):
    for attempt in (lambda: search.search(QUERY), lambda: search.add([{"id": "c", "text": "c"}])):
        proxy.clear()
        proxy.answer(lambda call: True, 401, "Unauthorized", headers={"Content-Type": "text/plain"})
        with pytest.raises(AccessDenied) as caught:
            attempt()
        assert "HYBRID_SEARCH_OPENSEARCH_USER" in str(caught.value)
        assert "\n" not in str(caught.value)
        assert (caught.value.exit_code, caught.value.http_status) == (7, 502)
        assert len(proxy.calls) == 1


def test_a_missing_permission_says_which(search, proxy):
    error = {
        "type": "security_exception",
        "reason": "no permissions for [indices:data/read/msearch]",
    }
    proxy.answer(lambda call: "_msearch" in call.path, 403, {"error": error, "status": 403})
    with pytest.raises(AccessDenied, match="indices:data/read/msearch"):
        search.search(QUERY)


@pytest.mark.parametrize("token", ["", "a-session-token"])
def test_signed_requests_sign_what_no_proxy_changes(proxy, name, monkeypatch, token):
    """Signature Version 4 for ``es``; a signed ``connection`` header would break on the way."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not a secret")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    if token:
        monkeypatch.setenv("AWS_SESSION_TOKEN", token)
    else:
        monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
    with connected(
        name,
        opensearch_url=proxy.url,
        opensearch_auth="sigv4",
        region="eu-west-1",
        fields=FIELDS,
    ) as search:
        search.add([*DOCUMENTS, {"id": "e", "text": f"token {token}"}])
        assert search.search(QUERY).hits
    signed = {"host", "x-amz-content-sha256", "x-amz-date"} | (
        {"x-amz-security-token"} if token else set()
    )
    for call in proxy.calls:
        headers = lowered(call)
        found = re.fullmatch(
            r"AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/\d{8}/eu-west-1/es/aws4_request, "
            r"SignedHeaders=(\S+), Signature=[0-9a-f]{64}",
            headers["authorization"],
        )
        assert found is not None
        assert set(found[1].split(";")) == signed
        assert headers["x-amz-content-sha256"] == hashlib.sha256(call.body).hexdigest()
        assert headers.get("x-amz-security-token", "") == token


def test_signing_without_credentials_says_what_to_set(monkeypatch, tmp_path):
    for variable in (
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_PROFILE",
    ):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    with pytest.raises(AccessDenied, match="AWS_PROFILE"):
        connected("any", opensearch_url="https://localhost:9", opensearch_auth="sigv4", region="x")
