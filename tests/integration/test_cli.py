"""The command line on a real OpenSearch: the same commands, the same shapes."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from hybrid_search.example import documents_path


@pytest.fixture
def run(node_url, prefix, tmp_path):
    """Run a command in a process of its own, on a collection that is deleted afterwards."""
    settings = {
        "HYBRID_SEARCH_HOME": str(tmp_path),
        "HYBRID_SEARCH_COLLECTION": f"{prefix}cli",
        "HYBRID_SEARCH_EMBEDDER": "hashing",
        "OPENSEARCH_URL": node_url,
        "NO_PROXY": "*",
    }

    def call(*arguments: str, code: int = 0):
        ran = subprocess.run(
            [sys.executable, "-c", "from hybrid_search.cli import main; main()", *arguments],
            env={**os.environ, **settings},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == code, ran.stderr
        assert "Traceback" not in ran.stderr
        return json.loads(ran.stdout) if "--json" in arguments else ran.stdout

    return call


def test_a_collection_from_first_to_last(run, node_version) -> None:
    documents = str(documents_path())
    assert "Nothing has been added" in run("search", "anything")
    assert run("add", documents, "--json")["outcome"] == "done"
    again = run("add", documents, "--json")
    assert (again["outcome"], again["embedding"]["texts"]) == ("nothing_to_do", 0)

    found = run("search", "INC-2023-Q4-011", "--json")
    assert found["hits"][0]["document_id"] == "incidents/inc-2023-q4-011.md"
    assert {leg["leg"] for leg in found["legs"]} == {"bm25", "vector", "identifier"}
    assert "identifier #1" in run("search", "INC-2023-Q4-011", "-k", "1")
    assert "#1" in run("compare", "INC-2023-Q4-011", "--rank-constant", "1,60")
    assert "rank 1 of" in run("explain", "INC-2023-Q4-011", "incidents/inc-2023-q4-011.md")

    told = run("status", "--json")
    assert (told["documents"], told["version"]) == (42, node_version)
    gone = "incidents/inc-2023-q4-011.md"
    assert run("delete", gone, "--json")["deleted"] == [gone]
    run("get", gone, code=1)
    assert run("drop", "--yes", "--json")["documents"] == 41
    assert "Nothing has been added" in run("status")


def test_another_model_is_refused(run, tmp_path) -> None:
    (tmp_path / "a.md").write_text("Ask early.")
    run("add", "a.md")
    run("search", "early", "--embedder", "local", code=6)
    run("add", "a.md", "--embedder", "local", code=6)
