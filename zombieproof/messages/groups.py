"""Requests to a group coordinator and to any broker, and their answers. Source: reference §4, §2.5, §7.5; KIP-848."""

from dataclasses import dataclass
from typing import Annotated

from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.partitions import UnknownTopicIds
from zombieproof.messages.schema import Entity, Ours, Pairs, Rows, Wire
from zombieproof.messages.transactions import ErrorCode, ProducerEpoch, ProducerId, TransactionalId
from zombieproof.model.vocabulary import NONE

OFFSETS_BY_ID_SINCE = 10
"""OffsetCommit and OffsetFetch name topics by their ids from here on."""

GroupId = Annotated[str, Wire("GroupId", entity=Entity.GROUP)]
MemberId = Annotated[str, Wire("MemberId", entity=Entity.MEMBER)]
GenerationId = Annotated[int, Wire("GenerationId")]
InstanceId = Annotated[str | None, Wire("GroupInstanceId")]


@dataclass(frozen=True, slots=True)
class OffsetToCommit:
    """The offset of one topic partition, with the application's metadata and the leader epoch of the record there."""

    partition: Annotated[TopicPartition, Ours("the row that the others stand in")]
    offset: Annotated[int, Wire("CommittedOffset")]
    metadata: Annotated[str, Wire("CommittedMetadata")]
    leader_epoch: Annotated[int, Wire("CommittedLeaderEpoch", since=2)] = NONE


@dataclass(frozen=True, slots=True)
class TxnOffsetCommit:
    """API key 28, versions 0-5; generation -1, member "" and instance None: not given."""

    version: int
    transactional_id: TransactionalId
    group: GroupId
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    offsets: Annotated[tuple[OffsetToCommit, ...], Rows("Topics")]
    generation: Annotated[int, Wire("GenerationId", since=3)] = NONE
    member: Annotated[str, Wire("MemberId", since=3, entity=Entity.MEMBER)] = ""
    instance: Annotated[str | None, Wire("GroupInstanceId", since=3)] = None


@dataclass(frozen=True, slots=True)
class OffsetCommit:
    """API key 8, versions 8-10. `unknown_topic_ids` are topics that version 10 named by an id of no topic."""

    version: int
    group: GroupId
    offsets: Annotated[tuple[OffsetToCommit, ...], Rows("Topics", ids_since=OFFSETS_BY_ID_SINCE)]
    generation: Annotated[int, Wire("GenerationIdOrMemberEpoch")] = NONE
    member: MemberId = ""
    instance: Annotated[str | None, Wire("GroupInstanceId", since=7)] = None
    unknown_topic_ids: UnknownTopicIds = frozenset()


@dataclass(frozen=True, slots=True)
class OffsetsCommitted:
    """The error of each partition: the answer of both commits."""

    errors: Annotated[dict[TopicPartition, int], Rows("Topics", values=("ErrorCode",), ids_since=OFFSETS_BY_ID_SINCE)]


@dataclass(frozen=True, slots=True)
class OffsetFetch:
    """API key 9, versions 7-10, of one group; `partitions` None asks for all that it has.

    `unknown_topic_ids` are topics that version 10 named by an id of no topic.
    """

    version: int
    group: Annotated[
        str, Wire("GroupId", until=7, entity=Entity.GROUP), Wire("Groups.GroupId", since=8, entity=Entity.GROUP)
    ]
    require_stable: Annotated[bool, Wire("RequireStable", since=7)]
    partitions: Annotated[
        tuple[TopicPartition, ...] | None,
        Rows("Topics", until=7, partitions="PartitionIndexes", index=""),
        Rows("Groups.Topics", since=8, partitions="PartitionIndexes", index="", ids_since=OFFSETS_BY_ID_SINCE),
    ]
    unknown_topic_ids: UnknownTopicIds = frozenset()


@dataclass(frozen=True, slots=True)
class OffsetFetched:
    """The committed offset of one partition, -1 and "" where there is none."""

    error: ErrorCode
    offset: Annotated[int, Wire("CommittedOffset")] = NONE
    metadata: Annotated[str, Wire("Metadata")] = ""
    leader_epoch: Annotated[int, Wire("CommittedLeaderEpoch", since=5)] = NONE


@dataclass(frozen=True, slots=True)
class OffsetFetchAnswer:
    """`error` is that of the whole request."""

    error: Annotated[int, Wire("ErrorCode", since=2, until=7), Wire("Groups.ErrorCode", since=8)]
    partitions: Annotated[
        dict[TopicPartition, OffsetFetched],
        Rows("Topics", until=7),
        Rows("Groups.Topics", since=8, ids_since=OFFSETS_BY_ID_SINCE),
    ]


