"""The twin of a scenario before anything happened: which brokers there are, and what each has."""

from zombieproof.bridge import commands
from zombieproof.bridge.clusters import (
    COORDINATOR_NODES,
    AppendsCluster,
    BlocksCluster,
    QueueingCluster,
    TwinCluster,
)
from zombieproof.bridge.names import OutOfScope
from zombieproof.bridge.producers import LiveProducers
from zombieproof.bridge.projection import Consumer
from zombieproof.bridge.requests import DATA, GROUP, INPUT, OFFSETS_PARTITION, PARTITIONS
from zombieproof.bridge.twin import Beside, Twin
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.journal import Journal, KeptJournal
from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.coordinator.producer_id_blocks import ProducerIdController
from zombieproof.checker.transactions.action_kinds import Action
from zombieproof.checker.transactions.model import initial_state
from zombieproof.checker.transactions.setup import Bounds, Setup
from zombieproof.checker.transactions.vocabulary import Op
from zombieproof.clients.read_committed import FetchFilter
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import Isolation

ISOLATIONS = (Isolation.READ_COMMITTED, Isolation.READ_COMMITTED_BUFFERING)
"""How readers 0 and 1 of a state read."""

MUCH_MS = 10**12
"""Where the clock stands, so that everything can be made older than anything is kept."""


def _ids(bounds: Bounds) -> list[int]:
    return bounds.transactional_id[: bounds.clients]


def _refuse_what_has_no_lever(setup: Setup) -> None:
    """Raises OutOfScope: the scenario has a part that no command of a live cluster does (``commands.NO_LEVER``)."""
    budget = setup.budget
    asked = {
        Action.REFUSE: ("a leader refuses no batch alone", budget.refused),
        Action.COMMIT_PLAINLY: ("offsets are committed in transactions", budget.plain_commits),
        Action.ABORT_BY_HAND: ("nobody aborts by hand", budget.aborts_by_hand or setup.bounds.looks_first),
        Action.CHANGE_CONTROLLER: ("no other controller takes over", budget.controller_changes),
        Action.ANSWER_COMMIT: ("no commit of offsets waits for replicas", setup.bounds.group_appends),
        Action.MISLEAD: ("no look-up is stale", budget.stale_lookups),
        Action.REPLICATE: ("every append is replicated", setup.bounds.replicated),
        Action.BEGIN_FETCH: ("a fetch has one moment", setup.bounds.reads_in_steps),
        Action.CLEAN: ("nobody cleans a log", budget.compactions),
        Action.CLOSE_SEGMENT: ("a log has one segment", budget.snapshots),
        Action.FORGET_PARTITION: ("no producer forgets a partition", budget.forgotten_partitions),
        Action.DELETE_GROUP: ("a twin deletes no group", budget.group_deletions or setup.bounds.no_members),
        Action.RECREATE_INPUT: ("a twin deletes no topic", budget.recreations),
        Action.DROP_SEGMENTS: ("no log loses its beginning", budget.retentions),
    }
    for kind, (what, is_asked) in asked.items():
        if is_asked:
            raise OutOfScope(f"{what}: {commands.NO_LEVER[kind]}")
    if setup.rules.persist_last_epoch == 1:
        raise OutOfScope("no record that a live coordinator writes has room for the previous producer epoch")
    if any(op == Op.STORE for program in setup.programs for op in program.ops):
        raise OutOfScope("no producer of ours takes up a transaction whose identity was stored outside")


def first_twin(setup: Setup, rules: Rules | None = None, *, live_producers: bool = False) -> Twin:
    """The twin before anything happened: a coordinator and a stand-in, and each partition at brokers of its own.

    Args:
        setup: the checker's; `rules` those of the brokers, the setup's by default.
        live_producers: what clients send is sent by live producers beside them, which hear the answers too.

    Raises:
        OutOfScope: the scenario has what a twin cannot do.
    """
    bounds, budget = setup.bounds, setup.budget
    _refuse_what_has_no_lever(setup)
    if live_producers and bounds.answers_travel and bounds.in_flight > 1:
        raise OutOfScope("a live producer sends batches again one by one, the checker's all at once: take live brokers")
    if sum(map(bool, (bounds.appends_travel, bounds.verification_queue, bounds.id_blocks))) > 1:
        raise OutOfScope("in a twin one thing travels between brokers: appends, questions of leaders, or blocks")
    if min(_ids(bounds)) < 0 <= max(_ids(bounds)):
        raise OutOfScope("producer ids are named in the order of one coordinator: all have transactional ids, or none")
    if (rules or setup.rules).leader_reads_log == 0 and bounds.grouped:
        raise OutOfScope("no live group coordinator leads that has not read what it has")
    travels = bounds.verification_queue or bounds.appends_travel or bounds.id_blocks
    if travels and (budget.leaderless or budget.leader_changes):
        raise OutOfScope("where something travels between brokers, leaders of partitions stay")
    if budget.leaderless and (budget.leader_changes or bounds.grouped or bounds.readers):
        raise OutOfScope("a partition without a leader has one replica, and nobody reads it")
    replicas = 1 + setup.budget.leader_changes
    broker = iter(range(3, 100))
    of_each = {tp: tuple(next(broker) for _ in range(replicas)) for tp in PARTITIONS}
    controller = max(of_each[OFFSETS_PARTITION]) + 1
    cluster = _kind_of_cluster(bounds)(
        controller if bounds.id_blocks else controller - 1,
        rules or setup.rules,
        # A leader of the model asks once: that it asks again before it answers is another order of the same steps.
        Settings(group_initial_rebalance_delay_ms=0, add_partitions_to_txn_retry_backoff_max_ms=0),
        {
            TRANSACTION_STATE: [COORDINATOR_NODES],
            CONSUMER_OFFSETS: [of_each[OFFSETS_PARTITION]],
            DATA[0][0]: [of_each[tp] for tp in DATA],
            INPUT[0]: [COORDINATOR_NODES],
        },
        clock=ManualClock(MUCH_MS),
        metadata=Metadata(producer_ids=ProducerIdController(0, bounds.id_blocks), controller=controller)
        if bounds.id_blocks
        else None,
        journal=KeptJournal(),
    )
    state = initial_state(setup)
    members: tuple[str, ...] = ()
    if bounds.grouped:
        members = (commands.join(cluster, GROUP), *("" for _ in range(bounds.clients - 1)))
    beside = Beside(state.clients, state.ghost, state.budget, members=members)
    if live_producers:
        beside.producers = LiveProducers(setup)
    beside.consumers = [
        Consumer(FetchFilter(DATA[0], isolation, setup.rules, Journal())) for isolation in ISOLATIONS[: bounds.readers]
    ]
    twin = Twin(cluster, beside, setup, state, [])
    twin.refresh()
    return twin


def _kind_of_cluster(bounds: Bounds) -> type[QueueingCluster]:
    """Where what travels between brokers travels that a scenario asks for."""
    if bounds.verification_queue:
        return QueueingCluster
    if bounds.appends_travel:
        return AppendsCluster
    return BlocksCluster if bounds.id_blocks else TwinCluster
