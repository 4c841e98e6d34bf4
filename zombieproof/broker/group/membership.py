"""Who is in a group: JoinGroup, SyncGroup and LeaveGroup of the classic protocol, and the heartbeat of KIP-848.

A generation is durable when its leader has said who reads what, an empty one at once; a consumer group with every
change. A group that nobody is in changes its protocol with whoever comes next.
Source: ``GroupMetadataManager.java``.
"""

from zombieproof.broker.cluster.clock import Clock
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.group.classic_group import ClassicGroup, NoGroup
from zombieproof.broker.group.consumer_group import ConsumerGroup, loaded_consumer_group
from zombieproof.broker.group.store import GroupStore, GroupStores
from zombieproof.formats.batches import GroupKey, GroupValue, Record
from zombieproof.messages.groups import (
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatAnswer,
    GroupError,
    GroupLeft,
    Heartbeat,
    JoinGroup,
    JoinGroupAnswer,
    LeaveGroup,
    Leaver,
    SyncGroup,
)
from zombieproof.model.decisions.consumer_group_heartbeat import JOINS, LEAVES, HeartbeatFacts, decide_heartbeat
from zombieproof.model.decisions.heartbeat import decide_classic_heartbeat
from zombieproof.model.decisions.join_group import decide_join_group
from zombieproof.model.decisions.leave_group import (
    FIRST_VERSION_WITH_LEAVERS,
    decide_leave_group,
    is_of_the_whole_request,
)
from zombieproof.model.decisions.sync_group import decide_sync_group
from zombieproof.model.records import AppendVerdict
from zombieproof.model.vocabulary import NOTHING, Error, MembershipEvent


