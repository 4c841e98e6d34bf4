"""Faults of brokers: failover, deposition, time-out, expiry, leaders that change or are gone, rebalances.

Each has a budget in the state (`causes` asks whether one is left); a fault with nothing to happen to is disabled. What
happens to messages and clients (lost, doubled, late, crashed) is in ``actions`` and ``client_actions``.
"""

from zombieproof.checker.transactions import (
    appends_under_way,
    coordinator_actions,
    group_appends,
    id_blocks,
    partition_actions,
    questions_under_way,
    replication,
)
from zombieproof.checker.transactions.action_kinds import Action, partition_of, producer_of
from zombieproof.checker.transactions.capacities import OFFSETS
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import State, Trail
from zombieproof.model.vocabulary import NONE
from zombieproof.statemachines.group_coordinator import appends
from zombieproof.statemachines.partition_leader import forgetting


def _rebalance(state: State, setup: Setup) -> bool:
    """The group takes its first owner for dead: the next member owns the input partition in the next generation."""
    state.budget.rebalances -= 1
    if not appends.tells_with_append(setup.rules):
        group_appends.replicate(state, setup)
    state.group.generation += 1
    state.group.owner = (state.group.owner + 1) % setup.bounds.clients
    return True


def inject(state: State, setup: Setup, trail: Trail, kind: int, i: int) -> bool:
    """A fault of the broker, partition or group that it names: whether anything happened."""
    if kind == Action.REBALANCE:
        return _rebalance(state, setup)
    if kind == Action.TIME_OUT:
        if not coordinator_actions.time_out(state, setup, trail, i):
            return False
        state.budget.timeouts -= 1
        return True
    if kind == Action.FAIL_OVER:
        return _fail_over(state, setup, trail)
    if kind == Action.DEPOSE:
        return _depose(state, setup, trail)
    if kind == Action.RESIGN:
        return _resign(state, i)
    if kind == Action.EXPIRE:
        return _expire(state, setup, trail, i)
    if kind in (Action.FORGET_PRODUCER, Action.FORGET_GUARD):
        return _forget(state, trail, kind, partition_of(i), producer_of(i))
    return _inject_at_partition(state, setup, trail, kind, i)


def _fail_over(state: State, setup: Setup, trail: Trail) -> bool:
    """The coordinator's broker crashes; the other one loads the log."""
    state.budget.failovers -= 1
    if len(state.appends) > 0:
        appends_under_way.drop(state, state.coordinator)
    coordinator_actions.forget(state, state.coordinator)
    if len(state.blocks) > 0 and setup.bounds.id_blocks > 0:
        id_blocks.start(state, int(state.coordinator))
    coordinator_actions.take_over(state, setup, trail)
    return True


def _depose(state: State, setup: Setup, trail: Trail) -> bool:
    """The other broker is elected coordinator, and the old one does not know it yet."""
    state.budget.deposed -= 1
    coordinator_actions.take_over(state, setup, trail)
    return True


def _resign(state: State, node: int) -> bool:
    """A deposed node learns of it."""
    if node == state.coordinator or not state.nodes[node].believes:
        return False
    coordinator_actions.forget(state, node)
    return True


def _expire(state: State, setup: Setup, trail: Trail, k: int) -> bool:
    """A transactional id that is idle is forgotten."""
    if not coordinator_actions.expire(state, setup, trail, k):
        return False
    state.budget.expirations -= 1
    return True


def _forget(state: State, trail: Trail, kind: int, p: int, pid: int) -> bool:
    """A leader forgets a producer that was silent for long, or a guard that nobody used (reference §3.7).

    A guard takes its entry along if nothing else is known of the producer.
    """
    if pid >= len(state.partitions[p].entries):
        return False
    entry = state.partitions[p].entries[pid]
    if entry.txn_first_offset != NONE:
        return False
    of_guard = kind == Action.FORGET_GUARD
    if not (entry.guard if of_guard else entry.known):
        return False
    trail.subject = p
    forgetting.forget(entry, not of_guard, True, trail)
    state.budget.forgotten -= 1
    return True


def _inject_at_partition(state: State, setup: Setup, trail: Trail, kind: int, p: int) -> bool:
    partition = state.partitions[p]
    if p == OFFSETS and setup.bounds.grouped == 0:
        return False
    if kind == Action.ELECT:
        if partition.leader:
            return False
        partition_actions.elect_leader(state, setup, trail, p)
        return True
    if not partition.leader:
        return False
    if kind == Action.LOSE_LEADER:
        state.budget.leaderless -= 1
        _lose_leader(state, setup, trail, p)
        return True
    if partition.end == 0:
        return False
    state.budget.leader_changes -= 1
    _lose_leader(state, setup, trail, p)
    partition_actions.elect_leader(state, setup, trail, p)
    return True


def cut_offsets(state: State, setup: Setup, trail: Trail) -> bool:
    """Another broker leads the offsets, and has nothing of what its predecessor alone had."""
    if not state.partitions[OFFSETS].leader or not group_appends.cut(state):
        return False
    state.budget.leader_changes -= 1
    _lose_leader(state, setup, trail, OFFSETS)
    partition_actions.elect_leader(state, setup, trail, OFFSETS)
    return True


def _lose_leader(state: State, setup: Setup, trail: Trail, p: int) -> None:
    if len(state.lanes) > 0 and setup.bounds.verification_queue == 1:
        questions_under_way.lose_leader(state, setup, p)
    replication.lose_leader(state, setup, trail, p)
