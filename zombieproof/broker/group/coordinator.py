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
from uuid import UUID

from zombieproof.broker.cluster.clock import Clock
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.group.classic_group import ClassicGroup
from zombieproof.broker.group.consumer_group import ConsumerGroup
from zombieproof.broker.group.consumer_members import ConsumerMembers
from zombieproof.broker.group.deletions import Deletions
from zombieproof.broker.group.descriptions import Descriptions
from zombieproof.broker.group.effects import GroupEffect, Reply
from zombieproof.broker.group.member_ids import MemberIds
from zombieproof.broker.group.membership import Membership
from zombieproof.broker.group.offsets_commit import CommitContext, OffsetCommitInProgress, commit_offsets
from zombieproof.broker.group.senders import AnyGroup
from zombieproof.broker.group.store import GroupStore, GroupStores
from zombieproof.broker.partition.replica import Replica
from zombieproof.formats.batches import OffsetKey
from zombieproof.messages.groups import (
    ConsumerGroupDescribe,
    DeleteGroups,
    DescribeGroups,
    GroupAnswer,
    GroupRequest,
    ListGroups,
    OffsetCommit,
    OffsetFetch,
    OffsetFetchAnswer,
    OffsetFetched,
    OffsetsCommitted,
    TxnOffsetCommit,
)
from zombieproof.messages.registry import api_of
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import ApiKey, Error
from zombieproof.statemachines.classic_group import rebalances
from zombieproof.statemachines.group_coordinator.offsets import Asked, Reader, error_of_marker, is_read, may_read

__all__ = ["GroupCoordinator", "OffsetCommitInProgress"]


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
        self.descriptions = Descriptions(self._stores)
        self.deletions = Deletions(self._stores, settings, clock, journal, metadata)
        self.membership = Membership(self._stores, settings, clock, journal, ids)
        self.consumer_members = ConsumerMembers(self._stores, rules, settings, clock, journal, ids, metadata)

    def forget_topics(self, topic_ids: Mapping[str, UUID]) -> None:
        """Topics with these names and ids were deleted."""
        for store in self._stores.all():
            for group in store.groups.values():
                if isinstance(group, ConsumerGroup):
                    group.forget_topics(topic_ids)

    # ---------------------------------------------------------------- partitions

    def is_loaded(self, partition: int) -> bool:
        """Whether this broker has read the log of `partition`, and answers for its groups."""
        return self._stores.store(partition) is not None

    def begin_loading(self, partition: int) -> list[GroupEffect]:
        """This broker leads `partition` from now on, and reads its log: COORDINATOR_LOAD_IN_PROGRESS."""
        effects = self._end_waits(partition)
        self._stores.begin_loading(partition)
        return effects

    def load(self, partition: int, replica: Replica) -> list[GroupEffect]:
        """Groups and offsets of `partition` are what the log of `replica` says; sessions begin."""
        effects = list[GroupEffect]()
        for group in self._stores.load(partition, replica).groups.values():
            if isinstance(group, ClassicGroup):
                effects += self.membership.loaded(group)
            else:
                effects += self.consumer_members.loaded(group)
        return effects

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
                effects += group.take_results()
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
        return [*self.membership.time_passes(group), *self.consumer_members.time_passes(group)]

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
        error = self._may_read(request, found.store.group(request.group))
        if error != Error.NONE:
            return OffsetFetchAnswer(error, {})
        offsets = found.store.offsets
        asked = request.partitions
        if asked is None:
            asked = tuple(sorted((key.topic, key.partition) for key in offsets.committed_keys(request.group)))
        rows = {}
        for partition in asked:
            key = OffsetKey(request.group, *partition)
            value = offsets.committed(key)
            of = Asked(
                partition[0] not in request.unknown_topic_ids,
                request.require_stable,
                offsets.pending_transactions(key),
                value is not None,
            )
            read = is_read(of, self._rules, self._journal.begin())
            self._journal.take(request.group)
            if read.is_shown and value is not None:
                rows[partition] = OffsetFetched(read.error, value.offset, value.metadata, value.leader_epoch)
            else:
                rows[partition] = OffsetFetched(read.error)
        return OffsetFetchAnswer(int(Error.NONE), rows)

    def _may_read(self, request: OffsetFetch, group: AnyGroup) -> int:
        reader = Reader(group.is_consumer, request.member is not None, request.member_epoch)
        if isinstance(group, ConsumerGroup):
            member = request.member or ""
            reader = reader._replace(member_is_known=member in group.members, member_epoch=group.epoch_of(member))
        error = may_read(reader, self._journal.begin())
        self._journal.take(request.group)
        return error

    def expire_offsets(self) -> None:
        """One sweep: offsets that nobody reads go when they are old, and groups without members and offsets go."""
        self.deletions.expire_offsets()


Handler = Callable[[GroupCoordinator, Any, int], list[GroupEffect]]


def _at_once(answer: Callable[[GroupCoordinator, Any], GroupAnswer]) -> Handler:
    """Whoever is answered when it asks."""

    def handle(groups: GroupCoordinator, request: Any, number: int) -> list[GroupEffect]:
        names: tuple[str, ...] = ()
        if not isinstance(request, DescribeGroups | ListGroups | ConsumerGroupDescribe):
            names = request.groups if isinstance(request, DeleteGroups) else (request.group,)
        return [Reply(number, names, answer(groups, request))]

    return handle


# The methods of a coordinator by what they answer; nobody else calls them.
HANDLERS: Mapping[ApiKey, Handler] = {
    ApiKey.OFFSET_COMMIT: _at_once(GroupCoordinator._commit_offsets),  # noqa: SLF001
    ApiKey.OFFSET_FETCH: _at_once(GroupCoordinator._fetch_offsets),  # noqa: SLF001
    ApiKey.JOIN_GROUP: lambda groups, request, number: groups.membership.join(request, number),
    ApiKey.HEARTBEAT: lambda groups, request, number: groups.membership.heartbeat(request, number),
    ApiKey.LEAVE_GROUP: lambda groups, request, number: groups.membership.leave(request, number),
    ApiKey.SYNC_GROUP: lambda groups, request, number: groups.membership.sync(request, number),
    ApiKey.TXN_OFFSET_COMMIT: GroupCoordinator._refuse_to_wait,  # noqa: SLF001
    ApiKey.DESCRIBE_GROUPS: _at_once(lambda groups, request: groups.descriptions.describe(request)),
    ApiKey.LIST_GROUPS: _at_once(lambda groups, request: groups.descriptions.list(request)),
    ApiKey.CONSUMER_GROUP_DESCRIBE: _at_once(lambda groups, request: groups.descriptions.describe_consumers(request)),
    ApiKey.DELETE_GROUPS: _at_once(lambda groups, request: groups.deletions.delete_groups(request)),
    ApiKey.OFFSET_DELETE: _at_once(lambda groups, request: groups.deletions.delete_offsets(request)),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: lambda groups, request, number: groups.consumer_members.heartbeat(request, number),
}
"""Every request that goes to a group coordinator."""
