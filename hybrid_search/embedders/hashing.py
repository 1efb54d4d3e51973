"""Vectors from hashed words and letter triples: no model, for tests and trials.

Texts that share words, or parts of words, lie near each other; meaning plays no part. The method
is feature hashing (Weinberger et al. 2009, "Feature Hashing for Large Scale Multitask Learning"):
each feature adds to one of ``dimensions`` buckets, with a sign that is hashed too.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from hybrid_search.domain import Embedding, VectorSpace
from hybrid_search.embedders._texts import in_batches, query_text
from hybrid_search.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hybrid_search.domain import Deadline, Vector
    from hybrid_search.errors import HybridSearchError

_UNSPACED = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
_LONG_WORD = 8
"""From this length on a word counts in full; shorter words are commoner and tell less."""


def create(dimensions: int = 256) -> HashingEmbedder:
    """Make the embedder. Raises ``InvalidInput`` for fewer than 8 dimensions.

    >>> create(dimensions=64).embed_query("blue whale").vector.shape
    (64,)
    """
    if dimensions < 8:
        raise InvalidInput(f"dimensions is {dimensions}: expected 8 or more")
    return HashingEmbedder(dimensions)


def vectorise(text: str, dimensions: int) -> Vector:
    """Hash one text to a unit vector of shape ``(dimensions,)``, float32; never zero.

    >>> cat, cats, dog = (vectorise(t, 256) for t in ("the cat", "two cats", "a dog"))
    >>> bool(cat @ cats > cat @ dog)
    True
    """
    counts = Counter(_WORD.findall(_folded(text)))
    vector = np.zeros(dimensions)
    for word, count in counts.items():
        buckets, weights = _features(word, dimensions)
        np.add.at(vector, buckets, weights * (1 + np.log(count)))
    if not vector.any():  # no word in it, or all features cancelled out
        vector[_hash(text) % dimensions] = 1
    unit: Vector = (vector / np.linalg.norm(vector)).astype(np.float32)
    return unit


class HashingEmbedder:
    """Deterministic vectors of length one, the same in every process and on every machine."""

    def __init__(self, dimensions: int) -> None:
        self._space = VectorSpace("hashing", dimensions)

    @property
    def space(self) -> VectorSpace:
        """The space ``hashing`` at the dimensions asked for."""
        return self._space

    def embed_documents(
        self, texts: Sequence[str], deadline: Deadline | None = None
    ) -> list[Embedding | HybridSearchError]:
        """Hash texts: one value a text, in order; ``DocumentError`` for a blank one."""
        return in_batches(texts, self._batch, 64, deadline)

    def embed_query(self, text: str, deadline: Deadline | None = None) -> Embedding:  # noqa: ARG002
        """Hash one text. Raises ``InvalidInput`` for a blank one."""
        return self._batch([query_text(text)])[0]

    def close(self) -> None:
        """Nothing to release."""

    def _batch(self, texts: list[str]) -> list[Embedding]:
        size = self._space.dimensions
        return [Embedding(vectorise(text, size), tokens=len(text.split())) for text in texts]


def _folded(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in decomposed if not unicodedata.combining(c))


@lru_cache(maxsize=65_536)
def _features(word: str, dimensions: int) -> tuple[np.ndarray, np.ndarray]:
    hashes = np.array([_hash(f) for f in _parts(word)], dtype=np.uint64)
    buckets = (hashes % np.uint64(dimensions)).astype(np.intp)
    signs = np.where(hashes >> np.uint64(63), 1.0, -1.0)
    weights = signs * (min(len(word), _LONG_WORD) / _LONG_WORD)
    weights[1:] /= np.sqrt(max(len(weights) - 1, 1))  # the triples together count like the word
    return buckets, weights


def _parts(word: str) -> Iterator[str]:
    yield word
    marked = f"<{word}>"
    for start in range(len(marked) - 2):
        yield marked[start : start + 3]


def _hash(feature: str) -> int:
    raw = feature.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(raw, digest_size=8).digest(), "big")
