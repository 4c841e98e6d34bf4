"""What a group coordinator wants done: answers to give now or not yet, and times at which it looks again.

Effects are data; whoever hosts the coordinator carries them out in their order.
"""

from dataclasses import dataclass

from zombieproof.messages.groups import GroupAnswer


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to request `number`, which is true when everything is durable that is written of `groups`."""

    number: int
    groups: tuple[str, ...]
    answer: GroupAnswer


@dataclass(frozen=True, slots=True)
class WaitForOthers:
    """Request `number` is not answered yet; a `Reply` or a `Drop` follows some time."""

    number: int


@dataclass(frozen=True, slots=True)
class Drop:
    """Request `number`, which waited, is never answered."""

    number: int


@dataclass(frozen=True, slots=True)
class WakeAt:
    """`group` looks at its clock at a time."""

    group: str
    at_ms: int


GroupEffect = Reply | WaitForOthers | Drop | WakeAt
