"""What every store promises: one suite over every backend, in memory, in a file and on nodes."""

from __future__ import annotations

import functools
import itertools
import json
import math
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybrid_search import filters
from hybrid_search.domain import (
    And,
    Ask,
    Chunk,
    Condition,
    Constant,
    Deadline,
    Document,
    Match,
    Nearest,
    Not,
    Or,
    Prepared,
    PreparedChunk,
    RankedHit,
    Restriction,
    Scored,
    VectorSpace,
)
from hybrid_search.errors import (
    DeadlineExceeded,
    FingerprintMismatch,
    HybridSearchError,
    InvalidInput,
    ModelUnavailable,
    NotFound,
)
from hybrid_search.schema import chunk_id
from tests.contract import stores
from tests.contract.stores import found, preparing, rank, scores, statuses, vector_of, write

ROOT = Path(__file__).resolve().parents[2]


backend = stores.over(stores.KINDS)
shared = stores.over([kind for kind in stores.KINDS if kind != "memory"])
"""Those whose collections two store objects, or two processes, can open."""


@pytest.fixture(scope="module")
def store(backend):
    """One collection for all tests that bring a tenant of their own."""
    return backend.open()


@pytest.fixture
def tenant(request):
    return request.node.name.partition("[")[0]


# --- A collection's life --------------------------------------------------------------------


def test_before_the_first_write_there_is_nothing_and_reading_makes_nothing(backend):
    store = backend.open()
    assert store.snapshot() is None
    assert store.heads("", ["a"]) == {}
    assert store.chunks("", "a") == []
    assert list(store.scan_heads()) == []
    assert statuses(store.delete("", ["a"])) == [("absent", 0)]
    store.refresh()
    status = store.status()
    assert (status.documents, status.chunks, status.spec, status.indices) == (0, 0, None, ())
    assert store.snapshot() is None


def test_the_first_write_makes_the_index_of_the_spec_and_drop_removes_it(backend):
    store = backend.open()
    assert statuses(write(store, ("a", "one"))) == [("added", 1)]
    snapshot = store.snapshot()
    assert snapshot.spec == stores.SPEC
    assert len(snapshot.indices) == 1
    assert dict(store.fields(snapshot)) == stores.FIELDS
    assert store.status().spec == stores.SPEC
    store.drop()
    assert store.snapshot() is None
    assert store.status().documents == 0
    assert statuses(write(store, ("a", "one"))) == [("added", 1)]
    assert found(store, Match("content", "one")) == ["a"]


def test_a_status_counts_documents_chunks_and_the_deleted(backend):
    store = backend.open()
    write(store, ("a", "1\n\n2\n\n3"), ("b", "1"), ("c", "1\n\n2"))
    store.delete("", ["c"])
    store.refresh()
    status = store.status()
    assert (status.documents, status.chunks, status.deleted, status.pending) == (2, 4, 1, 0)
    assert status.collection == store.collection
    assert store.collection in store.description
    assert status.size_bytes >= 0


# --- Writing --------------------------------------------------------------------------------


def test_every_change_is_a_new_version_also_the_return_of_an_old_text(store, tenant):
    steps = [
        (Document("a", "first"), ("added", 1)),
        (Document("a", "first"), ("unchanged", 1)),
        (Document("a", "second"), ("replaced", 2)),
        (Document("a", "first"), ("replaced", 3)),
        (Document("a", "first", title="T"), ("replaced", 4)),
        (Document("a", "first", title="T", metadata={"x": 1}), ("replaced", 5)),
        (Document("a", "first", title="T", metadata={"x": 1}, source="f"), ("replaced", 6)),
        (None, ("deleted", 7)),
        (None, ("absent", 7)),
        (Document("a", "first"), ("added", 8)),
    ]
    for document, expected in steps:
        if document is None:
            [result] = store.delete(tenant, ["a"])
            assert result.status == expected[0]
        else:
            [result] = store.write(tenant, [document], preparing(tenant))
            assert (result.status, result.version) == expected
            head = store.heads(tenant, ["a"])["a"]
            assert (head.document, head.version, head.complete) == (document, expected[1], True)
    assert [c.text for c in store.chunks(tenant, "a")] == ["first"]


def test_what_is_unchanged_is_not_prepared_again(store, tenant):
    documents = [Document(str(n), f"text {n}") for n in range(4)]
    prepare = preparing(tenant)
    store.write(tenant, documents, prepare)
    documents[2] = Document("2", "another text")
    results = store.write(tenant, documents, prepare)
    assert [r.status for r in results] == ["unchanged", "unchanged", "replaced", "unchanged"]
    assert [r.chunks for r in results] == [1, 1, 1, 1]
    assert prepare.asked == ["0", "1", "2", "3", "2"]


def test_results_are_one_a_document_in_order_also_where_an_id_comes_twice(store, tenant):
    first, last = Document("a", "first"), Document("a", "last")
    results = write(store, first, ("b", "other"), last, tenant=tenant)
    assert [(r.document_id, r.status, r.version) for r in results] == [
        ("a", "added", 1),
        ("b", "added", 1),
        ("a", "replaced", 2),
    ]
    assert store.heads(tenant, ["a"])["a"].document == last
    assert [c.text for c in store.chunks(tenant, "a")] == ["last"]


