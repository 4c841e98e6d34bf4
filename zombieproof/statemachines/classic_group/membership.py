"""The steps of a classic group: JoinGroup, SyncGroup, Heartbeat, LeaveGroup, and what follows their appends.

Theory of operation: whoever is no coordinator of the group says so first, unless the request is wrong in itself. A
group that is not there, or that speaks the consumer protocol and is empty, begins as an empty classic one, durably,
before anybody is in it. Who joins waits until the rebalance ends (``rebalances``), who asks for its assignment until
the leader has given it. A generation is durable when its leader has said who reads what, an empty one at once. A member
that asks again while it waits is answered once, at the last request.
Source: reference §4.1; ``GroupMetadataManager.java``.
"""

from zombieproof.model.decisions.heartbeat import decide_classic_heartbeat, error_of_heartbeat_elsewhere
from zombieproof.model.decisions.join_group import decide_join_group, decide_join_terms, knows_that_it_leads
from zombieproof.model.decisions.leave_group import (
    FIRST_VERSION_WITH_LEAVERS,
    decide_leave_group,
    is_of_the_whole_request,
)
from zombieproof.model.decisions.sync_group import decide_sync_group
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, NOTHING, ClassicGroupState, Error, Guard
from zombieproof.statemachines.classic_group.effects import (
    GroupAppend,
    GroupEffects,
    GroupHost,
    GroupRecord,
    MemberRequest,
    Operation,
    PendingRequest,
    Wait,
    reply,
)
from zombieproof.statemachines.classic_group.members import (
    GroupMembers,
    Member,
    Standing,
    has_synced,
    is_in,
    keep_alive,
    remove,
    tell_join,
    tell_sync,
)
from zombieproof.statemachines.classic_group.rebalances import prepare, rebalance
from zombieproof.statemachines.notes import Decision, MachineIndex, Notes, move, note

NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000
"""So long a new member may wait for the end of the rebalance before it is taken for gone."""


def is_elsewhere(request: MemberRequest) -> bool:
    """Whether another broker, or nobody yet, answers for the group."""
    return request.has_group_id == 1 and request.lookup_error != Error.NONE


def names_leavers(version: int) -> bool:
    """Whether a LeaveGroup names those who leave, each with an error of its own; else it is its sender who leaves."""
    return version >= FIRST_VERSION_WITH_LEAVERS


# ---------------------------------------------------------------- JoinGroup


def join(
    group: GroupRecord,
    members: GroupMembers,
    member: Member,
    pending: PendingRequest,
    request: MemberRequest,
    host: GroupHost,
    effects: GroupEffects,
    notes: Notes,
) -> None:
    """JoinGroup: decide, see to it that there is a classic group, let the sender in."""
    terms = decide_join_terms(
        request.has_group_id, request.session_timeout_ms, host.least_session_ms, host.most_session_ms
    )
    if terms.error != Error.NONE:
        note(notes, Decision.JOIN_GROUP, terms.guard, terms.error)
        reply(effects, terms.error)
        return
    if is_elsewhere(request):
        reply(effects, request.lookup_error)
        return
    verdict = decide_join_group(group, request.sender, request.version)
    note(notes, Decision.JOIN_GROUP, verdict.guard, verdict.error)
    if verdict.error not in (Error.NONE, Error.MEMBER_ID_REQUIRED):
        reply(effects, verdict.error)
        return
    effects.gives_id = 1 if request.sender.member == NONE else 0
    pending.event = verdict.event
    pending.error = verdict.error
    pending.version = request.version
    pending.is_static = 0 if request.sender.instance == NONE else 1
    pending.replaces = 1 if request.sender.member == NONE and request.sender.instance_is_known == 1 else 0
    pending.session_timeout_ms = request.session_timeout_ms
    pending.rebalance_timeout_ms = request.rebalance_timeout_ms
    if group.known == 1 and group.is_consumer == 0:
        _admit(group, members, member, pending, host, effects, notes)
        return
    pending.operation = int(Operation.JOIN)
    effects.append = int(GroupAppend.NEW_GROUP)


