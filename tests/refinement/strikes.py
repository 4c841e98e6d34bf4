"""What strikes the brokers of a twin: each fault of the checker as a command at the cluster."""

from tests.refinement import commands
from tests.refinement.commands import COORDINATORS
from tests.refinement.flights import COORDINATOR_NODES
from tests.refinement.names import Lost, guards_of, leading_log
from tests.refinement.requests import (
    GROUP,
    PARTITIONS,
    TRANSACTIONAL_IDS,
)
from tests.refinement.twin import Twin, copied, copied_message
from zombieproof.checker.transactions.acts import Act
from zombieproof.checker.transactions.world import OFFSETS, PRODUCER_IDS, Kind, Message, Stage
from zombieproof.model.vocabulary import NONE, Error

BUDGETS = {
    Act.TIME_OUT: "timeouts",
    Act.FAIL_OVER: "failovers",
    Act.DEPOSE: "deposed",
    Act.EXPIRE: "expirations",
    Act.CHANGE_LEADER: "leader_changes",
    Act.REBALANCE: "rebalances",
    Act.FORGET_PRODUCER: "forgotten",
    Act.FORGET_GUARD: "forgotten",
    Act.LOSE_LEADER: "leaderless",
}
"""Faults at brokers that a twin can strike with, and the budgets that they are taken from."""


def strike(twin: Twin, act: Act, i: int) -> bool:
    """A fault strikes; False if there was nothing to strike."""
    ends = len(leading_log(twin.cluster, COORDINATORS))
    commands.journal_of(twin.cluster).clear()
    if not _command(twin, act, i):
        return False
    if act in BUDGETS:
        setattr(twin.beside.budget, BUDGETS[act], getattr(twin.beside.budget, BUDGETS[act]) - 1)
    twin.remember_decisions(ends, None)
    return True


def _command(twin: Twin, act: Act, i: int) -> bool:
    """Do it; False if there was nothing to be done."""
    cluster = twin.cluster
    if act == Act.TIME_OUT:
        commands.time_out(cluster, TRANSACTIONAL_IDS[i])
        return any(each.decision == "transaction_timeout" for each in commands.journal_of(cluster).decisions)
    if act == Act.EXPIRE:
        commands.expire(cluster, TRANSACTIONAL_IDS[i])
        return any(each.decision == "transactional_id_expiration" for each in commands.journal_of(cluster).decisions)
    if act in (Act.FORGET_PRODUCER, Act.FORGET_GUARD):
        return _forget(twin, act, i // PRODUCER_IDS, i % PRODUCER_IDS)
    if act == Act.RESIGN:
        commands.resign(cluster, COORDINATOR_NODES[i])
    elif act == Act.FAIL_OVER:
        commands.fail_over(cluster)
    elif act == Act.DEPOSE:
        commands.depose(cluster)
    elif act == Act.CHANGE_LEADER:
        return twin.world.partitions[i].end > 0 and _lose_leader(twin, act, i)
    elif act == Act.LOSE_LEADER:
        return _lose_leader(twin, act, i)
    elif act == Act.ELECT:
        del twin.beside.lost[i]
        commands.elect(cluster, PARTITIONS[i])
    elif act == Act.REBALANCE:
        return _rebalance(twin)
    return True


def _forget(twin: Twin, act: Act, p: int, pid: int) -> bool:
    """A sweep forgets both; the checker's faults strike one, and no guard while a transaction is open."""
    entry, names = twin.world.partitions[p].entries[pid], twin.beside.names
    if pid >= len(names.producer_ids) or entry.txn_first_offset != NONE:
        return False
    if act == Act.FORGET_PRODUCER and not entry.known:
        return False
    forget = commands.forget_producer if act == Act.FORGET_PRODUCER else commands.forget_guard
    forget(twin.cluster, PARTITIONS[p], names.live_producer_id(pid))
    return bool(commands.journal_of(twin.cluster).moves)


def _lose_leader(twin: Twin, act: Act, p: int) -> bool:
    """What was under way at the old leader is gone with it; who waits asks the new one."""
    if twin.world.partitions[p].leader == 0 or (p == OFFSETS and twin.setup.bounds.grouped == 0):
        return False
    lost = [
        flight
        for flight in twin.flights
        if flight is not None and flight.message.partition == p and flight.message.stage != Stage.TO_LEADER
        if flight.message.kind != Kind.MARKER
    ]
    if act == Act.CHANGE_LEADER:
        commands.change_leader(twin.cluster, PARTITIONS[p])
    else:
        known = copied(twin.world).partitions[p]
        known.leader = 0
        twin.beside.lost[p] = Lost(known, guards_of(twin.cluster, PARTITIONS[p]))
        commands.lose_leader(twin.cluster, PARTITIONS[p])
    for flight in lost:
        facts = twin.beside.sent.pop(flight.request)
        if facts.waits:
            twin.send(_at_leader(flight.message))
    return True


def _rebalance(twin: Twin) -> bool:
    if twin.setup.bounds.grouped == 0:
        return False
    owner = twin.world.group.owner
    joins = (owner + 1) % twin.setup.bounds.clients
    members = list(twin.beside.members)
    members[joins] = commands.rebalance(twin.cluster, GROUP, members[owner])
    twin.beside.members = tuple(members)
    return True


def _at_leader(message: Message) -> Message:
    """A request as its client sends it."""
    again = copied_message(message)
    again.stage, again.node, again.error, again.guard = Stage.TO_LEADER, 0, Error.NONE, 0
    return again
