"""An offset that is committed beside transactions: what a consumer does by itself whose auto commit was left on.

The request's way is folded into one step: it changes nothing where it is refused, and is not sent again.
"""

from zombieproof.checker.transactions import group_appends
from zombieproof.checker.transactions.capacities import LOG, OFFSETS
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import State, Trail
from zombieproof.checker.transactions.views import ClassicGroupView
from zombieproof.checker.transactions.vocabulary import Overflow
from zombieproof.model.vocabulary import NONE, ClassicGroupState, Error, LogEntry, ProducerState
from zombieproof.statemachines.group_coordinator import commits, offsets
from zombieproof.statemachines.group_coordinator.effects import clear

OFFSET_COMMIT = 9
"""The version of OffsetCommit that the consumer sends."""


def commit(state: State, setup: Setup, trail: Trail, c: int) -> bool:
    """The consumer of client `c` commits the position behind the input that it has read."""
    client, partition = state.clients[c], state.partitions[OFFSETS]
    if c >= setup.bounds.clients or not client.alive or client.state == ProducerState.FATAL_ERROR:
        return False
    if client.generation == NONE or client.position >= setup.bounds.inputs or not partition.leader:
        return False
    if not _is_accepted(state, trail, c):
        return False
    state.budget.plain_commits -= 1
    if partition.end >= LOG:
        state.overflow = Overflow.LOG_END
        return True
    offset = int(partition.end)
    record = partition.log[offset]
    record.kind = LogEntry.PLAIN_OFFSET
    record.producer_id = NONE
    record.producer_epoch = NONE
    record.value = client.position + 1
    record.label = 0
    partition.end += 1
    offsets.is_committed(state.group.committed, int(record.value), offset)
    group_appends.replicate(state, setup)
    return True


def _is_accepted(state: State, trail: Trail, c: int) -> bool:
    """Whether the group coordinator takes the member of this client, and its generation, for present."""
    generation = int(state.clients[c].generation)
    group = ClassicGroupView(True, False, False, int(state.group.generation), int(ClassicGroupState.STABLE), False)
    sender = commits.plain_sender_of(c, state.group.owner == c)
    clear(trail.group)
    commits.plain_is_judged_by_classic(group, sender, OFFSET_COMMIT, generation, trail.group, trail)
    return bool(trail.group.error == Error.NONE)
