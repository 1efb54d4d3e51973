"""The benchmarks' own arithmetic: how sets are read, what the measures are. No timing."""

from __future__ import annotations

import gzip
import json
import math

import pytest

from hybrid_search.domain import Document, VectorSpace
from scripts.bench_parts import datasets, quality, report


@pytest.fixture
def shared(tmp_path, monkeypatch):
    """Two sets, one of them packed and with training queries."""
    monkeypatch.setenv(datasets.VARIABLE, str(tmp_path))
    records = [{"_id": "7", "title": "T", "text": "a\u2028b"}, {"_id": "8", "text": "c"}]
    queries = [
        {"_id": "q1", "text": "one", "metadata": {"type": "summary"}},
        {"_id": "q2", "text": "nobody judged this"},
    ]
    for name in ("piaf-fr", "packed"):
        place = tmp_path / name
        place.mkdir()
        corpus = "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records)
        asked = "".join(json.dumps(q) + "\n" for q in queries)
        if name == "packed":
            with gzip.open(place / "corpus.jsonl.gz", "wt", encoding="utf-8") as file:
                file.write(corpus)
            (place / "queries.train.jsonl").write_text(asked, "utf-8")
            (place / "qrels.train.tsv").write_text("query-id\tcorpus-id\tscore\nq2\t8\t1\n")
        else:
            (place / "corpus.jsonl").write_text(corpus, "utf-8")
            (place / "queries.jsonl").write_text(asked, "utf-8")
            (place / "qrels.tsv").write_text(
                "query-id\tcorpus-id\tscore\nq1\t7\t2\nq1\t8\t0\n", "utf-8"
            )
    return tmp_path


def test_a_set_is_read_with_string_ids_and_only_judged_queries(shared):
    source = datasets.read("piaf-fr")
    assert source.documents == (Document("7", "a\u2028b", "T"), Document("8", "c"))
    assert source.queries == (datasets.Query("q1", "one", "summary"),)
    assert source.judgements == {"q1": {"7": 2, "8": 0}}
    assert source.language == "french"


def test_a_packed_set_and_its_training_queries(shared):
    source = datasets.read("packed", part="train")
    assert [query.id for query in source.queries] == ["q2"]
    assert len(source.documents) == 2
    assert source.language == "english"


def test_missing_data_says_how_to_name_it(shared, monkeypatch):
    with pytest.raises(FileNotFoundError, match="no data set 'nothing'"):
        datasets.read("nothing")
    monkeypatch.setenv(datasets.VARIABLE, str(shared / "gone"))
    with pytest.raises(FileNotFoundError, match=f"set {datasets.VARIABLE}"):
        datasets.read("piaf-fr")


def test_whole_documents_are_never_cut():
    document = Document("d", "# One\ntext\n# Two\ntext", "T")
    [chunk] = datasets.Whole().chunk(document)
    assert (chunk.text, chunk.title, chunk.end) == (document.text, "T", len(document.text))


def test_given_vectors_are_remembered():
    vector = object()
    given = datasets.Given(VectorSpace("m", 1), {"a": vector})
    assert given.remembered("a").vector is given.embed_query("a").vector is vector
    with pytest.raises(KeyError):
        given.embed_documents(["b"])


def test_the_measures_are_their_formulas():
    judgements = {
        "q": {"a": 3, "b": 2, "c": 1, "d": 0},
        "silent": {"a": 1},
    }
    found = {"q": ["d", "b", "x", "a"], "silent": []}
    values = quality.evaluate(judgements, found)
    gained = 2 / math.log2(3) + 3 / math.log2(5)
    ideal = 3 / math.log2(2) + 2 / math.log2(3) + 1 / math.log2(4)
    assert values["nDCG@10"] == {"q": pytest.approx(gained / ideal), "silent": 0.0}
    assert values["recall@10"] == {"q": pytest.approx(2 / 3), "silent": 0.0}


def test_only_the_first_ten_count_and_order_is_the_given_one():
    found = {"q": [f"other{n}" for n in range(10)] + ["a"]}
    values = quality.evaluate({"q": {"a": 1}}, found)
    assert values["nDCG@10"]["q"] == values["recall@10"]["q"] == 0.0
    assert values["recall@100"]["q"] == 1.0


def test_chance_is_one_without_a_difference_and_small_with_a_steady_one():
    assert quality.chance([0.5] * 20, [0.5] * 20) == 1.0
    assert quality.chance([0.6] * 20, [0.5] * 20) < 0.001
    # Two queries can agree by chance in half of all flips.
    assert quality.chance([1.0, 1.0], [0.0, 0.0]) == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize(
    ("share", "expected"), [(0.0, 1), (0.5, 5), (0.51, 6), (0.95, 10), (1.0, 10)]
)
def test_percentile_is_the_nearest_rank(share, expected):
    assert report.percentile([*range(10, 0, -1)], share) == expected


def test_a_table_in_its_three_forms():
    target = report.Target("ratio", 0.6, 0.5)
    table = report.Table(
        "T", ("", "ms", "gain"), (("a", 0.12345, 0.5),), (target,), formats={"gain": "+.1f"}
    )
    assert "a  0.123  +0.5" in table.text()
    assert "MISSED: ratio is 0.600, target <= 0.5" in table.text()
    assert "| a | 0.123 | +0.5 |" in table.markdown()
    assert table.record()["rows"] == [{"": "a", "ms": 0.12345, "gain": 0.5}]
    assert table.record()["targets"][0]["met"] is False
