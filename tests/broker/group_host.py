"""A group coordinator over one partition of ``__consumer_offsets``, and short names for what it is asked."""

from dataclasses import dataclass, field
from typing import TypeVar

from tests.broker.partitions import Place
from tests.broker.questions import was_asked
from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.group.coordinator import GroupCoordinator
from zombieproof.broker.group.effects import Drop, GroupEffect, Reply, WakeAt
from zombieproof.broker.partition.replica import Replica
from zombieproof.formats.batches import Marker, OffsetKey, OffsetValue
from zombieproof.formats.topics import CONSUMER_OFFSETS, TopicPartition
from zombieproof.messages.groups import (
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatAnswer,
    GroupAnswer,
    GroupError,
    GroupLeft,
    GroupRequest,
    Heartbeat,
    JoinGroup,
    JoinGroupAnswer,
    LeaveGroup,
    OffsetCommit,
    OffsetFetch,
    OffsetFetchAnswer,
    OffsetsCommitted,
    OffsetToCommit,
    SyncGroup,
    SyncGroupAnswer,
    TxnOffsetCommit,
)
from zombieproof.model.vocabulary import NONE, Error, Origin

GROUP = "readers"
A: TopicPartition = ("in", 0)
B: TopicPartition = ("in", 1)
Answer = TypeVar("Answer")


def group_metadata() -> Metadata:
    """A cluster with one offsets partition, and a topic of two partitions."""
    metadata = Metadata()
    metadata.create(CONSUMER_OFFSETS, [(1,)])
    metadata.create("in", [(1,), (1,)])
    return metadata


