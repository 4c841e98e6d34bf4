"""What brokers know is what their logs say: promises about memory and the log behind it, after every kind of loss.

The same kind of predicates as in ``promises``, on the same states.

Source: reference §3.7, §3.8, §4.2; ``ProducerStateManager``, ``OffsetMetadataManager``.
"""

from typing import Any

from zombieproof.model.promises import fate
from zombieproof.model.vocabulary import NONE, LogEntry, Outcome

State = Any
"""See ``promises.State``."""


def memory_is_the_fold_of_the_log(state: State) -> bool:
    """What a leader knows of epochs and open transactions is what its log says."""
    for partition in state.partitions:
        for pid in range(len(partition.entries)):
            entry = partition.entries[pid]
            epoch, first_offset = NONE, NONE
            for offset in range(partition.end):
                record = partition.log[offset]
                if record.producer_id != pid:
                    continue
                epoch = int(record.producer_epoch)
                if record.kind in (LogEntry.COMMIT, LogEntry.ABORT):
                    first_offset = NONE
                elif record.kind != LogEntry.PLAIN and first_offset == NONE:
                    first_offset = offset
            if entry.producer_epoch != epoch or entry.txn_first_offset != first_offset:
                return False
    return True


def sequences_in_memory_are_the_fold_of_their_log(state: State) -> bool:
    """The last sequence that a leader knows of a producer is the last one that was written under its epoch."""
    for partition in state.partitions:
        for pid in range(len(partition.entries)):
            entry = partition.entries[pid]
            known = int(entry.batches[entry.batch_count - 1].last_sequence) if entry.batch_count > 0 else NONE
            if known != _last_sequence(partition, pid):
                return False
    return True


def _last_sequence(partition: State, producer_id: int) -> int:
    """The sequence of the last batch of a producer id, NONE: there is none since its epoch was raised."""
    epoch, sequence = NONE, NONE
    for offset in range(partition.end):
        record = partition.log[offset]
        if record.producer_id != producer_id:
            continue
        if record.producer_epoch != epoch:
            epoch, sequence = int(record.producer_epoch), NONE
        if record.kind in (LogEntry.DATA, LogEntry.PLAIN):
            sequence = int(record.value)
    return sequence


def offsets_in_memory_are_the_fold_of_their_log(state: State) -> bool:
    """What the group coordinator knows of committed and waiting offsets is what its log says, each with its value."""
    holds = False
    for partition in state.partitions:
        if not _holds_offsets(partition):
            continue
        holds = True
        if not _is_folded(partition, state.group.committed, _last_offset_record(partition, NONE, Outcome.COMMIT)):
            return False
        for pid in range(len(state.group.pending)):
            last = _last_offset_record(partition, pid, Outcome.UNDECIDED)
            if not _is_folded(partition, state.group.pending[pid], last):
                return False
    return holds or _knows_no_offset(state.group)


def _is_folded(partition: State, known: State, place: int) -> bool:
    """Whether an offset that is known is that of the record in this place; NONE: none is."""
    if known.record_offset != place:
        return False
    return bool(place == NONE or known.offset == partition.log[place].value)


def _knows_no_offset(group: State) -> bool:
    for pending in group.pending:
        if pending.record_offset != NONE:
            return False
    return bool(group.committed.record_offset == NONE)


def _holds_offsets(partition: State) -> bool:
    for offset in range(partition.end):
        if partition.log[offset].kind in (LogEntry.OFFSET, LogEntry.PLAIN_OFFSET):
            return True
    return False


def _last_offset_record(partition: State, producer_id: int, outcome: int) -> int:
    """The place of the last offset record of a producer id (NONE: of anybody) that has this fate; NONE: nowhere.

    A tombstone deletes every offset before it, pending ones too, as when the log is loaded (since 4.0).
    """
    last = NONE
    for offset in range(partition.end):
        record = partition.log[offset]
        if record.kind == LogEntry.TOMBSTONE:
            last = NONE
        of_offsets = record.kind in (LogEntry.OFFSET, LogEntry.PLAIN_OFFSET)
        asked_for = of_offsets and producer_id in (NONE, record.producer_id)
        if asked_for and fate(partition, offset) == outcome:
            last = offset
    return last
