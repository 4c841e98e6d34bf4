"""One protocol set against another: an exploration of one promise, how it comes out, and what that shows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from zombieproof.checker.engine.explore import explore
from zombieproof.checker.engine.model import Model
from zombieproof.checker.engine.result import Result
from zombieproof.checker.request import Request, chosen
from zombieproof.checker.scenario import Scenario

Found = Literal["holds", "broken", "reached", "not reached", "inconclusive"]


@dataclass(frozen=True, slots=True)
class Side:
    """One exploration of a protocol, judged by one promise.

    Attributes:
        aspect: the first column of reference §10.11.
        promise: its name.
        expected: how it comes out; `steps` is the length of the shortest way to where it is broken or reached, 0 if
            there is none.
        distinct: the number of distinct states, pinned.
        sentence: what that shows.
        rules: the preset; `without`: switches, or readings, that are off.
        bounds: those that are not the scenario's own.
    """

    aspect: str
    scenario: Scenario
    promise: str
    expected: Found
    distinct: int
    sentence: str
    steps: int = 0
    rules: str = ""
    without: tuple[str, ...] = ()
    bounds: Mapping[str, int] = field(default_factory=dict)

    @property
    def request(self) -> Request:
        """What it asks for beside the scenario."""
        return Request(rules=self.rules, off=self.without, bounds=self.bounds)

    @property
    def model(self) -> Model:
        """The model that has the promise."""
        return self.scenario.model(chosen(self.scenario, self.request)[1])

    @property
    def setup(self) -> object:
        """What is constant while it is explored."""
        return self.scenario.setup(*chosen(self.scenario, self.request))


def explored(side: Side) -> Result:
    """Explore it."""
    return explore(side.model, side.setup, promises=(side.promise,))


def actions(side: Side, result: Result) -> list[int] | None:
    """The shortest way to where the promise is broken or reached; None if there is none."""
    if side.promise in result.witnesses:
        return result.witnesses[side.promise]
    return result.violated.actions if result.violated is not None else None


def found(side: Side, result: Result) -> Found:
    """How the promise came out."""
    if result.verdict == "inconclusive":
        return "inconclusive"
    if side.promise in result.witnesses:
        return "reached"
    if result.violated is None:
        return "holds"
    return "not reached" if result.violated.actions is None else "broken"
