"""What one thread has while it explores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from zombieproof.checker.engine.places import States, Surroundings
from zombieproof.checker.engine.storage import Buffer


@dataclass(slots=True)
class Place:
    """Where one thread works: what a step needs, room for parents, candidates, and the tally of its batch."""

    around: Surroundings
    parents: States
    buffer: Buffer
    tally: Any = None
