"""What a step about the members of a group wants done, and what it remembers until an append has its outcome."""

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, Protocol

from zombieproof.model.decisions.group_members import ClassicFacts, Identity
from zombieproof.model.vocabulary import NONE, Error

__all__ = [
    "GroupAppend",
    "GroupEffects",
    "GroupHost",
    "GroupRecord",
    "Identity",
    "LeaderShown",
    "MemberRequest",
    "Operation",
    "PendingRequest",
    "Wait",
    "is_elsewhere",
    "reply",
]


class Wait(IntEnum):
    """What a request waits for."""

    NOTHING = 0
    JOIN = 1
    """That all members have joined."""
    SYNC = 2
    """The leader's assignment."""


class GroupAppend(IntEnum):
    """What is to be made durable of a group."""

    NOTHING = 0
    NEW_GROUP = 1
    """An empty classic group; one of the other protocol ends with the same append."""
    GROUP = 2
    """The group as it is after the change."""
    TOMBSTONES = 3
    """Those of the offsets named, and of the group if it `ends`."""


class LeaderShown(IntEnum):
    """Who leads, as an answer to JoinGroup says it."""

    PRESENT = 0
    FORMER = 1
    """Who led before the request."""


class Operation(IntEnum):
    """What goes on with the outcome of an append."""

    NOTHING = 0
    JOIN = 1
    REPLACE = 2
    SYNC = 3
    EMPTY = 4
    """Whoever has made the group empty, by a request or by silence."""
    DELETE = 5


@dataclass(slots=True)
class PendingRequest:
    """A request that waits for its append, or what happens without one by a timer.

    `error` is what it is answered with if that is durable (of LeaveGroup that of the whole request), `event` the event
    of the group, `replaces` if the sender takes the place of its static instance, which `led` or did not, `ends` if
    the group goes, `left` how many have left so far; the rest is what the request has said.
    """

    operation: int = 0
    event: int = 0
    error: int = 0
    replaces: bool = False
    led: bool = False
    ends: bool = False
    left: int = 0
    version: int = 0
    generation: int = NONE
    is_static: bool = False
    session_timeout_ms: int = NONE
    rebalance_timeout_ms: int = NONE


@dataclass(slots=True)
class GroupEffects:
    """What a step wants done, in this order; what it tells those who wait is in their records (`members.Member`).

    The sender gets an id that nobody had (`gives_id`), its request `waits` until its record is told, those who are told
    are answered, `append` is made durable, whose outcome goes to `appended`; then, or if nothing is appended, the
    answer goes out (`replies`) with `error`; without one with `generation`, and the `leader`.
    """

    gives_id: bool = False
    waits: int = 0
    append: int = 0
    ends: bool = False
    replies: bool = False
    error: int = 0
    generation: int = NONE
    leader: int = int(LeaderShown.PRESENT)


class GroupRecord(ClassicFacts, Protocol):
    """A group of any protocol, or none, in memory; only a classic one moves."""

    state: int
    generation: int


class MemberRequest(NamedTuple):
    """What a request says, and what its receiver knows of it: `lookup_error` NONE: it coordinates the group.

    `names_protocol`: a SyncGroup says what it takes the protocol to be, its type and its name.
    """

    version: int
    has_group_id: bool
    lookup_error: int
    sender: Identity = Identity()
    generation: int = NONE
    session_timeout_ms: int = NONE
    rebalance_timeout_ms: int = NONE
    names_protocol: bool = False


class GroupHost(NamedTuple):
    """The time, and the settings of a broker for groups of the classic protocol: milliseconds, and members."""

    now_ms: int
    initial_delay_ms: int
    least_session_ms: int
    most_session_ms: int
    most_members: int = 2_147_483_647


def reply(effects: GroupEffects, error: int) -> None:
    """The request is answered with an error, or NONE."""
    effects.replies = True
    effects.error = int(error)


def is_elsewhere(request: MemberRequest) -> bool:
    """Whether another broker, or nobody yet, answers for the group."""
    return request.has_group_id and request.lookup_error != Error.NONE
