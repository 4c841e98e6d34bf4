"""Mutants: a rule is taken away, and the promise that must break breaks, in the pinned number of steps."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from zombieproof.report.exits import Exit
from zombieproof.report.runs import Run
from zombieproof.report.screen import Column, Screen, plural

if TYPE_CHECKING:
    from zombieproof.checker.engine.result import Result
    from zombieproof.checker.scenario import Mutant, Scenario

COLUMNS = (
    Column("scenario"),
    Column("mutant"),
    Column("bug"),
    Column("breaks"),
    Column("steps", "right"),
    Column("outcome"),
)


@dataclass(frozen=True, slots=True)
class Hunt:
    """A mutant that was explored."""

    mutant: Mutant
    run: Run

    @property
    def scenario(self) -> Scenario:
        """The scenario whose mutant it is."""
        return self.run.checked.scenario

    @property
    def result(self) -> Result:
        """What was found."""
        return self.run.checked.result

    @property
    def promise(self) -> str | None:
        """The promise that broke."""
        return self.result.violated.promise if self.result.violated else None

    @property
    def steps(self) -> int | None:
        """The length of the shortest story."""
        violated = self.result.violated
        return len(violated.actions) if violated and violated.actions is not None else None

    @property
    def is_as_expected(self) -> bool:
        """Whether the mutant breaks what it must, in as many steps as are pinned."""
        return self.promise == self.mutant.breaks and self.steps == self.mutant.steps

    @property
    def is_inconclusive(self) -> bool:
        """Whether the exploration ended before it could say."""
        return self.result.verdict == "inconclusive"

    @property
    def outcome(self) -> str:
        """What came out, in words."""
        if self.is_as_expected:
            return "as expected"
        if self.is_inconclusive:
            return f"inconclusive: {self.result.why}"
        if self.mutant.known and not self.mutant.without:
            return self._outcome_of_known()
        if self.promise is None:
            return "survives: every promise holds"
        return f"expected {self.mutant.breaks} in {plural(self.mutant.steps, 'step')}"

    def _outcome_of_known(self) -> str:
        """What came out where the rules as they are were to break a promise."""
        if self.promise is None:
            return f"{self.mutant.breaks} is kept now: name it in always= or at_rest=, and delete this entry"
        steps = "?" if self.steps is None else self.steps
        return f"breaks in {steps}, not in {plural(self.mutant.steps, 'step')}: say what changed, and pin it anew"


def show_hunts(screen: Screen, hunts: Sequence[Hunt]) -> None:
    """Write a table of mutants, and how many did what they must."""
    screen.table(COLUMNS, [_cells(hunt) for hunt in hunts])
    good = sum(hunt.is_as_expected for hunt in hunts)
    screen.say()
    screen.say(f"{plural(len(hunts), 'mutant')}, {good} as expected")


def _cells(hunt: Hunt) -> tuple[str, ...]:
    steps = "-" if hunt.steps is None else str(hunt.steps)
    return (hunt.scenario.name, hunt.mutant.name, hunt.mutant.bug or "-", hunt.promise or "-", steps, hunt.outcome)


def exit_code_of(hunts: Iterable[Hunt]) -> Exit:
    """Holds when each mutant does what it must; one that cannot be judged leaves all open, unless another does not."""
    bad = [hunt for hunt in hunts if not hunt.is_as_expected]
    if all(hunt.is_inconclusive for hunt in bad):
        return Exit.INCONCLUSIVE if bad else Exit.HOLDS
    return Exit.VIOLATED


def hunts_as_json(hunts: Iterable[Hunt]) -> str:
    """All mutants as the text of one object; its verdict is "holds" when each does what it must."""
    hunts = list(hunts)
    verdict = {Exit.HOLDS: "holds", Exit.VIOLATED: "violated"}.get(exit_code_of(hunts), "inconclusive")
    return json.dumps({"verdict": verdict, "mutants": [_data(hunt) for hunt in hunts]}, indent=2)


def _data(hunt: Hunt) -> dict[str, Any]:
    return {
        "scenario": hunt.scenario.name,
        "mutant": hunt.mutant.name,
        "bug": hunt.mutant.bug or None,
        "expected": {"promise": hunt.mutant.breaks, "steps": hunt.mutant.steps},
        "found": None if hunt.promise is None else {"promise": hunt.promise, "steps": hunt.steps},
        "as_expected": hunt.is_as_expected,
        "seconds": round(hunt.result.seconds, 6),
    }
