"""The steps of a group of the consumer protocol: ConsumerGroupHeartbeat, and what follows its append.

Theory of operation: every change of members or subscriptions raises the group's epoch; the assignment follows when it
is due, and a member's epoch is that of the assignment that it has. A change is in memory at once, and taken back where
it cannot be made durable (`restores`). A classic group that nobody is in ends with the append that begins this one.
Source: KIP-848; ``GroupMetadataManager.consumerGroupHeartbeat``.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from zombieproof.model.decisions.consumer_group_heartbeat import (
    FIRST_GROUP_EPOCH,
    JOINS,
    LEAVES,
    HeartbeatFacts,
    assignment_is_due,
    decide_heartbeat,
)
from zombieproof.model.vocabulary import Error, MembershipEvent
from zombieproof.statemachines.notes import Decision, Notes, note

__all__ = [
    "FIRST_GROUP_EPOCH",
    "Beat",
    "ConsumerGroupEffects",
    "ConsumerGroupRecord",
    "ConsumerMemberRecord",
    "HeartbeatFacts",
    "HeartbeatHost",
    "appended",
    "heartbeat",
]


class ConsumerGroupRecord(Protocol):
    """The epochs of a group; `assigned_ms` NONE: nothing was assigned since it was created or loaded."""

    generation: int
    assignment_epoch: int
    assigned_ms: int


class ConsumerMemberRecord(Protocol):
    """The epochs of a member: 0 and 0 of one that is new."""

    epoch: int
    previous_epoch: int


class Beat(NamedTuple):
    """What the request says besides its sender: `changes_topics` if the member reads other topics than before.

    `is_full`: it says all that there is to say, as after an answer that was lost, and is told all.
    """

    epoch: int
    changes_topics: bool
    is_full: bool = False


class HeartbeatHost(NamedTuple):
    """What the broker knows: NONE if it coordinates the group, the time, and the least time between assignments."""

    lookup_error: int
    now_ms: int
    interval_ms: int


@dataclass(slots=True)
class ConsumerGroupEffects:
    """What a step wants done, in this order.

    The sender gets an id that nobody had (`gives_id`), it leaves (`leaves`) or it stays and reads what it says
    (`subscribes`), partitions are assigned anew (`assigns`), the group is made durable (`appends`), whose outcome goes
    to `appended`; then, or if nothing is appended, the answer goes out (`replies`) with `error`, or with `epoch`, and
    what the member reads where that may be news (`tells_assignment`).
    `restores`: the group is what it was before.
    """

    gives_id: bool = False
    leaves: bool = False
    subscribes: bool = False
    assigns: bool = False
    appends: bool = False
    restores: bool = False
    replies: bool = False
    error: int = 0
    epoch: int = 0
    tells_assignment: bool = False


def heartbeat(
    group: ConsumerGroupRecord,
    member: ConsumerMemberRecord,
    beat: Beat,
    facts: HeartbeatFacts,
    host: HeartbeatHost,
    effects: ConsumerGroupEffects,
    notes: Notes,
) -> None:
    """ConsumerGroupHeartbeat; `group` and `member` are fresh ones where there are none."""
    if facts.has_group_id and host.lookup_error != Error.NONE:
        _reply(effects, host.lookup_error)
        return
    verdict = decide_heartbeat(facts, beat.epoch)
    note(notes, Decision.CONSUMER_GROUP_HEARTBEAT, verdict.row, verdict.error)
    if verdict.error != Error.NONE:
        _reply(effects, verdict.error)
        return
    effects.gives_id = not facts.has_member_id
    if verdict.event == MembershipEvent.LEAVE:
        effects.leaves = True
        effects.epoch = LEAVES
        group.generation += 1
        effects.appends = True
        return
    if beat.changes_topics or member.epoch == JOINS:
        effects.subscribes = True
        group.generation += 1
    if assignment_is_due(group.generation, group.assignment_epoch, group.assigned_ms, host.now_ms, host.interval_ms):
        effects.assigns = True
        group.assignment_epoch = group.generation
        group.assigned_ms = host.now_ms
    moves = member.epoch != group.assignment_epoch
    if moves:
        member.previous_epoch = member.epoch
        member.epoch = group.assignment_epoch
    effects.epoch = member.epoch
    effects.tells_assignment = bool(moves or beat.is_full)
    if moves or effects.subscribes or effects.assigns:
        effects.appends = True
    else:
        _reply(effects, Error.NONE)


def appended(error: int, effects: ConsumerGroupEffects) -> None:
    """The change is durable (`error` NONE), or was refused."""
    effects.appends = False
    effects.restores = error != Error.NONE
    _reply(effects, error)


def _reply(effects: ConsumerGroupEffects, error: int) -> None:
    effects.replies = True
    effects.error = int(error)
