"""Scenarios and models of one's own, from a file: explored, told, written, replayed like those that are registered."""

import dataclasses
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.cli import exploring

BROKEN = ("--bounds", "fencing=0")


@pytest.fixture
def model(tmp_path: Path, repository_root: Path) -> Path:
    """A copy of the example of a model, in a folder of its own."""
    return Path(shutil.copy(repository_root / "examples/own_model.py", tmp_path))


@pytest.fixture
def scenario(tmp_path: Path, repository_root: Path) -> Path:
    """A copy of the example of a scenario."""
    return Path(shutil.copy(repository_root / "examples/own_scenario.py", tmp_path))


@pytest.mark.slow
def test_a_file_is_checked_by_name_of_the_file_of_the_scenario_or_of_the_attribute(run: Any, model: Path) -> None:
    for asked in (model, f"{model}:lock_with_leases", f"{model}:SCENARIO"):
        outcome = run("check", asked, "--json")
        assert (outcome.code, outcome.err) == (0, "")
        [found] = outcome.json["scenarios"]
        assert (found["name"], found["rules"], found["verdict"], found["distinct"]) == (
            "lock_with_leases",
            "own",
            "holds",
            143,
        )


@pytest.mark.slow
def test_files_and_registered_names_are_mixed_and_each_is_explored_once(run: Any, model: Path, scenario: Path) -> None:
    outcome = run("check", model, "late_produce", scenario, f"{model}:SCENARIO", "late_produce", "--json")
    assert outcome.code == 0
    names = [found["name"] for found in outcome.json["scenarios"]]
    assert names == ["lock_with_leases", "late_produce", "timeout_and_failover"]


@pytest.mark.slow
def test_a_file_may_define_several_scenarios_and_one_of_them_is_chosen(run: Any, model: Path) -> None:
    model.write_text(
        model.read_text() + "\nfrom dataclasses import replace\n"
        'SHORT = replace(SCENARIO, name="short", bounds={**SCENARIO.bounds, "leases": 2}, distinct=0)\n'
        "AGAIN = SCENARIO\n"
    )
    outcome = run("check", model)
    assert outcome.code == 0
    assert [line.split()[0] for line in outcome.out.splitlines()[1:3]] == ["lock_with_leases", "short"]
    distinct = run("check", f"{model}:short", "--json").json["scenarios"][0]["distinct"]
    assert f"short: no number of states is pinned; write distinct={distinct:_} into the scenario" in outcome.out
    assert "lock_with_leases: " not in outcome.out
    assert run("check", f"{model}:shrot").err.endswith("there is no scenario 'shrot'; did you mean short?\n")


@pytest.mark.slow
def test_what_a_file_imports_is_not_its_own_but_can_be_asked_for(run: Any, model: Path) -> None:
    model.write_text(
        model.read_text() + "\nfrom zombieproof.checker.transactions.scenarios.two_transactions import LATE_PRODUCE\n"
    )
    assert [each["name"] for each in run("check", model, "--json").json["scenarios"]] == ["lock_with_leases"]
    [found] = run("check", f"{model}:LATE_PRODUCE", "--json").json["scenarios"]
    assert (found["name"], found["distinct"]) == ("late_produce", SCENARIOS["late_produce"].distinct)


def test_a_file_of_the_program_is_read_as_it_is(run: Any, repository_root: Path) -> None:
    file = repository_root / "zombieproof/checker/two_phase_commit/scenario.py"
    outcome = run("check", file, "--bounds", "n=3", "--json")
    assert (outcome.code, outcome.json["scenarios"][0]["distinct"]) == (0, 288)


@pytest.mark.slow
def test_rules_bounds_mutants_and_formats_work_as_for_those_that_are_registered(
    run: Any, model: Path, scenario: Path
) -> None:
    assert run("check", model, "--mutants").code == 0
    assert run("check", model, "--mutant", "the_store_takes_every_write").code == 1
    outcome = run("check", scenario, "--without", "reload_drives_markers", "--format", "junit")
    [suite] = ET.fromstring(outcome.out)
    assert (outcome.code, suite.get("failures")) == (1, "1")
    assert run("check", scenario, "--with", "transaction_version=0").code in (0, 1)
    assert "did you mean fencing" in run("check", model, "--bounds", "fensing=1").err
    assert run("check", model, "--bounds", "leases=101").err.endswith("give 0 to 100\n")
    assert "no mutant" in run("check", model, "--mutant", "no_such").err


def test_a_scenario_is_told_and_listed_from_its_file(run: Any, model: Path) -> None:
    told = run("scenarios", model)
    assert told.code == 0
    assert told.out.startswith("lock_with_leases\n")
    assert run("check", "--list", model).out == told.out
    assert run("scenarios", model, "late_produce", "--json").json["scenarios"][1]["name"] == "late_produce"


