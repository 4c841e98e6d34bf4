"""The transaction protocol as a model for the engine: its states, actions, promises and coverage."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from zombieproof.checker.engine.model import Model, Promise
from zombieproof.checker.transactions import id_blocks, late_copies, network
from zombieproof.checker.transactions.action_kinds import ACTIONS, ACTIONS_AT_ONCE, ACTIONS_BETWEEN_BROKERS, FAULTS
from zombieproof.checker.transactions.actions import step
from zombieproof.checker.transactions.alike import sorts_of
from zombieproof.checker.transactions.budget import Budget
from zombieproof.checker.transactions.capacities import (
    APPENDS,
    CLIENTS,
    LOG,
    MORE_PRODUCER_IDS,
    NODES,
    OPS,
    PARTITIONS,
    PRODUCER_IDS,
    READERS,
    TXNS,
)
from zombieproof.checker.transactions.causes import worth_trying
from zombieproof.checker.transactions.narration import action_name, describe, subject_name
from zombieproof.checker.transactions.order import ORDER
from zombieproof.checker.transactions.setup import Bounds, Setup
from zombieproof.checker.transactions.state import (
    Allocation,
    CheckedEntry,
    FetchUnderWay,
    Group,
    Partition,
    ProducerSnapshot,
    Reader,
    Remains,
    Replica,
    State,
    Trail,
    UnderWay,
)
from zombieproof.checker.transactions.tasks import tasks
from zombieproof.checker.transactions.vocabulary import Op, Overflow
from zombieproof.model.catalogue import IN_STATES
from zombieproof.model.records import PendingOffset
from zombieproof.model.rules import Rules
from zombieproof.statemachines.partition_leader.questions import Lane
from zombieproof.statemachines.producer_ids import ProducerIdBlocks
from zombieproof.statemachines.registry import MACHINES

OVERFLOWS: Mapping[int, str] = {
    int(Overflow.MESSAGE_SLOTS): "messages in flight",
    int(Overflow.LOG_END): "records in a partition's log",
    int(Overflow.PRODUCER_IDS): f"producer ids ({PRODUCER_IDS}; {MORE_PRODUCER_IDS} with --bounds more_producer_ids=1)",
    int(Overflow.APPENDS): "appends under way",
}


def setup_of(rules: Rules, bounds: Bounds, budget: Budget, programs: Sequence[Sequence[Sequence[Op]]]) -> Setup:
    """A setup: for each client the programs of its transactions.

    Raises:
        ValueError: more clients, transactions or lines than a state can hold.
    """
    if len(programs) > CLIENTS or any(len(program) > TXNS for program in programs):
        raise ValueError(f"at most {CLIENTS} clients with {TXNS} transactions each fit into a state")
    setup = Setup(rules=rules, bounds=bounds, budget=budget)
    bounds.clients = len(programs)
    for c, program in enumerate(programs):
        bounds.transactions[c] = len(program)
        for t, ops in enumerate(program):
            if len(ops) > OPS:
                raise ValueError(f"client {c}, transaction {t}: {len(ops)} lines, at most {OPS} fit into a state")
            setup.programs[c * TXNS + t].ops[: len(ops)] = [int(op) for op in ops]
    late_copies.ask_all(setup)
    return setup


def initial_state(setup: Setup) -> State:
    """The state before anything happened: node 0 is the coordinator, no fault happened, everything else is empty."""
    state = State(budget=replace(setup.budget))
    state.nodes[0].believes = True
    state.group.committed.offset = 0
    if travels(setup.bounds, setup.budget):
        state.appends = [UnderWay() for _ in range(APPENDS)]
        state.lanes = [Lane() for _ in range(PARTITIONS * NODES)]
        state.blocks = [ProducerIdBlocks() for _ in range(NODES)]
        state.allocations = [Allocation() for _ in range(NODES)]
        state.given = [0] * MORE_PRODUCER_IDS
        state.recorded = [0]
        state.replicated = [0]
        state.outdated = [False] * CLIENTS
        widen(state)
    if is_on_replicas(setup.bounds, setup.budget):
        replicated = 0 if setup.bounds.replicated == 1 else LOG
        state.replicas = [Replica(high_watermark=replicated) for _ in range(PARTITIONS)]
        state.fetches = [FetchUnderWay() for _ in range(READERS)]
        state.remains = [Remains() for _ in range(PARTITIONS)]
        state.snapshots = [ProducerSnapshot() for _ in range(PARTITIONS)]
    if setup.bounds.id_blocks > 0:
        for node in range(NODES):
            id_blocks.start(state, node)
    return state


def widen(state: State) -> None:
    """Make room for more producer ids, behind those that a state always has room for."""
    state.group.pending += [PendingOffset() for _ in range(MORE_PRODUCER_IDS - len(state.group.pending))]
    for partition in state.partitions:
        partition.entries += [CheckedEntry() for _ in range(MORE_PRODUCER_IDS - len(partition.entries))]
    for reader in state.readers:
        reader.states += [0] * (MORE_PRODUCER_IDS - len(reader.states))


def travels(bounds: Bounds, budget: Budget) -> bool:
    """Whether there is to be room for more than messages of clients and markers, and the usual producer ids.

    Or for an administrator who deletes the group or its input.
    """
    between = bounds.appends_travel == 1 or bounds.verification_queue == 1 or bounds.id_blocks > 0
    deletes = budget.group_deletions > 0 or budget.recreations > 0
    return between or deletes or bounds.group_appends == 1 or bounds.more_producer_ids == 1


def is_on_replicas(bounds: Bounds, budget: Budget) -> bool:
    """Whether logs are longer than what is replicated of them, are read in steps, or do not stay whole.

    Or whether a client may take one for another.
    """
    cleans = budget.compactions > 0 or budget.snapshots > 0 or budget.retentions > 0
    return bounds.replicated == 1 or bounds.reads_in_steps == 1 or cleans or budget.forgotten_partitions > 0


def bound_hit(state: State, setup: Setup) -> int:
    """Which capacity was reached on the way to this state, or 0."""
    return int(state.overflow)


TRANSACTIONS = Model(
    name="transactions",
    state=State,
    setup=Setup,
    trail=Trail,
    actions=ACTIONS_AT_ONCE,
    step=step,
    worth_trying=worth_trying,
    tasks=tasks,
    normalise=network.normalise,
    describe=describe,
    initial=initial_state,
    promises=tuple(
        Promise(each.name, each.kind, each.predicate, each.sentence, each.source)
        for each in IN_STATES.values()
        if each.predicate is not None
    ),
    bound_hit=bound_hit,
    sorts=sorts_of,
    order=lambda setup: ORDER,
    bounds=OVERFLOWS,
    coverage=(
        len(MACHINES),
        max(len(machine.states) for machine in MACHINES.values()),
        max(len(machine.events) for machine in MACHINES.values()),
    ),
    faults=frozenset(action for action in FAULTS if action < ACTIONS_AT_ONCE),
    names=action_name,
    subjects=subject_name,
)
"""One model for every scenario in which only messages of clients and markers travel, so that it is compiled once."""

_NUMBERS_OF_BLOCKS = ("first", "size", "used", "next_first", "next_size", "not_before_ms")

BETWEEN_BROKERS = replace(
    TRANSACTIONS,
    name="transactions_between_brokers",
    actions=ACTIONS_BETWEEN_BROKERS,
    faults=frozenset(action for action in FAULTS if action < ACTIONS_BETWEEN_BROKERS),
    sizes={
        (State, "appends"): APPENDS,
        (State, "lanes"): PARTITIONS * NODES,
        (State, "blocks"): NODES,
        (State, "allocations"): NODES,
        (State, "given"): MORE_PRODUCER_IDS,
        (State, "recorded"): 1,
        (State, "replicated"): 1,
        (State, "outdated"): CLIENTS,
        (Partition, "entries"): MORE_PRODUCER_IDS,
        (Group, "pending"): MORE_PRODUCER_IDS,
        (Reader, "states"): MORE_PRODUCER_IDS,
        **{(ProducerIdBlocks, each): "i1" for each in _NUMBERS_OF_BLOCKS},
    },
)
"""The same with room for what travels between brokers, and for more producer ids.

Between brokers travel appends, questions of leaders, and blocks of producer ids. Here an administrator may also delete
the group or its input topic.
"""

ON_REPLICAS = replace(
    TRANSACTIONS,
    name="transactions_on_replicas",
    actions=len(ACTIONS),
    faults=frozenset(FAULTS),
    sizes={
        (State, "replicas"): PARTITIONS,
        (State, "fetches"): READERS,
        (State, "remains"): PARTITIONS,
        (State, "snapshots"): PARTITIONS,
    },
)
"""The same with room for how far each log is replicated, and what is left of it; nothing happens between brokers."""
