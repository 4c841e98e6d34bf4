"""--with and --without switch a model's own rules, where a scenario names them as its readings."""

from pathlib import Path
from typing import Any

import pytest

from zombieproof.cli.scenario_options import names_of_rules

BROKEN = "nobody_commits_what_another_aborted"
SMALL = ("two_phase_commit", "--bounds", "n=3")


def test_a_reading_that_is_switched_off_breaks_what_it_is_for(run: Any) -> None:
    outcome = run("check", "two_phase_commit", "--without", "wait_for_all", "--json")
    assert outcome.code == 1
    [found] = outcome.json["scenarios"]
    assert (found["rules"], found["violated"]["promise"]) == ("own without wait_for_all", BROKEN)
    assert len(found["violated"]["steps"]) == 3
    assert found["bounds"] == {"n": 7, "wait_for_all": 0, "gives_up": 1}


@pytest.mark.parametrize(
    ("options", "rules", "code"),
    [
        (("--with", "wait_for_all"), "own with wait_for_all", 0),
        (("--with", "wait_for_all=1"), "own with wait_for_all", 0),
        (("--with", "wait_for_all=0"), "own without wait_for_all", 1),
        (("--with", " wait_for_all = 0 "), "own without wait_for_all", 1),
        (("--with", "gives_up", "--without", "wait_for_all"), "own with gives_up without wait_for_all", 1),
        (("--without", "kip360"), "own", 0),
        (("--without", "kip360", "--without", "wait_for_all"), "own without wait_for_all", 1),
    ],
)
def test_what_was_asked_is_said(run: Any, options: tuple[str, ...], rules: str, code: int) -> None:
    outcome = run("check", *SMALL, *options, "--json")
    assert (outcome.code, outcome.json["scenarios"][0]["rules"]) == (code, rules)


def test_a_reading_is_switched_on_again_in_a_mutant(run: Any) -> None:
    mutant = ("--mutant", "commit_without_waiting_for_all")
    assert run("check", *SMALL, *mutant).code == 1
    assert run("check", *SMALL, *mutant, "--with", "wait_for_all").code == 0


def test_with_other_rules_of_its_own_a_scenario_need_not_reach_what_it_did(run: Any) -> None:
    [own] = run("check", *SMALL, "--json").json["scenarios"]
    [other] = run("check", *SMALL, "--without", "gives_up", "--json").json["scenarios"]
    assert {promise["kind"] for promise in own["promises"]} == {"always", "sometimes"}
    assert {promise["kind"] for promise in other["promises"]} == {"always"}


def test_where_none_is_named_those_that_have_it_are_switched(run: Any) -> None:
    outcome = run("check", "--model", "two_phase_commit", "--bounds", "n=3", "--without", "gives_up", "--json")
    assert outcome.code == 1
    assert [(each["name"], each["verdict"]) for each in outcome.json["scenarios"]] == [
        ("two_phase_commit", "holds"),
        ("two_phase_commit_ends", "violated"),
    ]


