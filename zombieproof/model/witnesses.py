"""What a scenario has to reach at least once, so that it is not vacuous: the promises of the kind *sometimes*.

The same kind of predicates as in ``promises``, on the same states.
"""

from typing import Any

from zombieproof.model.promises import fate
from zombieproof.model.vocabulary import (
    NONE,
    ConsumerState,
    LogEntry,
    Outcome,
    PartitionState,
    PendingOffsetsState,
    ProducerState,
    TransactionState,
)

State = Any
"""See ``promises.State``."""


def a_transaction_commits(state: State) -> bool:
    """Some application is told that its transaction committed."""
    return _has_result(state, Outcome.COMMIT)


def a_transaction_aborts(state: State) -> bool:
    """Some application is told that its transaction aborted."""
    return _has_result(state, Outcome.ABORT)


def _has_result(state: State, outcome: int) -> bool:
    for facts in state.ghost.labels:
        if facts.result == outcome:
            return True
    return False


def two_transactions_commit(state: State) -> bool:
    """Two transactions are committed."""
    count = 0
    for facts in state.ghost.labels:
        if facts.result == Outcome.COMMIT:
            count += 1
    return count >= 2


def a_zombie_is_fenced(state: State) -> bool:
    """A producer ends in a fatal error because a newer one has taken its transactional id."""
    return bool(state.clients[0].state == ProducerState.FATAL_ERROR and state.clients[1].producer_id != NONE)


def a_producer_is_fenced(state: State) -> bool:
    """A producer ends in a fatal error."""
    for client in state.clients:
        if client.state == ProducerState.FATAL_ERROR:
            return True
    return False


def a_fence_aborts_what_a_crash_left_open(state: State) -> bool:
    """A transaction is aborted although its application never got to ask for anything."""
    for facts in state.ghost.labels:
        if facts.asked == Outcome.UNDECIDED and facts.decided == Outcome.ABORT:
            return True
    return False


def a_commit_comes_too_late(state: State) -> bool:
    """A transaction is decided to abort although its application asked to commit: time-out or fence came first."""
    for facts in state.ghost.labels:
        if facts.asked == Outcome.COMMIT and facts.decided == Outcome.ABORT:
            return True
    return False