@dataclass(slots=True)
class GroupHost:
    """A coordinator whose partition is loaded, and what surrounds it."""

    place: Place = field(default_factory=lambda: Place(partition=(CONSUMER_OFFSETS, 0)))
    metadata: Metadata = field(default_factory=group_metadata)
    replica: Replica = field(init=False)
    coordinator: GroupCoordinator = field(init=False)
    answers: dict[int, GroupAnswer] = field(default_factory=dict)
    dropped: set[int] = field(default_factory=set)
    wakes: list[tuple[int, str]] = field(default_factory=list)
    _numbers: int = 0

    def __post_init__(self) -> None:
        self.place.settings.group_initial_rebalance_delay_ms = 0
        self.restart()

    def restart(self) -> None:
        """Another broker on the same log."""
        self.replica = self.place.restart(clean=True)
        surroundings = (self.place.rules, self.place.settings, self.place.clock, self.place.journal, self.metadata)
        self.coordinator = GroupCoordinator(*surroundings)
        self.wakes.clear()
        self.carry_out(self.coordinator.load(0, self.replica))

    def send(self, request: GroupRequest) -> int:
        """Send a request; returned is its number, under which its answer is found when there is one."""
        self._numbers += 1
        self.carry_out(self.coordinator.handle(request, self._numbers))
        return self._numbers

    def told(self, request: GroupRequest) -> GroupAnswer:
        """The answer to a request, of whichever kind."""
        return self.answers.pop(self.send(request))

    def ask(self, request: GroupRequest, kind: type[Answer]) -> Answer:
        """The answer to a request, which is of a kind."""
        answer = self.answers.pop(self.send(request), None)
        assert isinstance(answer, kind), f"{request} is answered with {answer}"
        return answer

    def carry_out(self, effects: list[GroupEffect]) -> None:
        """Keep answers and times."""
        for effect in effects:
            if isinstance(effect, Reply):
                assert effect.number not in self.answers, "a request is answered once"
                self.answers[effect.number] = effect.answer
            elif isinstance(effect, Drop):
                self.dropped.add(effect.number)
            elif isinstance(effect, WakeAt):
                self.wakes.append((effect.at_ms, effect.group))

    def advance(self, milliseconds: int) -> None:
        """Time passes, and groups look at their clock when they wanted to."""
        end = self.place.clock.now_ms() + milliseconds
        while due := [each for each in self.wakes if each[0] <= end]:
            first = min(due)
            self.wakes.remove(first)
            self.place.clock.advance(max(first[0] - self.place.clock.now_ms(), 0))
            self.carry_out(self.coordinator.time_passes(first[1]))
        self.place.clock.advance(end - self.place.clock.now_ms())

    # ---------------------------------------------------------------- members

    def join(self, member: str = "", version: int = 3, instance: str | None = None) -> JoinGroupAnswer:
        """JoinGroup."""
        return self.ask(JoinGroup(version, GROUP, member, instance), JoinGroupAnswer)

    def sync(self, member: str, generation: int) -> Error:
        """SyncGroup."""
        return Error(self.ask(SyncGroup(3, GROUP, generation, member), SyncGroupAnswer).error)

    def joined(self, number: int) -> JoinGroupAnswer:
        """What a JoinGroup that waited was answered."""
        answer = self.answers.pop(number)
        assert isinstance(answer, JoinGroupAnswer)
        assert answer.error == Error.NONE
        return answer

    def beat_classic(self, member: str, generation: int) -> Error:
        """Heartbeat."""
        return Error(self.ask(Heartbeat(3, GROUP, generation, member), GroupError).error)

    def leave(self, member: str) -> Error:
        """LeaveGroup."""
        return Error(self.ask(LeaveGroup(2, GROUP, member), GroupLeft).error)

    def stable_member(self) -> str:
        """The only member of a stable classic group of generation 1."""
        joined = self.join()
        assert self.sync(joined.member, joined.generation) == Error.NONE
        return joined.member

    def beat(self, member: str, epoch: int, topics: tuple[str, ...] | None = ("in",)) -> ConsumerGroupHeartbeatAnswer:
        """ConsumerGroupHeartbeat."""
        return self.ask(ConsumerGroupHeartbeat(0, GROUP, member, epoch, topics), ConsumerGroupHeartbeatAnswer)

    # ---------------------------------------------------------------- offsets

    def commit(
        self, *rows: tuple[TopicPartition, int], generation: int = NONE, member: str = "", version: int = 8
    ) -> OffsetsCommitted:
        """OffsetCommit."""
        return self.ask(OffsetCommit(version, GROUP, to_commit(rows), generation, member), OffsetsCommitted)

    def txn_commit(
        self,
        *rows: tuple[TopicPartition, int],
        producer_id: int = 7,
        epoch: int = 0,
        generation: int = NONE,
        member: str = "",
        version: int = 5,
        group: str = GROUP,
    ) -> OffsetsCommitted:
        """TxnOffsetCommit, to which the transaction coordinator has no objection."""
        request = TxnOffsetCommit(version, "x", group, producer_id, epoch, to_commit(rows), generation, member)
        work = self.coordinator.commit(request, self.replica)
        was_asked(work)
        return work.finish()

    def end(self, producer_id: int = 7, *, committed: bool = True, epoch: int = 1) -> None:
        """The marker of a producer id, as a broker writes it."""
        marker = Marker(committed, 0, 2)
        assert self.replica.append_marker(producer_id, epoch, marker, Origin.COORDINATOR).error == Error.NONE
        self.coordinator.apply_marker(0, producer_id, committed)

    def fetch(self, *partitions: TopicPartition, stable: bool = True) -> OffsetFetchAnswer:
        """OffsetFetch."""
        return self.ask(OffsetFetch(7, GROUP, stable, partitions or None), OffsetFetchAnswer)

    def offset(self, partition: TopicPartition = A, *, stable: bool = False) -> int:
        """The committed offset of a partition, or minus the error; NONE: there is none."""
        row = self.fetch(partition, stable=stable).partitions[partition]
        return -row.error if row.error else row.offset

    def waiting(self, producer_id: int = 7) -> dict[TopicPartition, int]:
        """The offsets that wait for the marker of a producer id."""
        store = self.coordinator.store(0)
        assert store is not None
        return {(key.topic, key.partition): value.offset for key, value in store.offsets.waiting(producer_id).items()}

    def written(self) -> list[tuple[TopicPartition, OffsetValue | None]]:
        """Every offset record of the log, in order; None: a tombstone."""
        rows = []
        for batch in self.replica.log.read():
            for record in batch.records:
                if isinstance(record.key, OffsetKey):
                    assert record.value is None or isinstance(record.value, OffsetValue)
                    rows.append(((record.key.topic, record.key.partition), record.value))
        return rows


def to_commit(rows: tuple[tuple[TopicPartition, int], ...]) -> tuple[OffsetToCommit, ...]:
    """Offsets with the metadata ``m``."""
    return tuple(OffsetToCommit(partition, offset, "m") for partition, offset in rows)
