"""``search``, ``compare`` and ``explain``: what they print, for people and for programs."""

from __future__ import annotations

import math

from hybrid_search.testing import FakeBedrock, faults


def test_json_of_a_search(added) -> None:
    found = added("search", "lost", "X-17", "--json").json
    assert {"query", "hits", "legs", "degraded", "notes", "took_ms"} <= set(found)
    assert found["query"] == "lost X-17"
    hit = found["hits"][0]
    assert {
        "id", "document_id", "score", "fused_score", "text", "title", "metadata", "contributions",
    } <= set(hit)  # fmt: skip
    assert hit["document_id"] == "incidents/x-17.md"
    assert all(
        set(part) == {"leg", "variant", "rank", "raw_score", "points"}
        for part in hit["contributions"]
    )
    assert math.isclose(hit["score"], sum(part["points"] for part in hit["contributions"]))
    assert {leg["leg"] for leg in found["legs"]} == {"bm25", "vector", "identifier"}
    assert all(set(leg) == {"leg", "variant", "hits", "took_ms", "error"} for leg in found["legs"])
    assert found["degraded"] == []


def test_hits_for_people(added) -> None:
    ran = added("search", "lost X-17", "-k", "1")
    assert ran.code == 0
    first, second, third = ran.out.splitlines()[:3]
    assert first == " 1  Incident X-17"
    assert second.split()[0] == "incidents/x-17.md"
    assert "bm25 #1  vector #1  identifier #1" in second
    assert third.strip() == "The parcel was lost at sea."
    assert "1 of 4 chunks found" in ran.out


def test_pages_hold_still(added) -> None:
    whole = [hit["id"] for hit in added("search", "leave", "--json").json["hits"]]
    pages = [
        added("search", "leave", "-k", "2", "--offset", str(n), "--json").json["hits"]
        for n in (0, 2)
    ]
    assert [hit["id"] for page in pages for hit in page] == whole


def test_one_leg_only(added) -> None:
    found = added("search", "leave", "--leg", "bm25", "--json").json
    assert [leg["leg"] for leg in found["legs"]] == ["bm25"]


def test_filters_reach_the_legs(run, environment, folder) -> None:
    environment.setenv("HYBRID_SEARCH_FIELDS", "path=keyword")
    run("add", str(folder))
    found = run("search", "lost", "--filter", "path=leave.txt", "--json").json
    assert {hit["document_id"] for hit in found["hits"]} == {"leave.txt"}
    assert run("search", "lost", "-f", "path=none").out.startswith("No hits.")


def test_another_tenant_finds_nothing(added) -> None:
    assert added("search", "lost", "--tenant", "other", "--json").json["hits"] == []


def test_where_nothing_was_added_yet(run) -> None:
    ran = run("search", "anything")
    assert ran.code == 0
    assert "Nothing has been added" in ran.out
    found = run("search", "anything", "--json").json
    assert found["hits"] == []
    assert any("nothing has been added" in note for note in found["notes"])


def test_documents_are_never_read_as_markup(added) -> None:
    for command in (("search", "harmless"), ("compare", "harmless"), ("get", "markup.md")):
        out = added(*command).out
        assert "[red]Titles[/red]" in out
        assert not {"\x1b", "\x07", "😄"} & set(out)
    assert "A [bold]harmless[/bold] :smile:" in added("get", "markup.md").out


def test_queries_are_never_read_as_markup(added) -> None:
    assert added("search", "[/red] [bold]", "--json").json["query"] == "[/red] [bold]"
    assert added("search", "[/red] [bold]").code == 0


def test_a_comparison_shows_a_column_for_each_ranking(added) -> None:
    ran = added("compare", "lost X-17", "--rank-constant", "1,60")
    head = " ".join(ran.out.splitlines()[:2]).split()
    assert head == ["fused", "fused", "chunk", "bm25", "vector", "identifier", "k=1", "k=60"]
    row = next(line for line in ran.out.splitlines() if "Incident X-17" in line)
    assert row.split()[-5:] == ["#1"] * 5


def test_a_comparison_fits_the_terminal(added, environment) -> None:
    for width in (60, 80, 140):
        environment.setenv("COLUMNS", str(width))
        out = added("compare", "the client was lost", "--rank-constant", "1,60").out
        assert max(map(len, out.splitlines())) <= width


def test_json_of_a_comparison_has_the_first_of_each(added) -> None:
    compared = added("compare", "lost X-17", "--top", "1", "--json").json
    names = [column["name"] for column in compared["columns"]]
    assert names == ["bm25", "vector", "identifier", "fused (k=60)"]
    assert all(len(column["hits"]) == 1 for column in compared["columns"])


def test_an_explanation_says_why(added) -> None:
    explained = added("explain", "lost X-17", "leave.txt", "--json").json
    assert explained["document_id"] == "leave.txt"
    why = {leg["leg"]: leg["why"] for leg in explained["legs"]}
    assert why["identifier"].startswith("not found")
    out = added("explain", "lost X-17", "leave.txt").out
    assert all(text in out for text in why.values())


def test_nothing_but_text_where_there_is_no_terminal(added) -> None:
    assert "\x1b" not in added("search", "lost").out
    assert not any(line.endswith(" ") for line in added("components").out.splitlines())


def test_colour_is_a_matter_of_the_terminal(added, environment) -> None:
    environment.setenv("FORCE_COLOR", "1")
    environment.setenv("TERM", "xterm-256color")
    assert "\x1b[1;33mlost" in added("search", "lost").out
    environment.setenv("NO_COLOR", "1")
    assert "\x1b[1;33m" not in added("search", "lost").out


def test_a_leg_that_is_missing_is_said_in_words(run, environment, folder) -> None:
    with FakeBedrock() as bedrock:
        for name, value in bedrock.environment().items():
            environment.setenv(name, value)
        environment.delenv("HYBRID_SEARCH_EMBEDDER")
        assert run("add", str(folder), "--embedder", "titan").code == 0
        bedrock.fail(faults.access_denied(), times=None)
        ran = run("search", "lost")
        assert ran.code == 0
        assert "! vector did not answer in full (access denied: " in ran.out
        found = run("search", "lost", "--json").json
        assert [one["leg"] for one in found["degraded"]] == ["vector"]
        assert set(found["degraded"][0]) == {"leg", "reason", "detail"}
        assert found["hits"]
        strict = run("search", "lost", "--strict", "--json")
        assert (strict.code, strict.error["code"]) == (7, "degraded")
