"""A10: vectors of another model are refused before anything is embedded, searched or written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hybrid_search.errors import FingerprintMismatch, InvalidInput
from tests.acceptance import given
from tests.proxy import RecordingProxy

if TYPE_CHECKING:
    from collections.abc import Callable

    from hybrid_search.hybrid import HybridSearch
    from hybrid_search.testing import FakeBedrock

MADE_WITH = {"embedder": "titan", "dimensions": 1024}
MADE = "titan-embed-text-v2, 1024 dimensions"
OTHERS: dict[str, tuple[dict[str, Any], str]] = {
    "other dimensions": (
        {"embedder": "titan", "dimensions": 512},
        "titan-embed-text-v2, 512 dimensions",
    ),
    "other model, same size": ({"embedder": "hashing", "dimensions": 1024}, "hashing"),
}
DOCUMENT = {"id": "1", "text": "a lost parcel"}
ACTIONS: dict[str, Callable[[HybridSearch], object]] = {
    "search": lambda search: search.search("parcel"),
    "add": lambda search: search.add([{"id": "2", "text": "another parcel"}]),
    "explain": lambda search: search.explain("parcel", "1"),
}


def opened(place: given.Place, bedrock: FakeBedrock, **settings: Any) -> HybridSearch:
    return place.connect(embedding_endpoint=bedrock.endpoint_url, **settings)


def fill(place: given.Place, bedrock: FakeBedrock) -> int:
    """Make the collection; return how many calls that took."""
    with opened(place, bedrock, **MADE_WITH) as search:
        assert search.add([DOCUMENT]).added == 1
    return bedrock.calls


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("other", OTHERS)
def test_another_space_is_refused_and_both_are_named(
    shared_place: given.Place, bedrock: FakeBedrock, other: str, action: str
) -> None:
    settings, name = OTHERS[other]
    calls = fill(shared_place, bedrock)
    with opened(shared_place, bedrock, **settings) as search:
        with pytest.raises(FingerprintMismatch) as refusal:
            ACTIONS[action](search)
        assert MADE in str(refusal.value)
        assert name in str(refusal.value)
        assert str(settings["dimensions"]) in str(refusal.value)
    assert bedrock.calls == calls
    with opened(shared_place, bedrock, **MADE_WITH) as search:
        assert search.status().documents == 1
        assert given.ids(search.search("parcel", strict=True).hits) == ["1"]


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("other", OTHERS)
def test_only_the_mapping_is_read(
    node_place: given.Place, bedrock: FakeBedrock, other: str, action: str
) -> None:
    fill(node_place, bedrock)
    settings, _ = OTHERS[other]
    with (
        RecordingProxy(node_place.kind) as proxy,
        opened(node_place, bedrock, **settings, opensearch_url=proxy.url) as search,
    ):
        with pytest.raises(FingerprintMismatch):
            ACTIONS[action](search)
        calls = proxy.calls
    reads = {"search": {"_mapping"}, "explain": {"_mapping"}}
    assert {call.method for call in calls} == {"GET"}
    if action in reads:
        assert {given.operation(call) for call in calls} == reads[action]
    else:  # a writer also asks which index the alias for writing names
        assert all("/_alias/" in c.path or given.operation(c) == "_mapping" for c in calls)


@pytest.mark.parametrize("dimensions", [256, 512, 1024])
def test_version_1_takes_no_dimensions(
    place: given.Place, bedrock: FakeBedrock, dimensions: int
) -> None:
    model = "amazon.titan-embed-text-v1"
    with pytest.raises(InvalidInput, match=f"dimensions is {dimensions}.*1536"):
        opened(
            place, bedrock, embedder="titan", embedding_model=model, dimensions=dimensions
        ).close()
    assert bedrock.calls == 0


def test_version_1_is_sent_the_text_alone(place: given.Place, bedrock: FakeBedrock) -> None:
    model = "amazon.titan-embed-text-v1"
    with opened(place, bedrock, embedder="titan", embedding_model=model) as search:
        assert search.add([DOCUMENT]).added == 1
    assert [request.body for request in bedrock.requests] == [{"inputText": DOCUMENT["text"]}]
