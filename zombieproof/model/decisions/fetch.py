"""Fetch (API key 1) and ListOffsets (2): how far a reader may read, and which transactions it is told are aborted.

Source: reference §3.6, §6; ``UnifiedLog.maybeIncrementFirstUnstableOffset``, ``LocalLog.addAbortedTransactions``.
"""

from collections.abc import Sequence

from zombieproof.model.records import ProducerEntry
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, Error, Isolation


def first_unstable_offset(entries: Sequence[ProducerEntry]) -> int:
    """The first offset of the earliest open transaction of a partition, or NONE ."""
    first = NONE
    for entry in entries:
        if entry.txn_first_offset != NONE and (first == NONE or entry.txn_first_offset < first):
            first = int(entry.txn_first_offset)
    return first


def earlier_offset(one: int, other: int) -> int:
    """The lower of two offsets of which either may be NONE."""
    if one == NONE or (other != NONE and other < one):
        return int(other)
    return int(one)


def not_below_log_start(first_unstable: int, log_start: int) -> int:
    """The first unstable offset, raised to where the log begins now."""
    if first_unstable != NONE and first_unstable < log_start:
        return int(log_start)
    return int(first_unstable)


def last_stable_offset(high_watermark: int, first_unstable: int) -> int:
    """min(high watermark, first unstable offset); `first_unstable` NONE means there is none."""
    if first_unstable != NONE and first_unstable < high_watermark:
        return int(first_unstable)
    return int(high_watermark)


def error_of_fetch(offset: int, log_start: int, log_end: int) -> int:
    """OFFSET_OUT_OF_RANGE where the log has no such offset; its end is one, and so is what is not stable yet."""
    return int(Error.OFFSET_OUT_OF_RANGE if offset < log_start or offset > log_end else Error.NONE)


def fetch_bound(isolation: int, high_watermark: int, last_stable: int, rules: Rules) -> int:
    """The offset from which on a consumer gets nothing."""
    stable = isolation == Isolation.READ_COMMITTED and rules.stable_bound == 1
    return int(last_stable) if stable else int(high_watermark)


def bound_comes_first(rules: Rules) -> bool:
    """Whether a fetch takes its bound before it reads, and the list of aborted transactions behind that.

    So everything below its bound is decided and listed by then. The other way round, what is aborted between the two
    lies below the bound, and the list does not tell of it (KAFKA-5376).
    """
    return rules.aborted_list_last == 1


def bytes_wanted(min_bytes: int, max_bytes: int, broker_max_bytes: int) -> int:
    """How many bytes a fetch waits for: not more than it may be given (``KafkaApis.handleFetchRequest``)."""
    return min(min_bytes, max_bytes, broker_max_bytes)


def ends_a_fetch(error: int, has_waited: bool) -> bool:
    """Whether the error of one partition is a reason to answer the fetch now.

    ``KafkaApis.handleFetchRequest`` sets unknown partitions aside, and waits for the rest. A partition that becomes
    unknown later, or that fails in any other way, ends the wait (``DelayedFetch.tryComplete``).
    """
    unknown = error in (Error.UNKNOWN_TOPIC_OR_PARTITION, Error.UNKNOWN_TOPIC_ID)
    return error != Error.NONE and (has_waited or not unknown)


def counted_bytes(read_bytes: int, max_bytes: int, has_waited: bool) -> int:
    """How many bytes of one partition count towards ``min.bytes``.

    A first batch larger than ``max.bytes`` of its partition counts whole when a fetch arrives, and up to
    ``max.bytes`` when it has waited (``ReplicaManager.fetchMessages``, ``DelayedFetch.tryComplete``).
    """
    return min(read_bytes, max_bytes) if has_waited else read_bytes


def is_due(has_error: bool, bytes_read: int, min_bytes: int, waited_ms: int, max_wait_ms: int) -> bool:
    """Whether a fetch is answered now, and does not wait for more (``DelayedFetch.tryComplete``)."""
    return has_error or bytes_read >= min_bytes or waited_ms >= max_wait_ms


def offset_by_time(found: int, bound: int) -> int:
    """The first offset at or behind a time, as far as the reader may know: NONE where it may not read it yet."""
    return int(found) if found < bound else NONE


def is_listed_as_aborted(first_offset: int, last_offset: int, fetch_offset: int, upper_bound: int) -> bool:
    """Whether an entry of the aborted index goes with a fetch of ``[fetch_offset, upper_bound)`` (§6)."""
    return last_offset >= fetch_offset and first_offset < upper_bound


def last_stable_offset_at_abort(marker_offset: int, other_first_unstable: int) -> int:
    """The last stable offset written into the aborted index: other open transactions hold it back (§3.6)."""
    return int(marker_offset + 1) if other_first_unstable == NONE else int(other_first_unstable)


def error_of_topic(exists: bool, by_id: bool) -> int:
    """What Metadata says of a topic that a name or (version 10 and up) an id asks for."""
    if exists:
        return int(Error.NONE)
    return int(Error.UNKNOWN_TOPIC_ID if by_id else Error.UNKNOWN_TOPIC_OR_PARTITION)


def error_of_topic_name(is_legal: bool) -> int:
    """DescribeProducers looks first whether there can be such a topic: before rights, and before the topic."""
    return int(Error.NONE if is_legal else Error.INVALID_TOPIC_EXCEPTION)


def epoch_meant(said_epoch: int) -> int:
    """Which leader epoch a Fetch means; NONE: any. It says so by any number that is none."""
    return int(said_epoch if said_epoch >= 0 else NONE)


def error_of_leader_epoch(said_epoch: int, present_epoch: int) -> int:
    """Whether a request means another leader than the present one, if it says which it means (KIP-320)."""
    if said_epoch in (NONE, present_epoch):
        return int(Error.NONE)
    return int(Error.FENCED_LEADER_EPOCH if said_epoch < present_epoch else Error.UNKNOWN_LEADER_EPOCH)


def error_of_read(
    exists: bool,
    has_replica: bool,
    leads: bool,
    needs_leader: bool,
    said_epoch: int = NONE,
    present_epoch: int = NONE,
    is_offline: bool = False,
) -> int:
    """Why a broker cannot answer a read of one partition (Fetch, DescribeProducers; ListOffsets needs the leader).

    An offline replica (``HostedPartition.Offline``) is refused before its leader epoch is compared.
    """
    if not exists:
        return int(Error.UNKNOWN_TOPIC_OR_PARTITION)
    if is_offline:
        return int(Error.KAFKA_STORAGE_ERROR)
    if not has_replica:
        return int(Error.NOT_LEADER_OR_FOLLOWER)
    error = error_of_leader_epoch(said_epoch, present_epoch)
    if error != Error.NONE:
        return error
    if needs_leader and not leads:
        return int(Error.NOT_LEADER_OR_FOLLOWER)
    return int(Error.NONE)
