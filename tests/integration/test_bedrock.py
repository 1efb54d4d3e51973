"""The Titan embedder against a Bedrock on the loopback interface, through real boto3 and HTTP.

The table of errors is that of the service's own model; attempts are counted where they arrive.
"""

from __future__ import annotations

import json
import threading
import time
import unicodedata
import urllib.error
import urllib.request

import numpy as np
import pytest
from botocore.exceptions import ClientError

from hybrid_search import retries
from hybrid_search.domain import Deadline, Embedding, IndexSpec
from hybrid_search.embedders.titan import create
from hybrid_search.errors import (
    AccessDenied,
    DeadlineExceeded,
    DocumentError,
    FingerprintMismatch,
    InvalidInput,
    ModelUnavailable,
    Throttled,
    Unavailable,
)
from hybrid_search.schema import refuse_other_space
from hybrid_search.testing import FakeBedrock, faults

QUERY, INGEST = retries.QUERY.attempts, retries.INGEST.attempts

TRANSIENT = [
    (faults.throttled, Throttled, QUERY, INGEST, "throttled"),
    (faults.not_ready, ModelUnavailable, QUERY, INGEST, "model_unavailable"),
    (faults.internal_error, ModelUnavailable, QUERY, INGEST, "model_unavailable"),
    (faults.unavailable, ModelUnavailable, QUERY, INGEST, "model_unavailable"),
    (faults.model_timeout, ModelUnavailable, 3, 3, "model_timeout"),
    (faults.model_error, ModelUnavailable, 3, 3, "model_error"),
    (faults.dropped, ModelUnavailable, QUERY, INGEST, "model_unavailable"),
    (faults.cut_body, ModelUnavailable, QUERY, INGEST, "model_unavailable"),
]
FATAL = [
    (faults.access_denied, AccessDenied, 1, "bedrock:InvokeModel"),
    (faults.unrecognized_client, AccessDenied, 1, "AWS_ACCESS_KEY_ID"),
    (faults.expired_token, AccessDenied, 2, "aws sso login"),
    (faults.not_found, Unavailable, 1, "Check the model id"),
    (faults.quota_exceeded, Unavailable, 1, "Service Quotas"),
]


def names(rows):
    return [row[0].__name__ for row in rows]


@pytest.fixture
def bedrock(monkeypatch):
    with FakeBedrock() as fake:
        for name, value in fake.environment().items():
            monkeypatch.setenv(name, value)
        yield fake


@pytest.fixture
def titan(bedrock):
    made = create(concurrency=4)
    yield made
    made.close()


@pytest.fixture
def impatient():
    """Nothing waits between attempts."""
    with retries.testing():
        yield


# --- every row of the table -------------------------------------------------------------------


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("fault", "error", "query", "ingest", "reason"), TRANSIENT, ids=names(TRANSIENT)
)
class TestTransient:
    def test_a_query_survives_one(self, bedrock, titan, fault, error, query, ingest, reason):
        bedrock.script(fault())
        assert titan.embed_query("blue whale").tokens == 3
        assert bedrock.calls == 2
        assert titan.retried == {reason: 1}

    def test_a_query_gives_up_soon(self, bedrock, titan, fault, error, query, ingest, reason):
        bedrock.fail(fault())
        with pytest.raises(error) as caught:
            titan.embed_query("blue whale")
        assert bedrock.calls == query
        assert caught.value.reason == reason

    def test_a_document_gives_up_late(self, bedrock, titan, fault, error, query, ingest, reason):
        bedrock.fail(fault(), when=lambda request: request.text == "bad")
        good, bad = titan.embed_documents(["good", "bad"])
        assert isinstance(good, Embedding)
        assert isinstance(bad, error)
        assert bedrock.texts.count("bad") == ingest
        assert bedrock.texts.count("good") == 1


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(("fault", "error", "calls", "advice"), FATAL, ids=names(FATAL))
class TestFatal:
    def test_a_query_is_not_tried_again(self, bedrock, titan, fault, error, calls, advice):
        bedrock.fail(fault())
        with pytest.raises(error, match=advice) as caught:
            titan.embed_query("blue whale")
        assert bedrock.calls == calls
        assert "\n" not in str(caught.value)

    def test_documents_stop_at_once(self, bedrock, titan, fault, error, calls, advice):
        bedrock.fail(fault())
        with pytest.raises(error):
            titan.embed_documents([f"text {n}" for n in range(200)])
        assert bedrock.calls <= calls * 4 + 4  # those under way, of 4 at a time


