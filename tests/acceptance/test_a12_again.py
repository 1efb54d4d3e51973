"""A12: adding a document again replaces it whole: nothing twice, and nothing left behind."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from hybrid_search.embedders import hashing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hybrid_search.domain import Embedding, VectorSpace
    from hybrid_search.hybrid import HybridSearch
    from tests.acceptance import given

WORDS = ("amber", "birch", "cedar", "dogwood", "elder")
KEPT = 3


class Counting:
    """Hashed vectors, and how many texts were embedded to be stored."""

    def __init__(self) -> None:
        self.inner = hashing.create()
        self.embedded: list[str] = []

    @property
    def space(self) -> VectorSpace:
        return self.inner.space

    def embed_documents(self, texts: Sequence[str], deadline: Any = None) -> list[Any]:
        self.embedded += texts
        return self.inner.embed_documents(texts, deadline)

    def embed_query(self, text: str, deadline: Any = None) -> Embedding:
        return self.inner.embed_query(text, deadline)

    def close(self) -> None:
        self.inner.close()


def handbook(count: int) -> dict[str, Any]:
    sections = (f"# {word}\nThe {word} section.\n" for word in WORDS[:count])
    return {"id": "handbook", "text": "".join(sections)}


def counts(search: HybridSearch) -> tuple[int, int]:
    status = search.status()
    return status.documents, status.chunks


@pytest.fixture
def embedder() -> Counting:
    return Counting()


@pytest.fixture
def search(place: given.Place, embedder: Counting) -> Iterator[HybridSearch]:
    with place.connect(embedder=embedder) as opened:
        report = opened.add([handbook(len(WORDS))])
        assert (report.added, report.chunks) == (1, len(WORDS))
        assert opened.add([{"id": "other", "text": "Another elder document."}]).added == 1
        yield opened


def test_the_same_again_changes_nothing_and_embeds_nothing(
    search: HybridSearch, embedder: Counting
) -> None:
    before = counts(search), search.get("handbook").head.version, list(embedder.embedded)
    report = search.add([handbook(len(WORDS))])
    assert (report.unchanged, report.added, report.replaced) == (1, 0, 0)
    after = counts(search), search.get("handbook").head.version, embedder.embedded
    assert after == before
    assert before[0] == (2, len(WORDS) + 1)


def test_a_shorter_document_leaves_no_orphans(search: HybridSearch) -> None:
    report = search.add([handbook(KEPT)])
    assert (report.replaced, report.added, report.chunks) == (1, 0, KEPT)
    assert counts(search) == (2, KEPT + 1)
    stored = search.get("handbook")
    assert [chunk.position for chunk in stored.chunks] == list(range(KEPT))
    assert stored.head.chunk_count == KEPT
    everything = " ".join(WORDS)
    for leg in ("bm25", "vector"):
        found = search.search(everything, legs=[leg])
        documents = Counter(hit.document_id for hit in found.hits)
        assert documents == {"handbook": KEPT, "other": 1}
        assert found.legs[0].hits == KEPT + 1  # none that the page could not read
    for word in WORDS[KEPT:]:
        hits = search.search(word, legs=["bm25"]).hits
        assert [h.document_id for h in hits] == (["other"] if word == "elder" else [])


def test_it_can_grow_again(search: HybridSearch) -> None:
    search.add([handbook(KEPT)])
    assert search.add([handbook(len(WORDS))]).replaced == 1
    assert counts(search) == (2, len(WORDS) + 1)
    found = search.search("dogwood", legs=["bm25"]).hits
    assert [(hit.document_id, hit.position) for hit in found] == [("handbook", 3)]
