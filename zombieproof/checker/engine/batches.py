"""What one thread has while it explores, and a phase that it calls again and again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from zombieproof.checker.engine.places import Candidates, Kept, States, Surroundings
from zombieproof.checker.engine.storage import Block


@dataclass(slots=True)
class Place:
    """Where one thread works: what a step needs, room for parents, candidates, and the tally of its batch."""

    around: Surroundings
    parents: States
    out: Candidates
    tally: Any = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call of one phase, with a block, the slots of the table and what is kept: `call` reads and writes `tally`."""

    block: Block
    slots: Any
    kept: Kept
    tally: Any
    call: Callable[[], int]
