"""Documents in, searchable chunks out, each accounted for."""

import threading
from collections import Counter
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_search import ingestion
from hybrid_search.backends import embedded
from hybrid_search.chunkers import section
from hybrid_search.domain import Chunk, Document, IndexSpec, VectorSpace, WriteResult
from hybrid_search.embedders import hashing
from hybrid_search.errors import AccessDenied, FingerprintMismatch, InvalidInput, Throttled
from hybrid_search.ingestion import Ingestor, checked_document, embedded_text

PATIENCE = 10


class Embedder:
    """The hashing embedder, which notes its texts and fails for those that say so."""

    def __init__(self, failures=None):
        self.inner = hashing.create(16)
        self.space = self.inner.space
        self.failures = failures or {}
        self.texts = []

    def embed_documents(self, texts, deadline=None):
        self.texts += texts
        found = self.inner.embed_documents(texts, deadline)
        for n, text in enumerate(texts):
            for word, failure in self.failures.items():
                if word in text:
                    found[n] = failure
        return found


def ingestor(embedder=None, **options):
    """An ingestor into a new store in memory, and the store."""
    spec = IndexSpec(space=embedder.space if embedder else None, chunker=section.create().name)
    store = embedded.create(None, "docs", spec)
    return Ingestor(store, section.create(), embedder, **options), store


def counts(report):
    return report.seen, report.added, report.replaced, report.unchanged, len(report.dead)


def test_the_report_counts_what_became_of_each_document():
    adder, _ = ingestor(Embedder())
    first = adder.add([Document("a", "# A\none\n# B\ntwo"), Document("b", "three")])
    assert counts(first) == (2, 2, 0, 0, 0)
    assert first.chunks == 3
    assert first.seconds >= 0
    again = adder.add(
        [Document("a", "# A\none\n# B\ntwo"), Document("b", "four"), Document("c", "x")]
    )
    assert counts(again) == (3, 1, 1, 1, 0)
    assert again.chunks == 2


def test_nothing_to_add():
    adder, _ = ingestor()
    assert counts(adder.add([])) == (0, 0, 0, 0, 0)


def test_each_result_is_told_once():
    adder, _ = ingestor()
    told = []
    documents = [Document(str(n), "text") for n in range(2 * ingestion.BATCH_DOCUMENTS + 1)]
    adder.add(iter(documents), told.append)
    assert Counter(r.document_id for r in told) == Counter(d.id for d in documents)
    assert {r.status for r in told} == {"added"}


class Recording:
    """A store that notes the batches it is given, and writes them to another."""

    def __init__(self, inner):
        self.inner = inner
        self.batches = []

    def write(self, tenant, documents, prepare):
        self.batches.append([(d.id, len(d.text)) for d in documents])
        return self.inner.write(tenant, documents, prepare)


@settings(deadline=None)
@given(st.lists(st.sampled_from([1, 1000, 300_000, 500_000]), max_size=12))
def test_batches_end_at_their_limits_and_lose_nothing(sizes):
    class Told:
        def write(self, tenant, documents, prepare):
            return [WriteResult(document.id, "added") for document in documents]

    store = Recording(Told())
    documents = [Document(str(n), "x" * size) for n, size in enumerate(sizes)]
    Ingestor(store, section.create(), None, writers=1).add(documents)
    assert [one for batch in store.batches for one in batch] == [
        (d.id, len(d.text)) for d in documents
    ]
    for batch in store.batches:
        assert sum(size for _, size in batch[:-1]) < ingestion.BATCH_CHARACTERS
    for batch in store.batches[:-1]:
        assert sum(size for _, size in batch) >= ingestion.BATCH_CHARACTERS


def test_batches_are_bounded_by_their_number_of_documents():
    _, inner = ingestor()
    store = Recording(inner)
    documents = (Document(str(n), "x") for n in range(2 * ingestion.BATCH_DOCUMENTS + 7))
    Ingestor(store, section.create(), None, writers=1).add(documents)
    size = ingestion.BATCH_DOCUMENTS
    assert [len(batch) for batch in store.batches] == [size, size, 7]


def test_the_same_id_in_one_batch_and_over_batches_is_written_in_order():
    adder, store = ingestor(writers=3)
    others = [Document(f"other{n}", "x") for n in range(ingestion.BATCH_DOCUMENTS)]
    versions = [Document("a", f"version {n}") for n in range(6)]
    told = []
    report = adder.add(
        [*versions[:2], *others, *versions[2:4], *others, *versions[4:]], told.append
    )
    assert [r.version for r in told if r.document_id == "a"] == [1, 2, 3, 4, 5, 6]
    assert store.heads("", ["a"])["a"].document.text == "version 5"
    assert (report.added, report.replaced) == (1 + len(others), 5)
    assert report.unchanged == len(others)


