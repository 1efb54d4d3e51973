"""The bulk loop: sliced by bytes and count, every item classified, retries our own.

The answer must have as many items as were sent: a client that stops at the shorter list counts
what is missing as done.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from hybrid_search import retries
from hybrid_search.backends.opensearch.connection import dump
from hybrid_search.backends.opensearch.failures import ConflictError, failure_of
from hybrid_search.errors import (
    DocumentError,
    HybridSearchError,
    InvalidInput,
    NotFound,
    StoreUnavailable,
    Throttled,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hybrid_search.backends.opensearch.connection import Connection

MAX_BYTES = 5_000_000
MAX_ITEMS = 2_000
Verdict = Literal["done", "conflict", "dead", "fenced"]


@dataclass(frozen=True, slots=True)
class Operation:
    """One item of a bulk request: its action line and its source, already serialised."""

    action: bytes
    source: bytes

    @property
    def size(self) -> int:
        """Bytes on the wire."""
        return len(self.action) + len(self.source) + 2


@dataclass(frozen=True, slots=True)
class Item:
    """What became of one operation. ``seq_no`` and ``term`` are of the record as it now stands."""

    verdict: Verdict
    reason: str = ""
    seq_no: int = -1
    term: int = -1


def operation(kind: str, target: dict[str, Any], source: dict[str, Any]) -> Operation:
    """Serialise one operation of kind index, create or update."""
    return Operation(dump({kind: target}), dump(source))


class Bulk:
    """Sends operations until each has a verdict. Raises what would meet every item."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def send(self, operations: Sequence[Operation]) -> list[Item]:
        """Send all operations: one item each, in order. A request too large is halved.

        Raises ``StoreFull``, ``AccessDenied`` and, when retrying did not help,
        ``StoreUnavailable`` or ``Throttled``.
        """
        items: dict[int, Item] = {}
        for numbers in _slices(operations):
            self._send_slice(operations, numbers, items)
        return [items[number] for number in range(len(operations))]

    def _send_slice(
        self, operations: Sequence[Operation], numbers: list[int], items: dict[int, Item]
    ) -> None:
        left = numbers

        def once() -> None:
            nonlocal left
            left, waiting = self._once(operations, left, items)
            if waiting is not None:
                raise waiting

        try:
            retries.call(once, retries.INGEST)
        except DocumentError as error:  # about the whole request: too large for the node
            if len(left) == 1:
                items[left[0]] = Item("dead", str(error))
                return
            for half in (left[: len(left) // 2], left[len(left) // 2 :]):
                self._send_slice(operations, half, items)

    def _once(
        self, operations: Sequence[Operation], numbers: list[int], items: dict[int, Item]
    ) -> tuple[list[int], HybridSearchError | None]:
        lines = [line for n in numbers for line in (operations[n].action, operations[n].source)]
        params = {"require_alias": "true"}
        answer = self._connection.request("POST", "/_bulk", lines=lines, params=params)
        found = answer.get("items", [])
        if len(found) != len(numbers):
            raise StoreUnavailable(
                f"a bulk request of {len(numbers)} items was answered with {len(found)}"
            )
        again: list[int] = []
        waiting: HybridSearchError | None = None
        for number, item in zip(numbers, found, strict=True):
            verdict = self._verdict(next(iter(item.values())))
            if isinstance(verdict, Item):
                items[number] = verdict
            else:
                again.append(number)
                waiting = verdict
        return again, waiting

    def _verdict(self, item: dict[str, Any]) -> Item | HybridSearchError:
        if "error" not in item:
            return Item("done", seq_no=item["_seq_no"], term=item["_primary_term"])
        where = f"OpenSearch at {self._connection.url}"
        failure = failure_of(item["status"], item, where)
        match failure:
            case ConflictError():
                return Item("conflict", str(failure))
            case NotFound():
                return Item("fenced", str(failure))
            case DocumentError() | InvalidInput():
                return Item("dead", str(failure))
            case Throttled() | StoreUnavailable():
                return failure
        raise failure


def _slices(operations: Sequence[Operation]) -> Iterator[list[int]]:
    numbers: list[int] = []
    size = 0
    for number, one in enumerate(operations):
        if numbers and (size + one.size > MAX_BYTES or len(numbers) >= MAX_ITEMS):
            yield numbers
            numbers, size = [], 0
        numbers.append(number)
        size += one.size
    if numbers:
        yield numbers
