"""Offset commits: OffsetCommit, and TxnOffsetCommit with its wait for the transaction coordinator's word.

The node drives a TxnOffsetCommit: `start` says what is to be asked (None: nothing), `handle_verification` takes the
answer, and `finish` commits and gives the answer for the client. In between the group's coordinator may have moved:
`finish` looks again. What is judged, and in which order, is in ``statemachines.group_coordinator.commits``.
Source: reference §4.1, §3.4; ``KafkaApis.scala``, ``OffsetMetadataManager.java``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from zombieproof.broker.cluster.clock import Clock
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.group.classic_group import ClassicGroup, NoGroup
from zombieproof.broker.group.consumer_group import ConsumerGroup
from zombieproof.broker.group.store import FoundGroup, GroupStore, GroupStores
from zombieproof.broker.partition.produce import PartitionsToVerify
from zombieproof.broker.partition.replica import Replica
from zombieproof.formats.batches import Batch, OffsetKey, OffsetValue, Record
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.groups import (
    OffsetCommit,
    OffsetCommitted,
    OffsetsCommitted,
    PlainOffsetToCommit,
    TxnOffsetCommit,
    TxnOffsetsCommitted,
)
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, Error, Mode
from zombieproof.statemachines.classic_group.membership import committed
from zombieproof.statemachines.group_coordinator import commits
from zombieproof.statemachines.group_coordinator.effects import GroupEffects, clear
from zombieproof.statemachines.partition_leader import verification
from zombieproof.statemachines.partition_leader.effects import PartitionEffects


@dataclass(frozen=True, slots=True)
class Offsets:
    """The rows of a commit that came in, and what was refused before that.

    `errors`: what is wrong with each row that came in; those with nothing are to be written. `retention_ms`: for how
    long they are kept; NONE: as long as the broker keeps those of which nobody says it.
    """

    entered: tuple[PlainOffsetToCommit, ...]
    refused: tuple[OffsetCommitted, ...]
    errors: tuple[int, ...]
    retention_ms: int = NONE

    @property
    def rows(self) -> tuple[PlainOffsetToCommit, ...]:
        """What is left to be written."""
        return tuple(row for row, error in zip(self.entered, self.errors, strict=True) if error == Error.NONE)

    def answer(self, error: int) -> OffsetsCommitted:
        """`error` for every row that has none of its own; what was refused comes first, as in Kafka."""
        told = zip(self.entered, self.errors, strict=True)
        return OffsetsCommitted((*self.refused, *(OffsetCommitted(row.partition, own or error) for row, own in told)))

    def without_long_metadata(self, limit: int, journal: Journal, group: str) -> "Offsets":
        """Rows whose metadata is too long have that error."""
        errors = []
        for row in self.entered:
            errors.append(commits.row_fits(_length(row.metadata), limit, journal.begin()))
            journal.take(group)
        return Offsets(self.entered, self.refused, tuple(errors), self.retention_ms)

    def records(self, group: str, now_ms: int) -> tuple[Record, ...]:
        """A record for each row that is left."""
        until_ms = commits.kept_until(now_ms, self.retention_ms)
        return tuple(
            Record(
                OffsetKey(group, *row.partition),
                OffsetValue(row.offset, row.metadata, now_ms, row.leader_epoch, until_ms),
            )
            for row in self.rows
        )


def offsets_of(
    rows: tuple[PlainOffsetToCommit, ...],
    exists: Callable[[TopicPartition], bool],
    unknown_topic_ids: frozenset[str] = frozenset(),
    retention_ms: int = NONE,
) -> Offsets:
    """The rows of a request: a partition that does not exist is refused, whatever becomes of the others."""
    judged = [
        (row, commits.row_enters(exists(row.partition), row.partition[0] not in unknown_topic_ids)) for row in rows
    ]
    refused = tuple(OffsetCommitted(row.partition, error) for row, error in judged if error != Error.NONE)
    entered = tuple(row for row, error in judged if error == Error.NONE)
    return Offsets(entered, refused, (int(Error.NONE),) * len(entered), retention_ms)


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

    effects: GroupEffects = field(default_factory=GroupEffects)

    def begin(self) -> GroupEffects:
        """The effects of the next step."""
        clear(self.effects)
        return self.effects

    def write(
        self,
        store: GroupStore,
        group: str,
        offsets: Offsets,
        batch: Batch | None = None,
        guard: int = verification.NO_GUARD,
    ) -> None:
        """Append what is left of a commit: what the log says is in `effects`.

        A group is there as soon as a commit to it is accepted.
        """
        error = int(Error.NONE)
        if offsets.rows:
            now_ms = self.clock.now_ms()
            error = store.append(offsets.records(group, now_ms), now_ms, batch=batch, guard=guard)
        else:
            store.simple_group(group)
        commits.log_answers(error, self.rules, self.begin())

    def find(self, group: str, offsets: Offsets) -> GroupStore | None:
        """The store of the group that a commit comes to; None: `effects` has the answer."""
        found = self.stores.find(group) if offsets.rows else FoundGroup(int(Error.NONE), None)
        commits.comes_to_group(len(offsets.rows), found.error, self.begin())
        return found.store if self.effects.goes_on else None

    def short(self, offsets: Offsets, group: str) -> Offsets:
        """The offsets whose metadata is short enough."""
        return offsets.without_long_metadata(self.settings.offset_metadata_max_bytes, self.journal, group)


def standing_in(group: ConsumerGroup, member: str) -> commits.Standing:
    """What a group of the consumer protocol knows of a member."""
    is_known, has_members = member in group.members, bool(group.members)
    return commits.Standing(is_known, False, False, True, has_members, group.epoch_of(member))


def assignment_epochs(group: ConsumerGroup, member: str, offsets: Offsets) -> tuple[int, ...]:
    """For each row since when it is the member's."""
    return tuple(group.assignment_epoch_of(member, row.partition) for row in offsets.rows)


