"""The settings and the mapping of an index that we make. The one place where its fields stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hybrid_search.errors import InvalidInput
from hybrid_search.languages import language
from hybrid_search.schema import to_meta

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hybrid_search.domain import FieldType, IndexSpec
    from hybrid_search.languages import Language

CODE_BREAKS = ("whitespace", *",;()[]{}<>\"'|=‘’‚‛“”„‟«»‹›")
TYPES: Mapping[FieldType, dict[str, Any]] = {
    "keyword": {"type": "keyword"},
    "integer": {"type": "long"},
    "float": {"type": "double"},
    "boolean": {"type": "boolean"},
    "date": {"type": "date", "format": "epoch_millis"},
}
HNSW = {"m": 16, "ef_construction": 128}


def index_body(spec: IndexSpec, *, derived_source: bool) -> dict[str, Any]:
    """Make the body that creates the index of a spec. Raises ``InvalidInput``.

    ``derived_source`` says that the node knows k-NN's derived source, which is switched
    off: with it on, a scroll breaks every later search on the shard (measured on 3.5.0).
    """
    index: dict[str, Any] = {
        "number_of_shards": spec.shards,
        "number_of_replicas": spec.replicas,
        "knn": spec.space is not None,
        "max_result_window": 10_000,
    }
    if derived_source and spec.space is not None:
        index["knn.derived_source"] = {"enabled": False}
    return {
        "settings": {"index": index, "analysis": _analysis(language(spec.language))},
        "mappings": {
            "dynamic": "strict",
            "_meta": {"hybrid_search": to_meta(spec)},
            "properties": _properties(spec),
        },
    }


def field_mapping(fields: Mapping[str, FieldType]) -> dict[str, Any]:
    """Make the mapping update that declares further metadata fields."""
    return {name: TYPES[kind] for name, kind in fields.items()}


def live_fields(mappings: Mapping[str, Any]) -> dict[str, FieldType]:
    """Read the declared metadata fields back from an index's live mapping."""
    names: dict[str, FieldType] = {str(body["type"]): kind for kind, body in TYPES.items()}
    properties = mappings.get("properties", {}).get("fields", {}).get("properties", {})
    return {field: names[body["type"]] for field, body in properties.items()}


def _properties(spec: IndexSpec) -> dict[str, Any]:
    keyword = {"type": "keyword"}
    shown = {"type": "text", "index": False, "copy_to": "content"}
    stored = {"type": "keyword", "index": False, "doc_values": False}
    number = {"type": "integer", "index": False, "doc_values": False}
    properties = {
        "kind": keyword,
        "tenant": keyword,
        "document_id": keyword,
        "version": {"type": "long"},
        # chunks
        "chunk_id": keyword,
        "position": {"type": "integer"},
        "text": shown,
        "title": shown,
        "headings": shown,
        "start": number,
        "end": number,
        "parent": keyword,
        "source": stored,
        "truncated": {"type": "integer"},
        "metadata": {"type": "object", "enabled": False},
        "fields": {"dynamic": "strict", "properties": field_mapping(spec.fields)},
        "content": {
            "type": "text",
            "analyzer": "content",
            "fields": {
                "codes": {"type": "text", "analyzer": "codes", "norms": False},
                "parts": {"type": "text", "analyzer": "parts", "norms": False},
            },
        },
        # heads and blanks
        "state": keyword,
        "deleted": {"type": "boolean"},
        "write_id": stored,
        "content_hash": keyword,
        "chunk_count": {"type": "integer"},
        "span": {"type": "integer"},
        "body": {"type": "object", "enabled": False},
        "at": {"type": "date"},
    }
    if spec.space is not None:
        properties["vector"] = {
            "type": "knn_vector",
            "dimension": spec.space.dimensions,
            "method": {
                "name": "hnsw",
                "engine": spec.engine,
                "space_type": _space_type(spec),
                "parameters": dict(HNSW),
            },
        }
    return properties


def _space_type(spec: IndexSpec) -> str:
    if spec.engine == "faiss" and spec.space_type == "cosinesimil":
        # Faiss knows cosinesimil from 2.19 only; on unit vectors both give the same order.
        if spec.space is None or not spec.space.normalized:
            raise InvalidInput(
                "engine faiss with space_type cosinesimil needs unit vectors: set normalize to "
                "true, or space_type to innerproduct or l2"
            )
        return "innerproduct"
    return spec.space_type


def _analysis(tongue: Language) -> dict[str, Any]:
    filters, chain = _language_filters(tongue)
    breaks = {"type": "char_group", "tokenize_on_chars": list(CODE_BREAKS), "max_token_length": 255}
    filters |= {
        "trim_marks": {
            "type": "pattern_replace",
            "pattern": r"^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$",
            "replacement": "",
        },
        "not_empty": {"type": "length", "min": 1, "max": 255},
    }
    codes = ["lowercase", "asciifolding", "trim_marks", "not_empty"]
    runs = {"type": "pattern", "pattern": r"[^\p{L}\p{N}]+"}
    return {
        "tokenizer": {"code_breaks": breaks, "runs": runs},
        "filter": filters,
        "analyzer": {
            "content": {"tokenizer": "standard", "filter": chain},
            "codes": {"tokenizer": "code_breaks", "filter": codes},
            "parts": {"tokenizer": "runs", "filter": ["lowercase", "asciifolding", "not_empty"]},
        },
    }


def _language_filters(tongue: Language) -> tuple[dict[str, Any], list[str]]:
    """Make the token filters and their order: fold before stop words, stop words before stems."""
    filters: dict[str, Any] = {}
    chain = ["cjk_width", "lowercase"] if tongue.cjk else ["lowercase"]
    if tongue.articles:
        articles = sorted(tongue.articles)
        filters["elide"] = {"type": "elision", "articles": articles, "articles_case": True}
        chain.append("elide")
    if tongue.possessive:
        filters["possessive"] = {"type": "stemmer", "language": "possessive_english"}
        chain.append("possessive")
    chain.append("asciifolding")
    if tongue.cjk:
        chain.append("cjk_bigram")
    if tongue.stop_words:
        filters["stop_words"] = {"type": "stop", "stopwords": sorted(tongue.stop_words)}
        chain.append("stop_words")
    if tongue.opensearch_stemmer:
        filters["stem"] = {"type": "stemmer", "language": tongue.opensearch_stemmer}
        chain.append("stem")
    return filters, chain
