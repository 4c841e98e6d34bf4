"""The steps of a member of a consumer group on its way to what it shall have, and its times.

Theory of operation: with each heartbeat what the member has is compared with its target, by names that only the host
knows (`Reconciliation`); the step says what follows. A member that is to give something back stays in its epoch until
it does not say any more that it has it, or is removed when its rebalance time-out is over. Who is silent for too long
is removed as well; what it had is free at once.
Source: KIP-848; ``CurrentAssignmentBuilder.java``, ``GroupMetadataManager.java``.
"""

from collections.abc import Sequence

from zombieproof.model.decisions.consumer_group_reconciliation import (
    Reconciliation,
    decide_reconciliation,
    decide_time,
    epoch_after,
    patterns_are_due,
)
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, NOTHING, ConsumerMemberEvent, ConsumerMemberState
from zombieproof.statemachines.consumer_group_member.effects import (
    ConsumerGroupEffects,
    ConsumerGroupRecord,
    ConsumerMemberRecord,
    HeartbeatHost,
    member_is_removed,
    reply,
)
from zombieproof.statemachines.notes import Decision, MachineIndex, Notes, move, note

__all__ = ["Reconciliation", "loaded", "look_at_patterns", "next_deadline", "patterns_read", "reconcile", "time_passes"]


def reconcile(
    group: ConsumerGroupRecord,
    member: ConsumerMemberRecord,
    facts: Reconciliation,
    host: HeartbeatHost,
    effects: ConsumerGroupEffects,
    notes: Notes,
) -> None:
    """The member takes the next step to what it shall have, and its heartbeat is answered, or made durable first."""
    event = decide_reconciliation(member.state, member.epoch, group.assignment_epoch, facts)
    if event != NOTHING:
        epoch = epoch_after(member.epoch, group.assignment_epoch, event)
        member.previous_epoch = member.epoch
        member.epoch = epoch
        member.state = move(notes, MachineIndex.CONSUMER_GROUP_MEMBER, member.state, event)
        effects.revokes = event == ConsumerMemberEvent.REVOKE
        effects.gives = not effects.revokes
        effects.tells_change = True
        effects.appends = True
        member.revoke_until_ms = NONE
        if effects.revokes and member.rebalance_timeout_ms != NONE:
            member.revoke_until_ms = host.now_ms + member.rebalance_timeout_ms
    effects.epoch = member.epoch
    if not effects.appends:
        reply(effects, 0)


def loaded(member: ConsumerMemberRecord, now_ms: int, session_timeout_ms: int) -> None:
    """The member was read from the log: its times begin anew."""
    member.session_until_ms = now_ms + session_timeout_ms
    member.revoke_until_ms = NONE
    if member.state == ConsumerMemberState.UNREVOKED_PARTITIONS and member.rebalance_timeout_ms != NONE:
        member.revoke_until_ms = now_ms + member.rebalance_timeout_ms


def next_deadline(members: Sequence[ConsumerMemberRecord]) -> int:
    """When the first time of a member is over; NONE: there is no such time."""
    first = NONE
    for member in members:
        if member.session_until_ms != NONE and (first == NONE or member.session_until_ms < first):
            first = member.session_until_ms
        if member.revoke_until_ms != NONE and (first == NONE or member.revoke_until_ms < first):
            first = member.revoke_until_ms
    return first


def time_passes(
    group: ConsumerGroupRecord,
    member: ConsumerMemberRecord,
    members: int,
    now_ms: int,
    rules: Rules,
    effects: ConsumerGroupEffects,
    notes: Notes,
) -> None:
    """A member, of so many, is looked at: it leaves, if its time is over."""
    verdict = decide_time(member.session_until_ms, member.revoke_until_ms, now_ms)
    if verdict.event == NOTHING:
        return
    note(notes, Decision.CONSUMER_GROUP_HEARTBEAT, verdict.row, verdict.error)
    member_is_removed(group, members, rules, effects)


def look_at_patterns(
    group: ConsumerGroupRecord,
    unread: bool,
    topics_changed: bool,
    now_ms: int,
    interval_ms: int,
    effects: ConsumerGroupEffects,
) -> None:
    """Whether the regular expressions of the group are to be read: some were not yet, or other topics are there."""
    effects.reads_patterns = patterns_are_due(unread, group.patterns_read_ms, now_ms, interval_ms, topics_changed)


def patterns_read(
    group: ConsumerGroupRecord, changes: bool, changes_topics: bool, now_ms: int, effects: ConsumerGroupEffects
) -> None:
    """The regular expressions were read: `changes` if any means other topics than before, to the group or at all."""
    group.patterns_read_ms = now_ms
    if changes_topics:
        group.generation += 1
    effects.appends = changes or changes_topics
