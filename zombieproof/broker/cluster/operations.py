"""The operations of a broker that may have to wait, as data; each says by itself whether it still has to.

`judge` gives what the operation goes on with, None while it waits. `is_over`: its time is over. What waits for the
answer to a request of the broker itself (a question to a coordinator, markers) has nothing to judge: it goes on with
the answer, or without one when the connection is lost or the time is over.
Source: ``DelayedProduce.scala``, ``DelayedFetch.scala``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from zombieproof.broker.cluster.network import Answer
from zombieproof.broker.coordinator.effects import Append
from zombieproof.broker.group.offsets_commit import OffsetCommitInProgress
from zombieproof.broker.partition.produce import ProduceInProgress
from zombieproof.broker.partition.replica import Replica
from zombieproof.broker.partition.service import PartitionService
from zombieproof.broker.partition.verification_channel import VerificationRequest
from zombieproof.formats.batches import Batch
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.groups import (
    ConsumerGroupHeartbeatAnswer,
    GroupError,
    GroupLeft,
    JoinGroupAnswer,
    OffsetFetchAnswer,
    OffsetsCommitted,
    OffsetsDeleted,
    SyncGroupAnswer,
)
from zombieproof.messages.partitions import (
    Fetch,
    FetchAnswer,
    MarkerWritten,
    Produce,
    ProduceAnswer,
    Produced,
    RecordsDeleted,
    WriteTxnMarkersAnswer,
)
from zombieproof.model.vocabulary import NONE, Error
from zombieproof.statemachines.group_coordinator.commits import answer_of_log
from zombieproof.statemachines.partition_leader.acknowledging import WAITS, acknowledge, is_durable_everywhere
from zombieproof.statemachines.partition_leader.deleting import Deletion, has_followed
from zombieproof.statemachines.partition_leader.offsets import FetchRead, fetch_goes

InProgress = ProduceInProgress | OffsetCommitInProgress
"""A write that may have to wait for the coordinator of its transaction."""


class Need(NamedTuple):
    """Everything of a partition below `offset` has to be durable: at this broker (`is_local`), or wherever in sync."""

    partition: TopicPartition
    offset: int
    min_in_sync: int = 0
    is_local: bool = False

    def error(self, partitions: PartitionService, is_over: bool) -> int:
        """What whoever has the need is told, or WAITS."""
        replica = partitions.replica(self.partition)
        if replica is None:
            return acknowledge(False, False, False, 0, self.min_in_sync, is_over)
        if self.is_local:
            is_durable = replica.log.durable_offset >= self.offset
        else:
            is_durable = is_durable_everywhere(replica.high_watermark, self.offset, replica.producers.rules)
        is_offline = replica.log.failure is not None or replica.log.offline is not None
        return acknowledge(replica.leads, is_durable, is_offline, replica.in_sync, self.min_in_sync, is_over)


@dataclass(frozen=True, slots=True)
class HeldAnswer:
    """The answer to request `number`, which is true when everything that it depends on is durable."""

    number: int
    answer: Answer
    needs: tuple[Need, ...]

    def judge(self, partitions: PartitionService, now_ms: int, is_over: bool) -> Answer | None:
        """The answer; what could not be made durable in time has its error in it."""
        answered, answer = [(need, need.error(partitions, is_over)) for need in self.needs], self.answer
        if any(error == WAITS for _, error in answered):
            return None
        for need, error in answered:
            if error != Error.NONE:
                answer = with_error(answer, need.partition, error)
        return answer


@dataclass(frozen=True, slots=True)
class AppendUnderWay:
    """A record of the transaction coordinator that is in the log and not durable yet."""

    append: Append
    need: Need
    sends_markers: bool

    def judge(self, partitions: PartitionService, now_ms: int, is_over: bool) -> int | None:
        """The outcome: the log's error."""
        error = self.need.error(partitions, is_over)
        return None if error == WAITS else error


@dataclass(frozen=True, slots=True)
class HeldAppend:
    """A record of the transaction coordinator that somebody keeps from the log (`Broker.holds_appends`)."""

    append: Append
    sends_markers: bool

    def judge(self, partitions: PartitionService, now_ms: int, is_over: bool) -> int | None:
        """REQUEST_TIMED_OUT when its time is over."""
        return int(Error.REQUEST_TIMED_OUT) if is_over else None


@dataclass(frozen=True, slots=True)
class Load:
    """A coordinator's partition under `leader_epoch`, whose log is read when all that it has is durable."""

    leader_epoch: int
    need: Need

    def judge(self, partitions: PartitionService, now_ms: int, is_over: bool) -> int | None:
        """NONE: it is read now; or the error because of which it is not. There is time without end."""
        error = self.need.error(partitions, is_over=False)
        return None if error == WAITS else error


@dataclass(frozen=True, slots=True)
class WaitingFetch:
    """A fetch that came at `since_ms` and waits for more. It is told what can be read when it is answered.

    A batch is as long as its bytes are, where it came as bytes; else as its keys and values: then how a record is
    encoded is the store's affair, and records of internal topics count as nothing.
    """

    number: int
    request: Fetch
    since_ms: int

    def judge(self, partitions: PartitionService, now_ms: int, is_over: bool) -> FetchAnswer | None:
        """The answer, if it is due."""
        answer = partitions.fetch(self.request)
        fetched = tuple(answer.partitions.values())
        failed = not fetched or any(one.error != Error.NONE for one in fetched)
        size = _size((batch for one in fetched for batch in one.batches), self.request.min_bytes)
        waited_ms = now_ms - self.since_ms
        read = FetchRead(failed, size, self.request.min_bytes, waited_ms, self.request.max_wait_ms)
        return answer if fetch_goes(read) else None


