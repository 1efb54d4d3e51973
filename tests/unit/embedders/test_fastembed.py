"""The fastembed library, as far as it goes without weights: names, dimensions and errors."""

from __future__ import annotations

import pytest

from hybrid_search.embedders import fastembed
from hybrid_search.errors import InvalidInput, ModelUnavailable

if fastembed.missing():
    pytest.skip(fastembed.missing(), allow_module_level=True)


def test_the_space_is_known_before_anything_is_fetched():
    space = fastembed.create(model="BAAI/bge-base-en-v1.5").space
    assert (space.model, space.dimensions) == ("BAAI/bge-base-en-v1.5", 768)


def test_an_unknown_model_is_refused_with_the_nearest_name():
    with pytest.raises(InvalidInput, match="did you mean BAAI/bge-small-en"):
        fastembed.create(model="bge-small-en-v1.5")


def test_missing_weights_are_an_error_a_stranger_can_act_on(tmp_path):
    embedder = fastembed.create(cache=tmp_path, offline=True)
    with pytest.raises(ModelUnavailable, match="network at first use, or a cache folder"):
        embedder.embed_documents(["x"])
    with pytest.raises(ModelUnavailable):
        embedder.embed_query("x")
