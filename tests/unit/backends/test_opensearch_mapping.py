"""The body that makes an index: what the engines we can't run here would be sent."""

from __future__ import annotations

import pytest

from hybrid_search.backends.opensearch.mapping import index_body, live_fields
from hybrid_search.domain import IndexSpec, VectorSpace
from hybrid_search.errors import InvalidInput
from hybrid_search.languages import LANGUAGES
from hybrid_search.schema import FIELD_TYPES, from_meta

SPACE = VectorSpace("m", 8)


def test_lucene_keeps_the_space_that_was_asked_for() -> None:
    body = index_body(IndexSpec(SPACE, space_type="cosinesimil"), derived_source=True)
    vector = body["mappings"]["properties"]["vector"]
    assert vector["dimension"] == 8
    assert vector["method"]["engine"] == "lucene"
    assert vector["method"]["space_type"] == "cosinesimil"
    assert body["settings"]["index"]["knn.derived_source"] == {"enabled": False}


def test_faiss_gets_the_inner_product_of_unit_vectors() -> None:
    """Faiss knows cosinesimil from 2.19 only; on unit vectors the order is the same."""
    body = index_body(IndexSpec(SPACE, engine="faiss"), derived_source=False)
    method = body["mappings"]["properties"]["vector"]["method"]
    assert (method["engine"], method["space_type"]) == ("faiss", "innerproduct")
    assert "knn.derived_source" not in body["settings"]["index"]


def test_faiss_with_cosines_of_other_vectors_is_refused() -> None:
    spec = IndexSpec(VectorSpace("m", 8, normalized=False), engine="faiss")
    with pytest.raises(InvalidInput, match="normalize"):
        index_body(spec, derived_source=False)


def test_without_vectors_there_is_no_vector_field() -> None:
    body = index_body(IndexSpec(None), derived_source=True)
    assert "vector" not in body["mappings"]["properties"]
    assert body["settings"]["index"]["knn"] is False


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_every_filter_of_a_language_is_defined_or_built_in(language: str) -> None:
    analysis = index_body(IndexSpec(None, language=language), derived_source=True)["settings"][
        "analysis"
    ]
    built_in = {"lowercase", "asciifolding", "cjk_width", "cjk_bigram"}
    used = {name for analyzer in analysis["analyzer"].values() for name in analyzer["filter"]}
    assert used <= set(analysis["filter"]) | built_in
    chain = analysis["analyzer"]["content"]["filter"]
    if "stem" in chain:
        assert chain.index("asciifolding") < chain.index("stop_words") < chain.index("stem")


def test_the_spec_reads_back_from_the_mapping() -> None:
    spec = IndexSpec(SPACE, language="french", fields={kind: kind for kind in FIELD_TYPES})
    mappings = index_body(spec, derived_source=True)["mappings"]
    assert from_meta(mappings["_meta"]["hybrid_search"]) == spec
    assert live_fields(mappings) == spec.fields
    assert mappings["dynamic"] == "strict"
