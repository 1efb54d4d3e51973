"""The README says what is true: its Python runs, its table is the code's, its scripts are there."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from hybrid_search import settings

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("code", PYTHON, ids=[code.split("\n")[0] for code in PYTHON])
def test_python_runs_as_written(code: str) -> None:
    exec(compile(code, "README.md", "exec"), {})


def test_there_is_python_to_run() -> None:
    assert len(PYTHON) >= 3


def test_the_table_of_settings_is_the_code_s() -> None:
    table = re.search(r"<!-- settings: .*?-->\n(.*?)\n<!-- /settings -->", README, re.DOTALL)
    assert table is not None
    assert table[1].strip() == settings.markdown().strip()


@pytest.mark.parametrize("script", sorted(set(re.findall(r"scripts/[a-z_]+", README))))
def test_named_scripts_can_be_run(script: str) -> None:
    assert os.access(ROOT / script, os.X_OK)


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#]+)\)", README))
def test_links_lead_somewhere(link: str) -> None:
    assert (ROOT / link).exists()


CONSOLE = re.findall(r"^\$ (hybrid-search .*)\n((?:.*\n)*?)```", README, re.MULTILINE)


@pytest.fixture(scope="module")
def demo_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("onnxruntime", reason="needs hybrid_search[local]")
    home = tmp_path_factory.mktemp("readme")
    run("hybrid-search demo", home)
    return home


def run(command: str, home: Path) -> str:
    program = [str(Path(sys.executable).parent / "hybrid-search"), *shlex.split(command)[1:]]
    kept = {k: v for k, v in os.environ.items() if "OPENSEARCH" not in k}
    environment = {**kept, "HYBRID_SEARCH_HOME": str(home), "COLUMNS": "88"}
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(("command", "shown"), CONSOLE, ids=[c for c, _ in CONSOLE])
def test_commands_print_what_is_shown(command: str, shown: str, demo_home: Path) -> None:
    """Ranks are compared; scores differ in their last digits from machine to machine."""
    printed = run(command, demo_home)
    lines = {" ".join(re.findall(r"#\d+|[\w/-]+\.md", line)) for line in printed.splitlines()}
    for line in shown.splitlines():
        ranks = " ".join(re.findall(r"#\d+|[\w/-]+\.md", line))
        assert ranks in lines, f"{ranks!r} of the README is not in:\n{printed}"
