"""DescribeQuorum (55), versions 0 to 2: who keeps what the cluster knows of itself.

Brokers here share it, and have no log of it: it is told as a quorum that the controller leads, whose voters are all
brokers, and of which every change is everywhere at once; no time is told. Only ``__cluster_metadata-0`` is asked for,
and alone (3 otherwise). Source: ``KafkaRaftClient.handleDescribeQuorumRequest``; KIP-595, KIP-836, KIP-853.
"""

from typing import Any

from zombieproof.formats.topics import CLUSTER_METADATA
from zombieproof.model.vocabulary import NONE, ApiKey, Error
from zombieproof.wire.api import Around, Values, api_of_facts

EPOCH = 1
NOT_HERE = "This server does not host this topic-partition."


def told(entity: Any, version: int, around: Around) -> Values:
    """The quorum, if it is what is asked for."""
    asked = [(topic.topic_name, each.partition_index) for topic in entity.topics for each in topic.partitions]
    is_known = asked == [(CLUSTER_METADATA, 0)]
    quorum = (
        _quorum(around) if is_known else {"error_code": Error.UNKNOWN_TOPIC_OR_PARTITION, "error_message": NOT_HERE}
    )
    topics = [
        {
            "topic_name": topic.topic_name,
            "partitions": [{**quorum, "partition_index": each.partition_index} for each in topic.partitions],
        }
        for topic in entity.topics
    ]
    nodes = [
        {"node_id": node, "listeners": [{"name": "CONTROLLER", "host": host, "port": port}]}
        for node, (host, port) in around.addresses.items()
    ]
    return {"error_code": 0, "error_message": "", "topics": topics, "nodes": nodes if is_known else ()}


def _quorum(around: Around) -> Values:
    version = around.metadata.version
    voters = [
        {
            "replica_id": node,
            "log_end_offset": version,
            "last_fetch_timestamp": NONE,
            "last_caught_up_timestamp": NONE,
        }
        for node in sorted(around.up())
    ]
    return {
        "error_message": "",
        "leader_id": around.metadata.controller,
        "leader_epoch": EPOCH,
        "high_watermark": version,
        "current_voters": voters,
    }


DESCRIBE_QUORUM = api_of_facts(ApiKey.DESCRIBE_QUORUM, range(3), told)
