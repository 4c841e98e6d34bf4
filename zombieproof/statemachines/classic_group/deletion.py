"""The steps by which offsets and groups go: OffsetDelete, DeleteGroups, and the sweep of what nobody reads any more.

Theory of operation: for each offset a step says whether its tombstone is to be written; all tombstones of a request, or
of a group in a sweep, are one append, and `ended` handles its outcome. A tombstone also ends what waits
for a marker (the table of the group coordinator). Groups of both protocols end alike; only a classic one has states.
Source: reference §4.2, §4.5; ``GroupCoordinatorShard.java``, ``OffsetMetadataManager.java``.
"""

from typing import NamedTuple

from zombieproof.model.decisions.delete_groups import decide_delete_group
from zombieproof.model.decisions.offset_commit import error_of_offset_place
from zombieproof.model.decisions.offset_delete import decide_offset_delete, decide_offset_expiry, group_may_go
from zombieproof.model.decisions.txn_offset_commit import GroupFacts
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, NOTHING, ClassicGroupEvent, Error
from zombieproof.statemachines.classic_group.effects import (
    GroupAppend,
    GroupEffects,
    GroupRecord,
    MemberRequest,
    Operation,
    PendingRequest,
    is_elsewhere,
    reply,
)
from zombieproof.statemachines.notes import Decision, MachineIndex, Notes, move, note


class KnownOffset(NamedTuple):
    """What is known of one offset; `reads_topic`: a consumer in its group reads its topic, or does not say what.

    `until_ms`: when it expires, where its commit has said it. `is_of_consumers`: so are its members.
    """

    is_committed: bool
    is_pending: bool
    reads_topic: bool
    committed_ms: int = 0
    until_ms: int = NONE
    is_of_consumers: bool = False


def row_enters(exists: bool) -> int:
    """Whether there is the partition whose offset is to go: NONE, or the error of this row alone."""
    return error_of_offset_place(exists, True)


def begin_deleting(request: MemberRequest, effects: GroupEffects) -> None:
    """OffsetDelete arrives; unless it is answered at once, `delete_offset` follows for each, then `all_judged`."""
    if is_elsewhere(request):
        reply(effects, request.lookup_error)


def delete_offset(
    group: GroupRecord, offset: KnownOffset, request: MemberRequest, effects: GroupEffects, notes: Notes
) -> None:
    """One offset: its error, and whether it goes. An error about the group answers the whole request (`replies`)."""
    is_in_use = group.known and not group.is_consumer and not offset.is_of_consumers and not group.empty
    verdict = decide_offset_delete(
        request.has_group_id, group.known, is_in_use, offset.reads_topic, offset.is_committed, offset.is_pending
    )
    note(notes, Decision.OFFSET_DELETE, verdict.row, verdict.error)
    if verdict.error not in (Error.NONE, Error.GROUP_SUBSCRIBED_TO_TOPIC):
        reply(effects, verdict.error)
        return
    effects.error = verdict.error
    if verdict.event != NOTHING:
        effects.append = GroupAppend.TOMBSTONES


def all_judged(pending: PendingRequest, tombstones: int, effects: GroupEffects) -> None:
    """Every offset was judged: what is to go is made durable, else there is nothing to wait for."""
    if tombstones == 0:
        reply(effects, Error.NONE)
        return
    pending.operation = Operation.DELETE
    effects.append = GroupAppend.TOMBSTONES


def delete_group(
    group: GroupRecord,
    transactions: int,
    pending: PendingRequest,
    lookup_error: int,
    rules: Rules,
    effects: GroupEffects,
    notes: Notes,
) -> None:
    """One group of a DeleteGroups, with all its offsets; `transactions`: how many have offsets pending in it."""
    if lookup_error != Error.NONE:
        reply(effects, lookup_error)
        return
    error = refusal_of_deletion(group, transactions, rules, notes)
    if error != Error.NONE:
        reply(effects, error)
    else:
        end_group(pending, effects)


def refusal_of_deletion(group: GroupFacts, transactions: int, rules: Rules, notes: Notes) -> int:
    """Judge the deletion of one group: NONE, or the error why the group stays."""
    verdict = decide_delete_group(group, transactions, rules)
    note(notes, Decision.DELETE_GROUPS, verdict.row, verdict.error)
    return int(verdict.error)


def error_of_deletion(error: int, append_error: int) -> int:
    """What one group is told: those of one partition go with one append, and if it fails all of them are told so."""
    return int(error) if append_error == Error.NONE else int(append_error)


def expire_offset(
    group: GroupRecord, offset: KnownOffset, now_ms: int, retention_ms: int, effects: GroupEffects, notes: Notes
) -> None:
    """One committed offset in a sweep: whether it has expired. A classic group that has members reads everything."""
    reads = offset.reads_topic if group.is_consumer else not group.empty
    verdict = decide_offset_expiry(reads, offset.committed_ms, offset.until_ms, now_ms, retention_ms, offset.is_pending)
    note(notes, Decision.OFFSET_DELETE, verdict.row, verdict.error)
    if verdict.event != NOTHING:
        effects.append = GroupAppend.TOMBSTONES


def end_sweep(
    pending: PendingRequest, members: int, offsets_left: int, transactions: int, tombstones: int, effects: GroupEffects
) -> None:
    """All offsets of a group were looked at: it goes as well if nobody is in it and nothing is left of them."""
    if group_may_go(members, offsets_left, transactions):
        end_group(pending, effects)
    else:
        all_judged(pending, tombstones, effects)


def end_group(pending: PendingRequest, effects: GroupEffects) -> None:
    """The group goes, with the tombstones that were collected."""
    pending.operation = Operation.DELETE
    pending.event = ClassicGroupEvent.DELETE
    pending.ends = True
    effects.ends = True
    effects.append = GroupAppend.TOMBSTONES


def ended(group: GroupRecord, pending: PendingRequest, error: int, effects: GroupEffects, notes: Notes) -> None:
    """The tombstones are durable (`error` NONE), or were refused; a classic group that goes is dead."""
    pending.operation = int(Operation.NOTHING)
    if error == Error.NONE and pending.ends and not group.is_consumer:
        group.state = move(notes, MachineIndex.CLASSIC_GROUP, group.state, pending.event)
    reply(effects, error)
