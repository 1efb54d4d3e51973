"""Adding documents, ours against ``opensearchpy.helpers.bulk`` with the client's defaults.

Both get the same chunks with vectors made beforehand, and both are done when all is findable.
Ours also cuts the documents, keeps a head record for each, claims it by compare-and-set and
completes it: nothing of that is taken off. Every run starts with a fresh index, warmed by one
document; a round runs all ways in a shuffled order.
"""

from __future__ import annotations

import itertools
import random
import tempfile
import time
from collections import defaultdict
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opensearchpy import OpenSearch, helpers

from hybrid_search import build
from hybrid_search.chunkers import section
from hybrid_search.domain import Document
from hybrid_search.ingestion import checked_document, embedded_text
from scripts.bench_parts import datasets
from scripts.bench_parts.report import Table, Target, percentile, say
from scripts.bench_parts.search import ONE_CHUNK, plain_index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hybrid_search.domain import Chunk
    from hybrid_search.hybrid import HybridSearch

ROUNDS = 5
AT_LEAST = 1.0
"""Chunks a second, ours to the bulk helper's into the same mapping."""
SECTIONS = 6
COLLECTION = "bench-add"
BASELINE = "bench-add-bulk"
WARM_UP = Document("warm-up", "One document before the clock starts.")
OURS = "HybridSearch.add"
SAME = "helpers.bulk, same mapping"
PLAIN = "helpers.bulk, plain mapping"


def run(url: str, limit: int | None = None, rounds: int = ROUNDS) -> list[Table]:
    """Measure on the node at this URL; ``limit`` takes that many abstracts."""
    abstracts = datasets.read("scifact").documents[:limit]
    given = datasets.given("scifact", [*abstracts, WARM_UP])
    return [
        _compare(url, title, documents, given, rounds)
        for title, documents in (
            ("one chunk a document", list(abstracts)),
            (f"{SECTIONS} chunks a document", list(_joined(abstracts))),
        )
    ]


def _joined(abstracts: Sequence[Document]) -> Iterator[Document]:
    """Make one document of every six abstracts, each a section of its own."""
    for first in range(0, len(abstracts), SECTIONS):
        part = abstracts[first : first + SECTIONS]
        text = "\n\n".join(f"# {a.title}\n\n{a.text}" for a in part)
        yield Document(f"{first}-and-on", text, title="Abstracts")


def _compare(
    url: str, title: str, documents: list[Document], given: datasets.Given, rounds: int
) -> Table:
    chunks, vectors = _with_vectors(documents, given)
    client = OpenSearch(url)
    seconds: defaultdict[str, list[float]] = defaultdict(list)
    cpu: defaultdict[str, list[float]] = defaultdict(list)
    with _collection(url, vectors) as search:
        ways: dict[str, Callable[[], Callable[[], object]]] = {
            OURS: partial(_ours, search, documents),
            SAME: partial(_bulk, client, search, chunks, vectors),
            PLAIN: partial(_bulk_plain, client, chunks, vectors),
        }
        for number in range(rounds):
            names = list(ways)
            random.Random(number).shuffle(names)
            for name in names:
                timed = ways[name]()
                wall, processor = time.perf_counter(), time.process_time()
                timed()
                cpu[name].append(time.process_time() - processor)
                seconds[name].append(time.perf_counter() - wall)
                say(f"{title}, round {number + 1} of {rounds}: {name} {seconds[name][-1]:.1f} s")
            search.store.drop()
        client.indices.delete(index=BASELINE, ignore_unavailable=True)
    took = {name: percentile(values, 0.5) for name, values in seconds.items()}
    ratio = took[SAME] / took[OURS]
    return Table(
        f"Adding {len(chunks):,} chunks, {title}, until they are findable",
        ("", "chunks/s", "ratio", "best", "worst", "client CPU s"),
        tuple(
            (
                name,
                len(chunks) / took[name],
                took[SAME] / took[name],
                len(chunks) / min(seconds[name]),
                len(chunks) / max(seconds[name]),
                percentile(cpu[name], 0.5),
            )
            for name in ways
        ),
        (Target(f"chunks/s of ours to {SAME}, {title}", ratio, AT_LEAST, at_most=False),),
    )


