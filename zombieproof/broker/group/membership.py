"""Who is in a group: JoinGroup, SyncGroup and LeaveGroup of the classic protocol, and the heartbeat of KIP-848.

What follows from a request is decided by the steps (``statemachines.classic_group``, ``consumer_group``); here groups
and members are looked up, and what a step wants is done in the order in which it says so. A group that nobody is in
changes its protocol with whoever comes next.
"""

from dataclasses import dataclass, field

from zombieproof.broker.cluster.clock import Clock
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.group.classic_group import ClassicGroup, NoGroup
from zombieproof.broker.group.consumer_group import ConsumerGroup, ConsumerMember, loaded_consumer_group
from zombieproof.broker.group.store import FoundGroup, GroupStore, GroupStores
from zombieproof.formats.batches import GroupKey, Record
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
    LeaverLeft,
    SyncGroup,
)
from zombieproof.model.vocabulary import NONE, Error
from zombieproof.statemachines.classic_group import membership as steps
from zombieproof.statemachines.classic_group.effects import (
    GroupAppend,
    GroupEffects,
    MemberChange,
    PendingRequest,
)
from zombieproof.statemachines.classic_group.membership import MemberRequest
from zombieproof.statemachines.consumer_group import heartbeat as consumer_steps
from zombieproof.statemachines.consumer_group.heartbeat import (
    Beat,
    ConsumerGroupEffects,
    HeartbeatFacts,
    HeartbeatHost,
)

AnyGroup = ClassicGroup | ConsumerGroup | NoGroup
LEADER_NOW = 1
"""Of the leaders that a step can have told (`GroupEffects.leads`): the present one."""


