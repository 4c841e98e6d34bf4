"""The roles of a round: one process after the other does what an application does, until the round is over."""

from collections.abc import Callable
from random import Random
from typing import Any

from tests.soak.processes import Process, Role


class Roles:
    """Those of one round on a stage; `done` counts the transactions that have ended."""

    def __init__(self, stage: Any, chance: Random) -> None:
        self._where, self._luck = stage, chance
        self.every = list[Role]()
        self.done = 0

    def begin(self, name: str, make: Callable[[str, str], Process]) -> None:
        """A role begins: `make` gives it a process, of a name of its own, under the name of the role."""
        role = Role(self._where, name, self._luck, lambda process: make(process, name))
        self.every.append(role)
        self._where.start(role.run())

    def ended(self) -> None:
        """A transaction has ended, somehow."""
        self.done += 1