@pytest.mark.parametrize("counts", [(5, 3), (3, 5), (5, 1, 4), (4, 0, 2)])
def test_a_document_of_another_length_leaves_no_orphan(store, tenant, counts):
    """A12: after each version exactly its chunks are there, to read and to find; 0 = deleted."""
    within = Restriction(tenants=(f"{tenant}{counts}",))
    for turn, count in enumerate(counts):
        text = "\n\n".join(f"orphan turn{turn} part{n}" for n in range(count))
        if count:
            write(store, ("a", text), tenant=within.tenants[0])
        else:
            store.delete(within.tenants[0], ["a"])
            store.refresh()
        kept = store.chunks(within.tenants[0], "a")
        assert [c.text for c in kept] == [part for part in text.split("\n\n") if part]
        assert [c.position for c in kept] == list(range(count))
        for query in (Match("content", "orphan"), Nearest(vector_of("orphan"))):
            hits = rank(store, query, restriction=within).hits
            assert {hit.chunk_id for hit in hits} == {c.id for c in kept}
    heads = list(store.scan_heads(within.tenants[0]))
    assert [h.chunk_count for h in heads] == [counts[-1]]


def test_the_same_text_under_two_ids_is_two_hits(store, tenant):
    text = "twins are told apart"
    write(store, ("one", text), ("two", text), tenant=tenant)
    for query in (Match("content", text), Nearest(vector_of(text))):
        hits = found(store, query, restriction=Restriction(tenants=(tenant,)))
        assert sorted(hits) == ["one", "two"]


def test_everything_that_was_given_comes_back(store, tenant):
    metadata = {"team": ["ops", "dev"], "deep": {"é": [1, 2.5, None, True]}, "empty": ""}
    text = "naïve 😀 text\nwith\ttabs"
    document = Document("name/with ünusual: characters?", text, "A title", metadata, "a/file.md")
    chunk = Chunk(
        id=chunk_id(tenant, document.id, 0),
        document_id=document.id,
        position=0,
        text=text[3:],
        start=3,
        end=len(text),
        title=document.title,
        headings=("Above", "Nearer"),
        parent="the parent",
        source=document.source,
        metadata=metadata,
        truncated=7,
    )
    made = Prepared((PreparedChunk(chunk, vector_of("any")),))
    [result] = store.write(tenant, [document], lambda documents, spec: [made])
    assert (result.status, result.chunks) == ("added", 1)
    head = store.heads(tenant, [document.id])[document.id]
    assert head.document == document
    assert (head.tenant, head.chunk_count, head.deleted) == (tenant, 1, False)
    assert store.chunks(tenant, document.id) == [chunk]
    assert store.fetch(store.snapshot(), [RankedHit(chunk.id, 0.0)]) == {chunk.id: chunk}


def test_chunks_are_in_order_and_their_offsets_point_at_the_text(store, tenant):
    text = "\n\n".join(f"{n} " + "x" * (n % 5) for n in range(40))
    write(store, ("a", text), tenant=tenant)
    kept = store.chunks(tenant, "a")
    assert [c.position for c in kept] == list(range(40))
    assert [c.text for c in kept] == [text[c.start : c.end] for c in kept]
    assert "\n\n".join(c.text for c in kept) == text


def test_what_is_not_there_is_absent_from_the_answer(store, tenant):
    write(store, ("a", "here"), ("b", "gone soon"), tenant=tenant)
    [chunk] = store.chunks(tenant, "b")
    store.delete(tenant, ["b"])
    assert set(store.heads(tenant, ["a", "b", "never"])) == {"a"}
    assert store.chunks(tenant, "b") == []
    assert store.chunks(tenant, "never") == []
    hits = [RankedHit(chunk.id, 0.0), RankedHit("no such chunk", 0.0)]
    assert store.fetch(store.snapshot(), hits) == {}
    assert store.fetch(store.snapshot(), []) == {}
    assert [r.status for r in store.delete(tenant, ["a", "b", "never"])] == [
        "deleted",
        "absent",
        "absent",
    ]


def test_a_scan_gives_all_live_heads_in_id_order(backend):
    store = backend.open(space=None, fields={})
    ids = [f"{n:04}" for n in range(1_050)]
    shuffled = random.Random(5).sample(ids, len(ids))
    for tenant in ("t", "s"):
        write(store, *((i, "x") for i in shuffled[:: 1 if tenant == "t" else 500]), tenant=tenant)
    store.delete("t", ids[::50])
    store.refresh()
    left = [i for n, i in enumerate(ids) if n % 50]
    assert len(left) > 1_000, "more than one page of any store"
    assert [h.document.id for h in store.scan_heads("t")] == left
    assert [h.document.id for h in store.scan_heads("s")] == sorted(shuffled[::500])
    assert [h.document.id for h in store.scan_heads()] == sorted([*left, *shuffled[::500]])
    assert list(store.scan_heads("nobody")) == []


# --- Dead letters ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({"vector": [1, 2, 3]}, "3 dimensions"),
        ({"vector": [1, 2, 3, 4, 5]}, "5 dimensions"),
        ({"vector": [0, 0, 0, 0]}, "zero"),
        ({"vector": [1, math.nan, 0, 0]}, "finite"),
        ({"vector": [math.inf, 0, 0, 0]}, "finite"),
        ({"year": "soon"}, "year"),
        ({"price": [1.5, "cheap"]}, "price"),
        ({"open": "maybe"}, "open"),
        ({"day": "31/12/2026"}, "day"),
        ({"team": {"a": "b"}}, "team"),
        ({"year": 2**63}, "year"),
    ],
    ids=str,
)
def test_a_document_that_can_t_be_stored_is_told_why_and_the_others_land(
    store, tenant, bad, reason, request
):
    tenant = request.node.name
    kept = Document("bad", "as it was before")
    store.write(tenant, [kept], preparing(tenant))
    results = store.write(
        tenant,
        [Document("a", "good"), Document("bad", "text", metadata=bad), Document("z", "good too")],
        preparing(tenant),
    )
    assert [r.status for r in results] == ["added", "dead", "added"]
    assert reason in results[1].reason
    assert store.heads(tenant, ["bad"])["bad"].document == kept
    assert [c.text for c in store.chunks(tenant, "bad")] == ["as it was before"]