def a_commit_that_nobody_heard_of_is_decided(state: State) -> bool:
    """A transaction is committed whose application has gone on without an answer to its commit."""
    of_each = len(state.ghost.labels) // len(state.clients)
    for i in range(len(state.ghost.labels)):
        facts = state.ghost.labels[i]
        decided = facts.decided == Outcome.COMMIT and facts.result == Outcome.UNDECIDED
        if decided and i % of_each < state.clients[i // of_each].txn:
            return True
    return False


def a_commit_that_timed_out_is_decided(state: State) -> bool:
    """A transaction is committed while its application has stopped waiting, and can still ask how it ended."""
    of_each = len(state.ghost.labels) // len(state.clients)
    for c in range(len(state.clients)):
        client = state.clients[c]
        if client.state == ProducerState.READY and client.txn < of_each:
            facts = state.ghost.labels[c * of_each + client.txn]
            if facts.decided == Outcome.COMMIT and facts.result == Outcome.UNDECIDED:
                return True
    return False


def a_partition_begins_again_under_a_raised_epoch(state: State) -> bool:
    """A log has two batches of one producer id that both have sequence 0, under different epochs."""
    for partition in state.partitions:
        for pid in range(len(partition.entries)):
            first = NONE
            for offset in range(partition.end):
                record = partition.log[offset]
                if record.producer_id == pid and record.kind == LogEntry.PLAIN and record.value == 0:
                    if first not in (NONE, record.producer_epoch):
                        return True
                    first = int(record.producer_epoch)
    return False


def a_stored_transaction_is_taken_up(state: State) -> bool:
    """A new instance is in the transaction that an older one has begun, and stored outside."""
    for client in state.clients:
        if client.prepared_id != NONE and client.state == ProducerState.IN_TRANSACTION and client.added == 0:
            return True
    return False


def a_transaction_commits_behind_a_refusal(state: State) -> bool:
    """Some application is told that its transaction committed, after a leader has refused one of its batches."""
    return bool(state.budget.refused == 0 and _has_result(state, Outcome.COMMIT))


def a_hanging_transaction_is_aborted_by_hand(state: State) -> bool:
    """An administrator has aborted something, and a transaction with an aborted record is open nowhere any more."""
    if state.budget.aborts_by_hand > 0:
        return False
    aborted = False
    for partition in state.partitions:
        for entry in partition.entries:
            if entry.txn_first_offset != NONE:
                return False
        for offset in range(partition.end):
            if partition.log[offset].kind == LogEntry.DATA and fate(partition, offset) == Outcome.ABORT:
                aborted = True
    return aborted


def a_prepared_transaction_is_taken_over(state: State) -> bool:
    """A coordinator that did not decide a transaction completes it."""
    for durable in state.durable:
        complete = durable.state in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
        if complete and state.highest_epoch > 0 and state.coordinator == 1:
            return True
    return False


def a_stale_coordinator_still_answers(state: State) -> bool:
    """Two nodes believe to be the coordinator."""
    return bool(state.nodes[0].believes and state.nodes[1].believes)


def offsets_are_committed(state: State) -> bool:
    """The group's offset moves by a transaction."""
    return bool(state.group.committed.offset > 0)


def a_position_is_committed_beside_one_that_waits(state: State) -> bool:
    """A plain offset commit is in the log behind an offset that waits for the end of its transaction."""
    for partition in state.partitions:
        for pending in state.group.pending:
            if pending.state != PendingOffsetsState.PENDING:
                continue
            for offset in range(pending.record_offset + 1, partition.end):
                if partition.log[offset].kind == LogEntry.PLAIN_OFFSET:
                    return True
    return False


def offsets_are_deleted(state: State) -> bool:
    """The offsets of a group are deleted."""
    for partition in state.partitions:
        for offset in range(partition.end):
            if partition.log[offset].kind == LogEntry.TOMBSTONE:
                return True
    return False


def offsets_are_pending_across_a_rebalance(state: State) -> bool:
    """The input partition changes hands while offsets of its first owner are pending."""
    if state.group.generation == 0:
        return False
    for pending in state.group.pending:
        if pending.state == PendingOffsetsState.PENDING:
            return True
    return False


def the_producer_id_rotates(state: State) -> bool:
    """An exhausted epoch makes way for a new producer id."""
    for durable in state.durable:
        if durable.known and durable.producer_id > 0:
            return True
    return False


def a_guard_is_out_while_a_marker_arrives(state: State) -> bool:
    """A verification is under way at a partition that already has a marker of the same producer."""
    for partition in state.partitions:
        for entry in partition.entries:
            if entry.state == PartitionState.VERIFYING and entry.coordinator_epoch != NONE:
                return True
    return False


def a_reader_skips_and_delivers(state: State) -> bool:
    """The broker's reader has read to the end past an aborted transaction, and delivered a committed one."""
    partition = state.partitions[0]
    reader = state.readers[0]
    aborted = False
    for offset in range(reader.position):
        if partition.log[offset].kind == LogEntry.ABORT:
            aborted = True
    return bool(aborted and reader.delivered != 0)


def a_buffering_reader_holds_back(state: State) -> bool:
    """The buffering reader holds a transaction back."""
    for reading in state.readers[1].states:
        if reading == ConsumerState.BUFFERING:
            return True
    return False


def a_partition_is_without_a_leader_while_a_marker_waits(state: State) -> bool:
    """A transaction is decided while one of its partitions has no leader."""
    for p in range(len(state.partitions)):
        for durable in state.durable:
            decided = durable.state in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)
            if decided and not state.partitions[p].leader and (durable.partitions >> p) & 1 == 1:
                return True
    return False


