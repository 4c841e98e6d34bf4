"""What happens to the brokers of a twin: each fault of the checker as a command at the cluster."""

from zombieproof.bridge import commands
from zombieproof.bridge.clusters import COORDINATOR_NODES
from zombieproof.bridge.commands import COORDINATORS
from zombieproof.bridge.names import Lost, guards_of, leading_log
from zombieproof.bridge.requests import (
    GROUP,
    PARTITIONS,
    TRANSACTIONAL_IDS,
)
from zombieproof.bridge.twin import Twin, copied, copied_message
from zombieproof.broker.cluster.network import Message as LiveMessage
from zombieproof.checker.transactions.action_kinds import Action, partition_of, producer_of
from zombieproof.checker.transactions.capacities import OFFSETS
from zombieproof.checker.transactions.state import Message
from zombieproof.checker.transactions.vocabulary import Kind, Stage
from zombieproof.model.vocabulary import NONE, Error
from zombieproof.statemachines.partition_leader.forgetting import reads_its_log

BUDGETS = {
    Action.TIME_OUT: "timeouts",
    Action.FAIL_OVER: "failovers",
    Action.DEPOSE: "deposed",
    Action.EXPIRE: "expirations",
    Action.CHANGE_LEADER: "leader_changes",
    Action.REBALANCE: "rebalances",
    Action.FORGET_PRODUCER: "forgotten",
    Action.FORGET_GUARD: "forgotten",
    Action.LOSE_LEADER: "leaderless",
}
"""Faults at brokers that a twin can inject, and the budgets that they are taken from."""


def inject(twin: Twin, kind: Action, i: int) -> bool:
    """A fault is injected; False if there was nothing that it could happen to."""
    ends = len(leading_log(twin.cluster, COORDINATORS))
    commands.journal_of(twin.cluster).clear()
    if not _command(twin, kind, i):
        return False
    if kind in BUDGETS:
        setattr(twin.beside.budget, BUDGETS[kind], getattr(twin.beside.budget, BUDGETS[kind]) - 1)
    twin.remember_decisions(ends, 0, by_client=False)
    return True


def _command(twin: Twin, kind: Action, i: int) -> bool:
    """Do it; False if there was nothing to be done."""
    cluster = twin.cluster
    if kind == Action.TIME_OUT:
        commands.time_out(cluster, TRANSACTIONAL_IDS[i])
        return any(each.decision == "transaction_timeout" for each in commands.journal_of(cluster).decisions)
    if kind == Action.EXPIRE:
        commands.expire(cluster, TRANSACTIONAL_IDS[i])
        return any(each.decision == "transactional_id_expiration" for each in commands.journal_of(cluster).decisions)
    if kind in (Action.FORGET_PRODUCER, Action.FORGET_GUARD):
        return _forget(twin, kind, partition_of(i), producer_of(i))
    if kind == Action.RESIGN:
        commands.resign(cluster, COORDINATOR_NODES[i])
    elif kind == Action.FAIL_OVER:
        node = COORDINATOR_NODES[twin.state.coordinator]
        asked = [live for _, live in twin.beside.appends.waiting(cluster) if live.receiver == node]
        commands.fail_over(cluster)
        _ask_again(twin, asked)
    elif kind == Action.DEPOSE:
        commands.depose(cluster)
    elif kind == Action.CHANGE_LEADER:
        return twin.state.partitions[i].end > 0 and _lose_leader(twin, kind, i)
    elif kind == Action.LOSE_LEADER:
        return _lose_leader(twin, kind, i)
    elif kind == Action.ELECT:
        del twin.beside.lost[i]
        if not reads_its_log(cluster.rules):
            commands.lose_memory(cluster, PARTITIONS[i])
        commands.elect(cluster, PARTITIONS[i], was_clean=not reads_its_log(cluster.rules))
    elif kind == Action.REBALANCE:
        return _rebalance(twin)
    return True


def _ask_again(twin: Twin, asked: list[LiveMessage]) -> None:
    """Who waited for an append of a broker that is gone asks again; of a client that is gone nobody does."""
    for live in asked:
        facts = twin.beside.sent.get(live.number)
        if facts is None or facts.waits:
            twin.cluster.network.in_flight.append(live)
        else:
            del twin.beside.sent[live.number]


def _forget(twin: Twin, kind: Action, p: int, pid: int) -> bool:
    """A sweep forgets both; the checker's faults take one, and no guard while a transaction is open."""
    entries, names = twin.state.partitions[p].entries, twin.beside.names
    if pid >= min(len(entries), len(names.producer_ids)) or entries[pid].txn_first_offset != NONE:
        return False
    if kind == Action.FORGET_PRODUCER and not entries[pid].known:
        return False
    forget = commands.forget_producer if kind == Action.FORGET_PRODUCER else commands.forget_guard
    forget(twin.cluster, PARTITIONS[p], names.live_producer_id(pid))
    return bool(commands.journal_of(twin.cluster).moves)


def _lose_leader(twin: Twin, kind: Action, p: int) -> bool:
    """What was under way at the old leader is gone with it; who waits asks the new one."""
    if not twin.state.partitions[p].leader or (p == OFFSETS and twin.setup.bounds.grouped == 0):
        return False
    lost = [
        flight
        for flight in twin.flights
        if flight is not None and flight.message.partition == p and flight.message.stage != Stage.TO_LEADER
        if flight.message.kind != Kind.MARKER
    ]
    if kind == Action.CHANGE_LEADER:
        if not reads_its_log(twin.cluster.rules):
            commands.lose_memory(twin.cluster, PARTITIONS[p])
        commands.change_leader(twin.cluster, PARTITIONS[p])
    else:
        known = copied(twin.state).partitions[p]
        known.leader = False
        twin.beside.lost[p] = Lost(known, guards_of(twin.cluster, PARTITIONS[p]))
        commands.lose_leader(twin.cluster, PARTITIONS[p])
    for flight in lost:
        facts = twin.beside.sent.pop(flight.request)
        if facts.waits:
            if twin.beside.producers is not None:
                twin.beside.producers.lost(flight.request, twin.around_producers())
            twin.send(_at_leader(flight.message))
    return True


def _rebalance(twin: Twin) -> bool:
    if twin.setup.bounds.grouped == 0:
        return False
    owner = twin.state.group.owner
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
