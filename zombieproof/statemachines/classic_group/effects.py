"""What a step about the members of a group wants done, and what it remembers until an append has its outcome."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from zombieproof.model.decisions.group_members import ClassicFacts, Identity
from zombieproof.model.vocabulary import NONE

__all__ = [
    "GroupAppend",
    "GroupEffects",
    "GroupRecord",
    "Identity",
    "MemberChange",
    "Operation",
    "PendingRequest",
    "reply",
]


class MemberChange(IntEnum):
    """What happens to who sent the request, in the memory of the group."""

    NOTHING = 0
    PROMISED = 1
    """It has its id, and is to join with it."""
    JOINS = 2
    """It is a member; if a static instance was another one, it is that one's place that it takes."""
    REPLACES = 3
    """It takes the place of its static instance, and remembers whose that was."""
    GIVES_BACK = 4
    """The place that it took is given back."""
    RENOUNCES = 5
    """Its id is forgotten: it had not joined with it."""
    LEAVES = 6


class GroupAppend(IntEnum):
    """What is to be made durable of a group."""

    NOTHING = 0
    NEW_GROUP = 1
    """An empty classic group; one of the other protocol ends with the same append."""
    GROUP = 2
    """The group as it is after the change."""
    TOMBSTONES = 3
    """Those of the offsets named, and of the group if it `ends`."""


class Operation(IntEnum):
    """Which request goes on with the outcome of an append."""

    NOTHING = 0
    JOIN = 1
    REPLACE = 2
    SYNC = 3
    LEAVE = 4
    DELETE = 5


@dataclass(slots=True)
class PendingRequest:
    """A request that waits for its append.

    `error` is what it is answered with if that is durable (of LeaveGroup that of the whole request), `event` the event
    of the group, `replaces` 1 if the sender takes the place of its static instance, `ends` 1 if the group goes, `left`
    how many have left so far.
    """

    operation: int = 0
    event: int = 0
    error: int = 0
    replaces: int = 0
    ends: int = 0
    left: int = 0


@dataclass(slots=True)
class GroupEffects:
    """What a step wants done, in this order.

    The sender gets an id that nobody had (`gives_id`), the member changes (`member`), the first that is in leads if the
    leader is not (`elects`), `append` is made durable, whose outcome goes to `appended`; then, or if nothing is
    appended, the answer goes out (`replies`) with `error`; without one with `generation`, and the leader: `leads` 1 the
    present one, 2 the one before the member changed.
    """

    gives_id: int = 0
    member: int = 0
    elects: int = 0
    append: int = 0
    ends: int = 0
    replies: int = 0
    error: int = 0
    generation: int = NONE
    leads: int = 0


class GroupRecord(ClassicFacts, Protocol):
    """A group of any protocol, or none, in memory; only a classic one moves."""

    state: int
    generation: int


def reply(effects: GroupEffects, error: int) -> None:
    """The request is answered with an error, or NONE."""
    effects.replies = 1
    effects.error = int(error)
