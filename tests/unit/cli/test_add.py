"""``add``: what is stored, what is not, and how that is said."""

from __future__ import annotations

import pytest


def test_a_folder_is_added_once(run, folder) -> None:
    first, second = (run("add", str(folder), "--json") for _ in range(2))
    assert (first.code, second.code) == (0, 0)
    assert first.json["outcome"] == "done"
    assert (first.json["seen"], first.json["added"], first.json["chunks"]) == (3, 3, 4)
    assert second.json["outcome"] == "nothing_to_do"
    assert (second.json["unchanged"], second.json["embedding"]["texts"]) == (3, 0)
    assert str(first.json["store"]).startswith("embedded store")


def test_ids_are_paths_below_the_folder(added, folder) -> None:
    stored = added("get", "incidents/x-17.md", "--json").json
    assert stored["title"] == "Incident X-17"
    assert stored["metadata"] == {"path": "incidents/x-17.md"}
    assert stored["source"] == str(folder / "incidents" / "x-17.md")
    assert [chunk["position"] for chunk in stored["chunks"]] == [0, 1]


def test_a_changed_file_replaces_its_document(added, folder) -> None:
    (folder / "leave.txt").write_text("Ask for leave three weeks ahead.")
    report = added("add", str(folder), "--json").json
    assert (report["replaced"], report["unchanged"]) == (1, 2)


def test_what_is_no_text_is_listed_and_the_rest_is_stored(run, folder) -> None:
    (folder / "binary.md").write_bytes(b"a\0b")
    (folder / "latin.txt").write_bytes("café".encode("latin-1"))
    (folder / "empty.md").write_bytes(b"\n")
    (folder / "picture.png").write_bytes(b"x")
    ran = run("add", str(folder), "--json")
    assert ran.code == 3
    assert ran.json["outcome"] == "partial"
    assert (ran.json["seen"], ran.json["added"]) == (6, 3)
    assert ran.json["skipped"] == {".png": 1}
    reasons = {dead["document_id"]: dead["reason"] for dead in ran.json["dead"]}
    assert set(reasons) == {"binary.md", "latin.txt", "empty.md"}
    assert "0xE9 at 3" in reasons["latin.txt"]


def test_the_summary_says_all_of_it(run, folder) -> None:
    (folder / "empty.md").write_bytes(b"")
    (folder / "picture.png").write_bytes(b"x")
    ran = run("add", str(folder))
    assert "4 documents: 3 added, 1 not stored (4 chunks)" in ran.out
    assert "1 .png" in ran.out
    assert "is empty" in ran.out
    assert "embedded store" in ran.out
    assert "adding 4 files" in ran.err


def test_titles_can_be_left_out(run, folder) -> None:
    run("add", str(folder), "--no-title-from-heading")
    assert run("get", "incidents/x-17.md", "--json").json["title"] == ""


@pytest.mark.parametrize("given", [("none.md",), ("documents", "none.md"), ("*.pdf",)])
def test_a_path_that_is_not_there_stops_before_anything_is_stored(run, folder, given) -> None:
    ran = run("add", *given)
    assert ran.code == 2
    assert given[-1] in ran.err
    assert run("status", "--json").json["documents"] == 0


def test_where_nothing_matches_the_suffixes_are_named(run, tmp_path) -> None:
    (tmp_path / "a.pdf").write_text("x")
    ran = run("add", "a.pdf")
    assert ran.code == 2
    assert all(word in ran.err for word in ("'a.pdf'", "1 .pdf", ".markdown, .md, .txt"))
