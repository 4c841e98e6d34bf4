"""zombieproof verify: one table and one exit code, and a failure of each part is seen."""

import dataclasses
import functools
import gzip
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from zombieproof.checker.checking import check
from zombieproof.checker.scenario import Scenario
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.cli import verify
from zombieproof.cli.exploring import Choice
from zombieproof.report import results, verification
from zombieproof.report.answers import Cases, meet_cases
from zombieproof.report.coverage import ROWS, Row, rows_taken

STORY, SPARK, RESULTS = (
    f"{results.BEGIN.format(part=part)}\n{results.END.format(part=part)}" for part in ("story", "spark", "results")
)
CHOSEN = {name: SCENARIOS[name] for name in ("late_produce", "delayed_commit", "leaderless_partition")}


ASKED: dict[tuple[object, ...], Any] = {}
"""What was found of which scenarios; they are kept, so that no other has the identity of one."""


def once(ask: Callable[..., Any]) -> Callable[..., Any]:
    """Explore the same scenarios in the same way once for all tests here: what is judged is what becomes of it."""

    def asked(scenarios: Sequence[Scenario], choice: Choice) -> Any:
        key = ask.__name__, repr(choice), *map(id, scenarios)
        if key not in ASKED:
            ASKED[key] = tuple(scenarios), ask(scenarios, choice)
        found, interrupted = ASKED[key][1]
        return list(found), interrupted

    return asked


