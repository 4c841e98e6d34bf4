"""What is under way in a batch that several threads share."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, TypeVar

from zombieproof.checker.engine.places import States, Surroundings
from zombieproof.checker.engine.storage import Buffer

_T = TypeVar("_T")


@dataclass(slots=True)
class Filled:
    """A buffer on its way through the phases, with its counters, and the units that its parents were unpacked from."""

    buffer: Buffer
    tally: Any
    units: tuple[int, int]


@dataclass(slots=True)
class Place:
    """Where one thread expands: what a step needs, and room for parents."""

    around: Surroundings
    parents: States


@dataclass(slots=True)
class Share:
    """What one thread deduplicates: its regions, in all buffers of a batch; `buffer` is where it is."""

    owner: int
    tally: Any
    buffer: int = 0
    fresh: list[int] = field(default_factory=list)


def taken(pool: deque[_T]) -> _T | None:
    """Take one of what threads share, if there is one: between a look and a grasp another may take the last."""
    try:
        return pool.pop()
    except IndexError:
        return None
