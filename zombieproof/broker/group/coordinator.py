"""The group coordinator of one broker: groups, their members, and the offsets that they commit.

Theory of operation: a group lives in one partition of ``__consumer_offsets``; who leads it answers for the group from
memory, which is the fold of the partition's log. JoinGroup and SyncGroup may have to wait for other members, a
TxnOffsetCommit for the transaction coordinator (`OffsetCommitInProgress`), and what it commits waits for a marker;
every other request is answered at once.
Groups of the classic protocol and of the consumer protocol (KIP-848) live side by side, under different names.
Source: reference §4; ``GroupCoordinatorService.java``, ``GroupMetadataManager.java``, ``OffsetMetadataManager.java``.
"""

from collections.abc import Callable, Mapping
from typing import Any

from zombieproof.broker.cluster.clock import Clock
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.group.classic_group import ClassicGroup, NoGroup
from zombieproof.broker.group.consumer_group import ConsumerGroup
from zombieproof.broker.group.consumer_members import ConsumerMembers
from zombieproof.broker.group.effects import GroupEffect, Reply
from zombieproof.broker.group.membership import MemberIds, Membership
from zombieproof.broker.group.offsets_commit import CommitContext, OffsetCommitInProgress, commit_offsets
from zombieproof.broker.group.store import FoundGroup, GroupStore, GroupStores
from zombieproof.broker.partition.replica import Replica
from zombieproof.formats.batches import GroupKey, OffsetKey, Record
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.groups import (
    ConsumerGroupHeartbeat,
    DeleteGroups,
    GroupAnswer,
    GroupRequest,
    GroupsDeleted,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    OffsetDelete,
    OffsetFetch,
    OffsetFetchAnswer,
    OffsetFetched,
    OffsetsCommitted,
    OffsetsDeleted,
    SyncGroup,
    TxnOffsetCommit,
)
from zombieproof.messages.registry import api_of
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import ApiKey, Error
from zombieproof.statemachines.classic_group import deletion, rebalances
from zombieproof.statemachines.classic_group.deletion import KnownOffset
from zombieproof.statemachines.classic_group.effects import GroupEffects, MemberRequest, PendingRequest
from zombieproof.statemachines.group_coordinator.offsets import Asked, error_of_marker, is_read

__all__ = ["GroupCoordinator", "OffsetCommitInProgress"]

MILLISECONDS_OF_A_MINUTE = 60_000