def a_new_leader_knows_an_open_transaction(state: State) -> bool:
    """After a change of leader the partition still knows an open transaction."""
    if state.budget.leader_changes > 0:
        return False
    for partition in state.partitions:
        for entry in partition.entries:
            if entry.state == PartitionState.IN_TRANSACTION:
                return True
    return False


def two_batches_are_remembered(state: State) -> bool:
    """A leader remembers more than one batch of a producer."""
    for partition in state.partitions:
        for entry in partition.entries:
            if entry.batch_count > 1:
                return True
    return False


def an_id_is_forgotten(state: State) -> bool:
    """A transactional id has expired."""
    return bool(not state.durable[0].known and state.next_producer_id > 0 and state.budget.expirations == 0)


def a_question_waits(state: State) -> bool:
    """A leader's question to a coordinator waits behind another one."""
    for lane in state.lanes:
        if lane.waiting > 0:
            return True
    return False


def a_newer_question_takes_the_place(state: State) -> bool:
    """A question that waited has given its place to one of a newer epoch."""
    return bool(state.ghost.outrun)


def an_answer_comes_behind_a_marker(state: State) -> bool:
    """The answer to a question is on its way, and a marker has removed the guard that it was asked for."""
    for message in state.messages:
        if message.guard > 0:
            entry = state.partitions[message.partition].entries[message.producer_id]
            if entry.guard != message.guard and entry.coordinator_epoch != NONE:
                return True
    return False


def a_coordinator_has_used_up_a_block(state: State) -> bool:
    """A coordinator node has handed out every producer id that it has, and waits for the controller."""
    for blocks in state.blocks:
        if blocks.size > 0 and blocks.used == blocks.size and blocks.next_size == 0:
            return True
    return False


def a_new_coordinator_hands_out_producer_ids(state: State) -> bool:
    """A coordinator that took over has handed out a producer id from its own block, and its predecessor one too."""
    if state.highest_epoch == 0 or state.next_producer_id < 2:
        return False
    return bool(state.coordinator == 1 and len(state.blocks) > 1 and state.blocks[1].used > 0)


def a_marker_is_appended_behind_the_bound_of_a_fetch(state: State) -> bool:
    """A fetch has its bound and has not read yet, and a marker lies in the log behind that bound."""
    for fetch in state.fetches:
        if fetch.bound == NONE:
            continue
        partition = state.partitions[0]
        for offset in range(fetch.bound, partition.end):
            if partition.log[offset].kind in (LogEntry.COMMIT, LogEntry.ABORT):
                return True
    return False


def a_fetch_meets_what_the_cleaner_has_left(state: State) -> bool:
    """A fetch has its bound and has not read yet, and the cleaner has removed a record below that bound."""
    for fetch in state.fetches:
        if fetch.bound == NONE:
            continue
        for offset in range(state.readers[0].position, fetch.bound):
            if ((state.remains[0].gone | state.remains[0].empty) >> offset) & 1 == 1:
                return True
    return False


def a_new_leader_reads_a_cleaned_log(state: State) -> bool:
    """The leader of a partition has changed, and of a log of which the cleaner has left less than was written."""
    if state.budget.leader_changes > 0:
        return False
    for remains in state.remains:
        if remains.gone != 0:
            return True
    return False


def a_transaction_is_open_that_begins_below_its_log(state: State) -> bool:
    """Retention has dropped the first record of a transaction that is open."""
    for p in range(len(state.remains)):
        for entry in state.partitions[p].entries:
            if NONE < entry.txn_first_offset < state.remains[p].start:
                return True
    return False


def a_record_is_sent_again_that_retention_has_dropped(state: State) -> bool:
    """A batch is on its way that is written already, below where its log begins."""
    for message in state.messages:
        if message.label == 0 or len(state.remains) == 0:
            continue
        for offset in range(state.remains[message.partition].start):
            if message.live and state.partitions[message.partition].log[offset].label == message.label:
                return True
    return False
