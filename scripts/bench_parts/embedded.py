"""The embedded store against the bare calls to its engine, interleaved in one run.

The bare text query is what FTS5 offers by itself: one ``MATCH`` over the same tokens, ordered by
its own ``bm25()``. The bare vector query is a matrix product and a partial sort. Both return the
chunk ids of the best hundred, as ``Store.rank`` does.
"""

from __future__ import annotations

import sqlite3
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hybrid_search.analysis import analyzer
from hybrid_search.backends import embedded
from hybrid_search.domain import (
    Ask,
    Chunk,
    Document,
    IndexSpec,
    Match,
    Nearest,
    Prepared,
    PreparedChunk,
    Restriction,
    VectorSpace,
)
from hybrid_search.schema import chunk_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

CHUNKS = 20_000
DIMENSIONS = 384
WORDS = 50_000
QUERIES = 200
BEST = 100
BATCH = 500
LANGUAGE = "english"
EVERYTHING = Restriction()


def texts(random: np.random.Generator) -> list[str]:
    """Texts of 60 to 100 words whose frequencies follow Zipf's law."""
    chances = 1 / np.arange(1, WORDS + 1) ** 1.07
    words = random.choice(WORDS, CHUNKS * 100, p=chances / chances.sum())
    lengths = random.integers(60, 100, CHUNKS)
    return [
        " ".join(f"word{w}x" for w in words[i * 100 : i * 100 + length])
        for i, length in enumerate(lengths)
    ]


def questions(random: np.random.Generator) -> list[str]:
    """Queries of four words without the twenty commonest."""
    chances = 1 / np.arange(21, WORDS + 1) ** 1.07
    chosen = random.choice(np.arange(20, WORDS), (QUERIES, 4), p=chances / chances.sum())
    return [" ".join(f"word{w}x" for w in four) for four in chosen]


def filled(
    store: embedded.EmbeddedStore, all_texts: list[str], vectors: NDArray[np.float32]
) -> None:
    """Write everything, a chunk a document."""

    def prepare(documents: Sequence[Document], spec: IndexSpec) -> list[Prepared]:
        del spec
        made = []
        for document in documents:
            chunk = Chunk(chunk_id("", document.id, 0), document.id, 0, document.text)
            made.append(Prepared((PreparedChunk(chunk, vectors[int(document.id)]),)))
        return made

    for start in range(0, CHUNKS, BATCH):
        some = range(start, start + BATCH)
        store.write("", [Document(str(i), all_texts[i]) for i in some], prepare)


def bare_text(file: Path, all_texts: list[str]) -> sqlite3.Connection:
    """A plain FTS5 index of the same tokens, and the ids to be returned."""
    connection = sqlite3.connect(file)
    connection.execute("CREATE VIRTUAL TABLE t USING fts5(tokens, content='')")
    connection.execute("CREATE TABLE ids (number INTEGER PRIMARY KEY, id TEXT)")
    tokens = analyzer(LANGUAGE).content_tokens
    for i, text in enumerate(all_texts):
        connection.execute(
            "INSERT INTO t (rowid, tokens) VALUES (?, ?)", (i, " ".join(tokens(text)))
        )
        connection.execute("INSERT INTO ids VALUES (?, ?)", (i, chunk_id("", str(i), 0)))
    connection.commit()
    return connection


def timed(call: Callable[[], object]) -> float:
    """Milliseconds of one call."""
    started = time.perf_counter()
    call()
    return (time.perf_counter() - started) * 1000


def run() -> None:
    """Print the time to write, and p50 of both legs, ours and bare, with their ratio."""
    random = np.random.default_rng(1)
    all_texts = texts(random)
    vectors = random.normal(size=(CHUNKS, DIMENSIONS)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    spec = IndexSpec(VectorSpace("synthetic", DIMENSIONS), language=LANGUAGE)
    with tempfile.TemporaryDirectory() as folder:
        store = embedded.create(Path(folder), "bench", spec)
        took = timed(lambda: filled(store, all_texts, vectors))
        size = store.status().size_bytes / 2**20
        print(
            f"embedded: {CHUNKS} chunks of {DIMENSIONS} dimensions written in {took / 1000:.1f} s"
            f" (batches of {BATCH}, vectors given), {size:.0f} MB"
        )
        bare = bare_text(Path(folder) / "bare.sqlite3", all_texts)
        _compare(store, bare, vectors, random)
        bare.close()
        store.close()


def _compare(
    store: embedded.EmbeddedStore,
    bare: sqlite3.Connection,
    vectors: NDArray[np.float32],
    random: np.random.Generator,
) -> None:
    ids = np.array([chunk_id("", str(i), 0) for i in range(CHUNKS)], object)
    snapshot = store.snapshot()
    assert snapshot is not None
    tokens = analyzer(LANGUAGE).content_tokens
    sql = """SELECT id, score FROM (SELECT rowid AS number, bm25(t) AS score FROM t
        WHERE t MATCH ? ORDER BY score LIMIT ?) JOIN ids USING (number) ORDER BY score"""

    def ours(*queries: Match | Nearest) -> object:
        return store.rank(snapshot, [Ask((query,), BEST) for query in queries], EVERYTHING)

    def plain_text(text: str) -> object:
        match = " OR ".join(f'"{token}"' for token in tokens(text))
        return bare.execute(sql, (match, BEST)).fetchall()

    def plain_vector(vector: NDArray[np.float32]) -> object:
        scores = vectors @ vector
        best = np.argpartition(-scores, BEST)[:BEST]
        best = best[np.argsort(-scores[best])]
        return list(zip(ids[best], scores[best].tolist(), strict=True))

    print(f"first search after opening: {timed(lambda: ours(Nearest(vectors[0]))):.0f} ms")
    times: dict[str, list[float]] = {}
    for text in questions(random):
        vector = vectors[random.integers(CHUNKS)] + random.normal(0, 0.03, DIMENSIONS)
        vector = vector.astype(np.float32)
        text_query, vector_query = Match("content", text), Nearest(vector)
        calls: dict[str, Callable[[], object]] = {
            "bm25 ours": lambda q=text_query: ours(q),
            "bm25 bare": lambda t=text: plain_text(t),
            "vector ours": lambda q=vector_query: ours(q),
            "vector bare": lambda v=vector: plain_vector(v),
            "both ours": lambda t=text_query, v=vector_query: ours(t, v),
            "both bare": lambda t=text, v=vector: (plain_text(t), plain_vector(v)),
        }
        for name, call in calls.items():
            times.setdefault(name, []).append(timed(call))
    for leg in ("bm25", "vector", "both"):
        _print(leg, times[f"{leg} ours"], times[f"{leg} bare"])


def _print(leg: str, ours: Iterable[float], bare: Iterable[float]) -> None:
    mine, plain = sorted(ours), sorted(bare)
    p95 = [each[int(len(each) * 0.95)] for each in (mine, plain)]
    p50 = [statistics.median(each) for each in (mine, plain)]
    print(
        f"{leg:7} p50 {p50[0]:6.2f} ms, bare {p50[1]:6.2f} ms, ratio {p50[0] / p50[1]:.2f}"
        f"   (p95 {p95[0]:.2f}, bare {p95[1]:.2f})"
    )


if __name__ == "__main__":
    run()
