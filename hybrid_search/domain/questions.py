"""Questions to an engine, in no engine's words, and its answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from hybrid_search.domain.documents import Vector
    from hybrid_search.domain.filtering import Filter


@dataclass(frozen=True, slots=True)
class Match:
    """Literal words against one logical text field, scored by BM25.

    ``field`` is "content" (analysed for the language), "codes" (codes kept whole) or "parts"
    (codes split). ``every`` asks for all words, ``phrase`` for all in order and adjacent.
    """

    field: Literal["content", "codes", "parts"]
    text: str
    every: bool = False
    phrase: bool = False


@dataclass(frozen=True, slots=True)
class Nearest:
    """The chunks whose vectors lie nearest to this one."""

    vector: Vector


@dataclass(frozen=True, slots=True)
class Constant:
    """What ``query`` finds, all with the same score."""

    query: EngineQuery
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Scored:
    """What ``required`` finds (all of it, or any of it), its score plus that of ``optional``.

    ``optional`` changes the order only, never which chunks are found.
    """

    required: tuple[EngineQuery, ...]
    optional: tuple[EngineQuery, ...] = ()
    every: bool = True


EngineQuery: TypeAlias = Match | Nearest | Constant | Scored


@dataclass(frozen=True, slots=True)
class Ask:
    """What one leg asks for one variant.

    ``alternatives`` are tried in order and the first that finds anything is taken. With
    ``limit``, an alternative that finds more than so many counts as not telling anything: the
    answer is empty. ``only`` restricts to these chunk ids (used by explain).
    """

    alternatives: tuple[EngineQuery, ...]
    size: int
    limit: int | None = None
    only: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Restriction:
    """What every leg of a search is held to: the caller's tenants and the user's filter.

    ``tenants`` is None where the caller may see everything, and empty where it may see nothing.
    """

    tenants: tuple[str, ...] | None = None
    filter: Filter | None = None


@dataclass(frozen=True, slots=True)
class RankedHit:
    """One chunk in one ranking. ``index`` is the physical index that gave it."""

    chunk_id: str
    score: float
    index: str = ""
    document_id: str = ""
    """Filled where the ask wanted it, or where it costs nothing."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What an engine said to one ask, best first."""

    hits: tuple[RankedHit, ...]
    took_ms: float = 0.0
    notes: tuple[str, ...] = ()
    failed_shards: int = 0
    total_shards: int = 1
    timed_out: bool = False
