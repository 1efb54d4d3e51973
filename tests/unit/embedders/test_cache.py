"""The embedding cache: what is the same is embedded once, and a bad file breaks nothing."""

from __future__ import annotations

import logging
import os
import sqlite3
import subprocess
import sys
import threading

import numpy as np
import pytest

from hybrid_search.domain import VectorSpace
from hybrid_search.embedders import function, hashing
from hybrid_search.embedders._cache import (
    RECENT_QUERIES,
    SAVED_TOGETHER,
    CachedEmbedder,
    CacheStats,
)
from hybrid_search.errors import AccessDenied, DocumentError, ModelUnavailable


class Counting:
    """A hashing embedder that remembers what it was asked."""

    def __init__(self, space=None):
        self._inner = hashing.create(dimensions=16)
        self.space = space or self._inner.space
        self.documents = []
        self.queries = []
        self.closed = False

    def embed_documents(self, texts, deadline=None):
        self.documents.append(list(texts))
        return self._inner.embed_documents(texts, deadline)

    def embed_query(self, text, deadline=None):
        self.queries.append(text)
        return self._inner.embed_query(text, deadline)

    def close(self):
        self.closed = True


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cache" / "vectors.db"


def test_a_second_process_finds_what_the_first_embedded(path):
    first = CachedEmbedder(Counting(), path)
    before = first.embed_documents(["a b", "c"])
    first.close()
    inner = Counting()
    second = CachedEmbedder(inner, path)
    after = second.embed_documents(["c", "new", "a b"])
    assert inner.documents == [["new"]]
    assert second.stats == CacheStats(calls=1, hits=2, misses=1, tokens=1)
    assert np.array_equal(after[2].vector, before[0].vector)
    assert after[2].tokens == before[0].tokens == 2


def test_equal_texts_are_embedded_once_and_answered_in_order(path):
    inner = Counting()
    values = CachedEmbedder(inner, path).embed_documents(["x", "y", "x", ""])
    assert inner.documents == [["x", "y", ""]]
    assert values[0] is values[2]
    assert isinstance(values[3], DocumentError)


@pytest.mark.parametrize(
    "space",
    [VectorSpace("other", 16), VectorSpace("hashing", 8), VectorSpace("hashing", 16, False)],
)
def test_another_space_shares_nothing(path, space):
    CachedEmbedder(Counting(), path).embed_documents(["x"])
    inner = Counting(space)
    CachedEmbedder(inner, path).embed_documents(["x"])
    assert inner.documents == [["x"]]


def test_queries_and_documents_are_kept_apart(path):
    inner = Counting()
    cached = CachedEmbedder(inner, path)
    cached.embed_documents(["x"])
    cached.embed_query("x")
    assert inner.queries == ["x"]


def test_recent_queries_need_no_file():
    inner = Counting()
    cached = CachedEmbedder(inner, None)
    for _ in range(3):
        cached.embed_query("x")
    assert inner.queries == ["x"]
    for number in range(RECENT_QUERIES):
        cached.embed_query(f"query {number}")
    cached.embed_query("x")
    assert inner.queries.count("x") == 2


def test_failures_are_never_kept(path):
    failing = function.create(lambda text: 1 / 0 if text == "x" else [1.0], dimensions=1)
    cached = CachedEmbedder(failing, path)
    assert isinstance(cached.embed_documents(["x", "y"])[0], ModelUnavailable)
    assert isinstance(cached.embed_documents(["x", "y"])[0], ModelUnavailable)
    assert cached.stats.hits == 1
    with pytest.raises(ModelUnavailable):
        cached.embed_query("x")


def test_what_was_embedded_before_a_fatal_error_is_kept(path):
    def embed(text):
        if text == "last":
            raise AccessDenied("no more")
        return [1.0]

    texts = [f"text {n}" for n in range(SAVED_TOGETHER)]
    with pytest.raises(AccessDenied):
        CachedEmbedder(function.create(embed, dimensions=1), path).embed_documents([*texts, "last"])
    again = CachedEmbedder(function.create(embed, dimensions=1), path)
    again.embed_documents(texts)
    assert again.stats.hits == SAVED_TOGETHER


