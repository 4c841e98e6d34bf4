"""Metadata (3), versions 0 to 13: which brokers there are, and who leads the partitions of topics.

No topics named are all of them, in version 0 by an empty list. From version 10 on topics have ids, from 12 on they may
be asked for by them. What a broker says is which topics exist; what they are like all brokers know.
Source: ``KafkaApis.handleTopicMetadataRequest``.
"""

from typing import Any

from zombieproof.broker.cluster.metadata import NOBODY
from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.formats.topics import INTERNAL_TOPICS, TopicPartition
from zombieproof.messages.partitions import DescribeTopics, TopicsDescribed
from zombieproof.model.vocabulary import ApiKey, Error
from zombieproof.wire.api import Around, Values, api_of_messages
from zombieproof.wire.names import NO_ID, NO_NAME, Names

ALL_BY_EMPTY_UNTIL = 0


def to_messages(entity: Any, version: int, names: Names) -> tuple[Request, ...]:
    """One message: all topics, some by name, or some by id."""
    topics = entity.topics
    if topics is None or (version <= ALL_BY_EMPTY_UNTIL and not topics):
        return (DescribeTopics(version, None),)
    by_id = _is_by_id(topics)
    creates = getattr(entity, "allow_auto_topic_creation", True)
    return (DescribeTopics(version, tuple([names.topic_of(topic) for topic in topics]), by_id, creates),)


def _is_by_id(topics: Any) -> bool:
    return any(getattr(topic, "topic_id", None) and topic.name is None for topic in topics or ())


def to_values(entity: Any, answers: tuple[Answer, ...], version: int, around: Around) -> Values:
    """The brokers that are up, and the topics."""
    assert isinstance(answers[0], TopicsDescribed)
    up = around.up()
    return {
        "brokers": [
            {"node_id": node, "host": host, "port": port, "rack": None}
            for node, (host, port) in around.addresses.items()
            if node in up
        ],
        "cluster_id": around.cluster_id,
        "controller_id": around.metadata.controller,
        "topics": [
            {**_topic(name, error, around), **_hidden(error, by_id=_is_by_id(entity.topics))}
            for name, error in answers[0].topics.items()
        ],
    }


def _topic(name: str, error: int, around: Around) -> Values:
    partitions = around.metadata.partitions_of([name]) if error == Error.NONE else []
    names = around.names.topic(name)
    return {
        **names,
        "name": None if name.startswith(NO_NAME) else name,
        "error_code": error,
        "is_internal": name in INTERNAL_TOPICS,
        "partitions": [_partition(partition, around) for partition in partitions],
        "topic_authorized_operations": -(1 << 31),
    }


def _hidden(error: int, *, by_id: bool) -> Values:
    """Of a topic that one may not know of nothing is told but what one has said: its name, or its id."""
    if error != Error.TOPIC_AUTHORIZATION_FAILED:
        return {}
    return {"is_internal": False} | ({"name": None} if by_id else {"topic_id": NO_ID})


def _partition(partition: TopicPartition, around: Around) -> Values:
    known, up = around.metadata.partitions[partition], around.up()
    is_led = known.leader != NOBODY
    return {
        "error_code": int(Error.NONE if is_led else Error.LEADER_NOT_AVAILABLE),
        "partition_index": partition[1],
        "leader_id": known.leader,
        "leader_epoch": known.leader_epoch,
        "replica_nodes": known.replicas,
        "isr_nodes": known.in_sync,
        "offline_replicas": [node for node in known.replicas if node not in up],
    }


def written(request: DescribeTopics, names: Names) -> Values:
    """All topics, some by name, or some by id."""
    creates = {"allow_auto_topic_creation": request.creates}
    if request.topics is None:
        return {"topics": () if request.version <= ALL_BY_EMPTY_UNTIL else None, **creates}
    known = [names.topic(topic) for topic in request.topics]
    if request.by_id:
        return {"topics": [{"name": None, "topic_id": row["topic_id"]} for row in known], **creates}
    return {"topics": [{"name": row["name"], "topic_id": NO_ID} for row in known], **creates}


METADATA = api_of_messages(
    ApiKey.METADATA, versions=range(14), to_messages=to_messages, to_values=to_values, written=written
)
