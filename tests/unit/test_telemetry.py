"""The query log: one JSON line a search, readable by its owner only."""

import hashlib
import json
import os
import stat
from datetime import datetime

import pytest

from hybrid_search import telemetry
from hybrid_search.domain import Degraded, Hit, LegReport, SearchRequest, SearchResult
from hybrid_search.telemetry import QueryLog, query_record

REQUEST = SearchRequest("où est X-17 ?", top_k=5, offset=2, candidates=30, rank_constant=7)
RESULT = SearchResult(
    query=REQUEST.query,
    hits=(Hit("c1", "d1", 0.5, 0.5, "secret text", "T", {}, ()),),
    legs=(
        LegReport("bm25", "direct", 12, 3.25),
        LegReport("vector", "direct", 0, 9.5, "throttled: slow down"),
    ),
    degraded=(Degraded("vector", "throttled", "slow down"),),
    notes=("a note",),
    took_ms=12.3456,
    request_id="r1",
    total=12,
)


def lines(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_the_fields_of_a_record():
    record = query_record(REQUEST, RESULT, text=True)
    assert datetime.fromisoformat(record.pop("at")).utcoffset().total_seconds() == 0
    assert record == {
        "request_id": "r1",
        "query": REQUEST.query,
        "variants": ["direct"],
        "legs": {
            "bm25": {"hits": 12, "took_ms": 3.25, "error": ""},
            "vector": {"hits": 0, "took_ms": 9.5, "error": "throttled: slow down"},
        },
        "shown": ["c1"],
        "total": 12,
        "offset": 2,
        "degraded": [{"leg": "vector", "reason": "throttled"}],
        "notes": ["a note"],
        "rank_constant": 7,
        "candidates": 30,
        "took_ms": 12.35,
    }


@pytest.mark.parametrize("text", [True, False])
def test_the_words_can_be_left_out_and_documents_always_are(tmp_path, text):
    path = tmp_path / "log.jsonl"
    QueryLog(path, text=text).record(REQUEST, RESULT)
    digest = hashlib.sha256(REQUEST.query.encode()).hexdigest()
    assert lines(path)[0]["query"] == (REQUEST.query if text else f"sha256:{digest}")
    assert ("X-17" in path.read_text("utf-8")) is text
    assert "secret" not in path.read_text("utf-8")


def test_one_line_a_search_in_folders_that_are_made(tmp_path):
    path = tmp_path / "some" / "logs" / "queries.jsonl"
    log = QueryLog(path)
    log.record(REQUEST, RESULT)
    log.record(SearchRequest("two\nlines"), RESULT)
    assert [line["query"] for line in lines(path)] == [REQUEST.query, "two\nlines"]


def test_only_the_owner_may_read_it(tmp_path):
    path = tmp_path / "log.jsonl"
    before = os.umask(0)
    try:
        QueryLog(path).record(REQUEST, RESULT)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_lone_surrogate_is_no_reason_to_fail(tmp_path):
    path = tmp_path / "log.jsonl"
    for text in (True, False):
        QueryLog(path, text=text).record(SearchRequest("a\ud800"), RESULT)
    assert lines(path)[0]["query"] == "a?"
    assert lines(path)[1]["query"].startswith("sha256:")


def test_a_log_grown_too_large_is_set_aside_once(tmp_path):
    path, aside = tmp_path / "log.jsonl", tmp_path / "log.jsonl.1"
    log = QueryLog(path)
    for round_ in range(2):
        with path.open("wb") as file:
            file.truncate(telemetry.MAX_BYTES + round_)
        log.record(REQUEST, RESULT)
    assert aside.stat().st_size == telemetry.MAX_BYTES + 1
    assert len(lines(path)) == 1
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_log_that_cannot_be_written_warns_and_fails_nothing(tmp_path, caplog):
    blocked = tmp_path / "file"
    blocked.write_text("")
    QueryLog(blocked / "log.jsonl").record(REQUEST, RESULT)
    assert "was not written" in caplog.text
