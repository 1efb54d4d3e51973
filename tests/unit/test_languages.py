"""Analysis: expected tokens, both backends' rules, and what holds for every text."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_search.analysis import (
    MAX_TOKEN,
    analysis_fingerprint,
    analyzer,
    code_tokens,
    part_tokens,
)
from hybrid_search.errors import InvalidInput
from hybrid_search.folding import fold
from hybrid_search.languages import LANGUAGES, language

NAMES = sorted(LANGUAGES)
WITH_STOP_WORDS = [name for name in NAMES if LANGUAGES[name].stop_words]


def content(name, text):
    return analyzer(name).content_tokens(text)


@pytest.mark.parametrize(
    ("name", "text", "tokens"),
    [
        ("standard", "The Cats, and dogs", ["the", "cats", "and", "dogs"]),
        ("english", "The cats are running to the house", ["cat", "run", "hous"]),
        ("english", "James's book; the dogs’ owner", ["jame", "book", "dog", "owner"]),
        ("english", "US vs. MS", ["us", "vs", "ms"]),
        ("french", "L'été, j’ai mangé à l'hôtel d’Évreux", ["mang", "hotel", "evreux"]),
        ("french", "jusqu'ici aujourd'hui", ["aujourd'hui"]),
        ("german", "Die größten Häuser der Straße", ["grosst", "haus", "strass"]),
        ("spanish", "Los niños y las canciones", ["nin", "cancion"]),
        ("italian", "L'amica dell’università è nell'orto", ["amic", "univers", "orto"]),
        ("portuguese", "As ações não são das nações", ["aco", "naco"]),
        ("cjk", "東京タワーへ行く", ["東京", "京タ", "タワ", "ワー", "ーへ", "へ行", "行く"]),
        ("cjk", "ＡＢＣ ｶﾞｽ 猫", ["abc", "ガス", "猫"]),
        ("standard", "東京 タワー 한국어", ["東", "京", "タワー", "한국어"]),
    ],
)
def test_content_tokens(name, text, tokens):
    assert content(name, text) == tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("state-of-the-art", ["state", "of", "the", "art"]),
        ("it's o’clock", ["it's", "o'clock"]),
        ("1,024.50 and v1.2", ["1,024.50", "and", "v1.2"]),
        ("end. Start e.g. x.", ["end", "start", "e.g", "x"]),
        ("snake_case __ a:b a::b", ["snake_case", "a:b", "a", "b"]),
        ("10/2019 C++ (beta", ["10", "2019", "c", "beta"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("👍🏽 good ❤️", ["👍🏽", "good", "❤"]),
        ("'quoted' \"words\"", ["quoted", "words"]),
    ],
)
def test_words_follow_uax_29(text, tokens):
    assert content("standard", text) == tokens


@pytest.mark.parametrize("name", [n for n in NAMES if n != "cjk"])
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_accents_are_found_both_ways(name, form):
    typed = unicodedata.normalize(form, "Zürich café")
    assert content(name, typed) == content(name, "zurich cafe") != []


@pytest.mark.parametrize("word", ["référence", "élèves", "français", "naïveté", "œuvres"])
def test_french_words_meet_with_and_without_accents(word):
    assert content("french", word) == content("french", fold(word)) != []


def test_elision_works_with_both_apostrophes_and_only_for_articles():
    assert content("french", "l'avion qu’avion avion") == ["avion"] * 3
    assert content("french", "presqu'île") == ["presqu'il"]


@pytest.mark.parametrize(
    ("text", "codes", "parts"),
    [
        ("INV-2024-7831", ["inv-2024-7831"], ["inv", "2024", "7831"]),
        ("(part-nn44-x), «A/b_C»", ["part-nn44-x", "a/b_c"], ["part", "nn44", "x", "a", "b", "c"]),
        ("INC–2023–Q4 ＲＦＣ", ["inc-2023-q4", "rfc"], ["inc", "2023", "q4", "rfc"]),
        ("a=b|c; 'd' “e” … -- _", ["a", "b", "c", "d", "e"], ["a", "b", "c", "d", "e"]),
        ("C++ *:* \\ x\x00y \ud800z", ["c", "x", "y", "z"], ["c", "x", "y", "z"]),
    ],
)
def test_codes_and_parts(text, codes, parts):
    assert code_tokens(text) == codes
    assert part_tokens(text) == parts


def test_an_unknown_language_names_the_known_ones():
    with pytest.raises(InvalidInput, match=r"'englisch': expected one of cjk, english"):
        language("englisch")


@pytest.mark.parametrize("name", WITH_STOP_WORDS)
def test_stop_words_are_folded_and_really_removed(name):
    words = sorted(LANGUAGES[name].stop_words)
    assert [fold(word) for word in words] == words
    assert content(name, " ".join(words)) == []


def test_lists_are_as_long_as_a_language_needs():
    sizes = {name: len(LANGUAGES[name].stop_words) for name in WITH_STOP_WORDS}
    assert sizes.pop("english") == 33
    assert min(sizes.values()) > 150
    assert {"a", "ete", "meme", "les"} <= LANGUAGES["french"].stop_words


@pytest.mark.parametrize(
    ("given_text", "folded"),
    [
        ("Straße ŒUVRE Ærø", "strasse oeuvre aero"),
        ("Łódź đ þ ð ı İ ﬁ ﬆ", "lodz d th d i i fi st"),
        ("x² ① Ⓐ", "x2 1 ⓐ"),
        ("– ‘a’ “b”", "- 'a' \"b\""),
        ("Ελλάδα й ё が 한", "ελλάδα й ё が 한"),
    ],
)
def test_folding_changes_what_becomes_ascii_and_nothing_else(given_text, folded):
    assert fold(given_text) == folded


def test_the_fingerprint_is_stable():
    assert analysis_fingerprint() == analysis_fingerprint()


@given(st.text())
def test_folding_twice_is_folding_once(text):
    assert fold(fold(text)) == fold(text)


@given(st.text(), st.sampled_from(NAMES), st.sampled_from(["content", "codes", "parts"]))
def test_no_token_is_empty_or_long_or_holds_a_space(text, name, field):
    for token in analyzer(name).tokens(field, text):
        assert 0 < len(token) <= MAX_TOKEN
        assert not any(c.isspace() or c < " " for c in token)
        assert token == token.lower() or not token.isascii()
        token.encode()


@given(st.text(), st.sampled_from(NAMES))
def test_composed_and_decomposed_text_give_the_same_tokens(text, name):
    composed = unicodedata.normalize("NFC", text)
    decomposed = unicodedata.normalize("NFD", text)
    for field in ("content", "codes", "parts"):
        tokens = analyzer(name).tokens(field, composed)
        assert tokens == analyzer(name).tokens(field, decomposed)


def test_a_very_long_word_is_cut():
    assert [len(token) for token in content("english", "x" * 20_000)] == [MAX_TOKEN]
    assert [len(token) for token in code_tokens("x" * 20_000)] == [MAX_TOKEN]
