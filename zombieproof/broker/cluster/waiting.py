"""What waits in a broker, for what, and until when: one place for all of it.

Theory of operation: what cannot be finished yet is kept as data, under a ticket, with the *keys* of what may change
that and a time. Whoever changes something looks at the tickets of its key; a timer looks at those whose time is over.
Nothing is looked at otherwise. Source: ``DelayedOperationPurgatory.scala``.
"""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from zombieproof.formats.topics import TopicPartition

Operation = TypeVar("Operation")

Key = TopicPartition | int | str
"""A partition whose log, high watermark or leader may change; the number of a request; a transactional id."""

FOR_EVER = 1 << 63
"""A time (ms) that never comes."""

FEWEST = 64
"""So many times of operations that are finished are kept before they are cleared away."""


@dataclass(slots=True)
class Waits(Generic[Operation]):
    """The operations of one broker that wait, in the order in which they began to."""

    _operations: dict[int, tuple[Operation, tuple[Key, ...]]] = field(default_factory=dict)
    _by_key: dict[Key, dict[int, None]] = field(default_factory=dict)
    _deadlines: list[tuple[int, int]] = field(default_factory=list)
    _tickets: int = 0

    def __iter__(self) -> Iterator[tuple[int, Operation]]:
        return iter([(ticket, operation) for ticket, (operation, _) in self._operations.items()])

    def __len__(self) -> int:
        return len(self._operations)

    def add(self, operation: Operation, keys: tuple[Key, ...], until_ms: int) -> int:
        """Let `operation` wait for a change of any of `keys`, or until a time; returned is its ticket."""
        self._tickets += 1
        self._operations[self._tickets] = operation, keys
        for key in keys:
            self._by_key.setdefault(key, {})[self._tickets] = None
        heapq.heappush(self._deadlines, (until_ms, self._tickets))
        return self._tickets

    def get(self, ticket: int) -> Operation | None:
        """What waits under a ticket; None: nothing any more."""
        found = self._operations.get(ticket)
        return None if found is None else found[0]

    def tickets(self, key: Key) -> list[int]:
        """Who waits for a change of `key`, the oldest first."""
        return list(self._by_key.get(key, ()))

    @property
    def next_ms(self) -> int:
        """When the next time is over; FOR_EVER if nobody waits for one."""
        while self._deadlines and self._deadlines[0][1] not in self._operations:
            heapq.heappop(self._deadlines)
        return self._deadlines[0][0] if self._deadlines else FOR_EVER

    def overdue(self, now_ms: int) -> list[int]:
        """Whose time is over; each is told once."""
        found = []
        while self._deadlines and self._deadlines[0][0] <= now_ms:
            _, ticket = heapq.heappop(self._deadlines)
            if ticket in self._operations:
                found.append(ticket)
        return found

    def remove(self, ticket: int) -> Operation | None:
        """What waited under a ticket waits no longer."""
        operation, keys = self._operations.pop(ticket, (None, ()))
        for key in keys:
            tickets = self._by_key.get(key, {})
            tickets.pop(ticket, None)
            if not tickets:
                self._by_key.pop(key, None)
        if len(self._deadlines) > FEWEST + 2 * len(self._operations):
            self._deadlines = [each for each in self._deadlines if each[1] in self._operations]
            heapq.heapify(self._deadlines)
        return operation
