"""What looks like a code, and what the leg asks for when there is one."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_search.domain import Ask, Constant, Match, Scored, Variant
from hybrid_search.legs import identifier

CODES = {
    "what happened in INC-2023-Q4-011?": ["INC-2023-Q4-011"],
    "inc-2023-q4-011": ["inc-2023-q4-011"],
    "see RFC 9110, section 4": ["RFC 9110"],
    "ISO 27001 audit": ["ISO 27001"],
    "error E1042 at start": ["E1042"],
    "part nn44": ["nn44"],
    "the err_timeout flag": ["err_timeout"],
    "__init__ and __main__": [],
    "com.acme.billing fails": ["com.acme.billing"],
    "10.0.0.12 is down": ["10.0.0.12"],
    "v2.19.1": ["v2.19.1"],
    "pay 10/2019 now": ["10/2019"],
    "order 80017": ["80017"],
    "(ABC-12), [DEF-34]; {GHI-56}": ["ABC-12", "DEF-34", "GHI-56"],
    "key=ABC-12|DEF-34": ["ABC-12", "DEF-34"],
    "commit 3f9a2bc": ["3f9a2bc"],
    "C:\\logs\\node7": ["C:\\logs\\node7"],
    "ops@acme2.example": ["ops@acme2.example"],
    "ticket OPS-A-B is open": ["OPS-A-B"],
    "été-2023-é": ["été-2023-é"],
    "номер АБ-17": ["АБ-17"],
    'say "lost parcel" please': ["lost parcel"],
    "« bon de commande »": ["bon de commande"],
    "„Rote Liste“ lesen": ["Rote Liste"],
    "“two words” and X-17": ["two words", "X-17"],
    "X-17 and X-17 again": ["X-17"],
    "Is it X-17. Or X-18?": ["X-17", "X-18"],
}
WORDS = [
    "a state-of-the-art plan for May 2024",
    "how to travel",
    "e.g. this, i.e. that",
    "chapter 12 page 3",
    "and/or",
    "well-known",
    "X-Ray",
    "the year 2024",
    "U.S. law",
    '""',
    '"!?"',
    "- . / _",
    "",
    "It's Ana's",
    "l'été dernier",
]


@pytest.mark.parametrize(("query", "expected"), CODES.items())
def test_codes_are_recognised(query, expected):
    assert [code.text for code in identifier.codes(query)] == expected


@pytest.mark.parametrize("query", WORDS)
def test_words_are_not(query):
    assert identifier.codes(query) == []
    assert identifier.create().ask(Variant(query), None, 10) is None


@pytest.mark.parametrize(
    ("query", "spaced"), [("RFC 9110", True), ('"lost parcel"', True), ("X-17", False)]
)
def test_what_holds_a_space_is_found_as_parts(query, spaced):
    assert [code.spaced for code in identifier.codes(query)] == [spaced]


def test_no_more_codes_than_the_limit():
    query = " ".join(f"X-{n}" for n in range(identifier.MAX_CODES + 5))
    found = identifier.codes(query)
    assert [code.text for code in found] == [f"X-{n}" for n in range(identifier.MAX_CODES)]


@settings(deadline=None)
@given(st.text())
def test_any_text_can_be_read(text):
    found = identifier.codes(text)
    assert len(found) == len(set(found)) <= identifier.MAX_CODES
    assert all(any(c.isalnum() for c in code.text) for code in found)


@settings(deadline=None)
@given(
    st.text("abcXYZ ,.?", max_size=20),
    st.from_regex(r"[A-Z]{2,4}-[0-9]{2,6}", fullmatch=True),
    st.text("abcXYZ ,.?", max_size=20),
)
def test_a_code_is_found_wherever_it_stands(before, code, after):
    assert code in [found.text for found in identifier.codes(f"{before} {code} {after}")]


# --- The ask --------------------------------------------------------------------------------


def ask(query, candidates=50, **parameters):
    return identifier.create(**parameters).ask(Variant(query), None, candidates)


def whole(code):
    return Match("codes", code, every=True)


def parts(code):
    return Match("parts", code, phrase=True)


def test_one_code_is_asked_whole_and_then_by_its_parts():
    query = "what is X-17"
    words = (Match("content", query),)
    assert ask(query) == Ask(
        alternatives=(
            Scored((Constant(whole("X-17")),), words),
            Scored((Constant(parts("X-17")),), words),
        ),
        size=50,
        limit=identifier.LIMIT,
    )


def test_several_codes_are_asked_all_then_any_then_by_parts():
    query = "X-17 or X-18"
    words = (Match("content", query),)
    points = identifier.MOST_CODES_FIRST
    asked = ask(query, limit=7)
    assert asked.limit == 7
    assert asked.alternatives == (
        Scored((Constant(whole("X-17")), Constant(whole("X-18"))), words),
        Scored(
            (Constant(whole("X-17"), points), Constant(whole("X-18"), points)), words, every=False
        ),
        Scored((Constant(parts("X-17")), Constant(parts("X-18"))), words),
    )


def test_a_phrase_is_asked_as_a_phrase_only():
    query = '"lost parcel"'
    assert ask(query).alternatives == (
        Scored((Constant(parts("lost parcel")),), (Match("content", query),)),
    )


def test_it_is_asked_once_with_the_users_own_words():
    leg = identifier.create()
    assert (leg.name, leg.needs_vector, leg.literal) == ("identifier", False, True)
