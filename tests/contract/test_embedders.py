"""What every embedder of the registry promises, whatever it runs on."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import numpy as np
import pytest

from hybrid_search import registry
from hybrid_search.domain import Deadline, Embedding
from hybrid_search.embedders._cache import CachedEmbedder
from hybrid_search.embedders.hashing import vectorise
from hybrid_search.errors import DeadlineExceeded, DocumentError, HybridSearchError, InvalidInput
from hybrid_search.testing import FakeBedrock

ODD = [
    "😀 👨\u200d👩\u200d👧",
    "lone \ud800 surrogate",
    "a\0nul",
    "漢字とかな交じりの文章",
    "\u200b",
    "'; DROP TABLE x; --",
    "ﬁﬂ İı ß",
    "e\u0301" * 50,
    "...!?",
]
LONG = {"multilingual": 1_000}
"""Characters of the long text: this one embeds all of it, 1,500 a second."""

PARAMETERS = {
    "function": {"function": lambda text: 3 * vectorise(text, 64)},
    "fastembed": {"offline": True},
}


@contextmanager
def titan(**parameters):
    with FakeBedrock() as bedrock, pytest.MonkeyPatch.context() as patch:
        for name, value in bedrock.environment().items():
            patch.setenv(name, value)
        yield registry.create("embedders", "titan", **parameters)


@contextmanager
def titan_v1():
    with titan(model="amazon.titan-embed-text-v1") as embedder:
        yield embedder


@contextmanager
def cached(folder):
    yield CachedEmbedder(registry.create("embedders", "hashing"), folder / "vectors.db")


@contextmanager
def plain(name):
    needs = registry.describe("embedders", name).needs
    if needs:
        pytest.skip(needs)
    made = registry.create("embedders", name, **PARAMETERS.get(name, {}))
    try:
        made.embed_query("are there weights?")
    except HybridSearchError as error:
        if name != "fastembed":
            raise
        pytest.skip(str(error))
    yield made


@pytest.fixture(scope="module", params=[*registry.names("embedders"), "titan v1", "cached"])
def embedder(request, tmp_path_factory):
    special = {
        "titan": titan,
        "titan v1": titan_v1,
        "cached": lambda: cached(tmp_path_factory.mktemp("cache")),
    }
    with special.get(request.param, lambda: plain(request.param))() as made:
        yield made
        made.close()


def test_vectors_have_the_shape_and_length_of_the_space(embedder):
    space = embedder.space
    values = [*embedder.embed_documents(["one", "two words"]), embedder.embed_query("three")]
    for value in values:
        assert isinstance(value, Embedding)
        assert value.vector.shape == (space.dimensions,)
        assert value.vector.dtype == np.float32
        assert np.isfinite(value.vector).all()
        assert value.tokens >= 0
        assert value.truncated == 0
        if space.normalized:
            assert np.linalg.norm(value.vector) == pytest.approx(1, abs=1e-4)


def test_order_is_kept_and_the_same_text_gives_the_same_vector(embedder):
    texts = ["a rather longer text about ships", "short", "of middle length", "short"]
    forward = embedder.embed_documents(texts)
    backward = embedder.embed_documents(texts[::-1])[::-1]
    for one, other in zip(forward, backward, strict=True):
        assert np.allclose(one.vector, other.vector, atol=1e-6)
    assert np.array_equal(forward[1].vector, forward[3].vector)
    assert not np.allclose(forward[0].vector, forward[1].vector)


def test_a_query_lies_nearest_to_the_text_that_answers_it(embedder):
    texts = ["how to order an office chair", "annual leave for parents", "rain is expected"]
    query = embedder.embed_query("order a chair").vector
    found = [value.vector @ query for value in embedder.embed_documents(texts)]
    assert int(np.argmax(found)) == 0


def test_a_blank_text_is_a_value_and_a_blank_query_is_refused(embedder):
    first, blank, spaces, last = embedder.embed_documents(["good", "", " \n\t", "good too"])
    assert isinstance(first, Embedding)
    assert isinstance(last, Embedding)
    for value in (blank, spaces):
        assert isinstance(value, DocumentError)
        assert "empty" in str(value)
    with pytest.raises(InvalidInput):
        embedder.embed_query("  ")
    assert embedder.embed_documents([]) == []


def test_odd_texts_are_embedded(embedder, request):
    kind = request.node.callspec.params["embedder"]
    texts = [*ODD, "x" * LONG.get(kind, 20_000)]
    for text, value in zip(texts, embedder.embed_documents(texts), strict=True):
        assert isinstance(value, Embedding), (text[:20], value)
        assert np.linalg.norm(value.vector) > 0
    assert embedder.embed_query(ODD[1]).vector.any()


def test_what_the_deadline_leaves_undone_is_a_value(embedder):
    values = embedder.embed_documents(["never embedded before", ""], Deadline.after(0))
    assert isinstance(values[0], DeadlineExceeded)
    assert isinstance(values[1], HybridSearchError)


def test_threads_get_what_one_thread_gets(embedder):
    texts = [f"thread number {n}" for n in range(4)]
    expected = [embedder.embed_query(text).vector for text in texts]
    found = {}

    def run(text):
        found[text] = (embedder.embed_query(text), embedder.embed_documents([text]))

    threads = [threading.Thread(target=run, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for text, vector in zip(texts, expected, strict=True):
        query, (document,) = found[text]
        assert np.allclose(query.vector, vector, atol=1e-6)
        assert isinstance(document, Embedding)
