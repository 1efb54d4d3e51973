"""Documents of others: what is read of them, and what they are called."""

from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from hybrid_search.domain import Document
from hybrid_search.errors import InvalidInput
from hybrid_search.foreign import as_document, chunk_key, document_key, has_id, text_of
from hybrid_search.schema import chunk_id


@dataclass
class Note:
    text: str
    id: object = None


class Title(str):
    """A string whose methods look like fields of a document."""

    __slots__ = ()


@pytest.mark.parametrize(
    "document",
    [
        "words",
        Title("words"),
        {"content": "words"},
        {"text": "words"},
        {"content": "words", "text": "other"},
        {"content": None, "text": "words"},
        {"content": 5, "text": "words"},
        Note("words"),
        SimpleNamespace(content="words"),
        Document("d", "words"),
    ],
)
def test_text(document):
    assert text_of(document) == "words"


@pytest.mark.parametrize("document", [{}, {"text": 5}, {"title": "t"}, 5, None, SimpleNamespace()])
def test_without_a_text_it_is_named(document):
    with pytest.raises(InvalidInput) as raised:
        text_of(document)
    assert str(raised.value) == (
        f"document {str(document)!r} has no text: expected a 'content' or 'text' string"
    )


def test_a_long_document_is_named_by_its_beginning():
    with pytest.raises(InvalidInput) as raised:
        text_of({"title": "x" * 500})
    assert len(str(raised.value)) < 200


@pytest.mark.parametrize(
    ("document", "key"),
    [
        ({"id": "a"}, "a"),
        ({"id": 7}, "7"),
        ({"id": 0}, "0"),
        (Note("x", 7), "7"),
        (Document("d", "x"), "d"),
    ],
)
def test_an_id_is_the_key(document, key):
    assert has_id(document)
    assert document_key(document) == key
    assert chunk_key(document) == chunk_id("", key, 0)
    assert chunk_key(document, "tenant") == chunk_id("tenant", key, 0)


@pytest.mark.parametrize("make", [lambda: {"text": "x"}, lambda: Note("x"), lambda: {"id": None}])
def test_without_an_id_the_object_itself_is(make):
    one, other = make(), make()
    assert not has_id(one)
    assert document_key(one) == document_key(one) != document_key(other)


def test_a_string_has_no_id():
    assert not has_id("words")
    assert document_key("words").startswith("object-")


def test_a_mapping_keeps_what_we_have_no_place_for_as_metadata():
    given = {"id": 7, "content": "c", "title": "T", "source": "s.md", "year": 2020, 5: "five"}
    assert as_document(given) == Document("7", "c", "T", {"year": 2020, "5": "five"}, "s.md")


def test_title_and_source_that_are_no_words_are_left_out():
    assert as_document({"id": "a", "text": "x", "title": 5, "source": None}) == Document("a", "x")


def test_ours_is_taken_as_it_is():
    ours = Document("d", "x")
    assert as_document(ours) is ours
