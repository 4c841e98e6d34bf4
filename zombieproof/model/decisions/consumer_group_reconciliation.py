"""What a member of a consumer group has, on its way to what it shall have, and when it is removed (server actions).

Behaviour: a member gives back first, and says that it has by what it says to own; then it is in the epoch of the
assignment. It gets what is free, and waits for what others still have. Who is silent for
``group.consumer.session.timeout.ms`` is removed, and so is who does not give back within its rebalance time-out.
Source: KIP-848; ``CurrentAssignmentBuilder.java``, ``GroupMetadataManager.java``.
"""

from typing import NamedTuple

from zombieproof.model.decisions.verdicts import append_accepted
from zombieproof.model.records import AppendVerdict
from zombieproof.model.vocabulary import NOTHING, ConsumerMemberEvent, ConsumerMemberState, MembershipEvent, Row

PATTERN_PAUSE_MS = 10_000
"""The least time between two readings of a group's regular expressions."""


class Reconciliation(NamedTuple):
    """How what a member has stands to what it shall have of the topics that it reads.

    `keeps_revoked`: it has not said that it gave back what it was to; `loses`: it has something that it shall not have
    (any more), and has not said that it has not (`keeps_lost`); `awaits`: something is still another member's.
    """

    keeps_revoked: bool = False
    loses: bool = False
    keeps_lost: bool = False
    awaits: bool = False


def decide_reconciliation(state: int, epoch: int, target_epoch: int, facts: Reconciliation) -> int:
    """The event of the member's machine; NOTHING: it stays as it is."""
    if state == ConsumerMemberState.UNREVOKED_PARTITIONS and facts.keeps_revoked:
        return int(ConsumerMemberEvent.NOTHING)
    if state == ConsumerMemberState.STABLE and epoch == target_epoch and not facts.loses:
        return int(ConsumerMemberEvent.NOTHING)
    if facts.loses and facts.keeps_lost:
        return int(ConsumerMemberEvent.REVOKE)
    if facts.awaits:
        return int(ConsumerMemberEvent.AWAIT)
    return int(ConsumerMemberEvent.SETTLE)


def epoch_after(epoch: int, target_epoch: int, event: int) -> int:
    """The member's epoch: as long as it has to give something back it stays in the one that it has."""
    return int(epoch) if event == ConsumerMemberEvent.REVOKE else int(target_epoch)


def decide_time(session_until_ms: int, revoke_until_ms: int, now_ms: int) -> AppendVerdict:
    """LEAVE, if a time is over; -1: it never is."""
    if 0 <= session_until_ms <= now_ms:
        return append_accepted(Row.SESSION_TIMEOUT, MembershipEvent.LEAVE)
    if 0 <= revoke_until_ms <= now_ms:
        return append_accepted(Row.REBALANCE_TIMEOUT, MembershipEvent.LEAVE)
    return append_accepted(Row.NO_ROW, NOTHING)


def patterns_are_due(unread: bool, read_ms: int, now_ms: int, interval_ms: int, topics_changed: bool) -> bool:
    """Whether the regular expressions of a group are to be read; `read_ms` -1: they never were."""
    if read_ms >= 0 and now_ms - read_ms <= PATTERN_PAUSE_MS:
        return False
    return unread or topics_changed or (read_ms >= 0 and now_ms - read_ms >= interval_ms)
