"""What the models of this program declare to be alike: clients, attempts of tasks, partitions."""

from collections.abc import Mapping

import pytest

from tests.checker.alikeness import names_of, nobody_notices
from zombieproof.checker.checking import Request, check
from zombieproof.checker.engine.replay import agree_everywhere
from zombieproof.checker.engine.symmetry import symmetric
from zombieproof.checker.scenario import Scenario
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.transactions.scenario import transaction_scenario
from zombieproof.checker.transactions.vocabulary import Op

_SAME = ((Op.SEND_0, Op.COMMIT),)
RIVALS = transaction_scenario(
    "rivals", "Two instances of one application.", (_SAME, _SAME), sometimes=("a_transaction_commits",), lost=1
)
NEIGHBOURS = transaction_scenario(
    "neighbours",
    "Two applications that do the same.",
    (_SAME, _SAME),
    ids=(0, 1),
    sometimes=("two_transactions_commit",),
    doubled_batches=1,
    timeouts=1,
    failovers=1,
)
PLAIN = transaction_scenario(
    "plain",
    "Two idempotent producers.",
    (((Op.SEND_0,), (Op.SEND_0,)), ((Op.SEND_0,), (Op.SEND_0,))),
    ids=(-1, -1),
    always=("every_batch_is_written_once", "epochs_never_go_down"),
    sometimes=("two_batches_are_remembered",),
    lost=1,
    late=1,
)
SPARK: Mapping[str, dict[str, int]] = {
    "spark_partition_sink": {"records": 1},
    "spark_task_attempts": {"records": 1, "extra_attempts": 1},
    "spark_two_phase_sink": {"extra_attempts": 1, "crashes": 1},
}
LONG = ("spark_partition_sink",)
"""A minute even so: `make reductions` sees that its verdicts are the same, `make deep` each of its states."""


def small(
    scenario: Scenario,
    bounds: Mapping[str, int],
    least: int,
    most: int = 2_000,
    tried: int = 100,
    *,
    with_mutants: bool = True,
) -> None:
    """See in a small scope that nobody notices, under the rules of the scenario and of each mutant."""
    for mutant in (None, *(scenario.mutants if with_mutants else ())):
        own = scenario.own_bounds({**(mutant.bounds if mutant else {}), **bounds})
        model, setup = scenario.model(own), scenario.setup(scenario.own_rules(mutant=mutant), own)
        for sort in model.sorts(setup):
            count = nobody_notices(model, setup, names_of(model, sort), most=most, tried=tried)
            assert mutant is not None or count >= least


def test_attempts_of_the_two_phase_sink_are_alike() -> None:
    small(SCENARIOS["spark_two_phase_sink"], SPARK["spark_two_phase_sink"], 500, with_mutants=False)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.deep if name in LONG else pytest.mark.slow]) for name in SPARK]
)
def test_sparks_attempts_and_partitions_are_alike(name: str) -> None:
    small(SCENARIOS[name], SPARK[name], 500)


@pytest.mark.deep
@pytest.mark.parametrize("name", SPARK)
def test_sparks_attempts_and_partitions_are_alike_in_thousands_of_states(name: str) -> None:
    small(SCENARIOS[name], SPARK[name], 500, tried=2_000)


@pytest.mark.deep
@pytest.mark.parametrize("scenario", [RIVALS, NEIGHBOURS, PLAIN], ids=lambda scenario: scenario.name)
def test_clients_with_the_same_programs_are_alike(scenario: Scenario) -> None:
    small(scenario, {}, 100, most=5_000, tried=2_000)


@pytest.mark.deep
def test_clients_are_alike_that_get_their_ids_from_blocks() -> None:
    small(SCENARIOS["producer_id_blocks"], {"failovers": 0}, 500, most=5_000, tried=2_000)


@pytest.mark.deep
@pytest.mark.parametrize("scenario", [RIVALS, NEIGHBOURS, PLAIN], ids=lambda scenario: scenario.name)
def test_of_two_images_about_one_is_explored(scenario: Scenario) -> None:
    full, half = check(scenario), check(scenario, Request(reduce=("symmetry",)))
    if half.reduced is not None and half.reduced.unused:
        assert "tells them apart" in half.reduced.unused["symmetry"]
    assert full.result.verdict == half.result.verdict
    assert full.result.distinct / 2 <= half.result.distinct < full.result.distinct * 0.6


@pytest.mark.slow
@pytest.mark.parametrize("name", SPARK)
def test_compiled_and_interpreted_agree_on_representatives(name: str) -> None:
    scenario = SCENARIOS[name]
    own = scenario.own_bounds(SPARK[name])
    setup = scenario.setup(scenario.own_rules(), own)
    model = symmetric(scenario.model(own), setup, scenario.always).model
    assert agree_everywhere(model, setup, max_states=40).distinct >= 40


@pytest.mark.parametrize(
    ("name", "bounds"),
    [
        ("zombie_takeover", {}),
        ("consume_transform_produce", {}),
        ("two_transactions", {}),
        ("appends_under_way", {}),
        ("spark_naive_sink", {}),
        ("spark_batch_sink", {}),
    ],
)
def test_where_something_tells_them_apart_nothing_is_declared(name: str, bounds: Mapping[str, int]) -> None:
    scenario = SCENARIOS[name]
    own = scenario.own_bounds(bounds)
    assert scenario.model(own).sorts(scenario.setup(scenario.own_rules(), own)) == ()


@pytest.mark.parametrize("bounds", [{"shuffled": 1}, {"partitions": 1}, {"sink": 4}, {"reads": 1}])
def test_partitions_are_not_alike_whose_tasks_do_not_commit_by_themselves(bounds: Mapping[str, int]) -> None:
    scenario = SCENARIOS["spark_partition_sink"]
    own = scenario.own_bounds(bounds)
    sorts = scenario.model(own).sorts(scenario.setup(scenario.own_rules(), own))
    assert [sort.name for sort in sorts] == ["attempts"]
