"""Text made safe at the edge."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_search.text import REPLACEMENT, clean, whole

anything = st.text(st.characters(codec=None, exclude_categories=()))


@settings(deadline=None)
@given(anything)
def test_clean_text_is_normal_encodable_and_stays_so(text):
    cleaned, notes = clean(text)
    cleaned.encode("utf-8")
    assert unicodedata.is_normalized("NFC", cleaned)
    assert clean(cleaned) == (cleaned, ())
    assert (notes == ()) == (cleaned == unicodedata.normalize("NFC", text))


@settings(deadline=None)
@given(anything)
def test_whole_replaces_surrogates_and_nothing_else(text):
    made = whole(text)
    made.encode("utf-8")
    assert len(made) == len(text)
    for now, before in zip(made, text, strict=True):
        assert now == (REPLACEMENT if "\ud800" <= before <= "\udfff" else before)


@pytest.mark.parametrize(
    ("text", "cleaned", "notes"),
    [
        ("plain\n\ttext\r\n", "plain\n\ttext\r\n", ()),
        ("cafe\u0301", "café", ()),
        ("a\x00b\x1f", "a b ", ("2 control characters replaced by a space",)),
        ("a\x7f", "a ", ("1 control character replaced by a space",)),
        ("a\udc80", "a\ufffd", ("1 lone surrogate replaced",)),
        ("\ufeffa\u202eb", "ab", ("2 invisible direction marks removed",)),
        ("e\u200e\u0301", "é", ("1 invisible direction mark removed",)),
        ("👩‍🔬", "👩‍🔬", ()),
        (
            "\ud800\x01\u200f",
            "\ufffd ",
            (
                "1 lone surrogate replaced",
                "1 control character replaced by a space",
                "1 invisible direction mark removed",
            ),
        ),
    ],
)
def test_what_is_changed_is_noted(text, cleaned, notes):
    assert clean(text) == (cleaned, notes)
