"""Turning one switch of the rules, and counting: what ``switches`` says is explored here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace

from zombieproof.checker.engine.explore import Progress, Result, explore
from zombieproof.checker.scenario import Scenario
from zombieproof.checker.switches import COUNTED, SMALL
from zombieproof.model.rules import Rules, switches


@dataclass(frozen=True, slots=True)
class Turn:
    """A scenario that was explored with one switch turned; no promise was judged, so that every state was reached.

    Attributes:
        expected: the number of distinct states that is pinned: with the switch turned if it counts here, else without.
    """

    switch: str
    scenario: Scenario
    expected: int
    result: Result

    @property
    def counts(self) -> bool:
        """Whether the switch is said to change the number of states of this scenario."""
        return counts_in(self.switch, self.scenario)

    @property
    def is_as_expected(self) -> bool:
        """Whether there are as many states as is said."""
        return self.result.verdict == "holds" and self.result.distinct == self.expected


def counts_in(switch: str, scenario: Scenario) -> bool:
    """Whether the switch is said to change the number of states of this scenario."""
    return switch in COUNTED and COUNTED[switch].scenario == scenario.name


def turned(rules: Rules, switch: str) -> Rules:
    """The rules without the switch, if they have it; with it, if they have not."""
    return replace(rules, **{switch: 1 - getattr(rules, switch)})


def _reads_rules(scenario: Scenario) -> bool:
    return any(each.name == "rules" for each in fields(scenario.model(scenario.bounds).setup))


def worth_turning(scenarios: Iterable[Scenario]) -> Iterator[tuple[str, Scenario]]:
    """Every switch with the scenario that it counts in; one that counts nowhere with each that is small."""
    own = [scenario for scenario in scenarios if _reads_rules(scenario)]
    small = [scenario for scenario in own if 0 < scenario.distinct <= SMALL]
    for facts in switches():
        for scenario in own if facts.name in COUNTED else small:
            if facts.name not in COUNTED or counts_in(facts.name, scenario):
                yield facts.name, scenario


def turn(
    switch: str,
    scenario: Scenario,
    *,
    workers: int = 1,
    memory_bytes: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Turn:
    """Explore a scenario with the switch turned."""
    bounds = scenario.own_bounds({})
    result = explore(
        scenario.model(bounds),
        scenario.setup(turned(scenario.own_rules(), switch), bounds),
        promises=(),
        workers=workers,
        memory_bytes=memory_bytes,
        progress=progress,
    )
    expected = COUNTED[switch].distinct if counts_in(switch, scenario) else scenario.distinct
    return Turn(switch, scenario, expected, result)