def test_no_text_no_vector_and_a_failed_preparation_are_dead(store, tenant):
    made = {
        "empty": Prepared(),
        "bare": Prepared(
            tuple(
                PreparedChunk(p.chunk, None) for p in stores.prepared(Document("bare", "x")).chunks
            )
        ),
        "failed": Prepared(error="the model refused it"),
        "good": stores.prepared(Document("good", "x"), tenant),
    }
    documents = [Document(name, "x") for name in made]
    results = store.write(tenant, documents, lambda asked, spec: [made[d.id] for d in asked])
    assert {r.document_id: r.status for r in results} == {
        "empty": "dead",
        "bare": "dead",
        "failed": "dead",
        "good": "added",
    }
    reasons = {r.document_id: r.reason for r in results}
    assert "no text" in reasons["empty"]
    assert "no vector" in reasons["bare"]
    assert reasons["failed"] == "the model refused it"
    assert set(store.heads(tenant, list(made))) == {"good"}


def test_a_preparation_that_raises_stores_nothing_and_can_be_tried_again(store, tenant):
    def unavailable(documents, spec):
        raise ModelUnavailable("not now")

    documents = [Document("a", "one"), Document("b", "two")]
    with pytest.raises(ModelUnavailable):
        store.write(tenant, documents, unavailable)
    assert store.heads(tenant, ["a", "b"]) == {}
    assert statuses(store.write(tenant, documents, preparing(tenant))) == [("added", 1)] * 2


# --- Questions ------------------------------------------------------------------------------

TEXTS = {
    "a": "amber amber cedar",
    "b": "amber birch",
    "c": "birch birch cedar maple maple",
    "d": "cedar amber",
    "e": "willow maple",
    "f": "lost INV-2024-7831 found",
    "g": "lost INV-2024-7832 found",
    "h": "7831 came before 2024 and INV",
    "i": "INV 2024 7831",
}
VECTORS = {
    "a": [1, 0, 0, 0],
    "b": [3, 4, 0, 0],
    "c": [0, 2, 0, 0],
    "d": [-5, 0, 0, 0],
    "e": [-3, 4, 0, 0],
    "f": [0, 0, 1, 0],
    "g": [0, 0, 1, 1],
    "h": [0, 0, 0, 1],
    "i": [1, 1, 1, 1],
}


@pytest.fixture(scope="module")
def trees(backend):
    """A collection of ``TEXTS`` and ``VECTORS`` and nothing else, in the standard language."""
    store = backend.open(language="standard")
    write(store, *(Document(i, t, metadata={"vector": VECTORS[i]}) for i, t in TEXTS.items()))
    return store


LENGTHS = {i: len(t.replace("-", " ").split()) for i, t in TEXTS.items()}


@pytest.fixture(scope="module")
def bm25(backend):
    """Lucene's BM25 by its formula, from a query to document id and score.

    Before version 3, OpenSearch has the constant factor k1 + 1 that Lucene dropped.
    """
    factor = 2.2 if stores.label(backend.kind).startswith("opensearch-2") else 1
    words = {i: Counter(t.lower().replace("-", " ").split()) for i, t in TEXTS.items()}
    mean = sum(LENGTHS.values()) / len(TEXTS)

    def score(query):
        totals = Counter()
        for term in query.split():
            holders = [i for i in TEXTS if term in words[i]]
            idf = math.log(1 + (len(TEXTS) - len(holders) + 0.5) / (len(holders) + 0.5))
            for i in holders:
                tf, norm = words[i][term], 1 - 0.75 + 0.75 * LENGTHS[i] / mean
                totals[i] += factor * idf * tf / (tf + 1.2 * norm)
        return dict(totals)

    return score


def cosine(document, vector):
    one, other = np.array(VECTORS[document], float), np.array(vector, float)
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


def ordered(expected):
    """Best first, ties by chunk id."""
    return sorted(expected, key=lambda i: (-np.float32(expected[i]), chunk_id("", i, 0)))


@pytest.mark.parametrize("query", ["amber", "cedar amber", "maple birch willow", "amber amber elm"])
def test_content_is_scored_by_bm25(trees, bm25, query):
    expected = bm25(query)
    got = scores(trees, Match("content", query))
    assert got == pytest.approx(expected, rel=1e-5)
    assert list(got) == ordered(expected)


def test_every_and_phrase_narrow_what_is_found(trees):
    assert set(found(trees, Match("content", "amber cedar"))) == {"a", "b", "c", "d"}
    assert set(found(trees, Match("content", "amber cedar", every=True))) == {"a", "d"}
    assert found(trees, Match("content", "amber cedar", phrase=True)) == ["a"]
    assert found(trees, Match("content", "cedar amber", phrase=True)) == ["d"]
    assert found(trees, Match("content", "amber elm", every=True)) == []


def test_codes_are_whole_and_parts_are_adjacent(trees):
    assert found(trees, Match("codes", "inv-2024-7831")) == ["f"]
    assert found(trees, Match("codes", "INV-2024")) == []
    assert set(found(trees, Match("codes", "7831"))) == {"h", "i"}
    assert set(found(trees, Match("parts", "INV-2024-7831", phrase=True))) == {"f", "i"}
    assert set(found(trees, Match("parts", "2024-783", phrase=True))) == set()
    assert set(found(trees, Match("parts", "7832 7831"))) == {"f", "g", "h", "i"}


