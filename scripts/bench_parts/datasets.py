"""Labelled data sets in the BEIR layout, and how their records become single chunks with vectors.

They are read where they lie: in the folder that ``HYBRID_SEARCH_SHARED_DATA`` names, else in
``../shared/data`` beside the repository.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid_search import build, settings
from hybrid_search.domain import Chunk, Document, Embedding
from hybrid_search.ingestion import checked_document, embedded_text
from hybrid_search.schema import chunk_id
from scripts.bench_parts.report import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hybrid_search.domain import Deadline, Vector, VectorSpace
    from hybrid_search.errors import HybridSearchError

VARIABLE = "HYBRID_SEARCH_SHARED_DATA"
LANGUAGES = {"piaf-fr": "french"}
"""Every other set is in English."""
SHOWN_EVERY = 512


@dataclass(frozen=True, slots=True)
class Query:
    """One question; ``kind`` is its ``metadata.type``, where the set has such."""

    id: str
    text: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class DataSet:
    """Documents, queries, and how relevant which document is to which query."""

    name: str
    documents: tuple[Document, ...]
    queries: tuple[Query, ...]
    judgements: Mapping[str, Mapping[str, int]]

    @property
    def language(self) -> str:
        """The language its text is to be analysed for."""
        return LANGUAGES.get(self.name, "english")


def folder() -> Path:
    """Return the folder of all sets. Raises ``FileNotFoundError`` that says how to name it."""
    usual = Path(__file__).resolve().parents[3] / "shared" / "data"
    found = Path(os.environ.get(VARIABLE) or usual)
    if not found.is_dir():
        raise FileNotFoundError(f"no data sets in {found}: set {VARIABLE} to their folder")
    return found


def read(name: str, *, part: str = "") -> DataSet:
    """Read one set; ``part`` of "train" takes its training queries instead.

    Queries without a judgement are left out, as no metric is defined for them.
    """
    place = folder() / name
    if not place.is_dir():
        raise FileNotFoundError(f"there is no data set {name!r} in {place.parent}")
    suffix = f".{part}" if part else ""
    judgements: dict[str, dict[str, int]] = {}
    with (place / f"qrels{suffix}.tsv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            judged = judgements.setdefault(row["query-id"], {})
            judged[row["corpus-id"]] = int(row["score"])
    documents = tuple(
        Document(record["_id"], record["text"], record.get("title", ""))
        for record in _records(place / "corpus.jsonl")
    )
    queries = tuple(
        Query(record["_id"], record["text"], record.get("metadata", {}).get("type", ""))
        for record in _records(place / f"queries{suffix}.jsonl")
        if record["_id"] in judgements
    )
    return DataSet(name, documents, queries, judgements)


def _records(path: Path) -> Iterator[dict[str, Any]]:
    packed = path.with_name(path.name + ".gz")
    if path.exists():
        with path.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)
    else:
        with gzip.open(packed, "rt", encoding="utf-8") as lines:
            yield from map(json.loads, lines)


class Whole:
    """A chunker that cuts nothing: one chunk a document, so that documents are what is ranked."""

    name = "whole"

    def chunk(self, document: Document, tenant: str = "") -> list[Chunk]:
        """Make the one chunk."""
        made = Chunk(
            id=chunk_id(tenant, document.id, 0),
            document_id=document.id,
            position=0,
            text=document.text,
            end=len(document.text),
            title=document.title,
            source=document.source,
            metadata=document.metadata,
        )
        return [made]


class Given:
    """An embedder that computes nothing: it hands out the vectors that it was made with."""

    def __init__(self, space: VectorSpace, vectors: Mapping[str, Vector]) -> None:
        self.space = space
        self.vectors = vectors

    def embed_documents(
        self,
        texts: Sequence[str],
        deadline: Deadline | None = None,  # noqa: ARG002
    ) -> list[Embedding | HybridSearchError]:
        """Look the texts up. Raises ``KeyError`` for an unknown one."""
        return [Embedding(self.vectors[text]) for text in texts]

    def embed_query(self, text: str, deadline: Deadline | None = None) -> Embedding:  # noqa: ARG002
        """Look one text up. Raises ``KeyError`` for an unknown one."""
        return Embedding(self.vectors[text])

    def remembered(self, text: str) -> Embedding | None:
        """Say what is known without computing: everything."""
        return Embedding(self.vectors[text])

    def close(self) -> None:
        """Nothing to release."""


def given(name: str, documents: Sequence[Document], queries: Sequence[str] = ()) -> Given:
    """Embed whole documents and queries with the ``local`` model, and hold on to the vectors.

    They come from the embedding cache in the settings' home; what is not there takes about 40 ms a
    text, and is there next time.
    """
    embedder = build.make_embedder(settings.load(), "local")
    try:
        whole = [Whole().chunk(checked_document(document))[0] for document in documents]
        texts = [embedded_text(chunk, context=True) for chunk in whole]
        vectors: dict[str, Vector] = {}
        for first in range(0, len(texts), SHOWN_EVERY):
            part = texts[first : first + SHOWN_EVERY]
            for text, made in zip(part, embedder.embed_documents(part), strict=True):
                if not isinstance(made, Embedding):
                    raise made
                vectors[text] = made.vector
            say(f"{name}: {first + len(part):,} of {len(texts):,} texts have vectors")
        vectors |= {query: embedder.embed_query(query).vector for query in queries}
        return Given(embedder.space, vectors)
    finally:
        embedder.close()
