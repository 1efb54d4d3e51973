"""Rows to nouns and back."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from hybrid_search.domain import Chunk, Document, Head

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

HEAD_COLUMNS = "tenant, version, content_hash, chunk_count, deleted, document"

_UNSTORABLE = re.compile("[\ud800-\udfff]")


def storable(text: str) -> str:
    """Replace lone surrogates, which no UTF-8 can hold, one by one: offsets stay right."""
    return _UNSTORABLE.sub("\ufffd", text)


def document_json(document: Document) -> str:
    """Write a document, to be read by ``head``."""
    return _to_json(document)


def chunk_json(chunk: Chunk) -> str:
    """Write a chunk, to be read by ``chunk``."""
    return _to_json(chunk)


def chunk(stored: str) -> Chunk:
    """Read a chunk."""
    values = json.loads(stored)
    return Chunk(**values | {"headings": tuple(values["headings"])})


def head(row: tuple[Any, ...]) -> Head:
    """Read a row of ``HEAD_COLUMNS``."""
    tenant, version, content_hash, chunk_count, deleted, document = row
    return Head(
        Document(**json.loads(document)), tenant, version, content_hash, chunk_count,
        complete=True, deleted=bool(deleted),
    )  # fmt: skip


def searchable_text(chunk: Chunk) -> str:
    """Return what is searched of a chunk: title, headings and text, a line each."""
    return "\n".join(part for part in (chunk.title, *chunk.headings, chunk.text) if part)


def heads(
    connection: sqlite3.Connection, tenant: str, document_ids: Iterable[str]
) -> dict[str, Head]:
    """Read heads, deleted ones too."""
    sql = f"SELECT {HEAD_COLUMNS} FROM heads WHERE tenant = ? AND document_id = ?"  # noqa: S608
    found = {}
    for each in dict.fromkeys(document_ids):
        if row := connection.execute(sql, (storable(tenant), storable(each))).fetchone():
            found[each] = head(row)
    return found


def chunks(connection: sqlite3.Connection, tenant: str, document_id: str) -> list[Chunk]:
    """Read all chunks of one document, in order."""
    sql = """SELECT chunk FROM bodies JOIN chunks USING (number)
        WHERE tenant = ? AND document_id = ? ORDER BY position"""
    rows = connection.execute(sql, (storable(tenant), storable(document_id)))
    return [chunk(row[0]) for row in rows]


def _to_json(record: Document | Chunk) -> str:
    values = {each.name: getattr(record, each.name) for each in fields(record)}
    # What JSON does not know (a date, a path) is kept as its text.
    return storable(json.dumps(values, ensure_ascii=False, default=_dict_or_text))


def _dict_or_text(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else str(value)
