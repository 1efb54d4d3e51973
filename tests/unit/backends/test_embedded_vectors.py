"""Vector ranks against brute force, in every space, with and without a filter."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_search.domain import Nearest, Restriction
from hybrid_search.errors import InvalidInput
from tests.unit.backends.embedded_helpers import SPACE, opened, rank, write

vectors = st.lists(st.integers(-3, 3), min_size=SPACE.dimensions, max_size=SPACE.dimensions).filter(
    any
)
SCORES = {
    "cosinesimil": lambda v, q: (1 + v @ q / np.linalg.norm(v) / np.linalg.norm(q)) / 2,
    "innerproduct": lambda v, q: 1 + v @ q if v @ q >= 0 else 1 / (1 - v @ q),
    "l2": lambda v, q: 1 / (1 + (v - q) @ (v - q)),
}


@settings(max_examples=90, deadline=None)
@given(
    st.sampled_from(sorted(SCORES)),
    st.lists(st.tuples(vectors, st.sampled_from("ab")), min_size=1, max_size=12),
    vectors,
    st.integers(1, 12),
)
def test_scores_are_exact_and_filtered_before_the_best_are_taken(space_type, given_, query, size):
    by_text = {f"t{i}": np.array(vector, np.float32) for i, (vector, _) in enumerate(given_)}
    with opened(space_type=space_type) as store:
        for i, (_, tenant) in enumerate(given_):
            write(store, (f"d{i}", f"t{i}"), tenant=tenant, vectors=by_text.get)
        for tenants in (None, ("a",)):
            asked = Nearest(np.array(query, np.float32))
            hits = rank(store, asked, size=size, restriction=Restriction(tenants)).hits
            exact = {
                f"d{i}": SCORES[space_type](np.array(vector, float), np.array(query, float))
                for i, (vector, tenant) in enumerate(given_)
                if tenants is None or tenant in tenants
            }
            assert len(hits) == min(size, len(exact))
            for hit in hits:
                assert hit.score == pytest.approx(exact[hit.document_id], abs=1e-6)
            best = sorted(exact.values(), reverse=True)[:size]
            assert [hit.score for hit in hits] == pytest.approx(best, abs=1e-6)
            assert list(hits) == sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id))


def test_equal_vectors_tie_wherever_they_stand():
    random = np.random.default_rng(3)
    same, by_text = random.normal(size=4).astype(np.float32), {}
    for i in range(500):
        by_text[f"t{i}"] = same if i % 50 == 0 else random.normal(size=4).astype(np.float32)
    with opened() as store:
        write(store, *((f"d{i}", f"t{i}") for i in range(500)), vectors=by_text.get)
        hits = rank(store, Nearest(same), size=10).hits
        assert {hit.document_id for hit in hits} == {f"d{i}" for i in range(0, 500, 50)}
        assert len({hit.score for hit in hits}) == 1
        assert [hit.chunk_id for hit in hits] == sorted(hit.chunk_id for hit in hits)


@pytest.mark.parametrize(
    ("vector", "message"),
    [
        ([1, 2, 3], "has 3 dimensions, the index has 4"),
        ([1, 2, 3, float("nan")], "not finite"),
        ([1, 2, 3, float("inf")], "not finite"),
        ([0, 0, 0, 0], "is zero"),
    ],
)
def test_a_vector_that_does_not_fit_is_refused(vector, message):
    with opened() as store:
        write(store, ("a", "word"))
        with pytest.raises(InvalidInput, match=message):
            rank(store, Nearest(np.array(vector, np.float32)))


@pytest.mark.parametrize(
    ("vector", "reason"),
    [
        (np.ones(3, np.float32), "chunk 0: its vector has 3 dimensions, the index has 4"),
        (np.zeros(4, np.float32), "chunk 0: its vector is zero"),
        (np.array([1, 1, 1, np.nan], np.float32), "chunk 0: .* not finite"),
        (None, "chunk 0: has no vector"),
    ],
)
def test_a_document_with_a_bad_vector_is_dead_and_the_others_are_stored(vector, reason):
    good = np.ones(4, np.float32)
    with opened() as store:
        results = write(
            store, ("bad", "bad"), ("good", "good"),
            vectors=lambda text: vector if text == "bad" else good,
        )  # fmt: skip
        assert [result.status for result in results] == ["dead", "added"]
        assert re.search(reason, results[0].reason)
        assert [hit.document_id for hit in rank(store, Nearest(good)).hits] == ["good"]


def test_an_index_without_vectors_says_so():
    with opened(space=None) as store:
        write(store, ("a", "word"))
        with pytest.raises(InvalidInput, match="holds no vectors"):
            rank(store, Nearest(np.ones(4, np.float32)))
