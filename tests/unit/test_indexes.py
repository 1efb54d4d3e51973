"""The founding objects, alone and together."""

import gc
import math
import weakref
from dataclasses import dataclass

import pytest

from hybrid_search import BM25Index, Document, IdentifierIndex, Retriever, VectorIndex
from hybrid_search.backends import embedded
from hybrid_search.domain import IndexSpec, VectorSpace
from hybrid_search.embedders import hashing
from hybrid_search.errors import DocumentError, InvalidInput

LETTERS = "abcdefgh"


def letters(text):
    """A vector that counts letters; never zero for words of these letters."""
    return [text.count(letter) for letter in LETTERS]


@dataclass
class Note:
    text: str


DOCUMENTS = [
    {"content": "parcel lost at sea"},
    {"text": "parcel found"},
    "a plain string about a parcel",
    Note("a note about a parcel"),
    {"id": "five", "content": "parcel number five"},
    Document("six", "our own parcel"),
]


@pytest.fixture(params=[BM25Index, lambda: VectorIndex(hashing.create(64))], ids=["bm25", "vector"])
def index(request):
    return request.param()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: type(d).__name__)
def test_the_callers_own_object_comes_back(index, document):
    index.add_document(document)
    [(found, score)] = index.search("parcel")
    assert found is document
    assert score > 0


def test_documents_without_id_stay_apart_even_where_they_are_equal(index):
    twins = [{"content": "a parcel"}, {"content": "a parcel"}]
    for twin in twins:
        index.add_document(twin)
    found = [document for document, _ in index.search("parcel", k=5)]
    assert len(found) == 2
    assert {id(document) for document in found} == {id(twin) for twin in twins}


def test_objects_without_id_are_kept_alive(index):
    for n in range(10):
        index.add_document({"content": f"parcel number{n}"})
        gc.collect()
    assert len(index.search("parcel", k=100)) == 10


def test_the_same_id_replaces(index):
    index.add_document({"id": 1, "content": "parcel old"})
    replaced = {"id": "1", "content": "parcel new"}
    index.add_document(replaced)
    assert [document for document, _ in index.search("parcel", k=5)] == [replaced]


def test_k_documents_best_first(index):
    for n in range(1, 8):
        index.add_document({"id": n, "content": "parcel " + "sea " * n})
    found = index.search("parcel sea", k=3)
    scores = [score for _, score in found]
    assert len(found) == 3
    assert scores == sorted(scores, reverse=True)


def test_nothing_was_added(index):
    assert index.search("parcel") == []


def test_k_is_one_where_none_is_given(index):
    for n in range(3):
        index.add_document({"id": n, "content": "parcel"})
    assert len(index.search("parcel")) == 1


@pytest.mark.parametrize("k", [0, -1, 1.5, True, 10_001])
def test_a_bad_k_is_named(index, k):
    index.add_document("parcel")
    with pytest.raises(InvalidInput, match=f"is {k!r}: expected a whole number, 1 to 10,000"):
        index.search("parcel", k=k)


def test_a_document_without_a_text_is_named(index):
    with pytest.raises(InvalidInput, match="has no text: expected a 'content' or 'text' string"):
        index.add_document({"id": 1, "body": "x"})


def test_metadata_that_is_no_json_is_named(index):
    with pytest.raises(InvalidInput, match="metadata of document '5' is not JSON"):
        index.add_document({"id": 5, "content": "x", "extra": object()})


def test_cosine_of_a_function_is_its_score():
    index = VectorIndex(letters)
    index.add_document({"id": 1, "content": "aab"})
    index.add_document({"id": 2, "content": "cd"})
    [(first, score), *_] = index.search("ab", k=2)
    cosine = (2 * 1 + 1 * 1) / ((2**2 + 1**2) ** 0.5 * 2**0.5)
    assert first["id"] == 1
    assert score == pytest.approx((1 + cosine) / 2, rel=1e-6)


def test_a_vector_of_another_length_is_named_and_not_stored():
    index = VectorIndex(lambda text: [1.0] * (2 + text.count("longer")))
    index.add_document("first")
    with pytest.raises(InvalidInput, match="gave 3 dimensions for one text, expected 2"):
        index.add_document({"id": "second", "content": "longer"})
    assert [document for document, _ in index.search("x", k=5)] == ["first"]


def test_codes_are_found_whole():
    index = IdentifierIndex()
    for code in ("INC-10", "INC-11", "INC-110"):
        index.add_document({"id": code, "content": f"incident {code}"})
    assert [d["id"] for d, _ in index.search("what is inc-11?", k=3)] == ["INC-11"]
    assert index.search("what is it?", k=3) == []


# --- Over a store ---------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path):
    made = embedded.create(tmp_path, "docs", IndexSpec(space=VectorSpace("hashing", 32)))
    yield made
    made.close()


def test_legs_over_one_store_write_it_once(store):
    embedder = hashing.create(32)
    retriever = Retriever(BM25Index(store), VectorIndex(embedder, store), IdentifierIndex(store))
    retriever.add_document({"id": "a", "content": "parcel X-17"})
    assert store.heads("", ["a"])["a"].version == 1
    [(found, score)] = retriever.search("parcel x-17", k=5)
    assert found == {"id": "a", "content": "parcel X-17"}
    assert score == pytest.approx(3 / (60 + 1))


def test_a_kept_store_wants_ids(store):
    with pytest.raises(InvalidInput, match="a document without an 'id' can't be kept"):
        VectorIndex(hashing.create(32), store).add_document({"content": "parcel"})
    assert store.status().documents == 0


def test_a_store_with_vectors_is_not_written_without(store):
    with pytest.raises(DocumentError, match="add through an index with an embedder"):
        BM25Index(store).add_document({"id": "a", "content": "parcel"})


def test_tenants_keep_their_own(store):
    embedder = hashing.create(32)
    for tenant in ("red", "blue"):
        VectorIndex(embedder, store, tenant).add_document({"id": "a", "content": f"{tenant} sea"})
    assert [store.heads(t, ["a"])["a"].document.text for t in ("red", "blue")] == [
        "red sea",
        "blue sea",
    ]


@pytest.mark.parametrize("text", ["", " \n", "\x00", "\u202e"], ids=ascii)
def test_a_document_of_blanks_is_named_and_not_stored(index, text):
    with pytest.raises(DocumentError, match="'a' was not stored: no text"):
        index.add_document({"id": "a", "content": text})
    assert list(index.store.scan_heads()) == []


def test_words_are_scored_by_bm25():
    index, texts = BM25Index(), ["amber amber", "amber birch cedar", "cedar"]
    for text in texts:
        index.add_document({"content": text})
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    mean = sum(len(text.split()) for text in texts) / 3
    expected = [
        (text, pytest.approx(idf * tf / (tf + 1.2 * (0.25 + 0.75 * length / mean))))
        for text, tf, length in ((texts[0], 2, 2), (texts[1], 1, 3))
    ]
    assert [(d["content"], score) for d, score in index.search("amber", k=5)] == expected


def test_what_was_given_is_let_go_with_the_index():
    index, note = BM25Index(), Note("amber")
    index.add_document(note)
    seen = weakref.ref(note)
    del note
    gc.collect()
    assert seen() is not None
    del index
    gc.collect()
    assert seen() is None
