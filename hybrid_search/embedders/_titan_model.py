"""Which Titan text model, what it takes and what it answers.

Source: Amazon Bedrock user guide, page model-parameters-titan-embed-text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid_search.domain import Embedding, VectorSpace
from hybrid_search.errors import InvalidInput, ModelUnavailable, choices

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_CHARACTERS = 50_000
"""Titan's limit on ``inputText``, beside the one of 8,192 tokens."""

CHARACTERS_PER_TOKEN = 4.7
"""The average for English that the user guide gives."""

DIMENSIONS: dict[str, tuple[int, ...]] = {
    "titan-embed-text-v1": (1536,),
    "titan-embed-text-v2": (1024, 512, 256),
}
"""The vector lengths of each base model; the first is the default."""

_FIRST_WIDE = "\u2e80"
_BASE = re.compile(r"(?:^|[./])amazon\.(titan-embed-text-v\d+)(?::[\w:]+)?$")


@dataclass(frozen=True, slots=True)
class TitanModel:
    """One model with its choices made: builds requests and reads answers."""

    id: str
    space: VectorSpace

    def body(self, text: str) -> dict[str, Any]:
        """Build the request's body. Version 1 takes the text and nothing else."""
        if len(DIMENSIONS[self.space.model]) == 1:
            return {"inputText": text}
        return {
            "inputText": text,
            "dimensions": self.space.dimensions,
            "normalize": self.space.normalized,
        }

    def embedding(self, answer: Mapping[str, Any]) -> Embedding:
        """Read one answer. Raises ``ModelUnavailable`` where it holds no usable vector."""
        numbers = (answer.get("embeddingsByType") or {}).get("float") or answer.get("embedding")
        try:
            vector = np.array(numbers, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise ModelUnavailable(f"{self.id} answered with a vector that is none") from error
        if vector.shape != (self.space.dimensions,):
            raise ModelUnavailable(
                f"{self.id} answered with a vector of shape {vector.shape}, "
                f"expected {self.space.dimensions} numbers"
            )
        length = float(np.linalg.norm(vector))
        if not np.isfinite(length) or length == 0:
            raise ModelUnavailable(f"{self.id} answered with a vector of length {length}")
        if self.space.normalized:
            vector /= np.float32(length)  # version 1 can't be asked to
        return Embedding(vector, tokens=int(answer.get("inputTextTokenCount") or 0))


def token_share(character: str) -> float:
    r"""Estimate the tokens of one character: one for CJK, else a share of a word's.

    >>> token_share("\u6f22"), round(token_share("a"), 2)
    (1.0, 0.21)
    """
    return 1.0 if character >= _FIRST_WIDE else 1 / CHARACTERS_PER_TOKEN


def resolve(
    model: str, dimensions: int | None, *, normalize: bool, base_model: str = ""
) -> TitanModel:
    """Find the base model of an id, ARN or inference profile, and check the dimensions.

    The base model is what stands between ``amazon.`` and the version's suffix, after the last
    ``/``: a region prefix (``us.``) or an ARN around it makes no other vectors. An ARN that does
    not hold it (application inference profile, provisioned model) needs ``base_model``.
    Raises ``InvalidInput``.

    >>> resolve("us.amazon.titan-embed-text-v2:0", 512, normalize=True).space
    VectorSpace(model='titan-embed-text-v2', dimensions=512, normalized=True)
    """
    base = base_model or _base(model)
    if base not in DIMENSIONS:
        raise choices("Titan text model", base, DIMENSIONS)
    allowed = DIMENSIONS[base]
    wanted = allowed[0] if dimensions is None else dimensions
    if wanted not in allowed:
        listed = ", ".join(map(str, allowed))
        raise InvalidInput(f"dimensions is {wanted}: {base} (model {model!r}) has {listed}")
    return TitanModel(model, VectorSpace(base, wanted, normalize))


def _base(model: str) -> str:
    found = _BASE.search(model)
    if found:
        return found.group(1)
    if model.startswith("arn:"):
        expected = " or ".join(DIMENSIONS)
        raise InvalidInput(
            f"model {model!r} does not say which model it stands for: set base_model to {expected}"
        )
    return model
