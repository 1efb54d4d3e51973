"""A9: what Titan can't take is cut at its end and counted; blank texts are never sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hybrid_search.testing import faults

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hybrid_search.hybrid import HybridSearch
    from hybrid_search.testing import FakeBedrock
    from tests.acceptance import given

MAX_CHARACTERS = 50_000
MAX_TOKENS = 8192
CHARACTERS_PER_TOKEN = 4.7
FAMILY = "👩\u200d👩\u200d👧"
LAST = " sesame"
"""The last word of each long text: no vector holds it, the words' index does."""

LATIN = "parcels cross the sea "
TEXTS = {
    "latin": (LATIN * 60_000)[: 60_000 - len(LAST)] + LAST,
    "cjk": "東" * 9_000 + LAST,
    "emoji": FAMILY * 3_000 + LAST,
}
BLANK = {"empty": "", "blank": "  \n"}


def tokens(text: str) -> float:
    """About one for 4.7 Latin characters, one for each wide one."""
    wide = sum(character >= "\u2e80" for character in text)
    return wide + (len(text) - wide) / CHARACTERS_PER_TOKEN


@pytest.fixture
def search(place: given.Place, bedrock: FakeBedrock) -> Iterator[HybridSearch]:
    with place.connect(
        embedder="titan",
        dimensions=256,
        embedding_endpoint=bedrock.endpoint_url,
        chunker_options={"max_characters": 100_000},
    ) as opened:
        yield opened


def sent(bedrock: FakeBedrock, key: str) -> list[str]:
    """What was sent of one text, in the order of the attempts."""
    return [text for text in bedrock.texts if text[:5] == TEXTS[key][:5]]


@pytest.mark.parametrize("key", TEXTS)
def test_a_long_text_is_embedded_as_far_as_it_goes(
    search: HybridSearch, bedrock: FakeBedrock, key: str
) -> None:
    text = TEXTS[key]
    report = search.add([{"id": key, "text": text}])
    assert (report.added, report.chunks, report.dead) == (1, 1, [])
    refused, taken = sent(bedrock, key)  # one refusal says by how much: two calls, not more
    assert tokens(refused) > MAX_TOKENS
    assert len(refused) <= MAX_CHARACTERS
    assert tokens(taken) <= MAX_TOKENS
    assert text.startswith(taken)
    assert tokens(taken) >= 0.9 * MAX_TOKENS  # and not much is given up
    [chunk] = search.get(key).chunks
    assert chunk.text == text
    assert chunk.truncated == len(text) - len(taken)
    assert [hit.document_id for hit in search.search("sesame", legs=["bm25"]).hits] == [key]


def test_nothing_a_reader_sees_as_one_character_is_cut_in_two(
    search: HybridSearch, bedrock: FakeBedrock
) -> None:
    search.add([{"id": "emoji", "text": TEXTS["emoji"]}])
    for text in sent(bedrock, "emoji"):
        families = text.removesuffix(LAST)
        assert families == FAMILY * (len(families) // len(FAMILY))


def test_a_text_that_fits_is_sent_once_and_whole(
    search: HybridSearch, bedrock: FakeBedrock
) -> None:
    search.add([{"id": "short", "text": "a parcel"}])
    assert bedrock.texts == ["a parcel"]
    assert [chunk.truncated for chunk in search.get("short").chunks] == [0]


def test_blank_texts_are_never_sent(search: HybridSearch, bedrock: FakeBedrock) -> None:
    given = {**BLANK, "short": "a parcel"}
    report = search.add({"id": key, "text": text} for key, text in given.items())
    assert bedrock.texts == ["a parcel"]
    assert (report.seen, report.chunks) == (len(given), 1)
    assert [hit.document_id for hit in search.search("parcel").hits] == ["short"]


def test_another_error_is_not_answered_with_a_shorter_text(
    search: HybridSearch, bedrock: FakeBedrock
) -> None:
    bedrock.fail(faults.invalid("Malformed input request: no reason given."))
    report = search.add([{"id": "latin", "text": TEXTS["latin"]}])
    assert [dead.document_id for dead in report.dead] == ["latin"]
    assert "no reason given" in report.dead[0].reason
    assert [len(text) <= MAX_CHARACTERS for text in bedrock.texts] == [True]
