"""Counterexamples and random paths of the checker on live brokers and producers: both arrive at the same place."""

import re
from dataclasses import fields
from functools import partial

import pytest

from tests.bridge.paths import SCENARIOS, chosen_for, stories, walk
from zombieproof.bridge import producers
from zombieproof.bridge.live import Arrival, LiveRun, LiveStep, run_live
from zombieproof.bridge.twin import first_twin
from zombieproof.checker.scenario import Scenario
from zombieproof.checker.transactions.state import Setup
from zombieproof.clients.transaction_manager import TransactionManager
from zombieproof.model.rules import with_switches
from zombieproof.statemachines.producer.records import Producer

STORIES = stories()

NO_LEVER = {
    "appends_under_way": "the state in its smallest form",
    "producer_id_blocks": "the state in its smallest form",
    "two_phase_commit": "is a protocol that no live broker speaks",
}
"""Scenarios that the live system has no levers for, and what is said."""

WITHOUT_A_LEVER = {("leader_failover", "a_new_leader_knows_nothing"): "that has not read what it has"}
"""Mutants that the live system cannot be: no rule of a broker switches this off."""

GIVES_UP_FOR_GOOD = "A: state is 7 in the checker, and 8 in the live producer"
CLIENTS_DIFFER = {
    ("epoch_recovery", "the_client_raises_no_epoch"): GIVES_UP_FOR_GOOD,
    ("late_produce", "no_epoch_of_its_own_for_each_transaction"): GIVES_UP_FOR_GOOD,
}
"""Where no epoch can be raised (before KIP-360) a live producer that gives a batch up does not go on; the checker's
clients leave nothing unresolved (`zombieproof.model.omissions`), and do. With their clients the brokers arrive."""

REFUSED_LIVE = {
    ("id_expiration", "an_open_transaction_is_buried"),
    ("id_expiration", "ids_expire_in_the_middle_of_a_transaction"),
}
"""The last step is a move that no table has: the checker notes it, a live broker raises."""

BREAKING = sorted(set(STORIES) - {(s, m) for s, m in STORIES if s in NO_LEVER} - set(WITHOUT_A_LEVER))


def lived(scenario: str, mutant: str, *, live_producers: bool = True) -> LiveRun:
    model, setup = chosen_for(SCENARIOS[scenario], mutant)
    always = {*SCENARIOS[scenario].always, breaks(scenario, mutant)}
    return run_live(model, setup, STORIES[scenario, mutant], always, live_producers=live_producers)


def breaks(scenario: str, mutant: str) -> str:
    if (scenario, mutant) in REFUSED_LIVE:
        return "no_machine_leaves_its_table"
    found = SCENARIOS[scenario].mutant(mutant)
    assert found is not None
    return found.breaks


def test_every_mutant_has_a_story_here() -> None:
    assert set(STORIES) == {(each.name, m.name) for each in SCENARIOS.values() for m in each.mutants}


@pytest.mark.slow
def test_the_stories_are_those_that_the_checker_finds() -> None:
    from tests.bridge.__main__ import found  # noqa: PLC0415  # it compiles

    assert {(name, mutant): a for name, each in found().items() for mutant, a in each.items()} == STORIES


@pytest.mark.parametrize(("scenario", "mutant"), sorted(set(BREAKING) - set(CLIENTS_DIFFER)))
def test_a_counterexample_breaks_the_same_promise_on_the_live_system(scenario: str, mutant: str) -> None:
    run = lived(scenario, mutant)
    assert (run.arrival, run.why if scenario != "id_expiration" else "") == (Arrival.ARRIVES, "")
    assert breaks(scenario, mutant) in run.broken


@pytest.mark.parametrize(("scenario", "mutant"), CLIENTS_DIFFER)
def test_where_live_producers_differ_the_first_difference_is_told(scenario: str, mutant: str) -> None:
    run = lived(scenario, mutant)
    assert (run.arrival, run.at, run.why) == (Arrival.DIFFERS, 5, CLIENTS_DIFFER[scenario, mutant])
    brokers_only = lived(scenario, mutant, live_producers=False)
    assert brokers_only.arrival is Arrival.ARRIVES
    assert breaks(scenario, mutant) in brokers_only.broken


