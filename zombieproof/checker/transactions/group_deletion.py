"""An administrator deletes the group with its offsets, or its input topic, which takes the offsets along.

DeleteGroups is judged by the steps of the brokers. The tombstones of all offsets are one record here. A group that has
no offset does not exist: its consumers are assigned their input by hand, and no member makes it.
"""

from zombieproof.checker.transactions.capacities import LABELS, LOG, MESSAGES, OFFSETS
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import Message, State, Trail
from zombieproof.checker.transactions.views import GroupView
from zombieproof.checker.transactions.vocabulary import Kind, Overflow, Stage
from zombieproof.model.vocabulary import NONE, Error, LogEntry, PendingOffsetsState
from zombieproof.statemachines.classic_group import deletion
from zombieproof.statemachines.group_coordinator import offsets


def delete_group(state: State, setup: Setup, trail: Trail) -> bool:
    """DeleteGroups reaches the group coordinator; False if the group stays."""
    if setup.bounds.no_members == 0 or not state.partitions[OFFSETS].leader:
        return False
    transactions = _pending_transactions(state)
    is_known = transactions > 0 or state.group.committed.record_offset != NONE
    group = GroupView(bool(is_known), False, True, NONE)
    if deletion.refusal_of_deletion(group, transactions, setup.rules, trail) != Error.NONE:
        return False
    state.budget.group_deletions -= 1
    _write_tombstones(state, setup, trail)
    return True


def recreate_input(state: State, setup: Setup, trail: Trail) -> bool:
    """The input topic is deleted, with all offsets in it, and created again: requests on their way name the old id."""
    if setup.bounds.grouped == 0 or not state.partitions[OFFSETS].leader:
        return False
    state.budget.recreations -= 1
    if _pending_transactions(state) > 0 or state.group.committed.record_offset != NONE:
        _write_tombstones(state, setup, trail)
    for i in range(MESSAGES):
        message = state.messages[i]
        at_sender = message.stage == Stage.TO_LEADER and not message.answered
        if message.kind == Kind.TXN_OFFSET_COMMIT and message.live and at_sender:
            state.outdated[message.client] = setup.rules.commit_by_topic_id == 1
    return True


def is_outdated(state: State, message: Message) -> bool:
    """Whether a request names the id of an input topic that does not exist any more."""
    return message.kind == Kind.TXN_OFFSET_COMMIT and message.live and state.outdated[message.client]


def remove_offsets(state: State, trail: Trail, reaches_pending: bool) -> None:
    """The tombstones are in the log: of what is pending they take along what the rules say."""
    for pid in range(len(state.group.pending)):
        trail.subject = pid
        if reaches_pending:
            offsets.is_deleted(state.group.committed, state.group.pending[pid], trail)
        else:
            offsets.committed_is_deleted(state.group.committed)
    # Without a committed offset a consumer begins at the first one.
    state.group.committed.offset = 0


def _pending_transactions(state: State) -> int:
    count = 0
    for pending in state.group.pending:
        if pending.state == PendingOffsetsState.PENDING:
            count += 1
    return count


def _decided(state: State) -> int:
    """Ghost: a mask of the transactions that are decided."""
    found = 0
    for i in range(LABELS):
        if state.ghost.labels[i].decided != 0:
            found |= 1 << i
    return found


def _write_tombstones(state: State, setup: Setup, trail: Trail) -> None:
    partition = state.partitions[OFFSETS]
    if partition.end >= LOG:
        state.overflow = Overflow.LOG_END
        return
    record = partition.log[partition.end]
    record.kind = LogEntry.TOMBSTONE
    record.producer_id = NONE
    record.producer_epoch = NONE
    record.value = _decided(state)
    record.label = 0
    partition.end += 1
    remove_offsets(state, trail, offsets.tombstone_reaches_what_waits(False, setup.rules))
