"""--model chooses the scenarios of one registered model."""

from pathlib import Path
from typing import Any

import pytest

from zombieproof.checker.scenarios import MODELS, SCENARIOS, model_of, scenarios_of
from zombieproof.cli.scenario_options import names_of_models


def names_of(model: str) -> list[str]:
    return list(MODELS[model])


def test_each_scenario_is_registered_once_under_one_model() -> None:
    names = [name for its in MODELS.values() for name in its]
    assert names == list(SCENARIOS)
    assert len(set(names)) == len(names) == len(SCENARIOS)
    assert [scenario.name for scenario in SCENARIOS.values()] == names
    assert {id(scenario) for model in MODELS for scenario in scenarios_of(model)} == set(map(id, SCENARIOS.values()))
    assert {model_of(scenario) for scenario in SCENARIOS.values()} == set(MODELS)


@pytest.mark.parametrize("model", MODELS)
def test_the_scenarios_of_a_model_have_one_kind_of_state(model: str) -> None:
    """What a model has room for differs, and so its name; behind a name stand its sizes."""
    assert all(scenario.model(scenario.bounds).name.startswith(model) for scenario in scenarios_of(model))


@pytest.mark.parametrize("model", MODELS)
def test_scenarios_lists_those_of_a_model(run: Any, model: str) -> None:
    listed = run("scenarios", "--model", model)
    assert listed.code == 0
    assert [line.split()[0] for line in listed.out.split("\n\n")[0].splitlines()[1:]] == names_of(model)
    assert run("check", "--list", "--model", model).out == listed.out
    data = run("scenarios", "--model", model, "--json").json["scenarios"]
    assert [(each["name"], each["model"]) for each in data] == [(name, model) for name in names_of(model)]


def test_one_of_a_model_is_told_by_name(run: Any) -> None:
    told = run("scenarios", "two_phase_commit", "--model", "two_phase_commit")
    assert told.out == run("scenarios", "two_phase_commit").out


def test_what_a_file_defines_is_of_no_registered_model(run: Any, repository_root: Path) -> None:
    file = repository_root / "zombieproof/checker/two_phase_commit/scenario.py"
    assert [each["model"] for each in run("scenarios", file, "--json").json["scenarios"]] == [None, None]


def test_check_explores_all_of_a_model(run: Any) -> None:
    outcome = run("check", "--model", "two_phase_commit", "--bounds", "n=3", "--json")
    assert outcome.code == 0
    assert [each["name"] for each in outcome.json["scenarios"]] == names_of("two_phase_commit")


def test_check_explores_the_named_ones_of_a_model(run: Any) -> None:
    asked = ("two_phase_commit_ends", "--bounds", "n=2", "--json")
    outcome = run("check", *asked, "--model", "two_phase_commit")
    assert [each["name"] for each in outcome.json["scenarios"]] == ["two_phase_commit_ends"]
    assert outcome.json["scenarios"][0]["distinct"] == run("check", *asked).json["scenarios"][0]["distinct"]


def test_mutants_of_a_model_are_hunted(run: Any) -> None:
    found = run("check", "--model", "two_phase_commit", "--mutants", "--json").json["mutants"]
    assert [each["mutant"] for each in found] == ["commit_without_waiting_for_all", "the_manager_never_gives_up"]


def test_a_mutant_is_looked_for_in_the_model(run: Any) -> None:
    asked = ("--mutant", "the_manager_never_gives_up", "--json")
    outcome = run("check", "--model", "two_phase_commit", *asked)
    assert [each["name"] for each in outcome.json["scenarios"]] == ["two_phase_commit_ends"]
    refused = run("check", "--model", "spark_sink", *asked)
    assert (refused.code, "no mutant" in refused.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["check", "--model", "two_phase"], "there is no model named 'two_phase'; did you mean two_phase_commit?"),
        (["check", "--model", "sparksink"], "did you mean spark_sink?"),
        (["check", "--model", "zzz"], "there is no model named 'zzz'; there are: transactions, two_phase_commit"),
        (["check", "--model", "zombie_takeover"], "there is no model named 'zombie_takeover'"),
        (["check", "--model", "Spark_Sink"], "there is no model named 'Spark_Sink'; did you mean spark_sink?"),
        (
            ["check", "two_phase_commit", "late_produce", "--model", "two_phase_commit"],
            "late_produce belongs to the model transactions; two_phase_commit has: two_phase_commit, two_phase",
        ),
        (
            ["scenarios", "two_phase_commit", "--model", "transactions"],
            " more (zombieproof scenarios --model transactions)",
        ),
        (["check", "late_prod", "--model", "spark_sink"], "no scenario named 'late_prod'; did you mean late_produce"),
        (
            ["check", "examples/own_model.py", "--model", "spark_sink"],
            "--model spark_sink and examples/own_model.py: scenarios of a file belong to no registered model",
        ),
        (["check", "no_such.py", "--model", "spark_sink"], "belong to no registered model"),
        (
            ["check", "--model", "spark_sink", "examples/own_model.py", "--list"],
            "belong to no registered model",
        ),
        (
            ["scenarios", "examples/own_model.py:SCENARIO", "--model", "transactions"],
            "belong to no registered model",
        ),
        (["scenarios", "--model", "two_phase"], "did you mean two_phase_commit?"),
        (["check", "--model", "spark_sink", "--bounds", "n=3"], "there is no bound named 'n'"),
        (["check", "--model"], "--model"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_is_refused_with_what_would_be(run: Any, arguments: list[str], says: str) -> None:
    outcome = run(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert says in outcome.err
    assert "Traceback" not in outcome.err


def test_a_shell_completes_models() -> None:
    assert names_of_models("tr") == ["transactions"]
    assert names_of_models("") == list(MODELS)
    assert names_of_models("x") == []
