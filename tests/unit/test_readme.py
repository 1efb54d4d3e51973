"""The README says what is true: its Python runs, its table is the code's, its scripts are there."""

from __future__ import annotations

import os
import re
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
