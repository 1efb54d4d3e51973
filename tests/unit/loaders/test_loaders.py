"""Files to documents: titles, line ends, byte order marks, and clear words for the rest."""

from __future__ import annotations

import pytest

from hybrid_search import registry
from hybrid_search.errors import DocumentError


@pytest.fixture(params=registry.names("loaders"))
def loader(request):
    return registry.create("loaders", request.param)


def test_a_document_says_where_it_came_from(loader, tmp_path) -> None:
    path = tmp_path / "a.any"
    path.write_text("Ask early.")
    document = loader.load(path, "folder/a.any")
    assert (document.id, document.text) == ("folder/a.any", "Ask early.")
    assert document.metadata == {"path": "folder/a.any"}
    assert document.source == str(path)


def test_the_same_content_at_another_time_is_the_same_document(loader, tmp_path) -> None:
    path = tmp_path / "a.any"
    path.write_text("Ask early.")
    before = loader.load(path, "a")
    path.touch()
    assert loader.load(path, "a") == before


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"\xef\xbb\xbfcaf\xc3\xa9", "café"),
        (b"one\r\ntwo\rthree\n", "one\ntwo\nthree\n"),
        ("日本語".encode(), "日本語"),
    ],
)
def test_text_is_read_as_utf_8(loader, tmp_path, raw, text) -> None:
    (tmp_path / "a").write_bytes(raw)
    assert loader.load(tmp_path / "a", "a").text == text


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "is empty"),
        (b" \n\t", "is empty"),
        (b"\xef\xbb\xbf \n", "is empty"),
        (b"PK\x03\x04\0\0", "is a binary file, not text"),
        ("café".encode("latin-1"), "is not UTF-8 (byte 0xE9 at 3)"),
        ("café".encode("utf-16"), "is UTF-16, not UTF-8"),
    ],
)
def test_what_is_no_text_says_so(loader, tmp_path, raw, reason) -> None:
    (tmp_path / "a").write_bytes(raw)
    with pytest.raises(DocumentError) as refused:
        loader.load(tmp_path / "a", "a")
    assert str(refused.value).startswith(reason)


def test_a_file_that_is_not_there_says_so(loader, tmp_path) -> None:
    with pytest.raises(DocumentError, match="no such file"):
        loader.load(tmp_path / "none", "none")


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# Leave\nAsk early.", "Leave"),
        ("Draft.\n\n## Leave ##\n", "Leave"),
        ("```sh\n# a comment\n```\n# Leave", "Leave"),
        ("~~~\n```\n# not this\n~~~\n# Leave", "Leave"),
        ("#hashtag\n# C# and F#\n", "C# and F#"),
        ("No heading.", ""),
        ("#\n", ""),
    ],
)
def test_the_first_heading_is_the_title(tmp_path, text, title) -> None:
    (tmp_path / "a.md").write_text(text)
    path = tmp_path / "a.md"
    assert registry.create("loaders", "markdown").load(path, "a").title == title
    untitled = registry.create("loaders", "markdown", title_from_heading=False)
    assert untitled.load(path, "a").title == ""
