"""What a group coordinator holds of one ``__consumer_offsets`` partition: its groups and offsets, and their log.

A record is appended first and taken into memory when the log has it; so memory is always the fold of the log (but for
members that have joined a generation whose assignment is not there yet, for ids that were only given out, for requests
that wait, and, by the rules until 3.9, for offsets that a refused commit took along).
Source: reference §4.2; ``CoordinatorRuntime.java``.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.group.classic_group import NO_GROUP, ClassicGroup, NoGroup, loaded_classic_group
from zombieproof.broker.group.consumer_group import ConsumerGroup
from zombieproof.broker.group.consumer_group_log import ConsumerGroupLog
from zombieproof.broker.group.offset_store import OffsetStore
from zombieproof.broker.partition.replica import Replica
from zombieproof.formats.batches import Batch, GroupKey, GroupValue, OffsetKey, OffsetValue, Record
from zombieproof.formats.consumer_group_records import GroupRecordType
from zombieproof.formats.topics import CONSUMER_OFFSETS
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, Error, Origin
from zombieproof.statemachines.group_coordinator import commits
from zombieproof.statemachines.group_coordinator.effects import GroupEffects
from zombieproof.statemachines.group_coordinator.lookup import look_up
from zombieproof.statemachines.group_coordinator.offsets import tombstone_reaches_what_waits

Group = ClassicGroup | ConsumerGroup


@dataclass(slots=True)
class GroupStore:
    """The groups and offsets of one partition, over its replica."""

    replica: Replica
    rules: Rules
    journal: Journal
    metadata: Metadata
    groups: dict[str, Group] = field(default_factory=dict)
    offsets: OffsetStore = field(default_factory=OffsetStore)
    consumer_groups: ConsumerGroupLog = field(init=False)

    def __post_init__(self) -> None:
        self.consumer_groups = ConsumerGroupLog(self.metadata)

    def load(self) -> None:
        """Fold the log of the replica.

        Raises:
            Undecodable: a record of a consumer group is not what its type says.
        """
        for batch in self.replica.log.read(self.replica.log.start_offset):
            self._replay(batch, Journal())
        for name, group in self.groups.items():
            if isinstance(group, ConsumerGroup):
                self.groups[name] = self.consumer_groups.loaded(name)

    def group(self, name: str) -> Group | NoGroup:
        """A group, or the facts of one that does not exist."""
        return self.groups.get(name, NO_GROUP)

    def simple_group(self, name: str) -> None:
        """A group for offsets only: there is one as soon as somebody commits."""
        if name not in self.groups:
            self.groups[name] = ClassicGroup(name, protocol_type="")

    def write(self, records: tuple[Record, ...], now_ms: int) -> int:
        """Append records of a group, as a batch of nobody; see `append`.

        Returns:
            NONE, or the error that the request is to be answered with.
        """
        effects = GroupEffects()
        commits.log_answers(self.append(records, now_ms), self.rules, effects)
        return effects.error

    def write_group(self, group: Group, former: Group | NoGroup, now_ms: int) -> int:
        """Make a group durable and hold it; one of the other protocol under its name ends with the same append.

        Returns:
            NONE, or the error that the request is to be answered with.
        """
        records = self.consumer_groups.difference(group) if isinstance(group, ConsumerGroup) else _record_of(group)
        if former.known and former.is_consumer != group.is_consumer:
            records = (*self.tombstones_of(group.name), *records)
        error = self.write(records, now_ms) if records else int(Error.NONE)
        if error == Error.NONE:
            self.groups[group.name] = group
        return error

    def tombstones_of(self, name: str) -> tuple[Record, ...]:
        """The records that take back what the log tells of a group that is there."""
        if self.group(name).is_consumer:
            return self.consumer_groups.tombstones(name)
        return (Record(GroupKey(name), None),)

    def append(self, records: tuple[Record, ...], now_ms: int, *, batch: Batch | None = None, guard: int = 0) -> int:
        """Append records of a group, as a batch of nobody or (offsets in a transaction) like `batch`.

        Offsets and tombstones are taken into memory; a group that a record tells of is in memory already.

        Returns:
            NONE, and memory follows the log; or why the log refused.
        """
        if not self.replica.leads:
            return int(Error.NOT_LEADER_OR_FOLLOWER)
        whole = Batch(
            producer_id=NONE if batch is None else batch.producer_id,
            producer_epoch=NONE if batch is None else batch.producer_epoch,
            base_sequence=0,
            transactional=batch is not None and batch.producer_id != NONE,
            records=records,
            last_offset_delta=len(records) - 1,
            timestamp_ms=now_ms,
        )
        done = self.replica.append(whole, guard, Origin.COORDINATOR)
        if done.error != Error.NONE:
            if whole.producer_id != NONE:
                keys = [record.key for record in records if isinstance(record.key, OffsetKey)]
                self.offsets.refused(whole.producer_id, keys, self.rules, self.journal)
            return done.error
        for delta, record in enumerate(records):
            if isinstance(record.key, OffsetKey):
                self._replay_offset(done.base_offset + delta, whole.producer_id, record.key, record.value, self.journal)
            elif isinstance(record.key, GroupKey) and record.value is None:
                self._replay_group(record.key, None)
            elif isinstance(record.key, bytes):
                self._replay_consumer_group(record)
        return int(Error.NONE)

    def end(self, producer_id: int, committed: bool) -> None:
        """The marker of a producer id is in the log."""
        self.offsets.end(producer_id, committed, self.journal)

    def _replay(self, batch: Batch, journal: Journal) -> None:
        if batch.marker is not None:
            self.offsets.end(batch.producer_id, batch.marker.committed, journal)
            return
        for delta, record in enumerate(batch.records):
            if isinstance(record.key, OffsetKey):
                reaches = tombstone_reaches_what_waits(True, self.rules)
                place = batch.base_offset + delta
                self._replay_offset(place, batch.producer_id, record.key, record.value, journal, reaches=reaches)
            elif isinstance(record.key, GroupKey):
                self._replay_group(record.key, record.value)
            elif isinstance(record.key, bytes):
                self._replay_consumer_group(record)

    def _replay_offset(
        self, offset: int, producer_id: int, key: OffsetKey, value: object, journal: Journal, *, reaches: bool = True
    ) -> None:
        assert value is None or isinstance(value, OffsetValue), f"an offset commit holds {value!r}"
        self.offsets.replay(offset, producer_id, key, value, journal, reaches_waiting=reaches)
        if value is not None:
            self.simple_group(key.group)

    def _replay_group(self, key: GroupKey, value: object) -> None:
        if isinstance(value, GroupValue):
            self.groups[key.group] = loaded_classic_group(key.group, value)
        elif isinstance(self.groups.get(key.group), ClassicGroup):
            del self.groups[key.group]

    def _replay_consumer_group(self, record: Record) -> None:
        """What a record tells of a consumer group; `load` makes the whole of it when all have told."""
        read = self.consumer_groups.take(record)
        if read is None or read.type is not GroupRecordType.GROUP:
            return
        name = read.key.fields["GroupId"]
        held = self.groups.get(name)
        if read.value is None and isinstance(held, ConsumerGroup):
            del self.groups[name]
        elif read.value is not None and not isinstance(held, ConsumerGroup):
            self.groups[name] = ConsumerGroup(name)


def _record_of(group: ClassicGroup) -> tuple[Record, ...]:
    return (Record(GroupKey(group.name), group.value()),)


class FoundGroup(NamedTuple):
    """What a look-up found: an error (L1, L2), or the store that holds the group."""

    error: int
    store: GroupStore | None


class GroupStores:
    """The partitions of ``__consumer_offsets`` that are led at one broker, loaded or being loaded."""

    def __init__(self, rules: Rules, journal: Journal, metadata: Metadata) -> None:
        self.rules, self.journal, self._metadata = rules, journal, metadata
        self._stores: dict[int, GroupStore] = {}
        self._loading: set[int] = set()

    def begin_loading(self, partition: int) -> None:
        """The log of `partition` is being read: requests are told to come again."""
        self._stores.pop(partition, None)
        self._loading.add(partition)

    def load(self, partition: int, replica: Replica) -> GroupStore:
        """The log of `partition` has been read: this broker answers for its groups."""
        self._loading.discard(partition)
        store = GroupStore(replica, self.rules, self.journal, self._metadata)
        store.load()
        self._stores[partition] = store
        return store

    def resign(self, partition: int) -> None:
        """Somebody else answers for the groups of `partition`."""
        self._loading.discard(partition)
        self._stores.pop(partition, None)

    def find(self, group: str) -> FoundGroup:
        """The store of a group, or why this broker cannot answer for it."""
        partition = self._metadata.group_partition(group)[1]
        error = self.error_of(partition)
        return FoundGroup(error, None if error != Error.NONE else self._stores[partition])

    def error_of(self, partition: int) -> int:
        """NONE, or why this broker does not answer for a partition (L1, L2)."""
        error = look_up(partition in self._loading, partition in self._stores, self.journal.begin())
        self.journal.take(f"{CONSUMER_OFFSETS}-{partition}")
        return error

    def store(self, partition: int) -> GroupStore | None:
        """What is held of a partition."""
        return self._stores.get(partition)

    def all(self) -> tuple[GroupStore, ...]:
        """Every partition that is held."""
        return tuple(self._stores.values())