class GroupCoordinator:
    """Groups and offsets of the ``__consumer_offsets`` partitions that this broker leads.

    Args:
        metadata: says in which partition a group lives, and which partitions exist.
    """

    def __init__(self, rules: Rules, settings: Settings, clock: Clock, journal: Journal, metadata: Metadata) -> None:
        self._rules, self._settings, self._clock = rules, settings, clock
        self._journal, self._metadata = journal, metadata
        self._stores = GroupStores(rules, journal, metadata)
        ids = MemberIds(clock)
        self.member_ids = ids
        self.membership = Membership(self._stores, settings, clock, journal, ids)
        self.consumer_members = ConsumerMembers(self._stores, settings, clock, journal, ids, metadata)

    # ---------------------------------------------------------------- partitions

    def begin_loading(self, partition: int) -> list[GroupEffect]:
        """This broker leads `partition` from now on, and reads its log: COORDINATOR_LOAD_IN_PROGRESS."""
        effects = self._end_waits(partition)
        self._stores.begin_loading(partition)
        return effects

    def load(self, partition: int, replica: Replica) -> list[GroupEffect]:
        """Groups and offsets of `partition` are what the log of `replica` says; sessions begin."""
        groups = self._stores.load(partition, replica).groups.values()
        classic = (group for group in groups if isinstance(group, ClassicGroup))
        return [effect for group in classic for effect in self.membership.loaded(group)]

    def resign(self, partition: int) -> list[GroupEffect]:
        """Somebody else leads `partition`: NOT_COORDINATOR, also for who waits."""
        effects = self._end_waits(partition)
        self._stores.resign(partition)
        return effects

    def _end_waits(self, partition: int) -> list[GroupEffect]:
        store, effects = self._stores.store(partition), list[GroupEffect]()
        for group in () if store is None else store.groups.values():
            if isinstance(group, ClassicGroup):
                rebalances.resigned(group.records, Error.NOT_COORDINATOR)
                effects += group.take_told()
        return effects

    def store(self, partition: int) -> GroupStore | None:
        """What is known of a partition; None if this broker does not answer for it."""
        return self._stores.store(partition)

    # ---------------------------------------------------------------- requests

    def handle(self, request: GroupRequest, number: int = 0) -> list[GroupEffect]:
        """Take request `number`; its answer is among the effects, or among those of a later request or time.

        Raises:
            TypeError: it is a TxnOffsetCommit, which may have to wait: see `commit`.
        """
        effects: list[GroupEffect] = HANDLERS[api_of(type(request)).key](self, request, number)
        return effects

    def time_passes(self, group: str) -> list[GroupEffect]:
        """Whatever is due in a group happens."""
        return self.membership.time_passes(group)

    def _join(self, request: JoinGroup, number: int) -> list[GroupEffect]:
        return self.membership.join(request, number)

    def _sync(self, request: SyncGroup, number: int) -> list[GroupEffect]:
        return self.membership.sync(request, number)

    def _heartbeat(self, request: Heartbeat, number: int) -> list[GroupEffect]:
        return self.membership.heartbeat(request, number)

    def _leave(self, request: LeaveGroup, number: int) -> list[GroupEffect]:
        return self.membership.leave(request, number)

    def _consumer_heartbeat(self, request: ConsumerGroupHeartbeat) -> GroupAnswer:
        return self.consumer_members.heartbeat(request)

    def _commit_offsets(self, request: OffsetCommit) -> OffsetsCommitted:
        return commit_offsets(request, self._commit_context())

    def _refuse_to_wait(self, _: TxnOffsetCommit, __: int) -> list[GroupEffect]:
        raise TypeError("a TxnOffsetCommit may have to wait: `commit` it, and finish what that returns")

    def commit(self, request: TxnOffsetCommit, replica: Replica | None) -> OffsetCommitInProgress:
        """Begin a TxnOffsetCommit; `replica` is this broker's replica of the group's partition."""
        return OffsetCommitInProgress(request, replica, self._commit_context())

    def error_of_marker(self, partition: int) -> int:
        """NONE, or what a transaction coordinator is told that sends a marker to a partition not answered for here."""
        return error_of_marker(self._stores.error_of(partition))

    def apply_marker(self, partition: int, producer_id: int, committed: bool) -> None:
        """A marker is in the log of `partition`: what waits there for the producer id counts now, or is gone."""
        store = self._stores.store(partition)
        if store is not None:
            store.end(producer_id, committed)

    def _commit_context(self) -> CommitContext:
        return CommitContext(self._stores, self._rules, self._settings, self._clock, self._journal, self._metadata)

    # ---------------------------------------------------------------- offsets

    def _fetch_offsets(self, request: OffsetFetch) -> OffsetFetchAnswer:
        found = self._stores.find(request.group)
        if found.store is None:
            return OffsetFetchAnswer(found.error, {})
        offsets = found.store.offsets
        asked = request.partitions
        if asked is None:
            asked = tuple(sorted((key.topic, key.partition) for key in offsets.committed_keys(request.group)))
        rows = {}
        for partition in asked:
            key = OffsetKey(request.group, *partition)
            value = offsets.committed(key)
            of = Asked(
                int(partition[0] not in request.unknown_topic_ids),
                int(request.require_stable),
                offsets.pending_transactions(key),
                int(value is not None),
            )
            read = is_read(of, self._rules, self._journal.begin())
            self._journal.take(request.group)
            if read.is_shown and value is not None:
                rows[partition] = OffsetFetched(read.error, value.offset, value.metadata, value.leader_epoch)
            else:
                rows[partition] = OffsetFetched(read.error)
        return OffsetFetchAnswer(int(Error.NONE), rows)

    def _delete_offsets(self, request: OffsetDelete) -> OffsetsDeleted:
        found, effects = self._stores.find(request.group), GroupEffects()
        said = MemberRequest(request.version, int(request.group != ""), found.error)
        deletion.begin_deleting(said, effects)
        rows, tombstones, pending = dict[TopicPartition, int](), list[Record](), PendingRequest()
        for partition in request.partitions if not effects.replies else ():
            group, key, effects = (
                _group(found.store, request.group),
                OffsetKey(request.group, *partition),
                GroupEffects(),
            )
            deletion.delete_offset(group, _known(found.store, key), said, effects, self._journal.begin())
            self._journal.take(request.group)
            if effects.replies:
                break
            rows[partition] = effects.error
            if effects.append:
                tombstones.append(Record(key, None))
        if effects.replies:
            return OffsetsDeleted(effects.error, {})
        effects = GroupEffects()
        deletion.all_judged(pending, len(tombstones), effects)
        error = self._end(found.store, request.group, pending, effects, tombstones)
        return OffsetsDeleted(error, rows if error == Error.NONE else {})

    def _delete_groups(self, request: DeleteGroups) -> GroupsDeleted:
        """The groups of one partition go together; one that is named twice is one."""
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
            deletion.delete_group(group, pending, found.error, effects, self._journal.begin())
            self._journal.take(name)
            errors[name] = effects.error
            if effects.append and store is not None:
                ending[name] = group, pending
                tombstones += [Record(key, None) for key in store.offsets.keys(name)]
                tombstones.append(Record(GroupKey(name, not group.is_consumer), None))
        if store is None or not tombstones:
            return errors
        error = store.write(tuple(tombstones), self._clock.now_ms())
        for name, (group, pending) in ending.items():
            deletion.ended(group, pending, error, GroupEffects(), self._journal.begin())
            self._journal.take(name)
        return {name: deletion.error_of_deletion(told, error) for name, told in errors.items()}

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
            tombstones.append(Record(GroupKey(name, not group.is_consumer), None))
        error, done = store.write(tuple(tombstones), self._clock.now_ms()), GroupEffects()
        deletion.ended(group, pending, error, done, self._journal.begin())
        self._journal.take(name)
        return done.error