def test_the_commands_to_try_next_do_what_is_said_of_them(run: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    out = run("check", *SMALL, "--without", "wait_for_all").out
    commands = [line.split("#")[0].split()[1:] for line in out.splitlines() if line.strip().startswith("zombieproof ")]
    assert commands[0] == ["check", *SMALL, "--with", "wait_for_all"]
    assert [run(*command).code for command in commands] == [0, 1, 1, 0]


def test_a_comparison_is_of_runs_with_and_without(run: Any) -> None:
    outcome = run("check", *SMALL, "--without", "wait_for_all", "--compare", "--json")
    assert outcome.code == 1
    [one] = outcome.json["comparisons"]
    assert (one["is_same"], one["before"]["verdict"], one["after"]["verdict"]) == (False, "holds", "violated")
    assert (one["before"]["rules"], one["after"]["rules"]) == ("own", "own without wait_for_all")
    assert one["parting"]["step"] == 1
    told = run("check", *SMALL, "--without", "wait_for_all", "--compare").out
    assert "1 scenario compared, 1 with another verdict or another story" in told
    assert "Nothing is changed" not in told


def test_a_mutant_that_changes_a_reading_is_compared(run: Any) -> None:
    [one] = run("check", *SMALL, "--mutant", "commit_without_waiting_for_all", "--compare", "--json").json[
        "comparisons"
    ]
    assert (one["is_same"], one["after"]["verdict"]) == (False, "violated")


def test_a_reading_that_is_on_already_changes_nothing(run: Any) -> None:
    same = run("check", *SMALL, "--with", "wait_for_all", "--compare")
    assert (same.code, "Nothing is changed: it has these rules already." in same.out) == (0, True)


def test_a_scenario_tells_its_readings(run: Any) -> None:
    out = run("scenarios", "two_phase_commit").out
    assert "other bounds: n=7\n" in out
    assert "own rules: wait_for_all=1, gives_up=1; change them with --with and --without" in out
    told = run("scenarios", "two_phase_commit", "late_produce", "--json").json["scenarios"]
    assert [each["readings"] for each in told] == [["wait_for_all", "gives_up"], []]
    assert "own rules" not in run("scenarios", "late_produce").out


def test_a_sweep_may_be_without_a_reading(run: Any) -> None:
    assert run("sweep", "two_phase_commit", "--bound", "n=1..2", "--without", "wait_for_all").code == 1
    assert run("sweep", "two_phase_commit", "--bound", "n=1..2", "--with", "wait_for_all").code == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--without", "wait_for_al"], "there is no rule named 'wait_for_al'; did you mean wait_for_all"),
        (["two_phase_commit", "--without", "wait_for_al"], "there is no rule named 'wait_for_al'; did you mean wait"),
        (["two_phase_commit", "--with", "wait_for_al=0"], "there is no rule named 'wait_for_al'; did you mean wait"),
        (["two_phase_commit", "--without", "n"], "there is no rule named 'n'"),
        (["late_produce", "--without", "wait_for_al"], "there is no rule named 'wait_for_al'"),
        (
            ["late_produce", "--without", "wait_for_all"],
            "late_produce has no rule 'wait_for_all'; it belongs to two_phase_commit",
        ),
        (["late_produce", "--with", "wait_for_all=0"], "late_produce has no rule 'wait_for_all'"),
        (
            ["two_phase_commit", "late_produce", "--with", "wait_for_all"],
            "late_produce has no rule 'wait_for_all'",
        ),
        (["--model", "spark_sink", "--with", "gives_up"], "these scenarios have no rule 'gives_up'"),
        (
            ["two_phase_commit", "--with", "wait_for_all=2"],
            "a rule is 1 (enabled) or 0 (disabled); give wait_for_all=1 or",
        ),
        (["two_phase_commit", "--with", "wait_for_all=-1"], "a rule is 1 (enabled) or 0 (disabled)"),
        (["two_phase_commit", "--with", "wait_for_all="], "a rule is 1 (enabled) or 0 (disabled)"),
        (["two_phase_commit", "--with", "wait_for_all=on"], "a rule is 1 (enabled) or 0 (disabled)"),
        (["two_phase_commit", "--with", "wait_for_all=1=1"], "a rule is 1 (enabled) or 0 (disabled)"),
        (["--with", "wait_for_all=2"], "a rule is 1 (enabled) or 0 (disabled)"),
        (
            ["two_phase_commit", "--without", "wait_for_all=0"],
            "to disable a rule, give only its name: --without wait_for_all",
        ),
        (
            ["two_phase_commit", "--with", "gives_up", "--without", "gives_up"],
            "given with --with and --without",
        ),
        (
            ["two_phase_commit", "--with", "gives_up", "--with", "gives_up=0"],
            "given with --with and --without",
        ),
        (
            ["two_phase_commit", "--bounds", "gives_up=1", "--without", "gives_up"],
            "gives_up is disabled, but the bounds set gives_up=1; omit one of the two",
        ),
        (["two_phase_commit", "--bounds", "wait_for_all=2"], "wait_for_all=2 is neither off nor on; give 0 or 1"),
        (["two_phase_commit", "--bounds", "wait_for_all=-1"], "wait_for_all=-1 is neither off nor on; give 0 or 1"),
        (["two_phase_commit", "--with", "kip360=0"], "'kip360' has no number"),
        (["two_phase_commit", "--without", "transaction_version"], "set it with --with transaction_version=0"),
        (
            ["two_phase_commit", "--with", "wait_for_all", "--mutants"],
            "--mutants explores each mutant with its own rules and",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_is_refused_with_what_would_be(run: Any, arguments: list[str], says: str) -> None:
    outcome = run("check", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert says in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.slow
def test_a_file_of_ones_own_may_have_readings(run: Any, tmp_path: Path, repository_root: Path) -> None:
    source = (repository_root / "examples/own_model.py").read_text()
    bounds = 'bounds={"fencing": 1, "leases": 3, "expirations": 1},'
    assert source.count(bounds) == 1
    file = tmp_path / "mine.py"
    file.write_text(source.replace(bounds, f'{bounds} readings=("fencing",),'))
    assert run("check", file).code == 0
    assert run("check", file, "--without", "fencing").code == 1
    assert "there is no rule named 'fensing'; did you mean fencing" in run("check", file, "--without", "fensing").err
    for readings, says in (
        ('("fensing",)', "readings names 'fensing', which is no bound; did you mean fencing?"),
        ('("leases",)', "leases=3 is a reading, and neither off nor on; give 0 or 1"),
        ('("fencing")', 'behind a single one stands a comma, readings=("fencing",)'),
    ):
        file.write_text(source.replace(bounds, f"{bounds} readings={readings},"))
        refused = run("check", file)
        line = 1 + source[: source.index(bounds)].count("\n")
        assert (refused.code, refused.err.startswith(f"zombieproof: {file}:{line}: ")) == (2, True)
        assert says in refused.err


def test_a_shell_completes_readings() -> None:
    assert names_of_rules("wait_for") == ["wait_for_all"]
    assert "kip360" in names_of_rules("kip")
