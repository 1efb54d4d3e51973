"""Components by name; what is not there is named with what is."""

import subprocess
import sys

import pytest

from hybrid_search import registry
from hybrid_search.errors import InvalidInput


def refused(call, *arguments, **parameters):
    with pytest.raises(InvalidInput) as raised:
        call(*arguments, **parameters)
    return str(raised.value)


def test_a_components_name_is_its_modules_name():
    assert set(registry.names("legs")) == {"bm25", "vector", "identifier"}
    for name in registry.names("legs"):
        assert registry.create("legs", name).name == name


def test_helpers_are_no_components():
    assert not [n for f in registry.FAMILIES for n in registry.names(f) if n.startswith("_")]


def test_an_unknown_family_component_or_parameter_is_named_with_the_choices():
    families = ", ".join(sorted(registry.FAMILIES))
    assert refused(registry.names, "leg") == (
        f"unknown component family 'leg': expected one of {families} (did you mean legs?)"
    )
    assert refused(registry.create, "legs", "bm52") == (
        "unknown leg 'bm52': expected one of bm25, identifier, vector (did you mean bm25?)"
    )
    assert refused(registry.create, "fusion", "rrf", k=1) == (
        "unknown parameter of fusion rrf 'k': expected one of rank_constant, weights"
    )
    assert refused(registry.create, "legs", "bm25", k=1) == (
        "unknown parameter of legs bm25 'k': expected one of nothing (none is available)"
    )


def test_a_parameter_that_is_needed_and_not_given_is_named():
    assert refused(registry.create, "embedders", "function") == (
        "embedders 'function' needs the parameter 'function', and it was not given"
    )


def test_create_from_takes_what_the_component_knows():
    made = registry.create_from("embedders", "hashing", {"dimensions": 32, "region": "x"})
    assert made.space.dimensions == 32


def test_create_passes_values_on_to_the_components_own_checks():
    said = refused(registry.create, "fusion", "rrf", rank_constant=-1)
    assert said == "rank_constant is -1: expected a number of 0 or more"


def test_describe_tells_where_it_lives_and_what_it_takes_with_defaults():
    component = registry.describe("fusion", "rrf")
    assert component.file == "hybrid_search/fusion/rrf.py"
    assert list(component.parameters) == ["rank_constant", "weights"]
    assert component.parameters["rank_constant"].endswith("= 60")
    assert component.summary.startswith("Reciprocal Rank Fusion")
    assert component.needs == ""


OTHER = '''"""A fusion of others."""


def create(seed: int):
    """Make it."""
    return ("made", seed)
'''
BROKEN = "def create():\n    import a_package_that_is_not_there\n"
ENTRIES = "[hybrid_search.fusion]\nmine = other_fusion:create\nbroken = broken_fusion:create\n"
PROGRAM = """
from hybrid_search import registry
from hybrid_search.errors import InvalidInput
print(registry.names("fusion"), registry.create("fusion", "mine", seed=7))
described = registry.describe("fusion", "mine")
print(described.file, described.summary, dict(described.parameters))
try:
    registry.create("fusion", "broken")
except InvalidInput as error:
    print(error)
"""


def test_another_distribution_adds_a_component_by_an_entry_point(tmp_path):
    folder = tmp_path / "other-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(ENTRIES)
    (tmp_path / "other_fusion.py").write_text(OTHER)
    (tmp_path / "broken_fusion.py").write_text(BROKEN)
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.append({str(tmp_path)!r})\n{PROGRAM}"],
        capture_output=True,
        text=True,
        check=True,
    )
    made, described, broken = done.stdout.splitlines()
    assert made == "('broken', 'mine', 'rrf') ('made', 7)"
    assert described == "other_fusion.py A fusion of others. {'seed': \"<class 'int'>\"}"
    assert broken == (
        "fusion 'broken' needs a package that is missing: "
        "No module named 'a_package_that_is_not_there'"
    )
