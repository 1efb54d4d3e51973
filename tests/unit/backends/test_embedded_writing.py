"""Writes against a model: what is stored, what is said of it, and what searches find of it."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_search.domain import (
    And,
    Chunk,
    Condition,
    Document,
    Match,
    Nearest,
    Prepared,
    PreparedChunk,
    Restriction,
)
from hybrid_search.errors import ModelUnavailable
from tests.unit.backends.embedded_helpers import (
    SPACE,
    found,
    opened,
    preparing,
    rank,
    vector_of,
    write,
)

ids = st.sampled_from("abcd")
texts = st.sampled_from(["", "one", "one two", "two\n\none", "three\n\ntwo\n\none"])
operations = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.lists(st.tuples(ids, texts), min_size=1, max_size=4)),
        st.tuples(st.just("delete"), st.lists(ids, min_size=1, max_size=2)),
    ),
    max_size=12,
)


class Model:
    """What a store of one tenant should hold."""

    def __init__(self):
        self.texts, self.versions = {}, {}

    def write(self, batch):
        return [self._put(document_id, text) for document_id, text in batch]

    def _put(self, document_id, text):
        if not text:
            return ("dead", 0)
        if self.texts.get(document_id) == text:
            return ("unchanged", self.versions[document_id])
        status = "replaced" if document_id in self.texts else "added"
        self.texts[document_id] = text
        return (status, self._next(document_id))

    def delete(self, batch):
        results = []
        for document_id in batch:
            there = self.texts.pop(document_id, None) is not None
            results.append(("deleted", self._next(document_id)) if there else ("absent", 0))
        return results

    def _next(self, document_id):
        self.versions[document_id] = self.versions.get(document_id, 0) + 1
        return self.versions[document_id]

    def chunks(self):
        return {
            (document_id, position, text)
            for document_id, whole in self.texts.items()
            for position, text in enumerate(whole.split("\n\n"))
        }


def check(store, model):
    """Whatever way the store is read, it holds what the model holds."""
    heads = {head.document.id: head for head in store.scan_heads()}
    assert {i: head.document.text for i, head in heads.items()} == model.texts
    assert {i: head.version for i, head in heads.items()} == {
        i: model.versions[i] for i in model.texts
    }
    assert store.heads("", ["a", "b", "c", "d"]) == heads
    chunks = {c.id: c for i in "abcd" for c in store.chunks("", i)}
    assert {(c.document_id, c.position, c.text) for c in chunks.values()} == model.chunks()
    status = store.status()
    assert (status.documents, status.chunks) == (len(model.texts), len(model.chunks()))
    assert status.deleted == len(model.versions) - len(model.texts)
    if store.snapshot() is None:
        return
    near = rank(store, Nearest(vector_of("one"))).hits
    assert {hit.chunk_id for hit in near} == set(chunks)
    assert store.fetch(store.snapshot(), near) == chunks
    for word in ("one", "two", "three"):
        wanted = {i for i, chunk in chunks.items() if word in chunk.text.split()}
        for field in ("content", "codes", "parts"):
            assert {hit.chunk_id for hit in rank(store, Match(field, word)).hits} == wanted


@settings(max_examples=40, deadline=None)
@given(operations)
def test_a_store_holds_what_a_dictionary_would(given_operations):
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        stores = [stack.enter_context(opened(folder)) for _ in range(2)]
        stores.append(stack.enter_context(opened()))
        models = [Model(), Model()]
        for name, batch in given_operations:
            for store, model in zip((stores[0], stores[2]), models, strict=True):
                results = write(store, *batch) if name == "write" else store.delete("", batch)
                wanted = model.write(batch) if name == "write" else model.delete(batch)
                assert [(r.status, r.version) for r in results] == wanted
            # The second store on the file follows by increments.
            check(stores[1], models[0])
        check(stores[2], models[1])
        check(stack.enter_context(opened(folder)), models[0])


def test_only_what_changed_is_prepared():
    prepare = preparing()
    with opened() as store:
        documents = [Document("a", "one"), Document("b", "two")]
        store.write("", documents, prepare)
        assert [r.status for r in store.write("", documents, prepare)] == ["unchanged"] * 2
        changed = [documents[0], Document("b", "three"), Document("b", "three")]
        statuses = [r.status for r in store.write("", changed, prepare)]
        assert statuses == ["unchanged", "replaced", "unchanged"]
        assert prepare.calls == [["a", "b"], ["b"]]


def test_of_one_id_the_last_has_the_last_word():
    with opened() as store:
        write(store, ("a", "one"))
        results = write(store, ("a", "two"), ("a", "one"), ("a", "two"), ("a", "one"))
        assert [(r.status, r.version) for r in results] == [
            ("replaced", 2), ("replaced", 3), ("replaced", 4), ("replaced", 5),
        ]  # fmt: skip
        assert found(store, "one") == ["a"]
        assert found(store, "two") == []


def test_a_shorter_version_leaves_no_chunk_behind():
    """A12: five chunks, then three."""
    with opened() as store:
        write(store, ("a", "\n\n".join(f"word w{i}" for i in range(5))))
        write(store, ("a", "\n\n".join(f"word w{i}" for i in range(3))))
        assert [c.position for c in store.chunks("", "a")] == [0, 1, 2]
        assert len(rank(store, Match("content", "word")).hits) == 3
        assert rank(store, Match("content", "w4")).hits == ()


def test_a_failing_preparation_stores_nothing():
    def fails(documents, spec):
        raise ModelUnavailable("no model")

    with opened() as store:
        with pytest.raises(ModelUnavailable):
            store.write("", [Document("a", "one")], fails)
        assert store.snapshot() is None
        write(store, ("a", "one"))
        with pytest.raises(ModelUnavailable):
            store.write("", [Document("a", "two")], fails)
        assert found(store, "one") == ["a"]


def test_dead_documents_have_a_reason_and_keep_what_was_there():
    def prepare(documents, spec):
        return [Prepared(error="it is broken") for _ in documents]

    with opened(fields={"year": "integer"}) as store:
        write(store, Document("a", "one", metadata={"year": 1}))
        [result] = store.write("", [Document("a", "two")], prepare)
        assert (result.status, result.reason) == ("dead", "it is broken")
        results = write(
            store,
            Document("a", "three", metadata={"year": "soon"}),
            Document("b", "", metadata={}),
            Document("c", "four", metadata={"x": {1: 2, "y": 3}, ("no", "json"): 4}),
            Document("d", "five"),
        )
        assert [r.status for r in results] == ["dead", "dead", "dead", "added"]
        assert "'year': 'soon' is not a integer" in results[0].reason
        assert [r.reason for r in results[1:3]] == [
            "no text", "its metadata can't be written as JSON",
        ]  # fmt: skip
        assert sorted(found(store, "one two three four five")) == ["a", "d"]


def test_a_chunk_id_that_is_taken_is_refused_whole():
    def prepare(documents, spec):
        return [
            Prepared(
                tuple(
                    PreparedChunk(Chunk(name, d.id, at, "word"), vector_of("word"))
                    for at, name in enumerate([f"own-{d.id}", "same"])
                )
            )
            for d in documents
        ]

    with opened() as store:
        results = store.write("", [Document("a", "x"), Document("b", "x")], prepare)
        assert [r.status for r in results] == ["added", "dead"]
        assert "already in use" in results[1].reason
        assert [c.id for c in store.chunks("", "a")] == ["own-a", "same"]
        assert store.chunks("", "b") == []
        assert found(store, "word") == ["a", "a"]
        write(store, ("c", "word"))
        assert len(found(store, "word")) == 3


def test_a_search_far_behind_the_writes_reads_everything_again():
    with opened() as store:
        write(store, *((f"d{i}", "word") for i in range(20)))
        assert len(rank(store, Nearest(vector_of("word"))).hits) == 20
        store.delete("", ["d1"])
        for version in range(1005):
            write(store, ("d2", f"word {version}"))
        assert len(found(store, "word")) == 19
        assert len(rank(store, Nearest(vector_of("word"))).hits) == 19
        assert found(store, "1004") == ["d2"]


def test_a_store_that_follows_scores_like_one_that_starts(tmp_path):
    with opened(tmp_path) as store:
        write(store, *((f"d{i}", f"word {'other ' * i}") for i in range(20)))
        queries = [Match("content", "word other"), Nearest(vector_of("word "))]
        before = [rank(store, query).hits for query in queries]
        write(store, ("d3", "word"), ("d19", "word"), ("new", "word " + "longer " * 50))
        store.delete("", ["d0"])
        after = [rank(store, query).hits for query in queries]
        assert after != before
        with opened(tmp_path) as fresh:
            assert [rank(fresh, query).hits for query in queries] == after


def test_two_tenants_own_a_document_of_the_same_id():
    with opened() as store:
        write(store, ("handbook", "one"), tenant="a")
        write(store, ("handbook", "two"), tenant="b")
        assert [h.tenant for h in store.scan_heads()] == ["a", "b"]
        assert [h.document.text for h in store.scan_heads("b")] == ["two"]
        assert [c.text for c in store.chunks("a", "handbook")] == ["one"]
        store.delete("a", ["handbook"])
        assert store.heads("a", ["handbook"]) == {}
        assert store.heads("b", ["handbook"])["handbook"].document.text == "two"


def test_everything_given_comes_back():
    document = Document(
        "é/ü 1", "text", "Title", {"list": [1, "a", None], "deep": {"x": 1.5}}, "file:x"
    )
    chunk = Chunk(
        "c1", document.id, 0, "text", 0, 4, "Title", ("A", "B"), "p", "file:x", document.metadata, 2
    )

    def prepare(documents, spec):
        return [Prepared((PreparedChunk(chunk, vector_of("x")),)) for _ in documents]

    with opened() as store:
        store.write("t", [document], prepare)
        assert store.heads("t", [document.id])[document.id].document == document
        assert store.chunks("t", document.id) == [chunk]


def test_a_field_declared_later_is_filled_from_what_is_stored(tmp_path):
    with opened(tmp_path) as store:
        write(
            store,
            Document("a", "word\n\nword", metadata={"year": 1}),
            Document("b", "word", metadata={"year": [2, 3]}),
            Document("gone", "word", metadata={"year": "gone"}),
        )
        store.delete("", ["gone"])
    with opened(tmp_path, fields={"year": "integer"}) as store:
        assert store.fields(store.snapshot()) == {}
        write(store, Document("c", "word", metadata={"year": 2}))
        assert store.fields(store.snapshot()) == {"year": "integer"}
        for year, wanted in ((1, ["a", "a"]), (2, ["b", "c"]), (3, ["b"])):
            held = Restriction(filter=And((Condition("year", "eq", year),)))
            hits = rank(store, Match("content", "word"), restriction=held).hits
            assert sorted(hit.document_id for hit in hits) == wanted


def test_a_space_of_the_helpers_is_what_is_stored():
    with opened() as store:
        write(store, ("a", "one"))
        assert store.snapshot().spec.space == SPACE
