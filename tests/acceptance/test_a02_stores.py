"""A2: Reciprocal Rank Fusion to the digit, and the page size decides nothing."""

from __future__ import annotations

import pytest

from hybrid_search import registry
from hybrid_search.schema import chunk_id
from tests.contract import stores

backend = stores.over(stores.KINDS)

TEXTS = {"d1": "amber amber", "d2": "amber and cedar", "d3": "birch", "d4": "maple"}
VECTORS = {"d1": [0, 0, 1], "d2": [1, 0, 0], "d3": [3, 1, 0], "d4": [1, 1, 0], "amber": [1, 0, 0]}
LEXICAL = ["d1", "d2"]
NEAREST = ["d2", "d3", "d4"]
K = 1


def expected():
    """The formula itself: the sum over rankings of 1 / (k + rank)."""
    scores = dict.fromkeys(TEXTS, 0.0)
    for ranking in (LEXICAL, NEAREST):
        for rank, name in enumerate(ranking, 1):
            scores[name] += 1 / (K + rank)
    return scores


@pytest.fixture(scope="module")
def search(backend):
    by_text = {TEXTS.get(name, name): vector for name, vector in VECTORS.items()}
    function = registry.create("embedders", "function", function=by_text.__getitem__, dimensions=3)
    made = backend.connect(embedder=function, legs=("bm25", "vector"))
    assert made.add([{"id": i, "text": t} for i, t in TEXTS.items()]).added == len(TEXTS)
    return made


def test_the_legs_rank_as_the_case_says(search):
    result = search.search("amber", candidates=3, rank_constant=K)
    names = {chunk_id("", name, 0): name for name in TEXTS}
    rankings = {r.leg: [names[hit.chunk_id] for hit in r.hits] for r in result.rankings}
    assert rankings == {"bm25": LEXICAL, "vector": NEAREST}


@pytest.mark.parametrize("size", [1, 2, 3])
def test_scores_are_exact_whatever_the_page_size(search, size):
    result = search.search("amber", candidates=3, rank_constant=K, top_k=size)
    best = sorted(expected().items(), key=lambda item: -item[1])[:size]
    assert [hit.document_id for hit in result.hits] == [name for name, _ in best]
    assert [hit.score for hit in result.hits] == pytest.approx([score for _, score in best])
    assert best[0] == ("d2", pytest.approx(0.8333, abs=5e-5))


def test_every_hit_says_where_its_points_come_from(search):
    best = search.search("amber", candidates=3, rank_constant=K).hits[0]
    assert [(c.leg, c.rank, c.points) for c in best.contributions] == [
        ("bm25", 2, 1 / (K + 2)),
        ("vector", 1, 1 / (K + 1)),
    ]
    assert best.fused_score == best.score == sum(c.points for c in best.contributions)
    assert best.variant_scores == {"direct": best.score}
