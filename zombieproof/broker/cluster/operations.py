"""The operations of a broker that may have to wait, as data; each says by itself whether it still has to.

`judge` gives what the operation goes on with, None while it waits. `is_over`: its time is over. `changed`: the only
thing that has changed since it was judged last; None: anything may have. What waits for the answer to a request of the
broker itself (a question to a coordinator, markers) has nothing to judge: it goes on with the answer, or without one
when the connection is lost or the time is over.
Source: ``DelayedProduce.scala``, ``DelayedFetch.scala``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from zombieproof.broker.cluster.network import Answer
from zombieproof.broker.cluster.waiting import Key
from zombieproof.broker.coordinator.effects import Append
from zombieproof.broker.group.offsets_commit import OffsetCommitInProgress
from zombieproof.broker.partition.produce import ProduceInProgress
from zombieproof.broker.partition.replica import Replica
from zombieproof.broker.partition.service import PartitionService
from zombieproof.broker.partition.verification_channel import VerificationRequest
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
from zombieproof.statemachines.partition_leader.offsets import FetchRead, fetch_goes, fetch_wants

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


@dataclass(slots=True)
class HeldAnswer:
    """The answer to request `number`, which is true when everything that it depends on is durable.

    A need that is met, or never will be, is not looked at again (``DelayedProduce.tryComplete``), so a change of one
    partition costs the needs of that partition only. `waiting`: the needs that are left; None: none was looked at yet.
    """

    number: int
    answer: Answer
    needs: tuple[Need, ...]
    waiting: dict[TopicPartition, list[Need]] | None = None
    failed: dict[TopicPartition, int] = field(default_factory=dict)

    def judge(
        self, partitions: PartitionService, now_ms: int, is_over: bool, changed: Key | None = None
    ) -> Answer | None:
        """The answer; what could not be made durable in time has its error in it."""
        if self.waiting is None:
            self.waiting = {}
            for need in self.needs:
                self.waiting.setdefault(need.partition, []).append(need)
        for partition in [changed] if isinstance(changed, tuple) else list(self.waiting):
            self._look_at(partition, self.waiting, partitions, is_over)
        if self.waiting:
            return None
        answer = self.answer
        for partition, error in self.failed.items():
            answer = with_error(answer, partition, error)
        return answer

    def _look_at(
        self,
        partition: TopicPartition,
        waiting: dict[TopicPartition, list[Need]],
        partitions: PartitionService,
        is_over: bool,
    ) -> None:
        errors = [(need, need.error(partitions, is_over)) for need in waiting.get(partition, ())]
        self.failed.update((need.partition, error) for need, error in errors if error not in (WAITS, Error.NONE))
        left = [need for need, error in errors if error == WAITS]
        if left:
            waiting[partition] = left
        else:
            waiting.pop(partition, None)


@dataclass(frozen=True, slots=True)
class AppendUnderWay:
    """A record of the transaction coordinator that is in the log and not durable yet."""

    append: Append
    need: Need
    sends_markers: bool

    def judge(self, partitions: PartitionService, now_ms: int, is_over: bool, changed: Key | None = None) -> int | None:
        """The outcome: the log's error."""
        error = self.need.error(partitions, is_over)
        return None if error == WAITS else error


@dataclass(frozen=True, slots=True)
class HeldAppend:
    """A record of the transaction coordinator that somebody keeps from the log (`Broker.holds_appends`)."""

    append: Append
    sends_markers: bool

    def judge(self, partitions: PartitionService, now_ms: int, is_over: bool, changed: Key | None = None) -> int | None:
        """REQUEST_TIMED_OUT when its time is over."""
        return int(Error.REQUEST_TIMED_OUT) if is_over else None


@dataclass(frozen=True, slots=True)
class Load:
    """A coordinator's partition under `leader_epoch`, whose log is read when all that it has is durable."""

    leader_epoch: int
    need: Need

    def judge(self, partitions: PartitionService, now_ms: int, is_over: bool, changed: Key | None = None) -> int | None:
        """NONE: it is read now; or the error because of which it is not. There is time without end."""
        error = self.need.error(partitions, is_over=False)
        return None if error == WAITS else error


