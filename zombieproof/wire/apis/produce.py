"""Produce (0), versions 3 to 13: one batch of records for each partition.

A broker of Kafka from 4.0 on says that it takes version 0 too, and does not: librdkafka concludes from it that batches
are known (KAFKA-18659). From version 10 on who asks the wrong broker is told who leads (KIP-951), from 12 on partitions
join a transaction by being written to (KIP-890), from 13 on topics have ids. With acks 0 nobody is answered. Batches
are stored as the bytes that came, after their checksums are compared and their records counted. A batch whose records
cannot be read is refused (87), also if they cannot be unpacked, or unpack to more than 256 MiB and 64 times their size
(-1 in Kafka, which has no such limit).
Source: reference §3.2; ``ProduceRequest.validateRecords``, ``KafkaApis.handleProduceRequest``.
"""

from typing import Any

from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.formats.topics import UnnamedTopic
from zombieproof.messages.partitions import Produce, ProduceAnswer, Produced
from zombieproof.messages.schema import Entity
from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import Around, Values, api_of_messages
from zombieproof.wire.batches import batch_bytes, sent_batches
from zombieproof.wire.leaders import endpoints, leader_of
from zombieproof.wire.names import Names

ENDPOINTS_SINCE = 10
TIMEOUT_MS = 30_000
"""How long a leader is to wait for its followers (``request.timeout.ms`` of Kafka's clients)."""


def to_messages(entity: Any, version: int, names: Names) -> tuple[Request, ...]:
    """The one message that it is."""
    partitions, unknown = {}, set()
    for topic in entity.topic_data:
        name = names.topic_of(topic)
        if isinstance(name, UnnamedTopic):
            unknown.add(name)
        for row in topic.partition_data:
            partitions[name, int(row.index)] = sent_batches(row.records or b"", name)
    return (Produce(version, entity.transactional_id, entity.acks, partitions, frozenset(unknown)),)


def written(request: Produce, names: Names) -> Values:
    """The batches of each partition as bytes; one that is called corrupt does not match its checksum."""
    by_topic: dict[str, list[Values]] = {}
    for (topic, number), batches in request.partitions.items():
        by_topic.setdefault(topic, []).append({"index": number, "records": b"".join(map(batch_bytes, batches))})
    return {
        "transactional_id": names.sent(Entity.TRANSACTIONAL_ID, request.transactional_id),
        "acks": request.acks,
        "timeout": TIMEOUT_MS,
        "topic_data": [{**names.topic(topic), "partition_data": rows} for topic, rows in by_topic.items()],
    }


def to_values(entity: Any, answers: tuple[Answer, ...], version: int, around: Around) -> Values:
    """A row for each partition."""
    assert isinstance(answers[0], ProduceAnswer)
    by_topic: dict[str, list[Values]] = {}
    moved = []
    for partition, produced in answers[0].partitions.items():
        led = leader_of(partition, produced.error, around) if version >= ENDPOINTS_SINCE else {}
        moved += [led["current_leader"]["leader_id"]] if led else []
        by_topic.setdefault(partition[0], []).append({**led, **_row(partition[1], produced)})
    return {
        "responses": [{**around.names.topic(topic), "partition_responses": rows} for topic, rows in by_topic.items()],
        "node_endpoints": endpoints(moved, around),
    }


def _row(number: int, produced: Produced) -> Values:
    return {
        "index": number,
        "error_code": produced.error,
        "base_offset": produced.base_offset,
        "log_append_time": produced.log_append_time_ms,
        "log_start_offset": produced.log_start_offset,
        "record_errors": [
            {"batch_index": index, "batch_index_error_message": None} for index in produced.record_errors
        ],
        "error_message": produced.message or None,
    }


PRODUCE = api_of_messages(ApiKey.PRODUCE, to_messages=to_messages, to_values=to_values, written=written)