@dataclass(frozen=True, slots=True)
class GroupProtocol:
    """An assignor that a member knows, and what it says to it (of a consumer: `formats.consumer_protocol`)."""

    name: Annotated[str, Wire("Name")]
    metadata: Annotated[bytes, Wire("Metadata")] = b""


CONSUMERS = "consumer"
"""The type of the protocols that consumers speak."""
SAYS_NOTHING = (GroupProtocol("range", b""),)


@dataclass(frozen=True, slots=True)
class JoinGroup:
    """API key 11, versions 3 to 9; member "": a new one. `protocols`: those that it likes best come first.

    Where nothing else is said the time-outs are those of Kafka's consumer, and the member says nothing to an assignor
    that every member knows.
    """

    version: int
    group: GroupId
    member: MemberId
    instance: Annotated[str | None, Wire("GroupInstanceId", since=5)] = None
    session_timeout_ms: Annotated[int, Wire("SessionTimeoutMs")] = 45_000
    rebalance_timeout_ms: Annotated[int, Wire("RebalanceTimeoutMs", since=1)] = 300_000
    protocol_type: Annotated[str, Wire("ProtocolType")] = CONSUMERS
    protocols: Annotated[tuple[GroupProtocol, ...], Wire("Protocols")] = SAYS_NOTHING


@dataclass(frozen=True, slots=True)
class JoinedMember:
    """A member as its leader is told of it: what it has said to the assignor that was chosen."""

    member: MemberId
    metadata: Annotated[bytes, Wire("Metadata")]
    instance: Annotated[str | None, Wire("GroupInstanceId", since=5)] = None


@dataclass(frozen=True, slots=True)
class JoinGroupAnswer:
    """The generation that was joined, who leads it, who the member is, and the assignor that was chosen.

    The leader is told who is in it, and assigns; unless it is to go on with the assignment that there is.
    """

    error: ErrorCode
    generation: GenerationId = NONE
    leader: Annotated[str, Wire("Leader", entity=Entity.MEMBER)] = ""
    member: MemberId = ""
    protocol_type: Annotated[str | None, Wire("ProtocolType", since=7)] = None
    protocol: Annotated[str | None, Wire("ProtocolName")] = None
    members: Annotated[tuple[JoinedMember, ...], Wire("Members")] = ()
    skips_assignment: Annotated[bool, Wire("SkipAssignment", since=9)] = False


@dataclass(frozen=True, slots=True)
class MemberAssignment:
    """What a member gets, in bytes that members understand (of a consumer: `formats.consumer_protocol`)."""

    member: MemberId
    assignment: Annotated[bytes, Wire("Assignment")]


@dataclass(frozen=True, slots=True)
class SyncGroup:
    """API key 14, versions 3 to 5; None: not given. Only the leader has `assignments`."""

    version: int
    group: GroupId
    generation: GenerationId
    member: MemberId
    instance: InstanceId = None
    assignments: Annotated[tuple[MemberAssignment, ...], Wire("Assignments")] = ()
    protocol_type: Annotated[str | None, Wire("ProtocolType", since=5)] = None
    protocol: Annotated[str | None, Wire("ProtocolName", since=5)] = None


@dataclass(frozen=True, slots=True)
class SyncGroupAnswer:
    """What the member gets in this generation, and by which assignor."""

    error: ErrorCode
    assignment: Annotated[bytes, Wire("Assignment")] = b""
    protocol_type: Annotated[str | None, Wire("ProtocolType", since=5)] = None
    protocol: Annotated[str | None, Wire("ProtocolName", since=5)] = None


@dataclass(frozen=True, slots=True)
class Leaver:
    """Who leaves: a member, a static instance (member ""), or both where they have to be the same one."""

    member: MemberId
    instance: InstanceId = None


@dataclass(frozen=True, slots=True)
class LeaveGroup:
    """API key 13, versions 2 to 5: `member` in version 2, `leavers` from version 3 on."""

    version: int
    group: GroupId
    member: Annotated[str, Wire("MemberId", until=2, entity=Entity.MEMBER)] = ""
    leavers: Annotated[tuple[Leaver, ...], Wire("Members", since=3)] = ()


@dataclass(frozen=True, slots=True)
class LeaverLeft:
    """A leaver, and its error."""

    member: MemberId
    instance: InstanceId
    error: ErrorCode


