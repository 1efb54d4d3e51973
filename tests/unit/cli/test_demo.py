"""``demo``: always the embedded store, and nothing is done twice."""

from __future__ import annotations

from hybrid_search.cli.demonstrating import QUERIES


def test_a_second_run_adds_and_embeds_nothing(run, environment) -> None:
    environment.setenv("OPENSEARCH_URL", "http://127.0.0.1:9")
    first = run("demo", "--embedder", "hashing")
    second = run("demo", "--embedder", "hashing")
    assert (first.code, second.code) == (0, 0)
    assert "Added 42 documents" in first.out
    assert "nothing added, nothing embedded again" in second.out
    for shown in QUERIES:
        assert f"› {shown.query}" in second.out
    assert "✓ " in second.out


def test_its_json_has_the_three_comparisons(run) -> None:
    told = run("demo", "--embedder", "hashing", "--collection", "trial", "--json").json
    assert "collection trial" in told["store"]
    assert told["added"]["added"] == 42
    assert [one["query"] for one in told["queries"]] == [shown.query for shown in QUERIES]