@pytest.mark.parametrize("text", ["", " ", "...", "\u200b", "-/_", "zzqx17"])
@pytest.mark.parametrize("how", [{}, {"every": True}, {"phrase": True}], ids=str)
def test_words_that_are_none_find_nothing(trees, text, how):
    for field in ("content", "codes", "parts"):
        assert found(trees, Match(field, text, **how)) == []


@pytest.mark.parametrize("vector", [[1, 0, 0, 0], [2, 2, 0, 0], [1, 2, 3, 4], [0, 0, -1, 0]])
def test_nearest_is_scored_by_the_cosine_and_finds_the_best(trees, vector):
    """OpenSearch's scale for ``cosinesimil``: (1 + c) / 2."""
    expected = {i: (1 + cosine(i, vector)) / 2 for i in VECTORS}
    got = scores(trees, Nearest(np.float32(vector)))
    assert got == pytest.approx(expected, abs=1e-6)
    best = found(trees, Nearest(np.float32(vector)), size=3)
    assert sorted((expected[i] for i in best), reverse=True) == pytest.approx(
        sorted(expected.values(), reverse=True)[:3]
    )


@pytest.mark.parametrize(
    ("space_type", "score"),
    [
        ("innerproduct", lambda a, b: 1 + a @ b if a @ b >= 0 else 1 / (1 - a @ b)),
        ("l2", lambda a, b: 1 / (1 + (a - b) @ (a - b))),
    ],
)
def test_nearest_is_scored_by_the_index_s_own_space_type(backend, space_type, score):
    store = backend.open(space_type=space_type)
    write(store, *(Document(i, i, metadata={"vector": v}) for i, v in VECTORS.items()))
    wanted = np.float32([1, -2, 3, 0.5])
    expected = {i: score(np.float32(v), wanted) for i, v in VECTORS.items()}
    assert scores(store, Nearest(wanted)) == pytest.approx(expected, rel=1e-5)


def test_a_constant_gives_what_its_query_finds_one_score(trees):
    inner = Match("content", "amber")
    assert scores(trees, Constant(inner, 3.5)) == dict.fromkeys(
        ordered(dict.fromkeys("abd", 1)), 3.5
    )
    assert set(scores(trees, Constant(inner)).values()) == {0.0}


def test_scored_asks_for_all_or_any_and_adds_the_optional(trees, bm25):
    amber, cedar = Match("content", "amber"), Match("content", "cedar")
    both = {i: bm25("amber cedar")[i] for i in "ad"}
    assert scores(trees, Scored((amber, cedar))) == pytest.approx(both, rel=1e-5)
    either = bm25("amber cedar")
    assert scores(trees, Scored((amber, cedar), every=False)) == pytest.approx(either, rel=1e-5)
    extra = {i: bm25("amber")[i] + bm25("birch").get(i, 0) for i in "abd"}
    got = scores(trees, Scored((amber,), (Match("content", "birch"),)))
    assert got == pytest.approx(extra, rel=1e-5)
    assert list(got) == ordered(extra)


def test_parts_of_a_question_nest(trees, bm25):
    """What the identifier leg asks: the number of codes decides first, then the words."""
    codes = [Constant(Match("codes", c, every=True), 1000.0) for c in ("7831", "2024", "and")]
    got = scores(trees, Scored(tuple(codes), (Match("content", "inv"),), every=False))
    words = bm25("inv")
    assert got == pytest.approx({"h": 3000 + words["h"], "i": 2000 + words["i"]}, rel=1e-5)
    near = Scored((Constant(Nearest(np.float32([1, 0, 0, 0])), 1.0), Match("content", "maple")))
    assert scores(trees, near) == pytest.approx(
        {i: 1 + s for i, s in bm25("maple").items()}, rel=1e-5
    )


def test_the_first_alternative_that_finds_anything_is_taken(trees):
    nothing, maple, amber = (Match("content", w) for w in ("elm", "maple", "amber"))
    assert set(found(trees, nothing, maple, amber)) == {"c", "e"}
    assert found(trees, nothing, Match("content", "oak")) == []
    for limit in (2, 5):
        assert set(found(trees, nothing, maple, amber, limit=limit)) == {"c", "e"}


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_more_than_the_limit_tells_nothing_whatever_the_size(trees, bm25, size):
    """Also where a later alternative would find fewer."""
    amber, maple = Match("content", "amber"), Match("content", "maple")
    assert found(trees, amber, maple, limit=2, size=size) == []
    assert found(trees, amber, limit=3, size=size) == ordered(bm25("amber"))[:size]


def test_only_restricts_to_chunks(trees, bm25):
    only = (chunk_id("", "a", 0), chunk_id("", "e", 0), "no such chunk")
    expected = {"a": bm25("amber")["a"]}
    assert scores(trees, Match("content", "amber"), only=only) == pytest.approx(expected, rel=1e-5)
    assert set(found(trees, Nearest(np.float32([1, 1, 0, 0])), only=only)) == {"a", "e"}


def test_several_questions_are_answered_in_order_and_failures_are_values(trees):
    asks = [
        Ask((Match("content", "willow"),), 10),
        Ask((Nearest(np.float32([1, 2, 3])),), 10),
        Ask((Match("content", "elm"),), 10),
        Ask((Nearest(np.float32([0, 1, 0, 0])),), 1),
    ]
    willow, wrong, elm, near = trees.rank(trees.snapshot(), asks, stores.EVERYTHING)
    assert [h.chunk_id for h in willow.hits] == [chunk_id("", "e", 0)]
    assert isinstance(wrong, InvalidInput)
    assert elm.hits == ()
    assert [h.chunk_id for h in near.hits] == [chunk_id("", "c", 0)]
    assert trees.rank(trees.snapshot(), [], stores.EVERYTHING) == []


