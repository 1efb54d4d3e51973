"""Amazon Titan text embeddings on Bedrock: one text a call, retried here and nowhere else."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from hybrid_search import retries
from hybrid_search.concurrency import Pool, outcome
from hybrid_search.embedders._bedrock import Runtime, Target
from hybrid_search.embedders._bedrock_errors import FATAL, LIMITS
from hybrid_search.embedders._texts import is_blank, late, query_text
from hybrid_search.embedders._titan_model import TitanModel, resolve
from hybrid_search.embedders._titan_text import fit
from hybrid_search.errors import (
    DeadlineExceeded,
    DocumentError,
    HybridSearchError,
    InvalidInput,
    Unavailable,
)
from hybrid_search.text import whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hybrid_search.domain import Deadline, Embedding, VectorSpace
    from hybrid_search.embedders._bedrock import Purpose

_POLICIES: dict[Purpose, retries.Policy] = {
    "query": replace(retries.QUERY, limits=LIMITS),
    "document": replace(retries.INGEST, limits=LIMITS),
}


def create(
    model: str = "amazon.titan-embed-text-v2:0",
    dimensions: int | None = None,
    region: str | None = None,
    profile: str | None = None,
    endpoint_url: str | None = None,
    concurrency: int = 8,
    query_timeout: float = 5.0,
    document_timeout: float = 30.0,
    base_model: str = "",
    *,
    normalize: bool = True,
) -> TitanEmbedder:
    """Make the embedder. Nothing is sent, and no credentials are read, before its first use.

    Args:
        model: A Titan text model's id, its ARN, or an inference profile.
        dimensions: 1024 (default), 512 or 256 for version 2; 1536 for version 1.
        region: The AWS region; the AWS configuration's if not given.
        profile: The AWS profile; the AWS configuration's if not given.
        endpoint_url: Another endpoint, e.g. a VPC endpoint or ``testing.FakeBedrock``.
        concurrency: Calls under way at once, for documents and for queries each.
        query_timeout: Seconds one call for a query may take.
        document_timeout: Seconds one call for a document may take.
        base_model: For an ARN that does not name its model, e.g. ``titan-embed-text-v2``.
        normalize: Whether vectors have length one.

    Raises:
        InvalidInput: The model is unknown, or has no such dimensions.

    >>> create(dimensions=512).space
    VectorSpace(model='titan-embed-text-v2', dimensions=512, normalized=True)
    """
    if concurrency < 1:
        raise InvalidInput(f"concurrency is {concurrency}: expected 1 or more")
    target = Target(
        region or None,
        profile or None,
        endpoint_url or None,
        query_timeout,
        document_timeout,
        concurrency,
    )
    chosen = resolve(model, dimensions, normalize=normalize, base_model=base_model)
    return TitanEmbedder(chosen, target)


@dataclass(slots=True)
class _Run:
    """What the texts of one call share: once it is stopped, nothing more is sent for it."""

    purpose: Purpose
    deadline: Deadline | None
    stop: threading.Event = field(default_factory=threading.Event)
    fatal: HybridSearchError | None = None


@dataclass(slots=True)
class _Task:
    """One text on its way through the model."""

    run: _Run
    text: str
    send: Callable[[_Task, str], Embedding]
    last: HybridSearchError | None = None

    def __call__(self) -> Embedding:
        try:
            return fit(self.text, partial(self.send, self))
        except FATAL as error:
            self.run.fatal = error
            self.run.stop.set()
            raise

    def value(self, found: Embedding | HybridSearchError) -> Embedding | HybridSearchError:
        """Name what used up the time, where it is known."""
        overdue = isinstance(found, DeadlineExceeded)
        return self.last if overdue and self.last is not None else found


class TitanEmbedder:
    """Embeds through ``InvokeModel``. Safe to share between threads, not across ``fork``.

    ``DocumentError`` is a blank text or one the model refuses; text over a limit is cut at its
    end, and the embedding says by how much. Throttling, errors of the model and broken
    connections are tried again until the deadline; missing credentials, a missing model, no
    connection and a used-up quota stop the call.
    """

    def __init__(self, model: TitanModel, target: Target) -> None:
        self._model = model
        self._runtime = Runtime(target)
        self._pools: dict[Purpose, Pool] = {
            "query": Pool(target.concurrency, "titan-query"),
            "document": Pool(target.concurrency, "titan-document"),
        }
        self._tally = retries.Tally()

    @property
    def space(self) -> VectorSpace:
        """The base model's space."""
        return self._model.space

    @property
    def retried(self) -> dict[str, int]:
        """How often a call was tried again so far, by reason."""
        return self._tally.counts

    def embed_documents(
        self, texts: Sequence[str], deadline: Deadline | None = None
    ) -> list[Embedding | HybridSearchError]:
        """Embed texts: one value a text, in order; a failure is a value.

        Raises what would meet every text: ``AccessDenied``, ``InvalidInput`` (region, profile),
        and an ``Unavailable`` for a missing model, a used-up quota or no connection.
        """
        values: list[Embedding | HybridSearchError] = [DocumentError("empty text") for _ in texts]
        run = _Run("document", deadline)
        places = [place for place, text in enumerate(texts) if not is_blank(text)]
        tasks = [_Task(run, whole(texts[place]), self._send) for place in places]
        try:
            found = self._pools["document"].all(tasks, deadline)
        finally:
            run.stop.set()
        if run.fatal is not None:
            raise run.fatal
        for place, task, value in zip(places, tasks, found, strict=True):
            values[place] = task.value(value)
        return values

    def embed_query(self, text: str, deadline: Deadline | None = None) -> Embedding:
        """Embed one text. Raises a ``HybridSearchError``; ``InvalidInput`` for a blank text."""
        run = _Run("query", deadline)
        task = _Task(run, query_text(text), self._send)
        try:
            found = task.value(outcome(self._pools["query"].start(task), deadline))
        finally:
            run.stop.set()
        if isinstance(found, HybridSearchError):
            raise found
        return found

    def close(self) -> None:
        """Take no more work and close the connections."""
        for pool in self._pools.values():
            pool.close()
        self._runtime.close()

    def _send(self, task: _Task, text: str) -> Embedding:
        run = task.run
        return retries.call(
            partial(self._attempt, task, text),
            _POLICIES[run.purpose],
            run.deadline,
            self._tally,
            run.stop,
        )

    def _attempt(self, task: _Task, text: str) -> Embedding:
        """Make one request: the only place where one leaves, so a limiter's place too."""
        run = task.run
        if run.stop.is_set() or (run.deadline is not None and run.deadline.remaining() <= 0):
            raise run.fatal or late()
        try:
            answer = self._runtime.invoke(run.purpose, self._model.id, self._model.body(text))
            return self._model.embedding(answer)
        except Unavailable as error:
            task.last = error
            raise