class Counted(NamedTuple):
    """What a waiting fetch has counted of one partition: so many bytes, which end before `offset`."""

    offset: int
    size: int


@dataclass(slots=True)
class WaitingFetch:
    """A fetch that came at `since_ms` and waits for more. It is told what can be read when it is answered.

    All of it is read when it arrives. A later change of one partition costs only what is new in that partition.
    """

    number: int
    request: Fetch
    since_ms: int
    size: int = 0
    counted: dict[TopicPartition, Counted] = field(default_factory=dict)

    def judge(
        self, partitions: PartitionService, now_ms: int, is_over: bool, changed: Key | None = None
    ) -> FetchAnswer | None:
        """The answer, if it is due."""
        if isinstance(changed, tuple):
            return self._look_at(changed, partitions, now_ms)
        answer = partitions.fetch(self.request)
        reads = partitions.judge(self.request, answer)
        ends = any(read.ends_wait for read in reads) or all(row.error for row in answer.partitions.values())
        self.size = sum(read.size for read in reads)
        for (partition, row), read in zip(answer.partitions.items(), reads, strict=True):
            if row.batches:
                self.counted[partition] = Counted(row.batches[-1].last_offset + 1, read.size)
        return answer if self._is_due(ends, partitions, now_ms) else None

    def _look_at(self, partition: TopicPartition, partitions: PartitionService, now_ms: int) -> FetchAnswer | None:
        before = self.counted.get(partition) or Counted(self.request.partitions[partition], 0)
        read, offset = partitions.read_more(self.request, partition, before.offset)
        after = Counted(offset, partitions.counted(self.request, partition, before.size + read.size))
        self.counted[partition], self.size = after, self.size - before.size + after.size
        return partitions.fetch(self.request) if self._is_due(read.ends_wait, partitions, now_ms) else None

    def _is_due(self, ends_wait: bool, partitions: PartitionService, now_ms: int) -> bool:
        request, waited_ms = self.request, now_ms - self.since_ms
        wanted = fetch_wants(request.min_bytes, request.max_bytes, partitions.settings.fetch_max_bytes)
        return fetch_goes(FetchRead(ends_wait, self.size, wanted, waited_ms, request.max_wait_ms))


@dataclass(slots=True)
class WaitingDeletion:
    """A DeleteRecords, request `number`, that is carried out here, and waits for the other replicas.

    `rows` are the partitions that wait no longer: each with its low watermark, and its error.
    """

    number: int
    deletions: Mapping[TopicPartition, Deletion]
    rows: dict[TopicPartition, tuple[int, int]] = field(default_factory=dict)

    def judge(
        self, partitions: PartitionService, now_ms: int, is_over: bool, changed: Key | None = None
    ) -> RecordsDeleted | None:
        """The answer, when the records are gone at every replica that is up, or it is too late."""
        for partition in [changed] if isinstance(changed, tuple) else self.deletions:
            if partition not in self.rows:
                row = self._row(partitions.replica(partition), self.deletions[partition], is_over)
                if row[1] != WAITS:
                    self.rows[partition] = row
        if len(self.rows) < len(self.deletions):
            return None
        return RecordsDeleted({partition: self.rows[partition] for partition in self.deletions})

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

    def judge(self, partitions: PartitionService, now_ms: int, is_over: bool, changed: Key | None = None) -> int | None:
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

    def judge(self, partitions: PartitionService, now_ms: int, is_over: bool, changed: Key | None = None) -> int | None:
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

OfRequest = HeldAnswer | WaitingFetch | WaitingDeletion | AskAgain
"""Those of them that a client's request waits for."""

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
            return replace(answer, rows=tuple(replace(row, error=row.error or of_group) for row in answer.rows))
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
