"""Settling: what is claimed is rolled forward into every live index, then acknowledged.

Anybody may settle anything at any time, so this is also what a rerun after a kill does.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from hybrid_search.backends.opensearch.bulk import operation
from hybrid_search.backends.opensearch.records import HeadRecord, blank_source, chunk_source
from hybrid_search.domain import Prepared, WriteResult
from hybrid_search.errors import DocumentError
from hybrid_search.schema import check_vector, chunk_id, head_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from hybrid_search.backends.opensearch.bulk import Bulk, Item, Operation
    from hybrid_search.backends.opensearch.topology import Target
    from hybrid_search.domain import Document, IndexSpec, WriteStatus
    from hybrid_search.protocols import Prepare


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


class Settler:
    """Settles works over one reading of the topology. What is refused keeps its head pending."""

    def __init__(
        self,
        bulk: Bulk,
        targets: tuple[Target, ...],
        tenant: str,
        prepare: Prepare,
        forget: Callable[[], None],
    ) -> None:
        self._bulk = bulk
        self._targets = targets
        self._tenant = tenant
        self._prepare = prepare
        self._forget = forget

    def settle(self, works: list[Work]) -> None:
        """Bring each claimed head, with its chunks, into every live index, then complete it."""
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
            operations.append(head_operation(target, heads[number], there))
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
        return prepared.error or unfit(prepared, self._tenant, spec)

    def _judge(self, work: Work, item: Item) -> None:
        if item.verdict == "fenced":
            self._forget()
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


def head_operation(target: Target, head: HeadRecord, old: HeadRecord | None) -> Operation:
    """Write a head where none is, or over the one that was read there and no other."""
    where: dict[str, Any] = {"_index": target.alias, "_id": head_id(head.tenant, head.document_id)}
    if old is None:
        return operation("create", where, head.source())
    where |= {"if_seq_no": old.seq_no, "if_primary_term": old.term}
    return operation("index", where, head.source())


def unfit(prepared: Prepared, tenant: str, spec: IndexSpec) -> str:
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
