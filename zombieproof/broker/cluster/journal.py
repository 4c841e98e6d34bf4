"""What the brokers decided and which machine moved, in the order in which it happened.

For whoever wants to know which rule answered (``conform``), which rows were taken (coverage), or what to write into a
trace. Nothing in a broker reads it: a cluster keeps none unless it is given one.
"""

from dataclasses import dataclass, field

from zombieproof.model.vocabulary import Guard
from zombieproof.statemachines.kernel import Machine


@dataclass(frozen=True, slots=True)
class Decided:
    """One decision: the module that decided, the reference row that answered, the error, and about what."""

    decision: str
    guard: Guard
    error: int
    subject: str


@dataclass(frozen=True, slots=True)
class Moved:
    """One transition of one machine: numbers of its own enums."""

    machine: str
    subject: str
    state: int
    event: int
    target: int


class Journal:
    """Where decisions and moves go. This one keeps nothing."""

    __slots__ = ()

    def decided(self, decision: str, guard: int, error: int, subject: str) -> None:
        """Take note of a decision."""

    def move(self, machine: Machine, subject: str, state: int, event: int) -> int:
        """The state after `event`, which only the table knows.

        Raises:
            IllegalTransition: the table has no such row.
        """
        return machine.target(state, event, subject)


@dataclass(slots=True)
class KeptJournal(Journal):
    """Everything that was decided and moved since the last `clear`."""

    decisions: list[Decided] = field(default_factory=list)
    moves: list[Moved] = field(default_factory=list)

    def decided(self, decision: str, guard: int, error: int, subject: str) -> None:
        """Note a decision."""
        self.decisions.append(Decided(decision, Guard(guard), int(error), subject))

    def move(self, machine: Machine, subject: str, state: int, event: int) -> int:
        """The state after `event`; the transition is noted."""
        target = machine.target(state, event, subject)
        self.moves.append(Moved(machine.name, subject, int(state), int(event), target))
        return target

    def clear(self) -> None:
        """Forget everything."""
        self.decisions.clear()
        self.moves.clear()
