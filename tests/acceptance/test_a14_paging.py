"""A14: pages are slices of one window: nothing twice, nothing left out, and an explicit end."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from hybrid_search.embedders import function
from hybrid_search.errors import InvalidInput
from tests.proxy import RecordingProxy

if TYPE_CHECKING:
    from hybrid_search.hybrid import HybridSearch
    from tests.acceptance import given

COUNT = 150
WINDOW = 100
PAGE = 10


def direction(text: str) -> list[float]:
    """Three notes share each vector, so that there are ties on every page."""
    number = int(text.split()[1]) // 3 if text.startswith("note ") else 0
    angle = math.pi / 2 * number / COUNT
    return [math.cos(angle), math.sin(angle)]


def opened(place: given.Place, **settings: object) -> HybridSearch:
    by_hand = function.create(direction, dimensions=2, name="by-hand")
    return place.connect(embedder=by_hand, shards=3, **settings)


def fill(search: HybridSearch) -> None:
    """Every note has as many words, and all have the query's: equal scores by words too."""
    report = search.add({"id": f"n{n}", "text": f"note {n} parcel"} for n in range(COUNT))
    assert report.added == COUNT


def test_ten_pages_of_ten_are_one_of_a_hundred(place: given.Place) -> None:
    with opened(place) as search:
        fill(search)
        whole = search.search("parcel", top_k=WINDOW, candidates=WINDOW)
        pages = [
            search.search("parcel", top_k=PAGE, offset=offset, candidates=WINDOW)
            for offset in range(0, WINDOW, PAGE)
        ]
        paged = [(hit.id, hit.score) for page in pages for hit in page.hits]
        assert paged == [(hit.id, hit.score) for hit in whole.hits]
        assert len({id_ for id_, _ in paged}) == WINDOW
        assert {page.total for page in (*pages, whole)} == {WINDOW}
        assert [page.notes for page in pages] == [()] * (WINDOW // PAGE)


def test_the_page_after_the_window_says_so(place: given.Place) -> None:
    with opened(place) as search:
        fill(search)
        beyond = search.search("parcel", top_k=PAGE, offset=WINDOW, candidates=WINDOW)
        assert beyond.hits == ()
        assert any("window end" in note and str(WINDOW) in note for note in beyond.notes)
        across = search.search("parcel", top_k=PAGE, offset=WINDOW - 5, candidates=WINDOW)
        assert len(across.hits) == 5
        assert any("window end" in note for note in across.notes)


def test_what_lies_beyond_the_window_is_not_asked_for(node_place: given.Place) -> None:
    with opened(node_place) as search:
        fill(search)
    with (
        RecordingProxy(node_place.kind) as proxy,
        opened(node_place, opensearch_url=proxy.url) as search,
    ):
        assert len(search.search("parcel").hits) == PAGE
        proxy.clear()
        assert search.search("parcel", offset=WINDOW, candidates=WINDOW).hits == ()
        with pytest.raises(InvalidInput, match=r"offset is 10000: .*10,000"):
            search.search("parcel", offset=10_000)
        assert proxy.calls == []


@pytest.mark.parametrize("offset", [-1, 9_991, 10_000])
def test_an_impossible_offset_is_refused(place: given.Place, offset: int) -> None:
    with opened(place) as search, pytest.raises(InvalidInput, match=f"offset is {offset}"):
        search.search("parcel", top_k=PAGE, offset=offset)
