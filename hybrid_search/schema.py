"""Which fields an index has, its fingerprint, and every id and name that is derived.

Nothing here knows an engine: ``backends`` turn this into mappings and tables.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import asdict
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from hybrid_search.domain import IndexSpec, VectorSpace
from hybrid_search.errors import DocumentError, FingerprintMismatch, InvalidInput
from hybrid_search.text import whole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hybrid_search.domain import Document, FieldType, Vector

SCHEMA_VERSION = 1
FIELD_TYPES: tuple[FieldType, ...] = ("keyword", "integer", "float", "boolean", "date")
SPACE_TYPES = ("cosinesimil", "innerproduct", "l2")
MAX_KEYWORD = 8191
"""Characters of a keyword value: Lucene's limit is 32,766 bytes, UTF-8 takes up to 4 each."""

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")
_FIELD = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,99}")


def chunk_id(tenant: str, document_id: str, position: int) -> str:
    """Derive a chunk's id: 32 hex digits, the same for the same place in the same document.

    >>> chunk_id("", "handbook", 0) == chunk_id("", "handbook", 0) != chunk_id("a", "handbook", 0)
    True
    """
    return _digest("chunk", tenant, document_id, str(position))


def head_id(tenant: str, document_id: str) -> str:
    """Derive the id of a document's head record."""
    return _digest("head", tenant, document_id)


def content_hash(document: Document) -> str:
    """Hash what makes two versions of a document equal: text, title, metadata and source."""
    metadata = json.dumps(document.metadata, sort_keys=True, ensure_ascii=False, default=str)
    return _digest("content", document.text, document.title, metadata, document.source)


def stored_hash(document: Document, fields: Mapping[str, FieldType]) -> str:
    """Hash a document's content and which of its metadata is filterable.

    A field declared later changes it, so that adding the document again makes it filterable.
    """
    declared = sorted(set(fields) & set(document.metadata))
    content = content_hash(document)
    return _digest("fields", content, *declared) if declared else content


def text_hash(text: str) -> str:
    """Hash one text, for the embedding cache and the chunk's own record."""
    return _digest("text", text)


def check_collection(name: str) -> str:
    """Return the name, or raise ``InvalidInput`` where it can't name an index, alias or file."""
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            f"collection name {name!r} can't be used: expected lower-case letters, digits, "
            "'-' and '_', starting with a letter or digit, at most 100 of them"
        )
    return name


def check_fields(fields: Mapping[str, str]) -> None:
    """Raise ``InvalidInput`` for a declared field with an unusable name or an unknown type."""
    for name, kind in fields.items():
        if not _FIELD.fullmatch(name):
            raise InvalidInput(
                f"field name {name!r} can't be used: expected letters, digits and '_'"
            )
        if kind not in FIELD_TYPES:
            expected = ", ".join(FIELD_TYPES)
            raise InvalidInput(f"field {name!r} has type {kind!r}: expected one of {expected}")


def check_vector(vector: Vector | None, space: VectorSpace) -> str:
    """Say what is wrong with a vector for this space; empty when nothing is."""
    if vector is None:
        return "has no vector"
    if len(vector) != space.dimensions:
        return f"its vector has {len(vector)} dimensions, the index has {space.dimensions}"
    norm = float(vector @ vector)
    if not math.isfinite(norm):
        return "its vector has a value that is not finite"
    return "" if norm > 0 else "its vector is zero"


# --- Declared metadata fields ---------------------------------------------------------------