def _admit(
    group: GroupRecord,
    members: GroupMembers,
    member: Member,
    pending: PendingRequest,
    host: GroupHost,
    effects: GroupEffects,
    notes: Notes,
) -> None:
    if pending.error == Error.NONE and pending.event == NOTHING and pending.replaces == 0:
        _tell(group, effects)
        return
    is_new = 0 if is_in(member) else 1
    if pending.replaces == 1:
        _take_place(members, member, pending, host.now_ms)
        is_new = 0
    member.session_timeout_ms = pending.session_timeout_ms
    member.rebalance_timeout_ms = pending.rebalance_timeout_ms
    if pending.error == Error.MEMBER_ID_REQUIRED:
        member.standing = int(Standing.PROMISED)
        keep_alive(member, host.now_ms)
        reply(effects, pending.error)
    elif pending.event == NOTHING:
        pending.operation = int(Operation.REPLACE)
        effects.append = int(GroupAppend.GROUP)
    else:
        if is_new == 1:
            _begin(members, member, pending, host.now_ms)
        member.awaits_join = 1
        effects.waits = int(Wait.JOIN)
        rebalance(group, members, pending, host, effects, notes)


def _begin(members: GroupMembers, member: Member, pending: PendingRequest, now_ms: int) -> None:
    """A new member is in; the first one leads."""
    member.standing = int(Standing.IN)
    member.is_static = pending.is_static
    member.is_new = 1
    member.until_ms = now_ms + NEW_MEMBER_JOIN_TIMEOUT_MS
    if members.leader == NONE:
        members.leader = member.number
    members.has_grown = 1 if members.is_initial == 1 else members.has_grown


def _take_place(members: GroupMembers, member: Member, pending: PendingRequest, now_ms: int) -> None:
    """A member takes the place of its static instance, whose requests are fenced."""
    for former in members.members:
        if former.number == member.former:
            tell_join(former, Error.FENCED_INSTANCE_ID)
            tell_sync(former, Error.FENCED_INSTANCE_ID)
            former.standing = int(Standing.NOBODY)
            member.session_timeout_ms = former.session_timeout_ms
    member.standing = int(Standing.IN)
    member.is_static = 1
    keep_alive(member, now_ms)
    pending.led = 1 if members.leader == member.former else 0
    if pending.led == 1:
        members.leader = member.number


def _give_back(members: GroupMembers, member: Member, pending: PendingRequest, now_ms: int) -> None:
    """The place that a member took is given back: it could not be made durable."""
    for former in members.members:
        if former.number == member.former:
            former.standing = int(Standing.IN)
            keep_alive(former, now_ms)
    member.standing = int(Standing.NOBODY)
    if pending.led == 1:
        members.leader = member.former


def _tell(group: GroupRecord, effects: GroupEffects) -> None:
    reply(effects, Error.NONE)
    effects.generation = group.generation
    effects.leads = 1


# ---------------------------------------------------------------- SyncGroup, Heartbeat


def sync(
    group: GroupRecord,
    members: GroupMembers,
    member: Member,
    pending: PendingRequest,
    request: MemberRequest,
    effects: GroupEffects,
    notes: Notes,
) -> None:
    """SyncGroup: a member waits for its assignment; the leader's is made durable, then the group is stable."""
    if is_elsewhere(request):
        reply(effects, request.lookup_error)
        return
    verdict = decide_sync_group(group, request.sender, request.generation, request.has_group_id)
    note(notes, Decision.SYNC_GROUP, verdict.guard, verdict.error)
    if verdict.error != Error.NONE:
        reply(effects, verdict.error)
        return
    has_synced(members, member)
    if verdict.guard == Guard.MEMBER_IS_IN:
        reply(effects, Error.NONE)
        return
    member.awaits_sync = 1
    effects.waits = int(Wait.SYNC)
    if verdict.event != NOTHING:
        pending.operation = int(Operation.SYNC)
        pending.event = verdict.event
        pending.generation = group.generation
        effects.append = int(GroupAppend.GROUP)


def heartbeat(
    group: GroupRecord, member: Member, request: MemberRequest, host: GroupHost, effects: GroupEffects, notes: Notes
) -> None:
    """Heartbeat: the member is alive, also if it has to join again."""
    if is_elsewhere(request):
        reply(effects, error_of_heartbeat_elsewhere(request.lookup_error))
        return
    verdict = decide_classic_heartbeat(group, request.sender, request.generation, request.has_group_id)
    note(notes, Decision.HEARTBEAT, verdict.guard, verdict.error)
    if verdict.error == Error.NONE or verdict.guard == Guard.REBALANCING:
        keep_alive(member, host.now_ms)
    reply(effects, verdict.error)


