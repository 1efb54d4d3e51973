"""What is in the file, and the record about the file itself.

=============  ==================================================================================
meta           one row: spec, fingerprint of the analysis, change number, next chunk number
heads          one row a document, deleted ones too: version, content hash, the document as JSON
chunks         one row a chunk: its place, and how many tokens it has in each text field
bodies         the chunk itself as JSON, apart, so that reading all rows of ``chunks`` is fast
vectors        one row a chunk: float32, little-endian, as the embedder gave it
field_values   one row a value of a declared field of a chunk, typed
removed        chunk numbers that are gone, by change number: other processes catch up from it
content ...    FTS5 indexes (content, codes, parts) over tokens; ``*_terms`` list their postings
=============  ==================================================================================

A chunk's number is never used twice, so what was once read about a number stays true.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from hybrid_search.analysis import TextField, analysis_fingerprint
from hybrid_search.errors import StoreUnavailable
from hybrid_search.schema import from_meta, to_meta

if TYPE_CHECKING:
    import sqlite3

    from hybrid_search.domain import IndexSpec

APPLICATION_ID = 0x68796272
"""Marks the file as ours ("hybr"): tables of somebody else are never touched."""
LAYOUT = 1
"""The version of these tables."""
TEXT_FIELDS: tuple[TextField, ...] = get_args(TextField)

_TABLES = (
    "meta", "heads", "chunks", "bodies", "vectors", "field_values", "removed",
    *(f"{field}_terms" for field in TEXT_FIELDS), *TEXT_FIELDS,
)  # fmt: skip


def _quoted(text: str, mark: str) -> str:
    return mark + text.replace(mark, mark * 2) + mark


# Tokens are made in Python: every printable character belongs to one, only the space divides.
_TOKEN_CHARACTERS = "".join(chr(c) for c in range(0x21, 0x7F) if not chr(c).isalnum())
_TOKENIZER = f"ascii tokenchars {_quoted(_TOKEN_CHARACTERS, chr(39))}"
_CREATE = [
    """CREATE TABLE meta (
        layout INTEGER NOT NULL, incarnation TEXT NOT NULL, spec TEXT NOT NULL,
        analysis TEXT NOT NULL, change INTEGER NOT NULL, next_chunk INTEGER NOT NULL)""",
    """CREATE TABLE heads (
        tenant TEXT NOT NULL, document_id TEXT NOT NULL, version INTEGER NOT NULL,
        content_hash TEXT NOT NULL, chunk_count INTEGER NOT NULL, deleted INTEGER NOT NULL,
        document TEXT NOT NULL, UNIQUE (tenant, document_id))""",
    """CREATE TABLE chunks (
        number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, tenant TEXT NOT NULL,
        document_id TEXT NOT NULL, position INTEGER NOT NULL, content_tokens INTEGER NOT NULL,
        codes_tokens INTEGER NOT NULL, parts_tokens INTEGER NOT NULL)""",
    "CREATE INDEX chunks_of ON chunks (tenant, document_id, position)",
    "CREATE TABLE bodies (number INTEGER PRIMARY KEY, chunk TEXT NOT NULL)",
    "CREATE TABLE vectors (number INTEGER PRIMARY KEY, vector BLOB NOT NULL)",
    """CREATE TABLE field_values (
        field TEXT NOT NULL, value NOT NULL, number INTEGER NOT NULL,
        PRIMARY KEY (field, value, number)) WITHOUT ROWID""",
    "CREATE INDEX field_values_of ON field_values (number)",
    "CREATE TABLE removed (change INTEGER NOT NULL, number INTEGER NOT NULL)",
    "CREATE INDEX removed_at ON removed (change)",
]
for _field in TEXT_FIELDS:
    _CREATE += [
        f"""CREATE VIRTUAL TABLE {_field} USING fts5(
            tokens, content='', columnsize=0, tokenize={_quoted(_TOKENIZER, chr(34))})""",
        f"CREATE VIRTUAL TABLE {_field}_terms USING fts5vocab({_field}, instance)",
    ]


@dataclass(frozen=True, slots=True)
class Meta:
    """The record about the file: ``change`` grows by one with every batch that changes chunks.

    ``incarnation`` is new where everything read so far is void: after a drop or a rebuild.
    """

    incarnation: str
    spec: IndexSpec
    analysis: str
    change: int
    next_chunk: int


def read_meta(connection: sqlite3.Connection) -> Meta | None:
    """Read the record; None where there is no index.

    Raises ``StoreUnavailable`` for a file that is not ours, or of a later version.
    """
    names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master LIMIT 99")}
    if not names:
        return None
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise StoreUnavailable(
            "the file is a database of another program: choose another folder or collection"
        )
    row = connection.execute(
        "SELECT layout, incarnation, spec, analysis, change, next_chunk FROM meta"
    ).fetchone()
    if row[0] != LAYOUT:
        raise StoreUnavailable(
            f"the embedded file has layout {row[0]}, this version reads {LAYOUT}: use the version "
            "that wrote it, or add the documents to a new collection"
        )
    return Meta(row[1], from_meta(json.loads(row[2])), *row[3:])


def create_tables(connection: sqlite3.Connection, spec: IndexSpec) -> Meta:
    """Make an empty index in the caller's transaction."""
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    for statement in _CREATE:
        connection.execute(statement)
    meta = Meta(new_incarnation(), spec, analysis_fingerprint(), change=0, next_chunk=1)
    connection.execute("INSERT INTO meta VALUES (?, '', '', '', 0, 0)", (LAYOUT,))
    save_meta(connection, meta)
    return meta


def save_meta(connection: sqlite3.Connection, meta: Meta) -> None:
    """Write the record, in the caller's transaction."""
    connection.execute(
        "UPDATE meta SET incarnation = ?, spec = ?, analysis = ?, change = ?, next_chunk = ?",
        (
            meta.incarnation,
            json.dumps(to_meta(meta.spec)),
            meta.analysis,
            meta.change,
            meta.next_chunk,
        ),
    )


def drop_tables(connection: sqlite3.Connection) -> None:
    """Remove the index, in the caller's transaction. The file stays, without a collection.

    Another process may have it open: what that writes next must not end in a file without name.
    """
    for table in _TABLES:
        connection.execute(f"DROP TABLE IF EXISTS {table}")


def new_incarnation() -> str:
    """Return a name that no other state of any file has."""
    return secrets.token_hex(8)
