"""Reciprocal Rank Fusion: expected values are the formula, weight / (rank_constant + rank)."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_search.domain import Contribution, RankedHit, Ranking
from hybrid_search.errors import InvalidInput
from hybrid_search.fusion import rrf

IDS = "abcdefghij"


def ranking(leg, ids, weight=1.0, score=0.0):
    return Ranking(leg, tuple(RankedHit(i, score) for i in ids), weight=weight)


def order(fused):
    return [one.chunk_id for one in fused]


rankings = st.lists(
    st.tuples(
        st.permutations(IDS).flatmap(lambda ids: st.integers(0, 10).map(lambda n: ids[:n])),
        st.floats(0, 10),
    ),
    max_size=5,
).map(lambda made: [ranking(f"leg{n}", *one) for n, one in enumerate(made)])
constants = st.floats(0, 1000)


@settings(deadline=None)
@given(rankings, constants, st.randoms())
def test_the_order_of_the_rankings_changes_no_bit(given_rankings, constant, random):
    fuse = rrf.create(constant)
    shuffled = random.sample(given_rankings, len(given_rankings))
    one = [(f.chunk_id, f.score.hex()) for f in fuse(given_rankings)]
    assert [(f.chunk_id, f.score.hex()) for f in fuse(shuffled)] == one


@settings(deadline=None)
@given(rankings, constants)
def test_contributions_are_the_formula_and_sum_to_the_score(given_rankings, constant):
    for fused in rrf.create(constant)(given_rankings):
        held = [r for r in given_rankings if fused.chunk_id in [h.chunk_id for h in r.hits]]
        assert [c.leg for c in fused.contributions] == [r.leg for r in held]
        for part, one in zip(fused.contributions, held, strict=True):
            assert one.hits[part.rank - 1].chunk_id == fused.chunk_id
            assert part.points == one.weight / (constant + part.rank)
        assert fused.score == math.fsum(c.points for c in fused.contributions)


@settings(deadline=None)
@given(rankings, constants)
def test_every_chunk_comes_once_best_first(given_rankings, constant):
    fused = rrf.create(constant)(given_rankings)
    assert sorted(order(fused)) == sorted({h.chunk_id for r in given_rankings for h in r.hits})
    keys = [(-f.score, min(c.rank for c in f.contributions), f.chunk_id) for f in fused]
    assert keys == sorted(keys)


@settings(deadline=None)
@given(rankings, constants, st.floats(0.1, 10))
def test_a_leg_with_weight_nought_changes_no_order_of_what_others_found(rs, constant, weight):
    extra = ranking("extra", reversed(IDS), weight)
    without = rrf.create(constant)(rs)
    muted = rrf.create(constant, {"extra": 0.0})([*rs, extra])
    scores = {f.chunk_id: f.score for f in muted}
    assert all(scores[f.chunk_id] == f.score for f in without)


def test_the_founding_example():
    fused = rrf.create(rank_constant=1)([ranking("vector", "276"), ranking("bm25", "627")])
    exact = {
        "2": Fraction(1, 1 + 1) + Fraction(1, 1 + 2),
        "6": Fraction(1, 1 + 3) + Fraction(1, 1 + 1),
        "7": Fraction(1, 1 + 2) + Fraction(1, 1 + 3),
    }
    assert [(f.chunk_id, f.score) for f in fused] == [
        (chunk, pytest.approx(float(points), rel=1e-15)) for chunk, points in exact.items()
    ]


def test_the_constant_decides_how_much_a_first_place_is_worth():
    rankings = [ranking("bm25", "axyb"), ranking("vector", "zwub")]
    # once first: 1/(k+1); twice fourth: 2/(k+4); equal at k = 2
    for constant, best in ((0, "a"), (1, "a"), (3, "b"), (60, "b")):
        assert (2 / (constant + 4) > 1 / (constant + 1)) == (best == "b")
        assert rrf.create(constant)(rankings)[0].chunk_id == best


def test_the_default_constant_is_60():
    [fused] = rrf.create()([ranking("bm25", "a")])
    assert fused.score == 1 / (60 + 1)


def test_absent_from_a_ranking_is_no_contribution():
    fused = rrf.create()([ranking("bm25", "ab"), ranking("vector", "b"), ranking("empty", "")])
    by_id = {f.chunk_id: f for f in fused}
    assert [c.leg for c in by_id["a"].contributions] == ["bm25"]
    assert by_id["a"].score == 1 / 61
    assert by_id["b"].score == math.fsum([1 / 62, 1 / 61])


def test_ranks_count_and_raw_scores_only_travel():
    hits = (RankedHit("a", -3.5), RankedHit("b", math.nan), RankedHit("c", 1e9))
    fused = rrf.create()([Ranking("bm25", hits)])
    assert order(fused) == ["a", "b", "c"]
    assert fused[0].contributions == (Contribution("bm25", "direct", 1, -3.5, 1 / 61),)
    assert [f.contributions[0].raw_score for f in fused][2] == 1e9


def test_equal_points_go_by_the_best_single_rank():
    weights = {"half": 0.5}
    # x: 0.5/(0+1) in half; y: 1/(0+2) in full
    fused = rrf.create(0, weights)([ranking("full", "zy"), ranking("half", "x")])
    assert [(f.chunk_id, f.score) for f in fused] == [("z", 1.0), ("x", 0.5), ("y", 0.5)]


def test_equal_points_and_ranks_go_by_id():
    fused = rrf.create()([ranking("bm25", "ba"), ranking("vector", "ab")])
    assert fused[0].score == fused[1].score
    assert order(fused) == ["a", "b"]


def test_weights_of_leg_and_variant_multiply():
    [fused] = rrf.create(10, {"bm25": 3})([ranking("bm25", "a", weight=0.5)])
    assert fused.score == 0.5 * 3 / (10 + 1)


def test_no_rankings_no_hits():
    assert rrf.create()([]) == []


@pytest.mark.parametrize("bad", [-1, -0.001, math.inf, -math.inf, math.nan, "60", None])
def test_a_bad_constant_is_named(bad):
    with pytest.raises(InvalidInput) as raised:
        rrf.create(bad)
    assert str(raised.value) == f"rank_constant is {bad!r}: expected a number of 0 or more"


@pytest.mark.parametrize("bad", [-1, math.inf, math.nan, "2"])
def test_a_bad_weight_is_named_with_its_leg(bad):
    with pytest.raises(InvalidInput) as raised:
        rrf.create(60, {"bm25": 1, "vector": bad})
    assert str(raised.value) == f"weight of vector is {bad!r}: expected a number of 0 or more"
