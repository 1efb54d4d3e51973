"""What every fusion promises, whatever its formula: all chunks once, best first, in one order."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_search import registry
from hybrid_search.domain import RankedHit, Ranking

LEGS = ("bm25", "vector", "identifier")


@st.composite
def rankings(draw):
    """Up to three rankings of few ids, so that they overlap and tie; scores fall with the rank."""
    made = []
    for leg in draw(st.lists(st.sampled_from(LEGS), max_size=3, unique=True)):
        ids = draw(st.lists(st.sampled_from("abcdefgh"), max_size=6, unique=True))
        hits = tuple(RankedHit(i, float(len(ids) - n)) for n, i in enumerate(ids))
        made.append(Ranking(leg, hits, weight=draw(st.sampled_from([0.5, 1.0, 3.0]))))
    return made


@pytest.fixture(params=registry.names("fusion"))
def fusion(request):
    return registry.create("fusion", request.param)


every = settings(max_examples=100, deadline=None, derandomize=True)
names = pytest.mark.parametrize("name", registry.names("fusion"))


@names
@every
@given(made=rankings())
def test_every_chunk_of_every_ranking_comes_once_best_first(name, made):
    fused = registry.create("fusion", name)(made)
    assert sorted(f.chunk_id for f in fused) == sorted({h.chunk_id for r in made for h in r.hits})
    assert [f.score for f in fused] == sorted((f.score for f in fused), reverse=True)


@names
@every
@given(made=rankings())
def test_contributions_say_what_each_ranking_gave_and_sum_to_the_score(name, made):
    for fused in registry.create("fusion", name)(made):
        assert fused.score == math.fsum(c.points for c in fused.contributions)
        expected = {
            (r.leg, r.variant, rank, hit.score)
            for r in made
            for rank, hit in enumerate(r.hits, 1)
            if hit.chunk_id == fused.chunk_id
        }
        given_ = {(c.leg, c.variant, c.rank, c.raw_score) for c in fused.contributions}
        assert given_ == expected


@names
@every
@given(made=rankings())
def test_the_order_in_which_legs_answer_changes_nothing(name, made):
    fuse = registry.create("fusion", name)
    expected = [(f.chunk_id, f.score) for f in fuse(made)]
    for order in itertools.permutations(made):
        assert [(f.chunk_id, f.score) for f in fuse(list(order))] == expected


@names
@every
@given(made=rankings())
def test_ties_are_broken_by_the_best_single_rank_then_by_id(name, made):
    fused = registry.create("fusion", name)(made)
    keys = [(-f.score, min(c.rank for c in f.contributions), f.chunk_id) for f in fused]
    assert keys == sorted(keys)


def test_one_ranking_keeps_its_order(fusion):
    hits = tuple(RankedHit(i, score) for i, score in zip("cab", (3.0, 2.0, 1.0), strict=True))
    assert [f.chunk_id for f in fusion([Ranking("bm25", hits)])] == ["c", "a", "b"]


def test_nothing_fuses_to_nothing(fusion):
    assert fusion([]) == []
    assert fusion([Ranking("bm25", ()), Ranking("vector", ())]) == []


def test_a_fusion_is_pure(fusion):
    made = [Ranking(leg, (RankedHit("a", 2.0), RankedHit("b", 1.0))) for leg in LEGS]
    assert fusion(made) == fusion(made)
