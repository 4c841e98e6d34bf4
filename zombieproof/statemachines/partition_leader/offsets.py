"""What a partition adds up: from where on nothing is stable, how far a reader may read, what it is told is aborted.

Theory of operation: the earliest transaction holds everything behind it back, until it is decided and its marker is
replicated. A read committed fetch ends there, and is told which transactions that touch it were aborted.
Source: reference §3.6, §6; ``UnifiedLog.fetchLastStableOffsetMetadata``, ``LocalLog.addAbortedTransactions``.
"""

from collections.abc import Sequence
from typing import NamedTuple

from zombieproof.model.decisions.fetch import (
    bound_comes_first,
    bytes_wanted,
    counted_bytes,
    earlier_offset,
    ends_a_fetch,
    epoch_meant,
    error_of_fetch,
    fetch_bound,
    first_unstable_offset,
    is_due,
    is_listed_as_aborted,
    last_stable_offset,
    not_below_log_start,
    offset_by_time,
)
from zombieproof.model.decisions.leader_epochs import diverges, error_of_unknown_epoch
from zombieproof.model.decisions.list_offsets import error_of_listing, place_of
from zombieproof.model.decisions.replication import holds_back, readable_end
from zombieproof.model.records import ProducerEntry
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, Error, Isolation


class Reach(NamedTuple):
    """Where a log starts, where what is replicated of it ends, and where it ends."""

    log_start: int
    high_watermark: int
    log_end: int


def reach_of(log_start: int, high_watermark: int, log_end: int, rules: Rules) -> Reach:
    """What there is of a log for whoever reads it."""
    return Reach(log_start, readable_end(high_watermark, log_end, rules), log_end)


class Readable(NamedTuple):
    """From where on transactions are not stable (NONE: all are), and where read committed readers stop."""

    first_unstable: int
    last_stable: int


def first_undecided(entries: Sequence[ProducerEntry]) -> int:
    """Where the earliest open transaction begins, or NONE."""
    return first_unstable_offset(entries)


def is_settled(marker_offset: int, high_watermark: int, rules: Rules) -> bool:
    """Whether a transaction that was ended at `marker_offset` holds nothing back any more."""
    return not holds_back(marker_offset, high_watermark, rules)


def readable(undecided: int, unsettled: int, reach: Reach) -> Readable:
    """How far a partition is stable.

    Args:
        undecided: where the earliest open transaction begins, or NONE.
        unsettled: where the earliest begins that has ended but whose marker is not replicated, or NONE.
        reach: what there is of the log.
    """
    first = not_below_log_start(earlier_offset(undecided, unsettled), reach.log_start)
    return Readable(first, last_stable_offset(reach.high_watermark, first))


def bound_of(isolation: int, stable: Readable, reach: Reach, rules: Rules) -> int:
    """The offset from which on a reader gets nothing; it is also what ListOffsets says for the latest."""
    return fetch_bound(isolation, reach.high_watermark, stable.last_stable, rules)


class Fetch(NamedTuple):
    """What a fetch of one partition gets: an error, or what lies below `bound`.

    `lists_aborted`: with the aborted transactions that it touches, up to `aborted_below`.
    """

    error: int
    bound: int
    lists_aborted: bool
    aborted_below: int


def fetch(offset: int, isolation: int, stable: Readable, reach: Reach, rules: Rules) -> Fetch:
    """A fetch from `offset` on, at a replica that answers it.

    The list of aborted transactions covers the log up to its end. A replica ends it earlier if more than an interval of
    Kafka's offset index follows the fetched batches; the transactions that it leaves out begin after them.
    """
    error = error_of_fetch(offset, reach.log_start, reach.log_end)
    if error != Error.NONE:
        return Fetch(error, NONE, False, NONE)
    lists = lists_aborted(isolation)
    return Fetch(error, bound_of(isolation, stable, reach, rules), lists, reach.log_end)


def takes_bound_first(rules: Rules) -> bool:
    """Of the two moments of a fetch: whether its bound belongs to the first one, and its list to the second."""
    return bound_comes_first(rules)


def meant(said_epoch: int) -> int:
    """The leader epoch that a Fetch means, NONE: it means none."""
    return epoch_meant(said_epoch)


def lists_aborted(isolation: int) -> bool:
    """Whether a reader is told which transactions were aborted."""
    return isolation == Isolation.READ_COMMITTED


class HasRead(NamedTuple):
    """An error, or whether a reader has read what is not in this log."""

    error: int
    is_elsewhere: bool


def has_read(offset: int, last_epoch: int, found_epoch: int, end_offset: int) -> HasRead:
    """What to think of a reader that goes on at `offset`, and read last under an epoch; NONE: it does not say it.

    `found_epoch` and `end_offset` are what `leader_epochs.end_of_epoch` says of that.
    """
    if last_epoch == NONE:
        return HasRead(int(Error.NONE), False)
    error = error_of_unknown_epoch(found_epoch)
    return HasRead(error, error == Error.NONE and diverges(offset, last_epoch, found_epoch, end_offset))


class Listing(NamedTuple):
    """Whether one entry of the aborted index goes with a fetch, and whether none behind it can."""

    is_listed: bool
    is_last: bool


def listing(first_offset: int, last_offset: int, stable_then: int, fetch_offset: int, below: int) -> Listing:
    """Judge one entry for a fetch of ``[fetch_offset, below)``; `stable_then` is what was stable at its marker."""
    touches = is_listed_as_aborted(first_offset, last_offset, fetch_offset, below)
    return Listing(touches, stable_then >= below)


def offset_for_time(found: int, isolation: int, stable: Readable, reach: Reach, rules: Rules) -> int:
    """What ListOffsets says for a time; `found` is the first offset with that time or a later one, NONE: none."""
    return NONE if found == NONE else offset_by_time(found, bound_of(isolation, stable, reach, rules))


def listing_enters(is_repeated: bool, timestamp_ms: int, version: int) -> int:
    """One row of a ListOffsets reaches a broker: NONE, or why nobody looks at its partition."""
    return error_of_listing(is_repeated, timestamp_ms, version)


def looked_for(timestamp_ms: int) -> int:
    """What a time of a ListOffsets stands for (`Place`)."""
    return place_of(timestamp_ms)


class PartitionRead(NamedTuple):
    """What one partition contributes to a fetch that may wait: whether it ends the wait, and how many bytes."""

    ends_wait: bool
    size: int


def partition_read(error: int, diverges: bool, read_bytes: int, max_bytes: int, has_waited: bool) -> PartitionRead:
    """Judge what was read of one partition, when the fetch arrived or (`has_waited`) later."""
    return PartitionRead(diverges or ends_a_fetch(error, has_waited), counted_bytes(read_bytes, max_bytes, has_waited))


def counts(size: int, max_bytes: int) -> int:
    """How many bytes of one partition count for a fetch that has waited."""
    return counted_bytes(size, max_bytes, True)


def fetch_wants(min_bytes: int, max_bytes: int, broker_max_bytes: int) -> int:
    """How many bytes a fetch waits for."""
    return bytes_wanted(min_bytes, max_bytes, broker_max_bytes)


class FetchRead(NamedTuple):
    """What a fetch that may wait has read: whether a partition failed, how many bytes, and how long it has waited."""

    has_error: bool
    size: int
    min_bytes: int
    waited_ms: int
    max_wait_ms: int


def fetch_goes(read: FetchRead) -> bool:
    """Whether a fetch is answered now, and waits no longer for more."""
    return is_due(read.has_error, read.size, read.min_bytes, read.waited_ms, read.max_wait_ms)