def test_a_text_the_model_refuses_is_a_value(bedrock, titan):
    bedrock.fail(faults.invalid("no such luck"), when=lambda request: request.text == "bad")
    good, bad = titan.embed_documents(["good", "bad"])
    assert isinstance(good, Embedding)
    assert isinstance(bad, DocumentError)
    assert "no such luck" in str(bad)
    assert bedrock.calls == 2


def test_an_unknown_error_of_the_service_counts_as_its_own(bedrock, titan, impatient):
    bedrock.script(faults.Fault("NewServerException", 502, "gateway"))
    assert titan.embed_query("x").tokens == 1
    assert bedrock.calls == 2


def test_a_model_id_the_service_does_not_know_meets_every_text(bedrock, titan):
    bedrock.fail(faults.invalid("The provided model identifier is invalid."))
    with pytest.raises(Unavailable, match="Check the model id"):
        titan.embed_documents(["x"])


def test_html_from_a_proxy_is_no_answer(bedrock, titan, impatient):
    bedrock.fail(faults.html())
    with pytest.raises(ModelUnavailable, match=r"no JSON: .*sign in"):
        titan.embed_query("x")
    assert bedrock.calls == QUERY


def test_an_expired_token_is_met_with_new_credentials_once(bedrock, titan, monkeypatch):
    titan.embed_query("before")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "renewed")
    bedrock.script(faults.expired_token())
    titan.embed_query("after")
    keys = ["renewed" in request.headers["Authorization"] for request in bedrock.requests]
    assert keys == [False, False, True]


def test_a_hang_costs_the_timeout_and_not_more(bedrock, impatient):
    titan = create(query_timeout=0.1)
    rule = bedrock.fail(faults.hang())
    started = time.monotonic()
    with pytest.raises(ModelUnavailable, match="timeout"):
        titan.embed_query("x")
    assert bedrock.calls == QUERY
    assert time.monotonic() - started < 5
    rule.release()
    assert titan.embed_query("x").tokens == 1


# --- before anything is sent ------------------------------------------------------------------


def test_no_credentials(bedrock, monkeypatch, tmp_path):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    with pytest.raises(AccessDenied, match="AWS_PROFILE"):
        create().embed_documents(["x"])
    assert bedrock.calls == 0


def test_no_region(bedrock, monkeypatch, tmp_path):
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    with pytest.raises(InvalidInput, match="AWS_DEFAULT_REGION"):
        create().embed_query("x")


def test_an_unknown_profile(bedrock):
    with pytest.raises(InvalidInput, match="AWS_PROFILE"):
        create(profile="nobody-has-this-profile").embed_query("x")


def test_an_endpoint_nobody_listens_at(bedrock, impatient):
    closed = FakeBedrock()
    closed.close()
    titan = create(endpoint_url=closed.endpoint_url)
    with pytest.raises(ModelUnavailable, match="Check the region"):
        titan.embed_documents([f"text {n}" for n in range(50)])
    assert titan.retried["unreachable"] <= 3 * 8


# --- A6: a model that is throttled for long -----------------------------------------------------


def test_a_throttled_query_ends_within_its_deadline_and_says_why(bedrock, titan):
    bedrock.fail(faults.throttled())
    started = time.monotonic()
    with pytest.raises(Throttled) as caught:
        titan.embed_query("blue whale", Deadline.after(2))
    assert time.monotonic() - started <= 2
    assert caught.value.reason == "throttled"
    assert 1 <= bedrock.calls <= QUERY


def test_throttled_then_hanging_until_the_deadline_is_still_throttled(bedrock, titan):
    bedrock.script(faults.throttled(), faults.hang())
    started = time.monotonic()
    with pytest.raises(Throttled):
        titan.embed_query("blue whale", Deadline.after(0.8))
    assert time.monotonic() - started < 3  # a call alone may take 5


def test_a_query_that_hangs_ends_at_its_deadline(bedrock, titan):
    bedrock.fail(faults.hang())
    started = time.monotonic()
    with pytest.raises(DeadlineExceeded):
        titan.embed_query("blue whale", Deadline.after(0.2))
    assert time.monotonic() - started < 3


def test_a_longer_wait_asked_for_by_the_service_ends_the_query(bedrock, titan):
    bedrock.fail(faults.throttled(retry_after=30))
    with pytest.raises(Throttled):
        titan.embed_query("blue whale", Deadline.after(5))
    assert bedrock.calls == 1


