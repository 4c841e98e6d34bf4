"""Every scenario holds with its pinned count, every mutant breaks its promise in the pinned number of steps."""

from dataclasses import replace
from pathlib import Path

import pytest

from zombieproof.checker.checking import Checked, Request, check
from zombieproof.checker.engine.explore import explore
from zombieproof.checker.engine.model import Model, try_all
from zombieproof.checker.engine.replay import agree_everywhere, breaks, replay
from zombieproof.checker.engine.result import Result
from zombieproof.checker.engine.rounds import fault_of_round
from zombieproof.checker.scenario import Mutant, Scenario
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.transactions.model import BETWEEN_BROKERS, ON_REPLICAS, TRANSACTIONS
from zombieproof.model.catalogue import IN_STATES
from zombieproof.traces.explaining.causes.known import CAUSES

OF_TRANSACTIONS = [
    scenario
    for scenario in SCENARIOS.values()
    if scenario.model(scenario.bounds) in (TRANSACTIONS, BETWEEN_BROKERS, ON_REPLICAS)
]
MANY = 20_000
"""Distinct states above which a scenario is explored by `make check` alone, which compares the pinned number too."""

FEW = 20_000
"""Distinct states up to which scenarios are explored a second time, as slowly as can be; `make deep`: up to more."""
FEW_DEEP = 300_000

MUTANTS = [(scenario, mutant) for scenario in SCENARIOS.values() for mutant in scenario.mutants]
TEN_BUGS = {"B01", "B02", "B03", "B04", "B06", "B07", "B08", "B09", "B10", "B73"}

EXACT: dict[str, dict[str, int]] = {
    "late_produce": {"lost": 0},
    "idempotent_producer": {"lost": 0, "doubled_batches": 1},
    "delayed_commit": {"lost": 0, "doubled": 0},
}
"""Scopes small enough to be searched without fingerprints, interpreted, with every state kept: bounds that change."""

REDUCIBLE: dict[str, dict[str, int]] = {
    "delayed_commit": {},
    "delayed_abort": {},
    "late_produce": {},
    "late_verification": {"doubled_batches": 0},
    "kip98_takeover": {},
    "timeout": {"lost": 0},
    "leader_failover": {"doubled_batches": 0, "leader_changes": 1},
    "coordinator_failover": {"unknown_appends": 0},
    "late_offset_commit": {"leader_changes": 0},
    "idempotent_producer": {},
    "producer_expiration": {},
    "given_up_commit": {},
    "resumed_commit": {"failovers": 0},
    "refused_batch": {"doubled_batches": 0},
    "hanging_transaction": {},
    "stale_lookup": {"stale_lookups": 1},
}
"""Small scopes on which a reduction is switched off: name of a scenario -> bounds that make it small."""


@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(scenario, marks=[pytest.mark.deep] if scenario.distinct > MANY else [], id=scenario.name)
        for scenario in SCENARIOS.values()
    ],
)
def test_a_scenario_holds_and_visits_the_pinned_number_of_states(scenario: Scenario) -> None:
    checked = check(scenario, Request(workers=2))
    assert checked.result.verdict == "holds", checked.result.why
    assert checked.is_pinned
    assert checked.result.distinct == scenario.distinct


@pytest.mark.parametrize(("scenario", "mutant"), MUTANTS, ids=lambda value: value.name)
def test_a_mutant_breaks_its_promise_in_the_pinned_number_of_steps(scenario: Scenario, mutant: Mutant) -> None:
    checked = check(scenario, Request(mutant=mutant.name))
    violated = checked.result.violated
    assert violated is not None, "the mutant survived"
    assert violated.promise == mutant.breaks
    assert violated.actions is not None
    assert len(violated.actions) == mutant.steps
    if violated.repeats_from is not None:
        promise = next(p for p in checked.model.promises if p.name == mutant.breaks)
        assert fault_of_round(checked.model, checked.setup, promise, violated.actions, violated.repeats_from) == ""
        return
    _the_promise_breaks_at_the_last_step_only(checked, violated.actions)


def _the_promise_breaks_at_the_last_step_only(checked: Checked, actions: list[int]) -> None:
    steps = replay(checked.model, checked.setup, actions)
    promise = next(p for p in checked.model.promises if checked.mutant and p.name == checked.mutant.breaks)
    broken = [breaks(checked.model, checked.setup, promise, step.after) for step in steps]
    assert broken == [False] * (len(steps) - 1) + [True]


def test_the_bugs_that_the_checker_is_judged_by_are_found() -> None:
    assert {mutant.bug for _, mutant in MUTANTS} >= TEN_BUGS


def test_every_bug_is_explained_in_the_docs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "bugs.md").read_text()
    explained = {line.split("|")[1].strip() for line in page.splitlines() if line.startswith("| B")}
    found, named = {mutant.bug for _, mutant in MUTANTS} - {""}, {bug for cause in CAUSES for bug in cause.bugs}
    assert explained == found | named


