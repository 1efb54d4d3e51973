"""A8: codes and accented words are found however the collection's language is analysed."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

import pytest

from tests.acceptance import given

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hybrid_search.hybrid import HybridSearch

TEXTS = {
    "first": "INV-2024-7831",
    "second": "INV-2024-7832",
    "part": "part-nn44-x",
    "cafe": unicodedata.normalize("NFD", "Zürich café"),
}
QUERIES = {
    "INV-2024-7831": "first",
    "INV-2024-7832": "second",
    "inv-2024-7832": "second",
    "what is INV-2024-7831?": "first",
    "nn44": "part",
    "part-nn44-x": "part",
    "zurich cafe": "cafe",
    "ZÜRICH": "cafe",
    unicodedata.normalize("NFD", "café"): "cafe",
    unicodedata.normalize("NFC", "café"): "cafe",
}


@pytest.fixture(params=["standard", "english", "french", "german"])
def search(request: pytest.FixtureRequest, place: given.Place) -> Iterator[HybridSearch]:
    with place.connect(embedder="hashing", language=request.param) as opened:
        report = opened.add({"id": key, "text": text} for key, text in TEXTS.items())
        assert report.added == len(TEXTS)
        yield opened


def test_the_right_document_comes_first(search: HybridSearch) -> None:
    first = {query: given.ids(search.search(query).hits)[0] for query in QUERIES}
    assert first == QUERIES


def test_a_code_is_not_its_neighbour(search: HybridSearch) -> None:
    for code, key in (("INV-2024-7831", "first"), ("INV-2024-7832", "second")):
        assert given.ids(search.search(code, legs=["identifier"]).hits) == [key]
    assert given.ids(search.search("nn44", legs=["identifier"]).hits) == ["part"]
    assert given.ids(search.search("zurich cafe", legs=["bm25"]).hits) == ["cafe"]


def test_accents_are_found_by_words_alone(search: HybridSearch) -> None:
    stored = search.get("cafe").document.text
    assert stored == "Zürich café"
    assert unicodedata.is_normalized("NFC", stored)
