"""Every switch of the rules counts in some scenario and breaks a promise when it is turned, or says why not."""

import ast
from dataclasses import replace

import pytest

from zombieproof.checker.engine.explore import explore
from zombieproof.checker.engine.lowering import Lowering
from zombieproof.checker.scenario import Mutant
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.switches import COUNTED, SMALL, WHY_NOT, Counted, mutants_of, takes
from zombieproof.checker.transactions.model import BETWEEN_BROKERS, ON_REPLICAS, TRANSACTIONS
from zombieproof.checker.turning import turn, turned, worth_turning
from zombieproof.model.rules import Rules, switches

NAMES = tuple(facts.name for facts in switches())
LARGE = 400_000
"""Distinct states from which on a scenario is counted once more by `make check` and in CI only."""

UNREAD = {
    "unload_by_epoch",
    "given_back_id_rebalances",
    "full_group_keeps_static_place",
    "emptied_group_assigns_at_once",
    "offset_keeps_topic_id",
    "txn_offset_keeps_topic_id",
}
"""Switches that no step of a scenario reads."""


def _is_slow(switch: str) -> bool:
    return switch in COUNTED and SCENARIOS[COUNTED[switch].scenario].distinct > LARGE


@pytest.mark.parametrize("switch", NAMES)
def test_a_switch_counts_and_has_a_mutant_or_says_why_not(switch: str) -> None:
    lacks = [
        what
        for what, is_there in (
            ("a scenario in COUNTED", switch in COUNTED),
            ("a mutant that turns it alone", bool(mutants_of(switch, SCENARIOS.values()))),
        )
        if not is_there
    ]
    reason = WHY_NOT.get(switch, "")
    assert not lacks or reason, f"{switch} lacks {' and '.join(lacks)}; give it, or say in WHY_NOT why there is none"
    assert lacks or not reason, f"{switch} lacks nothing: delete its reason"


def test_what_is_said_is_said_of_switches_and_scenarios_that_exist() -> None:
    assert set(COUNTED) | set(WHY_NOT) <= set(NAMES)
    assert {counted.scenario for counted in COUNTED.values()} <= set(SCENARIOS)


@pytest.mark.share(2)
@pytest.mark.sample(
    "cleaner_stops_at_stable",
    "stable_waits_for_marker",
    "timeout_bump",
    "pending_first",
    "epoch_fencing",
    "strict_end",
    "watermark_bound",
    "reload_drives_markers",
)
@pytest.mark.parametrize(
    "switch", [pytest.param(name, marks=[pytest.mark.slow] if _is_slow(name) else []) for name in NAMES]
)
def test_scenarios_have_as_many_states_as_is_said_when_a_switch_is_turned(switch: str) -> None:
    turns = [turn(*pair) for pair in worth_turning(SCENARIOS.values()) if pair[0] == switch]
    assert turns
    for found in turns:
        where = f"{found.scenario.name}: {found.result.distinct:,} distinct states, {found.expected:,} are expected"
        assert found.is_as_expected, where
        assert found.counts == (found.result.distinct != found.scenario.distinct), where


def test_a_switch_without_a_count_is_turned_in_ten_small_scenarios() -> None:
    silent = next(name for name in NAMES if name not in COUNTED)
    turned_in = [scenario for switch, scenario in worth_turning(SCENARIOS.values()) if switch == silent]
    assert len(turned_in) >= 10
    assert max(scenario.distinct for scenario in turned_in) <= SMALL


def test_a_count_that_is_wrong_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = SCENARIOS["delayed_commit"]
    monkeypatch.setitem(COUNTED, "single_fence_bump", Counted("delayed_commit", scenario.distinct))
    assert not turn("single_fence_bump", scenario).is_as_expected
    assert turn("unload_by_epoch", scenario).is_as_expected


def test_a_switch_is_taken_away_where_it_is_and_added_where_it_is_not() -> None:
    assert turned(Rules(), "kip360").kip360 == 0
    assert turned(Rules(), "kip939").kip939 == 1


@pytest.mark.parametrize(
    ("mutant", "is_taken"),
    [
        (Mutant("m", "epochs_never_go_down", 1, without=("kip360",)), True),
        (Mutant("m", "epochs_never_go_down", 1, without=("kip360",), changes={"transaction_version": 0}), True),
        (Mutant("m", "epochs_never_go_down", 1, changes={"kip360": 0}), True),
        (Mutant("m", "epochs_never_go_down", 1, without=("kip360", "kip588")), False),
        (Mutant("m", "epochs_never_go_down", 1, without=("kip360",), changes={"kip588": 0}), False),
        (Mutant("m", "epochs_never_go_down", 1, changes={"transaction_version": 0}), False),
    ],
)
def test_a_mutant_is_of_a_switch_if_it_turns_that_one_alone(mutant: Mutant, is_taken: bool) -> None:
    assert takes(mutant, "kip360") is is_taken


@pytest.mark.parametrize("switch", [name for name in NAMES if mutants_of(name, SCENARIOS.values())])
def test_what_a_mutant_breaks_is_kept_under_its_rules_with_the_switch(switch: str) -> None:
    """Where a mutant has rules or bounds of its own, they do not break the promise by themselves."""
    scenario, mutant = mutants_of(switch, SCENARIOS.values())[0]
    if not (mutant.changes or mutant.rules or mutant.bounds):
        assert mutant.breaks in scenario.kept
        return
    bounds = scenario.own_bounds(mutant.bounds)
    rules = replace(scenario.own_rules(mutant=mutant), **{switch: getattr(scenario.own_rules(), switch)})
    result = explore(scenario.model(bounds), scenario.setup(rules, bounds), promises=(mutant.breaks,))
    assert result.verdict == "holds", result.violated


def test_the_switches_that_no_step_reads_are_those_that_say_so() -> None:
    lowering = Lowering()
    for model in (TRANSACTIONS, BETWEEN_BROKERS, ON_REPLICAS):
        for function in (model.step, model.normalise, model.worth_trying):
            assert function is not None
            lowering.read(function)
    nodes = (node for each in lowering.lowered.values() for node in ast.walk(each.tree))
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    assert set(NAMES) - attributes == UNREAD
    assert {name for name, why in WHY_NOT.items() if why.endswith("no step reads the switch")} == UNREAD
