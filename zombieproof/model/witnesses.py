"""What a scenario has to reach at least once, so that it is not vacuous: the promises of the kind *sometimes*.

The same kind of predicates as in ``promises``, on the same worlds.
"""

from typing import Any

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

World = Any
"""See ``promises.World``."""


def a_transaction_commits(world: World) -> bool:
    """Some application is told that its transaction committed."""
    return _told(world, Outcome.COMMIT)


def a_transaction_aborts(world: World) -> bool:
    """Some application is told that its transaction aborted."""
    return _told(world, Outcome.ABORT)


def _told(world: World, outcome: int) -> bool:
    for told in world.ghost.labels:
        if told.told == outcome:
            return True
    return False


def two_transactions_commit(world: World) -> bool:
    """Two transactions are committed."""
    count = 0
    for told in world.ghost.labels:
        if told.told == Outcome.COMMIT:
            count += 1
    return count >= 2


def a_zombie_is_fenced(world: World) -> bool:
    """A producer ends in a fatal error because a newer one has taken its transactional id."""
    return bool(world.clients[0].state == ProducerState.FATAL_ERROR and world.clients[1].producer_id != NONE)


def a_producer_is_fenced(world: World) -> bool:
    """A producer ends in a fatal error."""
    for client in world.clients:
        if client.state == ProducerState.FATAL_ERROR:
            return True
    return False


def a_fence_aborts_what_a_crash_left_open(world: World) -> bool:
    """A transaction is aborted although its application never got to ask for anything."""
    for told in world.ghost.labels:
        if told.asked == Outcome.UNDECIDED and told.decided == Outcome.ABORT:
            return True
    return False


def a_commit_comes_too_late(world: World) -> bool:
    """A transaction is decided to abort although its application asked to commit: time-out or fence came first."""
    for told in world.ghost.labels:
        if told.asked == Outcome.COMMIT and told.decided == Outcome.ABORT:
            return True
    return False


def a_prepared_transaction_is_taken_over(world: World) -> bool:
    """A coordinator that did not decide a transaction completes it."""
    for durable in world.durable:
        complete = durable.state in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
        if complete and world.highest_epoch > 0 and world.coordinator == 1:
            return True
    return False


def a_stale_coordinator_still_answers(world: World) -> bool:
    """Two nodes believe to be the coordinator."""
    return bool(world.nodes[0].role == 1 and world.nodes[1].role == 1)


def offsets_are_committed(world: World) -> bool:
    """The group's offset moves by a transaction."""
    return bool(world.group.committed.offset > 0)


def offsets_are_pending_across_a_rebalance(world: World) -> bool:
    """The input partition changes hands while offsets of its first owner are pending."""
    if world.group.generation == 0:
        return False
    for pending in world.group.pending:
        if pending.state == PendingOffsetsState.PENDING:
            return True
    return False


def the_producer_id_rotates(world: World) -> bool:
    """An exhausted epoch makes way for a new producer id."""
    for durable in world.durable:
        if durable.known == 1 and durable.producer_id > 0:
            return True
    return False


def a_guard_is_out_while_a_marker_arrives(world: World) -> bool:
    """A verification is under way at a partition that already has a marker of the same producer."""
    for partition in world.partitions:
        for entry in partition.entries:
            if entry.state == PartitionState.VERIFYING and entry.coordinator_epoch != NONE:
                return True
    return False


def a_reader_skips_and_delivers(world: World) -> bool:
    """The broker's reader has read to the end past an aborted transaction, and delivered a committed one."""
    partition = world.partitions[0]
    reader = world.readers[0]
    aborted = False
    for offset in range(reader.position):
        if partition.log[offset].kind == LogEntry.ABORT:
            aborted = True
    return bool(aborted and reader.delivered != 0)


def a_buffering_reader_holds_back(world: World) -> bool:
    """The buffering reader holds a transaction back."""
    for state in world.readers[1].states:
        if state == ConsumerState.BUFFERING:
            return True
    return False


def a_partition_is_without_a_leader_while_a_marker_waits(world: World) -> bool:
    """A transaction is decided while one of its partitions has no leader."""
    for p in range(len(world.partitions)):
        for durable in world.durable:
            decided = durable.state in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)
            if decided and world.partitions[p].leader == 0 and (durable.partitions >> p) & 1 == 1:
                return True
    return False


def a_new_leader_knows_an_open_transaction(world: World) -> bool:
    """After a change of leader the partition still knows an open transaction."""
    if world.budget.leader_changes > 0:
        return False
    for partition in world.partitions:
        for entry in partition.entries:
            if entry.state == PartitionState.IN_TRANSACTION:
                return True
    return False


def two_batches_are_remembered(world: World) -> bool:
    """A leader remembers more than one batch of a producer."""
    for partition in world.partitions:
        for entry in partition.entries:
            if entry.batch_count > 1:
                return True
    return False


def an_id_is_forgotten(world: World) -> bool:
    """A transactional id has expired."""
    return bool(world.durable[0].known == 0 and world.next_producer_id > 0 and world.budget.expirations == 0)


def a_question_waits(world: World) -> bool:
    """A leader's question to a coordinator waits behind another one."""
    for lane in world.lanes:
        if lane.waiting > 0:
            return True
    return False


def a_newer_question_takes_the_place(world: World) -> bool:
    """A question that waited has given its place to one of a newer epoch."""
    return bool(world.ghost.outrun == 1)


def an_answer_comes_behind_a_marker(world: World) -> bool:
    """The answer to a question is on its way, and a marker has removed the guard that it was asked for."""
    for message in world.messages:
        if message.guard > 0:
            entry = world.partitions[message.partition].entries[message.producer_id]
            if entry.guard != message.guard and entry.coordinator_epoch != NONE:
                return True
    return False


def a_coordinator_has_used_up_a_block(world: World) -> bool:
    """A coordinator node has handed out every producer id that it has, and waits for the controller."""
    for blocks in world.blocks:
        if blocks.size > 0 and blocks.used == blocks.size and blocks.next_size == 0:
            return True
    return False


def a_new_coordinator_hands_out_producer_ids(world: World) -> bool:
    """A coordinator that took over has handed out a producer id from its own block, and its predecessor one too."""
    if world.highest_epoch == 0 or world.next_producer_id < len(world.given):
        return False
    return bool(world.coordinator == 1 and len(world.blocks) > 1 and world.blocks[1].used > 0)
