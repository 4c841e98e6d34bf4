"""zombieproof check: what it says, where, and with which exit code."""

import dataclasses
import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from zombieproof.checker.scenario import Mutant
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.cli import exploring
from zombieproof.model.known_defects import defect

B73 = ("leaderless_partition", "--without", "marker_waits_for_leader")
SCENARIO_KEYS = {
    "name",
    "rules",
    "verdict",
    "distinct",
    "generated",
    "walks",
    "checkpoint",
    "spilled",
    "depth",
    "seconds",
    "cpu_seconds",
    "peak_mib",
    "bounds",
    "promises",
    "violated",
    "open",
    "coverage",
    "reduction",
}


def test_a_scenario_that_holds_is_a_row_and_exit_code_0(run: Any) -> None:
    outcome = run("check", "late_produce")
    assert (outcome.code, outcome.err) == (0, "")
    header, row, *_ = outcome.out.splitlines()
    assert header.split() == ["scenario", "rules", "verdict", "distinct", "generated", "depth", "seconds"]
    assert row.split()[:4] == ["late_produce", "newest", "holds", f"{SCENARIOS['late_produce'].distinct:,}"]
    assert "pinned" not in outcome.out


def test_totals_name_all_distinct_states(run: Any) -> None:
    outcome = run("check", "late_produce", "delayed_commit", "late_produce")
    both = SCENARIOS["late_produce"].distinct + SCENARIOS["delayed_commit"].distinct
    assert f"2 scenarios: {both:,} distinct states" in outcome.out