def test_a_deadline_that_has_passed_is_a_value(trees):
    asks = [Ask((Match("content", "amber"),), 10)] * 2
    answers = trees.rank(trees.snapshot(), asks, stores.EVERYTHING, Deadline.after(-1))
    assert [type(answer) for answer in answers] == [DeadlineExceeded] * 2


def test_answers_say_that_all_shards_answered_in_time(trees):
    answer = rank(trees, Match("content", "amber"))
    assert (answer.failed_shards, answer.timed_out) == (0, False)
    assert answer.total_shards >= 1
    assert answer.took_ms >= 0
    assert {hit.index for hit in answer.hits} <= set(trees.snapshot().indices)


@pytest.mark.parametrize("size", [1, 7, 40])
def test_equal_scores_are_ordered_by_chunk_id(backend, store, tenant, size):
    """The tie is broken by the store, so that it also decides who is on the page."""
    write(store, *((str(n), "ties are ties") for n in range(40)), tenant=tenant)
    expected = sorted(chunk_id(tenant, str(n), 0) for n in range(40))
    within = Restriction(tenants=(tenant,))
    hits = rank(store, Match("content", "ties"), size=size, restriction=within).hits
    assert [hit.chunk_id for hit in hits] == expected[:size]
    near = rank(store, Nearest(vector_of("ties")), size=40, restriction=within).hits
    assert [hit.chunk_id for hit in near] == expected


# --- Filters --------------------------------------------------------------------------------

START = datetime(2026, 1, 1, tzinfo=UTC)
VALUES = {
    "team": ["ops", "dev", "Ops", "é", "10", "9", "a b"],
    "year": [-1, 0, 7, 2024, 2**53 + 1, 2**63 - 1],
    "price": [-1.5, 0.0, 0.1, 2.25, 1e300],
    "open": [True, False],
    "day": [
        *((START + timedelta(days=d)).isoformat() for d in range(3)),
        "2026-01-02T00:00:00.001+00:00",
        "2026-01-02T01:00:00+01:00",
        "1931-05-03",
    ],
}


def filterable(count=60):
    """Metadata of which every field is absent, one value or a list now and then."""
    dice = random.Random(11)
    for _ in range(count):
        metadata = {}
        for name, values in VALUES.items():
            several = dice.sample(values, dice.randint(0, 2))
            metadata[name] = dice.choice([None, [], several, dice.choice(values)])
        yield {k: v for k, v in metadata.items() if v is not None}


METADATA = list(filterable())


@pytest.fixture(scope="module")
def sixty(store):
    """A tenant of sixty documents with metadata, in the collection that all tests share."""
    documents = [Document(str(n), "everywhere", metadata=m) for n, m in enumerate(METADATA)]
    write(store, *documents, tenant="sixty")
    return store


def typed(name, value):
    if name != "day":
        return value
    moment = datetime.fromisoformat(value)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


BOUNDS = {
    "gt": lambda a, b: a > b,
    "gte": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "lte": lambda a, b: a <= b,
}


def holds(tree, metadata):
    """Filters by their definition."""
    match tree:
        case And():
            return all(holds(part, metadata) for part in tree.parts)
        case Or():
            return any(holds(part, metadata) for part in tree.parts)
        case Not():
            return not holds(tree.part, metadata)
    given = metadata.get(tree.field, [])
    there = [typed(tree.field, v) for v in (given if isinstance(given, list) else [given])]
    match tree.op:
        case "eq":
            return typed(tree.field, tree.value) in there
        case "in":
            return any(typed(tree.field, value) in there for value in tree.value)
        case "range":
            bounds = [(BOUNDS[b], typed(tree.field, v)) for b, v in tree.value.items()]
            return any(all(test(value, bound) for test, bound in bounds) for value in there)
    return bool(there) is (tree.value is not False)


@st.composite
def conditions(draw):
    name = draw(st.sampled_from(sorted(VALUES)))
    values = st.sampled_from(VALUES[name])
    return draw(
        st.one_of(
            st.builds(Condition, st.just(name), st.just("eq"), values),
            st.builds(Condition, st.just(name), st.just("in"), st.lists(values, max_size=3)),
            st.builds(
                Condition,
                st.just(name),
                st.just("range"),
                st.dictionaries(st.sampled_from(sorted(BOUNDS)), values, min_size=1),
            ),
            st.builds(Condition, st.just(name), st.just("exists"), st.sampled_from([True, False])),
        )
    )


TREES = st.recursive(
    conditions(),
    lambda parts: st.one_of(
        parts.map(Not),
        st.lists(parts, max_size=3).map(tuple).map(And),
        st.lists(parts, max_size=3).map(tuple).map(Or),
    ),
    max_leaves=6,
)


def passing(store, tree):
    """The numbers of the sixty that both kinds of leg find through a filter; they agree."""
    asks = [Ask((Match("content", "everywhere"),), 100), Ask((Nearest(vector_of("e")),), 100)]
    held = Restriction(("sixty",), filters.check(tree, store.fields(store.snapshot())))
    words, near = store.rank(store.snapshot(), asks, held)
    ids = {chunk_id("sixty", str(n), 0): n for n in range(len(METADATA))}
    sets = [{ids[hit.chunk_id] for hit in answer.hits} for answer in (words, near)]
    assert sets[0] == sets[1]
    return sets[0]


