"""How fast texts become vectors: the Titan path without AWS, and the local model.

Bedrock is the fake one, in a process of its own as a service would be, answering 100 ms after
each request: with 16 calls at a time, 160 a second is all that can be had.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hybrid_search import registry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hybrid_search.protocols import Embedder

LATENCY = 0.1
CONCURRENCY = 16
CALLS = 800
TARGET = 0.9

_SERVER = f"""
import json, sys
from hybrid_search.testing import FakeBedrock
with FakeBedrock(latency={LATENCY}) as bedrock:
    print(json.dumps(bedrock.environment()), flush=True)
    sys.stdin.read()
"""
_WORDS = "ships shoes sealing wax cabbages kings why the sea is boiling hot whether pigs have wings"


def run() -> None:
    """Measure and print."""
    _titan()
    _local()


def _titan() -> None:
    with _bedrock():
        titan = registry.create("embedders", "titan", concurrency=CONCURRENCY)
        titan.embed_documents(_passages(CONCURRENCY, words=20))
        started = time.perf_counter()
        values = titan.embed_documents(_passages(CALLS, words=20))
        rate = CALLS / (time.perf_counter() - started)
        titan.close()
    failed = sum(isinstance(value, Exception) for value in values)
    ideal = CONCURRENCY / LATENCY
    print(f"titan, {CONCURRENCY} at a time, {LATENCY * 1000:.0f} ms a call: {rate:.0f} calls/s")
    print(f"  {rate / ideal:.2f} of the ideal {ideal:.0f} (target {TARGET}); failed: {failed}")


def _local() -> None:
    for threads in (1, 2):
        local = registry.create("embedders", "local", threads=threads)
        local.embed_query("load the model")
        passages = _passages(120, words=100)
        started = time.perf_counter()
        local.embed_documents(passages)
        rate = len(passages) / (time.perf_counter() - started)
        waits = [_query_ms(local, f"how do ships sail in month {n}") for n in range(30)]
        median = statistics.median(waits)
        print(
            f"local, {threads} thread(s): {rate:.0f} passages/s of 100 words, query {median:.1f} ms"
        )


def _query_ms(embedder: Embedder, text: str) -> float:
    started = time.perf_counter()
    embedder.embed_query(text)
    return (time.perf_counter() - started) * 1000


def _passages(count: int, words: int) -> list[str]:
    vocabulary = _WORDS.split()
    return [
        " ".join(vocabulary[(n * 7 + i * (n % 5 + 1)) % len(vocabulary)] for i in range(words))
        + f" {n}"
        for n in range(count)
    ]


@contextmanager
def _bedrock() -> Iterator[None]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    server = subprocess.Popen(
        [sys.executable, "-c", _SERVER],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    before = dict(os.environ)
    try:
        os.environ.update(json.loads(server.stdout.readline() if server.stdout else "{}"))
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        server.communicate()


if __name__ == "__main__":
    run()
