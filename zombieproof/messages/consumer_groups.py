"""Requests of members of the consumer protocol, and their answers. Source: KIP-848, KIP-1082."""

from dataclasses import dataclass
from typing import Annotated

from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.group_names import ClientHost, ClientId, GroupId, MemberId
from zombieproof.messages.schema import Rows, Wire
from zombieproof.messages.transactions import ErrorCode


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
    client_id: ClientId = ""
    client_host: ClientHost = ""


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
