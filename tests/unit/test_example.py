"""The example collection is whole: counts, judgements, near-miss codes, honest paraphrases."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache
from typing import NamedTuple

import pytest

from hybrid_search.example import documents_path, qrels, queries

TYPES = ("identifier", "keyword", "paraphrase", "french")

# Codes that differ in a character or two; each has a section of its own.
FAMILIES = {
    "incidents": (
        "INC-2023-Q4-010",
        "INC-2023-Q4-011",
        "INC-2023-Q4-012",
        "INC-2024-Q4-011",
        "INC-2024-Q1-003",
        "INC-2024-Q1-013",
    ),
    "errors": ("ERR_TLS_0x1F", "ERR_TLS_0x1E", "ERR_TLS_0x2F", "ERR_TLS_0xF1"),
    "parts": (
        "NV-2207-A",
        "NV-2207-B",
        "NV-2207-AX",
        "NV-2270-A",
        "NV-2270-B",
        "NV-2702-A",
        "NV-2720-A",
    ),
    "standards": ("NIS-0024", "NIS-0042", "NIS-0142", "NIS-0402", "NIS-0420", "NIS-0240"),
    "advisories": (
        "NVS-ADV-2023-07",
        "NVS-ADV-2024-01",
        "NVS-ADV-2024-07",
        "NVS-ADV-2024-10",
        "NVS-ADV-2024-17",
    ),
    "keys": ("ingest.batch.max_wait_ms", "retention.raw_days", "retention.roll_days"),
    "versions": ("Version 7.4.0", "Version 7.4.1", "Version 7.14.0"),
    "french": (
        "PROC-FR-12",
        "PROC-FR-21",
        "IR-FR-2024-05",
        "IR-FR-2024-15",
        "NS-2024-03",
        "NS-2024-08",
    ),
}
# Near misses that need not head a section.
MENTIONED = (
    *("OPS-4471", "OPS-4417", "OPS-4711", "MER-2091", "MER-2901"),
    *("LOT-FR-6180", "LOT-FR-6108"),
    *("ERR_SYNC_E14", "ERR_SYNC_E41", "RADIO R07", "RADIO R70", "4.8.2", "4.8.12"),
)

STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        a about after all also am an and any are as at be because been before being but by can
        could did do does doing done down each every few for from had has have having he her here
        him his how i if in into is it its just may me might more most much must my no nobody nor
        not of off on once one only or other our out over own per shall she should so some somebody
        someone something such than that the their them then there these they this those through to
        too under until up upon us very was we were what when where which while who whom whose why
        will with without would yet you your
        """,
    )
)


class Section(NamedTuple):
    """One section: its headings from the title down, joined, and its text."""

    path: str
    heading: str
    body: str

    @property
    def text(self) -> str:
        return f"{self.heading}\n{self.body}"


def split(markdown: str) -> list[Section]:
    """Cut at every ATX heading outside code fences; drop a heading that has no text."""
    found: list[Section] = []
    trail: dict[int, str] = {}
    heading, body, fence = "", [], ""

    def close() -> None:
        if text := "\n".join(body).strip():
            found.append(Section(" > ".join(trail.values()), heading, text))

    for line in markdown.split("\n"):
        if mark := re.match(r" {0,3}(```|~~~)", line):
            fence = "" if fence == mark[1] else fence or mark[1]
        title = None if fence else re.match(r"(#{1,6})[ \t]+(.*?)[ \t]*#*$", line)
        if title:
            close()
            level = len(title[1])
            trail = {above: text for above, text in trail.items() if above < level}
            trail[level] = heading = title[2]
            body = []
        else:
            body.append(line)
    close()
    return found


@cache
def sections() -> dict[str, Section]:
    root = documents_path()
    return {
        f"{file.relative_to(root).as_posix()}#{n}": section
        for file in sorted(root.rglob("*.md"))
        for n, section in enumerate(split(file.read_text(encoding="utf-8")))
    }


def stem(word: str) -> str:
    """Cut English endings, roughly and rather too eagerly."""
    for ending in ("ingly", "edly", "ings", "ing", "ies", "ied", "est", "ed", "er", "es", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending)
            break
    else:
        if word.endswith("s") and not word.endswith("ss") and len(word) > 3:
            word = word[:-1]
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    return word.rstrip("eyi") if len(word) > 3 else word


def content_words(text: str) -> set[str]:
    words = re.findall(r"[^\W_]+", text.lower().replace("'s", ""))
    return {stem(word) for word in words if word not in STOP_WORDS}


def asked(kind: str) -> list[dict]:
    return [query for query in queries() if query["metadata"]["type"] == kind]


def graded(query_id: str, grade: int) -> list[str]:
    return [section for section, given in qrels()[query_id].items() if given == grade]


def holds(code: str, text: str) -> bool:
    """Whether the code stands in the text by itself, not within a longer one."""
    return bool(re.search(rf"(?<![\w-]){re.escape(code)}(?![\w-]|\.\w)", text, re.IGNORECASE))


