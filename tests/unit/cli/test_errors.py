"""Every bad input: its exit code, one line that names it, and no traceback."""

from __future__ import annotations

import pytest

from hybrid_search.cli.failures import report
from hybrid_search.cli.session import Session

NOBODY = "http://127.0.0.1:9"  # the discard port: nothing listens there

BAD = [
    (("search", "x", "--leg", "bm52"), 2, "did you mean bm25"),
    (("search", "x", "--filter", "team"), 2, "field=value"),
    (("search", "x", "--filter", "team=ops"), 2, "HYBRID_SEARCH_FIELDS"),
    (("search", "x", "--rank-constant=-1"), 2, "rank_constant is -1.0"),
    (("search", "x", "--rank-constant", "many"), 2, "--rank-constant"),
    (("search", "x", "--top-k", "0"), 2, "top_k is 0"),
    (("search", "x", "--offset=-1"), 2, "offset is -1"),
    (("search", "x", "--deadline", "0"), 2, "deadline"),
    (("search", "  "), 2, "expected some words"),
    (("search",), 2, "hybrid-search search --help"),
    (("search", "x", "--collection", "Bad Name"), 2, "'Bad Name'"),
    (("search", "x", "--embedder", "nope"), 2, "'nope'"),
    (("search", "x", "--colection", "x"), 2, "--colection"),
    (("serach", "x"), 2, "Did you mean 'search'?"),
    (("compare", "x", "--rank-constant", "1,a"), 2, "'1,a'"),
    (("components", "nope"), 2, "'nope'"),
    (("add", "none.md"), 2, "'none.md'"),
    (("drop",), 2, "--yes"),
    (("get", "none"), 1, "'none'"),
    (("explain", "x", "none"), 1, "'none'"),
    (("drop", "--yes", "--collection", "none"), 1, "none"),
    (("drop", "--yes", "--tenant", "one"), 6, "--tenant"),
    (("add", "documents", "--embedder", "local"), 6, "hashing"),
    (("search", "x", "--opensearch-url", NOBODY), 7, NOBODY),
    (("status", "--opensearch-url", NOBODY), 7, NOBODY),
    (("add", "documents", "--opensearch-url", NOBODY), 7, NOBODY),
]


@pytest.mark.parametrize(("given", "code", "named"), BAD, ids=[" ".join(b[0]) for b in BAD])
def test_bad_input_is_told_in_one_line(added, given, code, named) -> None:
    ran = added(*given)
    assert ran.code == code
    assert ran.out == ""
    errors = [line for line in ran.err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert named in errors[0]
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(("given", "code", "named"), BAD, ids=[" ".join(b[0]) for b in BAD])
def test_bad_input_is_told_as_json(added, given, code, named) -> None:
    ran = added(*given, "--json")
    assert ran.code == code
    assert ran.out == ""
    assert set(ran.error) == {"code", "message"}
    assert named in ran.error["message"]


def test_debug_shows_where(added) -> None:
    ran = added("get", "none", "--debug")
    assert ran.code == 1
    assert "Traceback" in ran.err


def test_a_document_that_does_not_exist_is_not_deleted(added) -> None:
    ran = added("delete", "none", "--json")
    assert (ran.code, ran.json["absent"]) == (1, ["none"])
    ran = added("delete", "none", "leave.txt", "--json")
    assert (ran.code, ran.json["deleted"]) == (0, ["leave.txt"])
    assert added("get", "leave.txt").code == 1


def test_what_nobody_foresaw_is_one_line_too(capsys) -> None:
    assert report(RuntimeError("first\nsecond"), Session()) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert "RuntimeError: first second" in lines[0]
