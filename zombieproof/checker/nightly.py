"""What is explored beyond the default set, when there is a night for it: scenarios within larger bounds, as data.

Of each scenario of the transaction protocol each fault of its own happens once more; then faults of different kinds
meet, under transaction versions 0, 1 and 2; then scopes of tens of millions of states. Whatever is found stands in
docs/nightly.md. An own fault is one that the scenario has at all: other faults are another scenario's story.
Where a state has no room for what a fault more leads to, it is exchanged for another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
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
        more = sum(value - own.bounds[name] for name, value in self.bounds if name in own.faults)
        return own.distinct * GROWTH**more

    def judged(self) -> Scenario:
        """The scenario with the promises that are owed within these bounds, and what can be reached there."""
        scenario = SCENARIOS[self.scenario].owed_within(dict(self.bounds))
        gone = {name for fault, value in self.bounds if not value for name in SHOWN_BY.get(fault, ())}
        return replace(scenario, sometimes=tuple(name for name in scenario.sometimes if name not in gone))

    def story(self, promise: str) -> Registered | None:
        """The registered story of a promise that is broken within these bounds, None if it is none."""
        scenario = SCENARIOS[self.scenario]
        return registered(scenario, scenario.own_rules(), scenario.own_bounds(dict(self.bounds)), promise)

    def request(self, workers: int, memory_bytes: int | None, spill: Path | None = None) -> Request:
        """What is asked of it."""
        return Request(bounds=dict(self.bounds), workers=workers, memory_bytes=memory_bytes, spill=spill)


def _is_legal(scenario: Scenario, bounds: Bounds) -> bool:
    try:
        own = scenario.own_bounds(bounds)
        scenario.setup(scenario.own_rules(), own)
    except UnknownBound:
        return False
    return True


_NOTHING_DOUBLED: Final = {"doubled": 0}
_MORE_IDS: Final = {"more_producer_ids": 1}
_NOBODY_DEPOSED: Final = {"deposed": 0}
_NO_FAILOVER: Final = {"failovers": 0}
EXCHANGED: Final[Mapping[tuple[str, str], Bounds]] = {
    ("zombie_takeover", "doubled"): {"doubled_batches": 0},
    ("zombie_takeover", "doubled_batches"): _NOTHING_DOUBLED,
    ("zombie_takeover", "late"): _NOTHING_DOUBLED,
    ("zombie_takeover", "crashes"): _NOTHING_DOUBLED,
    ("id_expiration", "expirations"): _MORE_IDS,
    ("forgotten_owner", "expirations"): _MORE_IDS,
    ("version_0_expiration", "expirations"): _MORE_IDS,
    ("version_1_every_fault", "expirations"): _MORE_IDS,
    ("coordinator_failover", "failovers"): _NOBODY_DEPOSED,
    ("coordinator_failover", "deposed"): _NO_FAILOVER,
    ("version_0_failover", "failovers"): _NOBODY_DEPOSED,
    ("version_0_failover", "deposed"): _NO_FAILOVER,
    ("version_1_failover", "failovers"): _NOBODY_DEPOSED,
    ("version_1_failover", "deposed"): _NO_FAILOVER,
    ("resumed_commit", "lost"): _NO_FAILOVER,
    ("resumed_commit", "failovers"): {"lost": 0},
    ("epoch_exhaustion", "lost"): _NO_FAILOVER,
    ("epoch_exhaustion", "failovers"): {"lost": 0, "epoch_max": 4},
    ("proposal_crash_and_restart", "crashes"): {"starts": 3},
    ("proposal_failover_from_the_watermark", "crashes"): {"starts": 3},
}
"""Scenario, and a fault that happens once more -> what is other than in the scenario, so that a state has room for it.

Without that a capacity is exceeded: producer ids, messages in flight, or records in a log. An epoch that is exhausted
sooner makes up for the message that is not lost: the producer id rotates all the same. Whoever crashes once more starts
once more: else nobody would be left who copies.
"""

SHOWN_BY: Final[Mapping[str, tuple[str, ...]]] = {"deposed": ("a_stale_coordinator_still_answers",)}
"""Fault -> what is only seen where it happens: no scope that has exchanged it is asked for that."""


def once_more() -> Iterator[Scope]:
    """Each fault of each scenario once more, for another one where a state has no room for both."""
    for scenario in SCENARIOS.values():
        for fault in scenario.faults:
            if scenario.bounds.get(fault):
                bounds = {fault: scenario.bounds[fault] + 1, **EXCHANGED.get((scenario.name, fault), {})}
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
    "two_transactions": ({"crashes": 1, "lost": 2}, {"crashes": 2, "lost": 2, "late": 0}),
}
"""Scopes of tens of millions of states, and more; what does not fit into memory is spilled. 0: exchanged, as above."""


def _of(table: Mapping[str, tuple[Bounds, ...]]) -> Iterator[Scope]:
    for name, each in table.items():
        for bounds in each:
            own = SCENARIOS[name].bounds
            raised = {fault: max(value, own[fault]) if value else 0 for fault, value in bounds.items()}
            yield Scope(name, tuple(raised.items()))


SCOPES: Final = tuple(dict.fromkeys((*once_more(), *_of(TOGETHER), *_of(LARGE))))
"""All of them, none twice."""
