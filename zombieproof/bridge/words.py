"""What the brokers of a twin hold of appends and producer ids, in words for people: only what a step has changed."""

from collections.abc import Mapping

from zombieproof.bridge.between_brokers import answered_blocks, requests_for_blocks
from zombieproof.bridge.clusters import COORDINATOR_NODES, BlocksCluster, UnderWay, appends_of
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.checker.transactions.vocabulary import Phase
from zombieproof.model.vocabulary import Error, TransactionState
from zombieproof.statemachines.coordinator.records import Operation
from zombieproof.statemachines.producer_ids import ProducerIdBlocks

OVER = "is over"


def held(cluster: Cluster) -> dict[str, str]:
    """Subject -> what is held of it; nothing where neither appends nor producer ids travel."""
    told = {_name(node, each): _how_far(each) for (node, _), each in appends_of(cluster).items()}
    if isinstance(cluster, BlocksCluster):
        told |= {f"producer ids of broker {node}": _ids(cluster, node) for node in COORDINATOR_NODES}
    return told


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    """A line for whatever is not as it was."""
    new = [f"{subject}: {told}" for subject, told in after.items() if before.get(subject) != told]
    return (*(f"{subject}: {OVER}" for subject in before if subject not in after), *new)


def _name(node: int, append: UnderWay) -> str:
    target = append.pending.target
    is_tombstone = append.pending.operation == Operation.EXPIRE
    what = "tombstone" if is_tombstone else TransactionState(target.state).name
    return f"append {append.number} of broker {node}, {append.transactional_id} {what}"


def _how_far(append: UnderWay) -> str:
    match append.phase:
        case Phase.PREPARED:
            return "waits to be made"
        case Phase.COMPLETED:
            return "is durable, and waits to be looked at again"
        case _ if append.error == Error.NONE:
            return "is durable, and waits to be told"
        case _:
            return f"{Error(append.error).name} waits to be told"


def _ids(cluster: Cluster, node: int) -> str:
    blocks: ProducerIdBlocks = cluster.brokers[node].producer_ids._blocks
    left = _range(blocks.first + blocks.used, blocks.size - blocks.used)
    at_hand = _range(blocks.next_first, blocks.next_size)
    asks = "; asks for a block" if requests_for_blocks(cluster, node) else ""
    comes = "; a block is on its way" if answered_blocks(cluster, node) else ""
    late = "; a late copy is on its way" if answered_blocks(cluster, node, is_late=True) else ""
    return f"left {left}, next block {at_hand}{asks}{comes}{late}"


def _range(first: int, size: int) -> str:
    return "none" if size == 0 else str(first) if size == 1 else f"{first} to {first + size - 1}"
