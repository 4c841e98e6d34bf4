"""ConsumerGroupHeartbeat (API key 68, versions 0 and 1): join, stay in and leave a group of the consumer protocol.

Behaviour: the group's epoch rises with every change of its members and subscriptions; the target assignment follows,
but not more often than ``group.consumer.assignment.interval.ms`` says (KIP-1263). A group begins with epoch 1
(KAFKA-20268), so the first member that reads something finds itself in epoch 2. A static member (KIP-345) that leaves
for a while has epoch -2, and whoever comes with its instance takes its place. One that joins again while it is in is
taken for itself.
Versions: 1 brings subscriptions by a regular expression, and the member makes up its id.
Source: KIP-848; ``GroupCoordinatorService``, ``GroupMetadataManager.consumerGroupHeartbeat``; recordings ``d-O8-*`` and
``n-consumer-*``.
"""

from typing import NamedTuple

from zombieproof.model.decisions.verdicts import append_accepted, append_refused
from zombieproof.model.records import AppendVerdict
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NOTHING, Error, MembershipEvent, Row

JOINS = 0
"""The member epoch with which a member joins."""
LEAVES = -1
"""The member epoch with which a member leaves."""
LEAVES_PLACE = -2
"""The member epoch with which a static member goes and leaves its place to whoever comes with its instance."""
FIRST_GROUP_EPOCH = 1
FIRST_VERSION_WITH_MEMBERS_OWN_IDS = 1


class HeartbeatShape(NamedTuple):
    """What a heartbeat says, before anything is looked up.

    `subscribes`: it names topics or a regular expression, were it none; `begins`: it has a rebalance time-out, and says
    that the member has no partitions.
    """

    version: int
    epoch: int
    has_group_id: bool
    has_member_id: bool
    has_instance: bool
    instance_is_empty: bool
    subscribes: bool
    begins: bool
    assignor_is_known: bool


class HeartbeatFacts(NamedTuple):
    """What the group knows of the sender; `group_is_there`: a group of this protocol is, or may be made of what is.

    `owns_subset`: it says what it has, and that is a part of what it was given. `instance_epoch`: that of the member
    that has the instance.
    """

    group_is_there: bool = True
    group_is_of_other_protocol: bool = False
    members: int = 0
    most_members: int = 1
    member_is_known: bool = False
    member_epoch: int = 0
    previous_epoch: int = 0
    owns_subset: bool = True
    has_instance: bool = False
    instance_is_known: bool = False
    instance_is_this_member: bool = False
    instance_epoch: int = 0
    pattern_is_valid: bool = True


def decide_shape(said: HeartbeatShape) -> AppendVerdict:
    """Judge a heartbeat by itself; NO_ROW: there is nothing wrong with it."""
    epoch = said.epoch
    needs_id = epoch > JOINS or epoch == LEAVES or said.version >= FIRST_VERSION_WITH_MEMBERS_OWN_IDS
    nameless = not said.has_group_id or said.instance_is_empty or (needs_id and not said.has_member_id)
    half_a_join = epoch == JOINS and not (said.subscribes and said.begins)
    placeless = epoch == LEAVES_PLACE and not (said.has_instance and said.has_member_id)
    if nameless or half_a_join or placeless or epoch < LEAVES_PLACE:
        return append_refused(Error.INVALID_REQUEST, Row.NO_GROUP_ID)
    if not said.assignor_is_known:
        return append_refused(Error.UNSUPPORTED_ASSIGNOR, Row.UNKNOWN_ASSIGNOR)
    return append_accepted(Row.NO_ROW, NOTHING)


def decide_heartbeat(facts: HeartbeatFacts, epoch: int, rules: Rules) -> AppendVerdict:
    """What a heartbeat does, or the error; since 4.4 who comes with the instance of a member needs no free place."""
    if facts.group_is_of_other_protocol or (not facts.group_is_there and epoch != JOINS):
        return append_refused(Error.GROUP_ID_NOT_FOUND, Row.NOT_KNOWN)
    keeps_place = rules.full_group_keeps_static_place == 1 and facts.has_instance and facts.instance_is_known
    has_place = facts.member_is_known or keeps_place
    if epoch >= JOINS and facts.members >= facts.most_members and not has_place:
        return append_refused(Error.GROUP_MAX_SIZE_REACHED, Row.GROUP_FULL)
    verdict = decide_static_member(facts, epoch) if facts.has_instance else decide_dynamic_member(facts, epoch)
    if verdict.error == Error.NONE and not facts.pattern_is_valid:
        return append_refused(Error.INVALID_REGULAR_EXPRESSION, Row.BAD_PATTERN)
    return verdict


def decide_dynamic_member(facts: HeartbeatFacts, epoch: int) -> AppendVerdict:
    """Of a sender without instance."""
    if not facts.member_is_known:
        if epoch != JOINS:
            return append_refused(Error.UNKNOWN_MEMBER_ID, Row.UNKNOWN_MEMBER)
        return append_accepted(Row.MEMBER_JOINS, MembershipEvent.JOIN)
    if epoch == LEAVES:
        return append_accepted(Row.MEMBER_LEAVES, MembershipEvent.LEAVE)
    return decide_epoch(facts, epoch)


def decide_static_member(facts: HeartbeatFacts, epoch: int) -> AppendVerdict:
    """Of a sender with an instance: nobody else may have it, unless that one has left its place."""
    if not facts.instance_is_known:
        if epoch != JOINS:
            return append_refused(Error.UNKNOWN_MEMBER_ID, Row.UNKNOWN_MEMBER)
        return decide_dynamic_member(facts, epoch)
    if epoch == JOINS:
        if facts.instance_epoch != LEAVES_PLACE:
            return append_refused(Error.UNRELEASED_INSTANCE_ID, Row.UNRELEASED_INSTANCE)
        return append_accepted(Row.MEMBER_JOINS, MembershipEvent.REPLACE)
    if not facts.instance_is_this_member:
        return append_refused(Error.FENCED_INSTANCE_ID, Row.FENCED_INSTANCE)
    if epoch == LEAVES_PLACE:
        return append_accepted(Row.MEMBER_LEAVES, MembershipEvent.LEAVE_PLACE)
    return decide_dynamic_member(facts, epoch)


def decide_epoch(facts: HeartbeatFacts, epoch: int) -> AppendVerdict:
    """Of a member: it may lag behind by the one epoch whose answer it may have lost, or begin anew."""
    lags = epoch == facts.previous_epoch and facts.owns_subset
    is_older = epoch < facts.member_epoch and (epoch == JOINS or lags)
    if epoch != facts.member_epoch and not is_older:
        return append_refused(Error.FENCED_MEMBER_EPOCH, Row.OTHER_EPOCH)
    return append_accepted(Row.MEMBER_IS_IN, MembershipEvent.STAY)


def assignment_is_due(group_epoch: int, assignment_epoch: int, assigned_ms: int, now_ms: int, interval_ms: int) -> bool:
    """Whether the assignment is to follow the group's epoch now; `assigned_ms` -1: nothing was ever assigned."""
    behind = group_epoch > assignment_epoch
    return behind and (assigned_ms < 0 or now_ms - assigned_ms >= interval_ms)


def forgets_assignment(members: int, rules: Rules) -> bool:
    """Whether the assignment time of a group is forgotten when one of its members is removed: it was the last one."""
    return members == 1 and rules.emptied_group_assigns_at_once == 1


def interval_until_next(answered_epoch: int, interval_ms: int) -> int:
    """When a member is to beat again: never, if it has left (its epoch is negative)."""
    return int(interval_ms if answered_epoch >= 0 else 0)
