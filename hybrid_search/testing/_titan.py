"""How the fake Bedrock answers Titan's text models.

Requests are checked as the service checks them. Vectors are those of the hashing embedder, so
texts that share words lie near each other.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from hybrid_search.embedders._titan_model import token_share
from hybrid_search.embedders.hashing import vectorise
from hybrid_search.testing.faults import Fault, invalid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hybrid_search.domain import Vector

MAX_TOKENS = 8192
MAX_CHARACTERS = 50_000

_DIMENSIONS = {"v1": (1536,), "v2": (256, 512, 1024)}
_KEYS = {"v1": {"inputText"}, "v2": {"inputText", "dimensions", "normalize", "embeddingTypes"}}
_TYPES = ("float", "binary")


def version_of(model: str) -> str:
    """Return ``v1`` or ``v2`` for a Titan text model's id, ARN or profile; empty for others."""
    name = model.rsplit("/", 1)[-1]
    for version in _KEYS:
        if f"amazon.titan-embed-text-{version}" in name:
            return version
    return ""


def count_tokens(text: str) -> int:
    """Approximate Titan's tokens: one for 4.7 Latin characters, one for each CJK character.

    >>> count_tokens("a" * 47), count_tokens("\u65e5\u672c")
    (10, 2)
    """
    return math.ceil(round(math.fsum(map(token_share, text)), 6))


def answer(version: str, body: Mapping[str, Any]) -> dict[str, Any] | Fault:
    """Answer one request, or say what is wrong with it."""
    complaint = _complaint(version, body)
    if complaint:
        return invalid(complaint)
    text = body["inputText"]
    vector = vectorise(text, body.get("dimensions", _DIMENSIONS[version][-1]))
    tokens = count_tokens(text)
    if version == "v1" or not body.get("normalize", True):
        vector = vector * (1 + math.log(tokens))
    result: dict[str, Any] = {"embedding": vector.tolist(), "inputTextTokenCount": tokens}
    if version == "v2":
        kinds = body.get("embeddingTypes", ["float"])
        result["embeddingsByType"] = {kind: _as(kind, vector) for kind in kinds}
    return result


def _complaint(version: str, body: Mapping[str, Any]) -> str:
    return _about_keys(version, body) or _about_text(body["inputText"])


def _about_keys(version: str, body: Mapping[str, Any]) -> str:
    for key in body:
        if key not in _KEYS[version]:
            return _malformed(f"extraneous key [{key}] is not permitted")
    if not isinstance(body.get("inputText"), str):
        return _malformed("required key [inputText] not found")
    if body.get("dimensions", _DIMENSIONS[version][0]) not in _DIMENSIONS[version]:
        return _malformed(f"{body['dimensions']} is not a valid enum value")
    if not set(body.get("embeddingTypes", ())) <= set(_TYPES):
        return _malformed(f"{body['embeddingTypes']} is not a valid enum value")
    return ""


def _about_text(text: str) -> str:
    if not text:
        return _malformed("expected minLength: 1, actual: 0")
    if any("\ud800" <= character <= "\udfff" for character in text):
        return _malformed("inputText is not valid UTF-8")
    if len(text) > MAX_CHARACTERS:
        return _malformed(f"expected maxLength: {MAX_CHARACTERS}, actual: {len(text)}")
    tokens = count_tokens(text)
    if tokens > MAX_TOKENS:
        return (
            f"400 Bad Request: Too many input tokens. Max input tokens: {MAX_TOKENS}, "
            f"request input token count: {tokens}"
        )
    return ""


def _malformed(what: str) -> str:
    return f"Malformed input request: {what}, please reformat your input and try again."


def _as(kind: str, vector: Vector) -> list[Any]:
    return list(map(float, vector)) if kind == "float" else [int(value > 0) for value in vector]
