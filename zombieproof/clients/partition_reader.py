"""One partition that a consumer reads: what was fetched and not handed out yet, and where it goes on.

Source: reference §6; ``SubscriptionState.java``, ``CompletedFetch.java``.
"""

import re
from collections import deque
from dataclasses import dataclass, field

from zombieproof.broker.cluster.journal import Journal
from zombieproof.clients.pending_transactions import PendingTransactions
from zombieproof.clients.read_committed import FetchFilter, Part
from zombieproof.clients.values import OffsetAndMetadata
from zombieproof.formats.batches import RecordKey, RecordValue
from zombieproof.formats.stored_records import RecordHeader
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.partitions import Fetched
from zombieproof.model.proposal2014.rules import Rules as Readings
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, Isolation
from zombieproof.statemachines.consumer.reading import keeps_states
from zombieproof.statemachines.proposal2014 import checkpoints

READ_FURTHER = re.compile(r"delivered-to=(\d+);partly=(-?\d+)")
"""How a consumer that buffers says in the metadata of an offset what lies behind the offset and was delivered."""


READINGS = Readings()
"""Of what the proposal of 2014 leaves open about checkpoints, it keeps what loses nothing."""


@dataclass(frozen=True, slots=True)
class ConsumerRecord:
    """A record that the application gets, and where it was; bytes, but for internal topics."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: RecordKey
    value: RecordValue
    headers: tuple[RecordHeader, ...] = ()


@dataclass(slots=True)
class PartitionReader:
    """One partition. `filter` None: it is not known yet where it begins.

    Then it begins where its group has committed, unless that offset does not exist (`is_reset`); or at the beginning or
    the end, where the application has said so: `reset_to` is the time that stands for it.
    """

    partition: TopicPartition
    isolation: Isolation
    pending: PendingTransactions
    filter: FetchFilter | None = None
    is_paused: bool = False
    is_reset: bool = False
    reset_to: int | None = None
    _parts: deque[Part] = field(default_factory=deque)
    _last: int = NONE

    @property
    def wants_data(self) -> bool:
        """Whether it is known where to read, and nothing is left to hand out."""
        return self.filter is not None and not self._parts and not self.is_paused

    # ---------------------------------------------------------------- where it is

    def begin_at(self, at: OffsetAndMetadata) -> None:
        """Go on at an offset; what was fetched is of no use."""
        self.close()
        self.is_reset, self.reset_to = False, None
        self.filter = FetchFilter(self.partition, self.isolation, Rules(), Journal(), at.offset, self.pending)
        further = READ_FURTHER.fullmatch(at.metadata)
        if further is not None and keeps_states(self.isolation):
            self.filter.delivered_to, self.filter.partly = int(further[1]), int(further[2])

    def forget_position(self, reset_to: int | None = None) -> None:
        """It is not known any more where it goes on."""
        self.close()
        self.filter, self.reset_to = None, reset_to

    def close(self) -> None:
        """What was fetched or held back is of no use."""
        for part in self._parts:
            part.close()
        self._parts.clear()
        self._last = NONE
        self.pending.drop_partition(self.partition)

    @property
    def position(self) -> OffsetAndMetadata | None:
        """Where somebody goes on who is to get what the application has not got; None: it is not known."""
        if self.filter is None:
            return None
        delivered_to, partly = self.filter.position, NONE
        if self._parts:
            part = self._parts[0]
            if part.marker != NONE:
                delivered_to, partly = part.marker, self._last
            else:
                delivered_to = part.first_offset if self._last == NONE else self._last + 1
        reached = checkpoints.reaches(delivered_to, partly, self.filter.delivered_to, self.filter.partly)
        open_since = [held.first_offset for held in self.pending.of(self.partition)]
        open_since += [part.first_offset for part in self._parts if part.marker != NONE]
        first = checkpoints.starts_at(reached.delivered_to, min(open_since, default=NONE), READINGS)
        if reached == (first, NONE):
            return OffsetAndMetadata(first)
        return OffsetAndMetadata(first, f"delivered-to={reached.delivered_to};partly={reached.partly}")

    # ---------------------------------------------------------------- records

    def take(self, fetched: Fetched) -> None:
        """An answer has come.

        Raises:
            CorruptBatchError, FetchError: it is of no use.
        """
        assert self.filter is not None, "who asked knew where"
        self._parts.extend(self.filter.parts(fetched))

    def hand_out(self, most: int) -> list[ConsumerRecord]:
        """The next records, `most` at most."""
        found = list[ConsumerRecord]()
        while self._parts and len(found) < most and not self.is_paused:
            delivered = next(self._parts[0].records, None)
            if delivered is None:
                self._parts.popleft()
                self._last = NONE
                continue
            self._last, record = delivered.offset, delivered.record
            found.append(
                ConsumerRecord(
                    *self.partition,
                    delivered.offset,
                    delivered.timestamp_ms,
                    record.key,
                    record.value,
                    record.headers,
                )
            )
        return found