class Membership:
    """The members of all groups that one broker answers for."""

    def __init__(
        self, stores: GroupStores, settings: Settings, clock: Clock, journal: Journal, metadata: Metadata
    ) -> None:
        self._stores, self._settings, self._clock = stores, settings, clock
        self._journal, self._metadata = journal, metadata
        self._ids = 0

    # ---------------------------------------------------------------- the classic protocol

    def join(self, request: JoinGroup) -> JoinGroupAnswer:
        """Answer JoinGroup."""
        found = self._stores.find(request.group)
        if request.group != "" and found.store is None:
            return JoinGroupAnswer(found.error, member=request.member)
        facts = self._facts(found.store, request.group)
        sender = facts.sender(request.member, request.instance)
        verdict = decide_join_group(facts, sender, request.version, int(request.group != ""))
        self._note("join_group", verdict, request.group)
        if found.store is None or verdict.error not in (Error.NONE, Error.MEMBER_ID_REQUIRED):
            return JoinGroupAnswer(verdict.error, member=request.member)
        member = request.member or self._new_member_id(found.store, request.group)
        error = self._make_classic(found.store, request.group)
        if error != Error.NONE:
            return JoinGroupAnswer(error, member=request.member)
        group = found.store.groups[request.group]
        assert isinstance(group, ClassicGroup)
        if verdict.error == Error.MEMBER_ID_REQUIRED:
            group.pending.add(member)
            return JoinGroupAnswer(verdict.error, member=member)
        if verdict.event != NOTHING:
            group.join(member, request.instance, self._journal)
        elif request.instance is not None and request.member == "":
            return self._replace_static(found.store, group, member, request.instance)
        return JoinGroupAnswer(int(Error.NONE), group.generation, group.leader, member)

    def _replace_static(self, store: GroupStore, group: ClassicGroup, member: str, instance: str) -> JoinGroupAnswer:
        """A static instance has begun anew: it goes on in its place, and is not told that it leads (KIP-345)."""
        former, leader = group.member_of(instance), group.leader
        group.take_instance(member, instance)
        error = self._write(store, GroupKey(group.name), group.value())
        if error != Error.NONE and former is not None:
            group.take_instance(former, instance)
            return JoinGroupAnswer(error)
        return JoinGroupAnswer(int(Error.NONE), group.generation, leader, member)

    def sync(self, request: SyncGroup) -> int:
        """The error that answers SyncGroup."""
        found = self._stores.find(request.group)
        if request.group != "" and found.store is None:
            return found.error
        facts = self._facts(found.store, request.group)
        sender = facts.sender(request.member, request.instance)
        verdict = decide_sync_group(facts, sender, request.generation, int(request.group != ""))
        self._note("sync_group", verdict, request.group)
        if found.store is None or verdict.event == NOTHING:
            return verdict.error
        group = found.store.groups[request.group]
        assert isinstance(group, ClassicGroup)
        error = self._write(found.store, GroupKey(group.name), group.value())
        if error == Error.NONE:
            group.assign(self._journal)
        return error

    def leave(self, request: LeaveGroup) -> GroupError | GroupLeft:
        """Answer LeaveGroup."""
        one_member = request.version < FIRST_VERSION_WITH_LEAVERS
        leavers = (Leaver(request.member),) if one_member else request.leavers
        found = self._stores.find(request.group)
        if request.group != "" and found.store is None:
            return GroupError(found.error) if one_member else GroupLeft(found.error)
        group = self._facts(found.store, request.group)
        before = len(group.members) if isinstance(group, ClassicGroup) else 0
        errors = [self._take_out(group, leaver, request.group) for leaver in leavers]
        if found.store is not None and isinstance(group, ClassicGroup) and len(group.members) < before:
            group.rebalance(self._journal)
            if group.empty:
                # Where this cannot be written they are gone all the same: an older generation would time out.
                self._write(found.store, GroupKey(group.name), group.value())
        if one_member:
            return GroupError(errors[0])
        whole = next((error for error in errors if is_of_the_whole_request(error)), int(Error.NONE))
        return GroupLeft(whole, () if whole != Error.NONE else tuple(zip(leavers, errors, strict=True)))

    def _take_out(self, group: ClassicGroup | ConsumerGroup | NoGroup, leaver: Leaver, name: str) -> int:
        verdict = decide_leave_group(group, group.sender(leaver.member, leaver.instance), int(name != ""))
        self._note("leave_group", verdict, name)
        if isinstance(group, ClassicGroup) and verdict.error == Error.NONE:
            member = leaver.member or group.member_of(leaver.instance or "") or ""
            if verdict.event == NOTHING:
                group.pending.discard(member)
            else:
                group.lose(member)
        return verdict.error

    def classic_heartbeat(self, request: Heartbeat) -> int:
        """The error that answers Heartbeat."""
        found = self._stores.find(request.group)
        if request.group != "" and found.store is None:
            return found.error
        facts = self._facts(found.store, request.group)
        sender = facts.sender(request.member, request.instance)
        verdict = decide_classic_heartbeat(facts, sender, request.generation, int(request.group != ""))
        self._note("heartbeat", verdict, request.group)
        return verdict.error

    def _make_classic(self, store: GroupStore, name: str) -> int:
        """See to it that there is a classic group of this name, and that the log knows it."""
        group = store.group(name)
        if isinstance(group, ClassicGroup):
            return int(Error.NONE)
        made = ClassicGroup(name)
        records = [Record(GroupKey(name), made.value())]
        if isinstance(group, ConsumerGroup):
            records.insert(0, Record(GroupKey(name, classic=False), None))
        error = store.write(tuple(records), self._clock.now_ms())
        if error == Error.NONE:
            store.groups[name] = made
        return error

    # ---------------------------------------------------------------- the consumer protocol

    def heartbeat(self, request: ConsumerGroupHeartbeat) -> ConsumerGroupHeartbeatAnswer:
        """Answer ConsumerGroupHeartbeat."""
        found = self._stores.find(request.group)
        if request.group != "" and found.store is None:
            return ConsumerGroupHeartbeatAnswer(found.error)
        group = self._facts(found.store, request.group)
        verdict = decide_heartbeat(_heartbeat_facts(request, group), request.epoch)
        self._note("consumer_group_heartbeat", verdict, request.group)
        if found.store is None or verdict.error != Error.NONE:
            return ConsumerGroupHeartbeatAnswer(verdict.error)
        member = request.member or self._new_member_id(found.store, request.group)
        known = group if isinstance(group, ConsumerGroup) else ConsumerGroup(request.group)
        before, changed = known.value(), True
        if verdict.event == MembershipEvent.LEAVE:
            known.remove(member)
        else:
            changed = self._stay(known, member, request.topics)
        error = self._keep(found.store, known, group) if changed else int(Error.NONE)
        if error != Error.NONE:
            if isinstance(group, ConsumerGroup):
                found.store.groups[request.group] = loaded_consumer_group(request.group, before)
            return ConsumerGroupHeartbeatAnswer(error)
        epoch = LEAVES if verdict.event == MembershipEvent.LEAVE else known.epoch_of(member)
        return ConsumerGroupHeartbeatAnswer(int(Error.NONE), member, epoch)

    def _stay(self, group: ConsumerGroup, member: str, topics: tuple[str, ...] | None) -> bool:
        read = group.topics() | frozenset(topics or ())
        every = self._metadata.partitions_of(read)
        interval_ms = self._settings.group_consumer_assignment_interval_ms
        return group.heartbeat(member, topics, every, self._clock.now_ms(), interval_ms)

    def _keep(self, store: GroupStore, group: ConsumerGroup, former: ClassicGroup | ConsumerGroup | NoGroup) -> int:
        records = [Record(GroupKey(group.name, classic=False), group.value())]
        if isinstance(former, ClassicGroup):
            records.insert(0, Record(GroupKey(group.name), None))
        error = store.write(tuple(records), self._clock.now_ms())
        if error == Error.NONE:
            store.groups[group.name] = group
        return error

    # ---------------------------------------------------------------- both

    def _facts(self, store: GroupStore | None, name: str) -> ClassicGroup | ConsumerGroup | NoGroup:
        return NoGroup() if store is None else store.group(name)

    def _new_member_id(self, store: GroupStore, group: str) -> str:
        """An id that nobody had: leader epochs tell coordinators apart, and starts of the same one."""
        self._ids += 1
        return f"{group}-{store.replica.leader_epoch}-{self._clock.now_ms()}-{self._ids}"

    def _write(self, store: GroupStore, key: GroupKey, value: GroupValue) -> int:
        return store.write((Record(key, value),), self._clock.now_ms())

    def _note(self, decision: str, verdict: AppendVerdict, subject: str) -> None:
        self._journal.decided(decision, verdict.guard, verdict.error, subject)


def _heartbeat_facts(request: ConsumerGroupHeartbeat, group: ClassicGroup | ConsumerGroup | NoGroup) -> HeartbeatFacts:
    is_consumer = isinstance(group, ConsumerGroup)
    known = group.members.get(request.member) if isinstance(group, ConsumerGroup) else None
    return HeartbeatFacts(
        has_group_id=int(request.group != ""),
        has_member_id=int(request.member != ""),
        names_topics=int(bool(request.topics)),
        group_is_there=int(is_consumer),
        group_is_of_other_protocol=int(isinstance(group, ClassicGroup) and not group.empty),
        member_is_known=int(known is not None),
        member_epoch=JOINS if known is None else known.epoch,
        previous_epoch=JOINS if known is None else known.previous_epoch,
    )