def _with_vectors(
    documents: list[Document], given: datasets.Given
) -> tuple[list[Chunk], datasets.Given]:
    """Cut the documents as ``add`` will; each section of a joined one has its abstract's vector."""
    chunker = section.create(**ONE_CHUNK)
    made: list[Chunk] = []
    vectors = {}
    values = itertools.cycle(given.vectors.values())  # fewer than chunks where texts are equal
    for document in documents:
        for chunk in chunker.chunk(checked_document(document)):
            made.append(chunk)
            vectors[embedded_text(chunk, context=True)] = next(values)
    for text, vector in given.vectors.items():
        vectors.setdefault(text, vector)
    return made, datasets.Given(given.space, vectors)


@contextmanager
def _collection(url: str, given: datasets.Given) -> Iterator[HybridSearch]:
    with (
        tempfile.TemporaryDirectory() as home,
        build.connect(
            opensearch_url=url,
            collection=COLLECTION,
            embedder=given,
            chunker_options=ONE_CHUNK,
            home=Path(home),
        ) as search,
    ):
        search.store.drop()
        try:
            yield search
        finally:
            search.store.drop()


def _ours(search: HybridSearch, documents: list[Document]) -> Callable[[], object]:
    search.store.drop()
    search.add([WARM_UP])
    return lambda: search.add(documents)


def _bulk(
    client: OpenSearch, search: HybridSearch, chunks: list[Chunk], given: datasets.Given
) -> Callable[[], object]:
    """Prepare a bulk of records with the fields of ours into an index with our mapping."""
    if search.store.snapshot() is None:
        search.add([WARM_UP])
    [(_, made)] = client.indices.get(index=COLLECTION).items()
    kept = ("analysis", "knn", "knn.derived_source", "number_of_shards", "number_of_replicas")
    settings = {k: v for k, v in made["settings"]["index"].items() if k in kept}
    _fresh(client, {"settings": {"index": settings}, "mappings": made["mappings"]})
    return lambda: _send(client, map(partial(_record, given), chunks))


def _bulk_plain(
    client: OpenSearch, chunks: list[Chunk], given: datasets.Given
) -> Callable[[], object]:
    _fresh(client, plain_index(given.space.dimensions))
    return lambda: _send(client, map(partial(_plain_record, given), chunks))


def _fresh(client: OpenSearch, body: dict[str, Any]) -> None:
    client.indices.delete(index=BASELINE, ignore_unavailable=True)
    client.indices.create(index=BASELINE, body=body)
    client.index(index=BASELINE, body={"text": WARM_UP.text}, refresh=True)


def _send(client: OpenSearch, actions: Iterator[dict[str, Any]]) -> None:
    helpers.bulk(client, actions)
    client.indices.refresh(index=BASELINE)


def _record(given: datasets.Given, chunk: Chunk) -> dict[str, Any]:
    source = {
        "kind": "chunk",
        "tenant": "",
        "document_id": chunk.document_id,
        "version": 1,
        "chunk_id": chunk.id,
        "position": chunk.position,
        "text": chunk.text,
        "start": chunk.start,
        "end": chunk.end,
        "title": chunk.title,
        "vector": _vector(given, chunk),
    }
    return {"_index": BASELINE, "_id": chunk.id, "_source": source}


def _plain_record(given: datasets.Given, chunk: Chunk) -> dict[str, Any]:
    text = embedded_text(chunk, context=True)
    source = {"text": text, "vector": _vector(given, chunk)}
    return {"_index": BASELINE, "_id": chunk.id, "_source": source}


def _vector(given: datasets.Given, chunk: Chunk) -> list[float]:
    values: list[float] = given.vectors[embedded_text(chunk, context=True)].tolist()
    return values