def test_a_count_that_is_not_the_pinned_one_is_said(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = dataclasses.replace(SCENARIOS["late_produce"], distinct=7)
    monkeypatch.setattr(exploring, "SCENARIOS", {"late_produce": changed})
    outcome = run("check", "late_produce")
    assert outcome.code == 0
    assert "7 are pinned" in outcome.out


def test_a_violation_is_told_as_a_story_with_decisions_moves_and_reasons(run: Any) -> None:
    outcome = run("check", *B73)
    assert outcome.code == 1
    lines = [line.strip() for line in outcome.out.splitlines()]
    assert lines[0] == (
        "leaderless_partition (newest without marker_waits_for_leader): an_acknowledged_commit_loses_nothing is broken"
    )
    assert "12. p0 loses its leader" in lines
    assert "EndTxn: accepted (row T6)" in lines
    assert "coordinator x0: ONGOING --COMMIT--> PREPARE_COMMIT, because point of no return: commit is decided" in lines
    assert "* p0 has no leader: it is taken off the list of x0 without a marker" in lines
    assert "* A is told that A.1 is committed" in lines
    assert "p0  0  data of A.1 (producer 0, epoch 0, sequence 0): aborted" in lines
    assert "Broken after 26 steps: an_acknowledged_commit_loses_nothing" in lines


def test_a_brief_story_has_no_decisions_and_moves(run: Any) -> None:
    brief, whole = run("check", *B73, "--brief").out, run("check", *B73).out
    assert "12. p0 loses its leader" in brief
    assert "* p0 has no leader: it is taken off the list of x0 without a marker" in brief
    assert "(row " not in brief
    assert "-->" not in brief
    assert set(brief.splitlines()[:-4]) <= set(whole.splitlines())


def test_the_commands_to_try_next_do_what_is_said_of_them(run: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    out = run("check", *B73).out
    commands = [line.split("#")[0].split()[1:] for line in out.splitlines() if line.strip().startswith("zombieproof ")]
    assert [run(*command).code for command in commands] == [0, 1, 1, 0]
    assert (tmp_path / "story.jsonl").is_file()


def test_with_the_rule_on_the_same_state_holds(run: Any) -> None:
    assert run("check", "leaderless_partition", "--with", "marker_waits_for_leader").code == 0


def test_a_preset_of_older_rules_is_chosen_by_name(run: Any) -> None:
    outcome = run("check", "late_produce", "--rules", "kip98", "--json")
    assert outcome.code == 1
    assert outcome.json["scenarios"][0]["rules"] == "kip98"


def test_the_second_model_is_checked_at_other_bounds(run: Any) -> None:
    outcome = run("check", "two_phase_commit", "--bounds", "n=3", "--json")
    assert outcome.code == 0
    assert (outcome.json["scenarios"][0]["distinct"], outcome.json["scenarios"][0]["rules"]) == (288, "own")


# ---------------------------------------------------------------- reductions


def test_what_was_reduced_is_said_and_by_how_much(run: Any) -> None:
    outcome = run("check", "two_phase_commit", "--reduce", "symmetry")
    assert outcome.code == 0
    assert "two_phase_commit is reduced by symmetry (resource managers)" in outcome.out
    assert "two_phase_commit: 920 states stand for 296,448, 322.23 times as many" in outcome.out


@pytest.mark.slow
def test_json_of_a_reduced_run_has_the_factor_where_it_is_known(run: Any) -> None:
    reduced = run("check", "two_phase_commit", "--reduce", "symmetry", "--json").json["scenarios"][0]["reduction"]
    assert reduced == {
        "asked": ["symmetry"],
        "used": {"symmetry": ["resource managers"]},
        "unused": {},
        "distinct_without": 296_448,
        "factor": 322.226,
    }
    changed = run("check", "two_phase_commit", "--bounds", "n=3", "--reduce", "symmetry", "--json").json
    assert changed["scenarios"][0]["reduction"]["factor"] is None
    assert run("check", "two_phase_commit", "--bounds", "n=3", "--json").json["scenarios"][0]["reduction"] is None


def test_where_nothing_is_alike_that_is_said_and_everything_is_explored(run: Any) -> None:
    outcome = run("check", "late_produce", "--reduce", "symmetry")
    assert outcome.code == 0
    assert "late_produce is not reduced by symmetry: no parts are alike in this setup" in outcome.out
    assert f"1 scenario: {SCENARIOS['late_produce'].distinct:,} distinct states" in outcome.out


@pytest.mark.slow
def test_both_reductions_together(run: Any) -> None:
    outcome = run("check", "two_phase_commit", "late_produce", "--reduce", "symmetry,order", "--json")
    first, second = (each["reduction"] for each in outcome.json["scenarios"])
    assert first["used"] == {"symmetry": ["resource managers"], "order": ["resource managers"]}
    assert (second["used"], second["factor"]) == ({"order": ["clients"]}, round(531 / 500, 3))
    assert second["unused"] == {"symmetry": "no parts are alike in this setup"}


@pytest.mark.slow
def test_a_story_of_a_reduced_run_is_a_real_one(run: Any, tmp_path: Path) -> None:
    arguments = ("check", "spark_task_attempts", "--bounds", "records=1,extra_attempts=1", "--reduce", "symmetry")
    mutant = SCENARIOS["spark_task_attempts"].mutants[0].name
    assert run(*arguments, "--mutant", mutant, "-o", str(tmp_path / "story.jsonl")).code == 1
    assert run("replay", str(tmp_path / "story.jsonl")).code == 1


# ---------------------------------------------------------------- random walks


def test_walks_that_break_nothing_are_inconclusive(run: Any) -> None:
    outcome = run("check", "late_produce", "--simulate", "5000steps", "--seed", "7")
    assert outcome.code == 3
    assert "1 scenario: 5,000 steps at random in " in outcome.out
    assert "late_produce is inconclusive: 5,000 steps at random in " in outcome.out
    assert "(seed 7) broke nothing, which proves nothing" in outcome.out


def test_what_walks_break_is_told_and_written_like_any_counterexample(run: Any, tmp_path: Path) -> None:
    story = tmp_path / "story.jsonl"
    asked = ("late_produce", "--mutant", "no_verification", "--simulate", "500000steps", "--seed", "1")
    outcome = run("check", *asked, "-o", str(story))
    assert outcome.code == 1
    assert "Broken after" in outcome.out
    again = run("check", *asked, "--json")
    assert again.json["scenarios"][0]["walks"] > 0
    assert again.json["scenarios"][0]["violated"] is not None
    assert run("replay", str(story)).code == 1


def test_walks_end_after_their_seconds(run: Any) -> None:
    outcome = run("check", "two_phase_commit", "--simulate", "0.2s", "--json")
    assert outcome.code == 3
    assert outcome.json["scenarios"][0]["seconds"] >= 0.2


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--seed", "3"), "--seed 3 needs --simulate: add --simulate SECONDS"),
        (("--simulate", "many"), "--simulate 'many' is not a valid amount; give seconds, such as 30, or steps"),
        (("--simulate", "0"), "--simulate '0' is not a valid amount"),
        (("--simulate", "0steps"), "--simulate '0steps' is not a valid amount"),
        (("--simulate", "-3"), "--simulate '-3' is not a valid amount"),
        (("--simulate", "1", "--seed", "-1"), "--seed -1: give 0 to 4294967295"),
        (("--simulate", "1", "--compare", "--without", "kip360"), "--compare and --simulate: choose one"),
        (("--simulate", "1", "--mutants"), "--mutants explores each mutant with its own rules and"),
    ],
)
def test_walks_that_cannot_be_are_refused(run: Any, options: tuple[str, ...], says: str) -> None:
    outcome = run("check", "late_produce", *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"zombieproof: {says}")


