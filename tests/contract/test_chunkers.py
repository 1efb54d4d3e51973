"""What every chunker promises: exact offsets, order, stable ids, and no text lost but blanks."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_search import registry
from hybrid_search.domain import Document

PIECES = (
    "word",
    " ",
    "\n",
    "\n\n",
    "# H",
    "## ```",
    "```\n",
    "~~~",
    ".",
    "é😀",
    "x" * 150,
    "\r\n",
    "\t",
)
TEXTS = st.lists(st.sampled_from(PIECES), max_size=40).map("".join) | st.text(max_size=300)
SMALL = {"section": {"max_characters": 100}}
"""Parameters under which cuts are many."""


@pytest.fixture(params=registry.names("chunkers"))
def chunker(request):
    return registry.create("chunkers", request.param, **SMALL.get(request.param, {}))


@pytest.mark.parametrize("name", registry.names("chunkers"))
@settings(max_examples=200, deadline=None, derandomize=True)
@given(text=TEXTS)
def test_chunks_are_slices_in_order_and_nothing_but_blanks_is_lost(name, text):
    chunks = registry.create("chunkers", name, **SMALL.get(name, {})).chunk(Document("d", text))
    assert [c.position for c in chunks] == list(range(len(chunks)))
    end = 0
    for chunk in chunks:
        assert chunk.text == text[chunk.start : chunk.end]
        assert chunk.text.strip()
        assert text[end : chunk.start].strip() == ""
        assert end <= chunk.start < chunk.end
        end = chunk.end
    assert text[end:].strip() == ""


def test_blank_texts_have_no_chunk(chunker):
    for text in ("", " ", "\n\n\t \n"):
        assert chunker.chunk(Document("d", text)) == []


def test_ids_follow_from_tenant_document_and_position(chunker):
    document = Document("d", "\n\n".join("paragraph " * 8 for _ in range(6)))
    first, again = chunker.chunk(document, "t"), chunker.chunk(document, "t")
    assert first == again
    assert len(first) > 1
    others = [
        *chunker.chunk(document),
        *chunker.chunk(document, "u"),
        *chunker.chunk(Document("e", document.text), "t"),
    ]
    ids = [c.id for c in (*first, *others)]
    assert len(set(ids)) == len(ids) == 4 * len(first)
    shorter = chunker.chunk(Document("d", document.text[:100]), "t")
    assert [c.id for c in shorter] == [c.id for c in first[: len(shorter)]]


def test_what_the_document_says_of_itself_is_on_every_chunk(chunker):
    document = Document("d", "one\n\n" * 60, "A title", {"team": "ops"}, "a/file.md")
    for chunk in chunker.chunk(document):
        assert (chunk.document_id, chunk.title, chunk.source) == ("d", "A title", "a/file.md")
        assert chunk.metadata == {"team": "ops"}


@pytest.mark.parametrize("name", registry.names("chunkers"))
def test_the_name_tells_its_parameters_apart(name):
    usual = registry.create("chunkers", name)
    other = registry.create("chunkers", name, **SMALL.get(name, {}))
    assert usual.name.startswith(name)
    assert usual.name != other.name
    assert usual.name == registry.create("chunkers", name).name
