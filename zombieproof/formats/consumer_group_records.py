"""Records of ``__consumer_offsets`` that tell of groups of the consumer protocol (KIP-848): several for each group.

Source: ``ConsumerGroup*Key.json``, ``ConsumerGroup*Value.json`` (4.3), ``GroupCoordinatorRecordHelpers.java``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import NamedTuple
from uuid import UUID

from zombieproof.formats.batches import ConsumerMemberValue, GroupValue, Record
from zombieproof.formats.faults import Undecodable
from zombieproof.formats.primitives import Fields
from zombieproof.formats.schema import Array, Field, Message, Schema, Struct, read_message, write_message
from zombieproof.formats.topics import TopicPartition, UnnamedTopic
from zombieproof.model.vocabulary import NONE

NEVER_FLEXIBLE = 1 << 15


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

    A partition stands in the log under the id of its topic, also of one that was deleted. When a regular expression was
    read is not told.

    Raises:
        Unwritable: a field does not fit into its bytes.
        KeyError: a topic has no id.
    """
    epochs, found = dict(value.members), [_record(GroupRecordType.GROUP, (group,), {"Epoch": value.generation})]
    for pattern, topics in value.patterns:
        resolved: Struct = {"Topics": list(topics), "Version": 0, "Timestamp": 0}
        found.append(_record(GroupRecordType.REGULAR_EXPRESSION, (group, pattern), resolved))
    for name, member in value.consumers:
        values = _values_of(epochs[name], member, topic_ids)
        found += (_record(kind, (group, name), said) for kind, said in values.items())
    found.append(_record(GroupRecordType.TARGET, (group,), {"AssignmentEpoch": value.assignment_epoch}))
    return tuple(found)


def _values_of(epoch: int, member: ConsumerMemberValue, topic_ids: Mapping[str, UUID]) -> dict[GroupRecordType, Struct]:
    """What the records of one member say."""
    target = _owned(((partition, NONE) for partition in member.target), topic_ids)
    return {
        GroupRecordType.MEMBER: {
            "InstanceId": member.instance,
            "RackId": None,
            "ClientId": "",
            "ClientHost": "",
            "SubscribedTopicNames": list(member.topics),
            "SubscribedTopicRegex": member.topic_pattern,
            "RebalanceTimeoutMs": member.rebalance_timeout_ms,
            "ServerAssignor": member.assignor,
        },
        GroupRecordType.TARGET_OF_MEMBER: {
            "TopicPartitions": [{"TopicId": each["TopicId"], "Partitions": each["Partitions"]} for each in target]
        },
        GroupRecordType.CURRENT_OF_MEMBER: {
            "MemberEpoch": epoch,
            "PreviousMemberEpoch": member.previous_epoch,
            "State": member.state,
            "AssignedPartitions": _owned(member.partitions, topic_ids),
            "PartitionsPendingRevocation": _owned(member.revoking, topic_ids),
        },
    }


def _record(kind: GroupRecordType, key: tuple[str, ...], value: Struct) -> Record:
    names = (named.name for named in KEYS[kind].fields)
    return write_record(GroupRecord(kind, Message(kind, dict(zip(names, key, strict=True))), Message(0, value)))


def _owned(partitions: Iterable[tuple[TopicPartition, int]], topic_ids: Mapping[str, UUID]) -> list[Struct]:
    by_topic: dict[str, Struct] = {}
    for (topic, number), epoch in partitions:
        topic_id = topic.id if isinstance(topic, UnnamedTopic) else topic_ids[topic]
        fresh: Struct = {"TopicId": topic_id, "Partitions": [], "AssignmentEpochs": []}
        entry = by_topic.setdefault(topic, fresh)
        entry["Partitions"].append(number)
        entry["AssignmentEpochs"].append(epoch)
    return list(by_topic.values())


