"""The steps of a classic group: JoinGroup, SyncGroup, Heartbeat, LeaveGroup, and what follows their appends.

Theory of operation: whoever is no coordinator of the group says so first, unless the request names no group. A group
that is not there, or that speaks the consumer protocol and is empty, begins as an empty classic one, durably, before
anybody is in it. A generation is durable when its leader has said who reads what, an empty one at once. A rebalance
ends in the step that opened it: members that are in the group count as having joined again (``omissions``).
Source: reference §4.1; ``GroupMetadataManager.java``.
"""

from typing import NamedTuple

from zombieproof.model.decisions.group_members import Identity
from zombieproof.model.decisions.heartbeat import decide_classic_heartbeat
from zombieproof.model.decisions.join_group import decide_join_group
from zombieproof.model.decisions.leave_group import (
    FIRST_VERSION_WITH_LEAVERS,
    decide_leave_group,
    is_of_the_whole_request,
)
from zombieproof.model.decisions.sync_group import decide_sync_group
from zombieproof.model.vocabulary import NONE, NOTHING, ClassicGroupEvent, Error
from zombieproof.statemachines.classic_group.effects import (
    GroupAppend,
    GroupEffects,
    GroupRecord,
    MemberChange,
    Operation,
    PendingRequest,
    reply,
)
from zombieproof.statemachines.notes import Decision, MachineIndex, Notes, move, note


class MemberRequest(NamedTuple):
    """What a request says besides its sender, and what its receiver is: `lookup_error` NONE: its coordinator."""

    version: int
    has_group_id: int
    lookup_error: int
    generation: int = NONE


def is_elsewhere(request: MemberRequest) -> bool:
    """Whether another broker, or nobody yet, answers for the group."""
    return request.has_group_id == 1 and request.lookup_error != Error.NONE


def names_leavers(version: int) -> bool:
    """Whether a LeaveGroup names those who leave, each with an error of its own; else it is its sender who leaves."""
    return version >= FIRST_VERSION_WITH_LEAVERS


# ---------------------------------------------------------------- JoinGroup


def join(
    group: GroupRecord,
    pending: PendingRequest,
    sender: Identity,
    request: MemberRequest,
    effects: GroupEffects,
    notes: Notes,
) -> None:
    """JoinGroup: decide, see to it that there is a classic group, let the sender in."""
    if is_elsewhere(request):
        reply(effects, request.lookup_error)
        return
    verdict = decide_join_group(group, sender, request.version, request.has_group_id)
    note(notes, Decision.JOIN_GROUP, verdict.guard, verdict.error)
    if verdict.error not in (Error.NONE, Error.MEMBER_ID_REQUIRED):
        reply(effects, verdict.error)
        return
    effects.gives_id = 1 if sender.member == NONE else 0
    pending.event = verdict.event
    pending.error = verdict.error
    pending.replaces = 1 if sender.member == NONE and verdict.event == NOTHING else 0
    if group.known == 1 and group.is_consumer == 0:
        _admit(group, pending, effects, notes)
        return
    pending.operation = Operation.JOIN
    effects.append = GroupAppend.NEW_GROUP


def _admit(group: GroupRecord, pending: PendingRequest, effects: GroupEffects, notes: Notes) -> None:
    if pending.error == Error.MEMBER_ID_REQUIRED:
        effects.member = MemberChange.PROMISED
        reply(effects, pending.error)
    elif pending.event != NOTHING:
        effects.member = MemberChange.JOINS
        _rebalance(group, 1, effects, notes)
        _tell(group, effects)
    elif pending.replaces == 1:
        pending.operation = Operation.REPLACE
        effects.member = MemberChange.REPLACES
        effects.append = GroupAppend.GROUP
    else:
        _tell(group, effects)


def _tell(group: GroupRecord, effects: GroupEffects) -> None:
    reply(effects, Error.NONE)
    effects.generation = group.generation
    effects.leads = 1


def _rebalance(group: GroupRecord, members: int, effects: GroupEffects, notes: Notes) -> None:
    """A new generation begins with those who are in the group, or with nobody."""
    group.state = move(notes, MachineIndex.CLASSIC_GROUP, group.state, ClassicGroupEvent.REBALANCE)
    group.generation += 1
    effects.elects = 1
    ended = ClassicGroupEvent.ALL_JOINED if members > 0 else ClassicGroupEvent.NOBODY_LEFT
    group.state = move(notes, MachineIndex.CLASSIC_GROUP, group.state, ended)


