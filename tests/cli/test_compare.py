"""What other rules change, side by side; and what the tables print can be given to the options."""

from pathlib import Path
from typing import Any

import pytest

from zombieproof.checker.checking import Request, chosen
from zombieproof.checker.scenario import Mutant, Scenario
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.report.check_text import options_of

B73 = ("leaderless_partition", "--without", "marker_waits_for_leader", "--compare")
MUTANTS = [(scenario, mutant) for scenario in SCENARIOS.values() for mutant in scenario.mutants]


def bugs(root: Path) -> list[tuple[str, str]]:
    """Command and steps of each row of the table of bugs in the README."""
    rows = [line.split(" | ") for line in (root / "README.md").read_text().splitlines() if line.startswith("| B")]
    return [(row[1].strip("`"), row[3].removesuffix(" |")) for row in rows]


# ---------------------------------------------------------------- compare


def test_a_comparison_shows_verdicts_counts_and_where_the_stories_part(run: Any) -> None:
    outcome = run("check", *B73, "--brief")
    assert outcome.code == 1
    lines = [line.strip() for line in outcome.out.splitlines()]
    assert lines[0] == "leaderless_partition"
    rows = {line.split()[0]: line.split()[1:] for line in lines[2:9]}
    assert rows["verdict"] == ["holds", "violated"]
    assert rows["distinct"][0] == f"{SCENARIOS['leaderless_partition'].distinct:,}"
    assert rows["broken"] == ["-", "an_acknowledged_commit_loses_nothing"]
    assert rows["steps"] == ["-", "26"]
    assert "The story after the change goes 12 steps the same way on both sides. Step 13:" in lines
    before = lines.index("before: A's EndTxn COMMIT (producer 0, epoch 0) arrives at the coordinator")
    after = lines.index("after: A's EndTxn COMMIT (producer 0, epoch 0) arrives at the coordinator")
    taken_off = "* p0 has no leader: it is taken off the list of x0 without a marker"
    assert taken_off not in lines[before:after]
    assert taken_off in lines[after:]
    assert "Broken after 26 steps: an_acknowledged_commit_loses_nothing" in lines
    assert lines[-1] == "1 scenario compared, 1 with another verdict or another story"


def test_a_comparison_as_json_has_both_runs_and_the_step(run: Any) -> None:
    outcome = run("check", *B73, "--json")
    assert (outcome.code, outcome.err) == (1, "")
    assert set(outcome.json) == {"verdict", "comparisons"}
    [one] = outcome.json["comparisons"]
    assert set(one) == {"name", "is_same", "before", "after", "parting"}
    assert (outcome.json["verdict"], one["before"]["verdict"], one["after"]["verdict"]) == (
        "violated",
        "holds",
        "violated",
    )
    assert one["parting"]["step"] == 13
    assert one["parting"]["before"]["changes"] != one["parting"]["after"]["changes"]


def test_the_step_that_is_shown_is_told_differently_on_both_sides(run: Any) -> None:
    outcome = run(
        "check", "timeout", "--without", "timeout_bump", "--with", "transaction_version=0", "--compare", "--json"
    )
    [one] = outcome.json["comparisons"]
    other = run("check", "idempotent_producer", "--without", "sequence_check", "--compare", "--json")
    [another] = other.json["comparisons"]
    for parting in (one["parting"], another["parting"]):
        said = [
            side and (side["description"], side["verdicts"], side["moves"], side["changes"])
            for side in (parting["before"], parting["after"])
        ]
        assert said[0] != said[1]
        assert said[1] is not None
    assert one["parting"]["step"] == 3


def test_the_exit_code_is_that_of_the_changed_rules(run: Any) -> None:
    outcome = run("check", "late_produce", "--rules", "kip98", "--with", "kip360", "--compare", "--json")
    assert outcome.code == {"holds": 0, "violated": 1}[outcome.json["verdict"]]
    repaired = run(
        "check", "delayed_commit", "--rules", "4.3-tv0", "--with", "transaction_version=2", "--compare", "--json"
    )
    [one] = repaired.json["comparisons"]
    assert (repaired.code, one["before"]["verdict"], one["after"]["verdict"]) == (0, "violated", "holds")
    assert one["parting"]["step"] > 0


