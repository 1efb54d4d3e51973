"""All commands: their help, their JSON, and where the global options may stand."""

from __future__ import annotations

import pytest

from hybrid_search.cli.options import hoisted

COMMANDS = {
    "add": ("add", "documents"),
    "search": ("search", "lost"),
    "compare": ("compare", "lost"),
    "explain": ("explain", "lost", "leave.txt"),
    "get": ("get", "leave.txt"),
    "delete": ("delete", "leave.txt"),
    "status": ("status",),
    "components": ("components",),
    "settings": ("settings",),
    "demo": ("demo", "--embedder", "hashing"),
    "drop": ("drop", "--yes"),
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_json_is_one_value_and_nothing_else(added, command) -> None:
    ran = added(*command, "--json")
    assert ran.code == 0
    assert ran.json
    assert ran.err == ""


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_every_command_has_words_for_people(added, command) -> None:
    ran = added(*command)
    assert ran.code == 0
    assert ran.out.strip()


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_an_example(run, name) -> None:
    ran = run(name, "--help")
    assert ran.code == 0
    assert f"Example:  hybrid-search {name}" in ran.out


def test_help_lists_every_command(run) -> None:
    for given in ((), ("--help",), ("-h",)):
        ran = run(*given)
        assert ran.code == 0
        assert all(name in ran.out for name in COMMANDS)


def test_the_version(run) -> None:
    assert run("--version").out.startswith("hybrid-search ")


def test_global_options_stand_before_or_after(added) -> None:
    before = added("--collection", "other", "--json", "status").json
    after = added("status", "--json", "--collection=other").json
    assert before == after
    assert before["collection"] == "other"


def test_nothing_is_taken_from_behind_two_dashes() -> None:
    taking, flags = {"--home"}, {"--json"}
    assert hoisted(["search", "--", "--json"], taking, flags) == ["search", "--", "--json"]
    assert hoisted(["a", "--home"], taking, flags) == ["--home", "a"]
    assert hoisted(["a", "--home=x", "b"], taking, flags) == ["--home=x", "a", "b"]


def test_an_option_behind_two_dashes_is_searched_for(added) -> None:
    assert "chunks found" in added("search", "--", "--json").out


def test_options_win_over_the_environment(run, environment, tmp_path) -> None:
    environment.setenv("HYBRID_SEARCH_COLLECTION", "environment")
    environment.setenv("OPENSEARCH_URL", "http://127.0.0.1:9")
    told = run("status", "--json", "--collection", "option", "--opensearch-url", "").json
    assert (told["collection"], told["backend"]) == ("option", "embedded")
    moved = run("status", "--json", "--opensearch-url", "", "--home", str(tmp_path / "other"))
    assert str(tmp_path / "other") in moved.json["location"]


def test_secrets_are_not_shown(run, environment) -> None:
    environment.setenv("HYBRID_SEARCH_OPENSEARCH_PASSWORD", "hunter2")
    environment.setenv("OPENSEARCH_URL", "https://me:hunter2@search.example")
    environment.setenv("HYBRID_SEARCH_EMBEDDER_OPTIONS", "api_key=hunter2, threads=2")
    for given in (("settings",), ("settings", "--json")):
        out = run(*given).out
        assert "hunter2" not in out
        assert "********" in out
        assert "threads=2" in out


def test_components_name_what_they_take(run) -> None:
    found = {(c["family"], c["name"]): c for c in run("components", "--json").json}
    assert found["fusion", "rrf"]["parameters"]["rank_constant"] == "float = 60"
    assert ("loaders", "markdown") in found
    assert {c["family"] for c in run("components", "legs", "--json").json} == {"legs"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("hybrid-search search x --leg b", "bm25"),
        ("hybrid-search --embedder ha", "hashing"),
        ("hybrid-search components emb", "embedders"),
        ("hybrid-search comp", "compare\ncomponents"),
    ],
)
def test_the_shell_completes(run, environment, words, expected) -> None:
    environment.setenv("_HYBRID_SEARCH_COMPLETE", "complete_bash")
    environment.setenv("COMP_WORDS", words)
    environment.setenv("COMP_CWORD", str(len(words.split()) - 1))
    assert run().out.strip() == expected
