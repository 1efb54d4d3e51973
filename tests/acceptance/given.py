"""What the acceptance tests start from: places to keep a collection, and vectors made by hand."""

from __future__ import annotations

import json
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hybrid_search import connect
from tests import nodes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from hybrid_search.hybrid import HybridSearch
    from tests.proxy import Call, RecordingProxy

NO_NODE = "no-node"
SHARED = ("file", *(nodes.node_urls() or [NO_NODE]))
"""Kinds of place that several connections can open; URLs are nodes."""
KINDS = ("memory", *SHARED)


def label(kind: str) -> str:
    return nodes.label(kind) if "://" in kind else kind


@dataclass(frozen=True)
class Place:
    """Where the collections of one test are."""

    kind: str
    folder: Path
    prefix: str

    def connect(self, name: str = "docs", **settings: Any) -> HybridSearch:
        """Open one collection here; nothing of this machine's settings takes part."""
        where: dict[str, Any] = {"home": self.folder, "collection": f"{self.prefix}{name}"}
        if self.kind == "memory":
            where["memory"] = True
        where["opensearch_url"] = self.kind if "://" in self.kind else ""
        return connect(**{"query_log": False, "cache": False, **where, **settings})


def searches(proxy: RecordingProxy) -> list[Call]:
    """The calls that asked the engine for anything that matches a query."""
    return [call for call in proxy.calls if operation(call) in ("_search", "_msearch", "_count")]


def operation(call: Call) -> str:
    """The last part of a call's path, such as ``_mapping``."""
    return call.path.partition("?")[0].rpartition("/")[2]


def bodies(proxy: RecordingProxy) -> list[dict[str, Any]]:
    """The body of every search sent: each second line of each multi-search."""
    sent = searches(proxy)
    assert {operation(call) for call in sent} == {"_msearch"}
    return [body for call in sent for body in call.lines()[1::2]]


def held_to(body: Mapping[str, Any]) -> list[Any]:
    """The filter clauses of one search body; those of a vector search must be inside ``knn``."""
    query = body["query"]
    inner = next(iter(query["knn"].values())) if "knn" in query else query["bool"]
    held = inner["filter"]
    while isinstance(held, list) and len(held) == 1:
        held = held[0]
    return held["bool"]["filter"] if isinstance(held, dict) and "bool" in held else [held]


def bulk(url: str, index: str, documents: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
    """Write documents into an index that is not ours, and make them findable."""
    lines: list[Any] = []
    for key, source in documents:
        lines += [{"index": {"_index": index, "_id": key}}, source]
    address, headers = nodes.split_login(url)
    body = "".join(json.dumps(line) + "\n" for line in lines).encode()
    headers["Content-Type"] = "application/x-ndjson"
    request = urllib.request.Request(f"{address}/_bulk?refresh=true", body, headers)
    with nodes.HTTP.open(request, timeout=60) as response:
        assert json.loads(response.read())["errors"] is False


def ids(hits: Sequence[Any]) -> list[str]:
    """The document ids of hits, in order."""
    return [hit.document_id for hit in hits]
