"""Who is in a classic group, who waits for what, and until when: the records of its steps.

Theory of operation: a member that joins waits until all have (`awaits_join`), one that asks for its assignment until
the leader has given it (`awaits_sync`). What a step tells those who wait stands in their records (`join_result`,
`sync_result`), and whoever runs the machine takes it from there. Times are those of the broker's clock, NONE: never.
Source: ``ClassicGroup.java``, ``ClassicGroupMember.java``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from zombieproof.model.vocabulary import NONE, Error

NO_RESULT = -2
"""Those who wait are told nothing in this step."""


class Standing(IntEnum):
    """What somebody is in a group."""

    NOBODY = 0
    PROMISED = 1
    """It has its id, and is to join with it."""
    IN = 2


@dataclass(slots=True)
class Member:
    """One member, or somebody who may become one. `number`: no other in the group has it.

    `former`: the member that is its static instance now; `owes_sync`: it has not asked yet for its assignment in this
    generation; `is_new`: it has not seen the end of a rebalance, so that waiting does not keep it alive.
    """

    number: int = NONE
    former: int = NONE
    is_static: bool = False
    standing: int = 0
    awaits_join: bool = False
    awaits_sync: bool = False
    owes_sync: bool = False
    is_new: bool = False
    session_timeout_ms: int = NONE
    rebalance_timeout_ms: int = NONE
    until_ms: int = NONE
    join_result: int = NO_RESULT
    sync_result: int = NO_RESULT


@dataclass(slots=True)
class GroupMembers:
    """The members of a group in the order in which they came, its leader's number, and what the group waits for.

    `join_until_ms`: when a rebalance ends without those who have not joined; `sync_until_ms`: when those are taken for
    dead who have not asked for their assignment. The first rebalance of an empty group (`is_initial`) ends only by
    time, later if somebody has come meanwhile (`has_grown`): after `delay_ms`, as long as `left_ms` allows.
    """

    members: Sequence[Member] = field(default_factory=list)
    leader: int = NONE
    join_until_ms: int = NONE
    sync_until_ms: int = NONE
    is_initial: bool = False
    has_grown: bool = False
    delay_ms: int = 0
    left_ms: int = 0


def is_in(member: Member) -> bool:
    """Whether it is a member."""
    return member.standing == Standing.IN


def size(group: GroupMembers) -> int:
    """How many members there are."""
    found = 0
    for member in group.members:
        found += 1 if is_in(member) else 0
    return found


def awaiting(group: GroupMembers) -> int:
    """How many members have joined, and wait for the others."""
    found = 0
    for member in group.members:
        found += 1 if is_in(member) and member.awaits_join else 0
    return found


def all_have_joined(group: GroupMembers) -> bool:
    """Whether nobody has to be waited for: neither members, nor those who have got an id to join with."""
    for member in group.members:
        if member.standing == Standing.PROMISED or (is_in(member) and not member.awaits_join):
            return False
    return True


def rebalance_timeout(group: GroupMembers) -> int:
    """How long the members may take to join again: as long as the slowest says."""
    longest = 0
    for member in group.members:
        if is_in(member) and member.rebalance_timeout_ms > longest:
            longest = member.rebalance_timeout_ms
    return longest


def keep_alive(member: Member, now_ms: int) -> None:
    """The session of a member begins anew."""
    member.until_ms = NONE if member.session_timeout_ms == NONE else now_ms + member.session_timeout_ms


def answer_join(member: Member, error: int) -> None:
    """The JoinGroup of a member is answered, if it waits."""
    if member.awaits_join:
        member.awaits_join = False
        member.join_result = int(error)


def answer_sync(member: Member, error: int) -> None:
    """The SyncGroup of a member is answered, if it waits."""
    if member.awaits_sync:
        member.awaits_sync = False
        member.sync_result = int(error)


def remove(group: GroupMembers, member: Member) -> None:
    """A member is gone; another one leads if it did. Its SyncGroup, if it waits, is never answered: as in Kafka."""
    answer_join(member, Error.UNKNOWN_MEMBER_ID)
    member.standing = int(Standing.NOBODY)
    member.awaits_sync = False
    member.owes_sync = False
    if group.leader == member.number:
        group.leader = NONE
        for other in group.members:
            if group.leader == NONE and is_in(other):
                group.leader = other.number


def someone_joined_leads(group: GroupMembers) -> bool:
    """Who leads has joined; if the leader has not, the first that has leads from now on. False: nobody has."""
    found = NONE
    for member in group.members:
        if is_in(member) and member.awaits_join and (found == NONE or member.number == group.leader):
            found = member.number
    if found != NONE:
        group.leader = found
    return found != NONE


def forget_syncs(group: GroupMembers) -> None:
    """Nobody is waited for any more to ask for its assignment."""
    for member in group.members:
        member.owes_sync = False
    group.sync_until_ms = NONE


def has_synced(group: GroupMembers, member: Member) -> None:
    """A member has asked for its assignment."""
    member.owes_sync = False
    for other in group.members:
        if other.owes_sync:
            return
    group.sync_until_ms = NONE


def next_deadline(group: GroupMembers) -> int:
    """When something happens by itself; NONE: never."""
    first = group.join_until_ms
    if group.sync_until_ms != NONE and (first == NONE or group.sync_until_ms < first):
        first = group.sync_until_ms
    for member in group.members:
        ends = member.standing != Standing.NOBODY and member.until_ms != NONE
        if ends and (first == NONE or member.until_ms < first):
            first = member.until_ms
    return first
