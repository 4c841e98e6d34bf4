"""Who leads a partition, as whoever asked another broker is told it (KIP-951).

Source: ``KafkaApis.getCurrentLeader``, ``ReplicaManager.scala``.
"""

from collections.abc import Iterable
from typing import Any

from zombieproof.formats.topics import TopicPartition
from zombieproof.model.vocabulary import Error
from zombieproof.wire.api import Around, Values

MOVED = (Error.NOT_LEADER_OR_FOLLOWER, Error.FENCED_LEADER_EPOCH)
"""What a broker says that is not asked any more, or not by this epoch."""


def leader_of(partition: TopicPartition, error: int, around: Around) -> dict[str, Any]:
    """Who leads a partition now, where an error is about that; else nothing."""
    known = around.metadata.partitions.get(partition)
    if error not in MOVED or known is None:
        return {}
    return {"current_leader": {"leader_id": known.leader, "leader_epoch": known.leader_epoch}}


def endpoints(nodes: Iterable[int], around: Around) -> list[Values]:
    """Where brokers listen."""
    known = {node: around.addresses[node] for node in nodes if node in around.addresses}
    return [{"node_id": node, "host": host, "port": port, "rack": None} for node, (host, port) in known.items()]
