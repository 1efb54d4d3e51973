"""Reading a text file, with an error that says what is wrong with it."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from hybrid_search.errors import DocumentError

if TYPE_CHECKING:
    from pathlib import Path


def read_text(path: Path) -> str:
    """Read a UTF-8 text, with or without a byte order mark; line ends become line feeds.

    Raises ``DocumentError`` for a file that can't be read, is empty, binary or not UTF-8.
    """
    if path.exists() and not path.is_file():
        raise DocumentError("is not a regular file")
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise DocumentError(f"can't be read: {(error.strerror or str(error)).lower()}") from error
    if not raw.strip():
        raise DocumentError("is empty")
    text = _decoded(raw)
    if not text.strip():
        raise DocumentError("is empty")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _decoded(raw: bytes) -> str:
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise DocumentError("is UTF-16, not UTF-8: convert it, e.g. with iconv -f UTF-16 -t UTF-8")
    if b"\0" in raw:
        raise DocumentError("is a binary file, not text")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DocumentError(
            f"is not UTF-8 (byte 0x{raw[error.start]:02X} at {error.start}): convert it, e.g. "
            "with iconv -f WINDOWS-1252 -t UTF-8"
        ) from error
