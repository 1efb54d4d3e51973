"""Cutting at headings: exact slices, nothing lost, nothing over the limit."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hybrid_search.chunkers import section
from hybrid_search.domain import Document
from hybrid_search.errors import InvalidInput
from hybrid_search.schema import chunk_id

LIMIT = section.MIN_MAX_CHARACTERS


def cut(text, limit=section.MAX_CHARACTERS, **fields):
    return section.create(limit).chunk(Document("d", text, **fields))


def texts(text, limit=section.MAX_CHARACTERS):
    return [chunk.text for chunk in cut(text, limit)]


lines = st.one_of(
    st.sampled_from(
        ["# A", "## B", "### C", "#", "#x", "```", "~~~", "````", "", "  ", "\t", "---"]
    ),
    st.text(max_size=20),
    st.text("ab .\u2028\x0c", min_size=80, max_size=250),
)
documents = st.lists(st.tuples(lines, st.sampled_from(["\n", "\r\n", "\n\n", "\r", ""]))).map(
    lambda made: "".join(line + end for line, end in made)
)


@settings(deadline=None)
@given(documents)
@example("")
@example("# only")
@example("```\n# not a heading")
@example(" " * 300 + "x" + " " * 300)
@example("x" * 1001)
def test_laws_of_a_cut(text):
    chunks = cut(text, LIMIT)
    end = 0
    for position, chunk in enumerate(chunks):
        assert chunk.position == position
        assert chunk.id == chunk_id("", "d", position)
        assert chunk.text == text[chunk.start : chunk.end]
        assert chunk.text.strip()
        assert len(chunk.text) <= LIMIT
        assert not text[end : chunk.start].strip()
        end = chunk.end
    assert not text[end:].strip()


@settings(deadline=None)
@given(documents, st.integers(LIMIT, 400))
def test_cutting_again_gives_the_same(text, limit):
    assert cut(text, limit) == cut(text, limit)


@settings(deadline=None)
@given(documents)
def test_sections_are_those_of_the_founding_function(text):
    parts = section.chunk_by_section(text)
    assert parts == [text[s.start : s.end].strip() for s in section.sections(text)]
    assert all(parts)


def test_each_heading_begins_a_chunk():
    text = "before\n# A\none\n## B\ntwo\n# C\nthree"
    assert texts(text) == ["before\n", "# A\none\n", "## B\ntwo\n", "# C\nthree"]


def test_the_path_is_what_stands_above_outermost_first():
    text = "# A\n1\n## B\n2\n### C\n3\n## D\n4\n# E\n5\n### F\n6"
    paths = [(chunk.text.split()[1], chunk.headings) for chunk in cut(text)]
    assert paths == [
        ("A", ()),
        ("B", ("A",)),
        ("C", ("A", "B")),
        ("D", ("A",)),
        ("E", ()),
        ("F", ("E",)),
    ]


def test_a_heading_without_text_goes_with_the_section_that_follows():
    chunks = cut("# A\n\n## B\nbody\n## C\nmore")
    assert [chunk.text for chunk in chunks] == ["# A\n\n## B\nbody\n", "## C\nmore"]
    assert [chunk.headings for chunk in chunks] == [(), ("A",)]


def test_headings_without_any_text_are_one_chunk():
    assert texts("# A\n## B\n# C") == ["# A\n## B\n# C"]


@pytest.mark.parametrize(
    "line",
    ["#no space", "####### seven", "a # b", "\\# escaped", "    # far in", "#"],
)
def test_what_is_no_heading(line):
    assert len(texts(f"# A\none\n{line}\ntwo")) == 1


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("# A", "A"),
        ("##### A", "A"),
        ("#\tA b", "A b"),
        ("# A ##", "A"),
        ("# A  ", "A"),
        ("# A#1", "A#1"),
    ],
)
def test_titles_of_headings(line, title):
    above, below = cut(f"{line}\none\n###### below\ntwo")
    assert (above.headings, below.headings) == ((), (title,))


@pytest.mark.parametrize("fence", ["```", "~~~", "`````", "```python", "  ```"])
def test_a_fence_hides_headings(fence):
    closing = fence.strip().rstrip("python")
    text = f"# A\n{fence}\n# a comment\n{closing}\n# B\ntwo"
    assert texts(text) == [f"# A\n{fence}\n# a comment\n{closing}\n", "# B\ntwo"]


def test_a_fence_is_closed_by_its_own_kind_of_the_same_length_only():
    inside = "````\n# one\n```\n# two\n~~~~\n# three\n```` x\n# four\n"
    assert texts(f"# A\n{inside}````\n# B\ntwo") == [f"# A\n{inside}````\n", "# B\ntwo"]


def test_a_fence_that_is_never_closed_hides_the_rest():
    assert len(texts("# A\n```\n# B\ntwo")) == 1


def test_windows_line_ends_are_kept_and_no_part_of_a_title():
    chunks = cut("# A\r\none\r\n## B\r\ntwo")
    assert [chunk.text for chunk in chunks] == ["# A\r\none\r\n", "## B\r\ntwo"]
    assert chunks[1].headings == ("A",)


@pytest.mark.parametrize("blank", ["", " ", "\n\n", "\t\r\n \u3000"])
def test_blank_text_has_no_chunk(blank):
    assert texts(blank) == []
    assert section.sections(blank) == []


def test_a_long_section_keeps_its_path_in_every_piece():
    body = "word " * 100
    chunks = cut(f"# A\nx\n## B\n{body}", LIMIT)
    pieces = chunks[1:]
    assert len(pieces) > len(body) // LIMIT
    assert {chunk.headings for chunk in pieces} == {("A",)}


@pytest.mark.parametrize("mark", ["\n\n", "\n", ". ", " "])
def test_a_long_section_is_cut_at_the_last_mark_that_fits(mark):
    first = "a" * 60 + mark + "b" * 20 + mark
    assert texts(first + "c" * 90, LIMIT)[0] == first


def test_a_paragraph_is_a_better_cut_than_a_later_line():
    text = "a" * 60 + "\n\n" + "b" * 20 + "\n" + "c" * 60
    assert texts(text, LIMIT)[0] == "a" * 60 + "\n\n"


def test_no_cut_in_the_first_half():
    assert texts("aa " + "b" * 150, LIMIT)[0] == "aa " + "b" * (LIMIT - 3)


def test_everything_of_the_document_travels():
    [chunk] = cut("text", title="T", source="s.md", metadata={"year": 2020})
    assert (chunk.document_id, chunk.title, chunk.source) == ("d", "T", "s.md")
    assert chunk.metadata == {"year": 2020}


def test_ids_depend_on_tenant_document_and_position():
    cutter, text = section.create(), "# A\none\n# B\ntwo"
    ids = [
        chunk.id
        for tenant, document in (("", "d"), ("t", "d"), ("", "e"))
        for chunk in cutter.chunk(Document(document, text), tenant)
    ]
    assert len(set(ids)) == len(ids) == 6


@pytest.mark.parametrize("bad", [LIMIT - 1, 0, -1])
def test_a_limit_too_small_is_named(bad):
    with pytest.raises(InvalidInput) as raised:
        section.create(bad)
    assert str(raised.value) == f"max_characters is {bad}: expected {LIMIT} or more"


def test_the_name_tells_cuts_apart():
    assert section.create(LIMIT).name != section.create().name
    assert str(LIMIT) in section.create(LIMIT).name
