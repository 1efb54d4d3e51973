"""Documents in, searchable chunks out: cut, embedded, written whole, each accounted for."""

from __future__ import annotations

import itertools
import json
import time
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import orjson

from hybrid_search.concurrency import Pool
from hybrid_search.domain import Document, Prepared, PreparedChunk, WriteResult
from hybrid_search.errors import HybridSearchError, InvalidInput
from hybrid_search.text import clean, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from hybrid_search.domain import Chunk, Embedding, IndexSpec
    from hybrid_search.protocols import Chunker, Embedder, Prepare, Store

BATCH_DOCUMENTS = 200
BATCH_CHARACTERS = 400_000
WRITERS = 3
"""Batches under way at a time: one is embedded while another is written."""
MAX_ID = 512


@dataclass(slots=True)
class AddReport:
    """What became of everything that was given. ``dead`` documents were not stored."""

    seen: int = 0
    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    chunks: int = 0
    dead: list[WriteResult] = field(default_factory=list)
    seconds: float = 0.0

    def count(self, result: WriteResult) -> None:
        """Count one result."""
        self.seen += 1
        match result.status:
            case "added":
                self.added += 1
            case "replaced":
                self.replaced += 1
            case "unchanged":
                self.unchanged += 1
            case "dead":
                self.dead.append(result)
        if result.status in ("added", "replaced"):
            self.chunks += result.chunks


class Ingestor:
    """Writes documents into one store. Documents with the same id are written in their order."""

    def __init__(
        self,
        store: Store,
        chunker: Chunker,
        embedder: Embedder | None,
        *,
        tenant: str = "",
        context: bool = True,
        writers: int = WRITERS,
    ) -> None:
        self._store = store
        self._tenant = tenant
        self._writers = writers
        self.prepare = preparation(chunker, embedder, tenant, context=context)

    def add(
        self,
        documents: Iterable[Document],
        on_result: Callable[[WriteResult], None] | None = None,
    ) -> AddReport:
        """Store documents in batches, a few at a time; nothing is kept of what is done.

        Raises what would meet every document (store gone, credentials refused, another model's
        index); what was acknowledged until then stays.
        """
        report, started = AddReport(), time.monotonic()
        with Pool(self._writers, "hybrid-search-add") as pool:
            under_way: dict[Future[list[WriteResult]], set[str]] = {}
            for batch in _batches(documents):
                ids = {document.id for document in batch}
                while len(under_way) >= self._writers or any(
                    ids & others for others in under_way.values()
                ):
                    _collect(under_way, report, on_result)
                under_way[pool.start(lambda batch=batch: self._write(batch))] = ids  # type: ignore[misc]
            while under_way:
                _collect(under_way, report, on_result)
        report.seconds = time.monotonic() - started
        return report

    def _write(self, documents: Sequence[Document]) -> list[WriteResult]:
        results: list[WriteResult | None] = []
        good: list[Document] = []
        for document in documents:
            try:
                good.append(checked_document(document))
                results.append(None)
            except InvalidInput as error:
                results.append(WriteResult(document.id, "dead", reason=str(error)))
        written = iter(self._store.write(self._tenant, good, self.prepare) if good else [])
        return [next(written) if result is None else result for result in results]


def preparation(
    chunker: Chunker, embedder: Embedder | None, tenant: str, *, context: bool = True
) -> Prepare:
    """Make the function that cuts and embeds documents for a store to write."""

    def prepare(documents: Sequence[Document], spec: IndexSpec) -> list[Prepared]:
        cut = [chunker.chunk(document, tenant) for document in documents]
        if spec.space is None or embedder is None:
            return [Prepared(tuple(PreparedChunk(c, None) for c in chunks)) for chunks in cut]
        flat = list(itertools.chain.from_iterable(cut))
        texts = [embedded_text(chunk, context=context) for chunk in flat]
        embedded = iter(embedder.embed_documents(texts) if texts else [])
        return [_joined(chunks, [next(embedded) for _ in chunks]) for chunks in cut]

    return prepare


def embedded_text(chunk: Chunk, *, context: bool) -> str:
    r"""Say what is embedded of a chunk: its text, after title and heading path if asked.

    >>> from hybrid_search.domain import Chunk
    >>> embedded_text(Chunk("1", "d", 0, "Ask early.", title="Handbook"), context=True)
    'Handbook\nAsk early.'
    """
    above = (chunk.title, *chunk.headings) if context else ()
    return "\n".join(part for part in (*above, chunk.text) if part)


def checked_document(document: Document) -> Document:
    """Clean a document's text. Raises ``InvalidInput`` where it can't be stored."""
    id_ = clean(document.id)[0]
    if not 1 <= len(id_.encode("utf-8")) <= MAX_ID:
        raise InvalidInput(f"document id {document.id[:80]!r}: expected 1 to {MAX_ID} bytes")
    try:
        # Plain JSON values only, so that every store gives back what was given.
        plain = json.dumps(
            dict(document.metadata), default=_plain, ensure_ascii=False, allow_nan=False
        )
        metadata = json.loads(whole(plain))
        orjson.dumps(metadata)  # refuses what no engine takes: numbers of more than 64 bits
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"metadata of document {document.id!r} is not JSON: {error}") from error
    return Document(
        id=id_,
        text=clean(document.text)[0],
        title=clean(document.title)[0],
        metadata=metadata,
        source=clean(document.source)[0],
    )


def _plain(value: object) -> object:
    if hasattr(value, "isoformat"):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} {value!r}")


def _joined(chunks: Sequence[Chunk], embedded: list[Embedding | HybridSearchError]) -> Prepared:
    made = []
    for chunk, one in zip(chunks, embedded, strict=True):
        if isinstance(one, HybridSearchError):
            return Prepared(error=f"chunk {chunk.position} was not embedded: {one}")
        truncated = min(one.truncated, len(chunk.text))
        made.append(PreparedChunk(replace(chunk, truncated=truncated), one.vector))
    return Prepared(tuple(made))


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    batch: list[Document] = []
    size = 0
    for document in documents:
        batch.append(document)
        size += len(document.text)
        if len(batch) >= BATCH_DOCUMENTS or size >= BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _collect(
    under_way: dict[Future[list[WriteResult]], set[str]],
    report: AddReport,
    on_result: Callable[[WriteResult], None] | None,
) -> None:
    done, _ = wait(under_way, return_when=FIRST_COMPLETED)
    for future in done:
        del under_way[future]
        for result in future.result():
            report.count(result)
            if on_result is not None:
                on_result(result)
