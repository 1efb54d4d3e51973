"""A1: a filter and a tenant hold inside every leg, so that better hits of others take no place."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from hybrid_search.embedders import function
from tests import nodes
from tests.acceptance import given
from tests.proxy import RecordingProxy

if TYPE_CHECKING:
    from hybrid_search.hybrid import HybridSearch

QUERY = "parcel X-17"
JANUARY = {"field": "day", "op": "range", "value": {"gte": "2026-01-01", "lt": "2026-02-01"}}
DAYS = {
    "before": "2025-12-31T23:59:59.999Z",
    "first": "2026-01-01",
    "middle": "2026-01-15",
    "last": "2026-01-31T23:59:59.999Z",
    "after": "2026-02-01",
}
INSIDE = {"first", "middle", "last"}
STRANGERS = 1_000
FAR = "a note that names the parcel X-17 once, among a good many words on other things"
NEAR = "parcel X-17"


def direction(text: str) -> list[float]:
    """The query and tenant b's documents point the same way, tenant a's nearly across."""
    return [1.0, 0.0] if text == NEAR else [0.1, 1.0]


def embedder() -> Any:
    return function.create(direction, dimensions=2, name="by-hand")


def open_as(place: given.Place, tenant: str, **settings: Any) -> HybridSearch:
    return place.connect(tenant=tenant, embedder=embedder(), fields={"day": "date"}, **settings)


def fill(place: given.Place) -> None:
    day = DAYS["middle"]
    theirs = [{"id": f"b{n}", "text": NEAR, "metadata": {"day": day}} for n in range(STRANGERS)]
    ours = [{"id": name, "text": FAR, "metadata": {"day": day}} for name, day in DAYS.items()]
    for tenant, documents in (("b", theirs), ("a", ours)):
        with open_as(place, tenant) as search:
            assert search.add(documents).added == len(documents)


def milliseconds(year: int, month: int) -> int:
    return round(datetime(year, month, 1, tzinfo=UTC).timestamp() * 1000)


def assert_held(bodies: list[dict[str, Any]], tenant_field: str, date_field: str) -> None:
    """Both clauses are in every body, those of all three legs among them."""
    bounds = {"gte": milliseconds(2026, 1), "lt": milliseconds(2026, 2), "format": "epoch_millis"}
    assert sum("knn" in body["query"] for body in bodies) == 1
    assert len(bodies) >= 3
    for body in bodies:
        clauses = given.held_to(body)
        assert {"terms": {tenant_field: ["a"]}} in clauses
        assert {"range": {date_field: bounds}} in clauses


def test_a_filtered_search_finds_its_own_and_nothing_of_others(shared_place: given.Place) -> None:
    fill(shared_place)
    with open_as(shared_place, "b") as theirs:
        nearer = theirs.search(QUERY, top_k=5).hits
        assert len(nearer) == 5
        assert set(given.ids(nearer)) <= {f"b{n}" for n in range(STRANGERS)}
    with open_as(shared_place, "a") as ours:
        found = ours.search(QUERY, top_k=5, candidates=5, filter=JANUARY)
        assert set(given.ids(found.hits)) == INSIDE
        assert found.degraded == ()
        assert {leg.leg: leg.hits for leg in found.legs} == dict.fromkeys(
            ("bm25", "vector", "identifier"), len(INSIDE)
        )
        assert set(given.ids(ours.search(QUERY, top_k=10).hits)) == set(DAYS)


@pytest.mark.parametrize("scope", [[], ["b"]], ids=["empty", "of others"])
def test_a_scope_outside_ones_own_finds_nothing(
    shared_place: given.Place, scope: list[str]
) -> None:
    fill(shared_place)
    with open_as(shared_place, "a") as ours:
        found = ours.search(QUERY, tenants=scope)
        assert (found.hits, found.total) == ((), 0)
        assert ours.search(QUERY, tenants=["a", "b"]).total == len(DAYS)


def test_every_search_body_of_ours_carries_tenant_and_date(node_place: given.Place) -> None:
    fill(node_place)
    with (
        RecordingProxy(node_place.kind) as proxy,
        open_as(node_place, "a", opensearch_url=proxy.url) as ours,
    ):
        assert set(given.ids(ours.search(QUERY, filter=JANUARY).hits)) == INSIDE
        assert_held(given.bodies(proxy), "tenant", "fields.day")


def test_an_empty_scope_sends_nothing(node_place: given.Place) -> None:
    fill(node_place)
    with (
        RecordingProxy(node_place.kind) as proxy,
        open_as(node_place, "a", opensearch_url=proxy.url) as ours,
    ):
        assert ours.search(QUERY).total == len(DAYS)
        proxy.clear()
        for scope in ([], ["b"]):
            assert ours.search(QUERY, tenants=scope).hits == ()
        assert proxy.calls == []


FOREIGN = {
    "settings": {"index": {"knn": True, "number_of_shards": 1, "number_of_replicas": 0}},
    "mappings": {
        "properties": {
            "heading": {"type": "text"},
            "body": {"type": "text"},
            "owner": {"type": "keyword"},
            "sent": {"type": "date"},
            "position": {
                "type": "knn_vector",
                "dimension": 2,
                "method": {"name": "hnsw", "engine": "lucene", "space_type": "cosinesimil"},
            },
        }
    },
}
READ_ONLY = {
    "text_fields": ("heading", "body"),
    "vector_field": "position",
    "tenant_field": "owner",
    "title_field": "heading",
}


def source(text: str, owner: str, sent: str) -> dict[str, Any]:
    position = direction(text)
    return {"heading": "Note", "body": text, "owner": owner, "sent": sent, "position": position}


def foreign_alias(place: given.Place) -> str:
    """An alias over two indices that hybrid_search has not made; each holds some of everything."""
    alias = f"{place.prefix}all"
    ours = [(name, source(FAR, "a", day)) for name, day in DAYS.items()]
    theirs = [(f"b{n}", source(NEAR, "b", DAYS["middle"])) for n in range(STRANGERS)]
    for half in (0, 1):
        index = f"{place.prefix}half{half}"
        nodes.call(place.kind, "PUT", f"/{index}", {**FOREIGN, "aliases": {alias: {}}})
        given.bulk(place.kind, index, ours[half::2] + theirs[half::2])
    return alias


def test_the_same_through_an_alias_over_two_indices_of_others(node_place: given.Place) -> None:
    alias = foreign_alias(node_place)
    january = {**JANUARY, "field": "sent"}
    with (
        RecordingProxy(node_place.kind) as proxy,
        node_place.connect(
            collection=alias,
            opensearch_url=proxy.url,
            tenant="a",
            embedder=embedder(),
            **READ_ONLY,
        ) as ours,
    ):
        found = ours.search(QUERY, top_k=5, candidates=5, filter=january)
        assert {hit.id.rpartition("/")[2] for hit in found.hits} == INSIDE
        assert {hit.metadata["owner"] for hit in found.hits} == {"a"}
        assert {hit.title for hit in found.hits} == {"Note"}
        assert found.degraded == ()
        assert_held(given.bodies(proxy), "owner", "sent")
        proxy.clear()
        assert ours.search(QUERY, tenants=[], filter=january).hits == ()
        assert ours.search(QUERY, tenants=["b"], filter=january).hits == ()
        assert given.searches(proxy) == []