def _group(store: GroupStore | None, name: str) -> ClassicGroup | ConsumerGroup | NoGroup:
    return NoGroup() if store is None else store.group(name)


def _known(store: GroupStore | None, key: OffsetKey) -> KnownOffset:
    """What is known of an offset, here and by the members of its group."""
    if store is None:
        return KnownOffset(0, 0, 0)
    group, value = store.group(key.group), store.offsets.committed(key)
    return KnownOffset(
        int(value is not None),
        int(store.offsets.pending_transactions(key) > 0),
        int(isinstance(group, ConsumerGroup) and key.topic in group.topics()),
        0 if value is None else value.committed_ms,
    )


Handler = Callable[[GroupCoordinator, Any, int], list[GroupEffect]]


def _at_once(answer: Callable[[GroupCoordinator, Any], GroupAnswer]) -> Handler:
    """Whoever is answered when it asks."""

    def handle(groups: GroupCoordinator, request: Any, number: int) -> list[GroupEffect]:
        names = request.groups if isinstance(request, DeleteGroups) else (request.group,)
        return [Reply(number, names, answer(groups, request))]

    return handle


# The methods of a coordinator by what they answer; nobody else calls them.
HANDLERS: Mapping[ApiKey, Handler] = {
    ApiKey.OFFSET_COMMIT: _at_once(GroupCoordinator._commit_offsets),  # noqa: SLF001
    ApiKey.OFFSET_FETCH: _at_once(GroupCoordinator._fetch_offsets),  # noqa: SLF001
    ApiKey.JOIN_GROUP: GroupCoordinator._join,  # noqa: SLF001
    ApiKey.HEARTBEAT: GroupCoordinator._heartbeat,  # noqa: SLF001
    ApiKey.LEAVE_GROUP: GroupCoordinator._leave,  # noqa: SLF001
    ApiKey.SYNC_GROUP: GroupCoordinator._sync,  # noqa: SLF001
    ApiKey.TXN_OFFSET_COMMIT: GroupCoordinator._refuse_to_wait,  # noqa: SLF001
    ApiKey.DELETE_GROUPS: _at_once(GroupCoordinator._delete_groups),  # noqa: SLF001
    ApiKey.OFFSET_DELETE: _at_once(GroupCoordinator._delete_offsets),  # noqa: SLF001
    ApiKey.CONSUMER_GROUP_HEARTBEAT: _at_once(GroupCoordinator._consumer_heartbeat),  # noqa: SLF001
}
"""Every request that goes to a group coordinator."""
