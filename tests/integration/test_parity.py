"""The embedded store ranks as the node does: same tokens, and the same quality on a real set."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import ir_measures
import pytest
from ir_measures import Qrel, ScoredDoc, nDCG

from hybrid_search import connect
from hybrid_search.analysis import Analyzer
from hybrid_search.backends.opensearch.mapping import index_body
from hybrid_search.domain import Document, IndexSpec
from hybrid_search.languages import LANGUAGES
from tests import nodes

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = {
    "standard": "The Zürich café's INV-2024-7831 is at node.js, 1,024.5 m/s",
    "english": "The engineer's policies were generally relational; running ponies don't care",
    "french": "L'été, les chevaux s'arrêtent aujourd'hui: qu'est-ce que l’œuvre naïve?",
    "german": "Die Häuser der Straße wurden größer; schöne Grüße aus München",
    "spanish": "Las niñas corrían rápidamente por las calles de la ciudad",
    "italian": "L'università della città è aperta; gli amici dell'anno corrono velocemente",
    "portuguese": "As ações não são rápidas; os cidadãos informaram a situação",
    "cjk": "東京タワーへ行く。서울 ABC ｶﾞ",
}
CODES = "see (INC-2023-Q4-011), «part-nn44-x»; ERR_TLS_0x1F: a/b 10/2019 __x__ l'été"


def analysed(node: str, index: str, analyzer: str, text: str) -> list[str]:
    body = {"analyzer": analyzer, "text": text}
    return [t["token"] for t in nodes.call(node, "POST", f"/{index}/_analyze", body)["tokens"]]


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_tokens_are_those_of_the_node(node_url: str, prefix: str, language: str) -> None:
    index = f"{prefix}{language}"
    body = index_body(IndexSpec(space=None, language=language), derived_source=False)
    nodes.call(node_url, "PUT", f"/{index}", body)
    analyzer = Analyzer(LANGUAGES[language])
    text = TEXTS[language]
    assert list(analyzer.tokens("content", text)) == analysed(node_url, index, "content", text)
    assert list(analyzer.tokens("codes", CODES)) == analysed(node_url, index, "codes", CODES)
    assert list(analyzer.tokens("parts", CODES)) == analysed(node_url, index, "parts", CODES)


def test_bm25_of_both_is_equally_good(
    node_url: str, prefix: str, shared_data: Path, record_property: Any
) -> None:
    """Cranfield, the first 100 queries: nDCG@10 within 0.01."""
    folder = shared_data / "cranfield"
    documents = [
        Document(r["_id"], r["text"], r["title"])
        for r in read(folder / "corpus.jsonl")
        if r["text"]
    ]
    queries = {r["_id"]: r["text"] for r in read(folder / "queries.jsonl")[:100]}
    lines = (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]
    qrels = [Qrel(q, d, int(grade)) for q, d, grade in (line.split("\t") for line in lines)]
    qrels = [q for q in qrels if q.query_id in queries]
    options: dict[str, Any] = {"legs": ("bm25",), "chunker_options": {"max_characters": 1_000_000}}
    runs: list[dict[str, list[str]]] = []
    for where in ({"opensearch_url": node_url, "collection": f"{prefix}c"}, {"memory": True}):
        with connect(query_log=False, **options, **where) as search:
            assert search.add(documents).dead == []
            runs.append(
                {q: [h.document_id for h in search.search(t).hits] for q, t in queries.items()}
            )
    quality = [
        ir_measures.calc_aggregate(
            [nDCG @ 10],
            qrels,
            [ScoredDoc(q, d, -rank) for q, ids in run.items() for rank, d in enumerate(ids)],
        )[nDCG @ 10]
        for run in runs
    ]
    overlap = sum(len(set(runs[0][q]) & set(runs[1][q])) / 10 for q in queries) / len(queries)
    record_property("top-10 overlap", overlap)
    assert quality[0] == pytest.approx(quality[1], abs=0.01)
    assert overlap > 0.9


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
