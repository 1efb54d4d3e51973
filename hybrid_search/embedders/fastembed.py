"""Any text model of the fastembed library on this machine's CPU (extra ``fastembed``).

The library fetches a model's weights at first use, so that needs a network, or a folder that has
them already. This project has only run this module without weights: its errors are tested, its
vectors are not. The library cuts what is longer than the model's limit and does not say so:
``truncated`` is always 0 here, so keep chunks shorter than the model's limit.
"""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid_search.domain import Embedding, VectorSpace
from hybrid_search.embedders._lazy import Once
from hybrid_search.embedders._texts import in_batches, query_text
from hybrid_search.errors import InvalidInput, ModelUnavailable, choices

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from hybrid_search.domain import Deadline
    from hybrid_search.errors import HybridSearchError


def create(
    model: str = "BAAI/bge-small-en-v1.5",
    cache: Path | str | None = None,
    threads: int = 1,
    batch_size: int = 8,
    *,
    offline: bool = False,
) -> FastembedEmbedder:
    """Make the embedder; the model is fetched and loaded at first use.

    Args:
        model: A text model's name in the library.
        cache: Folder for the weights; the library's own choice if not given.
        threads: Threads for one batch.
        batch_size: Texts run together.
        offline: Never fetch anything: the weights are in ``cache``.

    Raises:
        InvalidInput: The library does not know the model, or is not installed.
    """
    if missing():
        raise InvalidInput(f"embedder 'fastembed' needs a package that is missing: {missing()}")
    from fastembed import TextEmbedding

    known = {found["model"]: found["dim"] for found in TextEmbedding.list_supported_models()}
    if model not in known:
        raise choices("fastembed model", model, known)
    load = partial(_load, model, cache, threads, offline=offline)
    return FastembedEmbedder(VectorSpace(model, known[model]), Once(load), batch_size)


def missing() -> str:
    """Say which extra is missing here, or nothing."""
    return "" if find_spec("fastembed") else "install hybrid_search[fastembed]"


class FastembedEmbedder:
    """Runs a model in this process; vectors have length one whatever the model gives."""

    def __init__(self, space: VectorSpace, model: Once[Any], batch_size: int) -> None:
        self._space = space
        self._model = model
        self._batch_size = batch_size

    @property
    def space(self) -> VectorSpace:
        """The model's name and dimensions, as the library lists them."""
        return self._space

    def embed_documents(
        self, texts: Sequence[str], deadline: Deadline | None = None
    ) -> list[Embedding | HybridSearchError]:
        """Embed texts: one value a text, in order; ``DocumentError`` for a blank one.

        Raises ``ModelUnavailable`` when there are no weights to load.
        """
        passages = self._model().passage_embed
        return in_batches(texts, lambda b: _units(passages(b)), self._batch_size, deadline)

    def embed_query(self, text: str, deadline: Deadline | None = None) -> Embedding:  # noqa: ARG002
        """Embed one text. Raises ``InvalidInput`` for a blank one, else as ``embed_documents``."""
        ready = query_text(text)
        return _units(self._model().query_embed(ready))[0]

    def close(self) -> None:
        """Nothing to release before the object itself goes."""


def _units(vectors: Iterable[Any]) -> list[Embedding]:
    rows = [np.asarray(vector, dtype=np.float32) for vector in vectors]
    return [Embedding(row / np.linalg.norm(row)) for row in rows]


def _load(model: str, cache: Path | str | None, threads: int, *, offline: bool) -> Any:
    from fastembed import TextEmbedding

    folder = None if cache is None else str(cache)
    try:
        return TextEmbedding(model, cache_dir=folder, threads=threads, local_files_only=offline)
    except Exception as error:  # the library and its download raise errors of many kinds
        raise ModelUnavailable(
            f"fastembed can't load {model!r} ({error}): its weights need a network at first use, "
            "or a cache folder that has them"
        ) from error
