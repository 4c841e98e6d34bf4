"""What travels between live brokers as fields of the checker's state: appends, and blocks of producer ids."""

from dataclasses import replace

from zombieproof.bridge.abstractions import in_first_use
from zombieproof.bridge.appends import Appends, Place
from zombieproof.bridge.between_brokers import answered_blocks, requests_for_blocks
from zombieproof.bridge.clusters import COORDINATOR_NODES
from zombieproof.bridge.clusters import UnderWay as LiveAppend
from zombieproof.bridge.names import Names
from zombieproof.bridge.projection import held_as, known_ids
from zombieproof.bridge.requests import TRANSACTIONAL_IDS
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.network import Message as LiveMessage
from zombieproof.checker.transactions.capacities import MORE_PRODUCER_IDS, NODES
from zombieproof.checker.transactions.id_blocks import LATER_MS
from zombieproof.checker.transactions.state import Allocation, UnderWay
from zombieproof.messages.controller import AllocateProducerIdsAnswer
from zombieproof.model.vocabulary import NONE
from zombieproof.statemachines.producer_ids import ProducerIdBlocks

# ---------------------------------------------------------------- appends to the transaction log


def appends(cluster: Cluster, known: Appends, names: Names) -> list[UnderWay]:
    """The appends of both brokers that may coordinate, made or not, told or not."""
    return [UnderWay() if found is None else _append(cluster, *found, names) for found in known.in_place(cluster)]


def _append(cluster: Cluster, place: Place, append: LiveAppend, names: Names) -> UnderWay:
    broker, pending = cluster.brokers[place.node], append.pending
    return UnderWay(
        phase=append.phase,
        node=COORDINATOR_NODES.index(place.node),
        subject=TRANSACTIONAL_IDS.index(append.transactional_id),
        label=place.label,
        error=append.error,
        pending=replace(
            pending,
            producer_id=names.producer_id(pending.producer_id),
            partitions=in_first_use(broker.numbers.partitions(pending.partitions)),
            target=held_as(broker, pending.target, names),
        ),
    )


# ---------------------------------------------------------------- blocks of producer ids


def next_block(cluster: Cluster) -> int:
    """The first producer id that the controller never handed out."""
    return cluster.metadata.producer_ids.next_id


def blocks(cluster: Cluster) -> list[ProducerIdBlocks]:
    """The blocks of each broker that may coordinate; the checker's answers come at time 0."""
    return [_blocks(cluster, cluster.brokers[node].producer_ids._blocks) for node in COORDINATOR_NODES[:NODES]]


def _blocks(cluster: Cluster, live: ProducerIdBlocks) -> ProducerIdBlocks:
    answers_came_ms = cluster.clock.now_ms() - LATER_MS
    return replace(live, not_before_ms=live.not_before_ms and live.not_before_ms - answers_came_ms)


def allocations(cluster: Cluster) -> list[Allocation]:
    """What is under way between each of them and the controller."""
    return [_allocation(cluster, node) for node in COORDINATOR_NODES[:NODES]]


def _allocation(cluster: Cluster, node: int) -> Allocation:
    answer, late = answered_blocks(cluster, node), answered_blocks(cluster, node, is_late=True)
    return Allocation(bool(requests_for_blocks(cluster, node)), _first_of(answer), _first_of(late))


def _first_of(answers: list[LiveMessage]) -> int:
    if not answers:
        return NONE
    (answer,) = answers
    assert isinstance(answer.body, AllocateProducerIdsAnswer), "an answer of the controller"
    return answer.body.first


def given(names: Names) -> list[int]:
    """Which producer id each name stands for."""
    return [*known_ids(names), *(0 for _ in range(MORE_PRODUCER_IDS - len(names.producer_ids)))]
