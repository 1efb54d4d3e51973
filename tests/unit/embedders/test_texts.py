"""What happens to texts before a model sees them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_search.domain import Deadline, Embedding
from hybrid_search.embedders._texts import BREAK_WITHIN, cut, in_batches, query_text
from hybrid_search.errors import DeadlineExceeded, DocumentError, InvalidInput

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"  # man, joiner, woman, joiner, girl
WAVE = "\U0001f44b\U0001f3fd"  # hand, skin tone
FRANCE = "\U0001f1eb\U0001f1f7"
SCOTLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"


@pytest.mark.parametrize(
    "cluster", [FAMILY, WAVE, FRANCE, SCOTLAND, "e\u0301", "❤\ufe0f", "각", "\r\n"]
)
def test_what_reads_as_one_character_is_never_cut(cluster):
    text = "abc" + cluster * 3
    wholes = {"abc" + cluster * n for n in range(4)} | {"a", "ab"}
    wholes |= {whole.rstrip() for whole in wholes}
    for limit in range(1, len(text)):
        assert cut(text, limit) in wholes


def test_a_space_close_to_the_limit_is_preferred():
    assert cut("one two three", 9) == "one two"
    assert cut("one two three", 7) == "one two"
    far = "word " + "x" * (BREAK_WITHIN + 10)
    assert cut(far, len(far) - 1) == far[:-1]


def test_short_text_is_left_alone():
    assert cut("as it is ", 9) == "as it is "


@given(st.text(max_size=60), st.integers(1, 60))
def test_a_cut_is_a_beginning_no_longer_than_the_limit(text, limit):
    short = cut(text, limit)
    assert text.startswith(short)
    assert len(short) <= limit
    if text.strip() == text and len(text) > limit:
        assert short.strip()


@given(st.lists(st.text(max_size=12)), st.integers(1, 5))
def test_batches_keep_the_order(texts, size):
    def embed(batch):
        assert len(batch) <= size
        return [Embedding(np.ones(1, np.float32), tokens=len(text)) for text in batch]

    for text, value in zip(texts, in_batches(texts, embed, size), strict=True):
        if text.strip():
            assert value.tokens == len(text)
        else:
            assert isinstance(value, DocumentError)


def test_nothing_is_begun_after_the_deadline():
    def embed(batch):
        raise AssertionError(batch)

    values = in_batches(["a", ""], embed, 1, Deadline.after(0))
    assert isinstance(values[0], DeadlineExceeded)
    assert isinstance(values[1], DocumentError)


def test_a_blank_query_is_refused():
    with pytest.raises(InvalidInput, match="blank"):
        query_text(" \n")
    assert query_text("a\ud800") == "a\ufffd"
