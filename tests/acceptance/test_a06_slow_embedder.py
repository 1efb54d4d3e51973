"""A6: while the model throttles, searches answer by words in time, and ingestion waits it out."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from hybrid_search import retries
from hybrid_search.errors import Degraded
from hybrid_search.testing import faults

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hybrid_search.hybrid import HybridSearch
    from hybrid_search.testing import FakeBedrock
    from tests.acceptance import given

DEADLINE = 2.0
STORM = 30.0
CHUNKS = 500
CONCURRENCY = 8
WORDS = ("parcel", "ledger")


@pytest.fixture
def search(place: given.Place, bedrock: FakeBedrock) -> Iterator[HybridSearch]:
    """Two documents, embedded while all was well."""
    with place.connect(
        embedder="titan",
        embedding_endpoint=bedrock.endpoint_url,
        embedding_concurrency=CONCURRENCY,
        legs=("bm25", "vector"),
    ) as opened:
        assert opened.add({"id": word, "text": f"the {word}"} for word in WORDS).added == 2
        yield opened


def documents() -> list[dict[str, Any]]:
    return [{"id": f"n{n}", "text": f"note {n} on the weather"} for n in range(CHUNKS)]


def test_the_answer_comes_in_time_and_names_what_is_missing(
    search: HybridSearch, bedrock: FakeBedrock
) -> None:
    whole = search.search("ledger", deadline=DEADLINE)
    assert (whole.degraded, whole.hits[0].document_id) == ((), "ledger")
    storm = bedrock.fail(faults.throttled(), seconds=STORM)
    before = bedrock.calls
    started = time.monotonic()
    found = search.search("parcel", deadline=DEADLINE)
    took = time.monotonic() - started
    storm.release()
    assert took <= DEADLINE
    assert [hit.document_id for hit in found.hits] == ["parcel"]
    assert [c.leg for c in found.hits[0].contributions] == ["bm25"]
    assert [(part.leg, part.reason) for part in found.degraded] == [("vector", "throttled")]
    assert 1 <= bedrock.calls - before <= retries.QUERY.attempts


def test_strict_turns_it_into_an_error(search: HybridSearch, bedrock: FakeBedrock) -> None:
    storm = bedrock.fail(faults.throttled(), seconds=STORM)
    with retries.testing(), pytest.raises(Degraded, match="vector: throttled") as refusal:
        search.search("parcel", deadline=DEADLINE, strict=True)
    assert refusal.value.http_status == 503
    storm.release()
    assert search.search("parcel", deadline=DEADLINE, strict=True).hits[0].document_id == "parcel"


def test_ingestion_finishes_when_the_storm_is_over(
    search: HybridSearch, bedrock: FakeBedrock
) -> None:
    """Searches go on meanwhile; no more calls are under way than were allowed."""
    written_after: list[str] = []
    met = Event()

    def first(request: Any) -> bool:
        if request.text.startswith("note "):
            met.set()
        return True

    storm = bedrock.fail(faults.throttled(), seconds=STORM, when=first)
    before = bedrock.calls
    with ThreadPoolExecutor(1) as pool:
        adding = pool.submit(
            search.add, documents(), on_result=lambda r: written_after.append(r.document_id)
        )
        assert met.wait(10)
        started = time.monotonic()
        found = search.search("parcel", deadline=DEADLINE)
        assert time.monotonic() - started <= DEADLINE
        assert [(part.leg, part.reason) for part in found.degraded] == [("vector", "throttled")]
        assert [hit.document_id for hit in found.hits] == ["parcel"]
        assert not adding.done()
        assert written_after == []
        storm.release()
        report = adding.result(timeout=60)
    assert (report.added, report.chunks, report.dead) == (CHUNKS, CHUNKS, [])
    assert search.status().documents == CHUNKS + len(WORDS)
    sent = bedrock.texts[before:]
    assert {text for text in sent if text.startswith("note ")} == {d["text"] for d in documents()}
    # Only the calls that were under way met the storm: a full pool of documents, and the query.
    most = CHUNKS + CONCURRENCY * retries.INGEST.attempts + retries.QUERY.attempts
    assert len(sent) <= most
    assert bedrock.most_at_once <= CONCURRENCY + 1
