"""AlterPartitionReassignments (45), versions 0 and 1: replicas stay where they are.

What Kafka refuses is refused as there; what would move replicas to other brokers, or in another order, is refused too
(39), with words that say so; what leaves them where they are is granted. There is nothing to cancel (85).
Source: ``ReplicationControlManager.alterPartitionReassignments``; KIP-455, KIP-860.
"""

from typing import Any

from zombieproof.broker.cluster.topics import words_of
from zombieproof.model.vocabulary import ApiKey, Error
from zombieproof.statemachines.topics import Moved, Place, reassigns
from zombieproof.wire.api import Around, Values, api_of_facts, refused_at_top

STAY = "Replicas do not move here: the brokers of a partition are those with which it was made."


def told(entity: Any, version: int, around: Around) -> Values:
    """What becomes of each partition."""
    rows = [
        {"name": topic.name, "partitions": [_row(topic.name, each, around) for each in topic.partitions]}
        for topic in entity.topics
    ]
    return {
        "allow_replication_factor_change": getattr(entity, "allow_replication_factor_change", True),
        "error_message": None if rows else "",
        "responses": rows,
    }


def _row(topic: str, asked: Any, around: Around) -> Values:
    metadata, number = around.metadata, asked.partition_index
    known = metadata.partitions.get((topic, number))
    place = Place(metadata.nodes, sorted(around.up()))
    moved, refused = reassigns(
        metadata.count(topic) > 0, None if known is None else known.replicas, asked.replicas, place
    )
    words = {
        Moved.NO_TOPIC: f"Unable to find a topic named {topic}.",
        Moved.NO_PARTITION: f"Unable to find partition {topic}:{number}.",
        Moved.REFUSED: words_of(refused, topic),
        Moved.STAYS: STAY,
    }
    return {"partition_index": number, "error_code": _ERRORS.get(moved, Error.NONE), "error_message": words.get(moved)}


_ERRORS = {
    Moved.NO_TOPIC: Error.UNKNOWN_TOPIC_OR_PARTITION,
    Moved.NO_PARTITION: Error.UNKNOWN_TOPIC_OR_PARTITION,
    Moved.NOTHING_TO_CANCEL: Error.NO_REASSIGNMENT_IN_PROGRESS,
    Moved.REFUSED: Error.INVALID_REPLICA_ASSIGNMENT,
    Moved.STAYS: Error.INVALID_REPLICA_ASSIGNMENT,
}


def refused(entity: Any, error: int) -> Values:
    """The refusal of each partition, and of all."""
    rows = [
        {
            "name": topic.name,
            "partitions": [
                {**refused_at_top(each, error), "partition_index": each.partition_index} for each in topic.partitions
            ],
        }
        for topic in entity.topics
    ]
    return {**refused_at_top(entity, error), "responses": rows}


ALTER_PARTITION_REASSIGNMENTS = api_of_facts(ApiKey.ALTER_PARTITION_REASSIGNMENTS, range(2), told, refused)
