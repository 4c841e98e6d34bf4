"""What the brokers decided and which machine moved, in the order in which it happened.

For whoever wants to know which rule answered (``conform``), which rows were taken (coverage), or what to write into a
trace. Nothing in a broker reads it: a cluster keeps none unless it is given one.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from zombieproof.broker.cluster.clock import Clock
from zombieproof.model.vocabulary import Row
from zombieproof.statemachines.kernel import IllegalTransition, Machine
from zombieproof.statemachines.notes import Decision, Notes, clear
from zombieproof.statemachines.registry import ALL_MACHINES

if TYPE_CHECKING:
    from zombieproof.broker.cluster.cluster import Cluster
    from zombieproof.broker.cluster.node import Store
    from zombieproof.formats.topics import TopicPartition

MACHINES_BY_INDEX = tuple(ALL_MACHINES.values())

NAMES_OF_DECISIONS = {int(each): each.name.lower() for each in Decision} | {
    int(Decision.ADD_PARTITIONS): "add_partitions_to_txn",
    int(Decision.ADD_OFFSETS): "add_offsets_to_txn",
    int(Decision.VERIFY_PARTITIONS): "add_partitions_to_txn",
    int(Decision.TIMEOUT): "transaction_timeout",
    int(Decision.MARKER): "write_txn_markers",
    int(Decision.EXPIRATION): "transactional_id_expiration",
    int(Decision.LOOKUP): "find_coordinator",
}
"""Decision -> the module that decides, as a journal names it."""


@dataclass(frozen=True, slots=True)
class Decided:
    """One decision: the module that decided, the reference row that answered, the error, and about what."""

    decision: str
    row: Row
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

    __slots__ = ("_notes",)

    def __init__(self) -> None:
        self._notes = Notes()

    def begin(self) -> Notes:
        """Notes for the next step; what it has noted is taken by `take`."""
        clear(self._notes, 0)
        return self._notes

    def take(self, subject: str, noted: Notes | None = None) -> None:
        """Take what a step has noted about `subject`: in the notes of `begin`, or in notes of its own.

        Raises:
            IllegalTransition: it wanted a move that its machine's table does not have.
        """
        notes = self._notes if noted is None else noted
        if notes.illegal != 0:
            machine = MACHINES_BY_INDEX[notes.illegal - 1]
            state, event = machine.states(notes.illegal_state), machine.events(notes.illegal_event)
            raise IllegalTransition(machine, subject, state, event)

    def decided(self, decision: str, row: int, error: int, subject: str) -> None:
        """Take note of a decision."""

    def steady(self, clock: Clock) -> Clock:
        """The clock that brokers read; a journal may want it to stand still while one thing follows from another."""
        return clock

    def opened(self, cluster: Cluster, was_clean: bool) -> None:
        """A cluster is there and nothing has happened in it; its brokers start next, on stores that were left so."""

    def found(self, node: int, partition: TopicPartition, store: Store) -> None:
        """A replica's store was opened for the first time, and its log holds something already."""

    def caused(self, what: str, **about: object) -> None:
        """Something happens to the cluster from outside; what is decided and moved from now on is because of it."""

    def refused(self, topics: Collection[str]) -> None:
        """The disk refuses the deletion of these topics, which is part of the present event."""

    def move(self, machine: Machine, subject: str, state: int, event: int) -> int:
        """The state after `event`, which only the table knows.

        Raises:
            IllegalTransition: the table has no such row.
        """
        return machine.target(state, event, subject)


@dataclass(slots=True)
class KeptJournal(Journal):
    """Everything that was decided and moved since the last `clear`.

    `contradictions` are the subjects of durable records that may not follow what was in memory.
    """

    decisions: list[Decided] = field(default_factory=list)
    moves: list[Moved] = field(default_factory=list)
    contradictions: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        Journal.__init__(self)

    def take(self, subject: str, noted: Notes | None = None) -> None:
        """Write down what a step has noted about `subject`."""
        notes = self._notes if noted is None else noted
        for each in notes.decisions[: notes.decision_count]:
            self.decided(NAMES_OF_DECISIONS[each.decision], each.row, each.error, subject)
        for taken in notes.moves[: notes.count]:
            self.moves.append(
                Moved(MACHINES_BY_INDEX[taken.machine].name, subject, taken.state, taken.event, taken.target)
            )
        if notes.contradicts:
            self.contradictions.append(subject)
        Journal.take(self, subject, noted)

    def decided(self, decision: str, row: int, error: int, subject: str) -> None:
        """Note a decision."""
        self.decisions.append(Decided(decision, Row(row), int(error), subject))

    def move(self, machine: Machine, subject: str, state: int, event: int) -> int:
        """The state after `event`; the transition is noted."""
        target = machine.target(state, event, subject)
        self.moves.append(Moved(machine.name, subject, int(state), int(event), target))
        return target

    def clear(self) -> None:
        """Forget everything."""
        self.decisions.clear()
        self.moves.clear()
        self.contradictions.clear()