def test_documents_outlast_a_storm_with_bounded_calls(bedrock):
    bedrock.fail(faults.throttled(), seconds=0.5)
    titan = create(concurrency=8)
    values = titan.embed_documents([f"chunk number {n}" for n in range(500)])
    assert all(isinstance(value, Embedding) for value in values)
    assert bedrock.calls == 500 + titan.retried["throttled"]
    assert titan.retried["throttled"] <= 8 * INGEST
    assert bedrock.most_at_once <= 8


def test_documents_past_the_deadline_are_values(bedrock, titan):
    bedrock.fail(faults.throttled())
    started = time.monotonic()
    values = titan.embed_documents([f"text {n}" for n in range(20)], Deadline.after(0.5))
    assert time.monotonic() - started < 3
    assert {value.reason for value in values} <= {"throttled", "deadline_exceeded"}
    assert values[0].reason == "throttled"


def test_a_storm_of_documents_does_not_hold_up_a_query(bedrock, titan):
    rule = bedrock.fail(faults.hang(), when=lambda request: request.text.startswith("doc"))
    storm = threading.Thread(target=titan.embed_documents, args=([f"doc {n}" for n in range(9)],))
    storm.start()
    assert titan.embed_query("whale", Deadline.after(5)).tokens == 2
    rule.release()
    storm.join(10)
    assert not storm.is_alive()


# --- A9: what Titan is sent ---------------------------------------------------------------------


@pytest.mark.parametrize("blank", ["", "  \n"])
def test_a_blank_text_is_never_sent(bedrock, titan, blank):
    (value,) = titan.embed_documents([blank])
    assert isinstance(value, DocumentError)
    with pytest.raises(InvalidInput):
        titan.embed_query(blank)
    assert bedrock.calls == 0


@pytest.mark.parametrize(
    "text",
    [
        "lorem ipsum " * 5_000,
        "x" * 60_000,
        "漢" * 9_000,
        "latin text, then " * 1_500 + "漢字" * 5_000,
    ],
    ids=["words", "one word", "cjk", "mixed"],
)
def test_a_text_over_the_limits_is_cut_and_says_by_how_much(bedrock, titan, text):
    (value,) = titan.embed_documents([text])
    assert isinstance(value, Embedding)
    assert value.truncated > 0
    sent = bedrock.texts[-1]
    assert len(text.strip()) - len(sent) == value.truncated
    assert text.startswith(sent)
    assert value.tokens <= 8192
    assert value.tokens > 8192 * 0.8  # no more is lost than need be
    assert all(len(each) <= 50_000 for each in bedrock.texts)
    assert bedrock.calls <= 5


def test_no_character_is_broken_at_the_cut(bedrock, titan):
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    texts = ["a" * (49_997 + shift) + family + "e\u0301" * 20_000 for shift in range(4)]
    for value in titan.embed_documents(texts):
        assert isinstance(value, Embedding)
    for sent in bedrock.texts:
        tail = sent.lstrip("a")
        assert tail == "" or tail.startswith(family)
        assert not unicodedata.combining((sent + "x")[len(sent)])
        assert sent[-1] != "e"  # its accent came with it


def test_a_lone_surrogate_is_replaced(bedrock, titan):
    assert isinstance(titan.embed_documents(["a\ud800b"])[0], Embedding)
    assert bedrock.texts == ["a\ufffdb"]


def test_other_refusals_are_not_taken_for_an_overflow(bedrock, titan):
    bedrock.fail(faults.invalid("Malformed input request: something else"))
    (value,) = titan.embed_documents(["x" * 60_000])
    assert isinstance(value, DocumentError)
    assert bedrock.calls == 1


# --- A10 and the models ---------------------------------------------------------------------------


def test_512_dimensions_against_an_index_of_1024(bedrock):
    index = IndexSpec(space=create(dimensions=1024).space)
    with pytest.raises(FingerprintMismatch, match=r"1024 dimensions.*512 dimensions"):
        refuse_other_space(index, create(dimensions=512).space, "index docs")
    assert bedrock.calls == 0


def test_version_1_with_dimensions(bedrock):
    with pytest.raises(InvalidInput, match=r"512.*1536"):
        create(model="amazon.titan-embed-text-v1", dimensions=512)
    assert bedrock.calls == 0