@pytest.fixture
def clone(tmp_path: Path, repository_root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of what verify compares: three scenarios, two recordings, three sequences, and pages that say so."""
    for name in ("diagrams", "docs"):
        shutil.copytree(repository_root / name, tmp_path / name)
    for name in ("01-commit", "23-truncated-segment"):
        shutil.copytree(repository_root / "tests/recordings" / name, tmp_path / "tests/recordings" / name)
    answers = gzip.decompress((repository_root / "tests/answers/sample.jsonl.gz").read_bytes()).splitlines(
        keepends=True
    )
    (tmp_path / "tests/answers").mkdir()
    (tmp_path / "tests/answers/three.jsonl").write_bytes(b"".join(answers[:3]))
    (tmp_path / "README.md").write_text(f"# A\n{STORY}\n{SPARK}\n{RESULTS}\n\nend\n")
    monkeypatch.setattr(verify, "meet_cases", lambda _: Cases({"TC": {"met": 2, "failed": 0, "not_runnable": 0}}))
    monkeypatch.setattr(verify, "clone_root", lambda: tmp_path)
    monkeypatch.setattr(verify, "SCHEMA_PATH", tmp_path / "docs/trace-schema.json")
    monkeypatch.setattr(verify, "SCENARIOS", CHOSEN)
    for name in ("explore_all", "hunt_all", "turn_all"):
        monkeypatch.setattr(verify, name, once(getattr(verify, name)))
    monkeypatch.setattr(verification, "UNCOVERED", dict(_reasons()))
    return tmp_path


@functools.cache
def _reasons() -> dict[Row, str]:
    """A reason for each row that the chosen scenarios do not take."""
    taken = frozenset[Row]().union(*(rows_taken(check(scenario).result.coverage) for scenario in CHOSEN.values()))
    return {row: "it is in a scenario that is left away here" for row in ROWS if row not in taken}


@pytest.mark.slow
def test_a_clone_is_as_it_must_be_once_its_pages_are_written(run: Any, clone: Path) -> None:
    before = run("verify")
    assert before.code == 1
    assert "docs/results.md: does not say what was found: run `zombieproof verify --write-results`" in before.out
    assert run("verify", "--write-results").code == 0
    outcome = run("verify")
    assert outcome.code == 0
    assert "everything is as it must be" in outcome.out
    parts = [line.split()[0] for line in outcome.out.splitlines() if line][:13]
    assert parts == [
        "part",
        *["scenario"] * 3,
        "mutants",
        "stories",
        "switches",
        "rows",
        "recording",
        "recording",
        "answers",
        "cases",
        "diagrams",
    ]
    readme = (clone / "README.md").read_text()
    begin, end = RESULTS.splitlines()
    assert f"{begin}\n\n| scenario " in readme
    assert readme.endswith(f"{end}\n\nend\n")
    assert "$ zombieproof check leaderless_partition --without marker_waits_for_leader --brief\n" in readme
    assert "late_produce" in readme


@pytest.mark.slow
def test_junit_has_a_case_for_each_line(run: Any, clone: Path) -> None:
    assert run("verify", "--write-results").code == 0
    lines = run("verify", "--json").json["checks"]
    outcome = run("verify", "--format", "junit")
    assert outcome.code == 0
    [suite] = ET.fromstring(outcome.out)
    assert [case.get("name") for case in suite][: len(lines)] == [f"{line['part']}: {line['what']}" for line in lines]
    assert (suite.get("failures"), suite.get("errors")) == ("0", "0")
    (clone / "docs/rules.md").write_text("stale\n")
    outcome = run("verify", "--format", "junit")
    assert outcome.code == 1
    [suite] = ET.fromstring(outcome.out)
    [failure] = suite.findall("testcase/failure")
    assert (failure.get("type"), failure.get("message")) == ("page", "out of date")
    assert "docs/rules.md" in (failure.text or "")
    assert run("verify", "--json", "--format", "junit").code == 2


@pytest.mark.slow
def test_any_number_of_workers_finds_the_same(run: Any, clone: Path) -> None:
    del clone
    few, many = run("verify", "--workers", "1", "--json"), run("verify", "--workers", "1000", "--json")
    assert few.code == many.code
    assert [(check["what"], check["found"]) for check in few.json["checks"]] == [
        (check["what"], check["found"]) for check in many.json["checks"]
    ]
    assert many.err == "--workers 1000: an exploration uses at most 64 threads; using 64\n"


@pytest.mark.slow
def test_json_has_one_entry_for_each_line(run: Any, clone: Path) -> None:
    assert clone.is_dir()
    run("verify", "--write-results")
    data = run("verify", "--json").json
    assert set(data) == {"verdict", "checks", "not_here"}
    assert data["verdict"] == "holds"
    assert {check["outcome"] for check in data["checks"]} == {"ok"}
    assert set(data["checks"][0]) == {"part", "what", "outcome", "found", "seconds", "faults"}


def _faults(outcome: Any) -> list[str]:
    return [fault for check in outcome.json["checks"] for fault in check["faults"]]


@pytest.mark.slow
def test_a_count_that_is_not_pinned_fails(run: Any, clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert clone.is_dir()
    run("verify", "--write-results")
    changed = dataclasses.replace(SCENARIOS["late_produce"], distinct=7)
    monkeypatch.setattr(verify, "SCENARIOS", {**CHOSEN, "late_produce": changed})
    outcome = run("verify", "--json")
    assert outcome.code == 1
    [fault] = _faults(outcome)
    assert "7 are pinned" in fault


@pytest.mark.slow
def test_a_scenario_that_breaks_a_promise_fails(run: Any, clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert clone.is_dir()
    broken = dataclasses.replace(SCENARIOS["late_produce"], rules="kip98", changes={}, mutants=())
    monkeypatch.setattr(verify, "SCENARIOS", {**CHOSEN, "late_produce": broken})
    outcome = run("verify", "--json")
    assert outcome.code == 1
    assert any("is broken; zombieproof check late_produce tells how" in fault for fault in _faults(outcome))


@pytest.mark.slow
def test_a_mutant_that_survives_fails(run: Any, clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert clone.is_dir()
    scenario = SCENARIOS["delayed_commit"]
    tame = dataclasses.replace(scenario.mutants[0], changes={}, without=(), bounds={}, rules="")
    monkeypatch.setattr(
        verify,
        "SCENARIOS",
        {**CHOSEN, scenario.name: dataclasses.replace(scenario, mutants=(tame,))},
    )
    outcome = run("verify", "--json")
    assert outcome.code == 1
    assert any("survives" in fault for fault in _faults(outcome))


@pytest.mark.slow
def test_a_row_without_reason_and_a_reason_without_need_fail(run: Any, clone: Path, monkeypatch: Any) -> None:
    assert clone.is_dir()
    reasons = dict(_reasons())
    forgotten = next(iter(reasons))
    needless = next(row for row in ROWS if row not in reasons)
    del reasons[forgotten]
    monkeypatch.setattr(verification, "UNCOVERED", {**reasons, needless: "", Row("consumer", "ASLEEP", "WAKE"): ""})
    faults = _faults(run("verify", "--json"))
    assert f"{forgotten[0]}: {forgotten[2]} in {forgotten[1]} is taken by no scenario" in faults[0]
    assert f"{needless[0]}: {needless[2]} in {needless[1]} is taken: delete it" in faults[1]
    assert "consumer: WAKE in ASLEEP is in zombieproof/checker/uncovered.py and in no table" in faults[2]


def test_a_recording_with_another_verdict_fails(run: Any, clone: Path) -> None:
    about = clone / "tests/recordings/01-commit/about.yaml"
    about.write_text(about.read_text().replace('verdict: "conforms"', 'verdict: "violates"'))
    outcome = run("verify", "--json")
    assert outcome.code == 1
    assert any(fault.startswith("01-commit: the verdict is conforms") for fault in _faults(outcome))


@pytest.mark.slow
def test_an_answer_that_is_not_the_recorded_one_fails(run: Any, clone: Path) -> None:
    path = clone / "tests/answers/three.jsonl"
    first, rest = path.read_text().split("\n", 1)
    sequence = json.loads(first)
    sequence["steps"][0]["answer"]["error"] = 77
    path.write_text(json.dumps(sequence) + "\n" + rest)
    outcome = run("verify", "--json")
    assert outcome.code == 1
    assert any(f"three.jsonl: {sequence['id']}, step 1: " in fault for fault in _faults(outcome))
    path.write_text("{\n")
    assert any("three.jsonl, line 1: invalid JSON" in fault for fault in _faults(run("verify", "--json")))
    path.unlink()
    assert any("the folder holds no recording" in fault for fault in _faults(run("verify", "--json")))


@pytest.mark.sample("cases2")
@pytest.mark.parametrize(
    ("cases", "told"),
    [
        (Cases({"TC": {"met": 1, "failed": 1}}, ("TC-001",)), "case TC-001 failed: python -m tests.conformance "),
        (Cases({"TC": {"met": 1, "not_runnable": 1}}), "1 case of tests/conformance/sample.yaml cannot be run"),
        (Cases(fault="it ended with 2: no such file"), "it ended with 2: no such file"),
    ],
)
def test_a_case_that_is_not_met_fails(
    run: Any, clone: Path, monkeypatch: pytest.MonkeyPatch, cases: Cases, told: str
) -> None:
    assert clone.is_dir()
    monkeypatch.setattr(verify, "meet_cases", lambda _: cases)
    outcome = run("verify", "--json")
    assert outcome.code == 1
    assert any(fault.startswith(told) for fault in _faults(outcome))


def test_the_cases_that_ship_are_met(repository_root: Path) -> None:
    cases = meet_cases(repository_root)
    assert (cases.fault, cases.failed, cases.count("not_runnable")) == ("", (), 0)
    assert cases.count() == cases.total > 50


def test_cases_that_cannot_be_run_are_a_fault(repository_root: Path) -> None:
    cases = meet_cases(repository_root, Path("tests/conformance/nowhere.yaml"))
    assert "tests/conformance/nowhere.yaml --json ended with 2: " in cases.fault
    assert cases.total == 0


@pytest.mark.slow
def test_stale_diagrams_and_pages_fail(run: Any, clone: Path) -> None:
    run("verify", "--write-results")
    (clone / "diagrams/consumer.dot").write_text("digraph {}\n")
    (clone / "docs/machines.md").write_text("# nothing\n")
    (clone / "docs/rules.md").write_text("# nothing\n")
    (clone / "docs/trace-schema.json").write_text("{}\n")
    outcome = run("verify", "--json")
    assert outcome.code == 1
    assert [fault.split(":")[0].rpartition("/")[2] for fault in _faults(outcome)] == [
        "consumer.dot",
        "machines.md",
        "rules.md",
        "trace-schema.json",
    ]


def test_a_readme_without_a_place_for_results_is_named(run: Any, clone: Path) -> None:
    (clone / "README.md").write_text("# no place\n")
    outcome = run("verify", "--json")
    assert outcome.code == 1
    assert any("README.md: the lines" in fault for fault in _faults(outcome))


@pytest.mark.slow
def test_what_is_not_here_is_said(run: Any, clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert clone.is_dir()
    run("verify", "--write-results")
    monkeypatch.setenv("PATH", str(tmp_path))
    outcome = run("verify")
    assert (outcome.code, "not here: `dot` (package graphviz)" in outcome.out) == (0, True)


def test_without_a_clone_the_rest_is_verified_and_the_lack_is_said(run: Any, clone: Path, monkeypatch: Any) -> None:
    assert clone.is_dir()
    monkeypatch.setattr(verify, "clone_root", lambda: None)
    outcome = run("verify")
    assert (outcome.code, "not here: a clone" in outcome.out) == (0, True)
    assert run("verify", "--write-results").code == 2


def test_an_interruption_is_exit_code_130_and_pages_are_left_alone(
    run: Any, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> tuple[list[Any], bool]:
        return [], True

    monkeypatch.setattr(verify, "explore_all", interrupted)
    before = (clone / "README.md").read_text()
    outcome = run("verify", "--write-results")
    assert (outcome.code, outcome.out.splitlines()[-1]) == (130, "interrupted")
    assert (clone / "README.md").read_text() == before


def test_memory_that_does_not_suffice_is_inconclusive(run: Any, clone: Path) -> None:
    assert clone.is_dir()
    outcome = run("verify", "--memory", "2M", "--json")
    assert (outcome.code, outcome.json["verdict"]) == (3, "inconclusive")
    assert {check["outcome"] for check in outcome.json["checks"] if check["part"] in {"scenario", "mutants"}} == {
        "inconclusive"
    }