@settings(
    max_examples=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(tree=TREES)
def test_a_filter_lets_through_what_its_definition_says(sixty, tree):
    assert passing(sixty, tree) == {n for n, m in enumerate(METADATA) if holds(tree, m)}


TWICE = [
    Condition(name, "range", dict(bounds))
    for name, (one, other, *_) in VALUES.items()
    for pair in (("gt", "gte"), ("lt", "lte"))
    for values in ((one, one), (one, other), (other, one))
    for bounds in itertools.permutations(zip(pair, values, strict=True))
]
"""Two bounds on the same side: the narrower counts, in whatever order they come."""


@pytest.mark.parametrize(
    "tree",
    [
        And(()),
        Or(()),
        Not(And(())),
        Condition("team", "in", []),
        *(Condition(name, "eq", value) for name, values in VALUES.items() for value in values),
        *(Condition(name, "exists") for name in VALUES),
        *(Condition(name, "range", {"gte": v[0], "lt": v[1]}) for name, v in VALUES.items()),
        *TWICE,
    ],
    ids=str,
)
def test_each_kind_of_condition_does_what_it_says(sixty, tree):
    assert passing(sixty, tree) == {n for n, m in enumerate(METADATA) if holds(tree, m)}


def test_the_filter_works_before_the_best_are_taken(backend):
    """Three documents far away are all found behind two hundred that are nearer in both legs."""
    store = backend.open()
    near = [
        Document(f"near{n}", "the same words", metadata={"vector": [1, 0, 0, 0.01 * n], "year": 1})
        for n in range(200)
    ]
    far = [
        Document(f"far{n}", "words " * 30, metadata={"vector": [-1, n, 0, 0], "year": 2})
        for n in range(3)
    ]
    write(store, *near, *far)
    wanted = Restriction(filter=Condition("year", "eq", 2))
    for query in (Match("content", "the same words"), Nearest(np.float32([1, 0, 0, 0]))):
        assert set(found(store, query, size=5, restriction=wanted)) == {"far0", "far1", "far2"}


def test_a_field_that_is_declared_later_can_be_filtered_on_after_adding_again(shared):
    name = shared.new_name()
    documents = [Document(str(n), "word", metadata={"year": n, "late": n}) for n in range(4)]
    write(shared.open(name, fields={"year": "integer"}), *documents)
    later = shared.open(name, fields={"late": "integer"})
    write(later, *documents)
    assert dict(later.fields(later.snapshot())) == {"year": "integer", "late": "integer"}
    for field in ("year", "late"):
        tree = Condition(field, "range", {"gte": 2})
        hits = found(later, Match("content", "word"), restriction=Restriction(filter=tree))
        assert sorted(hits) == ["2", "3"]


# --- Tenants --------------------------------------------------------------------------------


def test_two_tenants_may_both_own_a_document_of_the_same_id(store):
    for tenant in ("north", "south"):
        write(store, ("handbook", f"the handbook of {tenant}"), tenant=tenant)
    assert store.chunks("north", "handbook")[0].text == "the handbook of north"
    assert store.delete("north", ["handbook"])[0].status == "deleted"
    store.refresh()
    assert store.heads("north", ["handbook"]) == {}
    assert store.heads("south", ["handbook"])["handbook"].version == 1
    within = Restriction(tenants=("north", "south"))
    hits = rank(store, Match("content", "handbook"), restriction=within).hits
    assert [h.chunk_id for h in hits] == [chunk_id("south", "handbook", 0)]


def test_no_tenant_ever_sees_another_s(store):
    """Random tenants with odd names; every subset of them sees exactly its own."""
    dice = random.Random(3)
    owners = ["", "a", "A", "a b", "é", "*", "a,b", "'; --", "a" * 300]
    texts = {
        (o, str(n)): f"tenancy {dice.random()}" for o in owners for n in range(dice.randint(1, 4))
    }
    for owner in owners:
        mine = [(i, t) for (o, i), t in texts.items() if o == owner]
        write(store, *mine, tenant=owner)
    for _ in range(12):
        scope = tuple(dice.sample(owners, dice.randint(0, 4)))
        expected = {chunk_id(o, i, 0) for o, i in texts if o in scope}
        words, near = store.rank(
            store.snapshot(),
            [Ask((Match("content", "tenancy"),), 100), Ask((Nearest(vector_of("t")),), 100)],
            Restriction(tenants=scope),
        )
        for answer in (words, near):
            assert {hit.chunk_id for hit in answer.hits} == expected
    for owner in owners:
        assert {h.tenant for h in store.scan_heads(owner)} == {owner}


def test_nobody_s_scope_finds_nothing(trees):
    nobody = Restriction(tenants=())
    for query in (Match("content", "amber"), Nearest(np.float32([1, 0, 0, 0]))):
        assert rank(trees, query, restriction=nobody).hits == ()
        assert rank(trees, query, restriction=Restriction(tenants=("nobody",))).hits == ()


# --- Fingerprints ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made(shared):
    """The name of a collection with one document, made with ``SPEC``."""
    name = shared.new_name()
    write(shared.open(name), ("a", "one amber"))
    return name


@pytest.mark.parametrize(
    "change",
    [
        {"space": VectorSpace("another-model", 4)},
        {"space": VectorSpace("by-hand", 8)},
        {"space": replace(stores.SPACE, normalized=False)},
        {"space_type": "l2"},
    ],
    ids=str,
)
def test_another_vector_space_refuses_search_and_write_before_any_call(shared, made, change):
    store, prepare = shared.open(made, **change), preparing()
    for refused in (store.snapshot, lambda: store.write("", [Document("b", "x")], prepare)):
        with pytest.raises(FingerprintMismatch) as caught:
            refused()
        for named in (change, {k: getattr(stores.SPEC, k) for k in change}):
            assert str(*named.values()) in str(caught.value)
    assert prepare.asked == []
    assert [h.document.id for h in shared.open(made).scan_heads()] == ["a"]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"language": "french"}, ("english", "french")),
        ({"chunker": "other"}, ("blank lines", "other")),
        ({"schema_version": 2}, ("1", "2")),
        ({"fields": {"year": "keyword"}}, ("year", "integer", "keyword")),
    ],
    ids=str,
)
def test_what_only_writers_need_refuses_writes_only(shared, made, change, named):
    store, prepare = shared.open(made, **change), preparing()
    assert found(store, Match("content", "amber")) == ["a"]
    with pytest.raises(FingerprintMismatch) as caught:
        store.write("", [Document("b", "x")], prepare)
    assert all(name in str(caught.value) for name in named)
    assert prepare.asked == []
    assert found(store, Match("content", "amber")) == ["a"]


