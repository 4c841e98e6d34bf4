"""When the present log of a partition began, and which transactions it therefore cannot hold.

A topic can be deleted and created again under its name while ``__transaction_state`` still lists the partitions of the
first one. A transaction that was complete before the present log began left nothing in it. The cluster's metadata tells
the moment; else the log does, by its first records: markers carry the broker's clock, data usually the producer's.
"""

from collections.abc import Iterable
from enum import Enum, auto
from typing import NamedTuple

from zombieproof.formats.record_batch import TimestampType
from zombieproof.traces.evidence import LoggedBatch, PartitionLog


class Standing(Enum):
    """Whether the marker of a transaction is expected in the present log of a partition."""

    EXPECTED = auto()
    EARLIER = auto()
    """The transaction was complete before the log began."""
    UNKNOWN = auto()
    """The evidence does not tell whether the log existed then."""
    HIDDEN = auto()
    """The marker may have been cleaned away, or stand where the log is cut, damaged or truncated."""


CLOCKS_APART_MS = 1000
"""How far the clocks of a client and of a broker are taken to be apart at most."""
PLAUSIBLE_MS = 24 * 3_600_000
"""How far a producer's timestamp may lie from what it is compared with to be taken for the time of the append."""


class Began(NamedTuple):
    """The present log began no earlier than `not_before_ms`, and was there at `by_ms`. None: nothing tells.

    `claimed_ms` is when its first record was written by the clock of the producer, who may put any time into a record.
    `is_recorded`: the cluster's metadata, or the call that created the topic, says when the log began.
    """

    not_before_ms: int | None
    by_ms: int | None
    claimed_ms: int | None = None
    is_recorded: bool = False

    def standing(self, joined_ms: int | None, decided_ms: int | None, completed_ms: int | None) -> Standing:
        """Where a completed transaction stands of which the log holds neither data nor a marker.

        `joined_ms` is when its first partition joined, or when it was decided. The log was there for it if it began
        before that, or in the same millisecond and before the decision: markers are sent after the decision.
        """
        if self.is_after(completed_ms):
            return Standing.EARLIER
        if self.is_recorded and self.may_be_after(completed_ms) and self.is_after(decided_ms):
            # Partitions join before the decision, so the one that it lists is of an earlier topic.
            return Standing.EARLIER
        if joined_ms is None:
            return Standing.UNKNOWN
        there = [self.by_ms]
        if self.claimed_ms is not None and joined_ms - self.claimed_ms <= PLAUSIBLE_MS:
            there.append(self.claimed_ms)
        decided_later = decided_ms is not None and decided_ms > joined_ms
        is_there = any(
            time is not None and (time < joined_ms or (time == joined_ms and decided_later)) for time in there
        )
        return Standing.EXPECTED if is_there else Standing.UNKNOWN

    def is_after(self, time_ms: int | None, apart_ms: int = 0) -> bool:
        """Whether the log began after a moment, on whichever of two clocks that are at most so far apart."""
        return time_ms is not None and self.not_before_ms is not None and time_ms + apart_ms < self.not_before_ms

    def may_be_after(self, time_ms: int | None) -> bool:
        """Whether the log began after a moment, or in its millisecond: then nothing tells which came first."""
        return time_ms is not None and self.not_before_ms is not None and time_ms <= self.not_before_ms


def began(log: PartitionLog, created_ms: int | None) -> Began:
    """When a log began; `created_ms` is when the partition was created, where a record of that was given."""
    if created_ms is not None:
        return Began(created_ms, created_ms, is_recorded=True)
    first, before, stamped = _up_to_the_first_stamp(log.batches)
    by_ms = None if stamped is None else stamped.max_timestamp_ms
    if first is None or first.base_offset > 0 or log.start_offset > 0:
        return Began(None, by_ms)
    claimed = first.max_timestamp_ms
    if by_ms is not None and by_ms < claimed:
        # The producer's clock is ahead of the broker's: it does not tell how early the record was written.
        return Began(None, by_ms)
    is_plausible = by_ms is None or before is None or abs(by_ms - before.max_timestamp_ms) <= PLAUSIBLE_MS
    return Began(claimed, by_ms, claimed if is_plausible else None)


def _up_to_the_first_stamp(
    batches: Iterable[LoggedBatch],
) -> tuple[LoggedBatch | None, LoggedBatch | None, LoggedBatch | None]:
    """The first batch, the first whose time is of the broker's clock, and the one before that."""
    first = before = None
    for batch in batches:
        first = first or batch
        if batch.is_control or batch.timestamp_type is TimestampType.LOG_APPEND_TIME:
            return first, before, batch
        before = batch
    return first, before, None


def standing_by_sequence(log: PartitionLog, producer_id: int, epoch: int, decided_ms: int) -> Standing | None:
    """Where a transaction stands, decided at `decided_ms`, if its producer wrote to an earlier log of the partition.

    The log holds every offset from 0 on, and yet the first sequence of the producer and epoch in it is not 0: the
    records before that were never in it. Of the transactions of that epoch, those decided before that first record are
    of the earlier log. Which of the others are, only a record of the topic's creation tells. A producer whose clock is
    ahead of the broker's tells neither. None: it shows no earlier log.
    """
    if log.start_offset > 0 or log.compacted or log.has_lost_batches or log.damaged_at:
        return None
    first: LoggedBatch | None = None
    for batch in log.batches:
        if first is not None and (batch.is_control or batch.timestamp_type is TimestampType.LOG_APPEND_TIME):
            if first.max_timestamp_ms > batch.max_timestamp_ms:
                return Standing.UNKNOWN
            break
        if first is None and not batch.is_control and (batch.producer_id, batch.producer_epoch) == (producer_id, epoch):
            if batch.base_sequence <= 0:
                return None
            first = batch
    if first is None:
        return None
    return Standing.EARLIER if decided_ms < first.max_timestamp_ms else Standing.UNKNOWN
