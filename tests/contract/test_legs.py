"""What every leg promises: it says what to ask in no engine's words, and knows no engine."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_search import registry
from hybrid_search.backends import embedded
from hybrid_search.domain import (
    Answer,
    Ask,
    Constant,
    Document,
    IndexSpec,
    Match,
    Nearest,
    Restriction,
    Scored,
    Variant,
    VectorSpace,
)
from tests.contract.stores import write

VECTOR = np.float32([0.6, 0.8, 0, 0])
QUERIES = ["lost parcel", "what is INC-2023-Q4-011?", 'the "exact words" of A-1 and B-2', "10/2019"]
ODD = ["a:/b", '"open', "*:*", "\\", "😀", "x" * 20_000, "-" * 300, " ".join(["A-1"] * 2_000)]


@pytest.fixture(params=registry.names("legs"))
def leg(request):
    return registry.create("legs", request.param)


def matches(query):
    """Every literal text in a question, however deep."""
    match query:
        case Match():
            yield query
        case Constant():
            yield from matches(query.query)
        case Scored():
            for part in query.required + query.optional:
                yield from matches(part)


def test_its_name_is_the_registry_s(leg, request):
    assert leg.name == request.node.callspec.params["leg"]
    assert isinstance(leg.needs_vector, bool)
    assert isinstance(leg.literal, bool)


@pytest.mark.parametrize("query", QUERIES + ODD, ids=lambda q: ascii(q[:12]))
@pytest.mark.parametrize("candidates", [1, 7, 10_000])
def test_an_ask_is_of_the_size_asked_for_or_none(leg, query, candidates):
    ask = leg.ask(Variant(query), VECTOR, candidates)
    if ask is None:
        return
    assert isinstance(ask, Ask)
    assert ask.size == candidates
    assert ask.only == ()
    assert ask.alternatives
    assert all(isinstance(a, Match | Nearest | Constant | Scored) for a in ask.alternatives)


@pytest.mark.parametrize("query", QUERIES)
def test_the_same_question_is_asked_the_same_way(leg, query):
    first, second = (leg.ask(Variant(query, weight), VECTOR, 10) for weight in (1.0, 2.0))
    assert repr(first) == repr(second)


def test_without_the_vector_it_needs_it_has_nothing_to_say(leg):
    ask = leg.ask(Variant(QUERIES[1]), None, 10)
    assert (ask is None) == leg.needs_vector
    with_vector = leg.ask(Variant(QUERIES[1]), VECTOR, 10)
    assert with_vector is not None
    assert any(isinstance(a, Nearest) for a in with_vector.alternatives) == leg.needs_vector


@settings(max_examples=60, deadline=None, derandomize=True)
@given(text=st.text(max_size=60))
@pytest.mark.parametrize("name", registry.names("legs"))
def test_only_the_variant_s_own_words_are_asked_for(name, text):
    ask = registry.create("legs", name).ask(Variant(text), VECTOR, 10)
    words = text.replace("“", " ").replace("”", " ")
    for alternative in ask.alternatives if ask else ():
        for match in matches(alternative):
            assert set("".join(match.text.split())) <= set(words)


@pytest.mark.parametrize("query", QUERIES + ODD, ids=lambda q: ascii(q[:12]))
def test_every_ask_can_be_answered(leg, query):
    spec = IndexSpec(space=VectorSpace("by-hand", 4), language="standard")
    store = embedded.create(None, "docs", spec)
    write(store, Document("a", "lost parcel INC-2023-Q4-011 A-1"), Document("b", "10/2019 B-2"))
    ask = leg.ask(Variant(query), VECTOR, 1)
    for answer in store.rank(store.snapshot(), [ask] if ask else [], Restriction()):
        assert isinstance(answer, Answer)
        assert len(answer.hits) <= 1
    store.close()