@dataclass(slots=True)
class _Member:
    epoch: int = 0
    value: ConsumerMemberValue = field(default_factory=lambda: ConsumerMemberValue(0))


@dataclass(slots=True)
class _Group:
    generation: int = 0
    assignment_epoch: int = NONE
    members: dict[str, _Member] = field(default_factory=dict)
    patterns: dict[str, tuple[str, ...]] = field(default_factory=dict)


def groups_of(records: Iterable[GroupRecord], topic_names: Mapping[UUID, str]) -> dict[str, GroupValue]:
    """What records in their order tell of each consumer group: later ones count, tombstones take back.

    Raises:
        Undecodable: the epochs of a topic's partitions are not as many as the partitions.
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
    elif record.type is GroupRecordType.REGULAR_EXPRESSION and name in groups:
        groups[name].patterns.pop(record.key.fields["RegularExpression"], None)


def _take(group: _Group, record: GroupRecord, value: Struct, topic_names: Mapping[UUID, str]) -> None:
    match record.type:
        case GroupRecordType.GROUP:
            group.generation = value["Epoch"]
        case GroupRecordType.TARGET:
            group.assignment_epoch = value["AssignmentEpoch"]
        case GroupRecordType.REGULAR_EXPRESSION:
            group.patterns[record.key.fields["RegularExpression"]] = tuple(value["Topics"])
        case GroupRecordType.MEMBER | GroupRecordType.TARGET_OF_MEMBER | GroupRecordType.CURRENT_OF_MEMBER:
            member = group.members.setdefault(record.key.fields["MemberId"], _Member())
            _take_of_member(member, record.type, value, topic_names)


def _take_of_member(member: _Member, kind: GroupRecordType, value: Struct, topic_names: Mapping[UUID, str]) -> None:
    if kind is GroupRecordType.MEMBER:
        member.value = replace(
            member.value,
            topics=tuple(value["SubscribedTopicNames"]),
            topic_pattern=value["SubscribedTopicRegex"],
            instance=value["InstanceId"],
            rebalance_timeout_ms=value["RebalanceTimeoutMs"],
            assignor=value["ServerAssignor"],
        )
    elif kind is GroupRecordType.TARGET_OF_MEMBER:
        target = _partitions(value["TopicPartitions"], NONE, topic_names)
        member.value = replace(member.value, target=tuple(partition for partition, _ in target))
    else:
        member.epoch = value["MemberEpoch"]
        member.value = replace(
            member.value,
            previous_epoch=value["PreviousMemberEpoch"],
            state=value["State"],
            partitions=tuple(_partitions(value["AssignedPartitions"], member.epoch, topic_names)),
            revoking=tuple(_partitions(value["PartitionsPendingRevocation"], member.epoch, topic_names)),
        )


def _partitions(
    assigned: Iterable[Struct], member_epoch: int, topic_names: Mapping[UUID, str]
) -> Iterable[tuple[TopicPartition, int]]:
    """Each partition with the epoch in which it was assigned; up to Kafka 4.2 that was not told.

    A member may still have partitions of a topic that was deleted.
    """
    for topic in assigned:
        topic_id, numbers = topic["TopicId"], topic["Partitions"]
        name = topic_names.get(topic_id) or UnnamedTopic.of(topic_id)
        epochs = topic.get("AssignmentEpochs") or [member_epoch] * len(numbers)
        if len(epochs) != len(numbers):
            raise Undecodable(f"{len(numbers)} partitions have {len(epochs)} assignment epochs")
        yield from (((name, number), epoch) for number, epoch in zip(numbers, epochs, strict=True))


def _value_of(group: _Group) -> GroupValue:
    members = group.members
    return GroupValue(
        generation=group.generation,
        members=tuple((name, member.epoch) for name, member in members.items()),
        assignment_epoch=group.assignment_epoch,
        consumers=tuple((name, member.value) for name, member in members.items()),
        patterns=tuple(group.patterns.items()),
    )
