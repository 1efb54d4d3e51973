"""Asking: ids and scores only, all asks in one request; the page is read after the fusion."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hybrid_search.backends.opensearch.connection import dump
from hybrid_search.backends.opensearch.failures import TooManyClausesError, failure_of
from hybrid_search.backends.opensearch.queries import MAX_TERMS, Compiler, restriction
from hybrid_search.domain import Answer, Chunk, Constant, Match, Nearest, RankedHit
from hybrid_search.errors import HybridSearchError, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybrid_search.backends.opensearch.connection import Connection
    from hybrid_search.backends.opensearch.queries import Layout
    from hybrid_search.domain import Ask, Deadline, Restriction, Snapshot

Outcome = Answer | HybridSearchError


class Reader:
    """Puts asks to one cluster and reads chunks from it."""

    def __init__(self, connection: Connection, layout: Layout) -> None:
        self._connection = connection
        self._layout = layout

    def rank(
        self,
        snapshot: Snapshot,
        asks: Sequence[Ask],
        held: Restriction,
        deadline: Deadline | None,
        max_terms: int = MAX_TERMS,
    ) -> list[Outcome]:
        """Put all asks to the engine in one request; where it counts too many terms, halve once."""
        bodies = [self._bodies(snapshot, ask, held, deadline, max_terms) for ask in asks]
        flat = [
            (preference(ask), body)
            for ask, made in zip(asks, bodies, strict=True)
            for body in made[0]
        ]
        answers = iter(self._send(snapshot, flat, deadline))
        outcomes: list[Outcome] = []
        for ask, (alternatives, notes) in zip(asks, bodies, strict=True):
            parsed = [self._parse(next(answers), notes, snapshot) for _ in alternatives]
            outcome = _first_telling(ask, parsed)
            if isinstance(outcome, TooManyClausesError) and max_terms == MAX_TERMS:
                outcome = self.rank(snapshot, [ask], held, deadline, MAX_TERMS // 2)[0]
            outcomes.append(outcome)
        return outcomes

    def fetch(
        self, snapshot: Snapshot, hits: Sequence[RankedHit], deadline: Deadline | None
    ) -> dict[str, dict[str, Any]]:
        """Read sources by id from the physical index that each hit came from, without vectors."""
        if not hits:
            return {}
        source = {"excludes": [self._layout.vector]} if self._layout.vector else True
        places = [(hit.index, place_of(hit.chunk_id, snapshot)) for hit in hits]
        docs = [
            {"_index": index or place[0], "_id": place[1], "_source": source}
            for index, place in places
        ]
        found = self._connection.multi_get(docs, deadline)
        return {
            hit.chunk_id: doc["_source"]
            for hit, doc in zip(hits, found, strict=True)
            if doc.get("found")
        }

    def _bodies(
        self,
        snapshot: Snapshot,
        ask: Ask,
        held: Restriction,
        deadline: Deadline | None,
        max_terms: int,
    ) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
        only = tuple(place_of(key, snapshot)[1] for key in ask.only)
        compiler = Compiler(
            self._layout,
            size=ask.size,
            filter=restriction(self._layout, held, only),
            max_terms=max_terms,
        )
        size = ask.size if ask.limit is None else ask.limit + 1
        bodies = []
        for query in ask.alternatives:
            compiler.size = size if not isinstance(query, Nearest) else ask.size
            body = {"size": size, "track_total_hits": False, **self._wanted()}
            if deadline is not None:
                body["timeout"] = f"{max(1, int(deadline.remaining() * 1000))}ms"
            bodies.append(body | {"query": compiler.restricted(query)})
        return bodies, compiler.notes

    def _wanted(self) -> dict[str, Any]:
        """Ask for ids as doc values and break ties by them; without such a field, for ``_id``."""
        if not self._layout.chunk_id:
            return {"_source": False}
        order = [{"_score": "desc"}, {self._layout.chunk_id: "asc"}]
        return {"stored_fields": "_none_", "sort": order}

    def _send(
        self,
        snapshot: Snapshot,
        bodies: list[tuple[str, dict[str, Any]]],
        deadline: Deadline | None,
    ) -> list[Any]:
        target = ",".join(snapshot.indices)
        lines = []
        for copy, body in bodies:
            lines += [dump({"index": target, "preference": copy}), dump(body)]
        if not lines:
            return []
        try:
            sent = self._connection.read("POST", "/_msearch", lines=lines, deadline=deadline)
        except HybridSearchError as error:
            return [error] * len(bodies)
        responses: list[Any] = sent.get("responses", []) if isinstance(sent, dict) else []
        if len(responses) != len(bodies):
            message = f"{len(bodies)} searches were sent, {len(responses)} were answered"
            return [StoreUnavailable(message)] * len(bodies)
        return responses

    def _parse(self, response: Any, notes: tuple[str, ...], snapshot: Snapshot) -> Outcome:
        if isinstance(response, HybridSearchError):
            return response
        if "error" in response:
            where = f"OpenSearch at {self._connection.url}"
            return failure_of(response.get("status"), response, where)
        shards = response["_shards"]
        return Answer(
            hits=self._hits(response["hits"]["hits"], snapshot),
            took_ms=float(response["took"]),
            notes=notes,
            failed_shards=shards["failed"],
            total_shards=shards["total"],
            timed_out=response["timed_out"],
        )

    def _hits(self, found: list[dict[str, Any]], snapshot: Snapshot) -> tuple[RankedHit, ...]:
        if self._layout.chunk_id:
            return tuple(RankedHit(h["sort"][1], h["sort"][0], h["_index"]) for h in found)
        hits = [RankedHit(key_of(h, snapshot), h["_score"], h["_index"]) for h in found]
        return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id)))


def key_of(hit: dict[str, Any], snapshot: Snapshot) -> str:
    """Name a hit by its ``_id``, which is unique in one index; with the index before it in several.

    ``place_of`` reads it back.
    """
    return f"{hit['_index']}/{hit['_id']}" if len(snapshot.indices) > 1 else str(hit["_id"])


def place_of(key: str, snapshot: Snapshot) -> tuple[str, str]:
    """Return the physical index and the ``_id`` that a key names."""
    if len(snapshot.indices) > 1:
        index, _, id_ = key.partition("/")
        if index in snapshot.indices:
            return index, id_
    return snapshot.indices[0], key


def preference(ask: Ask) -> str:
    """Name the shard copies to ask: the same for the same words, spread over different ones.

    Copies of a shard differ in deleted documents and so in scores; without this, the same query
    could answer in two orders.
    """
    query: Any = ask.alternatives[0]
    while not isinstance(query, Match | Nearest):
        query = query.query if isinstance(query, Constant) else query.required[0]
    key = query.text.encode() if isinstance(query, Match) else query.vector.tobytes()
    return f"q{zlib.crc32(key)}"


def chunk_of(source: dict[str, Any]) -> Chunk:
    """Read a chunk of ours from its stored source."""
    return Chunk(
        id=source["chunk_id"],
        document_id=source["document_id"],
        position=source["position"],
        text=source["text"],
        start=source.get("start", 0),
        end=source.get("end", 0),
        title=source.get("title", ""),
        headings=tuple(source.get("headings", ())),
        parent=source.get("parent", ""),
        source=source.get("source", ""),
        metadata=source.get("metadata", {}),
        truncated=source.get("truncated", 0),
    )


def _first_telling(ask: Ask, outcomes: list[Outcome]) -> Outcome:
    """Take the first alternative that found anything; too much found is nothing found."""
    for outcome in outcomes:
        if isinstance(outcome, HybridSearchError):
            return outcome
        if outcome.hits:
            crowded = ask.limit is not None and len(outcome.hits) > ask.limit
            return _emptied(outcome) if crowded else replace(outcome, hits=outcome.hits[: ask.size])
    return outcomes[0]


def _emptied(answer: Answer) -> Answer:
    note = "the codes of the query stand in too many chunks to tell anything"
    return Answer((), answer.took_ms, (*answer.notes, note))
