"""WriteTxnMarkers (API key 27, versions 0-2): a COMMIT or ABORT marker at the leader of a partition.

Behaviour: the marker ends what the producer id has open, raises the epoch known to the partition, and is written even
where nothing is open.
Versions: 2 carries the transaction version of the marker (KIP-1228); before, every marker is judged by M1.
Source: reference §3.5; ``ProducerAppendInfo.appendEndTxnMarker``, ``checkProducerEpoch``.
"""

from zombieproof.model.decisions.produce import drop_guard, forget_batches
from zombieproof.model.decisions.verdicts import append_accepted, append_refused
from zombieproof.model.records import AppendVerdict, IncomingMarker, ProducerEntry
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, Error, Origin, PartitionEvent, Row, TransactionVersion


def decide_marker(entry: ProducerEntry, marker: IncomingMarker, origin: int, rules: Rules) -> AppendVerdict:
    """Judge a marker (M1 to M5). Events: COMMIT_MARKER, ABORT_MARKER, or MARKER_KEEPS_GUARD of either outcome.

    Replication and recovery accept whatever the log holds.
    """
    if origin != Origin.REPLICATION:
        if entry.known and _is_older(entry, marker, rules):
            strict = _is_strict(marker, rules)
            return append_refused(Error.INVALID_PRODUCER_EPOCH, Row.M2 if strict else Row.M1)
        if rules.marker_coordinator_epoch == 1 and entry.coordinator_epoch > marker.coordinator_epoch:
            return append_refused(Error.TRANSACTION_COORDINATOR_FENCED, Row.M4)
    row = Row.M3 if _repeats(entry, marker, rules) and origin != Origin.REPLICATION else Row.M5
    if _keeps_guard(entry, marker, rules):
        return append_accepted(row, PartitionEvent.MARKER_KEEPS_GUARD)
    if marker.committed:
        return append_accepted(row, PartitionEvent.COMMIT_MARKER)
    return append_accepted(row, PartitionEvent.ABORT_MARKER)


def _is_strict(marker: IncomingMarker, rules: Rules) -> bool:
    return rules.marker_strict == 1 and marker.transaction_version >= TransactionVersion.TV2


def _is_older(entry: ProducerEntry, marker: IncomingMarker, rules: Rules) -> bool:
    if marker.producer_epoch < entry.producer_epoch:
        return True
    same_epoch = _is_strict(marker, rules) and marker.producer_epoch == entry.producer_epoch
    return same_epoch and not _repeats(entry, marker, rules)


def _repeats(entry: ProducerEntry, marker: IncomingMarker, rules: Rules) -> bool:
    """A TV2 marker of the epoch that is known, which has nothing to end: the same marker again (KAFKA-19999)."""
    same_epoch = entry.known and marker.producer_epoch == entry.producer_epoch
    nothing_to_end = entry.txn_first_offset == NONE or entry.producer_epoch == rules.epoch_max
    return rules.marker_retry_relax == 1 and _is_strict(marker, rules) and same_epoch and nothing_to_end


def _keeps_guard(entry: ProducerEntry, marker: IncomingMarker, rules: Rules) -> bool:
    """A TV2 guard of the next transaction survives the marker of the one before (KAFKA-18654).

    A late copy of a marker may come when the guard is of a still newer epoch, because a fence and an InitProducerId
    have bumped it twice (B82). No marker of an older epoch ends the transaction that such a guard was given for.
    """
    if rules.marker_keeps_newer_guard == 1 and entry.guard != 0 and entry.guard_epoch > marker.producer_epoch:
        return True
    return (
        rules.guard_keep_same_epoch == 1
        and entry.guard != 0
        and entry.supports_epoch_bump
        and entry.guard_epoch == marker.producer_epoch
    )


def first_offset_of_ended(first_offset: int, marker_offset: int, rules: Rules) -> int:
    """Where the transaction that a marker ended begins, or NONE if it ended none; `first_offset` is what was open.

    Before 2.8 a marker without data counted as a transaction of its own, from its offset to its offset (KAFKA-10702).
    """
    return int(marker_offset if first_offset == NONE and rules.marker_needs_data == 0 else first_offset)


def evolve_marker(entry: ProducerEntry, marker: IncomingMarker, event: int, state: int) -> int:
    """The marker is in the log; returns the first offset of the transaction it ended, or NONE if none was open."""
    first_offset = int(entry.txn_first_offset)
    if not entry.known or entry.producer_epoch != marker.producer_epoch:
        entry.producer_epoch = marker.producer_epoch
        forget_batches(entry)
    entry.known = True
    entry.state = state
    entry.coordinator_epoch = marker.coordinator_epoch
    entry.txn_first_offset = NONE
    if event != PartitionEvent.MARKER_KEEPS_GUARD:
        drop_guard(entry)
    return first_offset


def error_of_marker_place(exists: bool, leads: bool, in_sync: int, min_in_sync: int) -> int:
    """Why a broker cannot write a marker into a partition at all (§3.5), or NONE: it needs the in-sync replicas."""
    if not exists:
        return int(Error.UNKNOWN_TOPIC_OR_PARTITION)
    if not leads:
        return int(Error.NOT_LEADER_OR_FOLLOWER)
    return int(Error.NOT_ENOUGH_REPLICAS if in_sync < min_in_sync else Error.NONE)


def error_of_marker_producer(producer_id: int, producer_epoch: int) -> int:
    """Why a marker of this producer cannot be written, whatever the log knows of it, or NONE.

    No batch can be built without a producer id or an epoch: Kafka's handler throws, and the whole request fails with
    UNKNOWN_SERVER_ERROR. An id below -1 fails alike, where Kafka writes the marker: no batch with such an id is sound.
    An epoch below -1 is older than any.
    """
    if producer_id < 0 or producer_epoch == NONE:
        return int(Error.UNKNOWN_SERVER_ERROR)
    return int(Error.INVALID_PRODUCER_EPOCH if producer_epoch < NONE else Error.NONE)
