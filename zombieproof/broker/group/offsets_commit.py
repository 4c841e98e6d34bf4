"""Offset commits: OffsetCommit, and TxnOffsetCommit with its wait for the transaction coordinator's word.

The node drives a TxnOffsetCommit: `start` says what is to be asked (None: nothing), `verified` takes the answer, and
`finish` commits and gives the answer for the client. In between the group's coordinator may have moved: `finish` looks
again. The size of the metadata is looked at before the member, and one partition that the member may not commit
refuses all of them.
Source: reference §4.1, §3.4; ``KafkaApis.scala``, ``OffsetMetadataManager.java``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from zombieproof.broker.cluster.clock import Clock
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.group.classic_group import ClassicGroup, NoGroup
from zombieproof.broker.group.consumer_group import ConsumerGroup
from zombieproof.broker.group.store import GroupStore, GroupStores
from zombieproof.broker.partition.produce import PartitionsToVerify
from zombieproof.broker.partition.replica import Replica
from zombieproof.formats.batches import Batch, OffsetKey, OffsetValue, Record
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.groups import OffsetCommit, OffsetsCommitted, OffsetToCommit, TxnOffsetCommit
from zombieproof.model.decisions.offset_commit import (
    decide_offset_commit,
    decide_plain_commit_to_consumer_group,
    error_of_offset_place,
)
from zombieproof.model.decisions.txn_offset_commit import (
    decide_commit_to_consumer_group,
    decide_metadata_size,
    decide_txn_offset_commit,
    decide_txn_offset_commit_front_door,
    is_told_to_all,
)
from zombieproof.model.decisions.verification import (
    SENTINEL,
    answer_of_coordinator,
    answer_to_txn_offset_commit,
    mode_of_txn_offset_commit,
)
from zombieproof.model.decisions.versions import error_on_the_wire
from zombieproof.model.records import AppendVerdict
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, ApiKey, Error, Mode

FIRST_VERSION_WITH_MEMBERS = 3
"""TxnOffsetCommit says from here on which member of which generation it comes from (KIP-447)."""


class MemberOfCommit(NamedTuple):
    """What of a TxnOffsetCommit the group judges (``txn_offset_commit.OffsetCommitRequest``); -1: not given."""

    version: int
    generation: int = NONE
    member: int = NONE
    instance: int = NONE


@dataclass(frozen=True, slots=True)
class Offsets:
    """The rows of a commit that are left to be written, and the errors of the others."""

    rows: tuple[OffsetToCommit, ...]
    errors: dict[TopicPartition, int]

    def answer(self, error: int) -> OffsetsCommitted:
        """`error` for every row that has none of its own."""
        return OffsetsCommitted({**self.errors, **{row.partition: error for row in self.rows}})

    def without_long_metadata(self, limit: int, journal: Journal, group: str) -> "Offsets":
        """The rows whose metadata is short enough; the others have their error."""
        rows, errors = [], dict(self.errors)
        for row in self.rows:
            verdict = decide_metadata_size(_length(row.metadata), limit)
            if verdict.error == Error.NONE:
                rows.append(row)
            else:
                journal.decided("txn_offset_commit", verdict.guard, verdict.error, group)
                errors[row.partition] = verdict.error
        return Offsets(tuple(rows), errors)

    def records(self, group: str, now_ms: int) -> tuple[Record, ...]:
        """A record for each row."""
        return tuple(
            Record(OffsetKey(group, *row.partition), OffsetValue(row.offset, row.metadata, now_ms, row.leader_epoch))
            for row in self.rows
        )


def offsets_of(
    rows: tuple[OffsetToCommit, ...],
    exists: Callable[[TopicPartition], bool],
    unknown_topic_ids: frozenset[str] = frozenset(),
) -> Offsets:
    """The rows of a request: a partition that does not exist is told so, whatever becomes of the others."""
    errors = {
        row.partition: error_of_offset_place(int(exists(row.partition)), int(row.partition[0] not in unknown_topic_ids))
        for row in rows
        if not exists(row.partition)
    }
    return Offsets(tuple(row for row in rows if row.partition not in errors), errors)


def _length(metadata: str) -> int:
    """As Java counts: characters beyond the first 65,536 are two."""
    return len(metadata.encode("utf-16-le", "surrogatepass")) // 2


@dataclass(slots=True)
class CommitContext:
    """What both kinds of commit need of their broker."""

    stores: GroupStores
    rules: Rules
    settings: Settings
    clock: Clock
    journal: Journal
    metadata: Metadata

    def write(
        self, store: GroupStore, group: str, offsets: Offsets, batch: Batch | None = None, guard: int = SENTINEL
    ) -> int:
        """Append what is left of a commit. A group is there as soon as a commit to it is accepted."""
        if not offsets.rows:
            store.simple_group(group)
            return int(Error.NONE)
        now_ms = self.clock.now_ms()
        return store.write(offsets.records(group, now_ms), now_ms, batch=batch, guard=guard)

    def short(self, offsets: Offsets, group: str) -> Offsets:
        """The offsets whose metadata is short enough."""
        return offsets.without_long_metadata(self.settings.offset_metadata_max_bytes, self.journal, group)

    def note(self, decision: str, verdict: AppendVerdict, subject: str) -> int:
        """Note a decision; its error."""
        self.journal.decided(decision, verdict.guard, verdict.error, subject)
        return verdict.error


def assignment_epochs(group: ConsumerGroup, member: str, offsets: Offsets, generation: int) -> tuple[int, ...]:
    """For each row since when it is the member's; where no row is left, as if it were since the epoch it knows."""
    return tuple(group.assignment_epoch_of(member, row.partition) for row in offsets.rows) or (generation,)


