"""What the contract of stores is held against: every backend, and vectors made by hand.

Run as a program it writes documents in small batches and prints what was acknowledged, to be
killed half-way: ``python -m tests.contract.stores '{"kind": "file", ...}'``.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from hybrid_search import connect
from hybrid_search.backends import embedded, opensearch
from hybrid_search.domain import (
    Ask,
    Chunk,
    Document,
    IndexSpec,
    Prepared,
    PreparedChunk,
    Restriction,
    VectorSpace,
)
from hybrid_search.schema import chunk_id
from tests import nodes

SPACE = VectorSpace("by-hand", 4)
FIELDS = {"team": "keyword", "year": "integer", "price": "float", "open": "boolean", "day": "date"}
SPEC = IndexSpec(space=SPACE, chunker="blank lines", fields=FIELDS)
KINDS = ("memory", "file", *(nodes.node_urls() or ["no-node"]))
"""One for each backend: a word for the embedded ones, the URL of a node."""
EVERYTHING = Restriction()


def label(kind):
    """What a test's name calls a backend."""
    return nodes.label(kind) if "://" in kind else kind


@dataclass
class Backend:
    """Where collections of one test module are, and how they are opened."""

    kind: str
    folder: Path
    prefix: str
    opened: ExitStack = field(default_factory=ExitStack)

    @property
    def url(self):
        """The node's URL; empty for an embedded store."""
        return self.kind if "://" in self.kind else ""

    def new_name(self):
        """A collection that nobody has used."""
        return f"{self.prefix}{secrets.token_hex(3)}"

    def open(self, name=None, **changes):
        """Open a collection with ``SPEC`` but for some changes; a new one where none is named."""
        name, spec = name or self.new_name(), replace(SPEC, **changes)
        if self.url:
            store = opensearch.create(opensearch.Access(self.url), name, spec)
        else:
            store = embedded.create(None if self.kind == "memory" else self.folder, name, spec)
        self.opened.callback(store.close)
        return store

    def connect(self, name=None, **settings):
        """Open a collection as users do; it is closed with the module."""
        where = {"opensearch_url": self.url} if self.url else {"memory": self.kind == "memory"}
        made = connected(name or self.new_name(), home=self.folder, **where, **settings)
        self.opened.callback(made.close)
        return made


def connected(collection, **settings):
    """Open a collection with an embedder that needs nothing, and without traces on the disk."""
    if "embedder" not in settings:
        settings = {"embedder": "hashing", "dimensions": 64} | settings
    return connect(collection=collection, query_log=False, cache=False, **settings)


@contextmanager
def backend(kind, folder):
    """A backend whose collections are closed, and removed from the node, at the end."""
    made = Backend(kind, folder, f"hybrid-search-test-{secrets.token_hex(4)}-")
    try:
        with made.opened:
            yield made
    finally:
        if made.url:
            nodes.remove(made.url, made.prefix)


def over(kinds):
    """A fixture that is one backend after the other, with collections of one module only."""

    @pytest.fixture(scope="module", params=kinds, ids=map(label, kinds))
    def fixture(request, tmp_path_factory):
        if label(request.param) in ("no-node", nodes.UNREACHABLE):
            pytest.fail(f"{request.param}: {nodes.NO_NODE}", pytrace=False)
        with backend(request.param, tmp_path_factory.mktemp("stores")) as made:
            yield made

    return fixture


# --- Documents ------------------------------------------------------------------------------


def vector_of(text):
    """A vector of small whole numbers that follows from the text, never zero."""
    digest = hashlib.sha256(text.encode("utf-8", "replace")).digest()
    vector = np.array([byte % 7 - 3 for byte in digest[: SPACE.dimensions]], np.float32)
    return vector if vector.any() else np.ones(SPACE.dimensions, np.float32)


def preparing(tenant="", vectors=vector_of):
    """Make a ``prepare`` that cuts at blank lines; ``prepare.asked`` lists the documents' ids.

    A document's vector is the one in its metadata under ``vector``, else follows from the text.
    """

    def prepare(documents, spec):
        prepare.asked += [document.id for document in documents]
        return [
            prepared(document, tenant, vectors if spec.space else None) for document in documents
        ]

    prepare.asked = []
    return prepare


def prepared(document, tenant="", vectors=vector_of):
    """Cut one document at blank lines: the chunks with their vectors."""
    made, start = [], 0
    for text in document.text.split("\n\n"):
        if text:
            chunk = Chunk(
                id=chunk_id(tenant, document.id, len(made)),
                document_id=document.id,
                position=len(made),
                text=text,
                start=start,
                end=start + len(text),
                title=document.title,
                source=document.source,
                metadata=document.metadata,
            )
            by_hand = document.metadata.get("vector")
            vector = None if vectors is None else vectors(text) if by_hand is None else by_hand
            made.append(PreparedChunk(chunk, None if vector is None else np.float32(vector)))
        start += len(text) + 2
    return Prepared(tuple(made))


def write(store, *documents, tenant="", vectors=vector_of):
    """Write documents, given as such or as pairs of id and text, and make them findable."""
    made = [d if isinstance(d, Document) else Document(*d) for d in documents]
    results = store.write(tenant, made, preparing(tenant, vectors))
    store.refresh()
    return results


def statuses(results):
    """What a reader looks at first: what became of each document, and at which version."""
    return [(result.status, result.version) for result in results]


# --- Questions ------------------------------------------------------------------------------


def rank(store, *alternatives, size=100, restriction=EVERYTHING, **ask):
    """Ask one question; return its answer, or raise its failure."""
    [answer] = store.rank(store.snapshot(), [Ask(alternatives, size, **ask)], restriction)
    if isinstance(answer, Exception):
        raise answer
    return answer


def scores(store, *alternatives, **options):
    """Document id to score, best first."""
    hits = rank(store, *alternatives, **options).hits
    names = store.fetch(store.snapshot(), hits)
    return {names[hit.chunk_id].document_id: hit.score for hit in hits}


def found(store, *alternatives, **options):
    """The ids of the documents that are found, best first; one entry a chunk."""
    hits = rank(store, *alternatives, **options).hits
    names = store.fetch(store.snapshot(), hits)
    return [names[hit.chunk_id].document_id for hit in hits]


def contents(store, tenant=""):
    """Everything a store holds of a tenant that a caller can read, in order."""
    return [
        (asdict(head), [asdict(chunk) for chunk in store.chunks(tenant, head.document.id)])
        for head in store.scan_heads(tenant)
    ]


# --- The process that is killed -------------------------------------------------------------

TO_WRITE = [
    Document(f"document-{n:02}", "\n\n".join(f"part {p} of {n}" for p in range(1 + n % 4)))
    for n in range(24)
]


def write_all(store, acknowledged):
    """Write ``TO_WRITE`` in batches of three; tell of each result once it is acknowledged."""
    for start in range(0, len(TO_WRITE), 3):
        for result in store.write("", TO_WRITE[start : start + 3], preparing()):
            acknowledged(result.document_id)


def main():
    """Write into the collection that the argument describes."""
    given = json.loads(sys.argv[1])
    made = Backend(given["kind"], Path(given["folder"]), given["prefix"])
    write_all(made.open(given["name"]), lambda document_id: print(document_id, flush=True))


if __name__ == "__main__":
    main()
