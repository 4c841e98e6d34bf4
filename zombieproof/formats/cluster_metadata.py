"""Records of ``__cluster_metadata`` that tell of a topic: created, given partitions, configured, removed (KRaft).

A value is framed: frame version, API key and version as unsigned varints, then the fields. Records of other kinds, and
fields that follow those read here, are skipped.
Source: ``MetadataRecordSerde.java``, ``TopicRecord.json``, ``PartitionRecord.json``, ``ConfigRecord.json``,
``RemoveTopicRecord.json``.
"""

from typing import NamedTuple

from zombieproof.formats.faults import Undecodable
from zombieproof.formats.identity import encoded
from zombieproof.formats.primitives import Fields

FRAME_VERSION = 1
TOPIC, PARTITION, CONFIG, REMOVE_TOPIC = 2, 3, 4, 9
OF_A_TOPIC = 2


class TopicCreated(NamedTuple):
    """A topic and its id."""

    topic: str
    topic_id: str


class PartitionCreated(NamedTuple):
    """A partition of the topic with this id."""

    topic_id: str
    partition: int


class TopicRemoved(NamedTuple):
    """The topic with this id was deleted."""

    topic_id: str


class TopicConfigured(NamedTuple):
    """A setting of a topic; a value of None takes it back."""

    topic: str
    name: str
    value: str | None


def read_topic_record(value: bytes) -> TopicCreated | PartitionCreated | TopicConfigured | TopicRemoved | None:
    """What a record tells about the life of a topic; None for records of other kinds.

    Raises:
        Undecodable: it is cut, or of a frame version that is not known.
    """
    cursor = Fields(value)
    frame = cursor.uvarint()
    if frame != FRAME_VERSION:
        raise Undecodable(f"frame version {frame} of a metadata record is unknown; version {FRAME_VERSION} is read")
    kind, _ = cursor.uvarint(), cursor.uvarint()
    if kind == TOPIC:
        return TopicCreated(cursor.string(compact=True), encoded(cursor.uuid()))
    if kind == PARTITION:
        partition = cursor.int32()
        return PartitionCreated(encoded(cursor.uuid()), partition)
    if kind == CONFIG and cursor.int8() == OF_A_TOPIC:
        return TopicConfigured(
            cursor.string(compact=True), cursor.string(compact=True), cursor.nullable_string(compact=True)
        )
    if kind == REMOVE_TOPIC:
        return TopicRemoved(encoded(cursor.uuid()))
    return None
