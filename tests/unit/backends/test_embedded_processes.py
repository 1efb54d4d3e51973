"""Several processes on one file: kills, readers beside a writer, two writers."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from hybrid_search.domain import Match
from tests.unit.backends.embedded_helpers import found, opened, rank, write

ROOT = Path(__file__).resolve().parents[3]
BATCH = 7

WRITER = f"""
from tests.unit.backends.embedded_helpers import opened, write
with opened({{folder!r}}) as store:
    first = store.status().documents // {BATCH}
    for batch in range(first, 1000):
        documents = [(f"{{{{batch}}}}-{{{{i}}}}", f"word b{{{{batch}}}}") for i in range({BATCH})]
        write(store, *documents, ("same", f"word version{{{{batch}}}}"))
        print(batch, flush=True)
"""

READER = """
import sys
from tests.unit.backends.embedded_helpers import found, opened
with opened({folder!r}) as store:
    print("ready", flush=True)
    for line in sys.stdin:
        print(",".join(sorted(found(store, line.strip()))), flush=True)
"""

OTHER_WRITER = """
from tests.unit.backends.embedded_helpers import opened, write
with opened({folder!r}) as store:
    for i in range(20):
        [own, shared] = write(store, ("{name}" + str(i), "word"), ("shared", "{name} " + str(i)))
        assert own.status == "added"
        print(shared.version, flush=True)
"""


@contextmanager
def child(script, folder, **values):
    """Another Python that runs a script; it is killed at the end if it still runs."""
    process = subprocess.Popen(
        [sys.executable, "-c", script.format(folder=str(folder), **values)],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_kill_leaves_what_was_acknowledged_and_nothing_in_halves(tmp_path):
    chance = random.Random(7)
    acknowledged = -1
    for _ in range(4):
        with child(WRITER, tmp_path) as process:
            for _ in range(chance.randint(1, 6)):
                acknowledged = int(process.stdout.readline())
            # Some way into the next batch, which no one waits for.
            for _ in range(chance.randint(0, 200_000)):
                pass
            process.kill()
            told = process.stdout.read().split()
        acknowledged = int(told[-1]) if told else acknowledged
        _check_whole(tmp_path, acknowledged)


def _check_whole(folder, acknowledged):
    connection = sqlite3.connect(folder / "docs.sqlite3")
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    with opened(folder) as store:
        ids = {head.document.id for head in store.scan_heads()} - {"same"}
        batches = len(ids) // BATCH
        assert batches in (acknowledged + 1, acknowledged + 2)
        assert ids == {f"{batch}-{i}" for batch in range(batches) for i in range(BATCH)}
        assert len(rank(store, Match("content", "word"), size=10_000).hits) == len(ids) + 1
        for batch in range(batches):
            assert set(found(store, f"b{batch}")) == {f"{batch}-{i}" for i in range(BATCH)}
        assert found(store, f"version{batches - 1}") == ["same"]
        assert store.status().chunks == len(ids) + 1


def test_a_reader_in_another_process_sees_what_was_committed(tmp_path):
    with opened(tmp_path) as store, child(READER, tmp_path) as process:
        write(store, ("a", "word"))
        assert process.stdout.readline() == "ready\n"

        def ask(word):
            process.stdin.write(f"{word}\n")
            process.stdin.flush()
            return process.stdout.readline().strip()

        assert ask("word") == "a"
        write(store, ("b", "word"), ("c", "other"))
        assert ask("word") == "a,b"
        write(store, ("a", "other"))
        store.delete("", ["b"])
        assert ask("word") == ""
        assert ask("other") == "a,c"


def test_two_writers_take_turns(tmp_path):
    with child(OTHER_WRITER, tmp_path, name="x") as x, child(OTHER_WRITER, tmp_path, name="y") as y:
        versions = [int(v) for process in (x, y) for v in process.communicate()[0].split()]
        assert (x.returncode, y.returncode) == (0, 0)
    assert sorted(versions) == list(range(1, 41))
    with opened(tmp_path) as store:
        assert len(found(store, "word")) == 40
        assert store.heads("", ["shared"])["shared"].version == 40
        assert len(store.chunks("", "shared")) == 1
