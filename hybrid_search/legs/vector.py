"""Meaning: the chunks whose vectors lie nearest to the query's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hybrid_search.domain import Ask, Nearest

if TYPE_CHECKING:
    from hybrid_search.domain import Variant, Vector
    from hybrid_search.protocols import Leg


@dataclass(frozen=True, slots=True)
class VectorLeg:
    """Nearest neighbours in the index's vector space."""

    name: str = "vector"
    needs_vector: bool = True
    literal: bool = False

    def ask(self, variant: Variant, vector: Vector | None, candidates: int) -> Ask | None:  # noqa: ARG002
        """Ask for the neighbours of the variant's vector; nothing without one."""
        return None if vector is None else Ask((Nearest(vector),), candidates)


def create() -> Leg:
    """Make the leg.

    >>> create().needs_vector
    True
    """
    return VectorLeg()
