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

from typing import TYPE_CHECKING

from hybrid_search import retries
from hybrid_search.backends.opensearch.bulk import Bulk
from hybrid_search.backends.opensearch.records import HeadRecord, head_record
from hybrid_search.backends.opensearch.settling import DELETED, Settler, Work, head_operation, unfit
from hybrid_search.domain import Prepared, WriteResult
from hybrid_search.errors import StoreUnavailable
from hybrid_search.schema import head_id, stored_hash

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybrid_search.backends.opensearch.connection import Connection
    from hybrid_search.backends.opensearch.topology import Topology
    from hybrid_search.domain import Document, IndexSpec, WriteStatus
    from hybrid_search.protocols import Prepare

MAX_ROUNDS = 30


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
        fields = self._topology.writable().fields
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
        if not self._targets:
            self._begin(works)
            return
        if not self._read_heads(works):
            self._topology.forget()
            return
        new = [work for work in works if not self._known(work)]
        self._embed(new, self._targets[0].spec)
        self._claim([work for work in new if work.result is None])
        settler = Settler(
            self._bulk, self._targets, self._tenant, self._prepare, self._topology.forget
        )
        settler.settle([w for w in works if w.result is None and w.claimed is not None])

    def _begin(self, works: list[Work]) -> None:
        """Embed before the first index is made: where that fails, nothing is left behind."""
        for work in works:
            if work.document is None:
                work.result = WriteResult(work.document_id, "absent")
        self._embed([w for w in works if w.result is None], self._topology.writable())
        if any(work.result is None for work in works):
            self._topology.make()

    # --- 1. heads -------------------------------------------------------------------------

    def _read_heads(self, works: list[Work]) -> bool:
        docs = [
            {"_index": target.alias, "_id": head_id(self._tenant, work.document_id)}
            for work in works
            for target in self._targets
        ]
        # The shards of an index that was made just now take a moment to answer.
        found = iter(retries.call(lambda: self._connection.multi_get(docs), retries.INGEST))
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
            reason = prepared.error or unfit(prepared, self._tenant, spec)
            if reason:
                work.result = WriteResult(work.document_id, "dead", reason=reason)
            work.prepared = prepared

    def _claim(self, works: list[Work]) -> None:
        if not works:
            return
        heads = [self._new_head(work) for work in works]
        operations = [
            head_operation(self._targets[0], head, work.authority)
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
