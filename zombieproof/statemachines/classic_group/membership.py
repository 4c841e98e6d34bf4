"""The steps of a classic group: SyncGroup, Heartbeat, LeaveGroup, and what follows appends, JoinGroup's too.

Theory of operation: whoever is no coordinator of the group says so first, unless the request is wrong in itself. Who
joins waits until the rebalance ends (``joining``, ``rebalances``), who asks for its assignment until the leader has
given it. A generation is durable when its leader has said who reads what, an empty one at once. A member that asks
again while it waits is answered once, at the last request.
Source: reference §4.1; ``GroupMetadataManager.java``.
"""

from zombieproof.model.decisions.heartbeat import decide_classic_heartbeat, error_of_heartbeat_elsewhere
from zombieproof.model.decisions.join_group import knows_that_it_leads
from zombieproof.model.decisions.leave_group import (
    FIRST_VERSION_WITH_LEAVERS,
    decide_leave_group,
    is_of_the_whole_request,
)
from zombieproof.model.decisions.sync_group import decide_sync_group, decide_sync_terms
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NOTHING, ClassicGroupState, Error, Row
from zombieproof.statemachines.classic_group.effects import (
    GroupAppend,
    GroupEffects,
    GroupHost,
    GroupRecord,
    LeaderShown,
    MemberRequest,
    Operation,
    PendingRequest,
    Wait,
    is_elsewhere,
    reply,
)
from zombieproof.statemachines.classic_group.joining import admit, answer_now, give_back
from zombieproof.statemachines.classic_group.members import (
    GroupMembers,
    Member,
    answer_sync,
    has_synced,
    is_in,
    keep_alive,
    remove,
)
from zombieproof.statemachines.classic_group.rebalances import prepare, rebalance
from zombieproof.statemachines.notes import Decision, MachineIndex, Notes, move, note


def names_leavers(version: int) -> bool:
    """Whether a LeaveGroup names those who leave, each with an error of its own; else it is its sender who leaves."""
    return version >= FIRST_VERSION_WITH_LEAVERS


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
    terms = decide_sync_terms(request.version, request.names_protocol)
    if terms.error != Error.NONE:
        note(notes, Decision.SYNC_GROUP, terms.row, terms.error)
        reply(effects, terms.error)
        return
    if is_elsewhere(request):
        reply(effects, request.lookup_error)
        return
    verdict = decide_sync_group(group, request.sender, request.generation, request.has_group_id)
    note(notes, Decision.SYNC_GROUP, verdict.row, verdict.error)
    if verdict.error != Error.NONE:
        reply(effects, verdict.error)
        return
    has_synced(members, member)
    if verdict.row == Row.MEMBER_IS_IN:
        reply(effects, Error.NONE)
        return
    member.awaits_sync = True
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
    note(notes, Decision.HEARTBEAT, verdict.row, verdict.error)
    if verdict.error == Error.NONE or verdict.row == Row.REBALANCING:
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
    note(notes, Decision.LEAVE_GROUP, verdict.row, verdict.error)
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
        admit(group, members, member, pending, host, effects, notes)
    elif operation == Operation.REPLACE and error == Error.NONE:
        # It goes on in its place; before version 9 it is not told that it leads (KIP-345, KIP-814).
        answer_now(group, effects)
        effects.leader = int(LeaderShown.PRESENT if knows_that_it_leads(pending.version) else LeaderShown.FORMER)
    else:
        if operation == Operation.REPLACE:
            give_back(members, member, pending, host.now_ms)
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
        if member.awaits_sync:
            answer_sync(member, error)
            keep_alive(member, host.now_ms)
    if error == Error.NONE:
        group.state = move(notes, MachineIndex.CLASSIC_GROUP, group.state, pending.event)
    else:
        prepare(group, members, pending, host, effects, notes)
