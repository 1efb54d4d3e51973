"""Any function from a text to a vector, as an embedder."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from hybrid_search.domain import Embedding, VectorSpace
from hybrid_search.embedders._texts import in_batches, query_text
from hybrid_search.errors import (
    AccessDenied,
    DocumentError,
    HybridSearchError,
    InvalidInput,
    ModelUnavailable,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hybrid_search.domain import Deadline, Vector

    TextToVector: TypeAlias = Callable[[str], Any]
    """Takes a text, returns numbers: a list, a tuple or an array of one dimension."""

_PROBE = "dimensions"


def create(
    function: TextToVector,
    dimensions: int | None = None,
    name: str = "function",
    *,
    normalized: bool = False,
) -> FunctionEmbedder:
    """Make an embedder of a function.

    Args:
        function: Called with one text at a time, for documents and queries alike.
        dimensions: The length of its vectors; found with one probe text at first use if not given.
        name: The model's name in the index's fingerprint: change it when the vectors change.
        normalized: Whether all its vectors have length one.

    >>> create(lambda text: [len(text), 1.0]).embed_query("four").vector.tolist()
    [4.0, 1.0]
    """
    if dimensions is not None and dimensions < 1:
        raise InvalidInput(f"dimensions is {dimensions}: expected 1 or more")
    return FunctionEmbedder(function, dimensions, name, normalized=normalized)


class FunctionEmbedder:
    """Calls the function once a text, in the caller's thread."""

    def __init__(
        self, function: TextToVector, dimensions: int | None, name: str, *, normalized: bool
    ) -> None:
        self._function = function
        self._dimensions = dimensions
        self._name = name
        self._normalized = normalized

    @cached_property
    def space(self) -> VectorSpace:
        """The function's space. Calls it once if its dimensions were not given."""
        dimensions = self._dimensions or len(self._call(_PROBE))
        return VectorSpace(self._name, dimensions, self._normalized)

    def embed_documents(
        self, texts: Sequence[str], deadline: Deadline | None = None
    ) -> list[Embedding | HybridSearchError]:
        """Embed texts: one value a text, in order.

        An exception of the function is a ``ModelUnavailable`` in its text's place.
        """
        space = self.space
        return in_batches(texts, lambda batch: [self._value(t, space) for t in batch], 1, deadline)

    def embed_query(self, text: str, deadline: Deadline | None = None) -> Embedding:  # noqa: ARG002
        """Embed one text. Raises ``InvalidInput`` for a blank one."""
        return self._embed(query_text(text), self.space)

    def close(self) -> None:
        """Nothing to release: the function is the caller's."""

    def _value(self, text: str, space: VectorSpace) -> Embedding | HybridSearchError:
        try:
            return self._embed(text, space)
        except (AccessDenied, InvalidInput):
            raise  # would meet every text
        except HybridSearchError as error:
            return error

    def _embed(self, text: str, space: VectorSpace) -> Embedding:
        vector = self._call(text)
        if len(vector) != space.dimensions:
            raise InvalidInput(
                f"embedding function {self._name!r} gave {len(vector)} dimensions for one text, "
                f"expected {space.dimensions}"
            )
        length = float(np.linalg.norm(vector))
        if not math.isfinite(length) or length == 0:
            what = f"gave a vector of length {length}"
            raise DocumentError(f"embedding function {self._name!r} {what}")
        return Embedding(vector)

    def _call(self, text: str) -> Vector:
        try:
            vector = np.array(self._function(text), dtype=np.float32)
        except HybridSearchError:
            raise
        except Exception as error:  # the function is foreign: it may raise anything
            what = f"{type(error).__name__}: {error}"
            raise ModelUnavailable(f"embedding function {self._name!r} failed: {what}") from error
        if vector.ndim != 1:
            raise InvalidInput(
                f"embedding function {self._name!r} gave an array of shape {vector.shape}: "
                "expected one dimension, one number a component"
            )
        return vector
