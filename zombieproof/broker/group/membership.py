"""Who is in a group of the classic protocol: JoinGroup, SyncGroup, Heartbeat, LeaveGroup, and time.

What follows from a request, and when, is decided by the steps (``statemachines.classic_group``); here groups and
members are looked up, and what a step wants is done in the order in which it says so. A group that nobody is in changes
its protocol with whoever comes next.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from zombieproof.broker.cluster.clock import Clock
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.group.classic_group import ClassicGroup, NoGroup
from zombieproof.broker.group.classic_member import GroupMember
from zombieproof.broker.group.effects import GroupEffect, Reply, WakeAt
from zombieproof.broker.group.member_ids import MemberIds
from zombieproof.broker.group.senders import AnyGroup, protocols_of, records_of, seat_of, with_protocols
from zombieproof.broker.group.store import FoundGroup, GroupStores
from zombieproof.messages.groups import (
    CONSUMERS,
    GroupAnswer,
    GroupError,
    GroupLeft,
    Heartbeat,
    JoinGroup,
    JoinGroupAnswer,
    LeaveGroup,
    Leaver,
    LeaverLeft,
    SyncGroup,
    SyncGroupAnswer,
)
from zombieproof.model.vocabulary import NONE, Error
from zombieproof.statemachines.classic_group import joining, rebalances
from zombieproof.statemachines.classic_group import membership as steps
from zombieproof.statemachines.classic_group.effects import (
    GroupAppend,
    GroupEffects,
    GroupHost,
    LeaderShown,
    MemberRequest,
    PendingRequest,
)
from zombieproof.statemachines.classic_group.members import next_deadline


@dataclass(slots=True)
class _Work:
    """A request, or the time, while its effects are carried out: who sent it, who led before, who gets what."""

    found: FoundGroup
    name: str
    number: int = 0
    seat: GroupMember = field(default_factory=GroupMember)
    pending: PendingRequest = field(default_factory=PendingRequest)
    effects: GroupEffects = field(default_factory=GroupEffects)
    former_leader: str = ""
    protocol_type: str = CONSUMERS
    assignments: Mapping[str, bytes] | None = None
    done: list[GroupEffect] = field(default_factory=list)


class Membership:
    """The members of all groups of the classic protocol that one broker answers for."""

    def __init__(self, stores: GroupStores, settings: Settings, clock: Clock, journal: Journal, ids: MemberIds) -> None:
        self._rules = stores.rules
        self._stores, self._settings, self._clock, self._journal, self._ids = stores, settings, clock, journal, ids

    # ---------------------------------------------------------------- requests

    def join(self, request: JoinGroup, number: int) -> list[GroupEffect]:
        """JoinGroup: it is answered now, or when all members have joined."""
        work = self._begin(request.group, number)
        group = self._group(work)
        said = MemberRequest(
            request.version,
            request.group != "",
            work.found.error,
            with_protocols(group.sender(request.member, request.instance), group, request),
            session_timeout_ms=request.session_timeout_ms,
            rebalance_timeout_ms=request.rebalance_timeout_ms,
        )
        work.seat = GroupMember(name=request.member, instance=request.instance)
        work.protocol_type = request.protocol_type
        if isinstance(group, ClassicGroup):
            named = request.member != ""
            work.seat = group.find(request.member) if named else group.newcomer(request.instance)
            work.former_leader = group.leader
            group.seat(work.seat)
        joining.join(
            group, records_of(group), work.seat, work.pending, said, self._host(), work.effects, self._journal.begin()
        )
        if work.effects.error == Error.NONE:
            work.seat.protocols = protocols_of(request)
            work.seat.client_id, work.seat.client_host = request.client_id, request.client_host
            if isinstance(group, ClassicGroup) and not group.members.keys() - {work.seat.name}:
                group.protocol_type = request.protocol_type
        self._carry_out(work)
        if work.effects.replies:
            self._reply(work, self._joined(work, request))
        return self._finished(work)

    def _joined(self, work: _Work, request: JoinGroup) -> JoinGroupAnswer:
        error, group = work.effects.error, self._group(work)
        if error != Error.NONE or not isinstance(group, ClassicGroup):
            member = work.seat.name if error == Error.MEMBER_ID_REQUIRED else request.member
            if error == Error.GROUP_MAX_SIZE_REACHED:
                member = ""
            return JoinGroupAnswer(error, member=member)
        leader = work.former_leader if work.effects.leader == LeaderShown.FORMER else group.leader
        skips = work.pending.replaces and leader == work.seat.name
        return group.joined(work.seat, leader, skips_assignment=skips)

    def sync(self, request: SyncGroup, number: int) -> list[GroupEffect]:
        """SyncGroup: it is answered now, or when the leader's assignment is there."""
        work, said = self._begin_known(request, number)
        group = self._group(work)
        said = said._replace(names_protocol=None not in (request.protocol_type, request.protocol))
        if isinstance(group, ClassicGroup):
            shares = group.is_protocol(request.protocol_type, request.protocol)
            said = said._replace(sender=said.sender._replace(shares_protocol=shares))
        work.assignments = {each.member: each.assignment for each in request.assignments}
        steps.sync(group, records_of(group), work.seat, work.pending, said, work.effects, self._journal.begin())
        self._carry_out(work)
        if work.effects.replies:
            error, group = work.effects.error, self._group(work)
            answer = group.synced(work.seat, error) if isinstance(group, ClassicGroup) else SyncGroupAnswer(error)
            self._reply(work, answer)
        return self._finished(work)

    def heartbeat(self, request: Heartbeat, number: int) -> list[GroupEffect]:
        """Heartbeat."""
        work, said = self._begin_known(request, number)
        steps.heartbeat(self._group(work), work.seat, said, self._host(), work.effects, self._journal.begin())
        self._journal.take(work.name)
        self._reply(work, GroupError(work.effects.error))
        return work.done

    def leave(self, request: LeaveGroup, number: int) -> list[GroupEffect]:
        """LeaveGroup: who is named is gone, and told so where it waits."""
        names_leavers = steps.names_leavers(request.version)
        leavers = request.leavers if names_leavers else (Leaver(request.member),)
        work, rows = self._begin(request.group, number), list[LeaverLeft]()
        said = MemberRequest(request.version, request.group != "", work.found.error)
        steps.begin_leaving(said, work.effects)
        if work.effects.replies:
            self._reply(work, GroupLeft(work.effects.error))
            return work.done
        group = self._group(work)
        for leaver in leavers:
            sender, effects = group.sender(leaver.member, leaver.instance), GroupEffects()
            seat = seat_of(group, leaver.member, leaver.instance)
            steps.leave(
                group,
                records_of(group),
                seat,
                work.pending,
                said._replace(sender=sender),
                self._rules,
                effects,
                self._journal.begin(),
            )
            self._journal.take(request.group)
            rows.append(LeaverLeft(leaver.member, leaver.instance, effects.error))
        work.effects = GroupEffects()
        steps.all_left(group, records_of(group), work.pending, self._host(), work.effects, self._journal.begin())
        self._carry_out(work)
        error = work.effects.error
        self._reply(work, GroupLeft(error, tuple(rows) if names_leavers and error == Error.NONE else ()))
        return self._finished(work)

    # ---------------------------------------------------------------- time, and who coordinates

    def time_passes(self, name: str) -> list[GroupEffect]:
        """Whatever is due in a group happens."""
        done, group = list[GroupEffect](), self._group(self._begin(name))
        if not isinstance(group, ClassicGroup):
            return done
        group.wakes_ms = NONE
        while NONE < next_deadline(group.records) <= self._clock.now_ms():
            work = self._begin(name)
            rebalances.time_passes(
                group, group.records, work.pending, self._host(), work.effects, self._journal.begin()
            )
            self._carry_out(work)
            done += self._finished(work)
        return [*done, *_wake(group)]

    def loaded(self, group: ClassicGroup) -> list[GroupEffect]:
        """A group was read from the log."""
        rebalances.loaded(group.records, self._clock.now_ms())
        return _wake(group)

    # ---------------------------------------------------------------- effects

    def _begin(self, group: str, number: int = 0) -> _Work:
        return _Work(self._stores.find(group), group, number)

    def _begin_known(self, request: SyncGroup | Heartbeat, number: int) -> tuple[_Work, MemberRequest]:
        """A request of somebody who has to be a member already."""
        work = self._begin(request.group, number)
        group = self._group(work)
        work.seat = seat_of(group, request.member, None)
        sender = group.sender(request.member, request.instance)
        has_group_id = request.group != ""
        return work, MemberRequest(request.version, has_group_id, work.found.error, sender, request.generation)

    def _group(self, work: _Work) -> AnyGroup:
        return NoGroup() if work.found.store is None else work.found.store.group(work.name)

    def _host(self) -> GroupHost:
        settings = self._settings
        return GroupHost(
            self._clock.now_ms(),
            settings.group_initial_rebalance_delay_ms,
            settings.group_min_session_timeout_ms,
            settings.group_max_session_timeout_ms,
            settings.group_max_size,
        )

    def _carry_out(self, work: _Work) -> None:
        """Do what the step wants, and go on with the outcome of what it appends, until there is nothing to wait for."""
        while True:
            self._journal.take(work.name)
            group, store = self._group(work), work.found.store
            if work.effects.gives_id and store is not None:
                work.seat.name = self._ids.next(work.name, store.replica.leader_epoch)
            if isinstance(group, ClassicGroup):
                if work.effects.waits:
                    work.done += work.seat.waits(work.effects.waits, work.number)
                if work.effects.gives_id:
                    group.seat(work.seat)
                work.done += group.take_results()
            if not work.effects.append:
                return
            error, work.effects = self._append(work), GroupEffects()
            group = self._group(work)
            steps.appended(
                group,
                records_of(group),
                work.seat,
                work.pending,
                error,
                self._host(),
                work.effects,
                self._journal.begin(),
            )

    def _append(self, work: _Work) -> int:
        """Make durable what the step wants; the error, or NONE."""
        store, group = work.found.store, self._group(work)
        assert store is not None, "only who coordinates a group appends"
        if work.effects.append == GroupAppend.NEW_GROUP:
            made = ClassicGroup(work.name, protocol_type="")
            error = store.write_group(made, group, self._clock.now_ms())
            if error == Error.NONE:
                made.seat(work.seat)
                if work.pending.error == Error.NONE:
                    made.protocol_type = work.protocol_type
            return error
        assert isinstance(group, ClassicGroup)
        if work.assignments is not None:
            group.give(work.assignments)
        error = store.write_group(group, group, self._clock.now_ms())
        if error != Error.NONE and work.assignments is not None:
            group.give({})
        return error

    def _reply(self, work: _Work, answer: GroupAnswer) -> None:
        work.done.append(Reply(work.number, (work.name,), answer))

    def _finished(self, work: _Work) -> list[GroupEffect]:
        """All that is to be done, and when the group looks at its clock next."""
        group = self._group(work)
        return work.done if not isinstance(group, ClassicGroup) else [*work.done, *group.clear(), *_wake(group)]


def _wake(group: ClassicGroup) -> list[GroupEffect]:
    """A group looks at its clock when the first thing is due; later ones are looked for then."""
    first = next_deadline(group.records)
    if first == NONE or NONE < group.wakes_ms <= first:
        return []
    group.wakes_ms = first
    return [WakeAt(group.name, first)]
