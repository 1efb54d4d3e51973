"""Reciprocal Rank Fusion: the sum over rankings of weight / (rank_constant + rank).

Cormack, Clarke and Buettcher, SIGIR 2009. Ranks start at 1; a chunk that a ranking does not hold
gets nothing from it. An RRF score is a position, not a confidence: never threshold it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING

from hybrid_search.domain import Fused
from hybrid_search.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hybrid_search.domain import Ranking
    from hybrid_search.protocols import Fusion


@dataclass(frozen=True, slots=True)
class RRF:
    """The fusion with its constant and its weights by leg (1 for a leg not named)."""

    rank_constant: float = 60
    weights: Mapping[str, float] = field(default_factory=dict)

    def __call__(self, rankings: Sequence[Ranking]) -> list[Fused]:
        """Fuse the rankings of one variant, best first; ties by best single rank, then id."""
        found: defaultdict[str, list[tuple[str, str, int, float, float]]] = defaultdict(list)
        for ranking in rankings:
            leg, variant = ranking.leg, ranking.variant
            weight = ranking.weight * self.weights.get(leg, 1.0)
            for rank, hit in enumerate(ranking.hits, 1):
                points = weight / (self.rank_constant + rank)
                found[hit.chunk_id].append((leg, variant, rank, hit.score, points))
        order = []
        for chunk_id, parts in found.items():
            _, _, rank, _, score = parts[0]
            if len(parts) > 1:
                score = math.fsum([part[4] for part in parts])
                rank = min([part[2] for part in parts])
            order.append((-score, rank, chunk_id, parts))
        order.sort()
        return [Fused(chunk_id, -score, tuple(parts)) for score, _, chunk_id, parts in order]


def create(rank_constant: float = 60, weights: Mapping[str, float] | None = None) -> Fusion:
    """Make the fusion. Raises ``InvalidInput`` for a negative or infinite constant or weight.

    With the founding example, k = 1, vector [2, 7, 6] and BM25 [6, 2, 7]:

    >>> from hybrid_search.domain import RankedHit, Ranking
    >>> rank = lambda leg, ids: Ranking(leg, tuple(RankedHit(i, 0.0) for i in ids))
    >>> fused = create(rank_constant=1)([rank("vector", "276"), rank("bm25", "627")])
    >>> [(f.chunk_id, round(f.score, 4)) for f in fused]
    [('2', 0.8333), ('6', 0.75), ('7', 0.5833)]
    """
    if not _usable(rank_constant):
        raise InvalidInput(f"rank_constant is {rank_constant!r}: expected a number of 0 or more")
    for leg, weight in (weights or {}).items():
        if not _usable(weight):
            raise InvalidInput(f"weight of {leg} is {weight!r}: expected a number of 0 or more")
    return RRF(rank_constant, weights or {})


def _usable(number: object) -> bool:
    return isinstance(number, Real) and 0 <= float(number) < math.inf
