"""The write protocol on a real node: fences, two live indexes, and writers that meet."""

from __future__ import annotations

import threading

import pytest

from hybrid_search.backends import opensearch
from hybrid_search.backends.opensearch.mapping import index_body
from hybrid_search.domain import Document, Match, Nearest
from hybrid_search.errors import Refused
from tests import nodes
from tests.contract.stores import (
    SPEC,
    connected,
    found,
    preparing,
    rank,
    statuses,
    vector_of,
    write,
)
from tests.proxy import RecordingProxy


@pytest.fixture
def name(prefix):
    return f"{prefix}c"


@pytest.fixture
def open_store(node_url, name):
    """Open the collection: each store has its own idea of the topology."""
    opened = []

    def make():
        opened.append(opensearch.create(opensearch.Access(node_url), name, SPEC))
        return opened[-1]

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def aliases(node_url):
    """Change aliases in one call, as a reindex does."""

    def change(*actions):
        nodes.call(node_url, "POST", "/_aliases", {"actions": list(actions)})

    return change


def add(index, alias):
    return {"add": {"index": index, "alias": alias}}


def remove(index, alias):
    return {"remove": {"index": index, "alias": alias, "must_exist": True}}


def records(url, index):
    """Everything in a physical index by id, but for the clock; with the versions of chunks.

    A head's own ``_version`` counts attempts: how many there were may differ between indexes.
    """
    nodes.call(url, "POST", f"/{index}/_refresh")
    body = {"size": 1_000, "query": {"match_all": {}}, "version": True}
    hits = nodes.call(url, "POST", f"/{index}/_search", body)["hits"]["hits"]
    return {
        h["_id"]: (
            0 if h["_source"]["kind"] == "head" else h["_version"],
            {**h["_source"], "at": None},
        )
        for h in hits
    }


def indices(url, name):
    found = nodes.call(url, "GET", f"/_cat/indices/{name}*?format=json&h=index")
    return sorted(row["index"] for row in found)


# --- The fence ------------------------------------------------------------------------------


def test_a_writer_of_an_old_epoch_is_refused_and_reads_the_topology_again(
    open_store, aliases, node_url, name
):
    store = open_store()
    write(store, ("a", "amber"))
    aliases(remove(f"{name}.1", f"{name}.w1-0"), add(f"{name}.1", f"{name}.w2-0"))
    assert statuses(write(store, ("a", "birch"), ("b", "cedar"))) == [("replaced", 2), ("added", 1)]
    assert indices(node_url, name) == [f"{name}.1"]
    assert found(store, Match("content", "birch cedar")) != []


@pytest.mark.parametrize("stage", [b'"create"', b'"kind":"chunk"', b'"update"'], ids=bytes.decode)
def test_an_epoch_that_moves_in_mid_write_costs_a_round(open_store, aliases, node_url, name, stage):
    """The topology moves just before the heads, the chunks or the completion are sent."""
    write(open_store(), ("a", "amber"))
    moved = []

    def move(call):
        if call.path.startswith("/_bulk") and stage in call.body and not moved:
            moved.append(call)
            aliases(remove(f"{name}.1", f"{name}.w1-0"), add(f"{name}.1", f"{name}.w2-0"))
        return False

    with RecordingProxy(node_url) as proxy:
        proxy.drop(move)
        store = opensearch.create(opensearch.Access(proxy.url), name, SPEC)
        assert statuses(write(store, ("b", "birch\n\ncedar"))) == [("added", 1)]
        store.close()
    assert len(moved) == 1
    assert [c.text for c in open_store().chunks("", "b")] == ["birch", "cedar"]
    assert open_store().status().pending == 0
    assert indices(node_url, name) == [f"{name}.1"]


def test_a_collection_that_was_dropped_meanwhile_is_made_anew_and_no_index_by_an_alias_s_name(
    open_store, node_url, name
):
    store, other = open_store(), open_store()
    write(store, ("a", "amber"))
    other.drop()
    assert statuses(store.write("", [Document("a", "amber")], preparing())) == [("added", 1)]
    assert indices(node_url, name) == [f"{name}.1"]
    store.refresh()
    assert found(open_store(), Match("content", "amber")) == ["a"]


# --- Two live indexes -----------------------------------------------------------------------


@pytest.fixture
def two(open_store, aliases, node_url, name):
    """A second live index beside the first, which stays the authority; it holds nothing yet."""
    store = open_store()
    write(store, ("old", "here before"), ("gone", "deleted before"))
    store.delete("", ["gone"])
    nodes.call(node_url, "PUT", f"/{name}.2", index_body(SPEC, derived_source=True))
    aliases(
        remove(f"{name}.1", f"{name}.w1-0"),
        add(f"{name}.1", f"{name}.w2-0"),
        add(f"{name}.2", f"{name}.w2-1"),
    )
    return store


def without_blanks(found):
    """How often a surplus place was made blank may differ; that it holds nothing may not."""
    return {i: record for i, record in found.items() if record[1]["kind"] != "blank"}


