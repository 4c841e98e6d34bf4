"""A scenario finds what it is for: with brokers that lack a rule it fails, and so does the loop under a fault."""

from pathlib import Path

import pytest
import yaml

from tests.real_clients.scenarios import FAULTS, LOOP_ID, SCENARIOS, Stage, fill, is_copied_once, loop

WITHOUT = {
    "zombies_are_fenced": ("strict_end", "epoch_fencing"),
    "read_committed_hides": ("stable_bound",),
}
"""Scenario -> the rules without which it fails."""

FOUND = {"zombies_are_fenced": "DID NOT RAISE", "read_committed_hides": "of p"}
"""What it says then."""


def plan_without(folder: Path, *rules: str, **more: object) -> tuple[str, str]:
    """The options of brokers that lack rules."""
    plan = folder / "without.yaml"
    plan.write_text(yaml.safe_dump({"name": "rules are off", "rules_off": list(rules), **more}))
    return "--plan", str(plan)


@pytest.mark.sample("zombies")
@pytest.mark.parametrize("client", ["confluent-kafka"], indirect=True)
@pytest.mark.parametrize("scenario", WITHOUT)
def test_a_scenario_fails_at_brokers_that_lack_a_rule(stage: Stage, tmp_path: Path, scenario: str) -> None:
    stage.options = plan_without(tmp_path, *WITHOUT[scenario])
    with pytest.raises((AssertionError, pytest.fail.Exception), match=FOUND[scenario]):
        SCENARIOS[scenario](stage)


@pytest.mark.slow
@pytest.mark.parametrize("client", ["confluent-kafka"], indirect=True)
def test_a_copy_that_is_written_twice_is_found(stage: Stage, tmp_path: Path) -> None:
    fault = FAULTS["nobody hears of a record"]
    request = {"api": "Produce", "transactional_id": LOOP_ID, "nth": 3}
    rules = ("duplicate_check", "sequence_check")
    observer = stage.begin(plan_without(tmp_path, *rules, faults=[{**fault, "request": request}]))
    fill(observer)
    loop(stage.start())
    with pytest.raises(AssertionError, match="copy of"):
        is_copied_once(observer)
