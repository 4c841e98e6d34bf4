"""Requests to a group coordinator and to any broker, and their answers. Source: reference §4, §2.5, §7.5; KIP-848.

Here are those of the classic protocol and of groups as a whole; the others are in files of their own, and named here.
"""

from dataclasses import dataclass
from typing import Annotated

from zombieproof.messages.consumer_groups import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatAnswer
from zombieproof.messages.group_descriptions import (
    ConsumerGroupDescribe,
    ConsumerGroupsDescribed,
    DescribeGroups,
    GroupsDescribed,
    GroupsListed,
    ListGroups,
)
from zombieproof.messages.group_names import ClientHost, ClientId, GenerationId, GroupId, InstanceId, MemberId
from zombieproof.messages.offsets import (
    OFFSETS_BY_ID_SINCE,
    OffsetCommit,
    OffsetCommitted,
    OffsetDelete,
    OffsetFetch,
    OffsetFetchAnswer,
    OffsetFetched,
    OffsetsCommitted,
    OffsetsDeleted,
    OffsetToCommit,
    PlainOffsetToCommit,
    TxnOffsetCommit,
    TxnOffsetsCommitted,
)
from zombieproof.messages.schema import Entity, Pairs, Wire
from zombieproof.messages.transactions import ErrorCode
from zombieproof.model.vocabulary import NONE

__all__ = [
    "CONSUMERS",
    "OFFSETS_BY_ID_SINCE",
    "SAYS_NOTHING",
    "ConsumerGroupDescribe",
    "ConsumerGroupHeartbeat",
    "ConsumerGroupHeartbeatAnswer",
    "ConsumerGroupsDescribed",
    "CoordinatorFound",
    "DeleteGroups",
    "DescribeGroups",
    "FindCoordinator",
    "GenerationId",
    "GroupAnswer",
    "GroupError",
    "GroupId",
    "GroupLeft",
    "GroupProtocol",
    "GroupRequest",
    "GroupsDeleted",
    "GroupsDescribed",
    "GroupsListed",
    "Heartbeat",
    "InstanceId",
    "JoinGroup",
    "JoinGroupAnswer",
    "JoinedMember",
    "LeaveGroup",
    "Leaver",
    "LeaverLeft",
    "ListGroups",
    "MemberAssignment",
    "MemberId",
    "OffsetCommit",
    "OffsetCommitted",
    "OffsetDelete",
    "OffsetFetch",
    "OffsetFetchAnswer",
    "OffsetFetched",
    "OffsetToCommit",
    "OffsetsCommitted",
    "OffsetsDeleted",
    "PlainOffsetToCommit",
    "SyncGroup",
    "SyncGroupAnswer",
    "TxnOffsetCommit",
    "TxnOffsetsCommitted",
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
    """API key 11, versions 0 to 9; member "": a new one. `protocols`: those that it likes best come first.

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
    client_id: ClientId = ""
    client_host: ClientHost = ""


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
    """API key 14, versions 0 to 5; None: not given. Only the leader has `assignments`."""

    version: int
    group: GroupId
    generation: GenerationId
    member: MemberId
    instance: Annotated[str | None, Wire("GroupInstanceId", since=3)] = None
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
    """API key 13, versions 0 to 5: `member` up to version 2, `leavers` from version 3 on."""

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
    """The error of the whole request (up to version 2 of its member), and from version 3 on that of each leaver."""

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
class DeleteGroups:
    """API key 42, versions 0 to 3."""

    version: int
    groups: Annotated[tuple[str, ...], Wire("GroupsNames", entity=Entity.GROUP)]


@dataclass(frozen=True, slots=True)
class GroupsDeleted:
    """The error of each group. Version 3 has a message for errors that no broker here answers: it stays null."""

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
    | DescribeGroups
    | ListGroups
    | ConsumerGroupDescribe
)
GroupAnswer = (
    OffsetsCommitted
    | TxnOffsetsCommitted
    | OffsetFetchAnswer
    | OffsetsDeleted
    | GroupsDeleted
    | JoinGroupAnswer
    | SyncGroupAnswer
    | GroupLeft
    | GroupError
    | ConsumerGroupHeartbeatAnswer
    | GroupsDescribed
    | GroupsListed
    | ConsumerGroupsDescribed
)
