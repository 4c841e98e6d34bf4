"""ConsumerGroupHeartbeat (API key 68, version 0): join, stay in and leave a group of the consumer protocol (KIP-848).

Behaviour: the group's epoch rises with every change of its members and subscriptions; the target assignment follows,
but not more often than ``group.consumer.assignment.interval.ms`` says (KIP-1263); a member's epoch is that of the
assignment that it has. A group begins with epoch 1 (KAFKA-20268), so the first member finds itself in epoch 2.
Source: KIP-848; ``GroupMetadataManager.consumerGroupHeartbeat``; recordings ``d-O8-*``.
"""

from typing import NamedTuple

from zombieproof.model.decisions.verdicts import append_accepted, append_refused
from zombieproof.model.records import AppendVerdict
from zombieproof.model.vocabulary import Error, MembershipEvent, Row

JOINS = 0
"""The member epoch with which a member joins."""
LEAVES = -1
"""The member epoch with which a member leaves."""
FIRST_GROUP_EPOCH = 1


class HeartbeatFacts(NamedTuple):
    """What the group knows of the sender; `group_is_there`: a group of this protocol is, or may be made of what is."""

    has_group_id: bool
    has_member_id: bool
    names_topics: bool
    group_is_there: bool
    group_is_of_other_protocol: bool
    member_is_known: bool
    member_epoch: int
    previous_epoch: int


def decide_heartbeat(facts: HeartbeatFacts, epoch: int) -> AppendVerdict:
    """JOIN, STAY or LEAVE, or the error. A member may lag behind by the one epoch whose answer it may have lost."""
    needs_member_id = epoch > JOINS or epoch == LEAVES
    malformed = epoch < LEAVES or (epoch == JOINS and not facts.names_topics)
    if not facts.has_group_id or malformed or (needs_member_id and not facts.has_member_id):
        return append_refused(Error.INVALID_REQUEST, Row.NO_GROUP_ID)
    if facts.group_is_of_other_protocol or (not facts.group_is_there and epoch != JOINS):
        return append_refused(Error.GROUP_ID_NOT_FOUND, Row.NOT_KNOWN)
    if not facts.member_is_known:
        if epoch != JOINS:
            return append_refused(Error.UNKNOWN_MEMBER_ID, Row.UNKNOWN_MEMBER)
        return append_accepted(Row.MEMBER_JOINS, MembershipEvent.JOIN)
    if epoch == LEAVES:
        return append_accepted(Row.MEMBER_LEAVES, MembershipEvent.LEAVE)
    if epoch not in (facts.member_epoch, facts.previous_epoch):
        return append_refused(Error.FENCED_MEMBER_EPOCH, Row.OTHER_EPOCH)
    return append_accepted(Row.MEMBER_IS_IN, MembershipEvent.STAY)


def assignment_is_due(group_epoch: int, assignment_epoch: int, assigned_ms: int, now_ms: int, interval_ms: int) -> bool:
    """Whether the assignment is to follow the group's epoch now; `assigned_ms` -1: nothing was ever assigned."""
    behind = group_epoch > assignment_epoch
    return behind and (assigned_ms < 0 or now_ms - assigned_ms >= interval_ms)
