"""The fusion alone: two rankings of a thousand hits each, half of them the same."""

from __future__ import annotations

from functools import partial

from hybrid_search import registry
from hybrid_search.domain import RankedHit, Ranking
from hybrid_search.schema import chunk_id
from scripts.bench_parts.report import TIMING_COLUMNS, Table, Target, Timings

LENGTH = 1_000
ROUNDS = 300
AT_MOST_MS = 2.0


def run() -> list[Table]:
    """Measure; the floor is the bare sum of reciprocal ranks, sorted, that explains nothing."""
    ids = [chunk_id("", str(number), 0) for number in range(LENGTH * 3 // 2)]
    halves = {"bm25": ids[:LENGTH], "vector": ids[: LENGTH // 2 - 1 : -1]}
    rankings = [
        Ranking(leg, tuple(RankedHit(key, 1.0) for key in keys)) for leg, keys in halves.items()
    ]
    rrf = registry.create("fusion", "rrf")
    timings = Timings()
    names = ("bare sum", "RRF with contributions and the tie rule")
    calls = dict(zip(names, (partial(_bare, rankings), partial(rrf, rankings)), strict=True))
    for _ in range(ROUNDS):
        timings.interleave(calls)
    target = Target(f"p50 ms of fusing two lists of {LENGTH:,}", timings.p50(names[1]), AT_MOST_MS)
    title = f"Fusing two rankings of {LENGTH:,}"
    return [Table(title, TIMING_COLUMNS, tuple(timings.rows(names[0])), (target,))]


def _bare(rankings: list[Ranking]) -> list[tuple[str, float]]:
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, hit in enumerate(ranking.hits, 1):
            scores[hit.chunk_id] = scores.get(hit.chunk_id, 0.0) + 1 / (60 + rank)
    return sorted(scores.items(), key=lambda pair: -pair[1])