def codes(text: str) -> list[str]:
    """The codes of a query: quoted phrases, and words with a digit or joined by _ or dots."""
    if quoted := re.findall(r'"([^"]+)"', text):
        return quoted
    words = (word.strip(".,;:!?()[]") for word in text.split())
    return [word for word in words if re.search(r"\d|_|\w\.\w", word)]


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("before\n# A\na\n## B\nb", [("", "before"), ("A", "a"), ("A > B", "b")]),
        ("# A\n## B\nb\n# C\nc", [("A > B", "b"), ("C", "c")]),
        ("# A\n```\n# not a heading\n```", [("A", "```\n# not a heading\n```")]),
        ("\n\n# A\n\n", []),
    ],
)
def test_the_splitter_of_this_test(markdown, expected):
    assert [(section.path, section.body) for section in split(markdown)] == expected


def test_counts_of_documents_and_sections():
    documents = {section.rsplit("#", 1)[0] for section in sections()}
    assert 38 <= len(documents) <= 45
    assert 230 <= len(sections()) <= 280


def test_the_readme_gives_the_counts():
    readme = (documents_path().parent / "README.md").read_text(encoding="utf-8")
    documents = {section.rsplit("#", 1)[0] for section in sections()}
    judged = sum(len(judgements) for judgements in qrels().values())
    for said in (f"{len(documents)} Markdown", f"{len(sections())} sections", f"{judged} judg"):
        assert said in readme


def test_every_section_has_a_heading_and_a_reasonable_length():
    for name, section in sections().items():
        assert section.heading, name
        assert 40 <= len(section.body.split()) <= 130, name


def test_no_section_is_there_twice():
    assert not [text for text, n in Counter(s.body for s in sections().values()).items() if n > 1]


def test_a_quarter_or_so_is_french():
    french = [section for section in sections() if section.startswith("fr/")]
    assert len({section.rsplit("#", 1)[0] for section in french}) >= 10
    assert 0.18 <= len(french) / len(sections()) <= 0.32
    assert all(re.search("[éèêàçùîôû]", sections()[section].text) for section in french)


def test_files_are_utf8_in_nfc_with_unix_line_ends():
    package = documents_path().parent
    files = [package / "queries.jsonl", package / "qrels.tsv", *package.rglob("*.md")]
    for file in files:
        text = file.read_bytes().decode("utf-8")
        assert unicodedata.is_normalized("NFC", text), file
        assert "\r" not in text, file
        assert text.endswith("\n"), file


def test_eighty_queries_twenty_of_each_type():
    assert [query["_id"] for query in queries()] == [f"q{n:02d}" for n in range(1, 81)]
    assert Counter(q["metadata"]["type"] for q in queries()) == dict.fromkeys(TYPES, 20)
    assert len({query["text"] for query in queries()}) == 80


def test_every_judgement_points_at_a_query_and_a_section():
    assert qrels().keys() == {query["_id"] for query in queries()}
    for query_id, judged in qrels().items():
        assert judged.keys() <= sections().keys(), query_id
        assert set(judged.values()) <= {1, 2}, query_id
        assert 2 in judged.values(), query_id


def test_no_pair_is_judged_twice():
    lines = (documents_path().parent / "qrels.tsv").read_text(encoding="utf-8").split("\n")
    assert lines[0] == "query-id\tcorpus-id\tscore"
    pairs = [tuple(line.split("\t")[:2]) for line in lines[1:] if line]
    assert len(pairs) == len(set(pairs)) == sum(len(judged) for judged in qrels().values())


@pytest.mark.parametrize("family", FAMILIES)
def test_near_miss_identifiers_head_sections_of_their_own(family):
    owners = {
        code: {name for name, section in sections().items() if holds(code, section.heading)}
        for code in FAMILIES[family]
    }
    assert all(len(owner) == 1 for owner in owners.values()), owners
    assert len(set.union(*owners.values())) == len(owners)


def test_other_near_misses_are_mentioned():
    for code in MENTIONED:
        assert any(holds(code, section.text) for section in sections().values()), code


def test_the_four_incidents_are_separate_reports():
    for code in FAMILIES["incidents"]:
        assert (documents_path() / "incidents" / f"{code.lower()}.md").is_file()


@pytest.mark.parametrize("query", asked("identifier"), ids=lambda query: query["_id"])
def test_identifier_queries_resolve_by_their_code(query):
    wanted = codes(query["text"])
    answers = [sections()[name].text for name in graded(query["_id"], 2)]
    assert wanted
    for code in wanted:
        assert any(holds(code, answer) for answer in answers), code
    for answer in answers:
        assert any(holds(code, answer) for code in wanted)


@pytest.mark.parametrize("query", asked("identifier"), ids=lambda query: query["_id"])
def test_every_section_that_holds_a_queried_code_is_judged(query):
    for code in codes(query["text"]):
        held = {name for name, section in sections().items() if holds(code, section.text)}
        assert held <= qrels()[query["_id"]].keys(), code


def test_sixteen_paraphrases_share_no_content_word_with_their_answers():
    disjoint = []
    for query in asked("paraphrase"):
        answers = (sections()[name] for name in graded(query["_id"], 2))
        words = set().union(*(content_words(f"{a.path}\n{a.body}") for a in answers))
        if not content_words(query["text"]) & words:
            disjoint.append(query["_id"])
    assert disjoint == [f"q{n}" for n in range(41, 57)]


def test_french_queries_are_answered_in_french_but_for_three():
    english = [
        query["_id"]
        for query in asked("french")
        if not any(name.startswith("fr/") for name in graded(query["_id"], 2))
    ]
    assert len(english) == 3
