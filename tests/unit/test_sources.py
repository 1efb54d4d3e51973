"""Which files are meant by paths, folders and patterns, and what their ids are."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from hybrid_search import sources
from hybrid_search.errors import InvalidInput


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Files whose text is their own path."""
    for name in ("b.md", "a/c.txt", "a/b/d.markdown", "a/e.PDF", "Makefile", ".hidden.md",
                 ".git/f.md", "a/B.MD"):  # fmt: skip
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ids(*paths: object) -> list[str]:
    return [file.id for file in sources.find([str(path) for path in paths]).files]


def test_a_folder_gives_all_below_it_in_order_without_hidden_files(tree) -> None:
    expected = ["a/B.MD", "a/b/d.markdown", "a/c.txt", "b.md"]
    assert ids(tree) == ids(".") == expected
    assert sources.find(["."]).unknown == Counter({".pdf": 1, "no suffix": 1})


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("b.md",), ["b.md"]),
        (("a/c.txt",), ["c.txt"]),
        ((".hidden.md",), [".hidden.md"]),
        (("a/",), ["B.MD", "b/d.markdown", "c.txt"]),
        (("a/**/*.markdown",), ["b/d.markdown"]),
        (("**/*.txt",), ["a/c.txt"]),
        (("a/*",), ["B.MD", "c.txt"]),
        (("a/**",), ["B.MD", "b/d.markdown", "c.txt"]),
        (("b.md", "b.md", "."), ["b.md", "a/B.MD", "a/b/d.markdown", "a/c.txt"]),
    ],
)
def test_ids_are_paths_below_what_was_given(tree, given, expected) -> None:
    assert ids(*given) == expected
    assert ids(*(tree / path for path in given)) == expected


def test_a_name_that_looks_like_a_pattern_is_a_name(tree) -> None:
    (tree / "[x].md").write_text("x")
    assert ids("[x].md") == ["[x].md"]


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (("none",), "'none'"),
        (("b.md", "none.txt"), "'none.txt'"),
        (("*.none",), "'*.none'"),
        (("Makefile",), "1 no suffix"),
    ],
)
def test_what_gives_nothing_is_refused_by_name(tree, given, named) -> None:
    with pytest.raises(InvalidInput) as refused:
        sources.find(given)
    assert named in str(refused.value)


def test_two_files_that_would_be_one_document_are_refused(tree) -> None:
    (tree / "other").mkdir()
    (tree / "other" / "b.md").write_text("another")
    with pytest.raises(InvalidInput, match=r"'b\.md'"):
        sources.find(["b.md", "other"])


def test_what_can_t_be_read_is_listed_with_its_reason(tree) -> None:
    (tree / "nul.md").write_bytes(b"a\0b")
    (tree / "gone.md").symlink_to("nowhere")
    os.mkfifo(tree / "pipe.txt")
    found = sources.find(["."])
    assert len(list(found.documents())) == 4
    reasons = {dead.document_id: dead.reason for dead in found.dead}
    assert reasons == {
        "nul.md": "is a binary file, not text",
        "gone.md": "can't be read: no such file or directory",
        "pipe.txt": "is not a regular file",
    }


def test_documents_are_read_one_at_a_time(tree) -> None:
    found = sources.find(["."])
    documents = found.documents()
    assert next(documents).text == "a/B.MD"
    Path("b.md").unlink()
    assert [document.id for document in documents] == ["a/b/d.markdown", "a/c.txt"]
    assert [dead.document_id for dead in found.dead] == ["b.md"]
