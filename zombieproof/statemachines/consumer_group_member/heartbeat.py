"""The steps of a group of the consumer protocol: ConsumerGroupHeartbeat, up to what follows for the member.

Theory of operation: every change of members or subscriptions raises the group's epoch; the assignment follows when it
is due, and the member is led to it by ``reconciling``. A change is in memory at once, and taken back where it cannot be
made durable (`restores`). A classic group that nobody is in ends with the append that begins this one.
Source: KIP-848; ``GroupMetadataManager.consumerGroupHeartbeat``.
"""

from zombieproof.model.decisions.consumer_group_heartbeat import (
    FIRST_GROUP_EPOCH,
    JOINS,
    LEAVES_PLACE,
    HeartbeatFacts,
    HeartbeatShape,
    assignment_is_due,
    decide_heartbeat,
    decide_shape,
    interval_until_next,
)
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, Error, MembershipEvent
from zombieproof.statemachines.consumer_group_member.effects import (
    Beat,
    ConsumerGroupEffects,
    ConsumerGroupRecord,
    ConsumerMemberRecord,
    HeartbeatHost,
    appended,
    member_is_removed,
    reply,
)
from zombieproof.statemachines.notes import Decision, Notes, note

__all__ = [
    "FIRST_GROUP_EPOCH",
    "Beat",
    "ConsumerGroupEffects",
    "ConsumerGroupRecord",
    "ConsumerMemberRecord",
    "HeartbeatFacts",
    "HeartbeatHost",
    "HeartbeatShape",
    "appended",
    "arrives",
    "heartbeat",
]


def arrives(said: HeartbeatShape, lookup_error: int, effects: ConsumerGroupEffects, notes: Notes) -> None:
    """A heartbeat comes to a broker: it replies at once where the request or the place is wrong."""
    verdict = decide_shape(said)
    if verdict.error != Error.NONE:
        note(notes, Decision.CONSUMER_GROUP_HEARTBEAT, verdict.row, verdict.error)
        reply(effects, verdict.error)
    elif lookup_error != Error.NONE:
        reply(effects, lookup_error)


def heartbeat(
    group: ConsumerGroupRecord,
    member: ConsumerMemberRecord,
    beat: Beat,
    facts: HeartbeatFacts,
    host: HeartbeatHost,
    rules: Rules,
    effects: ConsumerGroupEffects,
    notes: Notes,
) -> None:
    """ConsumerGroupHeartbeat that has arrived; `group` and `member` are fresh ones where there are none.

    `member` is the one that has the sender's place, be it still under another id.
    """
    verdict = decide_heartbeat(facts, beat.epoch, rules)
    note(notes, Decision.CONSUMER_GROUP_HEARTBEAT, verdict.row, verdict.error)
    if verdict.error != Error.NONE:
        reply(effects, verdict.error)
        return
    effects.epoch = beat.epoch
    if verdict.event == MembershipEvent.LEAVE:
        member_is_removed(group, facts.members, rules, effects)
        return
    if verdict.event == MembershipEvent.LEAVE_PLACE:
        effects.leaves_place = True
        member.epoch = LEAVES_PLACE
        member.revoke_until_ms = NONE
        effects.appends = True
        return
    if verdict.event == MembershipEvent.REPLACE:
        effects.replaces = True
        member.epoch = JOINS
        member.previous_epoch = JOINS
    effects.subscribes = verdict.event != MembershipEvent.STAY or beat.has_news
    effects.tells_assignment = beat.epoch == JOINS or beat.is_full
    member.session_until_ms = host.now_ms + host.session_timeout_ms
    if beat.changes_topics or host.topics_changed:
        group.generation += 1
        effects.appends = True
    if assignment_is_due(group.generation, group.assignment_epoch, group.assigned_ms, host.now_ms, host.interval_ms):
        effects.assigns = True
        group.assignment_epoch = group.generation
        group.assigned_ms = host.now_ms
    effects.appends = effects.appends or effects.subscribes or effects.assigns
    effects.compares = True


def beats_again(answered_epoch: int, interval_ms: int) -> int:
    """After which time a member is to beat again that was answered without an error."""
    return interval_until_next(answered_epoch, interval_ms)