def test_text_only_settings_fit_every_index_to_search(shared, made):
    store = shared.open(made, space=None)
    assert store.snapshot().spec.space == stores.SPACE
    assert found(store, Match("content", "amber")) == ["a"]


def test_an_index_without_vectors_takes_words_and_refuses_vectors(backend):
    store = backend.open(space=None)
    write(store, ("a", "one amber"))
    assert found(store, Match("content", "amber")) == ["a"]
    asks = [Ask((Nearest(vector_of("a")),), 5)]
    [answer] = store.rank(store.snapshot(), asks, stores.EVERYTHING)
    assert isinstance(answer, HybridSearchError)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"year": "number"}, ("year", "'number'", "keyword", "boolean", "date")),
        ({"a.b": "keyword"}, ("'a.b'", "letters, digits")),
        ({"": "keyword"}, ("''", "letters, digits")),
    ],
)
def test_a_field_declared_wrong_is_refused_by_name(backend, fields, named):
    with pytest.raises(InvalidInput) as caught:
        backend.connect(fields=fields)
    assert [name for name in named if name not in str(caught.value)] == []


# --- Hostile queries ------------------------------------------------------------------------

HOSTILE = [
    "10/2019",
    "a:/b",
    "C++ (beta",
    '"open',
    "AND",
    "OR NOT",
    "*:*",
    "\\",
    "\\\\\"'`",
    "_exists_:text",
    "/[a-z]+/",
    "text:{* TO *}",
    "foo~100 ^5",
    "😀👨\u200d👩\u200d👧",
    "'; DROP TABLE chunks; --",
    "NEAR(amber cedar)",
    '{"match_all": {}}',
    "lone \ud800 surrogate",
    "nul \x00 inside",
    "\u202eright to left\u202c",
    "e\u0301" * 500,
    "\u0301\u0301",
    "漢字" * 300,
    "ﷺ" * 50,
    "-" * 2_000,
    " ".join(f"word{n}" for n in range(5_000)),
    " ".join(f"INV-{n}-X" for n in range(2_000)),
    "x" * 20_000,
    "x1-" * 7_000,
    "a/b." * 5_000,
]


@pytest.fixture(scope="module")
def hostile(backend):
    search = backend.connect()
    documents = {f"h{n}": text for n, text in enumerate(HOSTILE) if len(text) < 1_000}
    report = search.add([{"id": i, "text": f"{t} amber"} for i, t in documents.items()])
    assert report.dead == []
    assert report.added == len(documents)
    return search


@pytest.fixture(scope="module")
def plain(backend):
    """A collection that tests with document ids of their own share."""
    return backend.connect()


@pytest.mark.parametrize("query", HOSTILE, ids=lambda q: ascii(q[:16]))
def test_a_hostile_query_is_literal_text_and_never_an_error(hostile, query):
    result = hostile.search(query, strict=True)
    assert result.degraded == ()
    assert {leg.leg for leg in result.legs} == {"bm25", "vector", "identifier"}
    assert all(leg.error == "" for leg in result.legs)
    assert result.total > 0


@pytest.mark.parametrize("query", ["", " ", "\n\t", "\x00", "\u202e"], ids=ascii)
def test_a_query_without_a_word_is_refused(hostile, query):
    with pytest.raises(InvalidInput, match="expected some words"):
        hostile.search(query)


@pytest.mark.parametrize(
    "text", ["\ud800", "a\x00b", "\u202e", "x" * 9_000], ids=lambda t: ascii(t[:9])
)
def test_a_hostile_value_finds_nothing_and_is_no_defect(backend, text):
    search = backend.connect(fields={"team": "keyword"})
    search.add([{"id": "a", "text": "amber", "metadata": {"team": "ops"}}])
    wanted = {"field": "team", "op": "in", "value": [text, "nobody"]}
    if len(text) > 8_191:
        with pytest.raises(InvalidInput, match="team"):
            search.search("amber", filter=wanted)
    else:
        assert search.search("amber", filter=wanted).hits == ()
    assert search.delete(text)[0].status == "absent"
    with pytest.raises(NotFound):
        search.get(text)
    with pytest.raises(NotFound):
        search.explain("amber", text)


def deep(levels):
    return functools.reduce(lambda inner, _: {"a": inner}, range(levels), 1)


