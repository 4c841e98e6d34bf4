"""What is explored beyond the default set, when there is a night for it: scenarios within larger bounds, as data.

Of each scenario of the transaction protocol each fault of its own happens once more; then faults of different kinds
meet, under transaction versions 0, 1 and 2; then scopes of tens of millions of states. Whatever is found stands in
docs/nightly.md. An own fault is one that the scenario has at all: other faults are another scenario's story.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from zombieproof.checker.registered import Registered, registered
from zombieproof.checker.request import Request
from zombieproof.checker.scenario import Scenario, UnknownBound
from zombieproof.checker.scenarios import SCENARIOS

GROWTH: Final = 3.0
"""How many times more states there are, about, where one fault more may happen."""

Bounds = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Scope:
    """A scenario within other bounds than its own."""

    scenario: str
    bounds: tuple[tuple[str, int], ...]

    @property
    def within(self) -> str:
        """The bounds in words, as `--bounds` takes them: "lost=2,crashes=1"."""
        return ",".join(f"{name}={value}" for name, value in self.bounds)

    @property
    def name(self) -> str:
        """What identifies it."""
        return f"{self.scenario} {self.within}"

    @property
    def states(self) -> float:
        """About how many states there are, as far as is known beforehand."""
        own = SCENARIOS[self.scenario]
        more = sum(max(0, value - own.bounds[name]) for name, value in self.bounds)
        return own.distinct * GROWTH**more

    def judged(self) -> Scenario:
        """The scenario with the promises that are owed within these bounds."""
        return SCENARIOS[self.scenario].owed_within(dict(self.bounds))

    def story(self, promise: str) -> Registered | None:
        """The registered story of a promise that is broken within these bounds, None if it is none."""
        scenario = SCENARIOS[self.scenario]
        return registered(scenario, scenario.own_rules(), scenario.own_bounds(dict(self.bounds)), promise)

    def request(self, workers: int, memory_bytes: int | None) -> Request:
        """What is asked of it."""
        return Request(bounds=dict(self.bounds), workers=workers, memory_bytes=memory_bytes)


def _is_legal(scenario: Scenario, bounds: Bounds) -> bool:
    try:
        own = scenario.own_bounds(bounds)
        scenario.setup(scenario.own_rules(), own)
    except UnknownBound:
        return False
    return True


def once_more() -> Iterator[Scope]:
    """Each fault of each scenario once more."""
    for scenario in SCENARIOS.values():
        for fault in scenario.faults:
            if scenario.bounds.get(fault):
                bounds = {fault: scenario.bounds[fault] + 1}
                if _is_legal(scenario, bounds):
                    yield Scope(scenario.name, tuple(bounds.items()))


TOGETHER: Final[Mapping[str, tuple[Bounds, ...]]] = {
    "timeout": ({"lost": 2, "crashes": 1}, {"crashes": 1, "failovers": 1}),
    "coordinator_failover": ({"crashes": 1}, {"timeouts": 1, "lost": 2}),
    "leader_failover": ({"crashes": 1}, {"failovers": 1}),
    "version_0_crash": ({"failovers": 1}, {"timeouts": 1, "lost": 2}),
    "version_0_failover": ({"crashes": 1}, {"timeouts": 1}),
    "version_0_expiration": ({"crashes": 1}, {"failovers": 1}),
    "version_1_takeover": ({"failovers": 1}, {"timeouts": 1}),
    "version_1_failover": ({"crashes": 1}, {"timeouts": 1}),
    "version_1_timeout": ({"crashes": 1}, {"failovers": 1}),
    "id_expiration": ({"crashes": 1}, {"failovers": 1}),
}
"""Faults that the default set keeps apart."""

LARGE: Final[Mapping[str, tuple[Bounds, ...]]] = {
    "zombie_takeover": ({"lost": 3}, {"lost": 4}, {"lost": 2, "timeouts": 1}),
    "two_transactions": ({"crashes": 2, "lost": 2},),
}
"""Scopes of tens of millions of states and more; `zombieproof check --memory 2G --spill DIR` explores them too."""


def _of(table: Mapping[str, tuple[Bounds, ...]]) -> Iterator[Scope]:
    for name, each in table.items():
        for bounds in each:
            own = SCENARIOS[name].bounds
            raised = {fault: max(value, own[fault]) for fault, value in bounds.items()}
            yield Scope(name, tuple(raised.items()))


SCOPES: Final = tuple(dict.fromkeys((*once_more(), *_of(TOGETHER), *_of(LARGE))))
"""All of them, none twice."""
