"""All settings and all defaults. The only reader of the environment.

Every setting is also a variable: its name in upper case after ``HYBRID_SEARCH_``. A ``.env`` file
in the working folder is read too; the environment wins over it, and arguments win over both.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import urlsplit

from platformdirs import user_data_path
from pydantic import AliasChoices, BeforeValidator, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from hybrid_search.domain import FieldType
from hybrid_search.errors import InvalidInput, choices

PREFIX = "HYBRID_SEARCH_"


V = TypeVar("V")


def _listed(value: Any) -> Any:
    """Read ``a, b`` or a JSON list."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        return json.loads(value)
    return tuple(part.strip() for part in value.split(",") if part.strip())


def _paired(value: Any) -> Any:
    """Read ``a=1, b=2`` or a JSON object."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("{"):
        return json.loads(value)
    pairs = [part.partition("=") for part in value.split(",") if part.strip()]
    if any(not sign for _, sign, _ in pairs):
        raise ValueError("expected name=value, name=value or a JSON object")
    return {name.strip(): _literal(given.strip()) for name, _, given in pairs}


def _literal(text: str) -> Any:
    """Read a number, true or false where it is one, else the words."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _address(value: Any) -> Any:
    """Take ``http://`` or ``https://`` with a host, or nothing."""
    parts = urlsplit(value) if isinstance(value, str) and value else None
    if parts is not None and not (parts.scheme in ("http", "https") and parts.hostname):
        raise ValueError("expected something like https://host:9200")
    return value


Address = Annotated[str, BeforeValidator(_address)]
Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed)]
Pairs = Annotated[dict[str, V], NoDecode, BeforeValidator(_paired)]


def _home() -> Path:
    return user_data_path("hybrid_search", appauthor=False)


class Settings(BaseSettings):
    """Where things are, what is used, and how long to wait."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_file=".env", extra="ignore", frozen=True, populate_by_name=True
    )

    home: Path = Field(
        default_factory=_home, description="folder of the embedded store, the cache and the logs"
    )
    collection: str = Field("docs", description="which collection: an alias, or an embedded file")
    tenant: str = Field("", description="whose documents are written, and the only ones found")

    opensearch_url: Address = Field(
        "",
        validation_alias=AliasChoices(f"{PREFIX}OPENSEARCH_URL", "OPENSEARCH_URL"),
        description="node or load balancer; empty = embedded store (OPENSEARCH_URL is read too)",
    )
    opensearch_user: str = Field("", description="basic auth: user")
    opensearch_password: SecretStr = Field(SecretStr(""), description="basic auth: password")
    opensearch_auth: Literal["", "basic", "sigv4"] = Field(
        "", description="how to sign in; empty = basic where a user is given, else none"
    )
    opensearch_ca: Path | None = Field(None, description="CA bundle for TLS")
    opensearch_verify: bool = Field(True, description="verify TLS certificates")  # noqa: FBT003
    opensearch_timeout: float = Field(10.0, gt=0, description="seconds for one request to the node")
    region: str = Field(
        "",
        validation_alias=AliasChoices(f"{PREFIX}REGION", "AWS_REGION"),
        description="AWS region, for sigv4 and Bedrock; empty = AWS_REGION, else as boto3 finds it",
    )

    text_fields: Names = Field(
        (), description="set to search an index somebody else made: its text fields, read-only"
    )
    vector_field: str = Field("", description="that index's knn_vector field; empty = words only")
    title_field: str = Field("", description="that index's field for titles")
    tenant_field: str = Field("", description="that index's keyword field for tenants")
    document_field: str = Field("", description="that index's keyword field with the document id")

    language: str = Field("english", description="analysis of a new collection's text")
    fields: Pairs[FieldType] = Field(
        default_factory=dict, description="metadata fields to filter on: name=type, ..."
    )
    engine: Literal["lucene", "faiss"] = Field("lucene", description="k-NN engine of a new index")
    space_type: Literal["cosinesimil", "innerproduct", "l2"] = Field(
        "cosinesimil", description="vector distance of a new index"
    )
    shards: int = Field(1, ge=1, le=1024, description="primary shards of a new index")
    replicas: int = Field(0, ge=0, le=10, description="replicas of a new index")

    embedder: str = Field("", description="titan, local, multilingual, ...; empty = see connect()")
    embedding_model: str = Field("", description="model of the embedder, where it has several")
    dimensions: int | None = Field(
        None, description="length of the vectors, where it can be chosen"
    )
    normalize: bool = Field(True, description="unit vectors, where it can be chosen")  # noqa: FBT003
    embedding_endpoint: Address = Field("", description="endpoint of Bedrock, e.g. a VPC endpoint")
    embedding_concurrency: int = Field(8, ge=1, le=256, description="embedding calls at a time")
    embedder_options: Pairs[Any] = Field(
        default_factory=dict, description="further parameters of the embedder: name=value, ..."
    )
    cache: bool = Field(True, description="keep embeddings in HOME/cache")  # noqa: FBT003

    chunker: str = Field("section", description="how documents are cut")
    chunker_options: Pairs[Any] = Field(
        default_factory=dict, description="parameters of the chunker: name=value, ..."
    )
    context: bool = Field(
        True,  # noqa: FBT003
        description="embed title and heading path in front of each chunk's text",
    )

    legs: Names = Field(("bm25", "vector", "identifier"), description="legs of a search")
    rank_constant: float = Field(60, ge=0, description="k of Reciprocal Rank Fusion")
    weights: Pairs[float] = Field(
        default_factory=dict,
        description="weight of a leg in the fusion: leg=number, ...; 1 where unnamed",
    )
    candidates: int = Field(100, ge=1, le=10_000, description="hits each leg contributes")
    search_deadline: float = Field(10.0, gt=0, description="seconds for one search")
    query_log: bool = Field(True, description="write HOME/logs/queries.jsonl")  # noqa: FBT003
    query_log_text: bool = Field(
        True,  # noqa: FBT003
        description="the query's words in the log; false = their hash only",
    )


def load(**given: Any) -> Settings:
    """Read the settings from the environment, overridden by what is given.

    Raises ``InvalidInput`` that names the setting, its value and what was expected.

    >>> load(candidates=50).candidates
    50
    """
    for name in given:
        if name not in Settings.model_fields:
            raise choices("setting", name, Settings.model_fields)
    try:
        return Settings(**given)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        expected = first["msg"].removeprefix("Value error, ")
        raise InvalidInput(
            f"setting {where} is {first['input']!r}: {expected[0].lower()}{expected[1:]} "
            f"(variable {PREFIX}{where.split('.')[0].removeprefix(PREFIX).upper()})"
        ) from error


def table() -> list[tuple[str, str, str]]:
    """List every setting: variable, default, meaning. The README's table is made from it."""
    rows = []
    for name, field in Settings.model_fields.items():
        default = (
            "the platform's data folder"
            if name == "home"
            else field.get_default(call_default_factory=True, validated_data={})
        )
        shown = default.get_secret_value() if isinstance(default, SecretStr) else default
        rows.append((f"{PREFIX}{name.upper()}", _show(shown), field.description or ""))
    return rows


def _show(default: object) -> str:
    if default in ("", None, {}, ()):
        return ""
    return ", ".join(default) if isinstance(default, tuple) else str(default)


def markdown() -> str:
    """Make the README's table of settings."""
    rows = ["| variable | default | what |", "|---|---|---|"]
    rows += [
        f"| `{name}` | {f'`{value}`' if value else ''} | {what} |" for name, value, what in table()
    ]
    return "\n".join(rows)