def test_a_preset_and_a_mutant_are_compared_with_the_scenario_as_it_is(run: Any) -> None:
    [one] = run("check", "late_produce", "--rules", "kip98", "--compare", "--json").json["comparisons"]
    assert (one["before"]["rules"], one["after"]["rules"]) == ("newest", "kip98")
    mutant = "marker_skips_a_partition_without_leader"
    [one] = run("check", "--mutant", mutant, "--compare", "--json").json["comparisons"]
    assert (one["before"]["verdict"], one["after"]["rules"]) == ("holds", f"newest, mutant {mutant}")


def test_what_changes_nothing_is_said(run: Any) -> None:
    same = run("check", "late_produce", "--with", "kip360", "--compare")
    assert (same.code, "Nothing is changed: it has these rules already." in same.out) == (0, True)
    own = run("check", "two_phase_commit", "--bounds", "n=3", "--without", "kip360", "--compare")
    assert "Nothing is changed: its model reads no rule of Kafka's." in own.out


def test_the_story_after_the_change_can_be_written(run: Any, tmp_path: Path) -> None:
    assert run("check", *B73, "-o", tmp_path / "story.jsonl").code == 1
    assert run("replay", tmp_path / "story.jsonl").code == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--compare"], "--compare: there is no change to compare"),
        (["--compare", "--with", "kip360", "--format", "junit"], "text or json"),
        (["--compare", "--mutants"], "choose one"),
        (["--without", "transaction_version=0"], "set it with --with transaction_version=0"),
        (["--without", "transaction_version"], "set it with --with transaction_version=0"),
        (["--with", "transaction_version"], "set it with --with transaction_version=0"),
        (["--with", "transaction_version=3"], "give 0 to 2"),
        (["--with", "transaction_version="], "is no number"),
        (["--with", "transaction_version=0", "--with", "transaction_version=1"], "given twice; choose one value"),
        (["--with", "kip360=0"], "has no number"),
        (["--with", "transaction_versio=0"], "has no number"),
    ],
    ids=" ".join,
)
def test_wrong_usage_is_exit_code_2_with_the_next_try(run: Any, options: list[str], says: str) -> None:
    outcome = run("check", "late_produce", *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert says in outcome.err


# ---------------------------------------------------------------- what tables print


def test_there_are_bugs_in_the_readme(repository_root: Path) -> None:
    assert len(bugs(repository_root)) == len([mutant for _, mutant in MUTANTS if mutant.bug])


@pytest.mark.sample("shortened_", "resumed_", "epoch_exhaustion")
@pytest.mark.parametrize(("command", "steps"), bugs(Path(__file__).parents[2]), ids=lambda value: value)
def test_the_command_of_a_row_finds_its_bug_in_as_many_steps(run: Any, command: str, steps: str) -> None:
    program, *arguments = command.split()
    assert program == "zombieproof"
    outcome = run(*arguments, "--json")
    assert outcome.code == 1
    [found] = outcome.json["scenarios"]
    assert len(found["violated"]["steps"]) == int(steps)


@pytest.mark.parametrize(("scenario", "mutant"), MUTANTS, ids=lambda value: value.name)
def test_the_options_that_are_printed_make_the_rules_and_bounds_of_the_mutant(
    scenario: Scenario, mutant: Mutant
) -> None:
    words = options_of(mutant).split()
    pairs = list(zip(words[::2], words[1::2], strict=True))
    bounds = next((value for option, value in pairs if option == "--bounds"), "")
    request = Request(
        rules=next((value for option, value in pairs if option == "--rules"), ""),
        on=tuple(value for option, value in pairs if option == "--with"),
        off=tuple(value for option, value in pairs if option == "--without"),
        bounds={name: int(value) for name, value in (each.split("=") for each in bounds.split(",") if each)},
    )
    assert chosen(scenario, request) == chosen(scenario, Request(mutant=mutant.name))
