"""What can become of a request, and what can be done to the cluster beside it."""

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from zombieproof.model.vocabulary import Error
from zombieproof.wire.plan.selection import Milliseconds, Part, Place, Positive, Requests, Until, one_of

ErrorName = Annotated[
    str,
    AfterValidator(one_of("error of the protocol", Error.__members__)),
    Field(json_schema_extra={"enum": list(Error.__members__)}),
]


class Effect(StrEnum):
    """Before the request has its effect, or after."""

    BEFORE = "before"
    AFTER = "after"


class Moment(StrEnum):
    """When a broker crashes.

    Before and after the append the process dies: what is in the log is there when it comes back. Before the fsync the
    machine does: what was appended is lost at this broker. After the fsync all is durable, and nobody was told.
    """

    BEFORE_APPEND = "before append"
    AFTER_APPEND = "after append"
    BEFORE_FSYNC = "before fsync"
    AFTER_FSYNC = "after fsync"


def short(field: str, kinds: type | tuple[type, ...], legal: Any) -> Any:
    """What is a bare value in a file stands for a part that says only this; `legal` is the type of both."""
    return BeforeValidator(
        lambda found: {field: found} if isinstance(found, kinds) else found, json_schema_input_type=legal
    )


class InjectError(Part):
    """The answer is this error, in every row of it; `effect` after: the request has its effect all the same."""

    error: ErrorName
    effect: Effect = Effect.BEFORE


class DisconnectOn(Part):
    """The connection ends instead of an answer."""

    effect: Effect


class DelayOn(Part):
    """The request waits, or (`holds` answer) its answer does; `disconnects`: its client sees the connection end."""

    until: Until
    holds: Literal["request", "answer"] = "request"
    disconnects: bool = False


class Blackhole(Part):
    """Nobody is ever answered."""

    effect: Effect = Effect.BEFORE


class Duplicate(Part):
    """The request comes twice; nobody waits for the answer to the copy, which comes at once, or late."""

    until: Until | None = None


class Reorder(Part):
    """The request comes right behind another one, which overtakes it; where none is said the next that it would fit."""

    behind: Requests | None = None


class CrashBroker(Part):
    """The broker that the request came to crashes, or another one, before; it comes back at once, later, or never."""

    moment: Moment
    node: Positive | None = None
    back: Annotated[int, Field(ge=0)] | Literal["never"] = Field(default=0, description="after so many milliseconds")


class ExpireTransaction(Part):
    """The time-out of an open transaction is over: time is put forward so far, and the coordinator looks."""

    transactional_id: Annotated[str, Field(min_length=1)] | None = None
    effect: Effect = Effect.BEFORE


class MoveCoordinator(Part):
    """The coordinator of a transactional id, or of a group, is another broker; by default that of the request."""

    transactional_id: Annotated[str, Field(min_length=1)] | None = None
    group: Annotated[str, Field(min_length=1)] | None = None
    to: Positive | None = None
    effect: Effect = Effect.BEFORE


class MoveLeader(Part):
    """Another broker leads a partition; by default the first that the request names."""

    partition: Place | None = None
    to: Positive | None = None
    effect: Effect = Effect.BEFORE


class SkipTime(Part):
    """Time is put forward."""

    ms: Milliseconds
    effect: Effect = Effect.BEFORE


Kind = (
    InjectError
    | DisconnectOn
    | DelayOn
    | Blackhole
    | Duplicate
    | Reorder
    | CrashBroker
    | ExpireTransaction
    | MoveCoordinator
    | MoveLeader
    | SkipTime
)
Command = ExpireTransaction | MoveCoordinator | MoveLeader | SkipTime
"""What is done to the cluster; the request goes its way. All others decide what becomes of the request."""

KINDS = (
    "inject_error",
    "disconnect_on",
    "delay_on",
    "blackhole",
    "duplicate",
    "reorder",
    "crash_broker",
    "expire_transaction",
    "move_coordinator",
    "move_leader",
    "skip_time",
)
