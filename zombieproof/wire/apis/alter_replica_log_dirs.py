"""AlterReplicaLogDirs (34), versions 1 and 2: refused, for a broker here has one log directory.

Whichever is named is none that replicas could go to (57), as Kafka answers for a directory that it has not.
Source: ``ReplicaManager.alterReplicaLogDirs``; KIP-113.
"""

from typing import Any

from zombieproof.model.vocabulary import ApiKey, Error
from zombieproof.wire.api import Around, Values, api_of_facts


def told(entity: Any, version: int, around: Around) -> Values:
    """There is no such directory."""
    return refused(entity, Error.LOG_DIR_NOT_FOUND)


def refused(entity: Any, error: int) -> Values:
    """Every partition with an error."""
    return {
        "results": [
            {
                "topic_name": topic.name,
                "partitions": [{"partition_index": number, "error_code": error} for number in topic.partitions],
            }
            for directory in entity.dirs
            for topic in directory.topics
        ]
    }


ALTER_REPLICA_LOG_DIRS = api_of_facts(ApiKey.ALTER_REPLICA_LOG_DIRS, range(1, 3), told, refused)
