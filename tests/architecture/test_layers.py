"""Modules import downwards, families know nothing of each other, and no module grows long."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import hybrid_search
from hybrid_search import registry

PACKAGE = Path(hybrid_search.__file__).parent
MAX_LINES = 400

LEVELS = {
    0: {"domain", "protocols", "errors"},
    1: {
        "registry",
        "settings",
        "retries",
        "concurrency",
        "telemetry",
        "schema",
        "filters",
        "text",
        "languages",
        "folding",
        "analysis",
        "foreign",
    },
    2: set(registry.FAMILIES),
    3: {"asking", "retriever", "explaining", "ingestion"},
    4: {"indexes", "hybrid", "build", "sources"},
    5: {"cli", "testing", "example", ""},
}
"""The first part of a module's name below the package, by level; "" is the package itself."""

LEVEL = {part: level for level, parts in LEVELS.items() for part in parts}
ALSO = {("cli", "example"), ("cli", "")}
"""The command line shows the example and the package's version."""
BESIDE = {0, 1, 3, 4}
"""Levels whose modules may build on each other; ``test_no_import_cycle`` keeps them in order."""


def module_name(path):
    """The dotted name of a file of the package."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def part_of(module):
    """The first part of a module's name below the package."""
    return module.partition(".")[2].partition(".")[0]


def imports(source, *, typing_only=False):
    """The package's modules that a source imports, at its top or within its functions.

    What stands under ``if TYPE_CHECKING`` is never run; it is what is listed with ``typing_only``.
    """
    found = set()

    def visit(node, *, typing):
        if isinstance(node, ast.Import) and typing == typing_only:
            found.update(a.name for a in node.names if a.name.split(".")[0] == "hybrid_search")
        if isinstance(node, ast.ImportFrom) and typing == typing_only:
            assert node.level == 0, f"relative import in line {node.lineno}"
            if (node.module or "").split(".")[0] == "hybrid_search":
                below = (f"{node.module}.{alias.name}" for alias in node.names)
                found.update(name if name in FILES else node.module for name in below)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            for child in node.body:
                visit(child, typing=True)
            for child in node.orelse:
                visit(child, typing=typing)
            return
        for child in ast.iter_child_nodes(node):
            visit(child, typing=typing)

    visit(ast.parse(source), typing=False)
    return found


IMPORTS = {module: imports(path.read_text("utf-8")) for module, path in FILES.items()}


def allowed(importer, imported):
    """Whether a module of one part may import one of another."""
    if importer == imported or (importer, imported) in ALSO:
        return True
    above, below = LEVEL[importer], LEVEL[imported]
    return below < above or (below == above and above in BESIDE)


def test_the_reader_of_imports_tells_typing_from_running():
    source = (
        "from hybrid_search import text\n"
        "import hybrid_search.errors, json\n"
        "if TYPE_CHECKING:\n"
        "    from hybrid_search.retriever import Retriever\n"
        "else:\n"
        "    from hybrid_search.schema import typed\n"
        "def later():\n"
        "    from hybrid_search.domain import Ask\n"
    )
    below = {"text", "errors", "schema", "domain"}
    assert imports(source) == {f"hybrid_search.{name}" for name in below}
    assert imports(source, typing_only=True) == {"hybrid_search.retriever"}


def test_every_module_has_a_level():
    assert {part_of(module) for module in FILES} == set(LEVEL)


def test_architecture_md_has_the_same_table():
    lines = (PACKAGE / "ARCHITECTURE.md").read_text("utf-8").splitlines()
    rows = [re.match(r"\| (\d) \| ([^|]*) \|", line) for line in lines]
    written = {int(r[1]): {n.strip("/") for n in re.findall("`(.+?)`", r[2])} for r in rows if r}
    assert written == {level: parts - {""} for level, parts in LEVELS.items()}


@pytest.mark.parametrize("module", FILES)
def test_imports_go_down(module):
    wrong = {i for i in IMPORTS[module] if not allowed(part_of(module), part_of(i))}
    assert not wrong, f"{module} (level {LEVEL[part_of(module)]}) imports {sorted(wrong)}"