def commit_offsets(request: OffsetCommit, context: CommitContext) -> OffsetsCommitted:
    """Answer OffsetCommit."""
    offsets = offsets_of(request.offsets, context.metadata.exists, request.unknown_topic_ids)
    if not offsets.rows:
        return offsets.answer(Error.NONE)
    found = context.stores.find(request.group)
    if found.store is None:
        return offsets.answer(found.error)
    short = context.short(offsets, request.group)
    error = _judge_plain(request, found.store.group(request.group), short, context)
    if error != Error.NONE:
        return offsets.answer(error)
    error = context.write(found.store, request.group, short)
    return (offsets if is_told_to_all(error, context.rules) else short).answer(error)


def _judge_plain(
    request: OffsetCommit, group: ClassicGroup | ConsumerGroup | NoGroup, offsets: Offsets, context: CommitContext
) -> int:
    if not isinstance(group, ConsumerGroup):
        sender = group.sender(request.member, request.instance)
        verdict = decide_offset_commit(group, sender, request.version, request.generation)
        return context.note("offset_commit", verdict, request.group)
    for assignment_epoch in assignment_epochs(group, request.member, offsets, request.generation):
        verdict = decide_plain_commit_to_consumer_group(
            int(bool(group.members)),
            int(request.member in group.members),
            group.epoch_of(request.member),
            assignment_epoch,
            request.version,
            request.generation,
        )
        if context.note("offset_commit", verdict, request.group) != Error.NONE:
            return verdict.error
    return int(Error.NONE)


