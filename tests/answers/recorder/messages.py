"""Typed requests as Kafka's messages, and Kafka's answers as typed ones, as the wire has them (`wire.mapping`).

What a request does not say is what Kafka's own clients say (`BESIDES`).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from tests.answers.recorder.names import Names
from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.formats.batches import Batch
from zombieproof.formats.encoding import write_batch
from zombieproof.messages import groups as g
from zombieproof.messages import partitions as p
from zombieproof.messages.registry import api_of
from zombieproof.model.vocabulary import NONE
from zombieproof.wire import entities
from zombieproof.wire.mapping import message_of, values_of

Values = Mapping[str, Any]

BY_ID_SINCE = 6
"""DeleteTopics names topics by their ids from here on, if it is asked to."""

BESIDES: Values = {
    "replica_id": NONE,
    "timeout": 5_000,
    "max_bytes": 1 << 20,
    "partition_max_bytes": 1 << 20,
    "forgotten_topics_data": [],
    "retention_time": NONE,
    "allow_auto_topic_creation": False,
    "include_authorized_operations": False,
    "include_topic_authorized_operations": False,
    "include_cluster_authorized_operations": False,
    "protocol_type": "consumer",
    "protocol_name": "range",
    "protocols": [{"name": "range", "metadata": b"x"}],
    "topic_partitions": [],
}
"""What Kafka's clients say in any message that has such a field."""


def made(kind: Any, values: Values) -> Any:
    """An instance of a message class of kio, with those of `values` that its version has."""
    return entities.made(kind, values, BESIDES)


def request_of(request: Request, names: Names, now_ms: int) -> Any:
    """A typed request as one of kio."""
    kind = entities.entity_class(api_of(type(request)).key, request.version, "request")
    values = values_of(_as_bytes(request, now_ms), request.version, names)
    return made(kind, {**values, **_more(request, names)})


def answer_of(request: Request, response: Any, names: Names) -> Answer:
    """Kafka's answer to `request` as a typed one."""
    answer: Answer = message_of(api_of(type(request)).answer, response, request.version, names)
    return answer


def _as_bytes(request: Request, now_ms: int) -> Any:
    """A request as it is, but that a Produce has bytes for batches."""
    if not isinstance(request, p.Produce):
        return request
    rows = {
        partition: b"".join(batch_bytes(sent.batch, now_ms) for sent in batches)
        for partition, batches in request.partitions.items()
    }
    return replace(request, partitions=rows)  # type: ignore[arg-type]  # what its field is on the wire


def _more(request: Request, names: Names) -> Values:
    """What depends on the request, and the registry does not say."""
    match request:
        case g.SyncGroup():
            return {"assignments": [{"member_id": request.member, "assignment": b"a"}]}
        case p.DeleteTopics() if request.version < BY_ID_SINCE:
            return {"topic_names": [names.topic(topic)["name"] for topic in request.topics]}
        case p.DescribeTopics() | p.DeleteTopics():
            known = [names.topic(topic) for topic in request.topics or ()]
            rows = [{"topic_id": row["topic_id"], "name": None} for row in known]
            return {"topics": rows if request.by_id else [{"topic_id": None, "name": row["name"]} for row in known]}
        case g.ConsumerGroupHeartbeat():
            topics = request.topics
            return {
                "subscribed_topic_names": None if topics is None else [names.topic(each)["name"] for each in topics],
                "subscribed_topic_regex": None
                if request.topic_pattern is None
                else names.pattern(request.topic_pattern),
            }
        case _:
            return {}


def batch_bytes(batch: Batch, now_ms: int) -> bytes:
    """A record batch of magic 2, uncompressed, all records of one time."""
    last = len(batch.records) - 1
    return write_batch(
        replace(batch, base_offset=0, leader_epoch=NONE, marker=None, last_offset_delta=last, timestamp_ms=now_ms)
    )


def topic_ids(response: Any) -> dict[str, UUID]:
    """The id of each topic that Metadata tells of."""
    return {row.name: row.topic_id for row in response.topics if row.name is not None and row.topic_id is not None}
