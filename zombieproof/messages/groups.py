"""Requests to a group coordinator and to any broker, and their answers. Source: reference §4, §2.5, §7.5; KIP-848."""

from dataclasses import dataclass

from zombieproof.formats.topics import TopicPartition
from zombieproof.model.vocabulary import NONE


@dataclass(frozen=True, slots=True)
class OffsetToCommit:
    """The offset of one topic partition, with the application's metadata and the leader epoch of the record there."""

    partition: TopicPartition
    offset: int
    metadata: str
    leader_epoch: int = NONE


@dataclass(frozen=True, slots=True)
class TxnOffsetCommit:
    """API key 28, versions 0-5; generation -1, member "" and instance None: not given."""

    version: int
    transactional_id: str | None
    group: str
    producer_id: int
    producer_epoch: int
    offsets: tuple[OffsetToCommit, ...]
    generation: int = NONE
    member: str = ""
    instance: str | None = None


@dataclass(frozen=True, slots=True)
class OffsetCommit:
    """API key 8, versions 8-10. `unknown_topic_ids` are topics that version 10 named by an id of no topic."""

    version: int
    group: str
    offsets: tuple[OffsetToCommit, ...]
    generation: int = NONE
    member: str = ""
    instance: str | None = None
    unknown_topic_ids: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class OffsetsCommitted:
    """The error of each partition: the answer of both commits."""

    errors: dict[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class OffsetFetch:
    """API key 9, versions 7-10, of one group; `partitions` None asks for all that it has.

    `unknown_topic_ids` are topics that version 10 named by an id of no topic.
    """

    version: int
    group: str
    require_stable: bool
    partitions: tuple[TopicPartition, ...] | None
    unknown_topic_ids: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class OffsetFetched:
    """The committed offset of one partition, -1 and "" where there is none."""

    error: int
    offset: int = NONE
    metadata: str = ""
    leader_epoch: int = NONE


@dataclass(frozen=True, slots=True)
class OffsetFetchAnswer:
    """`error` is that of the whole request."""

    error: int
    partitions: dict[TopicPartition, OffsetFetched]


@dataclass(frozen=True, slots=True)
class JoinGroup:
    """API key 11, versions 3 to 9, of the one protocol that every member speaks; member "": a new one."""

    version: int
    group: str
    member: str
    instance: str | None = None


@dataclass(frozen=True, slots=True)
class JoinGroupAnswer:
    """The generation that was joined, who leads it, and who the member is."""

    error: int
    generation: int = NONE
    leader: str = ""
    member: str = ""


@dataclass(frozen=True, slots=True)
class SyncGroup:
    """API key 14, versions 3 to 5; instance None: not given."""

    version: int
    group: str
    generation: int
    member: str
    instance: str | None = None


@dataclass(frozen=True, slots=True)
class Leaver:
    """Who leaves: a member, a static instance (member ""), or both where they have to be the same one."""

    member: str
    instance: str | None = None


@dataclass(frozen=True, slots=True)
class LeaveGroup:
    """API key 13, versions 2 to 5: `member` in version 2, `leavers` from version 3 on."""

    version: int
    group: str
    member: str = ""
    leavers: tuple[Leaver, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupLeft:
    """The answer of LeaveGroup from version 3 on: the error of the whole request, and that of each leaver."""

    error: int
    leavers: tuple[tuple[Leaver, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """API key 12, versions 0 to 4; the instance from version 3 on."""

    version: int
    group: str
    generation: int
    member: str
    instance: str | None = None


@dataclass(frozen=True, slots=True)
class GroupError:
    """The answer of SyncGroup, Heartbeat and LeaveGroup 2 as far as the protocol goes."""

    error: int


@dataclass(frozen=True, slots=True)
class ConsumerGroupHeartbeat:
    """API key 68, version 0 (KIP-848): epoch 0 joins, -1 leaves."""

    version: int
    group: str
    member: str
    epoch: int
    topics: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class ConsumerGroupHeartbeatAnswer:
    """Who the member is and in which epoch."""

    error: int
    member: str = ""
    epoch: int = NONE


@dataclass(frozen=True, slots=True)
class OffsetDelete:
    """API key 47, version 0."""

    version: int
    group: str
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class OffsetsDeleted:
    """`error` is that of the whole request; a row for each partition where it is NONE."""

    error: int
    errors: dict[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class FindCoordinator:
    """API key 10, version 3; `key_type` 0 a group, 1 a transactional id."""

    version: int
    key: str
    key_type: int


@dataclass(frozen=True, slots=True)
class CoordinatorFound:
    """The answer of FindCoordinator: the node that coordinates the key."""

    error: int
    node: int = NONE


GroupRequest = (
    TxnOffsetCommit
    | OffsetCommit
    | OffsetFetch
    | OffsetDelete
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
    | JoinGroupAnswer
    | GroupLeft
    | GroupError
    | ConsumerGroupHeartbeatAnswer
)