def commit_offsets(request: OffsetCommit, context: CommitContext) -> OffsetsCommitted:
    """Answer OffsetCommit."""
    offsets = offsets_of(request.offsets, context.metadata.exists, request.unknown_topic_ids, request.retention_ms)
    found = context.find(request.group, offsets)
    if found is None:
        return offsets.answer(context.effects.error)
    short = context.short(offsets, request.group)
    if not _judge_plain(request, found.group(request.group), short, context):
        return offsets.answer(context.effects.error)
    context.write(found, request.group, short)
    return (offsets if context.effects.tells_all else short).answer(context.effects.error)


def _judge_plain(
    request: OffsetCommit, group: ClassicGroup | ConsumerGroup | NoGroup, offsets: Offsets, context: CommitContext
) -> bool:
    version, generation, effects, notes = request.version, request.generation, context.begin(), context.journal.begin()
    if isinstance(group, ConsumerGroup):
        standing, epochs = standing_in(group, request.member), assignment_epochs(group, request.member, offsets)
        commits.plain_is_judged_by_consumer(standing, epochs, version, generation, effects, notes)
    else:
        identity = group.sender(request.member, request.instance)
        commits.plain_is_judged_by_classic(group, identity, version, generation, effects, notes)
    context.journal.take(request.group)
    if effects.goes_on and isinstance(group, ClassicGroup):
        committed(group, group.find(request.member), context.clock.now_ms())
    return effects.goes_on


@dataclass(slots=True)
class OffsetCommitInProgress:
    """One TxnOffsetCommit. `replica` is this broker's replica of the group's partition, None: it has none."""

    request: TxnOffsetCommit
    replica: Replica | None
    context: CommitContext
    offsets: Offsets = field(init=False)
    error: int = field(init=False, default=int(Error.NONE))
    guard: int = field(init=False, default=verification.NO_GUARD)

    def __post_init__(self) -> None:
        request = self.request
        self.offsets = offsets_of(request.offsets, self.context.metadata.exists, request.unknown_topic_ids)

    def start(self) -> PartitionsToVerify | None:
        """What the transaction coordinator is to be asked before `finish`; None: nothing."""
        request, effects, leads = self.request, self.context.begin(), self.replica is not None and self.replica.leads
        journal = self.context.journal
        commits.enters(len(self.offsets.rows), request.group != "", leads, effects, journal.begin())
        journal.take(request.group)
        self.error = effects.error
        if not effects.goes_on or self.replica is None:
            return None
        begun = self.replica.begin_verification(self._batch(), self._mode, of_group=True)
        self.guard, self.error = begun.guard, begun.error
        if not begun.asks:
            return None
        partitions = (self.context.metadata.group_partition(request.group),)
        return PartitionsToVerify(
            request.transactional_id, request.producer_id, request.producer_epoch, partitions, self._mode
        )

    def handle_verification(self, errors: Mapping[TopicPartition, int]) -> None:
        """The channel's word on the partition that was asked about, as it has translated it."""
        (error,) = errors.values()
        effects, arrival = PartitionEffects(), verification.Arrival(self._mode, True, verification.NO_GUARD)
        verification.concludes(error, self.guard, arrival, effects)
        self.error = effects.error

    def finish(self) -> TxnOffsetsCommitted:
        """Commit, and answer the client."""
        answer, version = self._commit(), self.request.version
        return TxnOffsetsCommitted(
            tuple(replace(row, error=commits.on_the_wire(row.error, version)) for row in answer.rows)
        )

    def _commit(self) -> OffsetsCommitted:
        request, context = self.request, self.context
        if self.error != Error.NONE:
            return self.offsets.answer(self.error)
        found = context.find(request.group, self.offsets)
        if found is None:
            return self.offsets.answer(context.effects.error)
        short = context.short(self.offsets, request.group)
        if not self._judge(found.group(request.group), short):
            return self.offsets.answer(context.effects.error)
        context.write(found, request.group, short, self._batch(), self.guard)
        return (self.offsets if context.effects.tells_all else short).answer(context.effects.error)

    def _judge(self, group: ClassicGroup | ConsumerGroup | NoGroup, offsets: Offsets) -> bool:
        request, context = self.request, self.context
        if isinstance(group, ConsumerGroup):
            standing, epochs = standing_in(group, request.member), assignment_epochs(group, request.member, offsets)
        else:
            who, epochs = group.sender(request.member, request.instance), ()
            standing = commits.Standing(who.member_is_known, who.instance_is_known, who.instance_is_this_member)
        sender = commits.sender_of(
            request.version, request.generation, request.member != "", request.instance is not None
        )
        effects, notes = context.begin(), context.journal.begin()
        commits.judged(group, sender, standing, epochs, context.rules, effects, notes)
        context.journal.take(request.group)
        return effects.goes_on

    @property
    def _mode(self) -> Mode:
        return Mode(verification.mode_of(self.request.version, of_group=True))

    def _batch(self) -> Batch:
        return Batch(self.request.producer_id, self.request.producer_epoch, transactional=True)
