"""The write protocol: one compare-and-set on the head in the authority, then ``settle``.

1. Read the topology and the documents' heads in every live index.
2. Nothing to do where the authority's head is complete with the same content. A pending head
   with the same content is taken up where its writer left it.
3. Otherwise claim: a new head, version + 1, pending, by compare-and-set in the authority. Who is
   refused reads again.
4. Settle: the same head by compare-and-set into every other live index; where it is in, chunks
   with external version 2 x version, and blanks (never deletes) up to ``span``; then the heads
   complete. Only then is the write acknowledged.

Any step can be killed: the rerun finds a pending head and settles it.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from hybrid_search.backends.opensearch.bulk import Bulk, operation
from hybrid_search.backends.opensearch.records import (
    HeadRecord,
    blank_source,
    chunk_source,
    head_record,
)
from hybrid_search.domain import Prepared, WriteResult
from hybrid_search.errors import DocumentError, StoreUnavailable
from hybrid_search.schema import check_vector, chunk_id, head_id, stored_hash

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybrid_search.backends.opensearch.bulk import Item, Operation
    from hybrid_search.backends.opensearch.connection import Connection
    from hybrid_search.backends.opensearch.topology import Target, Topology
    from hybrid_search.domain import Document, IndexSpec, WriteStatus
    from hybrid_search.protocols import Prepare

MAX_ROUNDS = 30
DELETED = "deleted"
"""Stands as the content hash of a deleted document."""


@dataclass(slots=True)
class Work:
    """One document on its way: what shall be there, and how far it is."""

    document_id: str
    document: Document | None
    content: str
    write_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    heads: list[HeadRecord | None] = field(default_factory=list)
    before: HeadRecord | None = None
    claimed: HeadRecord | None = None
    prepared: Prepared | None = None
    result: WriteResult | None = None

    @property
    def won(self) -> bool:
        """Whether the head that was claimed is this work's own, not one that others left."""
        return self.claimed is not None and self.claimed.write_id == self.write_id

    @property
    def authority(self) -> HeadRecord | None:
        """The head in the oldest live index."""
        return self.heads[0]


class Writer:
    """Writes documents whole into every live index of one collection."""

    def __init__(self, connection: Connection, topology: Topology) -> None:
        self._connection = connection
        self._topology = topology
        self._bulk = Bulk(connection)

    def write(
        self, tenant: str, documents: Sequence[Document], prepare: Prepare
    ) -> list[WriteResult]:
        """Store documents; the ids are distinct. One result each, in order."""
        fields = self._topology.targets()[0].spec.fields
        works = [Work(d.id, d, stored_hash(d, fields)) for d in documents]
        results = self._run(tenant, works, prepare)
        self._restore(tenant, works, prepare)
        return results

    def delete(self, tenant: str, document_ids: Sequence[str]) -> list[WriteResult]:
        """Remove documents: their heads stay as tombstones."""
        works = [Work(document_id, None, DELETED) for document_id in document_ids]
        return self._run(tenant, works, lambda documents, _: [Prepared() for _ in documents])

    def _restore(self, tenant: str, works: list[Work], prepare: Prepare) -> None:
        """Put back what was there before a document that the engine refused half-way."""
        broken = [w for w in works if w.result and w.result.status == "dead" and w.won]
        for work in broken:
            before = work.before.document if work.before else None
            again = Work(work.document_id, before, f"{work.content} undone")
            self._run(tenant, [again], prepare)

    def _run(self, tenant: str, works: list[Work], prepare: Prepare) -> list[WriteResult]:
        for _ in range(MAX_ROUNDS):
            left = [work for work in works if work.result is None]
            if not left:
                return [work.result for work in works if work.result is not None]
            _Round(self._connection, self._bulk, self._topology, tenant, prepare).run(left)
        raise StoreUnavailable(
            f"{len(left)} documents were overtaken by other writers {MAX_ROUNDS} times, "
            f"the first is {left[0].document_id!r}"
        )