def committed(group: GroupRecord, member: Member, now_ms: int) -> None:
    """An OffsetCommit of a member was accepted: it is alive."""
    if is_in(member) and group.state != ClassicGroupState.COMPLETING_REBALANCE:
        keep_alive(member, now_ms)


# ---------------------------------------------------------------- LeaveGroup


def begin_leaving(request: MemberRequest, effects: GroupEffects) -> None:
    """LeaveGroup arrives; unless it is answered at once, `leave` follows for each leaver, then `all_left`."""
    if is_elsewhere(request):
        reply(effects, request.lookup_error)


def leave(
    group: GroupRecord,
    members: GroupMembers,
    member: Member,
    pending: PendingRequest,
    request: MemberRequest,
    rules: Rules,
    effects: GroupEffects,
    notes: Notes,
) -> None:
    """One leaver: its error, and that of the whole request if it is about the group."""
    verdict = decide_leave_group(group, request.sender, request.has_group_id, rules)
    note(notes, Decision.LEAVE_GROUP, verdict.guard, verdict.error)
    effects.error = int(verdict.error)
    is_whole = is_of_the_whole_request(verdict.error) or not names_leavers(request.version)
    if is_whole and pending.error == Error.NONE:
        pending.error = int(verdict.error)
    if verdict.error == Error.NONE:
        remove(members, member)
        pending.left += 1
        pending.event = verdict.event if verdict.event != NOTHING else pending.event


def all_left(
    group: GroupRecord,
    members: GroupMembers,
    pending: PendingRequest,
    host: GroupHost,
    effects: GroupEffects,
    notes: Notes,
) -> None:
    """Everybody named has left: those still there rebalance; an empty generation is made durable first."""
    is_open = group.state == ClassicGroupState.PREPARING_REBALANCE
    if pending.left > 0 and group.state != ClassicGroupState.EMPTY and (is_open or pending.event != NOTHING):
        rebalance(group, members, pending, host, effects, notes)
    if effects.append == GroupAppend.NOTHING:
        reply(effects, pending.error)


# ---------------------------------------------------------------- the outcome of an append


def appended(
    group: GroupRecord,
    members: GroupMembers,
    member: Member,
    pending: PendingRequest,
    error: int,
    host: GroupHost,
    effects: GroupEffects,
    notes: Notes,
) -> None:
    """What was to be made durable is (`error` NONE), or was refused; `group` is the one that there is now."""
    operation = pending.operation
    pending.operation = int(Operation.NOTHING)
    if operation == Operation.EMPTY:
        # Where it could not be written they are gone all the same: an older generation would time out.
        reply(effects, pending.error)
    elif operation == Operation.SYNC:
        _assigned(group, members, pending, error, host, effects, notes)
    elif operation == Operation.JOIN and error == Error.NONE:
        _admit(group, members, member, pending, host, effects, notes)
    elif operation == Operation.REPLACE and error == Error.NONE:
        # It goes on in its place; before version 9 it is not told that it leads (KIP-345, KIP-814).
        _tell(group, effects)
        effects.leads = 1 if knows_that_it_leads(pending.version) else 2
    else:
        if operation == Operation.REPLACE:
            _give_back(members, member, pending, host.now_ms)
        reply(effects, error)


def _assigned(
    group: GroupRecord,
    members: GroupMembers,
    pending: PendingRequest,
    error: int,
    host: GroupHost,
    effects: GroupEffects,
    notes: Notes,
) -> None:
    """The leader's assignment is durable: everybody who waits has it, if the group is still where it was."""
    if group.state != ClassicGroupState.COMPLETING_REBALANCE or group.generation != pending.generation:
        return
    for member in members.members:
        if member.awaits_sync == 1:
            tell_sync(member, error)
            keep_alive(member, host.now_ms)
    if error == Error.NONE:
        group.state = move(notes, MachineIndex.CLASSIC_GROUP, group.state, pending.event)
    else:
        prepare(group, members, pending, host, effects, notes)
