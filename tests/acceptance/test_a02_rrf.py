"""A2: fused scores are exactly the sum of weight / (k + rank), whatever the page size."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from hybrid_search import BM25Index, Retriever, VectorIndex
from hybrid_search.domain import Condition, RankedHit, Ranking, SearchRequest
from hybrid_search.errors import InvalidInput
from hybrid_search.fusion import rrf

if TYPE_CHECKING:
    from collections.abc import Sequence

K = 1
LEXICAL = ("d1", "d2")
VECTOR = ("d2", "d3", "d4")
FUSED = ("d2", "d1", "d3", "d4")


class Ranked:
    """An index of others: it answers every query with the same documents, best first."""

    def __init__(self, *order: str, name: str = "") -> None:
        self.name = name
        self.order = order
        self.added: list[Any] = []
        self.asked: list[int] = []

    def add_document(self, document: Any) -> None:
        self.added.append(document)

    def search(self, query: str, k: int) -> list[tuple[Any, float]]:
        self.asked.append(k)
        return [({"id": one, "content": one}, 1.0) for one in self.order][:k]


def points(document: str, *orders: Sequence[str]) -> float:
    """The definition, in exact arithmetic."""
    ranks = [order.index(document) + 1 for order in orders if document in order]
    return float(sum(Fraction(1, K + rank) for rank in ranks))


def expected(ids: Sequence[str], *orders: Sequence[str]) -> list[tuple[str, Any]]:
    return [(one, pytest.approx(points(one, *orders), abs=1e-15)) for one in ids]


def found(pairs: Sequence[tuple[Any, float]]) -> list[tuple[str, float]]:
    return [(document["id"], score) for document, score in pairs]


def test_fused_scores_of_two_lists() -> None:
    retriever = Retriever(Ranked(*LEXICAL), Ranked(*VECTOR))
    hits = found(retriever.search("anything", k=10, k_rrf=K))
    assert hits == expected(FUSED, LEXICAL, VECTOR)
    assert [round(score, 4) for _, score in hits] == [0.8333, 0.5, 0.3333, 0.25]


def test_a_page_of_one_holds_the_best_of_both_lists() -> None:
    """An engine that fuses within the page would give d1 here."""
    retriever = Retriever(Ranked(*LEXICAL), Ranked(*VECTOR))
    assert found(retriever.search("anything", k=1, k_rrf=K)) == expected(["d2"], LEXICAL, VECTOR)
    request = SearchRequest("anything", top_k=1, candidates=10, rank_constant=K)
    [hit] = retriever.retrieve(request).hits
    assert (hit.document_id, [c.points for c in hit.contributions]) == ("d2", [1 / 3, 1 / 2])


def test_the_fusion_alone_gives_the_same() -> None:
    rankings = [
        Ranking(leg, tuple(RankedHit(one, 0.0) for one in order))
        for leg, order in (("bm25", LEXICAL), ("vector", VECTOR))
    ]
    fused = rrf.create(rank_constant=K)(rankings)
    assert [(f.chunk_id, f.score) for f in fused] == expected(FUSED, LEXICAL, VECTOR)
    weighted = rrf.create(rank_constant=K, weights={"bm25": 2.0})(rankings)
    assert [(f.chunk_id, f.score) for f in weighted] == [
        ("d2", pytest.approx(2 / (K + 2) + 1 / (K + 1))),
        ("d1", 2 / (K + 1)),
        ("d3", 1 / (K + 2)),
        ("d4", 1 / (K + 3)),
    ]


def test_three_lists() -> None:
    orders = (LEXICAL, VECTOR, ("d4", "d2", "d1"))
    hits = found(Retriever(*(Ranked(*o) for o in orders)).search("anything", k=10, k_rrf=K))
    assert hits == expected(["d2", "d1", "d4", "d3"], *orders)


def test_the_founding_example() -> None:
    """Vector [2, 7, 6] and BM25 [6, 2, 7] at k = 1."""
    vector, words = ("2", "7", "6"), ("6", "2", "7")
    hits = found(Retriever(Ranked(*vector), Ranked(*words)).search("anything", k=3, k_rrf=K))
    assert hits == expected(["2", "6", "7"], vector, words)
    assert [round(score, 4) for _, score in hits] == [0.8333, 0.75, 0.5833]


TEXTS = {
    "2": "parcel parcel lost at sea today",
    "6": "parcel parcel parcel lost lost lost",
    "7": "parcel a note about the weather",
    "9": "nothing of the kind",
}
POSITIONS = {"2": [1.0, 0.1], "7": [1.0, 0.2], "6": [1.0, 0.3], "9": [-1.0, 0.5]}


def position(text: str) -> list[float]:
    """Each document's position; the query lies on the axis that they lean away from."""
    return next((POSITIONS[key] for key, one in TEXTS.items() if one == text), [1.0, 0.0])


def test_the_founding_snippet_in_memory() -> None:
    vector, words = VectorIndex(position), BM25Index()
    retriever = Retriever(vector, words)
    documents = {key: {"id": key, "content": text} for key, text in TEXTS.items()}
    for document in documents.values():
        retriever.add_document(document)
    assert [d["id"] for d, _ in vector.search("parcel lost", k=3)] == ["2", "7", "6"]
    assert [d["id"] for d, _ in words.search("parcel lost", k=3)] == ["6", "2", "7"]
    results = retriever.search("parcel lost", k=3, k_rrf=K, candidates=3)
    assert found(results) == expected(["2", "6", "7"], ("2", "7", "6"), ("6", "2", "7"))
    assert all(document is documents[document["id"]] for document, _ in results)


def test_a_retriever_without_an_index_is_refused() -> None:
    with pytest.raises(ValueError, match="no index"):
        Retriever()


@pytest.mark.parametrize(("k", "candidates", "asked"), [(1, 20, 20), (50, 20, 50), (3, 3, 3)])
def test_an_index_is_never_asked_for_less_than_the_page(
    k: int, candidates: int, asked: int
) -> None:
    index = Ranked("d1")
    Retriever(index).search("anything", k=k, candidates=candidates)
    assert index.asked == [asked]


def test_an_index_that_takes_no_filter_is_refused_by_name_before_it_is_asked() -> None:
    index = Ranked("d1", name="their_index")
    with pytest.raises(InvalidInput, match="their_index"):
        Retriever(BM25Index(), index).search("x", filter=Condition("team", "eq", "ops"))
    assert index.asked == []


def test_each_store_is_written_once() -> None:
    vector = VectorIndex(position)
    words, other = BM25Index(vector.store), Ranked()
    document = {"id": "2", "content": TEXTS["2"]}
    Retriever(words, vector, other).add_document(document)
    assert other.added == [document]
    [head] = vector.store.scan_heads()
    assert (head.document.id, head.version) == ("2", 1)
    assert [len(index.search("parcel", k=5)) for index in (vector, words)] == [1, 1]
    own = BM25Index()
    Retriever(vector, own).add_document({"id": "6", "content": TEXTS["6"]})
    assert [d["id"] for d, _ in own.search("parcel", k=5)] == ["6"]
