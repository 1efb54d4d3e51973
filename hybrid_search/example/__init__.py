"""The example collection: an invented company's documents, with judged queries.

Norvessa Instruments does not exist. Its reports, runbooks and handbooks were written for this
project so that a hybrid search can be tried and measured without downloading anything.
"""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any


def _folder() -> Path:
    """Return the folder of this package on disk."""
    return Path(str(files(__name__)))


def documents_path() -> Path:
    """Return the folder that holds the example's Markdown documents.

    Examples:
        >>> from hybrid_search.example import documents_path
        >>> (documents_path() / "incidents" / "inc-2023-q4-011.md").is_file()
        True
    """
    return _folder() / "documents"


def queries() -> list[dict[str, Any]]:
    """Return the judged queries, in the order of the file.

    Each has ``_id``, ``text`` and ``metadata``, whose ``type`` is one of ``identifier``,
    ``keyword``, ``paraphrase`` and ``french``.

    Examples:
        >>> from hybrid_search.example import queries
        >>> len(queries())
        80
        >>> queries()[0]["_id"], queries()[0]["metadata"]["type"]
        ('q01', 'identifier')
    """
    text = (_folder() / "queries.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line.strip()]


def qrels() -> dict[str, dict[str, int]]:
    """Return the judgements: for each query id, the grade of each judged section id.

    Grade 2 marks a section that answers, grade 1 a section that is related and partly answers.
    A section id is ``<path below documents/>#<n>``, n counting the document's sections from 0.

    Examples:
        >>> from hybrid_search.example import qrels
        >>> qrels()["q01"]["incidents/inc-2023-q4-011.md#0"]
        2
    """
    judged: dict[str, dict[str, int]] = {}
    lines = (_folder() / "qrels.tsv").read_text(encoding="utf-8").split("\n")
    for line in lines[1:]:
        if line.strip():
            query_id, section_id, grade = line.split("\t")
            judged.setdefault(query_id, {})[section_id] = int(grade)
    return judged


__all__ = ["documents_path", "qrels", "queries"]
