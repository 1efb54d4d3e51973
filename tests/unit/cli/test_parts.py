"""The parts of the output: progress, snippets, labels."""

from __future__ import annotations

import itertools

import pytest

from hybrid_search.cli.labels import cropped, cropped_left, path
from hybrid_search.cli.printing import plain, size
from hybrid_search.cli.progress import Progress
from hybrid_search.cli.session import Session
from hybrid_search.cli.snippets import Marker
from hybrid_search.domain import WriteResult

DONE = WriteResult("a", "added")


def marked(query: str, text: str, length: int = 80) -> list[str]:
    snippet = Marker(query, "english").snippet(text, length)
    return [snippet.plain[span.start : span.end] for span in snippet.spans]


def test_without_a_terminal_progress_is_a_line_a_minute(capsys) -> None:
    clock = itertools.count(0, 20)  # 20 seconds pass whenever it is looked at
    with Progress(Session(), 100, clock=lambda: float(next(clock))) as progress:
        for _ in range(12):
            progress.advance(DONE)
    lines = capsys.readouterr().err.splitlines()
    assert 1 < len(lines) < 6
    assert all(" of 100 documents" in line and line.endswith("left") for line in lines)


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("failing pump", "Pumps fail often.", ["Pumps", "fail"]),
        ("cafés", "One CAFÉ, one cafe.", ["CAFÉ", "cafe"]),
        ("INC-2023-Q4-011", "see INC-2023-Q4-011 or INC-2023-Q4-010",
         ["INC-2023-Q4-011", "INC-2023-Q4"]),
        ("the of", "The end of the day", []),
        ("", "anything", []),
    ],
)  # fmt: skip
def test_the_query_s_words_are_marked(query, text, expected) -> None:
    assert marked(query, text) == expected


def test_a_snippet_is_where_most_of_the_words_are() -> None:
    text = "lost " + "nothing here " * 40 + "the parcel was lost at sea " + "and more " * 40
    snippet = Marker("lost parcel sea", "english").snippet(text, 100)
    assert "parcel was lost at sea" in snippet.plain
    assert snippet.plain.startswith("… ")
    assert snippet.plain.endswith(" …")
    assert len(snippet.plain) <= 104


def test_a_text_without_spaces_is_cut_too() -> None:
    assert len(Marker("x", "english").snippet("y" * 5000, 100).plain) <= 104


def test_a_label_names_each_step_once() -> None:
    assert path("Handbook", ("Handbook", "Leave"), "# Parents\nAsk.") == (
        "Handbook › Leave › Parents"
    )
    assert path("", (), "no heading") == ""


def test_cropping_keeps_to_its_room() -> None:
    assert all(len(cropped("a long heading", n)) <= max(n, 1) for n in range(20))
    assert all(len(cropped_left("a/long/path", n)) <= max(n, 2) for n in range(20))


def test_nothing_reaches_the_terminal_but_letters() -> None:
    assert plain("a\x1b[31m\x9b1m\u202eb\udc80\n") == "a [31m 1m b \n"
    assert [size(n) for n in (0, 1500, 2_500_000)] == ["0 bytes", "1.5 kB", "2.5 MB"]
