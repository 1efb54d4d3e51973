"""What the tests of the embedded store share: documents, vectors, and stores that are closed."""

from __future__ import annotations

import hashlib
from contextlib import contextmanager

import numpy as np

from hybrid_search.backends import embedded
from hybrid_search.domain import (
    Ask,
    Chunk,
    Document,
    IndexSpec,
    Match,
    Prepared,
    PreparedChunk,
    Restriction,
    VectorSpace,
)
from hybrid_search.schema import chunk_id

SPACE = VectorSpace("test-model", 4)
EVERYTHING = Restriction()


def vector_of(text):
    """A vector of small whole numbers, so that products are exact in float32."""
    digest = hashlib.sha256(text.encode("utf-8", "replace")).digest()
    vector = np.array([byte % 7 - 3 for byte in digest[: SPACE.dimensions]], np.float32)
    return vector if vector.any() else np.ones(SPACE.dimensions, np.float32)


def preparing(tenant="", vectors=vector_of):
    """Make a ``prepare`` that cuts at blank lines and counts what it was asked."""

    def prepare(documents, spec):
        prepare.calls.append([document.id for document in documents])
        return [_prepared(document, spec, tenant, vectors) for document in documents]

    prepare.calls = []
    return prepare


def _prepared(document, spec, tenant, vectors):
    chunks = [
        Chunk(
            chunk_id(tenant, document.id, position),
            document.id,
            position,
            text,
            start=document.text.index(text),
            end=document.text.index(text) + len(text),
            title=document.title,
            metadata=document.metadata,
        )
        for position, text in enumerate(t for t in document.text.split("\n\n") if t.strip())
    ]
    return Prepared(
        tuple(PreparedChunk(c, vectors(c.text) if spec.space else None) for c in chunks)
    )


def spec_of(**values):
    """A spec of plain words in a small vector space."""
    return IndexSpec(**{"space": SPACE, "language": "standard", **values})


@contextmanager
def opened(path=None, *, collection="docs", patience=20.0, **spec):
    """A store that is closed at the end."""
    store = embedded.create(path, collection, spec_of(**spec), patience)
    try:
        yield store
    finally:
        store.close()


def write(store, *documents, tenant="", vectors=vector_of):
    """Write documents, given as such or as pairs of id and text."""
    made = [d if isinstance(d, Document) else Document(*d) for d in documents]
    return store.write(tenant, made, preparing(tenant, vectors))


def rank(store, *queries, size=100, restriction=EVERYTHING, **ask):
    """Ask one question of as many alternatives; return its answer or raise its failure."""
    [answer] = store.rank(store.snapshot(), [Ask(queries, size, **ask)], restriction)
    if isinstance(answer, Exception):
        raise answer
    return answer


def found(store, text, field="content", **match):
    """The ids of the documents that a text finds, best first."""
    return [hit.document_id for hit in rank(store, Match(field, text, **match)).hits]
