"""BM25 against Lucene's formula written out, on small collections full of ties."""

from __future__ import annotations

import math
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_search.domain import Constant, Document, Match, Restriction, Scored
from tests.unit.backends.embedded_helpers import found, opened, rank, write

WORDS = ["red", "green", "blue", "the", "x1", "long-code"]
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)
collections = st.lists(texts, min_size=1, max_size=9)
queries = st.lists(st.sampled_from([*WORDS, "absent"]), min_size=1, max_size=5).map(" ".join)


def lucene(texts, query):
    """``sum qtf * ln(1 + (N - df + .5) / (df + .5)) * tf / (tf + 1.2 (.25 + .75 len / avg))``."""
    bags = [Counter(text.replace("-", " ").split()) for text in texts]
    lengths = [sum(bag.values()) for bag in bags]
    average = sum(lengths) / len(bags)
    scores = np.zeros(len(bags))
    for term, times in Counter(query.replace("-", " ").split()).items():
        df = sum(term in bag for bag in bags)
        idf = math.log(1 + (len(bags) - df + 0.5) / (df + 0.5))
        for i, bag in enumerate(bags):
            if term in bag:
                norm = 1.2 * (0.25 + 0.75 * lengths[i] / average)
                scores[i] += times * idf * bag[term] / (bag[term] + norm)
    return scores.astype(np.float32)


def expected(store, scores, allowed=None):
    """Pairs of chunk id and score, by score and then by id."""
    ids = {
        head.document.id: store.chunks(head.tenant, head.document.id)[0].id
        for head in store.scan_heads()
    }
    pairs = [
        (ids[f"d{i}"], float(score))
        for i, score in enumerate(scores)
        if score > 0 and (allowed is None or i in allowed)
    ]
    return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))


@settings(max_examples=60, deadline=None)
@given(collections, queries)
def test_scores_and_order_are_lucenes(texts, query):
    with opened() as store:
        write(store, *((f"d{i}", text) for i, text in enumerate(texts)))
        wanted = expected(store, lucene(texts, query))
        hits = rank(store, Match("content", query)).hits
        assert [hit.chunk_id for hit in hits] == [i for i, _ in wanted]
        assert [hit.score for hit in hits] == pytest.approx([s for _, s in wanted], rel=1e-6)
        assert rank(store, Match("content", query), size=2).hits == hits[:2]


@settings(max_examples=20, deadline=None)
@given(collections, queries, st.data())
def test_statistics_are_of_the_live_chunks_whatever_the_filter(texts, query, data):
    """Documents replaced, deleted, of another tenant: only what is live counts, all of it."""
    tenants = data.draw(st.lists(st.sampled_from("ab"), min_size=len(texts), max_size=len(texts)))
    with opened() as store:
        for i, tenant in enumerate(tenants):
            write(store, (f"d{i}", "red red stale"), ("gone", "red blue green"), tenant=tenant)
        for i, tenant in enumerate(tenants):
            write(store, (f"d{i}", texts[i]), tenant=tenant)
            store.delete(tenant, ["gone"])
        allowed = {i for i, tenant in enumerate(tenants) if tenant == "a"}
        hits = rank(store, Match("content", query), restriction=Restriction(("a",))).hits
        wanted = expected(store, lucene(texts, query), allowed)
        assert [(hit.chunk_id, pytest.approx(hit.score, rel=1e-6)) for hit in hits] == wanted


@settings(max_examples=40, deadline=None)
@given(collections, st.lists(st.sampled_from(["red", "green", "x1"]), min_size=1, max_size=4))
def test_every_and_phrase(texts, words):
    with opened() as store:
        write(store, *((f"d{i}", text) for i, text in enumerate(texts)))
        tokens = [text.replace("-", " ").split() for text in texts]
        every = {f"d{i}" for i, t in enumerate(tokens) if set(words) <= set(t)}
        assert set(found(store, " ".join(words), every=True)) == every
        adjacent = {
            f"d{i}"
            for i, t in enumerate(tokens)
            if any(t[at : at + len(words)] == words for at in range(len(t)))
        }
        assert set(found(store, " ".join(words), phrase=True)) == adjacent