@dataclass(frozen=True, slots=True)
class WaitingDeletion:
    """A DeleteRecords, request `number`, that is carried out here, and waits for the other replicas."""

    number: int
    deletions: Mapping[TopicPartition, Deletion]

    def judge(self, partitions: PartitionService, now_ms: int, is_over: bool) -> RecordsDeleted | None:
        """The answer, when the records are gone at every replica that is up, or it is too late."""
        rows = {tp: self._row(partitions.replica(tp), each, is_over) for tp, each in self.deletions.items()}
        return None if any(error == WAITS for _, error in rows.values()) else RecordsDeleted(rows)

    def _row(self, replica: Replica | None, deletion: Deletion, is_over: bool) -> tuple[int, int]:
        if deletion.error != Error.NONE:
            return NONE, deletion.error
        low = NONE if replica is None else replica.low_watermark
        error = has_followed(replica is not None and replica.leads, low, deletion.offset, is_over)
        return low, error


@dataclass(frozen=True, slots=True)
class GroupTimer:
    """A group that looks at its clock at a time."""

    group: str

    def judge(self, partitions: PartitionService, now_ms: int, is_over: bool) -> int | None:
        """NONE when it is time."""
        return int(Error.NONE) if is_over else None


@dataclass(frozen=True, slots=True)
class WaitingMember:
    """A JoinGroup or SyncGroup, request `number`, that waits for other members; its group says until when."""

    number: int


@dataclass(frozen=True, slots=True)
class AskAgain:
    """A Produce, request `number`, that first asked at `since_ms`, and does so again at a time or sooner."""

    number: int
    work: ProduceInProgress
    since_ms: int

    def judge(self, partitions: PartitionService, now_ms: int, is_over: bool) -> int | None:
        """NONE: whatever ends the wait is a reason to ask."""
        return int(Error.NONE)


@dataclass(frozen=True, slots=True)
class WriteUnderWay:
    """A write of a client, request `number`, that has a question in the verification channel under its ticket.

    It asked for the first time at `since_ms`.
    """

    number: int
    work: InProgress
    since_ms: int


@dataclass(frozen=True, slots=True)
class QuestionsUnderWay:
    """A request of the verification channel."""

    sent: VerificationRequest


@dataclass(frozen=True, slots=True)
class MarkersUnderWay:
    """Markers that were sent as request `number` of the marker channel."""

    number: int


@dataclass(frozen=True, slots=True)
class BlockUnderWay:
    """A request for a block of producer ids."""


Judged = HeldAnswer | AppendUnderWay | HeldAppend | Load | WaitingFetch | WaitingDeletion | GroupTimer | AskAgain
"""What waits for a state of a partition, or for a time."""

Asking = QuestionsUnderWay | MarkersUnderWay | BlockUnderWay
"""What waits for the answer to a request of the broker itself."""

Answered = WriteUnderWay | WaitingMember
"""What waits for the word of another part of the broker."""

Operation = Judged | Asking | Answered

# ---------------------------------------------------------------- what answers depend on


def needs_of_produce(
    request: Produce, answer: ProduceAnswer, min_in_sync: int, partitions: PartitionService
) -> tuple[Need, ...]:
    """What the answer to a Produce depends on: every batch that it says is there, also one that was there before.

    With acks=1 the leader's own store is enough.
    """
    needs, is_local = list[Need](), request.acks != NONE
    for partition, produced in answer.partitions.items():
        if produced.error == Error.NONE:
            end = produced.base_offset + request.partitions[partition][0].batch.last_offset_delta + 1
            if produced.base_offset == NONE:
                end = partitions.replicas[partition].log.end_offset
            needs.append(Need(partition, end, 0 if is_local else min_in_sync, is_local))
    return tuple(needs)


def with_error(answer: Answer, partition: TopicPartition, error: int) -> Answer:
    """`answer`, but that what it says of `partition` could not be made durable: it failed with `error` of the log."""
    of_group = answer_of_log(error)
    match answer:
        case ProduceAnswer():
            return ProduceAnswer({**answer.partitions, partition: Produced(error)})
        case WriteTxnMarkersAnswer():
            return WriteTxnMarkersAnswer(tuple(_marker_with_error(row, partition, error) for row in answer.markers))
        case OffsetsCommitted():
            return OffsetsCommitted({row: answered or of_group for row, answered in answer.errors.items()})
        case OffsetsDeleted():
            return OffsetsDeleted(of_group, {})
        case OffsetFetchAnswer():
            return OffsetFetchAnswer(of_group, {})
        case JoinGroupAnswer():
            return JoinGroupAnswer(of_group, member=answer.member)
        case GroupLeft():
            return GroupLeft(of_group)
        case GroupError():
            return GroupError(of_group)
        case SyncGroupAnswer():
            return SyncGroupAnswer(of_group)
        case ConsumerGroupHeartbeatAnswer():
            return ConsumerGroupHeartbeatAnswer(of_group)
        case _:
            raise TypeError(f"{answer!r} says nothing that has to be durable")


def _marker_with_error(row: MarkerWritten, partition: TopicPartition, error: int) -> MarkerWritten:
    return MarkerWritten(
        row.producer_id,
        {tp: (answered or error) if tp == partition else answered for tp, answered in row.errors.items()},
    )


def _size(batches: Iterable[Batch], enough: int) -> int:
    """How many bytes there are; counted no further than there are `enough`."""
    size = 0
    for batch in batches:
        if batch.encoded is not None:
            size += len(batch.encoded.data)
        for record in batch.records if batch.encoded is None else ():
            size += sum(len(part) for part in (record.key, record.value) if isinstance(part, bytes))
            if size >= enough:
                break
        if size >= enough:
            break
    return size
