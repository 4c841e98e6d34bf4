"""What elections may not take away: promises about logs that can lose what is not replicated, and their witnesses.

The same kind of predicates as in ``promises``, on the same states. `State.replicas` says of each partition up to where
its log is replicated; where it is empty, all of it is.

Source: reference §3.6, §3.7; ``Partition.checkEnoughReplicasReachOffset``, ``UnifiedLog.unreplicatedTxns``.
"""

from typing import Any

from zombieproof.model.promises import is_data
from zombieproof.model.vocabulary import LogEntry

State = Any
"""See ``promises.State``."""


def what_was_acknowledged_stays_in_the_log(state: State) -> bool:
    """What was acknowledged to an application is in the log of its partition, whoever leads it."""
    for label in range(1, len(state.ghost.labels) + 1):
        for p in range(len(state.partitions)):
            acknowledged = (state.ghost.labels[label - 1].acked >> p) & 1 == 1
            if acknowledged and not _has_record_of(state.partitions[p], label):
                return False
    return True


def _has_record_of(partition: State, label: int) -> bool:
    for offset in range(partition.end):
        if partition.log[offset].label == label and is_data(partition.log[offset].kind):
            return True
    return False


def nothing_that_was_read_is_lost(state: State) -> bool:
    """No election takes away what a reader has been given: no reader is ahead of the log."""
    for reader in state.readers:
        if reader.position > state.partitions[0].end:
            return False
    return True


def a_record_is_not_replicated(state: State) -> bool:
    """A record is in the log of a leader, and the other replicas do not have it yet."""
    for p in range(len(state.replicas)):
        if state.replicas[p].high_watermark < state.partitions[p].end:
            return True
    return False


def a_marker_holds_the_stable_offset_back(state: State) -> bool:
    """The records of a transaction are replicated, and the marker that has ended it is not."""
    for p in range(len(state.replicas)):
        partition, replicated = state.partitions[p], state.replicas[p].high_watermark
        for offset in range(replicated, partition.end):
            record = partition.log[offset]
            if record.kind in (LogEntry.COMMIT, LogEntry.ABORT) and _has_data_of(partition, record, replicated):
                return True
    return False


def _has_data_of(partition: State, marker: State, below: int) -> bool:
    """Whether the newest record of a marker's producer below an offset is data."""
    found = False
    for offset in range(below):
        if partition.log[offset].producer_id == marker.producer_id:
            found = partition.log[offset].kind in (LogEntry.DATA, LogEntry.OFFSET)
    return found


def an_election_loses_records(state: State) -> bool:
    """A new leader lacks records that the one before had in its log."""
    for replica in state.replicas:
        if replica.is_cut:
            return True
    return False
