"""How good the rankings are: each leg alone, plain RRF of two, and the default fusion of three.

Each record of a set is stored whole, title and text, as one chunk, so that documents are what is
ranked. Windows of 100, all other settings at their defaults; nothing is tuned on these queries.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ir_measures
import numpy as np

from hybrid_search import build, settings
from hybrid_search.ingestion import Ingestor
from hybrid_search.schema import chunk_id
from scripts.bench_parts import datasets
from scripts.bench_parts.report import Table, Target, say

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hybrid_search.domain import SearchResult
    from hybrid_search.hybrid import HybridSearch

SETS = ["scifact", "cranfield", "claude-docs-rag", "rustsec-ids", "piaf-fr"]
FIRST_QUERIES = {"piaf-fr": 500}
"""Sets with too many queries to ask them all: only so many are asked, the first ones."""
WINDOW = 100
MEASURES = {
    "nDCG@10": ir_measures.nDCG @ 10,
    "recall@10": ir_measures.R @ 10,
    "recall@100": ir_measures.R @ 100,
}
LEGS = ("bm25", "vector", "identifier")
PLAIN = "plain RRF"
DEFAULT = "default fusion"
SYSTEMS = (*LEGS, PLAIN, DEFAULT)
IDENTIFIERS = "rustsec-ids"
SENTENCES = "summary"
IDENTIFIERS_AT_LEAST = 0.92
LOST_AT_MOST = 0.005
FLIPS = 10_000
THREE = dict.fromkeys(SYSTEMS, ".3f")

Run = dict[str, list[str]]
"""For each query the ids of the documents found, best first."""


@dataclass(frozen=True, slots=True)
class Scores:
    """One measure for each query of one run or another."""

    name: str
    by_system: dict[str, dict[str, dict[str, float]]]
    """System, measure, query."""
    fired: frozenset[str]
    """Queries that the identifier leg had something to say to."""

    def restricted(self, name: str, queries: Sequence[str]) -> Scores:
        """Take some of the queries."""
        wanted = frozenset(queries)
        systems = {
            system: {
                measure: {q: v for q, v in values.items() if q in wanted}
                for measure, values in measures.items()
            }
            for system, measures in self.by_system.items()
        }
        return Scores(name, systems, self.fired & wanted)

    def mean(self, system: str, measure: str) -> float:
        """Average one measure of one system over the queries."""
        return float(np.mean(list(self.by_system[system][measure].values())))

    @property
    def queries(self) -> list[str]:
        """The queries' ids, in one order for all systems."""
        return list(self.by_system[DEFAULT]["nDCG@10"])


def run(
    url: str, sets: Sequence[str] = SETS, *, embedder: str = "local", limit: int | None = None
) -> list[Table]:
    """Measure on the node at this URL, or without one in the embedded store."""
    scores: list[Scores] = []
    for name in sets:
        source = datasets.read(name)
        queries = source.queries[: limit or FIRST_QUERIES.get(name)]
        with _collection(url, source, embedder) as search:
            say(f"{name}: {len(queries)} queries against {search.description}")
            scores.append(_scored(search, source, queries))
        kinds = {query.id: query.kind for query in queries}
        if any(kinds.values()):
            sentences = [q for q, kind in kinds.items() if kind == SENTENCES]
            others = [q for q, kind in kinds.items() if kind != SENTENCES]
            scores.append(scores[-1].restricted("- identifiers", others))
            scores.append(scores[-2].restricted("- sentences", sentences))
    where = f"{'OpenSearch' if url else 'embedded store'}, embedder {embedder}"
    return [_gains(scores, where), *(_recalls(scores, m, where) for m in list(MEASURES)[1:])]


@contextmanager
def _collection(url: str, source: datasets.DataSet, embedder: str) -> Iterator[HybridSearch]:
    """Fill a collection with the set, and remove it afterwards."""
    cached = build.make_embedder(settings.load(), embedder)
    with (
        tempfile.TemporaryDirectory() as home,
        build.connect(
            opensearch_url=url,
            collection=f"bench-quality-{source.name}",
            embedder=cached,
            language=source.language,
            home=Path(home),
        ) as search,
    ):
        search.store.drop()
        try:
            say(f"{source.name}: storing {len(source.documents):,} documents")
            report = Ingestor(search.store, datasets.Whole(), cached).add(source.documents)
            if report.dead:
                raise RuntimeError(f"{source.name}: not stored: {report.dead[0]}")
            search.store.refresh()
            yield search
        finally:
            search.store.drop()