class _Round:
    """One attempt at a batch over one reading of the topology. What is refused stays open."""

    def __init__(
        self,
        connection: Connection,
        bulk: Bulk,
        topology: Topology,
        tenant: str,
        prepare: Prepare,
    ) -> None:
        self._connection = connection
        self._bulk = bulk
        self._topology = topology
        self._tenant = tenant
        self._prepare = prepare
        self._targets = topology.targets()

    def run(self, works: list[Work]) -> None:
        if not self._read_heads(works):
            self._topology.forget()
            return
        new = [work for work in works if not self._known(work)]
        self._embed(new, self._targets[0].spec)
        self._claim([work for work in new if work.result is None])
        self._settle([w for w in works if w.result is None and w.claimed is not None])

    # --- 1. heads -------------------------------------------------------------------------

    def _read_heads(self, works: list[Work]) -> bool:
        docs = [
            {"_index": target.alias, "_id": head_id(self._tenant, work.document_id)}
            for work in works
            for target in self._targets
        ]
        found = iter(self._connection.read("POST", "/_mget", {"docs": docs})["docs"])
        for work in works:
            answers = [next(found) for _ in self._targets]
            if any("error" in answer for answer in answers):
                return False  # an alias of an older epoch: the topology has moved
            work.heads = [head_record(a) if a["found"] else None for a in answers]
        return True

    # --- 2. what is there already ---------------------------------------------------------

    def _known(self, work: Work) -> bool:
        """Tell whether no new head is needed: done already, to be resumed, or overtaken."""
        head = work.authority
        if head is None:
            if work.document is None:
                work.result = WriteResult(work.document_id, "absent")
            return work.document is None
        won = work.claimed
        if won is not None and head.version >= won.version:
            work.claimed = head  # ours, or a newer one: settled before ours is acknowledged
            return True
        if work.document is None and head.deleted and head.complete:
            work.result = WriteResult(work.document_id, "absent", version=head.version)
            return True
        if head.content_hash != work.content:
            return False
        if head.complete and all(h and h.version == head.version for h in work.heads):
            status: WriteStatus = "unchanged" if work.document else "absent"
            work.result = WriteResult(
                work.document_id, status, chunks=head.chunk_count, version=head.version
            )
        else:
            work.claimed, work.before = head, head
        return True

    # --- 3. claim -------------------------------------------------------------------------

    def _embed(self, works: list[Work], spec: IndexSpec) -> None:
        """Cut and embed what is new; what can't be stored is dead before anything is sent."""
        open_works = [w for w in works if w.document is not None and w.prepared is None]
        documents = [w.document for w in open_works if w.document is not None]
        if not documents:
            return
        for work, prepared in zip(open_works, self._prepare(documents, spec), strict=True):
            reason = prepared.error or _unfit(prepared, self._tenant, spec)
            if reason:
                work.result = WriteResult(work.document_id, "dead", reason=reason)
            work.prepared = prepared

    def _claim(self, works: list[Work]) -> None:
        if not works:
            return
        heads = [self._new_head(work) for work in works]
        operations = [
            self._head_operation(self._targets[0], head, work.authority)
            for head, work in zip(heads, works, strict=True)
        ]
        for work, head, item in zip(works, heads, self._bulk.send(operations), strict=True):
            match item.verdict:
                case "done":
                    work.before = work.authority
                    work.claimed = head.stored_at(item.seq_no, item.term)
                case "dead":
                    work.result = WriteResult(work.document_id, "dead", reason=item.reason)
                case "fenced":
                    self._topology.forget()

    def _new_head(self, work: Work) -> HeadRecord:
        old = work.authority
        count = len(work.prepared.chunks) if work.prepared else 0
        return HeadRecord(
            tenant=self._tenant,
            document_id=work.document_id,
            version=(old.version if old else 0) + 1,
            write_id=work.write_id,
            content_hash=work.content,
            document=work.document,
            deleted=work.document is None,
            chunk_count=count,
            span=max(count, old.span if old else 0),
        )

    def _head_operation(
        self, target: Target, head: HeadRecord, old: HeadRecord | None
    ) -> Operation:
        where: dict[str, Any] = {
            "_index": target.alias,
            "_id": head_id(self._tenant, head.document_id),
        }
        if old is None:
            return operation("create", where, head.source())
        where |= {"if_seq_no": old.seq_no, "if_primary_term": old.term}
        return operation("index", where, head.source())

    # --- 4. settle ------------------------------------------------------------------------

    def _settle(self, works: list[Work]) -> None:
        settled: dict[int, list[HeadRecord]] = {}
        for place, target in enumerate(self._targets):
            for number, head in self._advance(place, target, works, settled).items():
                settled.setdefault(number, []).append(head)
            works = [w for n, w in enumerate(works) if len(settled.get(n, [])) == place + 1]
            settled = dict(enumerate(v for v in settled.values() if len(v) == place + 1))
        self._complete(works, settled)

    def _advance(
        self,
        place: int,
        target: Target,
        works: list[Work],
        settled: dict[int, list[HeadRecord]],
    ) -> dict[int, HeadRecord]:
        """Bring head and chunks of each work into one index: the heads that are in."""
        prepared = self._prepared_for(place, target, works)
        heads = self._heads_in(place, target, works, prepared, settled)
        operations: list[Operation] = []
        owners: list[int] = []
        for number, head in list(heads.items()):
            if head.complete:
                continue
            if reason := self._unfit_to_settle(head, prepared[number], target.spec):
                works[number].result = WriteResult(head.document_id, "dead", reason=reason)
                del heads[number]
                continue
            made = self._chunk_operations(target, head, prepared[number])
            operations += made
            owners += [number] * len(made)
        items = self._bulk.send(operations)
        for number, item in zip(owners, items, strict=True):
            self._judge(works[number], item)
            if item.verdict in ("dead", "fenced"):
                heads.pop(number, None)
        return heads

    def _prepared_for(self, place: int, target: Target, works: list[Work]) -> list[Prepared]:
        """Take what was made for the authority, or make it for content that others claimed."""
        made = [work.prepared if work.won and place == 0 else None for work in works]
        missing = [n for n, prepared in enumerate(made) if prepared is None]
        documents = {n: d for n in missing if (d := _claimed(works[n]).document) is not None}
        answers = iter(self._prepare(list(documents.values()), target.spec) if documents else [])
        return [
            prepared if prepared is not None else next(answers) if n in documents else Prepared()
            for n, prepared in enumerate(made)
        ]

    def _heads_in(
        self,
        place: int,
        target: Target,
        works: list[Work],
        prepared: list[Prepared],
        settled: dict[int, list[HeadRecord]],
    ) -> dict[int, HeadRecord]:
        if place == 0:
            return {n: _claimed(work) for n, work in enumerate(works)}
        heads: dict[int, HeadRecord] = {}
        operations, numbers = [], []
        for number, work in enumerate(works):
            claimed, there = settled[number][0], work.heads[place]
            if there is not None and there.version >= claimed.version:
                if there.version == claimed.version:
                    heads[number] = there
                continue  # a newer one is there: read again
            count = len(prepared[number].chunks)
            span = max(count, there.span if there else 0)
            heads[number] = replace(claimed, complete=False, chunk_count=count, span=span)
            operations.append(self._head_operation(target, heads[number], there))
            numbers.append(number)
        for number, item in zip(numbers, self._bulk.send(operations), strict=True):
            self._judge(works[number], item)
            if item.verdict == "done":
                heads[number] = heads[number].stored_at(item.seq_no, item.term)
            else:
                del heads[number]
        return heads

    def _chunk_operations(
        self, target: Target, head: HeadRecord, prepared: Prepared
    ) -> list[Operation]:
        made = []
        for position in range(head.span):
            if position < len(prepared.chunks):
                one = prepared.chunks[position]
                source = chunk_source(one, self._tenant, head.version, target.spec)
            else:
                source = blank_source(self._tenant, head.document_id, head.version)
            where = {
                "_index": target.alias,
                "_id": chunk_id(self._tenant, head.document_id, position),
                "version": 2 * head.version,
                "version_type": "external",
            }
            made.append(operation("index", where, source))
        return made

    def _unfit_to_settle(self, head: HeadRecord, prepared: Prepared, spec: IndexSpec) -> str:
        """Say why chunks can't be made for content that is claimed; its head stays pending."""
        if head.document is None:
            return ""
        return prepared.error or _unfit(prepared, self._tenant, spec)

    def _judge(self, work: Work, item: Item) -> None:
        if item.verdict == "fenced":
            self._topology.forget()
        if item.verdict == "dead" and work.result is None:
            work.result = WriteResult(work.document_id, "dead", reason=item.reason)

    def _complete(self, works: list[Work], settled: dict[int, list[HeadRecord]]) -> None:
        operations, owners = [], []
        for number, heads in settled.items():
            for target, head in zip(self._targets, heads, strict=True):
                if not head.complete:
                    operations.append(self._completion(target, head))
                    owners.append(number)
        refused = set()
        for number, item in zip(owners, self._bulk.send(operations), strict=True):
            if item.verdict != "done":
                refused.add(number)
                self._judge(works[number], item)
        for number, heads in settled.items():
            if number not in refused and works[number].result is None:
                works[number].result = _acknowledged(works[number], heads[0])

    def _completion(self, target: Target, head: HeadRecord) -> Operation:
        where = {
            "_index": target.alias,
            "_id": head_id(self._tenant, head.document_id),
            "if_seq_no": head.seq_no,
            "if_primary_term": head.term,
        }
        changes = {"state": "complete", "span": head.chunk_count}
        return operation("update", where, {"doc": changes})


def _claimed(work: Work) -> HeadRecord:
    if work.claimed is None:
        raise AssertionError(work)
    return work.claimed


def _acknowledged(work: Work, head: HeadRecord) -> WriteResult:
    before = work.before
    resumed = before is work.claimed
    existed = head.version > 1 if resumed else before is not None and not before.deleted
    status: WriteStatus = "replaced" if existed else "added"
    if work.document is None:
        status = "deleted"
    return WriteResult(work.document_id, status, chunks=head.chunk_count, version=head.version)


def _unfit(prepared: Prepared, tenant: str, spec: IndexSpec) -> str:
    """Say why these chunks could not be stored; empty when they can."""
    if not prepared.chunks:
        return "no text"
    for one in prepared.chunks:
        if spec.space is not None and (wrong := check_vector(one.vector, spec.space)):
            return f"chunk {one.chunk.position} {wrong}"
        try:
            chunk_source(one, tenant, 1, spec)
        except DocumentError as error:
            return str(error)
    return ""
