"""The group coordinator of one broker: groups, their members, and the offsets that they commit.

Theory of operation: a group lives in one partition of ``__consumer_offsets``; who leads it answers for the group from
memory, which is the fold of the partition's log. Every request but TxnOffsetCommit is answered at once; that one may
have to wait for the transaction coordinator (`OffsetCommitInProgress`), and what it commits waits for a marker.
Groups of the classic protocol and of the consumer protocol (KIP-848) live side by side, under different names.
Source: reference §4; ``GroupCoordinatorService.java``, ``GroupMetadataManager.java``, ``OffsetMetadataManager.java``.
"""

from typing import assert_never

from zombieproof.broker.cluster.clock import Clock
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.group.classic_group import ClassicGroup, NoGroup
from zombieproof.broker.group.consumer_group import ConsumerGroup
from zombieproof.broker.group.membership import Membership
from zombieproof.broker.group.offsets_commit import CommitContext, OffsetCommitInProgress, commit_offsets
from zombieproof.broker.group.store import GroupStore, GroupStores
from zombieproof.broker.partition.replica import Replica
from zombieproof.formats.batches import GroupKey, OffsetKey, Record
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.groups import (
    ConsumerGroupHeartbeat,
    GroupAnswer,
    GroupError,
    GroupRequest,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    OffsetDelete,
    OffsetFetch,
    OffsetFetchAnswer,
    OffsetFetched,
    OffsetsDeleted,
    SyncGroup,
    TxnOffsetCommit,
)
from zombieproof.model.decisions.offset_delete import decide_offset_delete, decide_offset_expiry, group_may_go
from zombieproof.model.records import AppendVerdict
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NOTHING, Error
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
        self._membership = Membership(self._stores, settings, clock, journal, metadata)

    # ---------------------------------------------------------------- partitions

    def begin_loading(self, partition: int) -> None:
        """This broker leads `partition` from now on, and reads its log: COORDINATOR_LOAD_IN_PROGRESS."""
        self._stores.begin_loading(partition)

    def load(self, partition: int, replica: Replica) -> None:
        """Groups and offsets of `partition` are what the log of `replica` says."""
        self._stores.load(partition, replica)

    def resign(self, partition: int) -> None:
        """Somebody else leads `partition`: NOT_COORDINATOR."""
        self._stores.resign(partition)

    def store(self, partition: int) -> GroupStore | None:
        """What is known of a partition; None if this broker does not answer for it."""
        return self._stores.store(partition)

    # ---------------------------------------------------------------- requests

    def handle(self, request: GroupRequest) -> GroupAnswer:
        """Answer a request.

        Raises:
            TypeError: it is a TxnOffsetCommit, which may have to wait: see `commit`.
        """
        match request:
            case OffsetCommit():
                return commit_offsets(request, self._commit_context())
            case OffsetFetch():
                return self._fetch_offsets(request)
            case OffsetDelete():
                return self._delete_offsets(request)
            case JoinGroup():
                return self._membership.join(request)
            case SyncGroup():
                return GroupError(self._membership.sync(request))
            case LeaveGroup():
                return self._membership.leave(request)
            case Heartbeat():
                return GroupError(self._membership.classic_heartbeat(request))
            case ConsumerGroupHeartbeat():
                return self._membership.heartbeat(request)
            case TxnOffsetCommit():
                raise TypeError("a TxnOffsetCommit may have to wait: `commit` it, and finish what that returns")
            case _:
                assert_never(request)

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

    def _note(self, decision: str, verdict: AppendVerdict, subject: str) -> AppendVerdict:
        self._journal.decided(decision, verdict.guard, verdict.error, subject)
        return verdict

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
        found = self._stores.find(request.group)
        if request.group != "" and found.store is None:
            return OffsetsDeleted(found.error, {})
        rows, tombstones = dict[TopicPartition, int](), list[Record]()
        for partition in request.partitions:
            verdict = self._judge_delete(found.store, OffsetKey(request.group, *partition))
            if verdict.error not in (Error.NONE, Error.GROUP_SUBSCRIBED_TO_TOPIC):
                return OffsetsDeleted(verdict.error, {})
            rows[partition] = verdict.error
            if verdict.event != NOTHING:
                tombstones.append(Record(OffsetKey(request.group, *partition), None))
        error = self._write(found.store, tombstones)
        return OffsetsDeleted(error, rows if error == Error.NONE else {})

    def _judge_delete(self, store: GroupStore | None, key: OffsetKey) -> AppendVerdict:
        group = NoGroup() if store is None else store.group(key.group)
        verdict = decide_offset_delete(
            int(key.group != ""),
            group.known,
            int(isinstance(group, ClassicGroup) and not group.empty),
            int(isinstance(group, ConsumerGroup) and key.topic in group.topics()),
            int(store is not None and store.offsets.committed(key) is not None),
            int(store is not None and store.offsets.pending_transactions(key) > 0),
        )
        return self._note("offset_delete", verdict, key.group)

    def expire_offsets(self) -> None:
        """One sweep: offsets that nobody reads go when they are old, and groups without members and offsets go."""
        for store in self._stores.all():
            for name in tuple(store.groups):
                self._expire_group(store, name)

    def _expire_group(self, store: GroupStore, name: str) -> None:
        group, offsets = store.groups[name], store.offsets
        retention_ms = self._settings.offsets_retention_minutes * MILLISECONDS_OF_A_MINUTE
        tombstones, left = list[Record](), 0
        for key in offsets.committed_keys(name):
            value = offsets.committed(key)
            assert value is not None
            reads = not group.empty if isinstance(group, ClassicGroup) else key.topic in group.topics()
            pending = int(offsets.pending_transactions(key) > 0)
            verdict = decide_offset_expiry(int(reads), value.committed_ms, self._clock.now_ms(), retention_ms, pending)
            self._note("offset_delete", verdict, name)
            if verdict.event == NOTHING:
                left += 1
            else:
                tombstones.append(Record(key, None))
        may_go = group_may_go(len(group.members), left, offsets.transactions_of(name))
        if may_go == 1:
            tombstones.append(Record(GroupKey(name, not group.is_consumer), None))
        if self._write(store, tombstones) == Error.NONE and may_go == 1 and isinstance(group, ClassicGroup):
            group.delete(self._journal)

    def _write(self, store: GroupStore | None, records: list[Record]) -> int:
        if store is None or not records:
            return int(Error.NONE)
        return store.write(tuple(records), self._clock.now_ms())
