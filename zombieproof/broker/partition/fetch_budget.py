"""How much the responses to fetches may hold, over all clients of a process.

A response keeps its records in memory until the client has read it, and nothing else happens while records are
collected. So a fetch gets what is left of two budgets, one for each turn of the process and one for responses that are
being sent; at least `LEAST`, or one batch. A consumer that gets less than it asked for fetches again.
"""

from dataclasses import dataclass, field
from typing import NamedTuple


class Load(NamedTuple):
    """Records in responses: their bytes, and how many batches they are."""

    size: int
    batches: int

    def plus(self, other: "Load") -> "Load":
        """Both together."""
        return Load(self.size + other.size, self.batches + other.batches)

    def minus(self, other: "Load") -> "Load":
        """What is left when `other` is taken away."""
        return Load(self.size - other.size, self.batches - other.batches)


NOTHING = Load(0, 0)
UNLIMITED = Load(1 << 62, 1 << 62)
"""More than a process will ever collect: without a server nobody says that a turn begins."""

LEAST = Load(1 << 18, 64)


@dataclass(slots=True)
class FetchBudget:
    """The budgets, and how much of them is used. Unlimited unless a server says otherwise."""

    each_turn: Load = UNLIMITED
    in_flight: Load = UNLIMITED
    collected: Load = field(default=NOTHING)
    held: Load = field(default=NOTHING)

    @property
    def left(self) -> Load:
        """How much the next response may hold."""
        turn, flight = self.each_turn.minus(self.collected), self.in_flight.minus(self.held)
        return Load(*(max(least, min(each)) for least, *each in zip(LEAST, turn, flight, strict=True)))

    def begin_turn(self) -> None:
        """All responses so far have been handed over to be sent."""
        self.collected = NOTHING

    def collect(self, load: Load) -> None:
        """A response holds this."""
        self.collected = self.collected.plus(load)

    def hold(self, load: Load) -> None:
        """A response begins to be sent."""
        self.held = self.held.plus(load)

    def release(self, load: Load) -> None:
        """A response was sent, or never will be."""
        self.held = self.held.minus(load)