# ---------------------------------------------------------------- formats


def test_json_is_one_object_with_exactly_the_keys_of_the_contract(run: Any) -> None:
    outcome = run("check", "late_produce", "--json")
    assert outcome.err == ""
    assert set(outcome.json) == {"verdict", "scenarios"}
    [scenario] = outcome.json["scenarios"]
    assert set(scenario) == SCENARIO_KEYS
    assert all(set(promise) == {"name", "kind", "holds"} for promise in scenario["promises"])
    assert {promise["kind"] for promise in scenario["promises"]} == {"always", "at_rest", "sometimes"}
    assert (outcome.json["verdict"], scenario["verdict"], scenario["violated"]) == ("holds", "holds", None)
    assert set(scenario["coverage"]) == {
        "coordinator",
        "producer",
        "partition_leader",
        "group_coordinator",
        "consumer",
    }
    coordinator = scenario["coverage"]["coordinator"]
    assert coordinator["rows"] == coordinator["taken"] + len(coordinator["not_taken"])


@pytest.mark.parametrize(
    ("name", "machines"),
    [
        ("spark_naive_sink", {"delivery", "micro_batch_reader"}),
        ("two_phase_commit_ends", set()),
        (
            "proposal_cleaned",
            {
                "consumer",
                *(f"proposal2014_{each}" for each in ("coordinator", "journal", "producer", "leader", "offsets")),
            },
        ),
    ],
)
def test_json_tells_the_coverage_of_the_machines_that_a_model_moves(run: Any, name: str, machines: set[str]) -> None:
    [scenario] = run("check", name, "--json").json["scenarios"]
    assert set(scenario["coverage"]) == machines


def test_json_of_a_violation_has_the_steps(run: Any) -> None:
    outcome = run("check", *B73, "--format", "json")
    assert (outcome.code, outcome.json["verdict"]) == (1, "violated")
    violated = outcome.json["scenarios"][0]["violated"]
    assert set(violated) == {"promise", "steps", "repeats_from"}
    assert violated["promise"] == "an_acknowledged_commit_loses_nothing"
    assert [step["number"] for step in violated["steps"]] == list(range(1, 27))
    move = violated["steps"][12]["moves"][0]
    assert (move["from"], move["event"], move["to"]) == ("ONGOING", "COMMIT", "PREPARE_COMMIT")
    assert {p["name"]: p["holds"] for p in outcome.json["scenarios"][0]["promises"]}[violated["promise"]] is False


def test_junit_has_a_case_for_each_scenario_and_a_failure_with_the_story(run: Any) -> None:
    outcome = run(
        "check", "late_produce", "leaderless_partition", "--without", "marker_waits_for_leader", "--format", "junit"
    )
    assert outcome.code == 1
    [suite] = ET.fromstring(outcome.out)
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    failures = {case.get("name"): case.find("failure") for case in suite.findall("testcase")}
    assert failures["late_produce"] is None
    failure = failures["leaderless_partition"]
    assert failure is not None
    assert failure.get("type") == "an_acknowledged_commit_loses_nothing"
    assert "12. p0 loses its leader" in (failure.text or "")


def test_junit_calls_an_inconclusive_run_an_error(run: Any) -> None:
    outcome = run("check", "timeout", "--bounds", "epoch_max=1", "--format", "junit")
    [suite] = ET.fromstring(outcome.out)
    assert (outcome.code, suite.get("errors")) == (3, "1")
    assert suite.find("testcase/error") is not None


