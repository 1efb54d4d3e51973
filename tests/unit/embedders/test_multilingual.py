"""multilingual-e5-small: across languages, with its prefixes."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid_search.embedders import multilingual
from hybrid_search.errors import InvalidInput

if multilingual.missing():
    pytest.skip(multilingual.missing(), allow_module_level=True)


@pytest.fixture(scope="module")
def embedder():
    return multilingual.create()


def test_a_french_question_finds_an_english_passage(embedder):
    query = embedder.embed_query("Quand le remboursement est-il payé ?").vector
    refund, weather = embedder.embed_documents(
        ["Refunds are paid within ten days.", "Tomorrow it will rain in Paris."]
    )
    assert query @ refund.vector > query @ weather.vector


def test_queries_and_documents_have_different_prefixes(embedder):
    (document,) = embedder.embed_documents(["blue whale"])
    assert not np.allclose(document.vector, embedder.embed_query("blue whale").vector)
    assert document.tokens > 0


def test_a_nul_does_not_end_the_text(embedder):
    whole, beginning = embedder.embed_documents(["blue\0whale", "blue"])
    assert not np.allclose(whole.vector, beginning.vector)


def test_impossible_parameters_are_refused():
    with pytest.raises(InvalidInput, match="threads is 0"):
        multilingual.create(threads=0)
