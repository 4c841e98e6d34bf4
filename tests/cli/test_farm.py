"""zombieproof farm: it finds what `check` finds, keeps it, and goes on where it was stopped."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.cli import farming
from zombieproof.farm import exploring, runners
from zombieproof.farm.found import failure

SMALL = ("--scenario", "late_produce", "--scenario", "delayed_commit")
FACTS = ("verdict", "distinct", "generated", "depth", "rules")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def facts(report: Any) -> list[tuple[Any, ...]]:
    times = ("seconds", "cpu_seconds", "compile_seconds", "peak_mib", "was_kept")
    return [tuple(value for name, value in row.items() if name not in times) for row in report["results"]]


def test_a_farm_finds_what_check_finds_and_exits_as_check_does(run: Any) -> None:
    farm = run("farm", *SMALL, "--rules", "own", "--rules", "3.9", "--without", "verification", "--json")
    for row in farm.json["results"]:
        check = run(*shlex.split(row["command"])[1:], "--json")
        (scenario,) = check.json["scenarios"]
        assert [row[name] for name in FACTS] == [scenario[name] for name in FACTS]
        violated = scenario["violated"]
        assert row["promise"] == (violated and violated["promise"])
        assert row["steps"] == (violated and len(violated["steps"]))
    assert {row["verdict"] for row in farm.json["results"]} == {"holds", "violated"}
    assert (farm.code, farm.json["verdict"]) == (1, "violated")


def test_mutants_are_expected_failures(run: Any) -> None:
    farm = run("farm", *SMALL, "--mutants", "--json")
    hunt = run("check", "late_produce", "delayed_commit", "--mutants", "--json")
    assert (farm.code, hunt.code) == (0, 0)
    found = [
        (row["scenario"], row["mutant"], row["promise"], row["steps"]) for row in farm.json["results"] if row["mutant"]
    ]
    assert found == [
        (row["scenario"], row["mutant"], row["found"]["promise"], row["found"]["steps"]) for row in hunt.json["mutants"]
    ]
    assert {row["outcome"] for row in farm.json["results"]} == {"as expected"}


def test_what_is_kept_is_said_and_reported_again(run: Any) -> None:
    first = run("farm", *SMALL, "--json")
    again = run("farm", *SMALL, "--json")
    assert [row["was_kept"] for row in again.json["results"]] == [True, True]
    assert facts(first.json) == facts(again.json)
    assert "2 were kept from before" in run("farm", *SMALL).out
    fresh = run("farm", *SMALL, "--fresh", "--json")
    assert [row["was_kept"] for row in fresh.json["results"]] == [False, False]


def test_the_text_has_a_row_for_each_and_tells_what_is_not_as_expected(run: Any) -> None:
    outcome = run("farm", *SMALL, "--without", "verification", "--with", "transaction_version=0")
    lines = outcome.out.splitlines()
    assert lines[0].split() == [
        *["scenario", "rules", "mutant", "bounds", "verdict", "distinct", "depth"],
        "cpu",
        "s",
        "outcome",
    ]
    command = "  zombieproof check late_produce --with transaction_version=0 --without verification"
    at = lines.index(command)
    assert (
        "unexpected: every_open_transaction_is_known_to_its_coordinator is broken (9 steps); expected: holds"
        in lines[at - 1]
    )
    assert "report: farm-results/report.html" in outcome.err
    assert outcome.code == 1


def test_an_expected_violation_of_a_plan_is_no_failure(run: Any, tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    broken = "without: verification, with: transaction_version=0, expect: violated"
    plan.write_text(f"explorations:\n- {{scenarios: late_produce, {broken}}}\n")
    assert run("farm", plan).code == 0
    plan.write_text("explorations:\n- {scenarios: late_produce, expect: violated}\n")
    outcome = run("farm", plan)
    assert (outcome.code, "holds; expected: violated" in outcome.out) == (1, True)


def test_the_plan_that_ships_is_explored_as_far_as_it_is_small(run: Any, repository_root: Path) -> None:
    listed = run("farm", repository_root / "examples/farm.yaml", "--list", "--json").json["explorations"]
    assert {row["expected"] for row in listed} == {"holds", "unbroken", "breaks", "violated"}
    assert "zombieproof check timeout --rules 4.2 --bounds lost=2,doubled=0" in [row["command"] for row in listed]


def test_an_inconclusive_exploration_exits_3(run: Any) -> None:
    outcome = run("farm", "--scenario", "late_produce", "--memory", "1M", "--json")
    assert (outcome.code, outcome.json["verdict"]) == (3, "inconclusive")


def test_an_exploration_that_fails_exits_70_and_the_others_are_there(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = exploring.explore

    def fails(job: Any, *given: Any) -> Any:
        return failure(job, "the disk is on fire") if job.scenario == "late_produce" else whole(job, *given)

    monkeypatch.setattr(runners, "explore", fails)
    outcome = run("farm", *SMALL)
    assert outcome.code == 70
    assert "late_produce (newest): failed: the disk is on fire" in outcome.out
    assert "2 explorations: 1 as expected, 1 failed" in outcome.out


def test_pages_stand_beside_the_results(run: Any) -> None:
    outcome = run("farm", *SMALL, "--results", "mine", "--format", "markdown")
    assert Path("mine/report.md").read_text() == outcome.out
    assert "| `late_produce` | newest |" in outcome.out
    assert "<td>late_produce</td>" in Path("mine/report.html").read_text()
    assert len(list(Path("mine/results").iterdir())) == 2


def test_a_list_tells_explorations_and_tasks_and_explores_nothing(run: Any) -> None:
    outcome = run("farm", *SMALL, "--mutants", "--bound", "lost=1,2", "--list")
    lines = outcome.out.splitlines()
    assert lines[1].split(maxsplit=3) == ["1", "holds", "0.0", "zombieproof check late_produce"]
    assert "zombieproof check late_produce --bounds lost=2" in lines[2]
    assert "8 explorations in 1 task" in outcome.out
    assert run("farm", *SMALL, "--list", "--json").json["tasks"] == 1
    assert not Path("farm-results").exists()


def test_the_default_is_every_scenario(run: Any) -> None:
    listed = run("farm", "--list", "--json").json
    assert [row["scenario"] for row in listed["explorations"]] == list(SCENARIOS)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--scenario", "timeuot"), "the command line: no scenario is named 'timeuot'; did you mean timeout"),
        (("none.yaml",), "none.yaml: cannot be read: No such file or directory"),
        (("none.yaml", "--mutants"), "none.yaml already says what to explore: omit --scenario"),
        (("none.yaml", "--bound", "lost=1"), "none.yaml already says what to explore: omit --scenario"),
        (("--bound", "lost"), "--bound 'lost' is not NAME=VALUES; give for example --bound lost=0,1,2"),
        (("--bound", "lost=x"), "--bound 'lost=x': 'x' is not a list of values"),
        (("--seeds", "x"), "--seeds 'x': 'x' is not a list of values"),
        (("--steps", "5"), "--steps 5 is for random walks: add --seeds, such as 1..8"),
        (("none.yaml", "--seeds", "1"), "none.yaml already says what to explore: omit --scenario"),
        (("--bound", "lost=0", "--bound", "lost=1"), "--bound 'lost=1': lost is given twice"),
        ((*SMALL, "--processes", "0"), "--processes 0: give 1 to 256"),
        ((*SMALL, "--processes", "2", "--spark", "local"), "--processes and --spark: choose one"),
        ((*SMALL, "--processes", "2", "--workers", "2"), "--workers sets the threads of one exploration"),
        pytest.param(
            (*SMALL, "--spark", "sc://here"),
            "--spark sc://here: tasks are given to a SparkContext",
            marks=pytest.mark.spark,
        ),
        ((*SMALL, "--parquet", "no/where.parquet"), "--parquet no/where.parquet: the folder no does not exist"),
        ((*SMALL, "--memory", "much"), "--memory 'much' is not a valid size"),
        ((*SMALL, "--json", "--format", "markdown"), "--json and --format markdown: choose one format"),
        (("--scenario", "late_produce", "--rules", "9"), "the command line: there is no preset of rules '9'"),
    ],
)
def test_wrong_usage_is_told_before_anything_is_explored(run: Any, options: tuple[str, ...], says: str) -> None:
    outcome = run("farm", *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"zombieproof: {says}")
    assert not list(Path().glob("farm-results/results/*"))


def test_a_missing_extra_is_said_with_its_name(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pyspark", "pyspark.sql", "pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, name, None)
    extra = "which is not installed: pip install 'zombieproof[spark]'"
    spark = run("farm", *SMALL, "--spark", "local[1]")
    assert (spark.code, spark.err) == (2, f"zombieproof: --spark needs pyspark, {extra}\n")
    parquet = run("farm", *SMALL, "--parquet", "found.parquet")
    assert (parquet.code, parquet.err.splitlines()[-1]) == (2, f"zombieproof: Parquet needs pyarrow, {extra}")
    assert len(list(Path("farm-results/results").iterdir())) == 2


def test_a_mistake_in_a_model_of_ones_own_is_found_before_anything_is_explored(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from dataclasses import replace\nfrom zombieproof import SCENARIOS\n\n\n"
        "def setup(rules, bounds):\n    return SCENARIOS['nothing']\n\n\n"
        "MINE = replace(SCENARIOS['timeout'], name='mine', setup=setup)\n"
    )
    outcome = run("farm", "--scenario", "mine.py")
    assert (outcome.code, outcome.out) == (2, "")
    assert "mine.py:6: KeyError: 'nothing'" in outcome.err


def test_a_results_folder_that_cannot_be_is_refused_by_name(run: Any, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    outcome = run("farm", *SMALL, "--results", "file")
    assert (outcome.code, outcome.out) == (2, "")
    assert "file" in outcome.err


# ---------------------------------------------------------------- stopped and gone on

LONG = ("farm", "--scenario", "late_*", "--scenario", "spark_*", "--mutants", "--processes", "2", "--results", "long")
PROGRAM = "import signal, sys; from zombieproof.cli import main; "
PROGRAM += "signal.signal(signal.SIGINT, signal.default_int_handler); "  # ignored where tests run in the background
PROGRAM += "sys.exit(main(sys.argv[1:]))"


def begin(root: Path) -> "subprocess.Popen[str]":
    environment = {**os.environ, "PYTHONPATH": str(root)}
    command = [sys.executable, "-c", PROGRAM, *LONG, "--json"]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment, start_new_session=True)


def wait_for_results(count: int) -> None:
    deadline = time.monotonic() + 240
    while len(list(Path("long/results").glob("*.json"))) < count:
        assert time.monotonic() < deadline, "the farm finds nothing"
        time.sleep(0.01)


@pytest.mark.slow
def test_a_farm_that_is_killed_goes_on_and_ends_with_the_same_results(run: Any, repository_root: Path) -> None:
    killed = begin(repository_root)
    wait_for_results(4)
    workers = psutil.Process(killed.pid).children(recursive=True)
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate()
    gone, alive = psutil.wait_procs(workers, timeout=30)
    assert gone
    assert not alive, "what the farm began went on without it"
    kept = len(list(Path("long/results").glob("*.json")))
    again = begin(repository_root)
    out, err = again.communicate(timeout=400)
    report = json.loads(out)
    assert again.returncode == 0, err
    assert 4 <= kept < len(report["results"])
    assert sum(row["was_kept"] for row in report["results"]) == kept
    never_stopped = run(*LONG[:-4], "--results", "whole", "--json")
    assert facts(report) == facts(never_stopped.json)


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_found_and_says_how_to_go_on(repository_root: Path) -> None:
    farm = begin(repository_root)
    wait_for_results(2)
    workers = psutil.Process(farm.pid).children(recursive=True)
    os.killpg(farm.pid, signal.SIGINT)
    out, err = farm.communicate(timeout=60)
    report = json.loads(out)
    assert farm.returncode == 130, err
    assert report["interrupted"]
    assert report["left"] == report["explorations"] - len(report["results"])
    assert "are stored in long; run the same command again to continue" in err
    assert not psutil.wait_procs(workers, timeout=30)[1]
    assert len(list(Path("long/results").glob("*.json"))) == len(report["results"])


def test_what_is_shown_while_it_runs_says_how_far_it_is(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[tuple[Any, str]] = []
    whole = farming.Watcher._show

    def seen(self: farming.Watcher, completed: int | None = None, last: str = "") -> None:
        whole(self, completed, last)
        shown.append((completed, self.bar.tasks[0].fields["reached"]))

    monkeypatch.setattr(farming.Watcher, "_show", seen)
    assert run("farm", *SMALL).code == 0
    assert [completed for completed, _ in shown if completed] == [1, 2]
    assert shown[-1][1].startswith("2 as expected; ")
