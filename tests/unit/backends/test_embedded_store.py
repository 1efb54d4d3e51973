"""The store as a whole: files, fingerprints, failures of the file, threads."""

from __future__ import annotations

import sqlite3
import stat
import threading

import pytest

from hybrid_search import registry
from hybrid_search.backends.embedded.failures import translated
from hybrid_search.domain import (
    Ask,
    Document,
    Match,
    Nearest,
    VectorSpace,
)
from hybrid_search.errors import (
    FingerprintMismatch,
    InvalidInput,
    StoreFull,
    StoreUnavailable,
)
from tests.unit.backends.embedded_helpers import (
    EVERYTHING,
    found,
    opened,
    preparing,
    rank,
    spec_of,
    vector_of,
    write,
)

BOTH = pytest.mark.parametrize("in_memory", [True, False], ids=["memory", "file"])


def test_the_registry_makes_it(tmp_path):
    store = registry.create("backends", "embedded", path=tmp_path, collection="notes")
    assert store.collection == "notes"
    assert store.description.endswith("notes.sqlite3 (collection notes)")
    assert store.snapshot() is None
    store.close()


def test_reading_makes_no_file_and_finds_nothing(tmp_path):
    folder = tmp_path / "none" / "yet"
    with opened(folder) as store:
        assert store.snapshot() is None
        assert (store.heads("", ["a"]), store.chunks("", "a"), list(store.scan_heads())) == (
            {}, [], [],
        )  # fmt: skip
        assert [r.status for r in store.delete("", ["a"])] == ["absent"]
        assert store.status().spec is None
        store.drop()
        store.refresh()
    assert not folder.exists()


def test_files_are_for_their_owner_only(tmp_path):
    with opened(tmp_path / "new") as store:
        write(store, ("a", "one"))
        rights = {f.name: stat.S_IMODE(f.stat().st_mode) for f in (tmp_path / "new").iterdir()}
        assert set(rights.values()) == {0o600}
        assert "docs.sqlite3" in rights
        assert store.status().size_bytes > 0


def test_collections_of_one_folder_are_apart(tmp_path):
    with opened(tmp_path, collection="x") as one, opened(tmp_path, collection="y") as other:
        write(one, ("a", "word"))
        assert other.snapshot() is None
        write(other, ("b", "word"))
        assert (found(one, "word"), found(other, "word")) == (["a"], ["b"])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"collection": "../x"}, "collection name"),
        ({"language": "klingon"}, "unknown language 'klingon'"),
        ({"fields": {"a b": "keyword"}}, "field name 'a b'"),
        ({"fields": {"a": "text"}}, "type 'text'"),
    ],
)
def test_unusable_settings_are_refused_at_once(wrong, message):
    with pytest.raises(InvalidInput, match=message), opened(**wrong):
        pass


@BOTH
def test_a_dropped_collection_is_gone_and_can_be_made_anew(in_memory, tmp_path):
    path = None if in_memory else tmp_path
    with opened(path) as store:
        write(store, ("a", "one"), ("b", "two"))
        assert found(store, "one") == ["a"]
        snapshot = store.snapshot()
        store.drop()
        assert store.snapshot() is None
        with pytest.raises(StoreUnavailable, match="dropped"):
            store.rank(snapshot, [Ask((Match("content", "one"),), 1)], EVERYTHING)
        write(store, ("c", "one one"), ("d", "one"))
        assert found(store, "one") == ["c", "d"]
        assert store.heads("", ["c"])["c"].version == 1
        store.drop()
    if path:
        assert b"one" not in (tmp_path / "docs.sqlite3").read_bytes()


def test_a_drop_and_new_start_is_noticed_by_a_store_that_was_open(tmp_path):
    with opened(tmp_path) as store, opened(tmp_path) as other:
        write(store, ("a", "one"))
        assert found(other, "one") == ["a"]
        store.drop()
        write(store, ("b", "one"))
        assert found(other, "one") == ["b"]