@pytest.mark.parametrize("dimensions", [256, 512, 1024])
def test_version_2_at_each_size(bedrock, dimensions):
    titan = create(dimensions=dimensions)
    assert titan.embed_query("whale").vector.shape == (dimensions,)
    assert bedrock.requests[0].body["dimensions"] == dimensions


def test_vectors_that_are_not_normalised(bedrock):
    titan = create(normalize=False)
    assert not titan.space.normalized
    length = float(np.linalg.norm(titan.embed_query("a longer text, for a longer vector").vector))
    assert length == pytest.approx(1 + np.log(8), abs=1e-3)


def test_version_1_is_made_to_length_one_here(bedrock):
    titan = create(model="amazon.titan-embed-text-v1")
    vector = titan.embed_query("a longer text, for a longer vector").vector
    assert vector.shape == (1536,)
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_an_arn_reaches_the_service_whole(bedrock):
    arn = "arn:aws:bedrock:us-east-1::foundation-model/amazon.titan-embed-text-v2:0"
    create(model=arn).embed_query("whale")
    assert bedrock.requests[0].model == arn


# --- concurrency ----------------------------------------------------------------------------------


def test_calls_are_as_many_at_a_time_as_asked_for(bedrock):
    bedrock.latency = 0.02
    titan = create(concurrency=6)
    values = titan.embed_documents([f"text {n}" for n in range(60)])
    assert bedrock.most_at_once == 6
    expected = create(concurrency=1).embed_documents(["text 7", "text 59"])
    assert np.array_equal(values[7].vector, expected[0].vector)
    assert np.array_equal(values[59].vector, expected[1].vector)


def test_impossible_concurrency_is_refused():
    with pytest.raises(InvalidInput, match="concurrency is 0"):
        create(concurrency=0)


# --- the fake itself: what the service refuses, it refuses --------------


def invoke(bedrock, body, model="amazon.titan-embed-text-v2:0"):
    import boto3

    client = boto3.client("bedrock-runtime")
    try:
        return json.loads(client.invoke_model(modelId=model, body=json.dumps(body))["body"].read())
    except ClientError as error:
        return f"{error.response['Error']['Code']}: {error.response['Error']['Message']}"


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ({"inputText": ""}, "minLength: 1, actual: 0"),
        ({"inputText": "x" * 50_001}, "maxLength: 50000, actual: 50001"),
        ({"inputText": "x" * 49_000}, "Max input tokens: 8192, request input token count: 10426"),
        ({"inputText": "\ud800"}, "not valid UTF-8"),
        ({"inputText": "x", "dimensions": 100}, "100 is not a valid enum value"),
        ({"inputText": "x", "embeddingTypes": ["int8"]}, "not a valid enum value"),
        ({"inputText": "x", "truncate": True}, "extraneous key [truncate]"),
        ({}, "required key [inputText]"),
    ],
)
def test_the_fake_refuses_what_the_service_refuses(bedrock, body, complaint):
    answer = invoke(bedrock, body)
    assert answer.startswith("ValidationException: ")
    assert complaint in answer


def test_the_fake_knows_both_versions_and_no_other_model(bedrock):
    assert "extraneous key [dimensions]" in invoke(
        bedrock, {"inputText": "x", "dimensions": 1536}, "amazon.titan-embed-text-v1"
    )
    answer = invoke(bedrock, {"inputText": "x"}, "amazon.titan-embed-text-v1")
    assert len(answer["embedding"]) == 1536
    assert "embeddingsByType" not in answer
    assert invoke(bedrock, {}, "amazon.nova-lite-v1:0").startswith("ResourceNotFoundException")


def test_the_fake_gives_binary_vectors_too(bedrock):
    body = {"inputText": "whale", "dimensions": 256, "embeddingTypes": ["float", "binary"]}
    answer = invoke(bedrock, body)
    typed = answer["embeddingsByType"]
    assert typed["float"] == answer["embedding"]
    assert typed["binary"] == [int(number > 0) for number in answer["embedding"]]


def test_the_fake_has_some_meaning(bedrock, titan):
    query = titan.embed_query("ordering a chair").vector
    near, far = titan.embed_documents(["how a chair is ordered", "parental leave"])
    assert query @ near.vector > query @ far.vector


def test_an_unsigned_request_and_an_unknown_path_are_refused(bedrock):
    for path, status in (("/model/any/invoke", 403), ("/elsewhere", 404)):
        request = urllib.request.Request(bedrock.endpoint_url + path, b"{}")
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(request)
        assert caught.value.code == status
        caught.value.close()