@dataclass(frozen=True, slots=True)
class GroupLeft:
    """The error of the whole request (in version 2 that of its member), and from version 3 on that of each leaver."""

    error: ErrorCode
    leavers: Annotated[tuple[LeaverLeft, ...], Wire("Members", since=3)] = ()


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """API key 12, versions 0 to 4; the instance from version 3 on."""

    version: int
    group: GroupId
    generation: GenerationId
    member: MemberId
    instance: Annotated[str | None, Wire("GroupInstanceId", since=3)] = None


@dataclass(frozen=True, slots=True)
class GroupError:
    """The answer of Heartbeat."""

    error: ErrorCode


@dataclass(frozen=True, slots=True)
class ConsumerGroupHeartbeat:
    """API key 68, versions 0 and 1 (KIP-848): epoch 0 joins, -1 leaves, -2 leaves a static member's place to another.

    From version 1 on the member makes up its id. `topics`, `topic_pattern`, `assignor`, `owned` None and a rebalance
    time-out of -1: as said before. Where nothing else is said the member has nothing, and the time of Kafka's consumer.
    """

    version: int
    group: GroupId
    member: MemberId
    epoch: Annotated[int, Wire("MemberEpoch")]
    topics: Annotated[tuple[str, ...] | None, Wire("SubscribedTopicNames")] = None
    instance: Annotated[str | None, Wire("InstanceId")] = None
    rebalance_timeout_ms: Annotated[int, Wire("RebalanceTimeoutMs")] = 300_000
    topic_pattern: Annotated[str | None, Wire("SubscribedTopicRegex", since=1)] = None
    assignor: Annotated[str | None, Wire("ServerAssignor")] = None
    owned: Annotated[tuple[TopicPartition, ...] | None, Rows("TopicPartitions", index="", ids_since=0)] = ()


@dataclass(frozen=True, slots=True)
class ConsumerGroupHeartbeatAnswer:
    """Who the member is and in which epoch, when to come again, and what it reads; None: what it read before."""

    error: ErrorCode
    member: MemberId = ""
    epoch: Annotated[int, Wire("MemberEpoch")] = 0
    heartbeat_interval_ms: Annotated[int, Wire("HeartbeatIntervalMs")] = 0
    assignment: Annotated[
        tuple[TopicPartition, ...] | None, Rows("Assignment.TopicPartitions", index="", ids_since=0)
    ] = None


@dataclass(frozen=True, slots=True)
class OffsetDelete:
    """API key 47, version 0."""

    version: int
    group: GroupId
    partitions: Annotated[tuple[TopicPartition, ...], Rows("Topics")]


@dataclass(frozen=True, slots=True)
class OffsetsDeleted:
    """`error` is that of the whole request; a row for each partition where it is NONE."""

    error: ErrorCode
    errors: Annotated[dict[TopicPartition, int], Rows("Topics", values=("ErrorCode",))]


@dataclass(frozen=True, slots=True)
class DeleteGroups:
    """API key 42, versions 0 to 2."""

    version: int
    groups: Annotated[tuple[str, ...], Wire("GroupsNames", entity=Entity.GROUP)]


@dataclass(frozen=True, slots=True)
class GroupsDeleted:
    """The error of each group."""

    groups: Annotated[dict[str, int], Pairs("Results", key="GroupId", entity=Entity.GROUP)]


@dataclass(frozen=True, slots=True)
class FindCoordinator:
    """API key 10, versions 1 to 6, of one key; `key_type` 0 a group, 1 a transactional id."""

    version: int
    key: Annotated[str, Wire("Key", until=3), Wire("CoordinatorKeys", since=4)]
    key_type: Annotated[int, Wire("KeyType", since=1)]


@dataclass(frozen=True, slots=True)
class CoordinatorFound:
    """The answer of FindCoordinator: the node that coordinates the key."""

    error: Annotated[int, Wire("ErrorCode", until=3), Wire("Coordinators.ErrorCode", since=4)]
    node: Annotated[int, Wire("NodeId", until=3), Wire("Coordinators.NodeId", since=4)] = NONE


GroupRequest = (
    TxnOffsetCommit
    | OffsetCommit
    | OffsetFetch
    | OffsetDelete
    | DeleteGroups
    | JoinGroup
    | SyncGroup
    | LeaveGroup
    | Heartbeat
    | ConsumerGroupHeartbeat
)
GroupAnswer = (
    OffsetsCommitted
    | OffsetFetchAnswer
    | OffsetsDeleted
    | GroupsDeleted
    | JoinGroupAnswer
    | SyncGroupAnswer
    | GroupLeft
    | GroupError
    | ConsumerGroupHeartbeatAnswer
)
