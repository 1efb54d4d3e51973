"""Which physical indexes a collection has: its aliases, their specs, and how the first is made.

The read alias is the collection's name. The write aliases ``<collection>.w<epoch>-<i>`` name the
i-th live index, oldest first; 0 is the authority on versions. They are the topology *and* the
fence: only one epoch exists at a time, so a writer of an old one is refused with 404.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hybrid_search.backends.opensearch.mapping import field_mapping, index_body, live_fields
from hybrid_search.domain import Snapshot
from hybrid_search.errors import InvalidInput, NotFound, Refused
from hybrid_search.schema import from_meta, refuse_other_reader, refuse_other_writer

if TYPE_CHECKING:
    from hybrid_search.backends.opensearch.connection import Connection
    from hybrid_search.domain import IndexSpec

CACHED_SECONDS = 5.0
"""Stale is safe: an index that is no longer read is still written until it is dropped."""

_WRITE_ALIAS = re.compile(r"\.w(\d+)-(\d+)$")


@dataclass(frozen=True, slots=True)
class Target:
    """One live index: the alias to write through, its physical name and its own spec."""

    alias: str
    index: str
    spec: IndexSpec


class Topology:
    """Resolves one collection, and makes its first index."""

    def __init__(self, connection: Connection, collection: str, wanted: IndexSpec) -> None:
        self._connection = connection
        self._collection = collection
        self._wanted = wanted
        self._read: tuple[float, Snapshot] | None = None
        self._write: tuple[float, tuple[Target, ...]] | None = None

    @property
    def where(self) -> str:
        """The collection, for messages."""
        return f"collection {self._collection!r} at {self._connection.url}"

    def snapshot(self) -> Snapshot | None:
        """Resolve the read alias; None where there is no such collection.

        Raises ``FingerprintMismatch`` where its vectors are of another space than is wanted.
        """
        if self._read and time.monotonic() < self._read[0]:
            return self._read[1]
        try:
            found = self._connection.read("GET", f"/{self._collection}/_mapping")
        except NotFound:
            return None
        index, spec = self._own(found)
        refuse_other_reader(spec, self._wanted, self.where)
        snapshot = Snapshot((index,), spec)
        self._read = (time.monotonic() + CACHED_SECONDS, snapshot)
        return snapshot

    def targets(self) -> tuple[Target, ...]:
        """Name all live indexes, the authority first; none where there is no collection."""
        if self._write and time.monotonic() < self._write[0]:
            return self._write[1]
        targets = tuple(self._target(alias, index) for alias, index in self._write_aliases())
        self._write = (time.monotonic() + CACHED_SECONDS, targets) if targets else None
        return targets

    def writable(self) -> IndexSpec:
        """Return the spec that writes have to fit: the authority's, or the one that is wanted.

        Declares further metadata fields. Raises ``FingerprintMismatch`` where the settings would
        write something else into what is there.
        """
        targets = self.targets()
        if not targets:
            return self._wanted
        refuse_other_writer(targets[0].spec, self._wanted, self.where)
        declared = tuple(self._declare_fields(target) for target in targets)
        self._write = (time.monotonic() + CACHED_SECONDS, declared)
        return declared[0].spec

    def make(self) -> None:
        """Make the first index where there is none."""
        if not self.targets():
            self._create()
            self.forget()

    def forget(self) -> None:
        """Resolve again at the next use."""
        self._read = self._write = None

    def physical(self) -> list[str]:
        """List every physical index of the collection, also those that nothing reads."""
        try:
            found = self._connection.read("GET", f"/{self._collection}.*/_alias")
        except NotFound:
            return []
        return sorted(found)

    def _write_aliases(self) -> list[tuple[str, str]]:
        try:
            found = self._connection.read("GET", f"/_alias/{self._collection}.w*")
        except NotFound:
            return []
        numbered = [
            (int(place[1]), int(place[2]), alias, index)
            for index, body in found.items()
            for alias in body.get("aliases", {})
            if (place := _WRITE_ALIAS.search(alias))
        ]
        newest = max((epoch for epoch, *_ in numbered), default=0)
        return [(alias, index) for epoch, _, alias, index in sorted(numbered) if epoch == newest]

    def _target(self, alias: str, index: str) -> Target:
        found = self._connection.read("GET", f"/{index}/_mapping")
        return Target(alias, index, self._own(found)[1])

    def _own(self, found: dict[str, Any]) -> tuple[str, IndexSpec]:
        if len(found) != 1:
            raise Refused(f"{self.where} is an alias of {len(found)} indexes: expected one")
        index, body = next(iter(found.items()))
        meta = body.get("mappings", {}).get("_meta", {}).get("hybrid_search")
        if not meta:
            raise Refused(
                f"index {index!r} was not made by hybrid_search: to search it read-only set "
                "HYBRID_SEARCH_TEXT_FIELDS (and HYBRID_SEARCH_VECTOR_FIELD) to its fields, or "
                "choose another HYBRID_SEARCH_COLLECTION"
            )
        return index, replace(from_meta(meta), fields=live_fields(body["mappings"]))

    def _create(self, *, derived_source: bool = True) -> None:
        index = f"{self._collection}.1"
        names: dict[str, dict[str, Any]] = {self._collection: {}, f"{self._collection}.w1-0": {}}
        body = index_body(self._wanted, derived_source=derived_source) | {"aliases": names}
        try:
            self._connection.request("PUT", f"/{index}", body)
        except InvalidInput as error:
            if "derived_source" in str(error) and derived_source:
                self._create(derived_source=False)  # older versions do not know the setting
                return
            if "resource_already_exists" in str(error):
                return  # another writer was first
            if "invalid_alias_name" in str(error) or "same name as the alias" in str(error):
                raise Refused(
                    f"{self._collection!r} is an index, not a collection of ours: choose another "
                    "HYBRID_SEARCH_COLLECTION"
                ) from error
            raise

    def _declare_fields(self, target: Target) -> Target:
        new = {k: v for k, v in self._wanted.fields.items() if k not in target.spec.fields}
        if not new:
            return target
        update = {"properties": {"fields": {"properties": field_mapping(new)}}}
        self._connection.request("PUT", f"/{target.index}/_mapping", update)
        return replace(target, spec=replace(target.spec, fields={**target.spec.fields, **new}))