def test_batches_with_other_ids_are_under_way_at_the_same_time():
    meeting = threading.Barrier(2, timeout=PATIENCE)

    class Meeting(Recording):
        def write(self, tenant, documents, prepare):
            meeting.wait()
            return super().write(tenant, documents, prepare)

    _, inner = ingestor()
    documents = [Document(str(n), "x") for n in range(2 * ingestion.BATCH_DOCUMENTS)]
    report = Ingestor(Meeting(inner), section.create(), None, writers=2).add(documents)
    assert report.added == len(documents)


def test_a_chunk_that_is_not_embedded_makes_its_document_dead_and_others_land():
    adder, store = ingestor(Embedder({"bad": Throttled("slow down")}))
    report = adder.add(
        [Document("a", "good"), Document("b", "# 1\nfine\n# 2\nbad"), Document("c", "good too")]
    )
    assert counts(report) == (3, 2, 0, 0, 1)
    [dead] = report.dead
    assert (dead.document_id, dead.reason) == ("b", "chunk 1 was not embedded: slow down")
    assert set(store.heads("", ["a", "b", "c"])) == {"a", "c"}
    assert store.chunks("", "b") == []


def test_what_would_meet_every_document_is_raised():
    class Denied(Embedder):
        def embed_documents(self, texts, deadline=None):
            raise AccessDenied("no credentials")

    adder, store = ingestor(Denied())
    with pytest.raises(AccessDenied, match="no credentials"):
        adder.add([Document("a", "x")])
    assert store.heads("", ["a"]) == {}


def test_a_bad_document_is_dead_in_its_place_and_others_land():
    adder, store = ingestor()
    told = []
    report = adder.add(
        [Document("a", "x"), Document("", "x"), Document("b", "x", metadata={"n": float("nan")})],
        told.append,
    )
    assert [(r.document_id, r.status) for r in told] == [
        ("a", "added"),
        ("", "dead"),
        ("b", "dead"),
    ]
    assert counts(report) == (3, 1, 0, 0, 2)
    assert set(store.heads("", ["a", "b"])) == {"a"}


def test_a_document_without_text_is_dead_with_that_reason():
    adder, store = ingestor(Embedder())
    report = adder.add([Document("a", " \n"), Document("b", "x")])
    assert counts(report) == (2, 1, 0, 0, 1)
    assert [(dead.document_id, dead.reason) for dead in report.dead] == [("a", "no text")]
    assert store.heads("", ["a"]) == {}


# --- One document ---------------------------------------------------------------------------


@pytest.mark.parametrize("id_", ["", "\ufeff", "x" * 513, "é" * 257, "\ud800" * 200])
def test_a_bad_id_is_named(id_):
    with pytest.raises(InvalidInput) as raised:
        checked_document(Document(id_, "x"))
    expected = f"document id {id_[:80]!r}: expected 1 to {ingestion.MAX_ID} bytes"
    assert str(raised.value) == expected


@pytest.mark.parametrize("id_", ["x", "x" * 512, "é" * 256, "a/b c?#", "0"])
def test_a_good_id_is_kept(id_):
    assert checked_document(Document(id_, "x")).id == id_


@pytest.mark.parametrize(
    "metadata",
    [
        {"a": object()},
        {"a": float("nan")},
        {"a": [float("inf")]},
        {"a": b"bytes"},
        {"a": {1, 2}},
        {"a": 2**64},
        {("a", "b"): 1},
    ],
    ids=repr,
)
def test_metadata_that_is_no_json_is_named(metadata):
    with pytest.raises(InvalidInput, match="metadata of document 'd' is not JSON: "):
        checked_document(Document("d", "x", metadata=metadata))


def test_metadata_that_holds_itself_is_named():
    metadata = {}
    metadata["self"] = metadata
    with pytest.raises(InvalidInput, match="metadata of document 'd' is not JSON"):
        checked_document(Document("d", "x", metadata=metadata))


def test_metadata_becomes_plain_json():
    metadata = {"day": date(2024, 5, 17), "pair": (1, 2), "none": None, "bad": "a\ud800"}
    assert checked_document(Document("d", "x", metadata=metadata)).metadata == {
        "day": "2024-05-17",
        "pair": [1, 2],
        "none": None,
        "bad": "a\ufffd",
    }


