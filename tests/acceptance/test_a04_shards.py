"""A4: how many shards an index has changes neither the ranks nor the size of the window."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from hybrid_search.embedders import function
from tests.acceptance import given

if TYPE_CHECKING:
    from hybrid_search.domain import Ranking, SearchResult

COUNT = 300
WINDOW = 20
K = 60
NEEDLE = 250
"""The one document that the query hits lexically; its vector is far outside the window."""


def text_of(number: int) -> str:
    return f"note {number} needle" if number == NEEDLE else f"note {number}"


def direction(text: str) -> list[float]:
    """The vector of note n stands n steps from the query's, all within a right angle."""
    number = int(text.split()[1]) if text.startswith("note ") else 0
    angle = math.pi / 2 * number / COUNT
    return [math.cos(angle), math.sin(angle)]


def ranking_of(found: SearchResult, leg: str) -> Ranking:
    [ranking] = [ranking for ranking in found.rankings if ranking.leg == leg]
    return ranking


@pytest.mark.parametrize("shards", [1, 3])
def test_the_ranks_do_not_depend_on_shards(place: given.Place, shards: int) -> None:
    by_hand = function.create(direction, dimensions=2, name="by-hand")
    with place.connect(embedder=by_hand, shards=shards) as search:
        report = search.add({"id": f"n{n}", "text": text_of(n)} for n in range(COUNT))
        assert (report.added, report.dead) == (COUNT, [])
        assert search.status().spec.shards == shards
        found = search.search("needle", top_k=WINDOW, candidates=WINDOW, rank_constant=K)
        every = {hit.id: hit.document_id for hit in search.search("needle", top_k=COUNT).hits}
    assert len(every) == COUNT
    vector = [every[hit.chunk_id] for hit in ranking_of(found, "vector").hits]
    assert vector == [f"n{n}" for n in range(WINDOW)]
    assert [every[hit.chunk_id] for hit in ranking_of(found, "bm25").hits] == [f"n{NEEDLE}"]
    assert found.degraded == ()
    assert found.total == WINDOW
    # The needle is first in one leg, as n0 is; then the vector leg's own order, less its last.
    assert set(given.ids(found.hits[:2])) == {f"n{NEEDLE}", "n0"}
    assert given.ids(found.hits[2:]) == [f"n{n}" for n in range(1, WINDOW - 1)]
    ranks = [1, *range(1, WINDOW)]
    assert [hit.score for hit in found.hits] == [1 / (K + rank) for rank in ranks]