@dataclass(slots=True)
class _Carrying:
    """A request of the classic protocol while its effects are carried out: who sent it, and whom it replaced."""

    found: FoundGroup
    name: str
    member: str
    instance: str | None = None
    pending: PendingRequest = field(default_factory=PendingRequest)
    effects: GroupEffects = field(default_factory=GroupEffects)
    former: str = ""
    former_leader: str = ""


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
        work = self._begin(request.group, request.member, request.instance)
        group = self._group(work)
        sender = group.sender(request.member, request.instance)
        steps.join(group, work.pending, sender, self._said(work, request.version), work.effects, self._journal.begin())
        self._carry_out(work)
        error = work.effects.error
        told = self._group(work)
        if error != Error.NONE or not isinstance(told, ClassicGroup):
            return JoinGroupAnswer(error, member=work.member if error == Error.MEMBER_ID_REQUIRED else request.member)
        leader = told.leader if work.effects.leads == LEADER_NOW else work.former_leader
        return JoinGroupAnswer(error, work.effects.generation, leader, work.member)

    def sync(self, request: SyncGroup) -> GroupError:
        """Answer SyncGroup."""
        work = self._begin(request.group, request.member, request.instance)
        group = self._group(work)
        sender = group.sender(request.member, request.instance)
        said = self._said(work, request.version, request.generation)
        steps.sync(group, work.pending, sender, said, work.effects, self._journal.begin())
        self._carry_out(work)
        return GroupError(work.effects.error)

    def classic_heartbeat(self, request: Heartbeat) -> GroupError:
        """Answer Heartbeat."""
        work = self._begin(request.group, request.member, request.instance)
        group = self._group(work)
        sender = group.sender(request.member, request.instance)
        said = self._said(work, request.version, request.generation)
        steps.heartbeat(group, sender, said, work.effects, self._journal.begin())
        self._carry_out(work)
        return GroupError(work.effects.error)

    def leave(self, request: LeaveGroup) -> GroupLeft:
        """Answer LeaveGroup."""
        names_leavers = steps.names_leavers(request.version)
        leavers = request.leavers if names_leavers else (Leaver(request.member),)
        work = self._begin(request.group, "")
        said, rows = self._said(work, request.version), list[LeaverLeft]()
        steps.begin_leaving(said, work.effects)
        if work.effects.replies:
            return GroupLeft(work.effects.error)
        group = self._group(work)
        for leaver in leavers:
            work.member, work.instance, work.effects = leaver.member, leaver.instance, GroupEffects()
            sender = group.sender(leaver.member, leaver.instance)
            steps.leave(group, work.pending, sender, said, work.effects, self._journal.begin())
            self._journal.take(request.group)
            rows.append(LeaverLeft(leaver.member, leaver.instance, work.effects.error))
            self._change(work)
        work.effects = GroupEffects()
        steps.all_left(group, work.pending, _size(group), work.effects, self._journal.begin())
        self._carry_out(work)
        error = work.effects.error
        return GroupLeft(error, tuple(rows) if names_leavers and error == Error.NONE else ())

    def _begin(self, group: str, member: str, instance: str | None = None) -> _Carrying:
        return _Carrying(self._stores.find(group), group, member, instance)

    def _group(self, work: _Carrying) -> AnyGroup:
        return NoGroup() if work.found.store is None else work.found.store.group(work.name)

    def _said(self, work: _Carrying, version: int, generation: int = NONE) -> MemberRequest:
        return MemberRequest(version, int(work.name != ""), work.found.error, generation)

    def _carry_out(self, work: _Carrying) -> None:
        """Do what the step wants, and go on with the outcome of what it appends, until it replies."""
        while True:
            self._journal.take(work.name)
            self._change(work)
            if work.effects.replies:
                return
            error, work.effects = self._append(work), GroupEffects()
            steps.appended(self._group(work), work.pending, error, work.effects, self._journal.begin())

    def _change(self, work: _Carrying) -> None:
        effects, group, store = work.effects, self._group(work), work.found.store
        if effects.gives_id and store is not None:
            work.member = new_member_id(work.name, store.replica.leader_epoch, self._clock.now_ms(), self._next_id())
        if not isinstance(group, ClassicGroup):
            return
        if effects.member == MemberChange.REPLACES:
            work.former, work.former_leader = group.member_of(work.instance or "") or "", group.leader
        whose = work.former if effects.member == MemberChange.GIVES_BACK else work.member
        if effects.member != MemberChange.NOTHING:
            group.change(effects.member, whose, work.instance)
        if effects.elects:
            group.elect()

    def _append(self, work: _Carrying) -> int:
        """Make durable what the step wants; the error, or NONE."""
        store, group = work.found.store, self._group(work)
        assert store is not None, "only who coordinates a group appends"
        if work.effects.append == GroupAppend.NEW_GROUP:
            made = ClassicGroup(work.name)
            return self._replace(store, made, group)
        assert isinstance(group, ClassicGroup)
        return self._write(store, Record(GroupKey(group.name), group.value()))

    def _next_id(self) -> int:
        self._ids += 1
        return self._ids

    # ---------------------------------------------------------------- the consumer protocol

    def heartbeat(self, request: ConsumerGroupHeartbeat) -> ConsumerGroupHeartbeatAnswer:
        """Answer ConsumerGroupHeartbeat."""
        found = self._stores.find(request.group)
        former = NoGroup() if found.store is None else found.store.group(request.group)
        group = former if isinstance(former, ConsumerGroup) else ConsumerGroup(request.group)
        before, member = group.value(), group.members.get(request.member, ConsumerMember())
        beat = Beat(request.epoch, int(request.topics is not None and request.topics != member.topics))
        host = HeartbeatHost(found.error, self._clock.now_ms(), self._settings.group_consumer_assignment_interval_ms)
        effects, facts = ConsumerGroupEffects(), _heartbeat_facts(request, former)
        consumer_steps.heartbeat(group, member, beat, facts, host, effects, self._journal.begin())
        self._journal.take(request.group)
        name, store = request.member, found.store
        if effects.gives_id and store is not None:
            name = new_member_id(request.group, store.replica.leader_epoch, host.now_ms, self._next_id())
        self._apply(group, name, member, request.topics, effects)
        if effects.appends and store is not None:
            consumer_steps.appended(self._replace(store, group, former), effects)
            if effects.restores and isinstance(former, ConsumerGroup):
                store.groups[request.group] = loaded_consumer_group(request.group, before)
        if effects.error != Error.NONE:
            return ConsumerGroupHeartbeatAnswer(effects.error)
        return ConsumerGroupHeartbeatAnswer(int(Error.NONE), name, effects.epoch)

    def _apply(
        self,
        group: ConsumerGroup,
        name: str,
        member: ConsumerMember,
        topics: tuple[str, ...] | None,
        effects: ConsumerGroupEffects,
    ) -> None:
        if effects.leaves:
            del group.members[name]
        if effects.subscribes:
            group.members[name] = member
            member.topics = member.topics if topics is None else topics
        if effects.assigns:
            group.assign(self._metadata.partitions_of(group.topics()))

    # ---------------------------------------------------------------- both

    def _replace(self, store: GroupStore, group: ClassicGroup | ConsumerGroup, former: AnyGroup) -> int:
        """Make a group durable; one of the other protocol under its name ends with the same append."""
        records = [Record(GroupKey(group.name, not group.is_consumer), group.value())]
        if former.known and former.is_consumer != group.is_consumer:
            records.insert(0, Record(GroupKey(group.name, not former.is_consumer), None))
        error = self._write(store, *records)
        if error == Error.NONE:
            store.groups[group.name] = group
        return error

    def _write(self, store: GroupStore, *records: Record) -> int:
        return store.write(records, self._clock.now_ms())


def new_member_id(group: str, leader_epoch: int, now_ms: int, number: int) -> str:
    """An id that nobody had: leader epochs tell coordinators apart, and starts of the same one."""
    return f"{group}-{leader_epoch}-{now_ms}-{number}"


def _size(group: AnyGroup) -> int:
    return len(group.members) if isinstance(group, ClassicGroup) else 0


def _heartbeat_facts(request: ConsumerGroupHeartbeat, group: AnyGroup) -> HeartbeatFacts:
    is_consumer = isinstance(group, ConsumerGroup)
    known = group.members.get(request.member) if isinstance(group, ConsumerGroup) else None
    epochs = ConsumerMember() if known is None else known
    return HeartbeatFacts(
        has_group_id=int(request.group != ""),
        has_member_id=int(request.member != ""),
        names_topics=int(bool(request.topics)),
        group_is_there=int(is_consumer),
        group_is_of_other_protocol=int(isinstance(group, ClassicGroup) and not group.empty),
        member_is_known=int(known is not None),
        member_epoch=epochs.epoch,
        previous_epoch=epochs.previous_epoch,
    )
