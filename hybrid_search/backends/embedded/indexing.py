"""What keeps one index whole: made on the first write, and kept in step with its spec."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from hybrid_search.analysis import analysis_fingerprint, analyzer
from hybrid_search.backends.embedded import records
from hybrid_search.backends.embedded.tables import (
    TEXT_FIELDS,
    create_tables,
    new_incarnation,
    read_meta,
    save_meta,
)
from hybrid_search.errors import DocumentError, FingerprintMismatch
from hybrid_search.schema import field_values, refuse_other_writer

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping
    from typing import Any

    from hybrid_search.analysis import TextField
    from hybrid_search.backends.embedded.tables import Meta
    from hybrid_search.domain import Chunk, FieldType, IndexSpec


def ready_to_write(connection: sqlite3.Connection, wanted: IndexSpec, where: str) -> Meta:
    """Make the index if there is none, or bring it up to date, in the caller's transaction.

    Raises ``FingerprintMismatch`` where the settings don't fit it.
    """
    meta = read_meta(connection)
    if meta is None:
        analyzer(wanted.language)
        return create_tables(connection, wanted)
    refuse_other_writer(meta.spec, wanted, where)
    meta = up_to_date(connection, meta)
    added = {n: kind for n, kind in wanted.fields.items() if n not in meta.spec.fields}
    return _with_fields(connection, meta, added, where) if added else meta


def up_to_date(connection: sqlite3.Connection, meta: Meta) -> Meta:
    """Make all tokens anew from the stored text where the analysis gives others by now."""
    if meta.analysis == analysis_fingerprint():
        return meta
    for name in TEXT_FIELDS:
        connection.execute(f"INSERT INTO {name} ({name}) VALUES ('delete-all')")  # noqa: S608
    counts = ", ".join(f"{name}_tokens = ?" for name in TEXT_FIELDS)
    update = f"UPDATE chunks SET {counts} WHERE number = ?"  # noqa: S608
    for number, stored in connection.execute("SELECT number, chunk FROM bodies"):
        tokens = analysed(records.chunk(stored), meta.spec)
        put_tokens(connection, number, tokens)
        connection.execute(update, (*map(len, tokens.values()), number))
    # Lengths of known chunks have changed: nobody may build upon what was read before.
    meta = replace(meta, analysis=analysis_fingerprint(), incarnation=new_incarnation())
    save_meta(connection, meta)
    return meta


def analysed(chunk: Chunk, spec: IndexSpec) -> dict[TextField, list[str]]:
    """Return the tokens of a chunk in every text field."""
    text = records.searchable_text(chunk)
    return {name: analyzer(spec.language).tokens(name, text) for name in TEXT_FIELDS}


def put_tokens(
    connection: sqlite3.Connection, number: int, tokens: Mapping[TextField, list[str]]
) -> None:
    """Make a chunk findable by its tokens."""
    for name, words in tokens.items():
        sql = f"INSERT INTO {name} (rowid, tokens) VALUES (?, ?)"  # noqa: S608
        connection.execute(sql, (number, " ".join(words)))


def drop_tokens(
    connection: sqlite3.Connection, number: int, tokens: Mapping[TextField, list[str]]
) -> None:
    """Take a chunk's tokens out again. They must be those that were put in."""
    for name, words in tokens.items():
        sql = f"INSERT INTO {name} ({name}, rowid, tokens) VALUES ('delete', ?, ?)"  # noqa: S608
        connection.execute(sql, (number, " ".join(words)))


def put_values(
    connection: sqlite3.Connection, numbers: Iterable[int], values: Mapping[str, Any]
) -> None:
    """Make chunks filterable by the values of declared fields."""
    rows = [
        (name, each, number)
        for number in numbers
        for name, value in values.items()
        for each in (value if isinstance(value, list) else [value])
    ]
    connection.executemany("INSERT OR IGNORE INTO field_values VALUES (?, ?, ?)", rows)


def _with_fields(
    connection: sqlite3.Connection, meta: Meta, added: Mapping[str, FieldType], where: str
) -> Meta:
    """Declare more fields, and fill them from the metadata that is stored."""
    heads = connection.execute("SELECT tenant, document_id, document FROM heads WHERE NOT deleted")
    for tenant, document_id, stored in heads:
        try:
            values = field_values(added, json.loads(stored)["metadata"])
        except DocumentError as error:
            raise FingerprintMismatch(
                f"{where}: a field can't be added, because document {document_id!r} does not fit "
                f"its type: {error}. Nothing was changed"
            ) from error
        put_values(connection, chunk_numbers(connection, tenant, document_id), values)
    spec = replace(meta.spec, fields={**meta.spec.fields, **added})
    meta = replace(meta, spec=spec, change=meta.change + 1)
    save_meta(connection, meta)
    return meta


def chunk_numbers(connection: sqlite3.Connection, tenant: str, document_id: str) -> list[int]:
    """Return the numbers of a document's chunks, in order."""
    sql = "SELECT number FROM chunks WHERE tenant = ? AND document_id = ? ORDER BY position"
    return [row[0] for row in connection.execute(sql, (tenant, document_id))]
