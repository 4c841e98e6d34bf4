"""What a machine is: one tuple of rows (state, event, target, why), and nothing else.

Theory of operation: a decision (``zombieproof.model.decisions``) names an *event*; only the table turns a state and an
event into the next state. There are no callables and no flags in a row: what needs an ``if`` is a decision. From the
same tuple come the runtime machine (``runtime``), the matrix of the checker (``Machine.table``), the diagrams, the
coverage report and the documentation.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple

ILLEGAL = -1
"""What ``Machine.table`` holds where no row is."""


class T(NamedTuple):
    """One row: in `state`, `event` leads to `target`, and `why` says so in words."""

    state: IntEnum
    event: IntEnum
    target: IntEnum
    why: str


class MalformedMachine(ValueError):
    """A table that cannot be a machine: found when its module is imported. `row` is the row at fault, if one is."""

    def __init__(self, message: str, row: int | None = None) -> None:
        super().__init__(message)
        self.row = row


class IllegalTransition(Exception):
    """An event that the table does not allow in the present state.

    The message names the machine and subject, the event and state, and what would have been legal.
    """

    def __init__(self, machine: "Machine", subject: str, state: IntEnum, event: IntEnum) -> None:
        self.machine, self.subject, self.state, self.event = machine.name, subject, state, event
        legal = ", ".join(e.name for e in machine.legal(state)) or "nothing, the state is terminal"
        named = f" {subject!r}" if subject else ""
        super().__init__(f"{machine.name}{named}: {event.name} is illegal in {state.name}; legal here: {legal}")


@dataclass(frozen=True)
class Machine:
    """A finite state machine, checked when it is built.

    Args:
        name: what the machine is called in messages, diagrams and traces.
        states: the enum of its states; `events`: the enum of its events, whose member 0 is NOTHING.
        initial: the state in which it begins.
        rows: the table.
        terminal: states that have no exit, written down on purpose.
        transient: states that are only ever passed through or pending, never durable.

    Raises:
        MalformedMachine: a row is repeated or contradicts another, a state cannot be reached, a state without exit is
            not declared terminal (or one with an exit is).
    """

    name: str
    states: type[IntEnum]
    events: type[IntEnum]
    initial: IntEnum
    rows: tuple[T, ...]
    terminal: frozenset[IntEnum] = frozenset()
    transient: frozenset[IntEnum] = frozenset()
    table: tuple[tuple[int, ...], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        matrix = [[ILLEGAL] * len(self.events) for _ in self.states]
        self._check_rows()
        for number, row in enumerate(self.rows):
            if matrix[row.state][row.event] != ILLEGAL:
                raise MalformedMachine(f"{self.name}: two rows for {row.event.name} in {row.state.name}", number)
            matrix[row.state][row.event] = int(row.target)
        object.__setattr__(self, "table", tuple(tuple(line) for line in matrix))
        self._check_reachable()
        self._check_terminal()

    def _check_rows(self) -> None:
        for enum in (self.states, self.events):
            if [int(member) for member in enum] != list(range(len(enum))):
                raise MalformedMachine(f"{self.name}: the members of {enum.__name__} are not numbered 0, 1, 2, ...")
        rows: Any = self.rows
        if isinstance(rows, T) or not isinstance(rows, tuple):
            raise MalformedMachine(
                f"{self.name}: rows is no tuple of rows: behind a single one stands a comma, (T(...),)"
            )
        for number, row in enumerate(rows):
            if not isinstance(row, T):
                raise MalformedMachine(f"{self.name}: {row!r} is no row; a row is T(state, event, target, why)", number)
            for what, value, enum in (
                ("state", row.state, self.states),
                ("event", row.event, self.events),
                ("target", row.target, self.states),
            ):
                if not isinstance(value, enum):
                    legal = ", ".join(member.name for member in enum)
                    raise MalformedMachine(
                        f"{self.name}: the {what} of a row is {value!r}; legal of {enum.__name__}: {legal}", number
                    )

    def _check_reachable(self) -> None:
        seen, todo = {self.initial}, [self.initial]
        while todo:
            here = todo.pop()
            for row in self.rows:
                if row.state == here and row.target not in seen:
                    seen.add(row.target)
                    todo.append(row.target)
        lost = [s.name for s in self.states if s not in seen]
        if lost:
            raise MalformedMachine(f"{self.name}: no row leads to {', '.join(lost)}")

    def _check_terminal(self) -> None:
        stuck = {s for s in self.states if not any(r.state == s for r in self.rows)}
        if stuck != self.terminal:
            odd = ", ".join(s.name for s in stuck ^ self.terminal)
            raise MalformedMachine(f"{self.name}: {odd}: a state is terminal exactly when it has no row, and says so")

    def legal(self, state: IntEnum) -> Iterator[IntEnum]:
        """The events that have a row in `state`."""
        return (row.event for row in self.rows if row.state == state)

    def target(self, state: int, event: int, subject: str = "") -> int:
        """The state after `event`.

        Raises:
            IllegalTransition: the table has no such row; `subject` (a transactional id, a partition) is named.
        """
        after = self.table[state][event]
        if after == ILLEGAL:
            raise IllegalTransition(self, subject, self.states(state), self.events(event))
        return after
