"""Metadata (3), versions 0 to 13: which brokers there are, and who leads the partitions of topics.

No topics named are all of them, in version 0 by an empty list. From version 10 on topics have ids, from 12 on they may
be asked for by them, and then by nothing else: with one id names do not count. Ids in 10 and 11 are refused (42, in the
row of each topic, and with nothing else told). A topic that is not there may be made because of the question, where
request and brokers let it be: who asks is told that it is not there (3, or 17 for no name), and it is there when he
asks again. From 13 on there is an error of the whole answer, which is that of its topics where all of it is refused.
What a broker says is which topics exist; what they are like all brokers know.
Source: ``KafkaApis.handleTopicMetadataRequest``.
"""

from typing import Any, NamedTuple
from uuid import UUID

from zombieproof.broker.cluster.metadata import NOBODY
from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.formats.topics import INTERNAL_TOPICS, TopicPartition, UnnamedTopic
from zombieproof.messages.partitions import DescribeTopics, TopicsDescribed
from zombieproof.model.access import ResourceType
from zombieproof.model.vocabulary import ApiKey, Error
from zombieproof.wire.api import Around, Values, api_of_messages
from zombieproof.wire.names import NO_ID, Names

ALL_BY_EMPTY_UNTIL = 0
IDS_SINCE = 12
NOT_ASKED_FOR = -(1 << 31)
TOLD_BY_ID = (Error.NONE, Error.TOPIC_AUTHORIZATION_FAILED)


def to_messages(entity: Any, version: int, names: Names) -> tuple[Request, ...]:
    """One message: all topics, some by name, or some by id."""
    topics = entity.topics
    if topics and _refusal(topics, version) != Error.NONE:
        return ()
    if topics is None or (version <= ALL_BY_EMPTY_UNTIL and not topics):
        return (DescribeTopics(version, None),)
    by_id = _ids(topics)
    asked = [names.topic_of(_OnlyId(each)) for each in by_id] or [topic.name for topic in topics]
    creates = getattr(entity, "allow_auto_topic_creation", True)
    return (DescribeTopics(version, tuple(asked), bool(by_id), creates),)


class _OnlyId(NamedTuple):
    topic_id: UUID


def _refusal(topics: tuple[Any, ...], version: int) -> Error:
    """Why the whole request is refused: ids come too early, or there is neither an id nor a name."""
    ids = [getattr(topic, "topic_id", None) or NO_ID for topic in topics]
    if version < IDS_SINCE and (any(each != NO_ID for each in ids) or any(topic.name is None for topic in topics)):
        return Error.INVALID_REQUEST
    nameless = any(topic.name is None and each == NO_ID for topic, each in zip(topics, ids, strict=True))
    return Error.UNKNOWN_SERVER_ERROR if nameless else Error.NONE


def _ids(topics: tuple[Any, ...] | None) -> list[UUID]:
    return [topic.topic_id for topic in topics or () if getattr(topic, "topic_id", None) not in (None, NO_ID)]


def to_values(entity: Any, answers: tuple[Answer, ...], version: int, around: Around) -> Values:
    """The brokers that are up, and the topics."""
    if not answers:
        return refused(entity, _refusal(entity.topics, version))
    assert isinstance(answers[0], TopicsDescribed)
    up, by_id = around.up(), bool(_ids(entity.topics))
    return {
        **_allowed(entity, around),
        "brokers": [
            {"node_id": node, "host": host, "port": port, "rack": None}
            for node, (host, port) in around.addresses.items()
            if node in up
        ],
        "cluster_id": around.cluster_id,
        "controller_id": around.metadata.controller,
        "topics": [
            {**_topic(name, error, around, entity, by_id=by_id), **_hidden(error, by_id=by_id)}
            for name, error in answers[0].topics.items()
        ],
    }


def _allowed(entity: Any, around: Around) -> Values:
    """What one may do with the cluster, where it is asked for."""
    wants = getattr(entity, "include_cluster_authorized_operations", False)
    return {"cluster_authorized_operations": around.operations_on_cluster()} if wants else {}


def refused(entity: Any, error: int) -> Values:
    """Every topic with the error; nothing is told of brokers."""
    rows = [
        {"name": row.name or "", "topic_id": getattr(row, "topic_id", NO_ID), "error_code": error}
        for row in entity.topics or ()
    ]
    return {"brokers": [], "cluster_id": None, "controller_id": NOBODY, "error_code": error, "topics": rows}


def _topic(name: str, error: int, around: Around, entity: Any, *, by_id: bool) -> Values:
    if error == Error.NONE and around.metadata.count(name) == 0:
        # It was deleted since the broker has looked.
        error = Error.UNKNOWN_TOPIC_ID if by_id else Error.UNKNOWN_TOPIC_OR_PARTITION
    partitions = around.metadata.partitions_of([name]) if error == Error.NONE else []
    names, wants = around.names.topic(name), getattr(entity, "include_topic_authorized_operations", False)
    return {
        **names,
        "name": None if isinstance(name, UnnamedTopic) else name,
        "topic_id": names["topic_id"] if error in TOLD_BY_ID or isinstance(name, UnnamedTopic) else NO_ID,
        "error_code": error,
        "is_internal": name in INTERNAL_TOPICS,
        "partitions": [partition_of(partition, around) for partition in partitions],
        "topic_authorized_operations": around.operations(ResourceType.TOPIC, name) if wants else NOT_ASKED_FOR,
    }


def _hidden(error: int, *, by_id: bool) -> Values:
    """Of a topic that one may not know of nothing is told but what one has said: its name, or its id."""
    if error != Error.TOPIC_AUTHORIZATION_FAILED:
        return {}
    said = {"name": None} if by_id else {"topic_id": NO_ID}
    return {"is_internal": False, "topic_authorized_operations": NOT_ASKED_FOR, **said}


def partition_of(partition: TopicPartition, around: Around) -> Values:
    """What all brokers know of a partition."""
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
    ApiKey.METADATA, versions=range(14), to_messages=to_messages, to_values=to_values, written=written, refused=refused
)
