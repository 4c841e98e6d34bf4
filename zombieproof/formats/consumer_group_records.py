"""Records of ``__consumer_offsets`` that tell of groups of the consumer protocol (KIP-848): several for each group.

Source: ``ConsumerGroup*Key.json``, ``ConsumerGroup*Value.json`` (4.3), ``GroupCoordinatorRecordHelpers.java``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple
from uuid import UUID

from zombieproof.formats.batches import GroupValue, Record
from zombieproof.formats.faults import Undecodable
from zombieproof.formats.primitives import Fields
from zombieproof.formats.schema import Array, Field, Message, Schema, Struct, read_message, write_message
from zombieproof.formats.topics import TopicPartition
from zombieproof.model.vocabulary import NONE

NEVER_FLEXIBLE = 1 << 15
STABLE_MEMBER = 0
"""``MemberState.STABLE``: it has what it shall have."""


class GroupRecordType(IntEnum):
    """What a record tells of a consumer group: the type in its key."""

    GROUP = 3
    PARTITIONS = 4
    MEMBER = 5
    TARGET = 6
    TARGET_OF_MEMBER = 7
    CURRENT_OF_MEMBER = 8
    REGULAR_EXPRESSION = 16


TOPIC_PARTITIONS = (
    Field("TopicId", "uuid"),
    Field("Partitions", Array("int32")),
)
OWNED_PARTITIONS = (*TOPIC_PARTITIONS, Field("AssignmentEpochs", Array("int32"), nullable=True, tag=0))
PROTOCOLS = Array((Field("Name", "string"), Field("Metadata", "bytes")))
RACKS = Array((Field("Partition", "int32"), Field("Racks", Array("string"))))


def _key(kind: GroupRecordType, *names: str) -> Schema:
    return Schema("the key", (kind, kind), NEVER_FLEXIBLE, tuple(Field(name, "string") for name in names))


def _value(*fields: Field) -> Schema:
    return Schema("the value", (0, 0), 0, fields)


KEYS = {
    GroupRecordType.GROUP: _key(GroupRecordType.GROUP, "GroupId"),
    GroupRecordType.PARTITIONS: _key(GroupRecordType.PARTITIONS, "GroupId"),
    GroupRecordType.MEMBER: _key(GroupRecordType.MEMBER, "GroupId", "MemberId"),
    GroupRecordType.TARGET: _key(GroupRecordType.TARGET, "GroupId"),
    GroupRecordType.TARGET_OF_MEMBER: _key(GroupRecordType.TARGET_OF_MEMBER, "GroupId", "MemberId"),
    GroupRecordType.CURRENT_OF_MEMBER: _key(GroupRecordType.CURRENT_OF_MEMBER, "GroupId", "MemberId"),
    GroupRecordType.REGULAR_EXPRESSION: _key(GroupRecordType.REGULAR_EXPRESSION, "GroupId", "RegularExpression"),
}

VALUES = {
    GroupRecordType.GROUP: _value(Field("Epoch", "int32"), Field("MetadataHash", "int64", tag=0)),
    GroupRecordType.PARTITIONS: _value(
        Field(
            "Topics",
            Array(
                (
                    Field("TopicId", "uuid"),
                    Field("TopicName", "string"),
                    Field("NumPartitions", "int32"),
                    Field("PartitionMetadata", RACKS),
                )
            ),
        )
    ),
    GroupRecordType.MEMBER: _value(
        Field("InstanceId", "string", nullable=True),
        Field("RackId", "string", nullable=True),
        Field("ClientId", "string"),
        Field("ClientHost", "string"),
        Field("SubscribedTopicNames", Array("string")),
        Field("SubscribedTopicRegex", "string", nullable=True),
        Field("RebalanceTimeoutMs", "int32"),
        Field("ServerAssignor", "string", nullable=True),
        Field(
            "ClassicMemberMetadata",
            (Field("SessionTimeoutMs", "int32"), Field("SupportedProtocols", PROTOCOLS)),
            nullable=True,
            tag=0,
        ),
    ),
    GroupRecordType.TARGET: _value(Field("AssignmentEpoch", "int32"), Field("AssignmentTimestamp", "int64", tag=0)),
    GroupRecordType.TARGET_OF_MEMBER: _value(Field("TopicPartitions", Array(TOPIC_PARTITIONS))),
    GroupRecordType.CURRENT_OF_MEMBER: _value(
        Field("MemberEpoch", "int32"),
        Field("PreviousMemberEpoch", "int32"),
        Field("State", "int8"),
        Field("AssignedPartitions", Array(OWNED_PARTITIONS)),
        Field("PartitionsPendingRevocation", Array(OWNED_PARTITIONS)),
    ),
    GroupRecordType.REGULAR_EXPRESSION: _value(
        Field("Topics", Array("string")), Field("Version", "int64"), Field("Timestamp", "int64")
    ),
}


class GroupRecord(NamedTuple):
    """A record of a consumer group: its type, the fields of its key, its value (None: a tombstone)."""

    type: GroupRecordType
    key: Message
    value: Message | None


def read_record(key: bytes, value: bytes | None) -> GroupRecord | None:
    """The record with that key and value; None for records of other types.

    Raises:
        Undecodable: the bytes are not what their type says.
    """
    number = Fields(key).int16()
    if number not in KEYS:
        return None
    kind = GroupRecordType(number)
    held = None if value is None else read_message(VALUES[kind], value)
    return GroupRecord(kind, read_message(KEYS[kind], key), held)


def write_record(record: GroupRecord) -> Record:
    """Key and value of the record in bytes.

    Raises:
        Unwritable: a field is missing, or does not fit into its bytes.
    """
    value = None if record.value is None else write_message(VALUES[record.type], record.value)
    return Record(write_message(KEYS[record.type], record.key), value)


# ---------------------------------------------------------------- a group as a whole


def records_of(group: str, value: GroupValue, topic_ids: Mapping[str, UUID]) -> tuple[Record, ...]:
    """The records that tell of `group` what `value` tells: of the group, its assignment, and each member.

    A partition stands in the log under the id of its topic. What a member is to get is what it has.

    Raises:
        Unwritable: a field does not fit into its bytes.
        KeyError: a topic has no id.
    """
    topics, partitions, before = dict(value.topics), dict(value.partitions), dict(value.previous_epochs)
    found = [_record(GroupRecordType.GROUP, (group,), {"Epoch": value.generation})]
    for member, epoch in value.members:
        metadata: Struct = {
            "InstanceId": None,
            "RackId": None,
            "ClientId": "",
            "ClientHost": "",
            "SubscribedTopicNames": list(topics.get(member, ())),
            "SubscribedTopicRegex": None,
            "RebalanceTimeoutMs": NONE,
            "ServerAssignor": None,
        }
        owned = _owned(partitions.get(member, ()), topic_ids)
        target = [{"TopicId": each["TopicId"], "Partitions": each["Partitions"]} for each in owned]
        current: Struct = {
            "MemberEpoch": epoch,
            "PreviousMemberEpoch": before.get(member, epoch),
            "State": STABLE_MEMBER,
            "AssignedPartitions": owned,
            "PartitionsPendingRevocation": [],
        }
        found += (
            _record(GroupRecordType.MEMBER, (group, member), metadata),
            _record(GroupRecordType.TARGET_OF_MEMBER, (group, member), {"TopicPartitions": target}),
            _record(GroupRecordType.CURRENT_OF_MEMBER, (group, member), current),
        )
    found.append(_record(GroupRecordType.TARGET, (group,), {"AssignmentEpoch": value.assignment_epoch}))
    return tuple(found)


def _record(kind: GroupRecordType, key: tuple[str, ...], value: Struct) -> Record:
    names = (named.name for named in KEYS[kind].fields)
    return write_record(GroupRecord(kind, Message(kind, dict(zip(names, key, strict=True))), Message(0, value)))


def _owned(partitions: Iterable[tuple[TopicPartition, int]], topic_ids: Mapping[str, UUID]) -> list[Struct]:
    by_topic: dict[str, Struct] = {}
    for (topic, number), epoch in partitions:
        fresh: Struct = {"TopicId": topic_ids[topic], "Partitions": [], "AssignmentEpochs": []}
        entry = by_topic.setdefault(topic, fresh)
        entry["Partitions"].append(number)
        entry["AssignmentEpochs"].append(epoch)
    return list(by_topic.values())


@dataclass(slots=True)
class _Member:
    topics: tuple[str, ...] = ()
    epoch: int = 0
    previous_epoch: int = 0
    partitions: tuple[tuple[TopicPartition, int], ...] = ()


@dataclass(slots=True)
class _Group:
    generation: int = 0
    assignment_epoch: int = NONE
    members: dict[str, _Member] = field(default_factory=dict)


def groups_of(records: Iterable[GroupRecord], topic_names: Mapping[UUID, str]) -> dict[str, GroupValue]:
    """What records in their order tell of each consumer group: later ones count, tombstones take back.

    Raises:
        Undecodable: a partition is of a topic whose id has no name, or its epochs are not as many as its partitions.
    """
    groups: dict[str, _Group] = {}
    for record in records:
        name = record.key.fields["GroupId"]
        if record.value is None:
            _take_back(groups, name, record)
        else:
            _take(groups.setdefault(name, _Group()), record, record.value.fields, topic_names)
    return {name: _value_of(group) for name, group in groups.items()}


def _take_back(groups: dict[str, _Group], name: str, record: GroupRecord) -> None:
    if record.type is GroupRecordType.GROUP:
        groups.pop(name, None)
    elif record.type is GroupRecordType.MEMBER and name in groups:
        groups[name].members.pop(record.key.fields["MemberId"], None)


def _take(group: _Group, record: GroupRecord, value: Struct, topic_names: Mapping[UUID, str]) -> None:
    match record.type:
        case GroupRecordType.GROUP:
            group.generation = value["Epoch"]
        case GroupRecordType.TARGET:
            group.assignment_epoch = value["AssignmentEpoch"]
        case GroupRecordType.MEMBER:
            member = group.members.setdefault(record.key.fields["MemberId"], _Member())
            member.topics = tuple(value["SubscribedTopicNames"])
        case GroupRecordType.CURRENT_OF_MEMBER:
            member = group.members.setdefault(record.key.fields["MemberId"], _Member())
            member.epoch, member.previous_epoch = value["MemberEpoch"], value["PreviousMemberEpoch"]
            member.partitions = tuple(_partitions(value["AssignedPartitions"], member.epoch, topic_names))


def _partitions(
    assigned: Iterable[Struct], member_epoch: int, topic_names: Mapping[UUID, str]
) -> Iterable[tuple[TopicPartition, int]]:
    """Each partition with the epoch in which it was assigned; up to Kafka 4.2 that was not told."""
    for topic in assigned:
        name, numbers = topic_names.get(topic["TopicId"]), topic["Partitions"]
        epochs = topic.get("AssignmentEpochs") or [member_epoch] * len(numbers)
        if name is None:
            raise Undecodable(f"a partition is of topic {topic['TopicId']}, and no topic has that id")
        if len(epochs) != len(numbers):
            raise Undecodable(f"{len(numbers)} partitions have {len(epochs)} assignment epochs")
        yield from (((name, number), epoch) for number, epoch in zip(numbers, epochs, strict=True))


def _value_of(group: _Group) -> GroupValue:
    members = group.members
    return GroupValue(
        generation=group.generation,
        members=tuple((name, member.epoch) for name, member in members.items()),
        assignment_epoch=group.assignment_epoch,
        topics=tuple((name, member.topics) for name, member in members.items()),
        partitions=tuple((name, member.partitions) for name, member in members.items()),
        previous_epochs=tuple((name, member.previous_epoch) for name, member in members.items()),
    )
