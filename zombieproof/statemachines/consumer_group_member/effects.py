"""What the steps of a consumer group are told, and what they want done: records, inputs, effects."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from zombieproof.model.decisions.consumer_group_heartbeat import forgets_assignment
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, Error


class ConsumerGroupRecord(Protocol):
    """The epochs of a group; `assigned_ms` NONE: nothing was assigned since it was created or loaded.

    `patterns_read_ms`: when its regular expressions were read last; NONE: never, or before it was loaded.
    """

    generation: int
    assignment_epoch: int
    assigned_ms: int
    patterns_read_ms: int


class ConsumerMemberRecord(Protocol):
    """The epochs of a member (0 and 0 of one that is new), its `ConsumerMemberState`, and its times (NONE: never)."""

    epoch: int
    previous_epoch: int
    state: int
    rebalance_timeout_ms: int
    session_until_ms: int
    revoke_until_ms: int


class Beat(NamedTuple):
    """What the request says besides its sender: `changes_topics` if the member reads other topics than before.

    `has_news`: it says anything of itself that it did not say before. `is_full`: it says all that there is to say, as
    after an answer that was lost, and is told all.
    """

    epoch: int
    changes_topics: bool
    is_full: bool = False
    has_news: bool = False


class HeartbeatHost(NamedTuple):
    """What the broker knows: NONE if it coordinates the group, the time, and its settings.

    `interval_ms`: the least time between assignments. `topics_changed`: of what the group reads there are other
    partitions than when it was looked at last.
    """

    lookup_error: int
    now_ms: int
    interval_ms: int
    session_timeout_ms: int = 45_000
    topics_changed: bool = False


@dataclass(slots=True)
class ConsumerGroupEffects:
    """What a step wants done, in this order.

    The sender gets an id that nobody had (`gives_id`); it leaves (`leaves`), or goes and what it was to give back is
    free (`leaves_place`), or takes the place of the member that had its instance (`replaces`); it is in and reads what
    it says (`subscribes`); partitions are assigned anew (`assigns`); what it has is compared with what it shall have
    (`compares`), and the outcome goes to `reconciling.reconcile`. From there: it keeps of what it has what it shall
    have, and is to give the rest back (`revokes`) or has done so; and it gets what is free (`gives`).

    Then the group is made durable (`appends`), whose outcome goes to `appended`; then, or if nothing is appended, the
    answer goes out (`replies`) with `error`, or with `epoch`, and what the member has where that may be news
    (`tells_assignment`; with `tells_change` only if it is other than before). `restores`: the group is what it was.
    `reads_patterns`: its regular expressions are to be read, some time soon.
    """

    gives_id: bool = False
    leaves: bool = False
    leaves_place: bool = False
    replaces: bool = False
    subscribes: bool = False
    assigns: bool = False
    compares: bool = False
    revokes: bool = False
    gives: bool = False
    appends: bool = False
    restores: bool = False
    reads_patterns: bool = False
    replies: bool = False
    error: int = 0
    epoch: int = 0
    tells_assignment: bool = False
    tells_change: bool = False


def reply(effects: ConsumerGroupEffects, error: int) -> None:
    """The request is answered."""
    effects.replies = True
    effects.error = int(error)


def member_is_removed(group: ConsumerGroupRecord, members: int, rules: Rules, effects: ConsumerGroupEffects) -> None:
    """One of so many members leaves, or is removed."""
    group.generation += 1
    if forgets_assignment(members, rules):
        group.assignment_epoch = group.generation
        group.assigned_ms = NONE
    effects.leaves = True
    effects.appends = True


def appended(error: int, effects: ConsumerGroupEffects) -> None:
    """The change is durable (`error` NONE), or was refused."""
    effects.appends = False
    effects.restores = error != Error.NONE
    reply(effects, error)
