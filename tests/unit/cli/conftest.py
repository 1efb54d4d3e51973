"""The command line as a test runs it: in this process, on a home of its own, without a network."""

from __future__ import annotations

import json
import logging
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from hybrid_search.cli import main
from hybrid_search.cli.session import NOISY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass(frozen=True)
class Ran:
    """What one command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, str]:
        return json.loads(self.err)["error"]


class Run(Protocol):
    def __call__(self, *arguments: str) -> Ran: ...


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Nothing of the machine's own settings, and logging as it was before."""
    for name in os.environ:
        if name.startswith(("HYBRID_SEARCH_", "OPENSEARCH", "AWS_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HYBRID_SEARCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HYBRID_SEARCH_EMBEDDER", "hashing")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield monkeypatch
    logging.captureWarnings(capture=False)
    root.handlers[:] = handlers
    root.setLevel(level)
    for name in NOISY:
        logging.getLogger(name).setLevel(logging.NOTSET)


@pytest.fixture
def run(environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run one command line."""

    def call(*arguments: str) -> Ran:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        printed = capsys.readouterr()
        return Ran(int(ended.value.code or 0), printed.out, printed.err)

    return call


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three documents, one of them below a folder, one of them hostile."""
    documents = tmp_path / "documents"
    (documents / "incidents").mkdir(parents=True)
    (documents / "incidents" / "x-17.md").write_text(
        "# Incident X-17\n\nThe parcel was lost at sea.\n\n## Remedy\n\nThe client was refunded.\n"
    )
    (documents / "leave.txt").write_text("Ask for leave two weeks ahead.")
    (documents / "markup.md").write_text(
        "# [red]Titles[/red]\n\nA [bold]harmless[/bold] :smile: [link=http://x]text[/link] "
        "with \x1b[31mescapes\x07 and [/nothing] open.\n"
    )
    return documents


@pytest.fixture
def added(run: Run, folder: Path) -> Run:
    """The same, with the documents in the collection."""
    assert run("add", str(folder)).code == 0
    return run
