"""One search, ours against what one writes by hand in an afternoon, on one node in one run.

The collection is scifact four times over, 20,732 chunks with MiniLM vectors made beforehand. The
floor has an index of the plain kind with the same texts and vectors; it asks both legs in two
threads, fuses with RRF, and reads the ten best with one multi-get.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opensearchpy import OpenSearch, helpers

from hybrid_search import build
from hybrid_search.ingestion import checked_document, embedded_text
from scripts.bench_parts import datasets
from scripts.bench_parts.report import TIMING_COLUMNS, Table, Target, Timings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hybrid_search.domain import Document, Vector
    from hybrid_search.hybrid import HybridSearch

COPIES = 4
WINDOWS = {20: 0.70, 100: 0.50}
"""How many candidates a leg gives, and at most what part of the floor's p50 a search may take."""
PAGE = 10
COLLECTION = "bench-search"
PLAIN = "bench-search-plain"
ONE_CHUNK = {"max_characters": 1_000_000}
"""Of the chunker ``section``: scifact has no headings, so each abstract is one chunk."""
WARM_UP = 20
LEGS = ("bm25", "vector")


def run(url: str, limit: int | None = None) -> list[Table]:
    """Measure on the node at this URL; ``limit`` takes that many abstracts and queries."""
    source = datasets.read("scifact")
    documents = source.documents[:limit]
    queries = [query.text for query in source.queries][:limit]
    given = datasets.given("scifact", documents, queries)
    copied = [
        replace(checked_document(document), id=f"{document.id}-{copy}")
        for copy in range(COPIES)
        for document in documents
    ]
    with _ours(url, given, copied) as ours, _floor(url, given, copied) as floor:
        chunks = ours.status().chunks
        tables = [_against_floor(ours, floor, given, queries, window) for window in WINDOWS]
        return [
            replace(table, title=f"{table.title}, {chunks:,} chunks")
            for table in (*tables, _parts(floor.client, given.vectors, queries))
        ]


def _against_floor(
    ours: HybridSearch,
    floor: Floor,
    given: datasets.Given,
    queries: Sequence[str],
    window: int,
) -> Table:
    timings = Timings()
    names = ("hand-written floor", "ours, three legs", "ours, bm25 + vector")
    for number, query in enumerate((*queries[:WARM_UP], *queries)):
        if number == WARM_UP:
            timings = Timings()
        vector = given.vectors[query].tolist()
        options: dict[str, Any] = {"candidates": window, "top_k": PAGE}
        calls = (
            partial(floor.search, query, vector, window),
            partial(ours.search, query, **options),
            partial(ours.search, query, legs=LEGS, **options),
        )
        timings.interleave(dict(zip(names, calls, strict=True)))
    targets = tuple(
        Target(f"p50 of {name} to the floor's, windows of {window}", ratio, WINDOWS[window])
        for name in names[1:]
        for ratio in [timings.ratio(name, names[0])]
    )
    return Table(
        f"Search, windows of {window}", TIMING_COLUMNS, tuple(timings.rows(names[0])), targets
    )


def _parts(client: OpenSearch, vectors: Mapping[str, Vector], queries: Sequence[str]) -> Table:
    """Ask both legs in five ways: what the tie rule and the fixed shard copy cost."""
    window = max(WINDOWS)
    by_value = {"stored_fields": "_none_", "docvalue_fields": ["chunk_id"]}
    by_sort = {"stored_fields": "_none_", "sort": [{"_score": "desc"}, {"chunk_id": "asc"}]}
    ways: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "ids as _id, no order among equals": ({}, {"_source": False}),
        "ids as doc values, no order among equals": ({}, by_value),
        "+ preference": ({"preference": "q1"}, by_value),
        "sorted by score and id (the tie rule)": ({}, by_sort),
        "tie rule + preference (what is sent)": ({"preference": "q1"}, by_sort),
    }
    timings = Timings()
    for query in queries:
        legs = (
            {"match": {"content": query}},
            {"knn": {"vector": {"vector": vectors[query].tolist(), "k": window}}},
        )
        calls = {}
        for name, (header, wanted) in ways.items():
            body: list[dict[str, Any]] = []
            for leg in legs:
                body.append({"index": COLLECTION, **header})
                body.append({"size": window, "track_total_hits": False, "query": leg, **wanted})
            calls[name] = partial(client.msearch, body=body)
        timings.interleave(calls)
    rows = timings.rows("ids as doc values, no order among equals")
    return Table(f"One multi-search of both legs, windows of {window}", TIMING_COLUMNS, tuple(rows))