def in_both(url, name):
    first, second = (records(url, f"{name}.{n}") for n in (1, 2))
    shared = {i: r for i, r in first.items() if i in second}
    assert second == shared
    return second


def test_every_write_is_in_both_and_alike(two, node_url, name):
    assert statuses(write(two, ("a", "one\n\ntwo\n\nthree"), ("b", "x"))) == [("added", 1)] * 2
    assert statuses(write(two, ("a", "one"), ("b", "x"))) == [("replaced", 2), ("unchanged", 1)]
    two.delete("", ["b"])
    there = in_both(node_url, name).values()
    assert sorted((source["kind"], version) for version, source in there) == [
        ("blank", 2 * 2),
        ("blank", 2 * 2),
        ("blank", 2 * 2),
        ("chunk", 2 * 2),
        ("head", 0),
        ("head", 0),
    ]
    heads = [source for _, source in there if source["kind"] == "head"]
    assert {s["state"] for s in heads} == {"complete"}
    assert sorted((s["document_id"], s["deleted"], s["version"], s["span"]) for s in heads) == [
        ("a", False, 2, 1),
        ("b", True, 2, 0),
    ]


def test_what_was_there_before_is_settled_into_the_second_when_it_is_written_again(
    two, node_url, name
):
    """No new version: the content is the same, only its place is new."""
    assert records(node_url, f"{name}.2") == {}
    [result] = write(two, ("old", "here before"))
    assert result.version == 1
    assert len(in_both(node_url, name)) == 2
    assert statuses(write(two, ("old", "here before"))) == [("unchanged", 1)]


def test_writers_that_meet_leave_both_alike_and_whole(two, open_store, node_url, name):
    failures = []

    def run(writer):
        store = open_store()
        for turn in range(2):
            text = "\n\n".join(f"writer{writer} turn{turn} part{p}" for p in range(1 + writer % 3))
            try:
                store.write("", [Document(str(n), text) for n in range(3)], preparing())
            except Exception as error:  # noqa: BLE001 - a thread's failure would be lost
                failures.append(error)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    first, stored = (without_blanks(records(node_url, f"{name}.{n}")) for n in (1, 2))
    assert {i: record for i, record in first.items() if i in stored} == stored
    for n in "012":
        own = [s for _, s in stored.values() if s["document_id"] == n]
        [head] = [s for s in own if s["kind"] == "head"]
        chunks = sorted((s for s in own if s["kind"] == "chunk"), key=lambda s: s["position"])
        assert "\n\n".join(s["text"] for s in chunks) == head["body"]["text"]
        assert (head["version"], head["state"]) == (4 * 2, "complete")


# --- The first index ------------------------------------------------------------------------


def test_of_many_first_writers_one_makes_the_index(open_store, node_url, name):
    ready, results = threading.Barrier(5), []

    def run(n):
        store = open_store()
        ready.wait(10)
        results.extend(store.write("", [Document(str(n), f"text {n}")], preparing()))

    threads = [threading.Thread(target=run, args=(n,)) for n in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted((r.document_id, r.status) for r in results) == [
        (str(n), "added") for n in range(5)
    ]
    assert indices(node_url, name) == [f"{name}.1"]
    store = open_store()
    store.refresh()
    assert len(rank(store, Nearest(vector_of("text"))).hits) == 5


def test_the_index_is_made_as_the_settings_say(node_url, name):
    with connected(name, opensearch_url=node_url, shards=2, fields={"year": "integer"}) as search:
        search.add([{"id": "a", "text": "amber"}])
    made = nodes.call(node_url, "GET", f"/{name}")[f"{name}.1"]
    index = made["settings"]["index"]
    assert (index["number_of_shards"], index["number_of_replicas"]) == ("2", "0")
    assert made["mappings"]["dynamic"] == "strict"
    assert made["mappings"]["_meta"]["hybrid_search"]["space"] == {
        "model": "hashing",
        "dimensions": 64,
        "normalized": True,
    }
    assert set(made["aliases"]) == {name, f"{name}.w1-0"}
    assert index["knn.derived_source"] == {"enabled": "false"}, "a scroll would break the shard"


# --- What is not ours -----------------------------------------------------------------------


def test_an_index_of_the_collection_s_name_is_refused_and_left_alone(open_store, node_url, name):
    nodes.call(node_url, "PUT", f"/{name}", {"mappings": {"properties": {"x": {"type": "text"}}}})
    store = open_store()
    for attempt in (store.snapshot, lambda: write(store, ("a", "amber"))):
        with pytest.raises(Refused) as caught:
            attempt()
        assert "HYBRID_SEARCH_" in str(caught.value)
    assert indices(node_url, name) == [name]
    assert nodes.call(node_url, "GET", f"/{name}/_count")["count"] == 0


def test_an_alias_over_several_indexes_is_refused(open_store, aliases, node_url, name):
    write(open_store(), ("a", "amber"))
    nodes.call(node_url, "PUT", f"/{name}.other", {})
    aliases(add(f"{name}.other", name))
    with pytest.raises(Refused, match="alias of 2 indexes"):
        open_store().snapshot()