@pytest.mark.parametrize(
    ("metadata", "kept"),
    [
        ({"": 1, " ": 2, "a.b": 3, "a": {"b": 4}, "_id": "x", "é\x00": "\x00"}, None),
        ({"whole": 2**63 - 1, "small": -(2**63), "tiny": 5e-324, "odd": 0.1 + 0.2}, None),
        ({"day": datetime(2026, 1, 2, tzinfo=UTC)}, {"day": "2026-01-02T00:00:00+00:00"}),
        ({"cut": "a\ud800"}, {"cut": "a\ufffd"}),
        (deep(200), None),
    ],
    ids=["names", "numbers", "dates", "surrogates", "depth"],
)
def test_odd_metadata_comes_back(plain, metadata, kept):
    assert plain.add([{"id": "odd", "text": "odd", "metadata": metadata}]).dead == []
    assert plain.get("odd").document.metadata == (kept or metadata)
    [hit] = plain.search("odd").hits[:1]
    assert hit.metadata == (kept or metadata)


@pytest.mark.parametrize(
    "metadata",
    [{"n": 2**70}, {"n": math.nan}, {"n": -math.inf}, {"n": b"x"}, {"n": {1, 2}}, deep(2_000)],
    ids=["64 bits", "nan", "infinity", "bytes", "a set", "depth"],
)
def test_metadata_that_is_not_json_is_a_dead_letter_and_the_others_land(plain, metadata, request):
    good = request.node.name
    report = plain.add(
        [{"id": "bad", "text": "x", "metadata": metadata}, {"id": good, "text": "x"}]
    )
    assert (report.added, [(d.document_id, d.status) for d in report.dead]) == (
        1,
        [("bad", "dead")],
    )
    assert "metadata" in report.dead[0].reason


@pytest.mark.parametrize(
    "given", ["cafe\u0301", "a\x00b", "\ud800", "\u202ea", " spaced ", "名前"], ids=ascii
)
def test_a_document_is_found_under_the_id_it_was_added_with(plain, given):
    assert plain.add([{"id": given, "text": "an odd identity"}]).added == 1
    stored = plain.get(given).document.id
    assert plain.explain("identity", given).document_id == stored
    assert [r.status for r in plain.delete(given, "never")] == ["deleted", "absent"]


# --- Several writers ------------------------------------------------------------------------


def test_eight_threads_leave_one_whole_version_of_each_document(backend):
    store, rounds, count = backend.open(), 2, 4
    failures, acknowledged = [], Counter()

    def run(thread):
        for turn in range(rounds):
            parts = 1 + (thread + turn) % 3
            text = "\n\n".join(f"thread{thread} turn{turn} part{p}" for p in range(parts))
            try:
                results = store.write(
                    "", [Document(str(n), text) for n in range(count)], preparing()
                )
            except Exception as error:  # noqa: BLE001 - a thread's failure would be lost
                failures.append(error)
                return
            acknowledged.update(r.document_id for r in results if r.status in ("added", "replaced"))

    threads = [threading.Thread(target=run, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    store.refresh()
    assert acknowledged == {str(n): 8 * rounds for n in range(count)}
    for head in store.scan_heads():
        chunks = store.chunks("", head.document.id)
        assert "\n\n".join(c.text for c in chunks) == head.document.text
        assert (head.chunk_count, head.version, head.complete) == (len(chunks), 8 * rounds, True)
    expected = sum(h.chunk_count for h in store.scan_heads())
    for query in (Match("content", "part0 part1 part2"), Nearest(vector_of("x"))):
        assert len(rank(store, query).hits) == expected


def test_a_second_store_sees_what_the_first_wrote(shared):
    name = shared.new_name()
    first, second = shared.open(name), shared.open(name)
    assert second.snapshot() is None
    write(first, ("a", "amber"), ("b", "birch"))
    assert second.snapshot().spec == stores.SPEC
    assert found(second, Match("content", "amber birch")) == found(
        first, Match("content", "amber birch")
    )
    assert statuses(write(second, ("a", "amber"), ("b", "maple"))) == [
        ("unchanged", 1),
        ("replaced", 2),
    ]
    assert found(first, Match("content", "birch")) == []
    assert found(first, Match("content", "maple")) == ["b"]
    first.delete("", ["a"])
    assert second.heads("", ["a"]) == {}


def test_a_killed_writer_loses_nothing_and_its_rerun_ends_like_an_undisturbed_one(shared):
    """Killed with SIGKILL after the third and after the next tenth acknowledgement, then rerun."""
    name = shared.new_name()
    argument = {
        "kind": shared.kind,
        "folder": str(shared.folder),
        "prefix": shared.prefix,
        "name": name,
    }
    command = [sys.executable, "-m", "tests.contract.stores", json.dumps(argument)]
    texts = {document.id: document.text for document in stores.TO_WRITE}
    for count in (3, 10):
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
            acknowledged = [process.stdout.readline().strip() for _ in range(count)]
            process.kill()
        assert process.returncode == -signal.SIGKILL
        store = shared.open(name)
        heads = store.heads("", acknowledged)
        assert {i: head.document.text for i, head in heads.items()} == {
            i: texts[i] for i in acknowledged
        }
        for i in acknowledged:
            assert "\n\n".join(c.text for c in store.chunks("", i)) == texts[i]
    undisturbed = shared.open()
    for each in (store, undisturbed):
        stores.write_all(each, lambda document_id: None)
        each.refresh()
    assert stores.contents(store) == stores.contents(undisturbed)
    assert len(stores.contents(store)) == len(stores.TO_WRITE)
    status, expected = store.status(), undisturbed.status()
    assert (status.documents, status.chunks, status.pending) == (
        expected.documents,
        expected.chunks,
        0,
    )
    for query in (Match("content", "part 1 of 7"), Nearest(vector_of("any"))):
        assert scores(store, query).keys() == scores(undisturbed, query).keys()
