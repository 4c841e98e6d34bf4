"""What one thread has while it explores, and a phase that it calls again and again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from zombieproof.checker.engine.internals.native import laid
from zombieproof.checker.engine.places import Candidates, Kept, Parents, States, Surroundings, Way
from zombieproof.checker.engine.storage import Block


@dataclass(slots=True)
class Place:
    """Where one thread works: what a step needs, room for parents, candidates, and the tally of its batch."""

    around: Surroundings
    parents: States
    out: Candidates
    tally: Any = None
    _laid: tuple[Any, Any, Any] | None = field(default=None, init=False, repr=False)

    def way(self, block: Block, tally: Any) -> Way:
        """It as compiled code takes it, with a block that parents are unpacked from, and counters."""
        if self._laid is None:
            self._laid = laid(self.parents), laid(self.out), laid(self.around)
        parents, out, around = self._laid
        return Way(Parents(parents, block.packed, block.units), out, around, tally)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call of one phase, with a block, the slots of the table and what is kept: `call` reads and writes `tally`."""

    block: Block
    slots: Any
    kept: Kept
    tally: Any
    call: Callable[[], int]
