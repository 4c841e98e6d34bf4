"""Which rows of which tables an exploration took."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from zombieproof.statemachines.kernel import T
from zombieproof.statemachines.notes import MachineIndex
from zombieproof.statemachines.registry import EXPLORED


class Row(NamedTuple):
    """A row of a machine's table, by names: in `state`, `event` happens."""

    machine: str
    state: str
    event: str

    def __str__(self) -> str:
        return f"{self.machine}: {self.event} in {self.state}"


def _row(machine: str, row: T) -> Row:
    return Row(machine, row.state.name, row.event.name)


ROWS: tuple[Row, ...] = tuple(_row(machine.name, row) for machine in EXPLORED.values() for row in machine.rows)
"""Every row of every machine that is explored."""

_INDEX = {index.name.lower(): int(index) for index in MachineIndex}


def rows_taken(counts: Any) -> frozenset[Row]:
    """The rows that were taken, from the counts of an exploration (machine, state, event); none without counts."""
    if counts is None:
        return frozenset()
    return frozenset(
        _row(machine.name, row)
        for machine in EXPLORED.values()
        for row in machine.rows
        if _INDEX[machine.name] < len(counts) and counts[_INDEX[machine.name], int(row.state), int(row.event)] > 0
    )


def by_machine(taken: Iterable[Row]) -> dict[str, tuple[int, int]]:
    """Machine -> (rows taken, rows there are)."""
    taken = set(taken)
    return {name: (sum(row.machine == name for row in taken), len(machine.rows)) for name, machine in EXPLORED.items()}


class Mismatch(NamedTuple):
    """How rows that were not taken differ from the list of reasons: no reason given, or one for a row that is taken."""

    unexplained: tuple[Row, ...]
    needless: tuple[Row, ...]
    unknown: tuple[Row, ...]

    def __bool__(self) -> bool:
        return bool(self.unexplained or self.needless or self.unknown)


def compare(taken: Iterable[Row], reasons: Mapping[tuple[str, str, str], str]) -> Mismatch:
    """Compare the rows that all scenarios together took with the reasons for those that none takes."""
    taken, listed = set(taken), {Row(*row) for row in reasons}
    return Mismatch(
        unexplained=tuple(row for row in ROWS if row not in taken and row not in listed),
        needless=tuple(row for row in ROWS if row in taken and row in listed),
        unknown=tuple(sorted(listed - set(ROWS))),
    )
