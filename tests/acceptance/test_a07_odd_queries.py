"""A7: whatever is typed is searched as it stands: no query syntax, no error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hybrid_search.hybrid import HybridSearch
    from tests.acceptance import given

TEXTS = {
    "date": "The report of 10/2019 is final.",
    "path": "Mounted under a:/b since then.",
    "code": "Release notes: C++ (beta) compilers.",
    "quote": 'She cried "open sesame" twice.',
    "gate": "The AND gate needs two inputs.",
    "party": "A cake 🎂 for everyone.",
    "plain": "Nothing special stands here.",
}
LITERAL = {
    "10/2019": "date",
    "a:/b": "path",
    "C++ (beta": "code",
    '"open': "quote",
    "AND": "gate",
    "🎂": "party",
}
NO_WORDS = ["*:*", "\\", "/", "!!", "()", '"', "~", "\\\\"]
SYNTAX = ["title:(x OR y)~2^3", "[* TO *]", "{!lucene}", "a AND (b", "_exists_:text", "/.*/"]
TEXT_LEGS = ("bm25", "identifier")


@pytest.fixture
def search(place: given.Place) -> Iterator[HybridSearch]:
    """Text as it is, so that AND is a word like any other."""
    with place.connect(embedder="hashing", language="standard") as opened:
        report = opened.add({"id": key, "text": text} for key, text in TEXTS.items())
        assert report.added == len(TEXTS)
        yield opened


def test_literal_text_is_found(search: HybridSearch) -> None:
    found = {
        query: [hit.document_id for hit in search.search(query, legs=TEXT_LEGS).hits][:1]
        for query in LITERAL
    }
    assert found == {query: [key] for query, key in LITERAL.items()}


def test_all_legs_answer_to_every_query(search: HybridSearch) -> None:
    for query in (*LITERAL, *NO_WORDS, *SYNTAX):
        found = search.search(query, strict=True)
        assert found.query == query
        assert found.degraded == ()
        assert {leg.leg: leg.hits for leg in found.legs}["vector"] == len(TEXTS)


def test_what_holds_no_word_matches_no_words(search: HybridSearch) -> None:
    """``*:*`` is everything in query syntax."""
    found = {query: search.search(query, legs=TEXT_LEGS).total for query in NO_WORDS}
    assert found == dict.fromkeys(NO_WORDS, 0)


def test_a_field_s_name_in_the_query_is_a_word(search: HybridSearch) -> None:
    assert search.search("_exists_:text", legs=TEXT_LEGS).total == 0
    assert search.search("[* TO *]", legs=TEXT_LEGS).total == 0


@pytest.mark.parametrize("numbered", [True, False], ids=["words", "one word"])
def test_a_very_long_query_is_cut_with_a_note(search: HybridSearch, numbered: bool) -> None:
    """20,000 characters of short words are more words than an engine takes."""
    length = 20_000
    rest = " ".join(f"w{n}" for n in range(length)) if numbered else "w" * length
    query = f"sesame {rest}"[:length]
    assert len(query) == length
    found = search.search(query, strict=True)
    assert "quote" in {
        hit.document_id for hit in found.hits for c in hit.contributions if c.leg == "bm25"
    }
    assert any("searched" in note for note in found.notes) == numbered
