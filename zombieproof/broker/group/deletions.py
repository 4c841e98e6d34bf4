"""How offsets and groups go: OffsetDelete, DeleteGroups, and the sweep of what nobody reads any more.

What goes is decided by the steps (``statemachines.classic_group.deletion``); here it is looked up, and the tombstones
of a request are written together.
"""

from collections.abc import Iterable

from zombieproof.broker.cluster.clock import Clock
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.group.classic_group import ClassicGroup, NoGroup
from zombieproof.broker.group.consumer_group import ConsumerGroup
from zombieproof.broker.group.store import FoundGroup, GroupStore, GroupStores
from zombieproof.formats.batches import OffsetKey, Record
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.groups import CONSUMERS, DeleteGroups, GroupsDeleted, OffsetDelete, OffsetsDeleted
from zombieproof.model.vocabulary import NONE, Error
from zombieproof.statemachines.classic_group import deletion
from zombieproof.statemachines.classic_group.deletion import KnownOffset
from zombieproof.statemachines.classic_group.effects import GroupEffects, MemberRequest, PendingRequest

MILLISECONDS_OF_A_MINUTE = 60_000
NO_PARTITION: TopicPartition = ("", NONE)


class Deletions:
    """What of groups and offsets goes at one broker."""

    def __init__(
        self, stores: GroupStores, settings: Settings, clock: Clock, journal: Journal, metadata: Metadata
    ) -> None:
        self._stores, self._settings, self._clock = stores, settings, clock
        self._journal, self._metadata = journal, metadata

    def delete_offsets(self, request: OffsetDelete) -> OffsetsDeleted:
        """Answer OffsetDelete."""
        asked = {partition: deletion.row_enters(self._metadata.exists(partition)) for partition in request.partitions}
        rows = {partition: error for partition, error in asked.items() if error != Error.NONE}
        # The group is judged even when no partition is left.
        left = [partition for partition in request.partitions if partition not in rows] or [NO_PARTITION]
        found, effects = self._stores.find(request.group), GroupEffects()
        said = MemberRequest(request.version, request.group != "", found.error)
        deletion.begin_deleting(said, effects)
        tombstones, pending = list[Record](), PendingRequest()
        for partition in left if not effects.replies else ():
            group, key, effects = (
                _group(found.store, request.group),
                OffsetKey(request.group, *partition),
                GroupEffects(),
            )
            deletion.delete_offset(group, _known(found.store, key), said, effects, self._journal.begin())
            self._journal.take(request.group)
            if effects.replies:
                break
            if partition is not NO_PARTITION:
                rows[partition] = effects.error
            if effects.append:
                tombstones.append(Record(key, None))
        if effects.replies:
            return OffsetsDeleted(effects.error, {})
        effects = GroupEffects()
        deletion.all_judged(pending, len(tombstones), effects)
        error = self._end(found.store, request.group, pending, effects, tombstones)
        return OffsetsDeleted(error, rows if error == Error.NONE else {})

    def delete_groups(self, request: DeleteGroups) -> GroupsDeleted:
        """Answer DeleteGroups. The groups of one partition go together; one that is named twice is one."""
        of_store: dict[int, list[str]] = {}
        for name in dict.fromkeys(request.groups):
            of_store.setdefault(self._metadata.group_partition(name)[1], []).append(name)
        errors: dict[str, int] = {}
        for names in of_store.values():
            errors |= self._delete_together(self._stores.find(names[0]), names)
        return GroupsDeleted(errors)

    def _delete_together(self, found: FoundGroup, names: list[str]) -> dict[str, int]:
        store, errors, tombstones = found.store, dict[str, int](), list[Record]()
        ending = dict[str, tuple[ClassicGroup | ConsumerGroup | NoGroup, PendingRequest]]()
        for name in names:
            group, pending, effects = _group(store, name), PendingRequest(), GroupEffects()
            transactions = 0 if store is None else store.offsets.transactions_of(name)
            deletion.delete_group(
                group, transactions, pending, found.error, self._stores.rules, effects, self._journal.begin()
            )
            self._journal.take(name)
            errors[name] = effects.error
            if effects.append and store is not None:
                ending[name] = group, pending
                tombstones += [Record(key, None) for key in store.offsets.keys(name)]
                tombstones += store.tombstones_of(name)
        if store is None or not tombstones:
            return errors
        error = store.write(tuple(tombstones), self._clock.now_ms())
        for name, (group, pending) in ending.items():
            deletion.ended(group, pending, error, GroupEffects(), self._journal.begin())
            self._journal.take(name)
        return {name: deletion.error_of_deletion(each, error) for name, each in errors.items()}

    def forget_partitions(self, partitions: Iterable[TopicPartition]) -> None:
        """These partitions were deleted: no group has an offset in them, nor does one wait for a marker."""
        gone = set(partitions)
        for store in self._stores.all():
            keys = (key for name in store.groups for key in store.offsets.keys(name))
            tombstones = tuple(Record(key, None) for key in keys if (key.topic, key.partition) in gone)
            if tombstones:
                store.write(tombstones, self._clock.now_ms())

    def forget_left_over(self, partition: int) -> None:
        """Forget the offsets of deleted topics that a crash has kept in the log of this partition."""
        store, gone = self._stores.store(partition), self._metadata.deleted_names
        if store is None or not gone:
            return
        keys = (key for name in store.groups for key in store.offsets.keys(name) if key.topic in gone)
        tombstones = tuple(Record(key, None) for key in keys)
        if tombstones:
            store.write(tombstones, self._clock.now_ms())

    def expire_offsets(self) -> None:
        """One sweep: offsets that nobody reads go when they are old, and groups without members and offsets go."""
        for store in self._stores.all():
            for name in tuple(store.groups):
                self._expire_group(store, name)

    def _expire_group(self, store: GroupStore, name: str) -> None:
        group, offsets, pending = store.groups[name], store.offsets, PendingRequest()
        now_ms, retention_ms = self._clock.now_ms(), self._settings.offsets_retention_minutes * MILLISECONDS_OF_A_MINUTE
        tombstones, left, effects = list[Record](), 0, GroupEffects()
        for key in offsets.committed_keys(name):
            one = GroupEffects()
            deletion.expire_offset(group, _known(store, key), now_ms, retention_ms, one, self._journal.begin())
            self._journal.take(name)
            if one.append:
                tombstones.append(Record(key, None))
            else:
                left += 1
        members, transactions = len(group.members), offsets.transactions_of(name)
        deletion.end_sweep(pending, members, left, transactions, len(tombstones), effects)
        self._end(store, name, pending, effects, tombstones)

    def _end(
        self,
        store: GroupStore | None,
        name: str,
        pending: PendingRequest,
        effects: GroupEffects,
        tombstones: list[Record],
    ) -> int:
        """Make durable what is to go, if anything is, and go on with the outcome; the error of the answer."""
        if not effects.append or store is None:
            return effects.error
        group = store.group(name)
        if effects.ends:
            tombstones += store.tombstones_of(name)
        error, done = store.write(tuple(tombstones), self._clock.now_ms()), GroupEffects()
        deletion.ended(group, pending, error, done, self._journal.begin())
        self._journal.take(name)
        return done.error


def _group(store: GroupStore | None, name: str) -> ClassicGroup | ConsumerGroup | NoGroup:
    return NoGroup() if store is None else store.group(name)


def _known(store: GroupStore | None, key: OffsetKey) -> KnownOffset:
    """What is known of an offset, here and by the members of its group."""
    if store is None:
        return KnownOffset(False, False, False)
    group, value = store.group(key.group), store.offsets.committed(key)
    read = group.topics() if isinstance(group, ConsumerGroup | ClassicGroup) else frozenset[str]()
    return KnownOffset(
        value is not None,
        store.offsets.pending_transactions(key) > 0,
        read is None or key.topic in read,
        0 if value is None else value.committed_ms,
        NONE if value is None else value.until_ms,
        isinstance(group, ConsumerGroup) or (isinstance(group, ClassicGroup) and group.protocol_type == CONSUMERS),
    )
