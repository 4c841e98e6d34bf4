"""What Kafka's transactions do and those of the 2014 proposal do not, or the other way round: one predicate for each.

The same kind of predicates as in ``promises``, on the same states. Each is reached in one of the two protocols only
(``checker.transactions.scenarios.contrast``). Neither is it owed to anybody, nor is a scenario vacuous without it: so
none of them is in the ``catalogue``.

Source: reference §10.11.
"""

from typing import Any

from zombieproof.model.promises import fate
from zombieproof.model.vocabulary import NONE, LogEntry, Outcome, ProducerState, TransactionState

State = Any
"""See ``promises.State``."""


def a_producer_id_has_two_transactions_open(state: State) -> bool:
    """Records of two transactions of one producer id wait for their markers, on whichever partitions."""
    for pid in range(len(state.partitions[0].entries)):
        label = 0
        for partition in state.partitions:
            for offset in range(partition.end):
                record = partition.log[offset]
                if record.producer_id != pid or not _is_open(partition, offset):
                    continue
                if label not in (0, record.label):
                    return True
                label = int(record.label)
    return False


def a_marker_ends_nothing(state: State) -> bool:
    """A partition has a marker of a transaction of which it has no record."""
    for partition in state.partitions:
        for offset in range(partition.end):
            if _is_marker(partition.log[offset].kind) and not _ends_something(partition, offset):
                return True
    return False


def a_finished_commit_is_asked_for_at_a_new_coordinator(state: State) -> bool:
    """A coordinator that took over is asked to commit what the one before it has committed, marked and completed."""
    if state.durable[0].state != TransactionState.COMPLETE_COMMIT:
        return False
    for message in state.messages:
        asks = message.live and not message.answered and message.node == state.coordinator and message.label > 0
        if asks and state.clients[message.client].state == ProducerState.COMMITTING_TRANSACTION:
            facts = state.ghost.labels[message.label - 1]
            is_untold = facts.decided == Outcome.COMMIT and facts.result == Outcome.UNDECIDED
            if is_untold and _is_marked_by_a_predecessor(state):
                return True
    return False


def what_commits_last_is_read_first(state: State) -> bool:
    """The reader has a record, and not yet another one that was committed before it."""
    partition, delivered = state.partitions[0], int(state.readers[0].delivered)
    for offset in range(partition.end):
        if (delivered >> offset) & 1 == 0:
            continue
        for other in range(partition.end):
            is_before = NONE < _committed_at(partition, other) < _committed_at(partition, offset)
            if is_before and (delivered >> other) & 1 == 0:
                return True
    return False


def a_reader_waits_before_what_is_committed(state: State) -> bool:
    """The reader is where an open transaction begins, and behind that is a record that is committed."""
    partition, position = state.partitions[0], int(state.readers[0].position)
    if position >= partition.end or not _is_open(partition, position):
        return False
    for offset in range(position + 1, partition.end):
        if _committed_at(partition, offset) != NONE:
            return True
    return False


def _is_marked_by_a_predecessor(state: State) -> bool:
    """Whether partition 0 has markers, and none of them is of the present coordinator."""
    partition, count = state.partitions[0], 0
    for offset in range(partition.end):
        if _is_marker(partition.log[offset].kind):
            if partition.log[offset].value == state.highest_epoch:
                return False
            count += 1
    return count > 0


def _is_transactional(kind: int) -> bool:
    return kind in (LogEntry.DATA, LogEntry.OFFSET)


def _is_marker(kind: int) -> bool:
    return kind in (LogEntry.COMMIT, LogEntry.ABORT)


def _is_open(partition: State, offset: int) -> bool:
    """Whether that is a record of a transaction that has no marker there yet."""
    return bool(_is_transactional(partition.log[offset].kind) and fate(partition, offset) == Outcome.UNDECIDED)


def _ends_something(partition: State, marker: int) -> bool:
    """Whether the last that a marker's producer id has in the log before it is a record."""
    ends = False
    for offset in range(marker):
        if partition.log[offset].producer_id == partition.log[marker].producer_id:
            ends = _is_transactional(partition.log[offset].kind)
    return ends


def _committed_at(partition: State, offset: int) -> int:
    """The offset of the marker that commits a record of a transaction; NONE: nothing does."""
    record = partition.log[offset]
    if not _is_transactional(record.kind):
        return NONE
    for later in range(offset + 1, partition.end):
        if partition.log[later].producer_id == record.producer_id and _is_marker(partition.log[later].kind):
            return later if partition.log[later].kind == LogEntry.COMMIT else NONE
    return NONE
