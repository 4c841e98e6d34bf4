"""A scenario, or a mutant of one, explored as it is and with each reduction: what has to be the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from zombieproof.checker.checking import Checked, Request, check, reduction
from zombieproof.checker.engine.replay import breaks, replay
from zombieproof.checker.engine.rounds import fault_of_round
from zombieproof.checker.engine.wanted import ORDER, SYMMETRY
from zombieproof.checker.scenario import Mutant, Scenario

WAYS: Final = ((SYMMETRY,), (ORDER,), (SYMMETRY, ORDER))
"""The reductions that are compared with none."""


@dataclass(frozen=True)
class Found:
    """What an exploration found: `steps` to the broken promise, 0 for none; `used`, what reduced it."""

    verdict: str
    distinct: int
    broken: str
    steps: int
    used: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """A scenario or a mutant: explored as it is, and reduced in each of `WAYS`."""

    scenario: str
    mutant: str
    plain: Found
    reduced: Sequence[Found]

    @property
    def name(self) -> str:
        """What it is called."""
        return f"{self.scenario}, {self.mutant}" if self.mutant else self.scenario


def compared(scenario: Scenario, mutant: Mutant | None = None) -> Row:
    """Explore as it is, and in each way. Where nothing is reduced that is not explored again.

    Raises:
        HostsDisagree, ModelFault: a story of a reduced exploration is none of the model itself.
        AssertionError: such a story does not end where its promise is broken.
    """
    request = Request(mutant=mutant.name if mutant else "")
    plain = _found(check(scenario, request))
    found: list[Found] = []
    for way in WAYS:
        used = tuple(reduction(scenario, replace(request, reduce=way)).used)
        same = [one for one in (plain, *found) if one.used == used]
        found.append(same[0] if same else _found(check(scenario, replace(request, reduce=way))))
    return Row(scenario.name, mutant.name if mutant else "", plain, found)


def _found(checked: Checked) -> Found:
    result, violated = checked.result, checked.result.violated
    actions = violated.actions if violated else None
    if violated is not None and actions:
        promise = next(each for each in checked.model.promises if each.name == violated.promise)
        if violated.repeats_from is not None:
            assert not fault_of_round(checked.model, checked.setup, promise, actions, violated.repeats_from)
            return Found(result.verdict, result.distinct, violated.promise, len(actions))
        last = replay(checked.model, checked.setup, actions)[-1].after
        assert breaks(checked.model, checked.setup, promise, last), f"{checked.scenario.name}: {promise.name} holds"
    used = tuple(checked.reduced.used) if checked.reduced else ()
    broken = violated.promise if violated else ""
    return Found(result.verdict, result.distinct, broken, len(actions or ()), used)


def faults_of(row: Row) -> Iterator[str]:
    """What a reduction changed that it must not: verdict, broken promise; with symmetry alone the length of the way."""
    for way, found in zip(WAYS, row.reduced, strict=True):
        who = f"{row.name}, reduced by {' and '.join(way)}"
        if (found.verdict, found.broken) != (row.plain.verdict, row.plain.broken):
            yield f"{who}: {found.verdict} {found.broken}, and as it is {row.plain.verdict} {row.plain.broken}"
        elif ORDER not in found.used and found.steps != row.plain.steps:
            yield f"{who}: {found.steps} steps to {found.broken}, and as it is {row.plain.steps}"
        elif found.steps < row.plain.steps:
            yield f"{who}: {found.steps} steps to {found.broken}, fewer than the shortest way of {row.plain.steps}"
        elif found.distinct > row.plain.distinct and found.verdict == "holds":
            yield f"{who}: {found.distinct:,} states, and as it is {row.plain.distinct:,}"
