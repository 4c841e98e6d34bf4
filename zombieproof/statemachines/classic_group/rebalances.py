"""The steps of a rebalance of a classic group, and what happens to the group by itself as time passes.

Theory of operation: a rebalance ends when all members have joined, or with its time-out: then those who have not come
are gone, unless they are static instances, and the new generation begins with the others. Each is told so, and is to
ask for its assignment in time. The first rebalance of an empty group waits only for its delay. A session that ends
takes a member out; who waits is alive.
Source: ``GroupMetadataManager.prepareRebalance``, ``completeClassicGroupJoin``, ``expirePendingSync``,
``expireClassicGroupMemberHeartbeat``.
"""

from zombieproof.model.vocabulary import NONE, ClassicGroupEvent, ClassicGroupState, Error
from zombieproof.statemachines.classic_group.effects import (
    GroupAppend,
    GroupEffects,
    GroupHost,
    GroupRecord,
    Operation,
    PendingRequest,
)
from zombieproof.statemachines.classic_group.members import (
    GroupMembers,
    Member,
    Standing,
    all_have_joined,
    answer_join,
    answer_sync,
    forget_syncs,
    is_in,
    keep_alive,
    rebalance_timeout,
    remove,
    size,
    someone_joined_leads,
)
from zombieproof.statemachines.notes import MachineIndex, Notes, move

LEAST_MS = 1
"""A time that is over is not set again at once."""


def rebalance(
    group: GroupRecord,
    members: GroupMembers,
    pending: PendingRequest,
    host: GroupHost,
    effects: GroupEffects,
    notes: Notes,
) -> None:
    """Somebody came or went: a rebalance begins, or the one that is open may end."""
    if group.state != ClassicGroupState.PREPARING_REBALANCE:
        prepare(group, members, pending, host, effects, notes)
    elif not members.is_initial and all_have_joined(members):
        complete(group, members, pending, host, effects, notes)


def prepare(
    group: GroupRecord,
    members: GroupMembers,
    pending: PendingRequest,
    host: GroupHost,
    effects: GroupEffects,
    notes: Notes,
) -> None:
    """A rebalance begins: nobody gets an assignment of this generation any more."""
    for member in members.members:
        answer_sync(member, Error.REBALANCE_IN_PROGRESS)
    forget_syncs(members)
    members.is_initial = group.state == ClassicGroupState.EMPTY
    group.state = move(notes, MachineIndex.CLASSIC_GROUP, group.state, ClassicGroupEvent.REBALANCE)
    timeout_ms = rebalance_timeout(members)
    if members.is_initial:
        members.delay_ms = host.initial_delay_ms
        members.left_ms = max(timeout_ms - host.initial_delay_ms, 0)
        members.join_until_ms = host.now_ms + host.initial_delay_ms
        if host.initial_delay_ms == 0:
            # Nobody can come in between.
            complete(group, members, pending, host, effects, notes)
    elif all_have_joined(members):
        complete(group, members, pending, host, effects, notes)
    else:
        members.join_until_ms = host.now_ms + max(timeout_ms, LEAST_MS)


def complete(
    group: GroupRecord,
    members: GroupMembers,
    pending: PendingRequest,
    host: GroupHost,
    effects: GroupEffects,
    notes: Notes,
) -> None:
    """The rebalance ends with those who have joined, and with static instances that have not.

    Where nobody is left the generation is made durable at once. Of static instances at least one has to come.
    """
    members.join_until_ms = NONE
    for member in members.members:
        if is_in(member) and not member.awaits_join and not member.is_static:
            remove(members, member)
    timeout_ms = rebalance_timeout(members)
    if not someone_joined_leads(members) and size(members) > 0:
        members.join_until_ms = host.now_ms + max(timeout_ms, LEAST_MS)
        return
    group.generation += 1
    members.is_initial = False
    forget_syncs(members)
    if size(members) == 0:
        group.state = move(notes, MachineIndex.CLASSIC_GROUP, group.state, ClassicGroupEvent.NOBODY_LEFT)
        pending.operation = int(Operation.EMPTY)
        effects.append = int(GroupAppend.GROUP)
        return
    group.state = move(notes, MachineIndex.CLASSIC_GROUP, group.state, ClassicGroupEvent.ALL_JOINED)
    members.sync_until_ms = host.now_ms + max(timeout_ms, LEAST_MS)
    for member in members.members:
        if is_in(member):
            answer_join(member, Error.NONE)
            keep_alive(member, host.now_ms)
            member.is_new = False
            member.owes_sync = True


# ---------------------------------------------------------------- time


def time_passes(
    group: GroupRecord,
    members: GroupMembers,
    pending: PendingRequest,
    host: GroupHost,
    effects: GroupEffects,
    notes: Notes,
) -> None:
    """The first thing that is due happens; it is due again only later, so that nothing is left after some steps."""
    if NONE < members.join_until_ms <= host.now_ms:
        _join_is_due(group, members, pending, host, effects, notes)
        return
    if NONE < members.sync_until_ms <= host.now_ms:
        _sync_is_due(group, members, pending, host, effects, notes)
        return
    for member in members.members:
        if member.standing != Standing.NOBODY and NONE < member.until_ms <= host.now_ms:
            member.until_ms = NONE
            _session_is_over(group, members, member, pending, host, effects, notes)
            return


def _join_is_due(
    group: GroupRecord,
    members: GroupMembers,
    pending: PendingRequest,
    host: GroupHost,
    effects: GroupEffects,
    notes: Notes,
) -> None:
    """The rebalance ends, unless it is the first one of an empty group, and somebody has come during its delay."""
    if members.is_initial and members.has_grown and members.left_ms > 0:
        waited_ms = members.delay_ms
        members.has_grown = False
        members.delay_ms = min(host.initial_delay_ms, members.left_ms)
        members.left_ms = max(members.left_ms - waited_ms, 0)
        members.join_until_ms = host.now_ms + members.delay_ms
        return
    complete(group, members, pending, host, effects, notes)


def _sync_is_due(
    group: GroupRecord,
    members: GroupMembers,
    pending: PendingRequest,
    host: GroupHost,
    effects: GroupEffects,
    notes: Notes,
) -> None:
    """Who has not asked for its assignment is taken for dead, and the others rebalance."""
    for member in members.members:
        if member.owes_sync:
            remove(members, member)
    prepare(group, members, pending, host, effects, notes)


def _session_is_over(
    group: GroupRecord,
    members: GroupMembers,
    member: Member,
    pending: PendingRequest,
    host: GroupHost,
    effects: GroupEffects,
    notes: Notes,
) -> None:
    """A member was silent for too long; who waits was not, but for one that never saw the end of a rebalance."""
    was_in = is_in(member)
    if was_in and not member.is_new and (member.awaits_join or member.awaits_sync):
        return
    remove(members, member)
    is_open = group.state == ClassicGroupState.PREPARING_REBALANCE
    if is_open and all_have_joined(members):
        complete(group, members, pending, host, effects, notes)
    elif was_in and not is_open:
        prepare(group, members, pending, host, effects, notes)


# ---------------------------------------------------------------- coordinators come and go


def loaded(members: GroupMembers, now_ms: int) -> None:
    """The group was read from the log: the sessions of its members begin."""
    for member in members.members:
        keep_alive(member, now_ms)


def resigned(members: GroupMembers, error: int) -> None:
    """Another broker answers for the group: whoever waits is to ask there."""
    for member in members.members:
        answer_join(member, error)
        answer_sync(member, error)
