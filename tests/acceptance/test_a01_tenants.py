"""A1 between two tenants of one collection: a scope can be narrowed and never widened."""

from __future__ import annotations

import pytest

from hybrid_search.errors import NotFound
from tests.contract import stores

shared = stores.over([kind for kind in stores.KINDS if kind != "memory"])

NEAR = "the cold store lost power"
FAR = "in a long report about many other things, somewhere, the store is named"
DAYS = {
    "a1": "2026-01-01",
    "a2": "2026-01-31T23:59:59.999Z",
    "a3": "2026-02-01",
    "a4": "2025-12-31T23:59:59.999Z",
    "a5": "2026-01-15T12:00:00+02:00",
}
JANUARY = {"field": "day", "op": "range", "value": {"gte": "2026-01-01", "lt": "2026-02-01"}}
INSIDE = {"a1", "a2", "a5"}
OTHERS = 200


def found(search, **options):
    return search.search(NEAR, top_k=5, filter=JANUARY, **options)


@pytest.fixture(scope="module")
def searches(shared):
    """Five documents of tenant a, two hundred nearer ones of tenant b, in one collection."""
    name = shared.new_name()
    fields = {"fields": {"day": "date"}, "embedder": "hashing", "dimensions": 64}
    made = {t: shared.connect(name, tenant=t, **fields) for t in ("a", "b", "")}
    mine = [{"id": i, "text": FAR, "metadata": {"day": day}} for i, day in DAYS.items()]
    theirs = [
        {"id": f"a{n}", "text": NEAR, "metadata": {"day": "2026-01-10"}} for n in range(OTHERS)
    ]
    assert made["a"].add(mine).added == len(mine)
    assert made["b"].add(theirs).added == OTHERS
    return made


def test_exactly_the_tenant_s_documents_in_range_are_found(searches):
    for leg in ("bm25", "vector"):
        result = found(searches["a"], legs=[leg])
        assert {hit.document_id for hit in result.hits} == INSIDE
        assert {hit.text for hit in result.hits} == {FAR}
    assert {hit.document_id for hit in found(searches["a"]).hits} == INSIDE
    assert {hit.text for hit in found(searches["b"]).hits} == {NEAR}


def test_a_request_narrows_the_scope_and_can_never_widen_it(searches):
    assert {hit.text for hit in found(searches[""], tenants=["a"]).hits} == {FAR}
    for widened in (["b"], ["a", "b"]):
        result = found(searches["a"], tenants=widened)
        assert {hit.text for hit in result.hits} <= {FAR}
    assert found(searches["a"], tenants=["b"]).hits == ()


def test_an_empty_scope_finds_nothing(searches):
    for search in searches.values():
        result = search.search(NEAR, tenants=[])
        assert (result.hits, result.total) == ((), 0)
        assert result.notes == ("the scope is empty: nothing was searched",)


def test_get_delete_and_explain_stay_within_the_tenant(searches):
    [theirs] = searches["b"].get("a1").chunks
    assert searches["a"].get("a1").document.text == FAR
    for wanted in ("a7", theirs.id):
        with pytest.raises(NotFound):
            searches["a"].explain(NEAR, wanted)
        with pytest.raises(NotFound):
            searches["a"].get(wanted)
        assert searches["a"].delete(wanted)[0].status == "absent"
    assert searches["a"].explain(NEAR, "a1").text == FAR
    assert searches["b"].get("a7").document.text == NEAR