def test_text_title_and_source_are_made_safe():
    made = checked_document(Document("e\u0301", "a\x00b", "t\ud800", source="s\u200e"))
    assert made == Document("é", "a b", "t\ufffd", source="s")


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@settings(deadline=None)
@given(st.text(), st.dictionaries(st.text(), json_values, max_size=4))
def test_what_was_checked_stays_so(text, metadata):
    once = checked_document(Document("d", text, metadata=metadata))
    assert checked_document(once) == once
    assert once.metadata == metadata


# --- What is embedded -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("title", "headings", "context", "expected"),
    [
        ("T", ("A", "B"), True, "T\nA\nB\ntext"),
        ("T", ("A", "B"), False, "text"),
        ("", ("A",), True, "A\ntext"),
        ("", (), True, "text"),
    ],
)
def test_context_is_title_and_path(title, headings, context, expected):
    chunk = Chunk("1", "d", 0, "text", title=title, headings=headings)
    assert embedded_text(chunk, context=context) == expected


@pytest.mark.parametrize("context", [True, False])
def test_chunks_are_embedded_with_their_context_in_order(context):
    embedder = Embedder()
    adder, _ = ingestor(embedder, context=context)
    adder.add([Document("a", "# A\n1\n## B\n2", "T"), Document("b", "3")])
    above = ["T\n", "T\nA\n", ""] if context else ["", "", ""]
    assert embedder.texts == [above[0] + "# A\n1\n", above[1] + "## B\n2", above[2] + "3"]


def test_nothing_is_embedded_for_a_store_without_vectors():
    adder, store = ingestor()
    adder.add([Document("a", "x")])
    assert store.status().spec.space is None
    assert len(store.chunks("", "a")) == 1


def test_the_tenant_owns_what_is_added():
    adder, store = ingestor(tenant="red")
    adder.add([Document("a", "x")])
    assert set(store.heads("red", ["a"])) == {"a"}
    assert store.heads("", ["a"]) == {}


# --- How much is under way ------------------------------------------------------------------


def test_documents_are_taken_as_they_are_written_and_not_all_at_once():
    adder, _ = ingestor()
    taken = told = most = 0

    def documents():
        nonlocal taken, most
        for n in range(12 * ingestion.BATCH_DOCUMENTS):
            taken += 1
            most = max(most, taken - told)
            yield Document(str(n), "text")

    def tell(result):
        nonlocal told
        told += 1

    adder.add(documents(), tell)
    assert told == 12 * ingestion.BATCH_DOCUMENTS
    assert most <= (ingestion.WRITERS + 1) * ingestion.BATCH_DOCUMENTS


def test_only_what_changed_is_embedded():
    embedder = Embedder()
    adder, _ = ingestor(embedder)
    adder.add([Document("a", "one"), Document("b", "two")])
    adder.add([Document("a", "one"), Document("b", "three")])
    assert embedder.texts == ["one", "two", "three"]


@pytest.mark.parametrize(("cut", "kept"), [(0, 0), (3, 3), (500, len("text"))])
def test_how_much_the_embedder_cut_off_is_kept_but_no_more_than_the_chunk_has(cut, kept):
    class Cutting(Embedder):
        def embed_documents(self, texts, deadline=None):
            found = super().embed_documents(texts, deadline)
            return [replace(embedding, truncated=cut) for embedding in found]

    adder, store = ingestor(Cutting())
    adder.add([Document("a", "text", "A title")])
    assert [chunk.truncated for chunk in store.chunks("", "a")] == [kept]


def test_what_was_acknowledged_before_a_failure_that_meets_all_stays():
    embedder = Embedder()
    adder, store = ingestor(embedder, writers=1)
    told = []

    def tell(result):
        told.append(result.document_id)
        embedder.embed_documents = denied

    def denied(texts, deadline=None):
        raise AccessDenied("the credentials have expired")

    documents = (Document(f"{n:04}", "text") for n in range(4 * ingestion.BATCH_DOCUMENTS))
    with pytest.raises(AccessDenied):
        adder.add(documents, tell)
    assert len(told) >= ingestion.BATCH_DOCUMENTS
    assert [head.document.id for head in store.scan_heads()] == sorted(told)


def test_another_model_s_index_is_refused_before_anything_is_embedded(tmp_path):
    other = VectorSpace("another", 16)
    first = embedded.create(tmp_path, "docs", IndexSpec(space=other, chunker=section.create().name))
    embedder = Embedder()
    Ingestor(first, section.create(), embedder).add([Document("a", "text")])
    spec = IndexSpec(space=embedder.space, chunker=section.create().name)
    second, asked = embedded.create(tmp_path, "docs", spec), list(embedder.texts)
    with pytest.raises(FingerprintMismatch, match="another, 16 dimensions"):
        Ingestor(second, section.create(), embedder).add([Document("b", "text")])
    assert embedder.texts == asked
    first.close()
    second.close()