def _scored(
    search: HybridSearch, source: datasets.DataSet, queries: Sequence[datasets.Query]
) -> Scores:
    documents = {chunk_id("", d.id, 0): d.id for d in source.documents}
    runs: dict[str, Run] = {system: {} for system in SYSTEMS}
    options: dict[str, Any] = {"top_k": WINDOW, "candidates": WINDOW, "strict": True}
    for query in queries:
        whole = search.search(query.text, **options)
        plain = search.search(query.text, legs=("bm25", "vector"), **options)
        runs[DEFAULT][query.id] = _found(whole)
        runs[PLAIN][query.id] = _found(plain)
        for leg in LEGS:
            runs[leg][query.id] = []
        for ranking in whole.rankings:
            runs[ranking.leg][query.id] = [documents[hit.chunk_id] for hit in ranking.hits]
    judgements = {query.id: source.judgements[query.id] for query in queries}
    return Scores(
        source.name,
        {system: evaluate(judgements, found) for system, found in runs.items()},
        frozenset(query for query, found in runs["identifier"].items() if found),
    )


def _found(result: SearchResult) -> list[str]:
    return [hit.document_id for hit in result.hits]


def evaluate(
    judgements: Mapping[str, Mapping[str, int]], found: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, float]]:
    """Compute every measure for every judged query; one that found nothing counts as zero."""
    run = {
        query: {document: -float(rank) for rank, document in enumerate(ids)}
        for query, ids in found.items()
    }
    values = {name: dict.fromkeys(judgements, 0.0) for name in MEASURES}
    names = {measure: name for name, measure in MEASURES.items()}
    for metric in ir_measures.iter_calc(list(MEASURES.values()), dict(judgements), run):
        values[names[metric.measure]][metric.query_id] = metric.value
    return values


def chance(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return the two-sided p of a paired randomisation test: how often chance does as much."""
    differences = np.asarray(ours) - np.asarray(theirs)
    signs = np.random.default_rng(1).choice((-1.0, 1.0), (FLIPS, len(differences)))
    as_much = np.abs(signs @ differences) >= abs(differences.sum()) - 1e-9
    return float((as_much.sum() + 1) / (FLIPS + 1))


def _gains(scores: Sequence[Scores], where: str) -> Table:
    rows: list[tuple[Any, ...]] = []
    targets = []
    for one in scores:
        means = [one.mean(system, "nDCG@10") for system in SYSTEMS]
        ours, plain = (one.by_system[system]["nDCG@10"] for system in (DEFAULT, PLAIN))
        gain = means[-1] - means[-2]
        p = chance([ours[q] for q in one.queries], [plain[q] for q in one.queries])
        fires = len(one.fired) / len(one.queries)
        rows.append((one.name, len(one.queries), *means, gain, p, fires))
        if one.name == IDENTIFIERS:
            what = f"nDCG@10 of the default fusion on {one.name}"
            targets.append(Target(what, means[-1], IDENTIFIERS_AT_LEAST, at_most=False))
        elif one.name in SETS:
            what = f"nDCG@10 gained over plain RRF on {one.name}"
            targets.append(Target(what, gain, -LOST_AT_MOST, at_most=False))
    columns = ("", "queries", *SYSTEMS, "gain over plain", "p", "identifier fires")
    formats = THREE | {"gain over plain": "+.4f", "p": ".3f", "identifier fires": ".0%"}
    return Table(f"nDCG@10 ({where})", columns, tuple(rows), tuple(targets), formats=formats)


def _recalls(scores: Sequence[Scores], measure: str, where: str) -> Table:
    rows = tuple(
        (one.name, len(one.queries), *(one.mean(system, measure) for system in SYSTEMS))
        for one in scores
    )
    return Table(f"{measure} ({where})", ("", "queries", *SYSTEMS), rows, formats=THREE)
