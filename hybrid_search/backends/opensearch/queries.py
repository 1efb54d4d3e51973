"""Questions and filters in OpenSearch's words. User text only ever reaches ``match`` queries."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hybrid_search.domain import And, Condition, Constant, Match, Nearest, Not, Or, Scored

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hybrid_search.domain import EngineQuery, Filter, Restriction

MAX_TERMS = 900
"""The engine allows 1,024 terms times fields in all (``indices.query.bool.max_clause_count``)."""
MAX_TOKEN = 255
"""The standard tokenizer cuts longer runs into pieces of this length."""

_TERM = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0eff]|[^\W_]+|\S")


@dataclass(frozen=True, slots=True)
class Layout:
    """Where an index keeps the logical fields; ``chunk_id`` is empty where ids are ``_id``."""

    content: tuple[str, ...] = ("content",)
    codes: tuple[str, ...] = ("content.codes",)
    parts: tuple[str, ...] = ("content.parts",)
    vector: str = "vector"
    tenant: str = "tenant"
    chunk_id: str = "chunk_id"
    document_id: str = "document_id"
    filter_prefix: str = "fields."
    dates: frozenset[str] = frozenset()
    """Fields that hold dates: they are compared by milliseconds, whatever their own format."""


@dataclass(slots=True)
class Compiler:
    """Compiles one ask. ``notes`` collects what had to be cut."""

    layout: Layout
    size: int
    filter: dict[str, Any] | None
    max_terms: int = MAX_TERMS
    notes: tuple[str, ...] = ()

    def restricted(self, query: EngineQuery) -> dict[str, Any]:
        """Compile a query with the restriction inside it."""
        if isinstance(query, Nearest):
            return self._nearest(query)
        compiled = self.compile(query)
        if self.filter is None:
            return compiled
        return {"bool": {"must": [compiled], "filter": [self.filter]}}

    def compile(self, query: EngineQuery) -> dict[str, Any]:
        """Compile a query without the restriction."""
        match query:
            case Match():
                return self._match(query)
            case Nearest():
                return self._nearest(query)
            case Constant():
                inner = self.compile(query.query)
                return {"constant_score": {"filter": inner, "boost": query.score}}
            case Scored():
                return self._scored(query)

    def _nearest(self, query: Nearest) -> dict[str, Any]:
        body: dict[str, Any] = {"vector": query.vector, "k": self.size}
        if self.filter is not None:
            body["filter"] = self.filter
        return {"knn": {self.layout.vector: body}}

    def _scored(self, query: Scored) -> dict[str, Any]:
        required = [self.compile(part) for part in query.required]
        optional = [self.compile(part) for part in query.optional]
        if query.every:
            return {"bool": {"must": required, "should": optional}}
        some = {"bool": {"should": required, "minimum_should_match": 1}}
        return {"bool": {"must": [some], "should": optional}}

    def _match(self, query: Match) -> dict[str, Any]:
        fields = {
            "content": self.layout.content,
            "codes": self.layout.codes,
            "parts": self.layout.parts,
        }[query.field]
        # An index of somebody else has no code fields: adjacent words come closest to a code.
        phrase = query.phrase or (query.field != "content" and not fields)
        fields = fields or self.layout.content
        text = self._cut(query.text, self.max_terms // len(fields))
        if len(fields) > 1:
            kind = {"type": "phrase"} if phrase else {"tie_breaker": 0.3}
            words = {"operator": "and"} if query.every and not phrase else {}
            return {"multi_match": {"query": text, "fields": list(fields), **kind, **words}}
        if phrase:
            return {"match_phrase": {fields[0]: {"query": text}}}
        operator = {"operator": "and"} if query.every else {}
        return {"match": {fields[0]: {"query": text, **operator}}}

    def _cut(self, text: str, limit: int) -> str:
        terms = 0
        for found in _TERM.finditer(text):
            terms += 1 + (found.end() - found.start() - 1) // MAX_TOKEN
            if terms > limit:
                note = f"words of the query beyond the first {limit} were not searched"
                if note not in self.notes:
                    self.notes += (note,)
                return text[: found.start()] or text[: limit * MAX_TOKEN]
        return text


def restriction(layout: Layout, held: Restriction, only: tuple[str, ...] = ()) -> Any:
    """Compile tenants, filter and chunk ids to one filter clause; None where nothing is held."""
    clauses: list[dict[str, Any]] = []
    if held.tenants is not None:
        clauses.append({"terms": {layout.tenant: list(held.tenants)}})
    if held.filter is not None:
        clauses.append(compile_filter(held.filter, layout))
    if only:
        ids = {"terms": {layout.chunk_id: list(only)}}
        clauses.append(ids if layout.chunk_id else {"ids": {"values": list(only)}})
    if not clauses:
        return None
    return clauses[0] if len(clauses) == 1 else {"bool": {"filter": clauses}}


def compile_filter(tree: Filter, layout: Layout) -> dict[str, Any]:
    """Compile a filter tree. Its values are typed already."""
    match tree:
        case Condition():
            return _condition(tree, layout)
        case And():
            return {"bool": {"filter": [compile_filter(part, layout) for part in tree.parts]}}
        case Or():
            parts = [compile_filter(part, layout) for part in tree.parts]
            return _any(parts)
        case Not():
            return {"bool": {"must_not": [compile_filter(tree.part, layout)]}}


def _condition(condition: Condition, layout: Layout) -> dict[str, Any]:
    field = layout.filter_prefix + condition.field
    match condition.op:
        case "eq":
            return _equals(field, condition.value, layout)
        case "in":
            if condition.field in layout.dates:
                return _any([_equals(field, value, layout) for value in condition.value])
            return {"terms": {field: list(condition.value)}}
        case "range":
            return _range(field, condition.value, layout)
        case "exists":
            there = {"exists": {"field": field}}
            return there if condition.value in (None, True) else {"bool": {"must_not": [there]}}


def _equals(field: str, value: Any, layout: Layout) -> dict[str, Any]:
    if field.removeprefix(layout.filter_prefix) in layout.dates:
        return _range(field, {"gte": value, "lte": value}, layout)
    return {"term": {field: {"value": value}}}


def _range(field: str, bounds: Mapping[str, Any], layout: Layout) -> dict[str, Any]:
    bounds = _one_each_side(bounds)
    if field.removeprefix(layout.filter_prefix) in layout.dates:
        bounds = _milliseconds(bounds)
    return {"range": {field: bounds}}


def _one_each_side(bounds: Mapping[str, Any]) -> dict[str, Any]:
    """Keep the narrower of gt and gte, and of lt and lte: the engine takes the last it reads."""
    kept = dict(bounds)
    if "gt" in kept and "gte" in kept:
        del kept["gte" if kept["gt"] >= kept["gte"] else "gt"]
    if "lt" in kept and "lte" in kept:
        del kept["lte" if kept["lt"] <= kept["lte"] else "lt"]
    return kept


def _milliseconds(bounds: Mapping[str, Any]) -> dict[str, Any]:
    """Write bounds of a date as gte and lt.

    The engine rounds gt and lte up within the millisecond, and before 1970 in the wrong direction:
    a date is then not found at itself (measured on 2.19.1 and 3.5.0).
    """
    whole = {"gte": ("gte", 0), "gt": ("gte", 1), "lt": ("lt", 0), "lte": ("lt", 1)}
    moved = {whole[name][0]: value + whole[name][1] for name, value in bounds.items()}
    return {**moved, "format": "epoch_millis"}


def _any(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Ask for at least one of the parts; the engine takes a list of none for everything."""
    if not parts:
        return {"match_none": {}}
    return {"bool": {"should": parts, "minimum_should_match": 1}}