# ---------------------------------------------------------------- stories


@pytest.mark.slow
def test_a_story_is_replayed_where_its_file_is_named(run: Any, model: Path, tmp_path: Path) -> None:
    story = tmp_path / "story.jsonl"
    assert run("check", model, *BROKEN, "-o", story).code == 1
    assert json.loads(story.read_text().splitlines()[0])["file"] == str(model)
    refused = run("replay", story)
    assert (refused.code, refused.out) == (2, "")
    assert f"zombieproof replay {story} --scenario {model}" in refused.err
    again = run("replay", story, "--scenario", model)
    assert again.code == 1
    assert "no_write_is_undone_by_an_older_one is broken after 7 steps, as the file says" in again.out


@pytest.mark.slow
def test_a_story_never_runs_a_file_that_was_not_asked_for(run: Any, model: Path, tmp_path: Path) -> None:
    story, mark = tmp_path / "story.jsonl", tmp_path / "mark"
    assert run("check", model, *BROKEN, "-o", story).code == 1
    model.write_text(f"open({str(mark)!r}, 'w').close()\n" + model.read_text())
    assert run("replay", story).code == 2
    assert not mark.exists()


@pytest.mark.slow
def test_a_story_of_another_file_or_none_is_refused(run: Any, model: Path, scenario: Path, tmp_path: Path) -> None:
    story = tmp_path / "story.jsonl"
    assert run("check", model, *BROKEN, "-o", story).code == 1
    wrong = run("replay", story, "--scenario", scenario)
    assert (wrong.code, f"and not in {scenario}" in wrong.err) == (2, True)
    nothing = run("replay", scenario, "--scenario", model)
    assert (nothing.code, "none of the files is a counterexample of `zombieproof check" in nothing.err) == (2, True)


@pytest.mark.slow
def test_a_story_that_a_changed_model_no_longer_tells_is_damaged(run: Any, model: Path, tmp_path: Path) -> None:
    story = tmp_path / "story.jsonl"
    assert run("check", model, *BROKEN, "-o", story).code == 1
    model.write_text(model.read_text().replace("state.lock.token += 1", "state.lock.token += 2"))
    outcome = run("replay", story, "--scenario", model)
    assert (outcome.code, "step 1: digest is" in outcome.out) == (3, True)


