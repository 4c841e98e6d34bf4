"""Readings of a scenario: switches of its model's own rules, which are among its bounds."""

from dataclasses import replace
from typing import Any

import pytest

from zombieproof.checker.registered import registered
from zombieproof.checker.request import Request, asked_of, chosen
from zombieproof.checker.scenario import Mutant, UnknownBound
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.validation import ScenarioFault
from zombieproof.model.rules import UnknownRule

SCENARIO = SCENARIOS["two_phase_commit"]
BROKEN = "nobody_commits_what_another_aborted"


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"readings": ("wait_for_al",)}, "readings names 'wait_for_al', which is no bound; did you mean wait_for_all"),
        ({"readings": ("kip360",)}, "readings names 'kip360', which is no bound; there are: n, wait_for_all, gives_up"),
        ({"readings": ("n",)}, "n=7 is a reading, and neither off nor on; give 0 or 1"),
        ({"readings": "gives_up"}, 'behind a single one stands a comma, readings=("gives_up",)'),
        ({"readings": ["gives_up"]}, "give a tuple of texts"),
        ({"readings": (1,)}, "give a tuple of texts"),
        ({"readings": None}, "give a tuple of texts"),
        ({"readings": ("gives_up", "gives_up")}, "readings names 'gives_up' twice"),
        ({"mutants": (Mutant("m", BROKEN, 3, bounds={"gives_up": 2}),)}, "'m': gives_up=2 is neither off nor on"),
    ],
)
def test_readings_that_cannot_be_are_refused(changed: dict[str, Any], says: str) -> None:
    with pytest.raises(ScenarioFault) as refused:
        replace(SCENARIO, **changed)
    assert says in str(refused.value)
    assert str(refused.value).startswith("scenario 'two_phase_commit': ")


@pytest.mark.parametrize("value", [2, -1, 101])
def test_a_reading_is_on_or_off(value: int) -> None:
    with pytest.raises(UnknownBound, match=f"wait_for_all={value} is neither off nor on; give 0 or 1"):
        SCENARIO.own_bounds({"wait_for_all": value})


def test_readings_become_bounds_and_other_rules_stay_kafkas() -> None:
    rules, bounds = chosen(SCENARIO, Request(on=("transaction_version=0", "gives_up=0"), off=("kip360",)))
    assert (rules.transaction_version, rules.kip360) == (0, 0)
    assert bounds == {"n": 7, "wait_for_all": 1, "gives_up": 0}


def test_a_reading_changes_what_a_mutant_does_and_agrees_with_bounds() -> None:
    asked = Request(mutant="commit_without_waiting_for_all", on=("wait_for_all",))
    assert chosen(SCENARIO, asked)[1]["wait_for_all"] == 1
    assert chosen(SCENARIO, Request(off=("gives_up",), bounds={"gives_up": 0}))[1]["gives_up"] == 0
    with pytest.raises(UnknownBound, match="gives_up is disabled, but the bounds set gives_up=1"):
        chosen(SCENARIO, Request(off=("gives_up",), bounds={"gives_up": 1}))


def test_without_readings_all_rules_are_kafkas() -> None:
    asked = asked_of(SCENARIOS["late_produce"], ["kip360", "transaction_version=0"], ["no_such"])
    assert (asked.readings, asked.on, asked.off) == ({}, ("kip360", "transaction_version=0"), ("no_such",))
    with pytest.raises(UnknownRule, match="no rule is named 'wait_for_all'"):
        chosen(SCENARIOS["late_produce"], Request(off=("wait_for_all",)))


@pytest.mark.parametrize(
    ("on", "off", "says"),
    [
        (("wait_for_al",), (), "two_phase_commit: no rule is named 'wait_for_al'; did you mean wait_for_all"),
        ((), ("wait_for_al",), "two_phase_commit: no rule is named 'wait_for_al'; did you mean wait_for_all"),
        (("gives_up=2",), (), "a rule is 1"),
        ((), ("gives_up=1",), "to disable a rule, give only its name: --without"),
        (("gives_up",), ("gives_up",), "given with --with and --without; choose one"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(on: tuple[str, ...], off: tuple[str, ...], says: str) -> None:
    with pytest.raises(UnknownRule) as refused:
        chosen(SCENARIO, Request(on=on, off=off))
    assert says in str(refused.value)


def test_what_is_known_with_some_readings_is_not_known_with_others() -> None:
    known = Mutant("open", BROKEN, 3, bounds={"wait_for_all": 0}, known="it is so")
    scenario = replace(SCENARIO, mutants=(known,))
    rules = scenario.own_rules()
    found = registered(scenario, rules, scenario.own_bounds({"wait_for_all": 0}), BROKEN)
    assert found is not None
    assert found.mutant == "open"
    assert registered(scenario, rules, scenario.own_bounds({}), BROKEN) is None