@pytest.mark.parametrize(
    ("importer", "imported", "may"),
    [
        ("legs", "domain", True),
        ("legs", "legs", True),
        ("legs", "fusion", False),
        ("embedders", "backends", False),
        ("schema", "text", True),
        ("schema", "legs", False),
        ("retriever", "build", False),
        ("domain", "schema", False),
        ("cli", "testing", False),
    ],
)
def test_the_rule_itself(importer, imported, may):
    assert allowed(importer, imported) is may


def test_only_the_composition_root_and_the_faces_name_a_component():
    """Everything else finds components by name in the registry."""
    namers = {
        part_of(module)
        for module, found in IMPORTS.items()
        for imported in found
        if part_of(imported) in registry.FAMILIES and part_of(module) not in registry.FAMILIES
    }
    assert namers == {"build", "cli", "testing"}


def test_level_0_needs_the_standard_library_only():
    for module, path in FILES.items():
        if LEVEL[part_of(module)] == 0:
            tree = ast.parse(path.read_text("utf-8"))
            typing = {
                id(child)
                for node in ast.walk(tree)
                if isinstance(node, ast.If)
                for child in ast.walk(node)
            }
            for node in ast.walk(tree):
                if isinstance(node, ast.Import | ast.ImportFrom) and id(node) not in typing:
                    names = [getattr(node, "module", None) or node.names[0].name]
                    tops = {name.split(".")[0] for name in names} - {"hybrid_search"}
                    assert tops <= set(sys.stdlib_module_names), module


def test_no_import_cycle():
    try:
        TopologicalSorter(IMPORTS).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


@pytest.mark.parametrize("module", FILES)
def test_module_length(module):
    assert len(FILES[module].read_text("utf-8").splitlines()) <= MAX_LINES


# --- The registry ---------------------------------------------------------------------------

COMPONENTS = [(family, name) for family in registry.FAMILIES for name in registry.names(family)]


def test_every_family_has_a_component():
    assert {family for family, _ in COMPONENTS} == set(registry.FAMILIES)


@pytest.mark.parametrize(("family", "name"), COMPONENTS)
def test_component_can_be_imported_and_is_documented(family, name):
    make = registry.factory(family, name)
    described = registry.describe(family, name)
    assert make.__name__ == "create"
    assert inspect.getdoc(make)
    assert described.summary.endswith((".", ":"))
    assert (described.family, described.name) == (family, name)
    assert set(described.parameters) == set(inspect.signature(make).parameters)
    assert (PACKAGE.parent / described.file).exists() or (
        PACKAGE.parent / described.file.removesuffix(".py") / "__init__.py"
    ).exists()


# --- The package's face ---------------------------------------------------------------------


def loaded_by(statement):
    """The top-level modules that a fresh interpreter holds after a statement."""
    code = f"import sys\n{statement}\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "statement", ["import hybrid_search.domain, hybrid_search.errors", "import hybrid_search"]
)
def test_the_nouns_load_no_client_library(statement):
    heavy = {"boto3", "botocore", "opensearchpy", "numpy", "pydantic", "sqlite3"}
    assert not loaded_by(statement) & heavy


def test_the_probe_sees_a_library_that_is_loaded():
    assert "numpy" in loaded_by("import hybrid_search.embedders.hashing")


@pytest.mark.parametrize("name", hybrid_search.__all__)
def test_exported_name_resolves_where_it_is_said_to_live(name):
    found = getattr(hybrid_search, name)
    home = importlib.import_module(found.__module__)
    assert getattr(home, name) is found
    assert inspect.getdoc(found)
    assert name in dir(hybrid_search)


def test_exported_names_are_those_that_type_checkers_see():
    typed = set()
    for node in ast.walk(ast.parse(FILES["hybrid_search"].read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hybrid_search"):
            typed.update(alias.name for alias in node.names)
    assert typed == set(hybrid_search.__all__)


def test_another_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'hybrid_search' has no attribute 'nothing'"):
        hybrid_search.nothing  # noqa: B018
