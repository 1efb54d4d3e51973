"""Ctrl-C: one line, 130, what was stored is kept, and the same command goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from hybrid_search.testing import FakeBedrock, faults

# A process in the background of a shell ignores Ctrl-C until it says otherwise.
PROGRAM = """import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from hybrid_search.cli import main
main()"""


def start(bedrock: FakeBedrock, *arguments: str) -> subprocess.Popen[str]:
    """Start a command whose embedder is the fake Bedrock's."""
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments, "--embedder", "titan"],
        env={**os.environ, **bedrock.environment()},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_an_interrupted_add_goes_on(environment, folder) -> None:
    with FakeBedrock() as bedrock:
        first = start(bedrock, "add", str(folder))
        assert first.communicate(timeout=60)[0].startswith("3 documents: 3 added")
        bedrock.fail(faults.hang(), times=None)
        (folder / "new.txt").write_text("Something new.")
        second = start(bedrock, "add", str(folder))
        assert second.stderr is not None
        assert second.stderr.readline().startswith("adding 4 files")
        second.send_signal(signal.SIGINT)
        out, err = second.communicate(timeout=60)
    assert (second.returncode, out) == (130, "")
    assert len(err.splitlines()) == 1
    assert "What was stored is kept; run the same command again" in err
    with FakeBedrock() as bedrock:
        third = start(bedrock, "add", str(folder))
        assert third.communicate(timeout=60)[0].startswith("4 documents: 1 added, 3 unchanged")
    assert third.returncode == 0
