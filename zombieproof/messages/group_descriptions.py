"""Requests of administrators about groups, and their answers. Source: KIP-430, KIP-518, KIP-848, KIP-1099."""

from dataclasses import dataclass
from typing import Annotated

from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.group_names import MemberId
from zombieproof.messages.schema import Entity, Rows, Wire
from zombieproof.messages.transactions import ErrorCode

GroupNames = Annotated[tuple[str, ...], Wire("Groups", entity=Entity.GROUP)]


@dataclass(frozen=True, slots=True)
class DescribeGroups:
    """API key 15, versions 0 to 6: groups of the classic protocol."""

    version: int
    groups: GroupNames


@dataclass(frozen=True, slots=True)
class MemberDescription:
    """A member of a classic group; in a group that is stable with what it said, and got, in bytes of its own."""

    member: MemberId
    instance: Annotated[str | None, Wire("GroupInstanceId", since=4)]
    client_id: Annotated[str, Wire("ClientId")]
    client_host: Annotated[str, Wire("ClientHost")]
    metadata: Annotated[bytes, Wire("MemberMetadata")] = b""
    assignment: Annotated[bytes, Wire("MemberAssignment")] = b""


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """A classic group; `state` is Kafka's name (``Stable``), ``Dead`` where there is none; `protocol` when stable."""

    group: Annotated[str, Wire("GroupId", entity=Entity.GROUP)]
    error: ErrorCode
    message: Annotated[str | None, Wire("ErrorMessage", since=6)] = None
    state: Annotated[str, Wire("GroupState")] = ""
    protocol_type: Annotated[str, Wire("ProtocolType")] = ""
    protocol: Annotated[str, Wire("ProtocolData")] = ""
    members: Annotated[tuple[MemberDescription, ...], Wire("Members")] = ()


@dataclass(frozen=True, slots=True)
class GroupsDescribed:
    """One row for each group asked for."""

    groups: Annotated[tuple[GroupDescription, ...], Wire("Groups")]


@dataclass(frozen=True, slots=True)
class ListGroups:
    """API key 16, versions 0 to 5: the groups of one coordinator; an empty filter lets everything through."""

    version: int
    states: Annotated[tuple[str, ...], Wire("StatesFilter", since=4)] = ()
    types: Annotated[tuple[str, ...], Wire("TypesFilter", since=5)] = ()


@dataclass(frozen=True, slots=True)
class GroupListing:
    """One row of the answer."""

    group: Annotated[str, Wire("GroupId", entity=Entity.GROUP)]
    protocol_type: Annotated[str, Wire("ProtocolType")]
    state: Annotated[str, Wire("GroupState", since=4)]
    type: Annotated[str, Wire("GroupType", since=5)]


@dataclass(frozen=True, slots=True)
class GroupsListed:
    """Every group that passes."""

    error: ErrorCode
    groups: Annotated[tuple[GroupListing, ...], Wire("Groups")] = ()


@dataclass(frozen=True, slots=True)
class ConsumerGroupDescribe:
    """API key 69, versions 0 and 1: groups of the consumer protocol."""

    version: int
    groups: Annotated[tuple[str, ...], Wire("GroupIds", entity=Entity.GROUP)]


@dataclass(frozen=True, slots=True)
class ConsumerDescription:
    """A member of a consumer group: what it says, what it has, and what it shall have. `type` 1: it speaks KIP-848."""

    member: MemberId
    instance: Annotated[str | None, Wire("InstanceId")]
    epoch: Annotated[int, Wire("MemberEpoch")]
    client_id: Annotated[str, Wire("ClientId")]
    client_host: Annotated[str, Wire("ClientHost")]
    topics: Annotated[tuple[str, ...], Wire("SubscribedTopicNames")]
    topic_pattern: Annotated[str, Wire("SubscribedTopicRegex")]
    assignment: Annotated[
        tuple[TopicPartition, ...], Rows("Assignment.TopicPartitions", topic="TopicName", index="")
    ] = ()
    target: Annotated[
        tuple[TopicPartition, ...], Rows("TargetAssignment.TopicPartitions", topic="TopicName", index="")
    ] = ()
    type: Annotated[int, Wire("MemberType", since=1)] = 1


@dataclass(frozen=True, slots=True)
class ConsumerGroupDescription:
    """A consumer group; `state` is Kafka's name."""

    group: Annotated[str, Wire("GroupId", entity=Entity.GROUP)]
    error: ErrorCode
    message: Annotated[str | None, Wire("ErrorMessage")] = None
    state: Annotated[str, Wire("GroupState")] = ""
    epoch: Annotated[int, Wire("GroupEpoch")] = 0
    assignment_epoch: Annotated[int, Wire("AssignmentEpoch")] = 0
    assignor: Annotated[str, Wire("AssignorName")] = ""
    members: Annotated[tuple[ConsumerDescription, ...], Wire("Members")] = ()


@dataclass(frozen=True, slots=True)
class ConsumerGroupsDescribed:
    """One row for each group asked for."""

    groups: Annotated[tuple[ConsumerGroupDescription, ...], Wire("Groups")]