# ---------------------------------------------------------------- SyncGroup, Heartbeat


def sync(
    group: GroupRecord,
    pending: PendingRequest,
    sender: Identity,
    request: MemberRequest,
    effects: GroupEffects,
    notes: Notes,
) -> None:
    """SyncGroup: the leader's assignment is made durable, then the group is stable."""
    if is_elsewhere(request):
        reply(effects, request.lookup_error)
        return
    verdict = decide_sync_group(group, sender, request.generation, request.has_group_id)
    note(notes, Decision.SYNC_GROUP, verdict.guard, verdict.error)
    if verdict.event == NOTHING:
        reply(effects, verdict.error)
        return
    pending.operation = Operation.SYNC
    pending.event = verdict.event
    effects.append = GroupAppend.GROUP


def heartbeat(
    group: GroupRecord, sender: Identity, request: MemberRequest, effects: GroupEffects, notes: Notes
) -> None:
    """Heartbeat: nothing changes."""
    if is_elsewhere(request):
        reply(effects, request.lookup_error)
        return
    verdict = decide_classic_heartbeat(group, sender, request.generation, request.has_group_id)
    note(notes, Decision.HEARTBEAT, verdict.guard, verdict.error)
    reply(effects, verdict.error)


# ---------------------------------------------------------------- LeaveGroup


def begin_leaving(request: MemberRequest, effects: GroupEffects) -> None:
    """LeaveGroup arrives; unless it is answered at once, `leave` follows for each leaver, then `all_left`."""
    if is_elsewhere(request):
        reply(effects, request.lookup_error)


def leave(
    group: GroupRecord,
    pending: PendingRequest,
    sender: Identity,
    request: MemberRequest,
    effects: GroupEffects,
    notes: Notes,
) -> None:
    """One leaver: its error, and that of the whole request if it is about the group."""
    verdict = decide_leave_group(group, sender, request.has_group_id)
    note(notes, Decision.LEAVE_GROUP, verdict.guard, verdict.error)
    effects.error = verdict.error
    is_whole = is_of_the_whole_request(verdict.error) or not names_leavers(request.version)
    if is_whole and pending.error == Error.NONE:
        pending.error = verdict.error
    if verdict.error == Error.NONE:
        effects.member = MemberChange.RENOUNCES if verdict.event == NOTHING else MemberChange.LEAVES
        pending.left += 0 if verdict.event == NOTHING else 1


def all_left(group: GroupRecord, pending: PendingRequest, members: int, effects: GroupEffects, notes: Notes) -> None:
    """Everybody named has left: the `members` still there rebalance; an empty generation is durable at once."""
    if pending.left > 0:
        _rebalance(group, members, effects, notes)
        if members == 0:
            pending.operation = Operation.LEAVE
            effects.append = GroupAppend.GROUP
            return
    reply(effects, pending.error)


# ---------------------------------------------------------------- the outcome of an append


def appended(group: GroupRecord, pending: PendingRequest, error: int, effects: GroupEffects, notes: Notes) -> None:
    """What was to be made durable is (`error` NONE), or was refused; `group` is the one that there is now."""
    operation = pending.operation
    pending.operation = Operation.NOTHING
    if operation == Operation.LEAVE:
        # Where it could not be written they are gone all the same: an older generation would time out.
        reply(effects, pending.error)
    elif error != Error.NONE:
        if operation == Operation.REPLACE:
            effects.member = MemberChange.GIVES_BACK
        reply(effects, error)
    elif operation == Operation.JOIN:
        _admit(group, pending, effects, notes)
    elif operation == Operation.REPLACE:
        # It goes on in its place, and is not told that it leads (KIP-345).
        _tell(group, effects)
        effects.leads = 2
    else:
        if operation == Operation.SYNC or (pending.ends == 1 and group.is_consumer == 0):
            group.state = move(notes, MachineIndex.CLASSIC_GROUP, group.state, pending.event)
        reply(effects, Error.NONE)