def test_a_phrase_scores_like_one_rare_term():
    texts = ["red green red green", "green red x1 red", "red green blue blue"]
    with opened() as store:
        write(store, *((f"d{i}", text) for i, text in enumerate(texts)))
        hits = rank(store, Match("content", "red green", phrase=True)).hits
        idf = 2 * math.log(1 + 0.5 / 3.5)
        by_document = {hit.document_id: hit.score for hit in hits}
        assert by_document == pytest.approx({"d0": idf * 2 / 3.2, "d2": idf / 2.2})


def test_equal_sums_tie_whatever_the_order_of_their_parts():
    with opened() as store:
        texts = [
            f"red {'green ' * g}{'blue ' * b}{'x1 ' * x}" for g, b, x in permutations((1, 2, 5))
        ]
        write(store, *((f"d{i}", text) for i, text in enumerate(texts)))
        hits = rank(store, Match("content", "green blue x1")).hits
        assert len({hit.score for hit in hits}) == 1
        assert [hit.chunk_id for hit in hits] == sorted(hit.chunk_id for hit in hits)


def test_codes_parts_and_content_are_separate():
    with opened() as store:
        write(store, ("a", "see INV-2024-7831."), ("b", "INV 2024 and 7831"), ("c", "part-nn44-x"))
        assert found(store, "inv-2024-7831", "codes") == ["a"]
        assert found(store, "INV-2024-7831", "parts", phrase=True) == ["a"]
        assert set(found(store, "inv 2024", "parts", phrase=True)) == {"a", "b"}
        assert found(store, "nn44", "parts") == found(store, "nn44") == ["c"]
        assert found(store, "nn44", "codes") == []


@pytest.mark.parametrize("language", ["standard", "french", "german"])
def test_codes_and_accents_come_first(language):
    with opened(language=language) as store:
        write(
            store,
            ("1", "INV-2024-7831"), ("2", "INV-2024-7832"),
            ("3", "part-nn44-x"), ("4", "Zu\u0308rich cafe\u0301"),
        )  # fmt: skip
        assert found(store, "INV-2024-7831")[0] == "1"
        assert found(store, "nn44")[0] == "3"
        assert found(store, "zurich cafe")[0] == "4"


def test_titles_and_headings_are_searched_too():
    with opened() as store:
        write(store, Document("a", "body", title="Heading words"))
        assert found(store, "heading body", every=True) == ["a"]


def test_constants_and_scored_combine():
    with opened() as store:
        write(store, ("a", "red blue"), ("b", "red green green"), ("c", "blue"))
        red, green, blue = (Match("content", word) for word in ("red", "green", "blue"))
        scores = {h.document_id: h.score for h in rank(store, red).hits}
        greens = {h.document_id: h.score for h in rank(store, green).hits}
        assert [h.score for h in rank(store, Constant(red, 3.5)).hits] == [3.5, 3.5]
        both = rank(store, Scored((red,), (green,))).hits
        assert {h.document_id: h.score for h in both} == pytest.approx(
            {"a": scores["a"], "b": scores["b"] + greens["b"]}
        )
        counted = Scored((Constant(red, 100), Constant(blue, 100)), (green,), every=False)
        hits = rank(store, counted).hits
        assert hits[0].document_id == "a"
        assert {h.document_id: h.score for h in hits} == pytest.approx(
            {"a": 200, "b": 100 + greens["b"], "c": 100}
        )
        nested = Scored((Scored((red, blue), every=False), Constant(green)))
        assert [h.document_id for h in rank(store, nested).hits] == ["b"]


def test_alternatives_limit_and_only():
    with opened() as store:
        write(store, ("a", "red"), ("b", "red blue"), ("c", "blue"))
        absent, red, blue = (Match("content", word) for word in ("absent", "red", "blue"))
        assert rank(store, absent, red, blue).hits == rank(store, red).hits
        assert len(rank(store, red, limit=2).hits) == 2
        assert rank(store, red, blue, limit=1).hits == ()
        [chunk] = store.chunks("", "b")
        assert [h.document_id for h in rank(store, red, only=(chunk.id, "unknown")).hits] == ["b"]
        assert rank(store, red, only=("unknown",)).hits == ()


def test_stop_words_alone_find_nothing():
    with opened(language="english") as store:
        write(store, ("a", "the cat is on the mat"))
        assert found(store, "the is on") == []
        assert found(store, "the is on", every=True) == []
        assert found(store, "the", phrase=True) == []
        assert found(store, "the cats", every=True) == ["a"]