def test_more_texts_than_one_lookup_takes(path):
    texts = [f"text {n}" for n in range(1200)]
    CachedEmbedder(Counting(), path).embed_documents(texts)
    inner = Counting()
    CachedEmbedder(inner, path).embed_documents(texts)
    assert inner.documents == []


def test_vectors_can_not_be_changed_by_accident(path):
    cached = CachedEmbedder(Counting(), path)
    for value in (cached.embed_query("x"), cached.embed_query("x"), *cached.embed_documents(["x"])):
        with pytest.raises(ValueError, match="read-only"):
            value.vector[0] = 5


def test_only_the_owner_can_read_the_file(path):
    CachedEmbedder(Counting(), path).embed_query("secret")
    for file in path.parent.iterdir():
        assert file.stat().st_mode & 0o077 == 0


def test_a_file_that_is_none_is_set_aside(path, caplog):
    path.parent.mkdir()
    path.write_bytes(b"this is no database, but it is long enough to be looked at" * 100)
    inner = Counting()
    cached = CachedEmbedder(inner, path)
    with caplog.at_level(logging.WARNING):
        assert cached.embed_documents(["x"])[0].vector.any()
    assert "damaged" in caplog.text
    assert path.with_name("vectors.db.damaged-1").exists()
    cached.embed_documents(["x"])
    assert inner.documents == [["x"]]


def test_a_damaged_page_is_survived(path):
    texts = [f"text {n}" for n in range(400)]
    CachedEmbedder(Counting(), path).close()
    first = CachedEmbedder(Counting(), path)
    first.embed_documents(texts)
    first.close()
    raw = bytearray(path.read_bytes())
    raw[4096:] = b"\xff" * (len(raw) - 4096)
    path.write_bytes(raw)
    inner = Counting()
    second = CachedEmbedder(inner, path)
    assert all(value.vector.any() for value in second.embed_documents(texts))
    assert sum(map(len, inner.documents)) == len(texts)
    assert len(list(path.parent.glob("*.damaged-*"))) == 1


def test_a_vector_of_the_wrong_size_counts_as_absent(path):
    cached = CachedEmbedder(Counting(), path)
    cached.embed_documents(["x"])
    cached.close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE embeddings SET vector = x'0000'")
    connection.close()
    inner = Counting()
    CachedEmbedder(inner, path).embed_documents(["x"])
    assert inner.documents == [["x"]]


def test_a_folder_that_can_not_be_written_costs_time_only(tmp_path, caplog):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    inner = Counting()
    cached = CachedEmbedder(inner, blocked / "vectors.db")
    with caplog.at_level(logging.WARNING):
        cached.embed_documents(["x"])
        cached.embed_documents(["x"])
    assert len(inner.documents) == 2
    assert "can't be used" in caplog.text


def test_threads_share_one_cache(path):
    cached = CachedEmbedder(hashing.create(), path)
    texts = [f"text {n}" for n in range(40)]
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(cached.embed_documents(texts)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for values in found:
        assert [v.vector.tolist() for v in values] == [v.vector.tolist() for v in found[0]]
    assert len(found) == 4


def test_processes_share_one_file(path):
    code = (
        "import pathlib, sys\n"
        "from hybrid_search.embedders import hashing\n"
        "from hybrid_search.embedders._cache import CachedEmbedder\n"
        "cached = CachedEmbedder(hashing.create(), pathlib.Path(sys.argv[1]))\n"
        "for n in range(30):\n"
        "    cached.embed_documents([f'{sys.argv[2]} {n}', f'both {n}'])\n"
        "cached.close()\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(path), name], env=environment, stderr=subprocess.PIPE
        )
        for name in ("one", "two")
    ]
    for worker in workers:
        _, errors = worker.communicate(timeout=30)
        assert (worker.returncode, errors) == (0, b"")
    cached = CachedEmbedder(hashing.create(), path)
    cached.embed_documents([f"{name} {n}" for name in ("one", "two", "both") for n in range(30)])
    assert cached.stats.hits == 90


def test_close_closes_what_is_inside(path):
    inner = Counting()
    cached = CachedEmbedder(inner, path)
    cached.embed_query("x")
    cached.close()
    assert inner.closed
    assert cached.inner is inner