def field_values(fields: Mapping[str, FieldType], metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the declared fields among the metadata to typed values; lists stay lists.

    Dates become milliseconds since 1970 in UTC. Raises ``DocumentError`` that names the field.

    >>> field_values({"date": "date", "team": "keyword"}, {"date": "1970-01-02", "x": 1})
    {'date': 86400000}
    """
    values: dict[str, Any] = {}
    for name, kind in fields.items():
        value = metadata.get(name)
        if value is None or value == []:
            continue
        try:
            several = isinstance(value, list | tuple)
            values[name] = [typed(kind, v) for v in value] if several else typed(kind, value)
        except ValueError as error:
            raise DocumentError(f"metadata field {name!r}: {error}") from error
    return values


def typed(kind: FieldType, value: Any) -> str | int | float | bool:
    """Convert one value to a declared type. Raises ``ValueError`` that names both."""
    try:
        return _CONVERT[kind](value)
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"{value!r} is not a {kind}") from error


def _keyword(value: Any) -> str:
    text = whole(str(value).lower() if isinstance(value, bool) else str(value))
    if value is None or isinstance(value, dict | list | tuple) or len(text) > MAX_KEYWORD:
        raise ValueError
    return text


def _integer(value: Any) -> int:
    if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
        raise ValueError
    return _long(int(value))


def _long(number: int) -> int:
    """Return a number that fits 64 bits, as every engine keeps it."""
    if not -(2**63) <= number < 2**63:
        raise ValueError
    return number


def _float(value: Any) -> float:
    number = float(value)
    if isinstance(value, bool) or not math.isfinite(number):
        raise ValueError
    return number


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if str(value).lower() in ("true", "false"):
        return str(value).lower() == "true"
    raise ValueError


def _date(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return _long(value)
    if isinstance(value, datetime):
        moment = value
    elif isinstance(value, date):
        moment = datetime(value.year, value.month, value.day, tzinfo=UTC)
    else:
        moment = datetime.fromisoformat(str(value).strip())
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)


_CONVERT: dict[FieldType, Callable[[Any], str | int | float | bool]] = {
    "keyword": _keyword,
    "integer": _integer,
    "float": _float,
    "boolean": _boolean,
    "date": _date,
}


# --- The fingerprint ------------------------------------------------------------------------


def to_meta(spec: IndexSpec) -> dict[str, Any]:
    """Turn a spec into what is stored as the index's ``_meta``. ``from_meta`` reads it back."""
    return asdict(spec) | {"fields": dict(spec.fields)}


def from_meta(meta: Mapping[str, Any]) -> IndexSpec:
    """Read a spec from an index's ``_meta``; what a later version added is ignored."""
    known = {k: v for k, v in meta.items() if k in IndexSpec.__dataclass_fields__}
    space = known.pop("space", None)
    return IndexSpec(space=VectorSpace(**space) if space else None, **known)


def refuse_other_space(stored: IndexSpec, wanted: VectorSpace | None, where: str) -> None:
    """Raise ``FingerprintMismatch`` when vectors of ``wanted`` can't be compared with the index's.

    Nothing wanted (text legs only) fits every index.
    """
    if wanted is None or stored.space is None or stored.space == wanted:
        return
    raise FingerprintMismatch(
        f"{where} holds vectors of another model: it was made with {stored.space}; the settings "
        f"ask for {wanted}. Set HYBRID_SEARCH_EMBEDDER and its model to what the index has, or "
        "make a new collection (HYBRID_SEARCH_COLLECTION)"
    )


def refuse_other_reader(stored: IndexSpec, wanted: IndexSpec, where: str) -> None:
    """Raise ``FingerprintMismatch`` when what is searched for can't be compared with the index."""
    refuse_other_space(stored, wanted.space, where)
    if stored.space and wanted.space and stored.space_type != wanted.space_type:
        raise FingerprintMismatch(
            f"{where} compares vectors by {stored.space_type}; the settings ask for "
            f"{wanted.space_type}. Use the same setting, or make a new collection"
        )


def refuse_other_writer(stored: IndexSpec, wanted: IndexSpec, where: str) -> None:
    """Raise ``FingerprintMismatch`` when what would be written does not fit what is there."""
    refuse_other_reader(stored, wanted, where)
    named = {
        "embedding model": (stored.space, wanted.space),
        "language": (stored.language, wanted.language),
        "chunker": (stored.chunker, wanted.chunker),
        "schema version": (stored.schema_version, wanted.schema_version),
    }
    for what, (has, asks) in named.items():
        if has != asks:
            raise FingerprintMismatch(
                f"{where} was made with {what} {has}; the settings ask for {asks}. Searching it "
                "still works; to write, use the same setting or another collection"
            )
    for name, kind in wanted.fields.items():
        if stored.fields.get(name, kind) != kind:
            raise FingerprintMismatch(
                f"{where} holds field {name!r} as {stored.fields[name]}; the settings say {kind}. "
                "Use the same type, another field name, or a new collection"
            )


def _digest(*parts: str) -> str:
    sized = b"".join(
        len(raw := part.encode("utf-8", "surrogatepass")).to_bytes(8, "big") + raw for part in parts
    )
    return hashlib.blake2b(sized, digest_size=16).hexdigest()
