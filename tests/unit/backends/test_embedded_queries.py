"""What becomes of one search: odd texts, failures as values, deadlines."""

from __future__ import annotations

import sqlite3
import time
import unicodedata

import numpy as np
import pytest

from hybrid_search.backends.embedded.database import until
from hybrid_search.backends.embedded.failures import translated
from hybrid_search.domain import Ask, Condition, Deadline, Document, Match, Nearest, Restriction
from hybrid_search.errors import DeadlineExceeded, InvalidInput
from tests.unit.backends.embedded_helpers import EVERYTHING, found, opened, rank, write

# --- Deadlines and failures as values ----------------------------------------------------------


def test_one_failing_ask_leaves_the_others_their_answers():
    with opened() as store:
        write(store, ("a", "one"))
        asks = [
            Ask((Match("content", "one"),), 5),
            Ask((Nearest(np.zeros(4, np.float32)),), 5),
            Ask((Match("codes", "one"),), 5),
        ]
        good, bad, other = store.rank(store.snapshot(), asks, EVERYTHING)
        assert [hit.document_id for hit in (*good.hits, *other.hits)] == ["a", "a"]
        assert isinstance(bad, InvalidInput)


def test_a_bad_filter_is_a_value_for_every_ask():
    with opened() as store:
        write(store, ("a", "one"))
        asks = [Ask((Match("content", "one"),), 5)] * 2
        held = Restriction(filter=Condition("nothing", "eq", 1))
        failures = store.rank(store.snapshot(), asks, held)
        assert [type(failure) for failure in failures] == [InvalidInput] * 2


def test_a_deadline_that_has_passed_is_a_value():
    with opened() as store:
        write(store, ("a", "one"))
        asks = [Ask((Match("content", "one"),), 5)] * 2
        late = Deadline(time.monotonic())
        failures = store.rank(store.snapshot(), asks, EVERYTHING, late)
        assert [type(failure) for failure in failures] == [DeadlineExceeded] * 2
        assert store.rank(store.snapshot(), asks, EVERYTHING, Deadline.after(60))[0].hits


def test_a_deadline_stops_a_statement_in_the_middle():
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n"
    connection = sqlite3.connect(":memory:")
    with (
        pytest.raises(DeadlineExceeded),
        translated("here"),
        until(Deadline.after(0.01), connection),
    ):
        connection.execute(endless).fetchone()
    assert connection.execute("SELECT 1").fetchone() == (1,)
    connection.close()


# --- Odd queries -------------------------------------------------------------------------------

ODD = [
    "10/2019", "a:/b", "C++ (beta", '"open', "AND", "NEAR(a b)", "*:*", "\\", "content:one",
    "one* OR -two", "'; DROP TABLE chunks; --", "👍", "\x00", "a\x00b", "\ud800 one", "", "   ",
    "x" * 20_000, " ".join(f"w{i}" for i in range(5_000)), "é" * 300, "(" * 5_000, "%_%",
]  # fmt: skip


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
@pytest.mark.parametrize("field", ["content", "codes", "parts"])
def test_odd_queries_are_literal_text(text, field):
    with opened() as store:
        write(store, ("a", "one two"), ("odd", "odd " + text[:40_000]))
        for options in ({}, {"every": True}, {"phrase": True}):
            hits = rank(store, Match(field, text, **options)).hits
            assert all(np.isfinite(hit.score) for hit in hits)
            if any(unicodedata.category(c)[0] in "LN" for c in text):
                assert "odd" in [hit.document_id for hit in hits]


def test_a_query_of_too_many_words_is_cut_with_a_note():
    words = " ".join(f"w{i}" for i in range(5_000))
    with opened() as store:
        write(store, ("a", "w1023"), ("b", "w1024"), ("c", words))
        answer = rank(store, Match("content", words))
        assert [hit.document_id for hit in answer.hits] == ["c", "a"]
        [note] = answer.notes
        assert "5000 different words: the first 1024" in note
        assert rank(store, Match("content", words, phrase=True)).hits[0].document_id == "c"


def test_text_that_no_encoding_can_hold_is_stored_replaced():
    with opened() as store:
        write(store, Document("a\ud800", "one \udfff two\x00", "t\ud800", {"k\ud801": "v\ud802"}))
        assert found(store, "one") == ["a\ufffd"]
        [head] = store.scan_heads()
        assert head.document.text == "one \ufffd two\x00"
        assert store.heads("", ["a\ud800"])
        assert store.chunks("", "a\ud800")[0].title == "t\ufffd"
        assert store.delete("", ["a\ud800"])[0].status == "deleted"