# --- Fingerprints ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"space": VectorSpace("other", 4)}, "made with test-model, 4 .* ask for other, 4"),
        ({"space": VectorSpace("test-model", 8)}, "4 dimensions.* 8 dimensions"),
        ({"space_type": "l2"}, "cosinesimil; the settings ask for l2"),
    ],
)
def test_another_vector_space_refuses_search_and_write_before_any_call(tmp_path, change, message):
    with opened(tmp_path) as store:
        write(store, ("a", "one"))
        snapshot = store.snapshot()
    prepare = preparing()
    with opened(tmp_path, **change) as store:
        with pytest.raises(FingerprintMismatch, match=message):
            store.snapshot()
        with pytest.raises(FingerprintMismatch, match=message):
            store.rank(snapshot, [Ask((Match("content", "one"),), 1)], EVERYTHING)
        with pytest.raises(FingerprintMismatch, match=message):
            store.write("", [Document("b", "two")], prepare)
        assert store.status().spec == spec_of()
    assert prepare.calls == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"language": "english"}, "language standard; the settings ask for english"),
        ({"chunker": "whole"}, "chunker section; the settings ask for whole"),
        ({"schema_version": 2}, "schema version 1; the settings ask for 2"),
        ({"space": None}, "embedding model"),
        ({"fields": {"year": "float"}}, "'year' as integer; the settings say float"),
    ],
)
def test_other_settings_refuse_writes_only_and_search_by_the_stored_ones(tmp_path, change, message):
    stored = {"fields": {"year": "integer"}}
    with opened(tmp_path, **stored) as store:
        write(store, ("a", "the running man"))
    prepare = preparing()
    with opened(tmp_path, **{**stored, **change}) as store:
        assert store.snapshot().spec == spec_of(**stored)
        assert found(store, "running") == ["a"]
        assert found(store, "the") == ["a"]
        assert found(store, "run") == []
        with pytest.raises(FingerprintMismatch, match=message):
            store.write("", [Document("b", "two")], prepare)
        assert [h.document.id for h in store.scan_heads()] == ["a"]
    assert prepare.calls == []


def test_a_field_that_stored_metadata_does_not_fit_is_refused(tmp_path):
    with opened(tmp_path) as store:
        write(store, Document("a", "one", metadata={"year": "soon"}))
    with opened(tmp_path, fields={"year": "integer"}) as store:
        with pytest.raises(FingerprintMismatch, match=r"document 'a' does not fit .* 'soon'"):
            write(store, ("b", "two"))
        assert store.fields(store.snapshot()) == {}


def test_tokens_of_another_analysis_are_made_anew(tmp_path):
    with opened(tmp_path) as store:
        write(store, ("a", "one two"), ("b", "two"))
        assert found(store, "two") == ["b", "a"]
        _forget_tokens(tmp_path / "docs.sqlite3")
        assert found(store, "two") == ["b", "a"]
        _forget_tokens(tmp_path / "docs.sqlite3")
        write(store, ("a", "one two x"), ("c", "two two"))
        assert found(store, "two") == ["c", "b", "a"]
        _forget_tokens(tmp_path / "docs.sqlite3")
        store.delete("", ["b"])
        assert found(store, "two") == ["c", "a"]


def _forget_tokens(file):
    """Leave the file as an older version of the analysis might have: other tokens, other name."""
    connection = sqlite3.connect(file)
    with connection:
        for field in ("content", "codes", "parts"):
            connection.execute(f"INSERT INTO {field} ({field}) VALUES ('delete-all')")
            connection.execute(f"UPDATE chunks SET {field}_tokens = 17")
        connection.execute("UPDATE meta SET analysis = 'older'")
    connection.close()


# --- Failures ----------------------------------------------------------------------------------


def test_a_file_of_something_else_is_named(tmp_path):
    (tmp_path / "docs.sqlite3").write_bytes(b"this is no database at all " * 100)
    with opened(tmp_path) as store:
        for call in (store.snapshot, store.status, lambda: write(store, ("a", "one"))):
            with pytest.raises(StoreUnavailable, match=r"docs\.sqlite3.* no index of this package"):
                call()


def test_a_database_of_another_program_is_left_alone(tmp_path):
    connection = sqlite3.connect(tmp_path / "docs.sqlite3")
    with connection:
        connection.execute("CREATE TABLE meta (precious)")
        connection.execute("INSERT INTO meta VALUES ('data')")
    with opened(tmp_path) as store:
        for call in (store.snapshot, store.drop, lambda: write(store, ("a", "one"))):
            with pytest.raises(StoreUnavailable, match="of another program"):
                call()
    assert connection.execute("SELECT * FROM meta").fetchall() == [("data",)]
    connection.close()