@pytest.mark.parametrize(("scenario", "mutant"), [each for each in STORIES if each not in BREAKING])
def test_what_there_is_no_lever_for_is_said_and_nothing_is_skipped(scenario: str, mutant: str) -> None:
    run = lived(scenario, mutant)
    says = WITHOUT_A_LEVER.get((scenario, mutant)) or NO_LEVER[scenario]
    assert (run.arrival, run.at, run.steps) == (Arrival.NO_LEVER, 0, ())
    assert re.search(says, run.why)


@pytest.mark.sample("zombie_takeover", "idempotent_producer", "consume_transform_produce", "reader")
@pytest.mark.parametrize("scenario", [s for s in SCENARIOS.values() if s.name not in NO_LEVER], ids=lambda s: s.name)
def test_a_random_path_arrives_on_the_live_system(scenario: Scenario) -> None:
    model, setup = chosen_for(scenario)
    for seed in range(3):
        path = walk(model, setup, seed)
        run = run_live(model, setup, path, scenario.always)
        assert (run.arrival, run.why, len(run.steps)) == (Arrival.ARRIVES, "", len(path))
        assert run.broken == ()


def test_each_step_is_told_when_it_is_taken() -> None:
    scenario, heard = SCENARIOS["zombie_takeover"], list[LiveStep]()
    model, setup = chosen_for(scenario, "end_txn_ignores_epoch")
    path = STORIES["zombie_takeover", "end_txn_ignores_epoch"]
    run = run_live(model, setup, path, scenario.always, hear=heard.append)
    assert tuple(heard) == run.steps
    assert heard[0].text == "A starts and asks for its producer id and epoch"
    assert any(
        line.startswith("coordinator x0: ONGOING --ABORT--> PREPARE_ABORT") for each in heard for line in each.did
    )


# ---------------------------------------------------------------- what it would see


@pytest.mark.parametrize(
    ("scenario", "mutant", "switch"),
    [
        ("zombie_takeover", "end_txn_ignores_epoch", "strict_end"),
        ("leaderless_partition", "marker_skips_a_partition_without_leader", "marker_waits_for_leader"),
        ("idempotent_producer", "leader_recognises_no_duplicates", "duplicate_check"),
    ],
)
def test_a_live_system_with_other_rules_than_the_checker_is_found_out(
    scenario: str, mutant: str, switch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, setup = chosen_for(SCENARIOS[scenario], mutant)
    repaired = with_switches(setup.rules, on=(switch,))
    made = partial(first_twin, rules=repaired)
    monkeypatch.setattr("zombieproof.bridge.live.first_twin", made)
    run = run_live(model, setup, STORIES[scenario, mutant], SCENARIOS[scenario].always)
    assert run.arrival is Arrival.DIFFERS
    assert 0 < run.at <= len(STORIES[scenario, mutant])
    assert run.why


def test_a_live_producer_that_does_something_else_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    model, setup = chosen_for(SCENARIOS["coordinator_failover"], "a_loaded_decision_is_not_driven")
    monkeypatch.setattr(TransactionManager, "begin_commit", TransactionManager.begin_abort)
    run = run_live(model, setup, STORIES["coordinator_failover", "a_loaded_decision_is_not_driven"], ())
    assert run.arrival is Arrival.DIFFERS
    assert "the live producer sends" in run.why


def test_a_live_producer_that_remembers_something_else_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    model, setup = chosen_for(SCENARIOS["one_transaction"])
    path = walk(model, setup, 0)
    new_producer = producers.new_producer

    def altered(setup: Setup, c: int) -> producers.LiveProducer:
        made = new_producer(setup, c)
        made.manager.producer.bump = True
        return made

    monkeypatch.setattr(producers, "new_producer", altered)
    run = run_live(model, setup, path, ())
    assert (run.arrival, run.why) == (Arrival.DIFFERS, "A: bump is 0 in the checker, and 1 in the live producer")


def test_an_impossible_action_is_a_mistake_of_the_path() -> None:
    model, setup = chosen_for(SCENARIOS["one_transaction"])
    with pytest.raises(ValueError, match=r"step 1: there is no action 4000; legal: 0 to"):
        run_live(model, setup, (4000,), ())
    with pytest.raises(ValueError, match="step 1: action 1 is not possible here"):
        run_live(model, setup, (1,), ())


def test_what_is_not_compared_is_a_field_of_the_record() -> None:
    assert set(producers.NOT_COMPARED) < {each.name for each in fields(Producer)}
