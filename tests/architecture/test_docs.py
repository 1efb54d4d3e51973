"""The examples in the docstrings are true."""

import doctest
import importlib
import pkgutil

import pytest

import hybrid_search
from hybrid_search import registry

MODULES = sorted(
    ["hybrid_search"]
    + [m.name for m in pkgutil.walk_packages(hybrid_search.__path__, "hybrid_search.")]
)


def examples(module):
    """The doctests of one module that hold an example."""
    found = doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(module))
    return [test for test in found if test.examples]


def missing(module):
    """What a component needs that is not installed here, or empty."""
    parts = module.split(".")
    if len(parts) != 3 or parts[1] not in registry.FAMILIES or parts[2].startswith("_"):
        return ""
    return registry.describe(parts[1], parts[2]).needs


@pytest.mark.parametrize("module", MODULES)
def test_examples(module, tmp_path, monkeypatch):
    if why := missing(module):
        pytest.skip(f"{module}: {why}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HYBRID_SEARCH_HOME", str(tmp_path))
    monkeypatch.delenv("OPENSEARCH_URL", raising=False)
    said = []
    for test in examples(module):
        doctest.DocTestRunner().run(test, out=said.append)
    assert not said, "".join(said)


def test_there_are_examples_where_a_reader_begins():
    first = ["", ".retriever", ".indexes", ".hybrid", ".legs.identifier", ".fusion.rrf", ".filters"]
    assert [name for name in first if not examples(f"hybrid_search{name}")] == []


def test_a_false_example_is_told():
    said = []
    parser = doctest.DocTestParser()
    doctest.DocTestRunner().run(
        parser.get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, 0), out=said.append
    )
    assert "Expected:\n    3" in "".join(said)