@contextmanager
def _ours(url: str, given: datasets.Given, documents: Sequence[Document]) -> Iterator[HybridSearch]:
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
            search.add(documents)
            one_segment(OpenSearch(url), COLLECTION)
            yield search
        finally:
            search.store.drop()


class Floor:
    """Hybrid search by hand: the client's defaults, two threads, ids only, RRF, one multi-get."""

    def __init__(self, url: str) -> None:
        self.client = OpenSearch(url)
        self._threads = ThreadPoolExecutor(2)

    def search(self, text: str, vector: list[float], window: int) -> list[tuple[str, float, Any]]:
        """Return the ten best: id, score, source."""
        queries = (
            {"match": {"text": text}},
            {"knn": {"vector": {"vector": vector, "k": window}}},
        )
        asked = [
            self._threads.submit(
                self.client.search,
                index=PLAIN,
                body={"size": window, "_source": False, "query": query},
            )
            for query in queries
        ]
        scores: defaultdict[str, float] = defaultdict(float)
        for answer in asked:
            for rank, hit in enumerate(answer.result()["hits"]["hits"], 1):
                scores[hit["_id"]] += 1 / (60 + rank)
        best = sorted(scores.items(), key=lambda pair: -pair[1])[:PAGE]
        ids = [key for key, _ in best]
        found = self.client.mget(index=PLAIN, body={"ids": ids}, _source_excludes=["vector"])
        return [
            (key, score, document["_source"])
            for (key, score), document in zip(best, found["docs"], strict=True)
        ]


@contextmanager
def _floor(url: str, given: datasets.Given, documents: Sequence[Document]) -> Iterator[Floor]:
    floor = Floor(url)
    floor.client.indices.delete(index=PLAIN, ignore_unavailable=True)
    floor.client.indices.create(index=PLAIN, body=plain_index(given.space.dimensions))
    try:
        helpers.bulk(floor.client, plain_actions(PLAIN, given, documents))
        one_segment(floor.client, PLAIN)
        yield floor
    finally:
        floor.client.indices.delete(index=PLAIN)


def plain_index(dimensions: int) -> dict[str, Any]:
    """Return what the engine's documentation says for one text field and one vector field."""
    vector = {
        "type": "knn_vector",
        "dimension": dimensions,
        "method": {
            "name": "hnsw",
            "engine": "lucene",
            "space_type": "cosinesimil",
            "parameters": {"m": 16, "ef_construction": 128},
        },
    }
    return {
        "settings": {"index": {"knn": True, "number_of_shards": 1, "number_of_replicas": 0}},
        "mappings": {
            "properties": {"text": {"type": "text", "analyzer": "english"}, "vector": vector}
        },
    }


def plain_actions(
    index: str, given: datasets.Given, documents: Sequence[Document]
) -> Iterator[dict[str, Any]]:
    """Make the bulk actions that put whole documents into a plain index."""
    whole = datasets.Whole()
    for document in documents:
        text = embedded_text(whole.chunk(document)[0], context=True)
        source = {"text": text, "vector": given.vectors[text].tolist()}
        yield {"_index": index, "_id": document.id, "_source": source}


def one_segment(client: OpenSearch, index: str) -> None:
    """Merge an index to one segment, so that two are searched in the same state."""
    client.indices.forcemerge(index=index, max_num_segments=1, params={"request_timeout": 600})
    client.indices.refresh(index=index)
