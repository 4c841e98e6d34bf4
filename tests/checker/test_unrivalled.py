"""An unrivalled producer is never fenced: judged in every scenario whose faults allow it, and broken where they do not.

No scenario leaves the promise out in silence: it keeps it, or has registered what breaks it, or stands here with the
rival or the fault that fences the producer, and the number of steps.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import pytest

from zombieproof.checker.checking import check
from zombieproof.checker.engine.result import Result
from zombieproof.checker.request import Request
from zombieproof.checker.scenario import Scenario
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.transactions.scenario import NOT_OWED_WITH
from zombieproof.checker.transactions.scenarios.known import UNRIVALLED
from zombieproof.model.vocabulary import NONE

OF_TRANSACTIONS = [each for each in SCENARIOS.values() if "epoch_max" in each.bounds]
KILLING = [fault for fault, promises in NOT_OWED_WITH.items() if UNRIVALLED in promises]

WHY: Final = {
    "timeouts": "a transaction that takes too long is aborted under a raised epoch, which fences its producer (KIP-98)",
    "crashes": "of two instances of a client the older one is a rival, and what it has asked for may arrive later",
    "expirations": "who is idle for too long loses its transactional id, and with it the producer id (KIP-98)",
}
"""Fault -> why the rules fence a producer, or let it die, on purpose."""

ON_PURPOSE: Final[Mapping[str, Mapping[str, int]]] = {
    "timeout": {"timeouts": 15},
    "late_commit": {"timeouts": 10},
    "plain_commit": {"timeouts": 10},
    "forgotten_owner": {"timeouts": 10},
    "forgotten_id": {"expirations": 7},
    "exhausted_fence": {"timeouts": 10},
    "last_epoch": {"timeouts": 10},
    "version_0_crash": {"crashes": 7},
    "version_1_timeout": {"timeouts": 9},
    "version_1_every_fault": {"crashes": 7, "timeouts": 9, "expirations": 5},
}
"""Scenario -> faults of it that each break the promise alone, and in how many steps."""

RIVALS: Final = {
    "zombie_takeover": 8,
    "kip98_takeover": 6,
    "epoch_recovery": 6,
    "cut_offsets": 11,
    "epoch_exhaustion": 10,
    "id_expiration": 7,
    "failed_fence": 10,
    "version_1_takeover": 6,
    "version_0_expiration": 5,
    "mutual_fencing": 10,
}
"""Scenarios in which another producer takes the transactional id, and in how many steps it fences the first one."""

ALIKE: Final = ("two_idempotent_producers",)
"""Scenarios whose clients are alike, so that of two states that differ in who is who one is enough.

The promise is about one of them and would tell them apart; it is judged here instead.
"""


def has_rivals(scenario: Scenario) -> bool:
    bounds = scenario.setup(scenario.own_rules(), scenario.bounds).bounds  # type: ignore[attr-defined]  # of transactions
    ids = [int(each) for each in bounds.transactional_id[: bounds.clients] if each != NONE]
    return len(set(ids)) < len(ids)


def has_registered(scenario: Scenario) -> bool:
    return any(
        mutant.known and mutant.breaks == UNRIVALLED and not (mutant.bounds or mutant.without)
        for mutant in scenario.mutants
    )


def judged_alone(scenario: Scenario, bounds: Mapping[str, int]) -> Result:
    alone = replace(scenario, always=(UNRIVALLED,), at_rest=(), leads_to=(), sometimes=(), mutants=())
    return check(alone, Request(bounds=dict(bounds))).result


def steps(result: Result) -> int | None:
    """How long the story is; None where the promise holds."""
    violated = result.violated
    return None if violated is None or violated.actions is None else len(violated.actions)


def test_every_scenario_of_transactions_judges_the_promise_or_says_why_not() -> None:
    for scenario in OF_TRANSACTIONS:
        reasons = {
            "judged": UNRIVALLED in scenario.always,
            "registered": has_registered(scenario),
            "rivals": scenario.name in RIVALS,
            "on purpose": scenario.name in ON_PURPOSE,
            "alike": scenario.name in ALIKE,
        }
        assert sum(reasons.values()) == 1, (scenario.name, reasons)
        assert (scenario.name in RIVALS) == has_rivals(scenario), scenario.name


def test_what_fences_on_purpose_has_a_reason_and_is_not_owed() -> None:
    assert {fault for faults in ON_PURPOSE.values() for fault in faults} == set(WHY)
    assert set(WHY) <= set(KILLING)
    for name, faults in ON_PURPOSE.items():
        assert all(SCENARIOS[name].bounds[fault] for fault in faults), name


@pytest.mark.sample("forgotten_id", "last_epoch", "version_1_every_fault")
@pytest.mark.parametrize("name", ON_PURPOSE)
def test_the_faults_of_a_scenario_that_does_not_judge_it_do_not_allow_it(name: str) -> None:
    scenario = SCENARIOS[name]
    killing = dict.fromkeys((fault for fault in KILLING if scenario.bounds.get(fault)), 0)
    assert judged_alone(scenario, killing).verdict == "holds"
    nothing = {fault: 0 for fault in scenario.faults if fault in scenario.bounds}
    for fault, expected in ON_PURPOSE[name].items():
        assert steps(judged_alone(scenario, {**nothing, fault: scenario.bounds[fault]})) == expected, fault


@pytest.mark.parametrize("name", ALIKE)
def test_where_clients_are_alike_it_is_kept_too(name: str) -> None:
    assert judged_alone(SCENARIOS[name], {}).verdict == "holds"


@pytest.mark.sample("kip98_takeover", "mutual_fencing")
@pytest.mark.parametrize(("name", "expected"), RIVALS.items())
def test_where_a_producer_has_a_rival_it_is_fenced(name: str, expected: int) -> None:
    assert steps(judged_alone(SCENARIOS[name], {})) == expected