def test_a_damaged_file_is_named(tmp_path):
    with opened(tmp_path) as store:
        write(store, *((f"d{i}", f"word w{i}") for i in range(300)))
    file = tmp_path / "docs.sqlite3"
    whole = file.read_bytes()
    file.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    with opened(tmp_path) as store, pytest.raises(StoreUnavailable, match="damaged: restore"):
        rank(store, Match("content", "word"))


def test_a_folder_that_is_none_is_named(tmp_path):
    (tmp_path / "file").write_text("x")
    with opened(tmp_path / "file" / "folder") as store:
        assert store.snapshot() is None
        with pytest.raises(StoreUnavailable, match="can't be opened: check that its folder"):
            write(store, ("a", "one"))


def test_a_file_of_a_later_version_is_named(tmp_path):
    with opened(tmp_path) as store:
        write(store, ("a", "one"))
    connection = sqlite3.connect(tmp_path / "docs.sqlite3")
    with connection:
        connection.execute("UPDATE meta SET layout = 99")
    connection.close()
    with opened(tmp_path) as store, pytest.raises(StoreUnavailable, match="layout 99"):
        store.snapshot()


def test_a_writer_that_waits_in_vain_says_so_and_readers_go_on(tmp_path):
    with opened(tmp_path, patience=0.01) as store:
        write(store, ("a", "one"))
        other = sqlite3.connect(tmp_path / "docs.sqlite3", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="another process has been writing"):
            write(store, ("b", "two"))
        assert found(store, "one") == ["a"]
        other.execute("ROLLBACK")
        other.close()
        assert write(store, ("b", "two"))[0].status == "added"


def test_a_full_disk_is_told_from_a_missing_one():
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (x)")
    connection.execute("PRAGMA max_page_count = 3")
    with pytest.raises(StoreFull, match="here: the disk is full"), translated("here"):
        connection.execute("INSERT INTO t VALUES (zeroblob(100000))")
    connection.close()


@BOTH
def test_after_close_every_method_says_closed(in_memory, tmp_path):
    with opened(None if in_memory else tmp_path) as store:
        write(store, ("a", "one"))
        snapshot = store.snapshot()
        rank(store, Match("content", "one"))
        store.close()
        store.close()
        calls = [
            store.snapshot, store.status, store.refresh, store.drop,
            lambda: store.heads("", ["a"]),
            lambda: store.chunks("", "a"),
            lambda: list(store.scan_heads()),
            lambda: store.fetch(snapshot, []),
            lambda: store.rank(snapshot, [], EVERYTHING),
            lambda: store.delete("", ["a"]),
            lambda: write(store, ("a", "two")),
        ]  # fmt: skip
        for call in calls:
            with pytest.raises(StoreUnavailable, match="closed"):
                call()


# --- One moment, many threads ------------------------------------------------------------------


@BOTH
def test_a_scan_sees_one_moment(in_memory, tmp_path):
    with opened(None if in_memory else tmp_path) as store:
        write(store, *((f"d{i}", "old") for i in range(5)))
        scan = store.scan_heads()
        texts = [next(scan).document.text]
        write(store, *((f"d{i}", "new") for i in range(9)))
        texts += [head.document.text for head in scan]
        assert texts == ["old"] * 5
        assert len(list(store.scan_heads())) == 9


@BOTH
def test_searches_beside_a_writer_see_whole_batches(in_memory, tmp_path):
    seen, failures, done = [], [], threading.Event()

    def search():
        try:
            while not done.is_set():
                asks = [
                    Ask((Match("content", "word"),), 1000),
                    Ask((Nearest(vector_of("word")),), 1000),
                ]
                answers = store.rank(store.snapshot(), asks, EVERYTHING)
                seen.append({len(answer.hits) for answer in answers})
        except Exception as error:  # noqa: BLE001
            failures.append(error)

    with opened(None if in_memory else tmp_path) as store:
        write(store, *((f"d{i}", "word") for i in range(10)))
        threads = [threading.Thread(target=search) for _ in range(3)]
        for thread in threads:
            thread.start()
        for version in range(12):
            write(store, *((f"d{i}", f"word {version}") for i in range(10)))
            write(store, *((f"e{version}-{i}", "word") for i in range(10)))
        done.set()
        for thread in threads:
            thread.join()
        assert failures == []
        assert seen
        assert all(len(sizes) == 1 and sizes.pop() % 10 == 0 for sizes in seen)
        assert len(found(store, "word")) == 100
        assert len(rank(store, Match("content", "word"), size=1000).hits) == 130
