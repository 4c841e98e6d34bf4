"""JoinGroup: a member gets its id, comes in, comes again, or takes the place of its static instance.

Theory of operation: who is let in waits until the rebalance ends (``rebalances``). A group that is not there, or that
speaks the consumer protocol and is empty, begins as an empty classic one, durably, before anybody is in it.
Source: reference §4.1; ``GroupMetadataManager.classicGroupJoinToClassicGroup``.
"""

from zombieproof.model.decisions.join_group import (
    decide_join_group,
    decide_join_terms,
    has_room,
    rebalance_timeout_of,
)
from zombieproof.model.vocabulary import NONE, NOTHING, Error
from zombieproof.statemachines.classic_group.effects import (
    GroupAppend,
    GroupEffects,
    GroupHost,
    GroupRecord,
    MemberRequest,
    Operation,
    PendingRequest,
    Wait,
    is_elsewhere,
    reply,
)
from zombieproof.statemachines.classic_group.members import (
    GroupMembers,
    Member,
    Standing,
    answer_join,
    answer_sync,
    awaiting,
    is_in,
    keep_alive,
    remove,
    size,
)
from zombieproof.statemachines.classic_group.rebalances import rebalance
from zombieproof.statemachines.notes import Decision, Notes, note

NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000
"""So long a new member may wait for the end of the rebalance before it is taken for gone."""


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
        note(notes, Decision.JOIN_GROUP, terms.row, terms.error)
        reply(effects, terms.error)
        return
    if is_elsewhere(request):
        reply(effects, request.lookup_error)
        return
    verdict = decide_join_group(group, request.sender, request.version, _is_full(group, members, member, host))
    note(notes, Decision.JOIN_GROUP, verdict.row, verdict.error)
    if verdict.error == Error.GROUP_MAX_SIZE_REACHED and is_in(member):
        remove(members, member)
    if verdict.error not in (Error.NONE, Error.MEMBER_ID_REQUIRED):
        reply(effects, verdict.error)
        return
    effects.gives_id = request.sender.member == NONE
    pending.event = verdict.event
    pending.error = verdict.error
    pending.version = request.version
    pending.is_static = request.sender.instance != NONE
    pending.replaces = request.sender.member == NONE and request.sender.instance_is_known
    pending.session_timeout_ms = request.session_timeout_ms
    pending.rebalance_timeout_ms = rebalance_timeout_of(
        request.version, request.session_timeout_ms, request.rebalance_timeout_ms
    )
    if group.known and not group.is_consumer:
        admit(group, members, member, pending, host, effects, notes)
        return
    pending.operation = int(Operation.JOIN)
    effects.append = int(GroupAppend.NEW_GROUP)


def _is_full(group: GroupRecord, members: GroupMembers, member: Member, host: GroupHost) -> bool:
    if not group.known or group.is_consumer:
        return False
    awaits = is_in(member) and member.awaits_join
    return not has_room(group.state, is_in(member), awaits, size(members), awaiting(members), host.most_members)


def admit(
    group: GroupRecord,
    members: GroupMembers,
    member: Member,
    pending: PendingRequest,
    host: GroupHost,
    effects: GroupEffects,
    notes: Notes,
) -> None:
    """There is a classic group: the sender gets its id, learns the generation, takes its place, or waits for others."""
    if pending.error == Error.NONE and pending.event == NOTHING and not pending.replaces:
        answer_now(group, effects)
        return
    is_new = not is_in(member)
    if pending.replaces:
        _take_place(members, member, pending, host.now_ms)
        is_new = False
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
        if is_new:
            _begin(members, member, pending, host.now_ms)
        member.awaits_join = True
        effects.waits = int(Wait.JOIN)
        rebalance(group, members, pending, host, effects, notes)


def _begin(members: GroupMembers, member: Member, pending: PendingRequest, now_ms: int) -> None:
    """A new member is in; the first one leads."""
    member.standing = int(Standing.IN)
    member.is_static = pending.is_static
    member.is_new = True
    member.until_ms = now_ms + NEW_MEMBER_JOIN_TIMEOUT_MS
    if members.leader == NONE:
        members.leader = member.number
    members.has_grown = members.is_initial or members.has_grown


def _take_place(members: GroupMembers, member: Member, pending: PendingRequest, now_ms: int) -> None:
    """A member takes the place of its static instance, whose requests are fenced."""
    for former in members.members:
        if former.number == member.former:
            answer_join(former, Error.FENCED_INSTANCE_ID)
            answer_sync(former, Error.FENCED_INSTANCE_ID)
            former.standing = int(Standing.NOBODY)
            member.session_timeout_ms = former.session_timeout_ms
    member.standing = int(Standing.IN)
    member.is_static = True
    keep_alive(member, now_ms)
    pending.led = members.leader == member.former
    if pending.led:
        members.leader = member.number


def give_back(members: GroupMembers, member: Member, pending: PendingRequest, now_ms: int) -> None:
    """The place that a member took is given back: it could not be made durable."""
    for former in members.members:
        if former.number == member.former:
            former.standing = int(Standing.IN)
            keep_alive(former, now_ms)
    member.standing = int(Standing.NOBODY)
    if pending.led:
        members.leader = member.former


def answer_now(group: GroupRecord, effects: GroupEffects) -> None:
    """The sender learns the present generation, and who leads it."""
    reply(effects, Error.NONE)
    effects.generation = group.generation
