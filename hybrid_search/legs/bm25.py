"""Words: the query's terms, analysed for the collection's language and scored by BM25."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hybrid_search.domain import Ask, Match

if TYPE_CHECKING:
    from hybrid_search.domain import Variant, Vector
    from hybrid_search.protocols import Leg


@dataclass(frozen=True, slots=True)
class BM25Leg:
    """Any of the words, the rarer and denser the better (k1 = 1.2, b = 0.75 in both backends).

    Raw scores of OpenSearch 2.x are k1 + 1 times those of 3.x and of the embedded store: Lucene
    dropped a constant factor, which changes no order.
    """

    name: str = "bm25"
    needs_vector: bool = False
    literal: bool = False

    def ask(self, variant: Variant, vector: Vector | None, candidates: int) -> Ask:  # noqa: ARG002
        """Ask for the variant's words in the content."""
        return Ask((Match("content", variant.text),), candidates)


def create() -> Leg:
    """Make the leg.

    >>> from hybrid_search.domain import Variant
    >>> create().ask(Variant("lost parcel"), None, 5).alternatives
    (Match(field='content', text='lost parcel', every=False, phrase=False),)
    """
    return BM25Leg()
