"""The table of switches says which mutants and counts were found, and a count that is not the pinned one is a fault."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from zombieproof.checker.engine.explore import explore
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.switches import COUNTED, WHY_NOT
from zombieproof.checker.turning import Turn, turn
from zombieproof.model.rules import switches
from zombieproof.report.switches import faults_of, section
from zombieproof.report.verification import switches_check

LATE_PRODUCE = SCENARIOS["late_produce"]


@pytest.fixture(scope="module")
def counted() -> Turn:
    """A switch that counts, turned."""
    return turn("duplicate_check", LATE_PRODUCE)


@pytest.fixture(scope="module")
def silent() -> Turn:
    """A switch that changes nothing, turned."""
    return turn("unload_by_epoch", LATE_PRODUCE)


def _hunt(scenario: str, mutant: str) -> Any:
    found = SCENARIOS[scenario]
    named = found.mutant(mutant)
    assert named
    return SimpleNamespace(scenario=found, mutant=named, steps=named.steps)


def _rows(text: str) -> dict[str, list[str]]:
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if "| `" in line]
    return {first.strip("`"): others for first, *others in cells}


def test_every_switch_has_its_row_with_the_shortest_story_first(counted: Turn, silent: Turn) -> None:
    hunts = [
        _hunt("producer_expiration", "no_verification_of_forgotten_producers"),
        _hunt("late_verification", "a_late_record_hangs"),
        _hunt("one_transaction", "leader_checks_neither_duplicates_nor_sequences"),
    ]
    rows = _rows(section(hunts, [counted, silent]))
    assert list(rows) == [facts.name for facts in switches()]
    mutants, steps, *_ = rows["verification"]
    assert mutants == (
        "`producer_expiration`: `no_verification_of_forgotten_producers`<br>`late_verification`: `a_late_record_hangs`"
    )
    assert steps == "9"
    assert rows["duplicate_check"][:-1] == ["", "", "`late_produce`", "531", "597"]
    assert rows["unload_by_epoch"] == ["", "", "", "", "", WHY_NOT["unload_by_epoch"]]


def test_what_is_as_it_must_be_is_no_fault(counted: Turn, silent: Turn) -> None:
    check = switches_check([counted, silent])
    assert (check.outcome, check.faults) == ("ok", ())
    assert check.found == "1 change a number of states, 1 change none that is small, with a reason"


def test_another_count_is_a_fault_that_says_what_to_do(counted: Turn, silent: Turn) -> None:
    wrong, louder = replace(counted, expected=7), replace(silent, expected=7)
    turns, states, else_ = "late_produce with", "distinct states", "instead of a reason"
    where = "zombieproof/checker/switches.py"
    assert faults_of([wrong, silent, louder]) == (
        f"{turns} duplicate_check turned: 597 {states}, 7 are pinned in {where}: if that is meant, pin the new number",
        f"{turns} unload_by_epoch turned: 531 {states}, 7 without: the switch counts; pin that in {where} {else_}",
    )
    assert switches_check([counted, wrong]).outcome == "FAILED"


def test_an_exploration_that_ended_early_leaves_it_open(counted: Turn) -> None:
    setup = LATE_PRODUCE.setup(LATE_PRODUCE.own_rules(), LATE_PRODUCE.bounds)
    early = replace(counted, result=explore(LATE_PRODUCE.model({}), setup, promises=(), max_states=5))
    check = switches_check([early])
    assert (check.outcome, check.faults) == ("inconclusive", ())
    assert COUNTED["duplicate_check"].scenario == "late_produce"
