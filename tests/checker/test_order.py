"""What the models declare to meet nothing: the next step of a client that waits for nobody, of an attempt."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.checker.ordering import nothing_interferes
from zombieproof.checker.scenario import Scenario
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.transactions.budget import FAULTS
from zombieproof.checker.transactions.order import ORDER
from zombieproof.checker.transactions.scenario import transaction_scenario
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import State
from zombieproof.checker.transactions.vocabulary import Op

_TWO = ((Op.SEND_0, Op.COMMIT), (Op.SEND_1, Op.COMMIT))
_ONE = ((Op.SEND_0, Op.COMMIT),)
SCOPES: Mapping[str, Scenario] = {
    name: transaction_scenario(name, "A small scope.", programs, ids=ids, sometimes=("a_transaction_commits",))
    for name, programs, ids in (
        ("alone", (_TWO,), (0, 0)),
        ("rivals", (_ONE, _ONE), (0, 0)),
        ("neighbours", (_ONE, _ONE), (0, 1)),
    )
}
GROUPED = transaction_scenario(
    "grouped",
    "A small scope.",
    (((Op.FETCH, Op.OFFSETS, Op.COMMIT),), ((Op.FETCH, Op.OFFSETS, Op.COMMIT),)),
    ids=(0, 1),
    grouped=1,
    sometimes=("a_transaction_commits",),
    rebalances=1,
)
SPARK: Mapping[str, dict[str, int]] = {"spark_partition_sink": {"crashes": 0}, "spark_two_phase_sink": {}}


def every_state(scenario: Scenario, bounds: Mapping[str, int], most: int = 2_500) -> int:
    """See that nothing interferes, under the rules of each mutant too; returns how often a cluster is ready."""
    found = 0
    for mutant in (None, *scenario.mutants):
        own = scenario.own_bounds({**(mutant.bounds if mutant else {}), **bounds})
        model, setup = scenario.model(own), scenario.setup(scenario.own_rules(mutant=mutant), own)
        found += nothing_interferes(model, setup, [promise.name for promise in model.promises], most)[1]
    return found


def test_the_next_step_of_a_client_that_waits_for_nobody_meets_nothing() -> None:
    assert every_state(SCOPES["rivals"], {}) > 50


@pytest.mark.deep
@pytest.mark.parametrize("name", SCOPES)
@pytest.mark.parametrize(
    "fault",
    [
        fault
        for fault in FAULTS
        if fault
        not in {"failed_appends", "hard_appends", "controller_changes", "failed_commits", "rebalances", "truncations"}
    ],
)
def test_no_fault_comes_between_answer_and_step(name: str, fault: str) -> None:
    assert every_state(SCOPES[name], {fault: 1}) > 5


@pytest.mark.deep
@pytest.mark.parametrize("bounds", [{}, {"lost": 1}, {"crashes": 1}], ids=str)
def test_members_of_a_group_that_do_not_fetch_meet_nothing(bounds: Mapping[str, int]) -> None:
    assert every_state(GROUPED, bounds) > 10


@pytest.mark.deep
@pytest.mark.parametrize("bounds", [{"appends_travel": 1}, {"verification_queue": 1}, {"id_blocks": 1}], ids=str)
@pytest.mark.parametrize("fault", ["lost", "failovers", "unknown_appends"])
def test_what_travels_between_brokers_does_not_come_between(bounds: Mapping[str, int], fault: str) -> None:
    assert every_state(SCOPES["rivals"], {**bounds, fault: 1}) > 10


@pytest.mark.sample("spark_two_phase_sink")
@pytest.mark.parametrize("name", SPARK)
def test_the_next_step_of_the_only_attempt_of_its_task_meets_nothing(name: str) -> None:
    assert every_state(SCENARIOS[name], {**SPARK[name], "records": 1}, most=600) > 100


@pytest.mark.deep
@pytest.mark.parametrize("name", ["spark_partition_sink", "spark_task_attempts", "spark_two_drivers"])
@pytest.mark.parametrize("fault", ["lost", "orphans", "lost_checkpoints", "raised"])
def test_no_fault_comes_between_the_steps_of_an_attempt(name: str, fault: str) -> None:
    none = dict.fromkeys(SCENARIOS[name].faults, 0)
    assert every_state(SCENARIOS[name], {**none, fault: 1}) > 10


def idle(state: State, setup: Setup, c: int) -> bool:
    """Wrong: a new instance asks the present coordinator, and that may change."""
    waits = any(message.live and message.client == c for message in state.messages)
    return c < setup.bounds.clients and not waits and state.clients[c].txn < setup.bounds.transactions[c]


@pytest.mark.parametrize("fault", ["failovers", "deposed"])
def test_a_client_that_starts_while_the_coordinator_may_change_is_found_out(fault: str) -> None:
    scenario = SCOPES["alone"]
    own = scenario.own_bounds({fault: 1})
    wrong = replace(ORDER, is_ready=idle)
    model = replace(scenario.model(own), order=lambda setup: wrong)
    with pytest.raises(AssertionError, match="C1: "):
        nothing_interferes(model, scenario.setup(scenario.own_rules(), own), [], 300)
