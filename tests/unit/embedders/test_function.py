"""Any function as an embedder."""

from __future__ import annotations

import pytest

from hybrid_search.embedders.function import create
from hybrid_search.errors import AccessDenied, DocumentError, InvalidInput, ModelUnavailable


def test_dimensions_are_found_with_one_call():
    seen = []
    embedder = create(lambda text: seen.append(text) or [1.0, 2.0, 2.0])
    assert seen == []
    assert embedder.space.dimensions == 3
    assert embedder.space.dimensions == 3
    assert len(seen) == 1
    assert not embedder.space.normalized


def test_given_dimensions_need_no_call():
    embedder = create(lambda _: 1 / 0, dimensions=7, name="mine", normalized=True)
    assert str(embedder.space) == "mine, 7 dimensions, normalised"


def test_a_failing_text_is_a_value_with_its_cause():
    def embed(text):
        if text == "bad":
            raise ConnectionError("reset")
        return (1, 0)

    good, bad = create(embed).embed_documents(["good", "bad"])
    assert good.vector.tolist() == [1, 0]
    assert isinstance(bad, ModelUnavailable)
    assert "ConnectionError: reset" in str(bad)
    assert isinstance(bad.__cause__, ConnectionError)


@pytest.mark.parametrize("vector", [[0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0]])
def test_an_unusable_vector_is_a_value(vector):
    (value,) = create(lambda _: vector, dimensions=2).embed_documents(["x"])
    assert isinstance(value, DocumentError)


def test_what_meets_every_text_is_raised():
    def refused(_):
        raise AccessDenied("no key")

    with pytest.raises(AccessDenied):
        create(refused, dimensions=2).embed_documents(["a", "b"])
    with pytest.raises(InvalidInput, match=r"3 dimensions.*expected 2"):
        create(lambda _: [1, 2, 3], dimensions=2).embed_documents(["a"])
    with pytest.raises(InvalidInput, match="shape"):
        create(lambda _: [[1, 2]]).embed_query("a")
    with pytest.raises(InvalidInput, match="dimensions is 0"):
        create(lambda _: [1], dimensions=0)
