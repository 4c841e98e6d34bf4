"""Requests about the offsets of groups, and their answers. Source: reference §4, §7.5; KIP-447, KIP-848."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Self

from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.group_names import GroupId, MemberId
from zombieproof.messages.partitions import UnknownTopicIds
from zombieproof.messages.schema import Entity, Ours, Rows, Wire
from zombieproof.messages.transactions import ErrorCode, ProducerEpoch, ProducerId, TransactionalId
from zombieproof.model.vocabulary import NONE

OFFSETS_BY_ID_SINCE = 10
"""OffsetCommit and OffsetFetch name topics by id from this version on."""
TXN_OFFSETS_BY_ID_SINCE = 6
"""TxnOffsetCommit names topics by id from this version on (KIP-1319)."""


@dataclass(frozen=True, slots=True)
class PlainOffsetToCommit:
    """The offset of one topic partition, with the application's metadata and the leader epoch of the record there."""

    partition: Annotated[TopicPartition, Ours("the row that the others stand in")]
    offset: Annotated[int, Wire("CommittedOffset")]
    metadata: Annotated[str, Wire("CommittedMetadata")] = ""
    leader_epoch: Annotated[int, Wire("CommittedLeaderEpoch", since=6)] = NONE


@dataclass(frozen=True, slots=True)
class OffsetToCommit(PlainOffsetToCommit):
    """The same in a TxnOffsetCommit, which has the leader epoch in other versions; it does for both."""

    leader_epoch: Annotated[int, Wire("CommittedLeaderEpoch", since=2)] = NONE


@dataclass(frozen=True, slots=True)
class TxnOffsetCommit:
    """API key 28, versions 0-6; generation -1, member "" and instance None: not given.

    `unknown_topic_ids` are topics that version 6 named by an id of no topic.
    """

    version: int
    transactional_id: TransactionalId
    group: GroupId
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    offsets: Annotated[tuple[OffsetToCommit, ...], Rows("Topics", ids_since=TXN_OFFSETS_BY_ID_SINCE)]
    generation: Annotated[
        int, Wire("GenerationId", since=3, until=5), Wire("GenerationIdOrMemberEpoch", since=TXN_OFFSETS_BY_ID_SINCE)
    ] = NONE
    member: Annotated[str, Wire("MemberId", since=3, entity=Entity.MEMBER)] = ""
    instance: Annotated[str | None, Wire("GroupInstanceId", since=3)] = None
    unknown_topic_ids: UnknownTopicIds = frozenset()


@dataclass(frozen=True, slots=True)
class OffsetCommit:
    """API key 8, versions 2-10. `unknown_topic_ids` are topics that version 10 named by an id of no topic.

    Up to version 4 offsets may be kept for `retention_ms` instead of as long as the broker keeps others.
    """

    version: int
    group: GroupId
    offsets: Annotated[tuple[PlainOffsetToCommit, ...], Rows("Topics", ids_since=OFFSETS_BY_ID_SINCE)]
    generation: Annotated[int, Wire("GenerationIdOrMemberEpoch")] = NONE
    member: MemberId = ""
    instance: Annotated[str | None, Wire("GroupInstanceId", since=7)] = None
    unknown_topic_ids: UnknownTopicIds = frozenset()
    retention_ms: Annotated[int, Wire("RetentionTimeMs", until=4)] = NONE


@dataclass(frozen=True, slots=True)
class OffsetCommitted:
    """The error of one row of a commit."""

    partition: Annotated[TopicPartition, Ours("the row that the error stands in")]
    error: ErrorCode


@dataclass(frozen=True, slots=True)
class OffsetsCommitted:
    """The answer of both commits, of OffsetCommit as it stands here: a row for each row of the request.

    A partition has two rows if the request had it twice.
    """

    rows: Annotated[tuple[OffsetCommitted, ...], Rows("Topics", ids_since=OFFSETS_BY_ID_SINCE)]

    @classmethod
    def of(cls, errors: Mapping[TopicPartition, int]) -> Self:
        """The answer that says these errors, each partition once."""
        return cls(tuple(OffsetCommitted(partition, error) for partition, error in errors.items()))

    @property
    def errors(self) -> dict[TopicPartition, int]:
        """The error of each partition: the first that is one, if it has several rows."""
        found: dict[TopicPartition, int] = {}
        for row in self.rows:
            found[row.partition] = found.get(row.partition, 0) or row.error
        return found


@dataclass(frozen=True, slots=True)
class TxnOffsetsCommitted(OffsetsCommitted):
    """The same for TxnOffsetCommit, which names topics by id in other versions."""

    rows: Annotated[tuple[OffsetCommitted, ...], Rows("Topics", ids_since=TXN_OFFSETS_BY_ID_SINCE)]


@dataclass(frozen=True, slots=True)
class OffsetFetch:
    """API key 9, versions 1-10, of one group; `partitions` None asks for all that it has.

    `unknown_topic_ids` are topics that version 10 named by an id of no topic. `member` and `member_epoch`: who asks, of
    a group of the consumer protocol; None and -1: nobody says it.
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
    member: Annotated[str | None, Wire("Groups.MemberId", since=9, entity=Entity.MEMBER)] = None
    member_epoch: Annotated[int, Wire("Groups.MemberEpoch", since=9)] = NONE


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
