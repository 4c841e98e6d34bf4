"""Offset commits that are appended, and not replicated yet (`Bounds.group_appends`): the offsets log, step by step.

A commit is appended and taken into memory in one step; replicas have it some time later, and whoever asked is told
some time after that. Meanwhile a marker may come, which is told when replicas have it, and all before it; another
generation; another leader, which has what was not replicated, or has not. Until replicas have it nobody who reads sees
it.
"""

from zombieproof.checker.transactions.capacities import OFFSETS
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import Message, State
from zombieproof.checker.transactions.vocabulary import Kind, Stage
from zombieproof.model.vocabulary import NONE
from zombieproof.statemachines.group_coordinator import appends


def travels(setup: Setup) -> bool:
    """Whether commits take their time in this scenario."""
    return setup.bounds.group_appends == 1


def waits(setup: Setup, message: Message, offset: int) -> bool:
    """A commit is in the log at `offset`: whether its answer waits for the replicas."""
    if not travels(setup) or not message.live or appends.answers_with_append(setup.rules):
        return False
    message.stage = Stage.APPENDING
    message.error = 1 + offset
    message.guard = 0
    return True


def replicate(state: State, setup: Setup) -> bool:
    """All replicas have what is in the offsets log; whether that is news."""
    if not travels(setup) or state.replicated[0] == state.partitions[OFFSETS].end:
        return False
    state.replicated[0] = state.partitions[OFFSETS].end
    return True


def is_waiting(message: Message) -> bool:
    """Whether a commit is in the log, and not answered."""
    return message.kind == Kind.TXN_OFFSET_COMMIT and message.stage == Stage.APPENDING


def may_be_answered(state: State, message: Message) -> bool:
    """Whether replicas have the record of a commit that is not answered."""
    return is_waiting(message) and message.error <= state.replicated[0]


def leave(message: Message) -> None:
    """A commit is answered, one way or the other."""
    message.stage = Stage.TO_LEADER
    message.error = 0


def may_fail(state: State, setup: Setup, message: Message) -> bool:
    """Whether a commit comes to the log when it is delivered."""
    if message.kind != Kind.TXN_OFFSET_COMMIT or not message.live or message.answered:
        return False
    partition = state.partitions[OFFSETS]
    if not partition.leader:
        return False
    if message.stage == Stage.BACK_TO_LEADER:
        return bool(message.error == 0)
    is_open = partition.entries[message.producer_id].txn_first_offset != NONE
    return message.stage == Stage.TO_LEADER and (is_open or setup.rules.verification == 0)


def is_seen(state: State, setup: Setup, record_offset: int) -> bool:
    """Whether who reads offsets sees a record."""
    return not travels(setup) or appends.is_seen(record_offset, int(state.replicated[0]))


def cut(state: State) -> bool:
    """What replicas do not have is gone from the offsets log; whether there was any."""
    partition = state.partitions[OFFSETS]
    if state.replicated[0] == partition.end:
        return False
    for offset in range(state.replicated[0], partition.end):
        record = partition.log[offset]
        record.kind = 0
        record.producer_id = 0
        record.producer_epoch = 0
        record.value = 0
        record.label = 0
    partition.end = state.replicated[0]
    return True
