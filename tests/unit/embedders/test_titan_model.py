"""Titan's models: names, dimensions, requests, answers and sizes."""

from __future__ import annotations

import pytest

from hybrid_search.embedders._titan_model import resolve
from hybrid_search.embedders._titan_text import fit, smaller
from hybrid_search.embedders.titan import create
from hybrid_search.errors import DocumentError, InvalidInput, ModelUnavailable

V2 = "titan-embed-text-v2"
REGION = "arn:aws:bedrock:us-east-1"


@pytest.mark.parametrize(
    "model",
    [
        "amazon.titan-embed-text-v2:0",
        "amazon.titan-embed-text-v2",
        "amazon.titan-embed-text-v2:0:8k",
        "us.amazon.titan-embed-text-v2:0",
        f"{REGION}::foundation-model/amazon.titan-embed-text-v2:0",
        f"{REGION}:123456789012:inference-profile/us.amazon.titan-embed-text-v2:0",
    ],
)
def test_every_way_to_name_a_model_gives_the_same_space(model):
    found = resolve(model, None, normalize=True)
    assert found.space.model == V2
    assert found.space.dimensions == 1024
    assert found.id == model


def test_an_arn_that_does_not_name_its_model_needs_the_base_model():
    arn = f"{REGION}:123456789012:application-inference-profile/abc123"
    with pytest.raises(InvalidInput, match="base_model"):
        resolve(arn, None, normalize=True)
    assert resolve(arn, 256, normalize=True, base_model=V2).space.dimensions == 256


@pytest.mark.parametrize(
    ("model", "dimensions", "both"),
    [
        ("amazon.titan-embed-text-v1", 512, ["512", "1536"]),
        ("amazon.titan-embed-text-v2:0", 1536, ["1536", "1024, 512, 256"]),
    ],
)
def test_dimensions_the_model_has_not_are_refused_naming_both(model, dimensions, both):
    with pytest.raises(InvalidInput) as caught:
        create(model=model, dimensions=dimensions)
    assert all(part in str(caught.value) for part in both)


def test_an_unknown_model_is_refused():
    with pytest.raises(InvalidInput, match="titan-embed-text-v2"):
        create(model="amazon.titan-embed-text-v3:0")


def test_version_1_is_sent_the_text_alone():
    model = resolve("amazon.titan-embed-text-v1", None, normalize=True)
    assert model.body("x") == {"inputText": "x"}
    assert model.space.dimensions == 1536
    model = resolve("amazon.titan-embed-text-v2:0", 256, normalize=False)
    assert model.body("x") == {"inputText": "x", "dimensions": 256, "normalize": False}


def test_the_typed_vector_is_read_before_the_plain_one():
    model = resolve("amazon.titan-embed-text-v2:0", 256, normalize=True)
    typed, plain = [1.0] + [0.0] * 255, [0.0, 1.0] + [0.0] * 254
    answer = {"embedding": plain, "embeddingsByType": {"float": typed}, "inputTextTokenCount": 5}
    assert model.embedding(answer).vector[0] == 1
    assert model.embedding(answer).tokens == 5
    del answer["embeddingsByType"]
    assert model.embedding(answer).vector[1] == 1


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"embedding": []},
        {"embedding": [1.0] * 255},
        {"embedding": [0.0] * 256},
        {"embedding": [float("nan")] * 256},
        {"embedding": ["x"] * 256},
        {"message": "an error inside a 200"},
    ],
)
def test_an_answer_without_a_usable_vector_is_an_error(answer):
    model = resolve("amazon.titan-embed-text-v2:0", 256, normalize=True)
    with pytest.raises(ModelUnavailable):
        model.embedding(answer)


def overflow(allowed, asked):
    return f"Too many input tokens. Max input tokens: {allowed}, request input token count: {asked}"


def test_the_next_size_is_in_proportion_and_always_smaller():
    assert 0.9 * 5_000 < smaller("a" * 10_000, overflow(8192, 16384)) < 5_000
    assert smaller("a" * 10, overflow(8192, 8192)) < 10
    assert smaller("a" * 60_000, "expected maxLength: 50000, actual: 60000") < 50_000
    assert smaller("a" * 10, "another complaint") == 0
    assert smaller("a" * 10, overflow(0, 0)) == 0


def test_a_dense_end_is_cut_before_a_sparse_beginning():
    latin, wide = "a" * 4_700, "漢" * 1_000  # a thousand tokens each
    assert smaller(latin + wide, overflow(1_500, 2_000)) > len(latin)
    assert smaller(wide + latin, overflow(1_500, 2_000)) > len(wide)


def test_a_text_that_never_fits_is_given_up():
    sizes = []

    def refuse(text):
        sizes.append(len(text))
        raise DocumentError(overflow(100, 101))

    with pytest.raises(DocumentError, match="Too many"):
        fit("x" * 1000, refuse)
    assert sizes == sorted(set(sizes), reverse=True)
    assert len(sizes) == 6
