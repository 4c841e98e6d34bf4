"""AlterReplicaLogDirs (34), versions 1 and 2: replicas stay where they are, for a broker here has one log directory.

That directory may be named: nothing moves then, and nothing is wrong (0), unless there is no such partition here (3).
Whatever else is named is none that replicas could go to (57). Source: ``ReplicaManager.alterReplicaLogDirs``; KIP-113.
"""

from collections.abc import Callable
from typing import Any

from zombieproof.broker.cluster.node import log_directory
from zombieproof.formats.topics import TopicPartition
from zombieproof.model.vocabulary import ApiKey, Error
from zombieproof.wire.api import Around, Values, api_of_facts


def told(entity: Any, version: int, around: Around) -> Values:
    """Each partition in the directory that it is to go to."""
    return _rows(entity, lambda path, topic, number: _error(path, (topic, number), around))


def _error(path: str, partition: TopicPartition, around: Around) -> Error:
    if path != log_directory(around.node):
        return Error.LOG_DIR_NOT_FOUND
    known = around.metadata.partitions.get(partition)
    if known is None or around.node not in known.replicas:
        return Error.UNKNOWN_TOPIC_OR_PARTITION
    return Error.NONE


def refused(entity: Any, error: int) -> Values:
    """Every partition with an error."""
    return _rows(entity, lambda path, topic, number: error)


def _rows(entity: Any, error_of: Callable[[str, str, int], int]) -> Values:
    return {
        "results": [
            {
                "topic_name": topic.name,
                "partitions": [
                    {"partition_index": number, "error_code": error_of(directory.path, topic.name, number)}
                    for number in topic.partitions
                ],
            }
            for directory in entity.dirs
            for topic in directory.topics
        ]
    }


ALTER_REPLICA_LOG_DIRS = api_of_facts(ApiKey.ALTER_REPLICA_LOG_DIRS, range(1, 3), told, refused)