@pytest.mark.slow
def test_the_commands_to_try_next_do_what_is_said_of_them(
    run: Any, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(model.parent)
    out = run("check", model.name, *BROKEN).out
    commands = [line.split("#")[0].split()[1:] for line in out.splitlines() if line.strip().startswith("zombieproof ")]
    assert [run(*command).code for command in commands] == [1, 1, 0]


# ---------------------------------------------------------------- files


@pytest.mark.slow
def test_an_edit_is_another_model(run: Any, model: Path) -> None:
    """Also one of the same length within a second: neither Python's nor Numba's cache may give yesterday's model."""
    assert run("check", model, "--json").json["scenarios"][0]["distinct"] == 143
    text = model.read_text()
    model.write_text(text.replace("state.lock.token >= setup.leases", "state.lock.token >= 1 + 0 * 77777"))
    less = run("check", model, "--json").json["scenarios"][0]["distinct"]
    model.write_text(text.replace("state.lock.token >= setup.leases", "state.lock.token >= 2 + 0 * 77777"))
    more = run("check", model, "--json").json["scenarios"][0]["distinct"]
    assert less < more < 143
    assert not list(model.parent.rglob("*.pyc"))


@pytest.mark.slow
def test_a_file_may_import_its_neighbours_and_an_edit_there_is_noticed(run: Any, model: Path) -> None:
    beside = model.parent / "what_a_lease_is.py"
    beside.write_text("def most(leases: int) -> int:\n    return leases\n")
    text = model.read_text()
    model.write_text(
        text.replace("from zombieproof import", "from what_a_lease_is import most\nfrom zombieproof import")
        .replace("state.lock.token >= setup.leases", "state.lock.token >= most(setup.leases)")
    )  # fmt: skip
    for more, distinct in (("", 143), (" - 1", None)):
        beside.write_text(f"def most(leases: int) -> int:\n    return leases{more}\n")
        command = [sys.executable, "-c", "import sys; from zombieproof.cli import main; sys.exit(main())"]
        done = subprocess.run([*command, "check", str(model), "--json"], capture_output=True, text=True, check=False)
        found = json.loads(done.stdout)["scenarios"][0]["distinct"]
        assert found == distinct or (distinct is None and found < 143)


def test_a_mistake_beside_the_file_is_told_with_its_line(run: Any, model: Path) -> None:
    beside = model.parent / "half_a_lease.py"
    beside.write_text("def most(leases: int) -> int:\n    return [leases][0]\n")
    model.write_text(
        model.read_text()
        .replace("from zombieproof import", "from half_a_lease import most\nfrom zombieproof import")
        .replace("state.lock.token >= setup.leases", "state.lock.token >= most(setup.leases)")
    )
    outcome = run("check", model)
    assert (outcome.code, f"{beside}:2: most cannot be lowered: a list" in outcome.err) == (2, True)
    beside.write_text("def most(leases: int) -> int:\n    return (leases\n")
    sys.modules.pop("half_a_lease")
    outcome = run("check", model)
    assert (outcome.code, f"{beside}:2: not valid Python" in outcome.err) == (2, True)


def test_a_namesake_of_a_neighbour_of_another_file_is_refused(
    run: Any, model: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = Path(shutil.copy(model, tmp_path_factory.mktemp("other") / "other.py"))
    for file in (model, other):
        (file.parent / "helpers_of_mine.py").write_text("")
        file.write_text("import helpers_of_mine\n" + file.read_text().replace('"lock_with', f'"{file.stem}_lock_with'))
    outcome = run("check", model, other)
    assert outcome.code == 2
    assert f"{other.parent / 'helpers_of_mine.py'}: a module named helpers_of_mine is already imported" in outcome.err


@pytest.mark.slow
def test_what_a_file_prints_does_not_get_into_the_report(run: Any, model: Path) -> None:
    model.write_text('print("hello")\n' + model.read_text())
    outcome = run("check", model, "--json")
    assert outcome.json["verdict"] == "holds"
    assert outcome.err == "hello\n"


@pytest.mark.slow
def test_two_scenarios_of_one_name_are_refused(run: Any, model: Path) -> None:
    other = Path(shutil.copy(model, model.with_name("other.py")))
    outcome = run("check", model, other)
    assert (outcome.code, "): rename one, or run them separately" in outcome.err) == (2, True)
    model.write_text(
        model.read_text().replace('name="lock_with_leases",\n    story', 'name="late_produce",\n    story')
    )
    assert run("check", model).code == 0
    assert run("check", model, "late_produce").code == 2
    model.write_text(model.read_text() + "\nfrom dataclasses import replace\nTWO = replace(SCENARIO, distinct=0)\n")
    assert "two scenarios are named 'late_produce'; rename one" in run("check", model).err


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("no_such.py", "no such file; there are: bytes.py, "),
        ("own_modle.py", "did you mean own_model.py"),
        ("nowhere/own_model.py", "no such file"),
        (".", "is a folder; give a Python file in it"),
        ("notes.txt", "not a Python file; give FILE.py or FILE.py:NAME"),
        ("folder.py", "is a folder"),
        ("empty.py", "defines no scenario. Legal: a module attribute made by transaction_scenario(...)"),
        ("empty.py:X", "there is no scenario 'X'; the file defines none"),
        ("own_model.py:", "there is no scenario ''; there are: lock_with_leases"),
        ("own_model.py:nope", "there is no scenario 'nope'; there are: lock_with_leases"),
        ("bytes.py", "not valid Python"),
        ("zeros.py", "not valid Python"),
    ],
)
def test_a_file_that_cannot_be_read_as_scenarios_is_wrong_usage(run: Any, model: Path, asked: str, says: str) -> None:
    (model.parent / "empty.py").write_text("")
    (model.parent / "bytes.py").write_bytes(b"x = '\xff'\n")
    (model.parent / "zeros.py").write_bytes(b"x = 1\0\n")
    (model.parent / "notes.txt").write_text("x")
    (model.parent / "folder.py").mkdir()
    for command in ("check", "scenarios"):
        outcome = run(command, f"{model.parent}/{asked}")
        assert (outcome.code, outcome.out) == (2, "")
        assert says in outcome.err
        assert "Traceback" not in outcome.err
        assert "internal" not in outcome.err


def test_a_mistake_in_a_registered_model_is_told_with_its_line_as_well(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = SCENARIOS["two_phase_commit"]
    wrong = dataclasses.replace(right, model=lambda bounds: dataclasses.replace(right.model(bounds), step=misspelt))
    monkeypatch.setattr(exploring, "SCENARIOS", {right.name: wrong})
    outcome = run("check", right.name)
    line = misspelt.__code__.co_firstlineno + 1
    assert outcome.code == 2
    assert f"{__file__}:{line}: misspelt cannot be lowered: state is a State7, and has no field colour" in outcome.err


def misspelt(state: Any, action: int, rules: Any, trail: Any) -> bool:
    return state.colour == 1  # type: ignore[no-any-return]  # wrong on purpose
