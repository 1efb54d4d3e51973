"""A3: equal scores have one order: by best single rank, then id, whoever answers first."""

from __future__ import annotations

import os
import subprocess
import sys
from threading import Event
from typing import Any

import pytest

from hybrid_search import Retriever
from hybrid_search.domain import RankedHit, Ranking
from hybrid_search.fusion import rrf
from hybrid_search.schema import chunk_id

RUNS = 200
PATIENCE = 10.0

SCRIPT = """
from hybrid_search import Retriever

class Ranked:
    def __init__(self, *order): self.order = order
    def add_document(self, document): pass
    def search(self, query, k): return [({"id": i, "content": i}, 1.0) for i in self.order]

names = [f"n{i}" for i in range(20)]
few = Retriever(Ranked("x", "y"), Ranked("y", "x"))
many = Retriever(Ranked(*names), Ranked(*reversed(names)))
both = [few.search("q", k=2), many.search("q", k=20)]
print([[(d["id"], score) for d, score in found] for found in both])
"""


class Leg:
    """An index that answers once it may, and says when it has."""

    def __init__(self, *order: str) -> None:
        self.order = order
        self.may_answer, self.answered = Event(), Event()

    def add_document(self, document: Any) -> None:
        raise NotImplementedError

    def search(self, query: str, k: int) -> list[tuple[Any, float]]:
        assert self.may_answer.wait(PATIENCE)
        self.answered.set()
        return [({"id": one, "content": one}, 1.0) for one in self.order]


def test_two_hundred_runs_with_either_leg_first_give_one_order() -> None:
    wanted = sorted("xy", key=lambda one: chunk_id("", one, 0))
    score = pytest.approx(1 / 61 + 1 / 62, abs=1e-15)
    for run in range(RUNS):
        legs = [Leg("x", "y"), Leg("y", "x")]
        first, second = legs if run % 2 else legs[::-1]
        second.may_answer = first.answered  # the second waits for the first
        first.may_answer.set()
        retriever = Retriever(*legs)
        found = retriever.search("anything", k=2)
        retriever.close()
        assert [(d["id"], s) for d, s in found] == [(one, score) for one in wanted]


@pytest.mark.parametrize(("once", "twice"), [("a", "b"), ("b", "a")])
def test_the_better_single_rank_comes_first_then_the_id(once: str, twice: str) -> None:
    """With k = 0, a first place is worth two second places: 1/1 == 1/2 + 1/2."""
    orders = ((once, twice), ("c", twice))
    rankings = [
        Ranking(f"leg{n}", tuple(RankedHit(one, 0.0) for one in order))
        for n, order in enumerate(orders)
    ]
    for given in (rankings, rankings[::-1]):
        fused = rrf.create(rank_constant=0)(given)
        assert [(f.chunk_id, f.score) for f in fused] == [(once, 1.0), ("c", 1.0), (twice, 1.0)]


def test_the_order_does_not_depend_on_the_hash_seed() -> None:
    seen = set()
    for seed in ("0", "1", "4242"):
        run = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        seen.add(run.stdout)
    assert len(seen) == 1
    assert "'x'" in seen.pop()