@dataclass(slots=True)
class OffsetCommitInProgress:
    """One TxnOffsetCommit. `replica` is this broker's replica of the group's partition, None: it has none."""

    request: TxnOffsetCommit
    replica: Replica | None
    context: CommitContext
    offsets: Offsets = field(init=False)
    error: int = field(init=False, default=int(Error.NONE))
    guard: int = field(init=False, default=SENTINEL)

    def __post_init__(self) -> None:
        self.offsets = offsets_of(self.request.offsets, self.context.metadata.exists)

    def start(self) -> PartitionsToVerify | None:
        """What the transaction coordinator is to be asked before `finish`; None: nothing."""
        request = self.request
        if not self.offsets.rows:
            return None
        verdict = decide_txn_offset_commit_front_door(1, int(request.group != ""))
        if verdict.error != Error.NONE:
            self.error = self.context.note("txn_offset_commit", verdict, request.group)
            return None
        if self.replica is None or not self.replica.leads:
            self.error = answer_to_txn_offset_commit(Error.NOT_LEADER_OR_FOLLOWER)
            return None
        mode = Mode(mode_of_txn_offset_commit(request.version))
        verification = self.replica.begin_verification(self._batch(), mode)
        self.guard = verification.guard
        if verification.error != Error.NONE:
            self.error = answer_to_txn_offset_commit(verification.error)
        if not verification.asks:
            return None
        partitions = (self.context.metadata.group_partition(request.group),)
        return PartitionsToVerify(
            request.transactional_id, request.producer_id, request.producer_epoch, partitions, mode
        )

    def verified(self, error: int) -> None:
        """The transaction coordinator, or the channel to it, has answered for the partition asked for."""
        mode = mode_of_txn_offset_commit(self.request.version)
        self.error = answer_to_txn_offset_commit(answer_of_coordinator(error, mode))

    def told(self, errors: Mapping[TopicPartition, int]) -> None:
        """The channel's word on the partition that was asked about, as it has translated it."""
        (error,) = errors.values()
        self.error = answer_to_txn_offset_commit(error)

    def finish(self) -> OffsetsCommitted:
        """Commit, and answer the client."""
        answer = self._commit()
        version = self.request.version
        return OffsetsCommitted(
            {tp: error_on_the_wire(ApiKey.TXN_OFFSET_COMMIT, version, error) for tp, error in answer.errors.items()}
        )

    def _commit(self) -> OffsetsCommitted:
        request, context, error = self.request, self.context, self.error
        if not self.offsets.rows or error != Error.NONE:
            return self.offsets.answer(error)
        found = context.stores.find(request.group)
        if found.store is None:
            return self.offsets.answer(found.error)
        short = context.short(self.offsets, request.group)
        error = self._judge(found.store, short)
        if error != Error.NONE:
            return self.offsets.answer(error)
        error = context.write(found.store, request.group, short, self._batch(), self.guard)
        return (self.offsets if is_told_to_all(error, context.rules) else short).answer(error)

    def _judge(self, store: GroupStore, offsets: Offsets) -> int:
        group, member = store.group(self.request.group), self._member()
        if not isinstance(group, ConsumerGroup):
            sender = group.sender(self.request.member, self.request.instance)
            verdict = decide_txn_offset_commit(
                group,
                member,
                sender.member_is_known,
                sender.instance_is_known,
                sender.instance_is_this_member,
                self.context.rules,
            )
            return self.context.note("txn_offset_commit", verdict, self.request.group)
        for assignment_epoch in assignment_epochs(group, self.request.member, offsets, self.request.generation):
            verdict = decide_commit_to_consumer_group(
                int(bool(group.members)),
                member,
                int(self.request.member in group.members),
                group.epoch_of(self.request.member),
                0,
                assignment_epoch,
                self.context.rules,
            )
            if self.context.note("txn_offset_commit", verdict, self.request.group) != Error.NONE:
                return verdict.error
        return int(Error.NONE)

    def _member(self) -> MemberOfCommit:
        request = self.request
        if request.version < FIRST_VERSION_WITH_MEMBERS:
            return MemberOfCommit(request.version)
        return MemberOfCommit(
            request.version,
            request.generation,
            NONE if request.member == "" else 1,
            NONE if request.instance is None else 1,
        )

    def _batch(self) -> Batch:
        return Batch(self.request.producer_id, self.request.producer_epoch, transactional=True)
