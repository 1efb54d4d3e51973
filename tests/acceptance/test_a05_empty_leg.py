"""A5: a leg that finds nothing leaves the other's order; finding nothing at all is no error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hybrid_search.embedders import function
from hybrid_search.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hybrid_search.hybrid import HybridSearch
    from tests.acceptance import given

COUNT = 5
UNKNOWN = "zzqx17"


def direction(text: str) -> list[float]:
    """Note n is the (n + 1)-th nearest to every query."""
    return [1.0, float(text.split()[1]) if text.startswith("note ") else -1.0]


@pytest.fixture
def search(place: given.Place) -> Iterator[HybridSearch]:
    by_hand = function.create(direction, dimensions=2, name="by-hand")
    with place.connect(embedder=by_hand, fields={"team": "keyword"}) as opened:
        opened.add(
            {"id": f"n{n}", "text": f"note {n}", "metadata": {"team": "ops"}} for n in range(COUNT)
        )
        yield opened


@pytest.mark.parametrize("constant", [0, 1, 60])
def test_without_a_lexical_match_the_vector_order_stands(
    search: HybridSearch, constant: int
) -> None:
    found = search.search(UNKNOWN, rank_constant=constant)
    assert [(hit.document_id, hit.score) for hit in found.hits] == [
        (f"n{rank - 1}", 1 / (constant + rank)) for rank in range(1, COUNT + 1)
    ]
    assert [[c.leg for c in hit.contributions] for hit in found.hits] == [["vector"]] * COUNT
    assert {leg.leg: leg.hits for leg in found.legs} == {
        "bm25": 0,
        "vector": COUNT,
        "identifier": 0,
    }
    assert found.degraded == ()


@pytest.mark.parametrize(
    "nothing",
    [
        {"field": "team", "op": "eq", "value": "none such"},
        {"field": "team", "op": "in", "value": []},
        {"field": "team", "op": "exists", "value": False},
    ],
    ids=["eq", "in", "absent"],
)
def test_a_filter_that_matches_nothing_gives_no_hits(
    search: HybridSearch, nothing: dict[str, Any]
) -> None:
    assert search.search("note").total == COUNT
    found = search.search("note", filter=nothing)
    assert (found.hits, found.total, found.degraded) == ((), 0, ())


@pytest.mark.parametrize("top_k", [0, -1])
def test_a_page_of_nothing_is_a_clear_error(search: HybridSearch, top_k: int) -> None:
    with pytest.raises(ValueError, match=f"top_k is {top_k}: expected") as refusal:
        search.search("note", top_k=top_k)
    assert isinstance(refusal.value, InvalidInput)
    assert refusal.value.http_status == 422