def test_a_terminal_gets_colours_and_a_pipe_plain_text(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = run("check", "late_produce").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = run("check", "late_produce").out
    assert "\x1b[1;32mholds" in coloured
    assert "\x1b" not in plain


# ---------------------------------------------------------------- exit codes


def test_a_capacity_that_is_exceeded_is_inconclusive_and_never_holds(run: Any) -> None:
    outcome = run("check", "timeout", "--bounds", "epoch_max=1")
    assert outcome.code == 3
    assert "timeout is inconclusive: a capacity was exceeded: producer ids" in outcome.out


def test_a_memory_limit_is_inconclusive(run: Any) -> None:
    outcome = run("check", "late_produce", "--memory", "2M", "--json")
    assert (outcome.code, outcome.json["verdict"]) == (3, "inconclusive")
    assert "memory limit" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["check", "leaderles"], "did you mean leaderless_partition"),
        (["check", "--without", "marker_waits"], "did you mean marker_waits_for_leader"),
        (["check", "--rules", "kip99"], "did you mean kip939 or kip98"),
        (["check", "timeout", "--mutant", "timeout_keeps"], "did you mean timeout_keeps_the_epoch"),
        (["check", "timeout", "--bounds", "lots=1"], "did you mean lost"),
        (["check", "timeout", "two_phase_commit", "--bounds", "lost=2"], "no bound of two_phase_commit named 'lost'"),
        (["check", "timeout", "--bounds", "lost"], "is not NAME=NUMBER"),
        (["check", "timeout", "--bounds", "lost=1,lost=2"], "twice"),
        (["check", "timeout", "--bounds", "lost=1000"], "out of range"),
        (["check", "two_phase_commit", "--bounds", "n=21"], "give 1 to 20"),
        (["check", "--memory", "much"], "such as 8G"),
        (["check", "--memory", "8"], "such as 8G"),
        (["check", "--workers", "0"], "1 or more"),
        (["check", "--reduce", "symetry"], "no reduction named 'symetry'; did you mean symmetry"),
        (["check", "--reduce", "symmetry,"], "a name is missing; there are: symmetry, order"),
        (["check", "--reduce", "symmetry,symmetry"], "symmetry is given twice"),
        (["check", "--reduce", "symmetry", "--simulate", "5"], "--simulate and --reduce"),
        (["check", "--reduce", "symmetry", "--mutants"], "--mutants explores each mutant with its own rules and"),
        (["check", "--format", "xml"], "xml"),
        (["check", "--json", "--format", "junit"], "choose one"),
        (["check", "--with", "strict_end", "--without", "strict_end"], "choose one"),
        (["check", "timeout", "-o", "/no/such/folder/x.jsonl"], "the folder"),
        (["check", "-o", "x.jsonl"], "give a folder"),
        (["check", "--mutants", "--rules", "kip98"], "--mutants explores each mutant with its own rules and"),
        (["check", "--mutants", "--format", "junit"], "text or json"),
        (["check", "--memry", "8G"], "--memory"),
        (["chekc"], "did you mean 'check'"),
        (["scenarios", "timeuot"], "did you mean timeout"),
        (["replay"], "missing argument"),
        (["replay", "no/such/file"], "no such file"),
        (["replay", "--rules", "kip99", "."], "did you mean kip939 or kip98"),
        (["diagrams", "--check", "--format", "dot"], "--check compares every format: omit --format"),
        (["diagrams", "--format", "png"], "png"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage_is_exit_code_2_with_the_next_try(run: Any, arguments: list[str], says: str) -> None:
    outcome = run(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert says.lower() in outcome.err.lower()
    assert "Traceback" not in outcome.err


def test_an_internal_error_is_exit_code_70_and_says_how_to_report_it(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> Any:
        raise RuntimeError("injected")

    changed = dataclasses.replace(SCENARIOS["late_produce"], setup=lambda *_: broken(None))
    monkeypatch.setattr(exploring, "SCENARIOS", {"late_produce": changed})
    outcome = run("check", "late_produce")
    assert (outcome.code, outcome.out) == (70, "")
    assert "RuntimeError: injected" in outcome.err
    assert "please report it" in outcome.err.splitlines()[-1].lower()


def test_ctrl_c_while_a_class_is_made_is_no_internal_error(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.11 makes a RuntimeError of it; modules are imported while commands run, and classes made in them."""

    class Interrupting:
        def __set_name__(self, owner: type, name: str) -> None:
            raise KeyboardInterrupt

    def interrupted(*_: object) -> Any:
        return type("Record", (), {"field": Interrupting()})

    changed = dataclasses.replace(SCENARIOS["late_produce"], setup=interrupted)
    monkeypatch.setattr(exploring, "SCENARIOS", {"late_produce": changed})
    outcome = run("check", "late_produce")
    assert outcome.code == 130
    assert "Traceback" not in outcome.err


def test_ctrl_c_leaves_a_partial_result_and_exit_code_130() -> None:
    """On a terminal, so that the bar says when the exploration is under way."""
    ours, theirs = pty.openpty()
    # Whoever starts the tests in the background has it ignored, and children inherit that.
    hears = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    command = [sys.executable, "-c", f"{hears}from zombieproof.cli import main; sys.exit(main())"]
    command += ["check", "late_produce", "zombie_takeover", "reader", "--bounds", "lost=3,late=3", "--json"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "200"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, text=True, env=environment) as process:
        os.close(theirs)
        shown = ""
        while "zombie_takeover" not in shown or "M/s" not in shown.rpartition("zombie_takeover")[2]:
            shown += os.read(ours, 65536).decode(errors="replace")
        process.send_signal(signal.SIGINT)
        try:
            out, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    os.close(ours)
    assert process.returncode == 130
    found = json.loads(out)
    assert found["verdict"] == "inconclusive"
    assert [scenario["name"] for scenario in found["scenarios"]] == ["late_produce", "zombie_takeover"]
    assert found["scenarios"][1]["distinct"] > 0
    assert "frontier" in shown
    assert "MiB" in shown


# ---------------------------------------------------------------- mutants


def test_every_mutant_of_a_scenario_breaks_what_it_must(run: Any) -> None:
    outcome = run("check", "leaderless_partition", "delayed_commit", "--mutants")
    assert outcome.code == 0
    assert "4 mutants, 4 as expected" in outcome.out


def test_what_the_rules_break_as_they_are_is_said_with_its_length_and_what_is_known(run: Any) -> None:
    outcome = run("check", "delayed_commit", "delayed_abort", "late_produce")
    assert outcome.code == 0
    assert "an_unrivalled_producer_is_never_fenced, in delayed_commit (10 steps), delayed_abort (10 steps)" in _flat(
        outcome.out
    )
    assert "--mutant a_late_init_fences_its_own_producer tells the story" in _flat(outcome.out)
    told = {
        each["name"]: each["open"]
        for each in run("check", "delayed_commit", "late_produce", "--json").json["scenarios"]
    }
    assert [(each["promise"], each["steps"]) for each in told["delayed_commit"]] == [
        ("an_unrivalled_producer_is_never_fenced", 10)
    ]
    assert told["late_produce"] == []


def test_what_breaks_under_other_bounds_only_is_said_with_them(run: Any) -> None:
    said = "what_was_decided_outside_is_not_aborted, in resumed_commit (8 steps, with timeouts=1)"
    assert said in _flat(run("check", "resumed_commit").out)
    [found] = run("check", "resumed_commit", "--json").json["scenarios"]
    assert [(each["name"], each["bounds"]) for each in found["open"]] == [
        ("a_time_out_aborts_what_is_stored", {"timeouts": 1}),
        ("a_late_init_aborts_what_is_stored", {"crashes": 1}),
    ]
    assert found["verdict"] == "holds"


def test_a_known_violation_of_released_kafka_is_reported_with_its_releases_and_the_rule_that_repairs_it(
    run: Any,
) -> None:
    for name, releases, rule in (
        ("late_commit", "Kafka 4.0 to 4.4.0, at transaction version 2", "late_commit_is_fenced"),
        ("leaderless_partition", "Kafka 4.1 to 4.4.0", "marker_waits_for_leader"),
    ):
        assert f"known violation of {releases}, without {rule}: " in _flat(run("check", name).out)
        assert f"affects {releases}" in _flat(run("scenarios", name).out)
        [found] = run("check", name, "--json").json["scenarios"]
        assert [(each["releases"], each["without"]) for each in found["open"]] == [(releases, [rule])]


def test_every_known_violation_that_a_rule_repairs_names_its_releases() -> None:
    """Kafka's newest release breaks it, and the releases stand in one table."""
    numbers = {mutant.bug for each in SCENARIOS.values() for mutant in each.mutants if mutant.known and mutant.without}
    assert numbers == {"B73", "B75", "B79", "B80", "B81", "B82"}
    assert all(defect(number).last == "4.4.0" for number in numbers)


def test_it_is_not_said_of_other_rules_or_bounds(run: Any) -> None:
    for other in (("--bounds", "doubled=0"), ("--without", "strict_end")):
        assert "not kept by these rules" not in run("check", "delayed_commit", *other).out


def test_what_is_known_to_break_and_does_not_any_more_is_exit_code_1_and_said(run: Any, monkeypatch: Any) -> None:
    known = Mutant("tame", breaks="epochs_never_go_down", steps=3, known="open; nobody knows")
    scenario = SCENARIOS["leaderless_partition"]
    others = tuple(name for name in scenario.always if name != known.breaks)
    changed = dataclasses.replace(scenario, always=others, mutants=(known,))
    monkeypatch.setattr(exploring, "SCENARIOS", {scenario.name: changed})
    outcome = run("check", "--mutants", "--json")
    assert (outcome.code, outcome.json["verdict"]) == (1, "violated")
    assert "epochs_never_go_down is kept now: name it in always= or at_rest=, and delete this" in _flat(
        run("check", "--mutants").out
    )


def test_what_is_known_to_break_and_breaks_in_another_number_of_steps_is_exit_code_1(
    run: Any, monkeypatch: Any
) -> None:
    scenario = SCENARIOS["delayed_commit"]
    known = dataclasses.replace(scenario.mutants[0], steps=9)
    monkeypatch.setattr(exploring, "SCENARIOS", {scenario.name: dataclasses.replace(scenario, mutants=(known,))})
    outcome = run("check", "--mutants")
    assert outcome.code == 1
    assert "breaks in 10, not in 9 steps: say what changed, and pin it anew" in _flat(outcome.out)


def test_a_breach_that_nobody_has_stated_is_a_violation(run: Any, monkeypatch: Any) -> None:
    scenario = SCENARIOS["delayed_commit"]
    owed = (*scenario.always, "an_unrivalled_producer_is_never_fenced")
    changed = dataclasses.replace(scenario, always=owed, mutants=())
    monkeypatch.setattr(exploring, "SCENARIOS", {scenario.name: changed})
    outcome = run("check", "delayed_commit")
    assert outcome.code == 1
    assert "not kept by these rules" not in outcome.out
    assert "an_unrivalled_producer_is_never_fenced" in outcome.out


def _flat(text: str) -> str:
    return " ".join(text.split())


def test_a_mutant_that_survives_or_breaks_something_else_is_exit_code_1(run: Any, monkeypatch: Any) -> None:
    scenario = SCENARIOS["leaderless_partition"]
    mutant = dataclasses.replace(scenario.mutants[0], known="")
    tame = dataclasses.replace(mutant, name="tame", without=())
    longer = dataclasses.replace(mutant, name="longer", steps=25)
    changed = dataclasses.replace(scenario, mutants=(mutant, tame, longer))
    monkeypatch.setattr(exploring, "SCENARIOS", {scenario.name: changed})
    outcome = run("check", "--mutants", "--json")
    assert (outcome.code, outcome.json["verdict"]) == (1, "violated")
    assert [each["as_expected"] for each in outcome.json["mutants"]] == [True, False, False]
    assert outcome.json["mutants"][1]["found"] is None
    assert "expected an_acknowledged_commit_loses_nothing in 25 steps" in run("check", "--mutants").out


def test_a_mutant_that_cannot_be_judged_is_inconclusive(run: Any) -> None:
    outcome = run("check", "leaderless_partition", "--mutants", "--memory", "2M")
    assert outcome.code == 3
    assert "inconclusive: the memory limit" in outcome.out


def test_one_mutant_can_be_checked_and_is_found_without_its_scenario(run: Any) -> None:
    outcome = run("check", "--mutant", "marker_skips_a_partition_without_leader", "--json")
    assert outcome.code == 1
    [scenario] = outcome.json["scenarios"]
    assert scenario["rules"] == "newest, mutant marker_skips_a_partition_without_leader"


def test_list_explores_nothing(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing: Callable[..., Any] = lambda *_: pytest.fail("explored")  # noqa: E731  # one use, one line
    monkeypatch.setattr("zombieproof.cli.check.explore_all", nothing)
    outcome = run("check", "--list")
    assert outcome.code == 0
    assert all(name in outcome.out for name in SCENARIOS)
