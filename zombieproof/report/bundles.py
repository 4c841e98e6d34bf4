"""Which rows of a machine are drawn as one arrow: ways into a terminal state, failures and crashes come from many.

Drawn one by one they would cover everything else. Their arrow begins at a note that names the states it stands for.
"""

from typing import NamedTuple

from zombieproof.statemachines.kernel import Machine, T

FEWEST = 3
"""From so many states on, arrows with the same event and the same end are bundled."""

ANY_OTHER_STATE = "any other state"


class Bundle(NamedTuple):
    """Rows with the same event and the same target, no loop among them; `from_all` if they leave every other state."""

    rows: tuple[T, ...]
    from_all: bool

    @property
    def event(self) -> str:
        """The event, by its name in the source."""
        return str(self.rows[0].event.name)

    @property
    def target(self) -> str:
        """Where the event leads, by its name in the source."""
        return str(self.rows[0].target.name)

    @property
    def sources(self) -> tuple[str, ...]:
        """The states that it leaves, by their names in the source."""
        return tuple(row.state.name for row in self.rows)


def bundles(machine: Machine) -> tuple[Bundle, ...]:
    """The bundles of a machine, in the order of its table."""
    together: dict[tuple[int, int], list[T]] = {}
    for row in machine.rows:
        if row.state != row.target and _comes_from_everywhere(machine, row):
            together.setdefault((int(row.event), int(row.target)), []).append(row)
    others = len(machine.states) - 1
    return tuple(Bundle(tuple(rows), len(rows) == others) for rows in together.values() if len(rows) >= FEWEST)


def single_rows(machine: Machine) -> tuple[T, ...]:
    """The rows that are in no bundle."""
    bundled = {(row.state, row.event) for bundle in bundles(machine) for row in bundle.rows}
    return tuple(row for row in machine.rows if (row.state, row.event) not in bundled)


def _comes_from_everywhere(machine: Machine, row: T) -> bool:
    return row.target in machine.terminal or row.event.name.endswith(("FAILURE", "CRASH"))
