"""Settings from the environment, a file and arguments; errors name setting and variable."""

from pathlib import Path

import pytest

from hybrid_search import settings
from hybrid_search.errors import InvalidInput


@pytest.fixture(autouse=True)
def clean(monkeypatch, tmp_path):
    """No variable and no .env file of the machine takes part."""
    for name in [row[0] for row in settings.table()] + ["OPENSEARCH_URL", "AWS_REGION"]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def setenv(monkeypatch):
    """Set one variable of the package."""
    return lambda name, value: monkeypatch.setenv(f"HYBRID_SEARCH_{name}", value)


def refused(**given):
    with pytest.raises(InvalidInput) as raised:
        settings.load(**given)
    return str(raised.value)


def test_defaults():
    made = settings.load()
    assert (made.collection, made.rank_constant, made.candidates) == ("docs", 60, 100)
    assert made.legs == ("bm25", "vector", "identifier")
    assert made.opensearch_url == ""
    assert made.weights == made.fields == {}


def test_arguments_win_over_the_environment_and_it_over_the_file(setenv):
    Path(".env").write_text("HYBRID_SEARCH_COLLECTION=file\nHYBRID_SEARCH_TENANT=file\n")
    assert settings.load().collection == "file"
    setenv("COLLECTION", "environment")
    assert (settings.load().collection, settings.load().tenant) == ("environment", "file")
    assert settings.load(collection="argument").collection == "argument"


@pytest.mark.parametrize(
    ("name", "own", "alias"),
    [
        ("opensearch_url", "HYBRID_SEARCH_OPENSEARCH_URL", "OPENSEARCH_URL"),
        ("region", "HYBRID_SEARCH_REGION", "AWS_REGION"),
    ],
)
def test_two_settings_have_another_variable_too(monkeypatch, name, own, alias):
    monkeypatch.setenv(alias, "https://theirs")
    assert getattr(settings.load(), name) == "https://theirs"
    monkeypatch.setenv(own, "https://ours")
    assert getattr(settings.load(), name) == "https://ours"
    assert getattr(settings.load(**{name: "http://argument"}), name) == "http://argument"


@pytest.mark.parametrize("text", ["bm25,vector", " bm25 , vector ,", '["bm25", "vector"]'])
def test_lists(setenv, text):
    setenv("LEGS", text)
    assert settings.load().legs == ("bm25", "vector")


@pytest.mark.parametrize("text", ["", " ", "[]"])
def test_empty_lists(setenv, text):
    setenv("LEGS", text)
    assert settings.load().legs == ()


@pytest.mark.parametrize(
    "text", ["bm25=2, vector=0.5", "bm25 = 2,vector=0.5,", '{"bm25": 2, "vector": 0.5}']
)
def test_pairs(setenv, text):
    setenv("WEIGHTS", text)
    assert settings.load().weights == {"bm25": 2.0, "vector": 0.5}


def test_options_keep_numbers_truth_and_words_apart(setenv):
    setenv("EMBEDDER_OPTIONS", "a=1, b=1.5, c=true, d=words here, e=")
    assert settings.load().embedder_options == {
        "a": 1,
        "b": 1.5,
        "c": True,
        "d": "words here",
        "e": "",
    }


def test_lists_and_pairs_are_taken_as_arguments_too():
    made = settings.load(legs=["bm25"], fields={"year": "integer"})
    assert (made.legs, made.fields) == (("bm25",), {"year": "integer"})


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("RANK_CONSTANT", "-1", "setting rank_constant is '-1': input should be greater than"),
        ("CANDIDATES", "10001", "setting candidates is '10001': input should be less than"),
        ("CANDIDATES", "many", "setting candidates is 'many': input should be a valid integer"),
        ("CACHE", "perhaps", "setting cache is 'perhaps': input should be a valid boolean"),
        ("ENGINE", "nmslib", "setting engine is 'nmslib': input should be 'lucene' or 'faiss'"),
        ("SEARCH_DEADLINE", "0", "setting search_deadline is '0': input should be greater than 0"),
        ("FIELDS", "year=int", "setting fields.year is 'int': input should be 'keyword', "),
        ("FIELDS", "year", "setting fields is 'year': expected name=value"),
        ("WEIGHTS", "bm25=lots", "setting weights.bm25 is 'lots': input should be a valid number"),
        ("LEGS", "[bm25", "setting legs is '[bm25': "),
        ("WEIGHTS", "{1}", "setting weights is '{1}': "),
    ],
)
def test_a_bad_value_is_named_with_its_variable(setenv, variable, value, said):
    setenv(variable, value)
    message = refused()
    assert message.startswith(said)
    assert message.endswith(f"(variable HYBRID_SEARCH_{variable})")


def test_the_variable_of_a_setting_with_two_is_ours():
    message = refused(opensearch_url=5)
    assert message.startswith("setting opensearch_url is 5: ")
    assert message.endswith("(variable HYBRID_SEARCH_OPENSEARCH_URL)")


def test_an_unknown_setting_is_named_with_the_nearest():
    message = refused(colection="docs")
    assert message.startswith("unknown setting 'colection': expected one of ")
    assert message.endswith("(did you mean collection?)")


def test_a_password_is_never_shown(setenv):
    setenv("OPENSEARCH_PASSWORD", "hunter2")
    made = settings.load()
    assert "hunter2" not in repr(made) + str(made)
    assert made.opensearch_password.get_secret_value() == "hunter2"


def test_settings_do_not_change():
    made = settings.load()
    with pytest.raises(ValueError, match="frozen"):
        made.collection = "other"


def test_the_table_has_every_setting_with_default_and_meaning():
    rows = {name: (default, what) for name, default, what in settings.table()}
    assert set(rows) == {f"HYBRID_SEARCH_{n.upper()}" for n in settings.Settings.model_fields}
    assert all(what for _, what in rows.values())
    assert rows["HYBRID_SEARCH_LEGS"][0] == "bm25, vector, identifier"
    assert rows["HYBRID_SEARCH_RANK_CONSTANT"][0] == "60"
    assert rows["HYBRID_SEARCH_OPENSEARCH_PASSWORD"][0] == ""
    assert rows["HYBRID_SEARCH_REPLICAS"][0] == "0"
    assert rows["HYBRID_SEARCH_HOME"][0] == "the platform's data folder"


def test_markdown_is_the_table():
    head, line, *rows = settings.markdown().splitlines()
    assert head.count("|") == line.count("|") == 4
    for row, (name, default, what) in zip(rows, settings.table(), strict=True):
        assert row == f"| `{name}` | {f'`{default}`' if default else ''} | {what} |"