def test_every_promise_is_judged_somewhere_and_broken_by_a_mutant() -> None:
    always = {name for name, promise in IN_STATES.items() if promise.kind == "always"}
    assert {name for scenario in OF_TRANSACTIONS for name in scenario.always} == always
    assert {mutant.breaks for _, mutant in MUTANTS} >= always
    leads_to = {name for name, promise in IN_STATES.items() if promise.kind == "leads_to"}
    assert {name for scenario in OF_TRANSACTIONS for name in scenario.leads_to} == leads_to
    assert {mutant.breaks for _, mutant in MUTANTS} >= leads_to


def test_every_scenario_has_a_sometimes_and_a_mutant() -> None:
    poor = [s.name for s in SCENARIOS.values() if not s.sometimes or not s.mutants]
    assert poor == []


def test_every_sometimes_promise_is_reached_somewhere() -> None:
    sometimes = {name for name, promise in IN_STATES.items() if promise.kind == "sometimes"}
    assert {name for scenario in OF_TRANSACTIONS for name in scenario.sometimes} == sometimes


def test_the_default_set_visits_five_million_states() -> None:
    assert sum(scenario.distinct for scenario in SCENARIOS.values()) >= 5_000_000


@pytest.mark.sample("delayed_commit")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.deep] if name == "late_produce" else []) for name in EXACT]
)
def test_fingerprints_buffers_and_compilation_change_nothing(name: str) -> None:
    scenario = SCENARIOS[name]
    bounds = {**scenario.bounds, **EXACT[name]}
    owed = set(scenario.always) - scenario.not_owed(bounds)
    setup = scenario.setup(scenario.own_rules(), bounds)
    exact = agree_everywhere(TRANSACTIONS, setup)
    explored = explore(TRANSACTIONS, setup, promises=owed)
    assert (exact.distinct, exact.generated) == (explored.distinct, explored.generated)
    assert not exact.broken & owed


@pytest.mark.parametrize("switch", ["answers_travel", "keep_refused_copies"])
@pytest.mark.parametrize("name", REDUCIBLE)
def test_a_reduction_changes_no_verdict(name: str, switch: str) -> None:
    scenario = SCENARIOS[name]
    small = {**scenario.bounds, **REDUCIBLE[name]}
    for mutant in (None, *scenario.mutants):
        rules = scenario.own_rules(mutant=mutant)
        judged = (*scenario.always, *scenario.sometimes) if mutant is None else (mutant.breaks,)
        reduced, full = (
            explore(TRANSACTIONS, scenario.setup(rules, bounds), promises=judged)
            for bounds in (small, {**small, switch: 1})
        )
        assert full.verdict == reduced.verdict, mutant
        assert full.distinct >= reduced.distinct or full.violated
        if switch == "keep_refused_copies":
            assert steps_of(full) == steps_of(reduced), mutant


@pytest.mark.parametrize(
    ("model", "few"),
    [
        pytest.param(TRANSACTIONS, FEW, marks=pytest.mark.slow),
        pytest.param(TRANSACTIONS, FEW_DEEP, marks=pytest.mark.deep),
        pytest.param(BETWEEN_BROKERS, FEW_DEEP, marks=pytest.mark.deep),
        pytest.param(ON_REPLICAS, FEW_DEEP, marks=pytest.mark.deep),
    ],
    ids=lambda value: value.name if isinstance(value, Model) else str(value),
)
def test_all_that_is_passed_over_is_disabled(model: Model, few: int) -> None:
    patient = replace(model, name=f"patient_{model.name}", worth_trying=try_all)
    scenarios = [each for each in OF_TRANSACTIONS if each.model(each.bounds) is model and each.distinct < few]
    assert len(scenarios) >= 3
    for scenario in scenarios:
        setup = scenario.setup(scenario.own_rules(), scenario.bounds)
        one, other = (explore(each, setup, promises=scenario.always) for each in (model, patient))
        assert (one.distinct, one.generated, one.depth) == (other.distinct, other.generated, other.depth), scenario.name


def steps_of(result: Result) -> int:
    """How long the shortest story of a violation is; 0: there is none."""
    return len(result.violated.actions or ()) if result.violated is not None else 0


def test_there_are_nine_small_scopes_to_reduce() -> None:
    assert len(REDUCIBLE) >= 9
    assert set(REDUCIBLE) <= set(SCENARIOS)


@pytest.mark.parametrize("name", ["late_verification", pytest.param("zombie_takeover", marks=pytest.mark.slow)])
def test_a_state_of_the_protocol_takes_eighty_bytes_at_most_while_it_waits_and_sixteen_behind(name: str) -> None:
    """The second where there are so many that the table is no longer as large as it begins."""
    scenario = SCENARIOS[name]
    setup = scenario.setup(scenario.own_rules(), scenario.bounds)
    result = explore(scenario.model(scenario.bounds), setup, promises=scenario.kept)
    assert 8 < result.frontier_bytes <= 80
    assert result.distinct < 1_000_000 or result.bytes_per_state <= 16
