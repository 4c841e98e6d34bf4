"""Records of ``__consumer_offsets``: offset commits and classic groups, values of versions 0 to 4 (reference §7.2).

Records of consumer groups are in `consumer_group_records`. Records of other types are nobody's affair here.
Source: ``OffsetCommit{Key,Value}.json``, ``GroupMetadata{Key,Value}.json`` (4.3), ``GroupCoordinatorRecordHelpers``.
"""

from uuid import UUID

from zombieproof.formats.batches import GroupKey, GroupValue, OffsetKey, OffsetValue
from zombieproof.formats.primitives import INT16, INT32, Fields, write_string
from zombieproof.formats.schema import Array, Field, Message, Schema, Struct, read_message, write_message
from zombieproof.model.vocabulary import NONE

OFFSET_COMMIT_TYPES = (0, 1)
OFFSET_COMMIT_TYPE, CLASSIC_GROUP_TYPE = 1, 2
NEWEST_VALUE = 4
OFFSET_VALUE_VERSION, GROUP_VALUE_VERSION = 4, 3
"""What Kafka 4.3 writes: a flexible version only where it needs a tagged field, so that older brokers can take over."""
VERSION_WITH_EXPIRY, VERSION_WITH_TOPIC_ID = 1, 4
NO_TOPIC_ID = UUID(int=0)
NO_TIMEOUTS = (NONE, NONE)
NOTHING_SAID = (b"", b"")

OFFSET_VALUE = Schema(
    "the value",
    versions=(0, NEWEST_VALUE),
    flexible=4,
    fields=(
        Field("offset", "int64"),
        Field("leaderEpoch", "int32", since=3),
        Field("metadata", "string"),
        Field("commitTimestamp", "int64"),
        Field("expireTimestamp", "int64", since=1, until=1),
        Field("topicId", "uuid", since=4, tag=0),
    ),
)

GROUP_VALUE = Schema(
    "the value",
    versions=(0, NEWEST_VALUE),
    flexible=4,
    fields=(
        Field("protocolType", "string"),
        Field("generation", "int32"),
        Field("protocol", "string", nullable=True),
        Field("leader", "string", nullable=True),
        Field("currentStateTimestamp", "int64", since=2),
        Field(
            "members",
            Array(
                (
                    Field("memberId", "string"),
                    Field("groupInstanceId", "string", since=3, nullable=True),
                    Field("clientId", "string"),
                    Field("clientHost", "string"),
                    Field("rebalanceTimeout", "int32", since=1),
                    Field("sessionTimeout", "int32"),
                    Field("subscription", "bytes"),
                    Field("assignment", "bytes"),
                )
            ),
        ),
    ),
)


def read_key(key: bytes) -> OffsetKey | GroupKey | None:
    """Whose offset or which classic group it is; None for records of other types.

    Raises:
        Undecodable: the bytes are not a key.
    """
    fields = Fields(key)
    kind = fields.int16()
    if kind in OFFSET_COMMIT_TYPES:
        return OffsetKey(fields.string(), fields.string(), fields.int32())
    return GroupKey(fields.string()) if kind == CLASSIC_GROUP_TYPE else None


def write_key(key: OffsetKey | GroupKey) -> bytes:
    """The key of an offset's or a classic group's records."""
    if isinstance(key, OffsetKey):
        owner = write_string(key.group) + write_string(key.topic)
        return INT16.pack(OFFSET_COMMIT_TYPE) + owner + INT32.pack(key.partition)
    return INT16.pack(CLASSIC_GROUP_TYPE) + write_string(key.group)


def read_offset(value: bytes) -> OffsetValue:
    """The value of a commit that is no tombstone.

    Raises:
        Undecodable: the bytes are not a value of version 0 to 4.
    """
    fields = read_message(OFFSET_VALUE, value).fields
    leader_epoch, until_ms = fields.get("leaderEpoch", NONE), fields.get("expireTimestamp", NONE)
    topic_id = fields.get("topicId", NO_TOPIC_ID)
    return OffsetValue(
        fields["offset"],
        fields["metadata"],
        fields["commitTimestamp"],
        leader_epoch,
        until_ms,
        None if topic_id == NO_TOPIC_ID else topic_id,
    )


def write_offset(value: OffsetValue, version: int = OFFSET_VALUE_VERSION) -> bytes:
    """The value of a commit. Versions before 3 have no place for the leader epoch, others than 1 none for an expiry.

    So a commit that says when it expires is of version 1. Only version 4 has a place for the topic's id.

    Raises:
        Unwritable: there is no such version.
    """
    fields: Struct = {
        "offset": value.offset,
        "leaderEpoch": value.leader_epoch,
        "metadata": value.metadata,
        "commitTimestamp": value.committed_ms,
        "expireTimestamp": value.until_ms,
    }
    version = version if value.until_ms == NONE else VERSION_WITH_EXPIRY
    if value.topic_id is not None and version >= VERSION_WITH_TOPIC_ID:
        fields["topicId"] = value.topic_id
    return write_message(OFFSET_VALUE, Message(version, fields))


def read_group(value: bytes) -> GroupValue:
    """What a coordinator makes of the value of a classic group; which clients its members are is passed over.

    Raises:
        Undecodable: the bytes are not a value of version 0 to 4.
    """
    fields = read_message(GROUP_VALUE, value).fields
    members = fields["members"]
    instances = ((each["memberId"], each.get("groupInstanceId")) for each in members)
    return GroupValue(
        generation=fields["generation"],
        members=tuple((each["memberId"], fields["generation"]) for each in members),
        leader=fields["leader"] or "",
        instances=tuple((member, instance) for member, instance in instances if instance is not None),
        timeouts=tuple(
            # Before version 1 a member has only one time-out, for both.
            (each["memberId"], (each["sessionTimeout"], each.get("rebalanceTimeout", each["sessionTimeout"])))
            for each in members
            if each["sessionTimeout"] != NONE
        ),
        protocol_type=fields["protocolType"],
        protocol=fields["protocol"],
        said=tuple(
            (each["memberId"], (each["subscription"], each["assignment"]))
            for each in members
            if each["subscription"] or each["assignment"]
        ),
    )


def write_group(value: GroupValue, version: int = GROUP_VALUE_VERSION) -> bytes:
    """The value of a classic group; a group without leader has null there.

    Nobody names a client. Version 0 has no place for the rebalance time-out.

    Raises:
        Unwritable: there is no such version.
    """
    instances, timeouts, said = dict(value.instances), dict(value.timeouts), dict(value.said)
    members = [
        {
            "memberId": member,
            "groupInstanceId": instances.get(member),
            "clientId": "",
            "clientHost": "",
            "rebalanceTimeout": timeouts.get(member, NO_TIMEOUTS)[1],
            "sessionTimeout": timeouts.get(member, NO_TIMEOUTS)[0],
            "subscription": said.get(member, NOTHING_SAID)[0],
            "assignment": said.get(member, NOTHING_SAID)[1],
        }
        for member, _ in value.members
    ]
    fields: Struct = {
        "protocolType": value.protocol_type,
        "generation": value.generation,
        "protocol": value.protocol,
        "leader": value.leader or None,
        "currentStateTimestamp": NONE,
        "members": members,
    }
    return write_message(GROUP_VALUE, Message(version, fields))
