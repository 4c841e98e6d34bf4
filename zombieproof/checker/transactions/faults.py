"""Faults that strike brokers: failover, deposition, time-out, expiry, leaders that change or are gone, rebalances.

Each has a budget in the world; a fault without budget, or with nothing to strike, is disabled. What strikes messages
and clients (lost, doubled, late, crashed) is in ``actions`` and ``client_actions``.
"""

from zombieproof.checker.transactions import (
    appends_under_way,
    coordinator_actions,
    id_blocks,
    network,
    partition_actions,
    questions_under_way,
)
from zombieproof.checker.transactions.acts import Act
from zombieproof.checker.transactions.world import OFFSETS, PRODUCER_IDS, Setup, Trail, World
from zombieproof.model.vocabulary import NONE
from zombieproof.statemachines.partition_leader import forgetting


def _rebalance(world: World, setup: Setup) -> bool:
    """The group takes its first owner for dead: the next member owns the input partition in the next generation."""
    if setup.bounds.grouped == 0 or world.budget.rebalances == 0:
        return False
    world.budget.rebalances -= 1
    world.group.generation += 1
    world.group.owner = (world.group.owner + 1) % setup.bounds.clients
    return True


def strike(world: World, setup: Setup, trail: Trail, act: int, i: int) -> bool:
    """A fault strikes the broker, partition or group that it names: whether anything happened."""
    if act == Act.REBALANCE:
        return _rebalance(world, setup)
    if act == Act.TIME_OUT:
        if world.budget.timeouts == 0 or not coordinator_actions.time_out(world, setup, trail, i):
            return False
        world.budget.timeouts -= 1
        return True
    if act == Act.FAIL_OVER:
        return _fail_over(world, setup, trail)
    if act == Act.DEPOSE:
        return _depose(world, setup, trail)
    if act == Act.RESIGN:
        return _resign(world, i)
    if act == Act.EXPIRE:
        return _expire(world, setup, trail, i)
    if act in (Act.FORGET_PRODUCER, Act.FORGET_GUARD):
        return _forget(world, trail, act, i // PRODUCER_IDS, i % PRODUCER_IDS)
    return _strike_partition(world, setup, trail, act, i)


def _fail_over(world: World, setup: Setup, trail: Trail) -> bool:
    """The coordinator's broker crashes; the other one loads the log."""
    if world.budget.failovers == 0:
        return False
    world.budget.failovers -= 1
    appends_under_way.drop(world, world.coordinator)
    coordinator_actions.forget(world, world.coordinator)
    if setup.bounds.id_blocks > 0:
        id_blocks.start(world, int(world.coordinator))
    _take_over(world, setup, trail)
    return True


def _depose(world: World, setup: Setup, trail: Trail) -> bool:
    """The other broker is elected coordinator, and the old one does not know it yet."""
    if world.budget.deposed == 0:
        return False
    world.budget.deposed -= 1
    _take_over(world, setup, trail)
    return True


def _take_over(world: World, setup: Setup, trail: Trail) -> None:
    epoch = world.highest_epoch
    world.highest_epoch = epoch + 1
    world.coordinator = 1 - world.coordinator
    network.hang_up_node(world, world.coordinator)
    world.nodes[world.coordinator].role = 1
    world.nodes[world.coordinator].epoch = epoch + 1
    coordinator_actions.load(world, setup, trail, world.coordinator)


def _resign(world: World, node: int) -> bool:
    """A deposed node learns of it."""
    if node == world.coordinator or world.nodes[node].role == 0:
        return False
    coordinator_actions.forget(world, node)
    return True


def _expire(world: World, setup: Setup, trail: Trail, k: int) -> bool:
    """A transactional id that is idle is forgotten."""
    if world.budget.expirations == 0 or not coordinator_actions.expire(world, setup, trail, k):
        return False
    world.budget.expirations -= 1
    return True


def _forget(world: World, trail: Trail, act: int, p: int, pid: int) -> bool:
    """A leader forgets a producer that was silent for long, or a guard that nobody used (reference §3.7).

    A guard takes its entry along if nothing else is known of the producer.
    """
    entry = world.partitions[p].entries[pid]
    if world.budget.forgotten == 0 or entry.txn_first_offset != NONE:
        return False
    of_guard = act == Act.FORGET_GUARD
    if (entry.guard if of_guard else entry.known) == 0:
        return False
    trail.subject = p
    forgetting.forget(entry, not of_guard, True, trail)
    world.budget.forgotten -= 1
    return True


def _strike_partition(world: World, setup: Setup, trail: Trail, act: int, p: int) -> bool:
    partition = world.partitions[p]
    if p == OFFSETS and setup.bounds.grouped == 0:
        return False
    if act == Act.ELECT:
        if partition.leader == 1:
            return False
        partition_actions.elect_leader(world, setup, trail, p)
        return True
    if partition.leader == 0:
        return False
    if act == Act.LOSE_LEADER:
        if world.budget.leaderless == 0:
            return False
        world.budget.leaderless -= 1
        _lose_leader(world, setup, p)
        return True
    if world.budget.leader_changes == 0 or partition.end == 0:
        return False
    world.budget.leader_changes -= 1
    _lose_leader(world, setup, p)
    partition_actions.elect_leader(world, setup, trail, p)
    return True


def _lose_leader(world: World, setup: Setup, p: int) -> None:
    if setup.bounds.verification_queue == 1:
        questions_under_way.lose_leader(world, setup, p)
    partition_actions.lose_leader(world, p)
