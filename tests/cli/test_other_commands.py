"""zombieproof scenarios, about, diagrams, and the help of every command."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from zombieproof.checker.scenarios import MODELS, SCENARIOS
from zombieproof.cli import main
from zombieproof.model.omissions import OMISSIONS
from zombieproof.model.rules import NUMBERS, PRESETS, switches
from zombieproof.statemachines.registry import ALL_MACHINES, MACHINES

COMMANDS = ("check", "replay", "history", "verify", "scenarios", "rules", "diagrams", "about")


def test_the_program_lists_its_commands_and_exit_codes(run: Any) -> None:
    outcome = run("--help")
    assert outcome.code == 0
    assert all(re.search(rf"^  {command} ", outcome.out, re.MULTILINE) for command in COMMANDS)
    assert "130 interrupted" in outcome.out


def test_no_command_shows_five_tasks_with_a_command_each(run: Any) -> None:
    outcome = run()
    assert (outcome.code, outcome.err) == (2, "")
    tasks = re.findall(r"^(\w[^(\n]+) \([^)]+\):\n  zombieproof (\w+)( .*)?$", outcome.out, re.MULTILINE)
    assert [task for task, *_ in tasks] == [
        "Check in CI",
        "Replay an incident",
        "Test an application",
        "Spark",
        "Own model and diagrams",
    ]
    for _, command, rest in tasks:
        assert set(re.findall(r"--[a-z-]+", rest)) <= set(re.findall(r"--[a-z-]+", run(command, "--help").out))


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches_with_examples_whose_options_exist(run: Any, command: str) -> None:
    outcome = run(command, "--help")
    assert outcome.code == 0
    about, _, options = outcome.out.partition("Options:")
    examples = [line.strip() for line in about.splitlines() if line.strip().startswith(f"zombieproof {command}")]
    assert examples
    for example in examples:
        for option in re.findall(r"(?<= )--?[a-z-]+", example):
            assert option in options, f"{example}: {command} has no {option}"


def test_the_examples_name_scenarios_rules_and_presets_that_exist(run: Any) -> None:
    readings = {name for scenario in SCENARIOS.values() for name in scenario.readings}
    rules = {*PRESETS, *NUMBERS, *(facts.name for facts in switches()), *readings}
    names = {*SCENARIOS, *MODELS, *rules, "own_scenario", "own_model"}
    text = run("--help").out + run("check", "--help").out + run("scenarios", "--help").out
    used = re.findall(r"\b[a-z]+_[a-z_]+\b|\bkip98\b", text)
    assert used
    assert set(used) <= names


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_what_a_shell_needs_to_complete_words_is_shown(run: Any, shell: str) -> None:
    outcome = run("--completion", shell)
    assert (outcome.code, outcome.err) == (0, "")
    assert f"_ZOMBIEPROOF_COMPLETE={shell}_complete" in outcome.out
    assert run("--completion", "csh").err.startswith(
        "zombieproof: invalid value for '--completion': 'csh' is not one of"
    )


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("se", {"serve"}),
        ("check zombie_t", {"zombie_takeover"}),
        ("check --without marker_w", {"marker_waits_for_leader"}),
        ("check --without wait_for_a", {"wait_for_all"}),
        ("check --model spark", {"spark_sink"}),
        ("sweep --model two", {"two_phase_commit"}),
        ("sweep zombie_t", {"zombie_takeover"}),
        ("sweep --without marker_w", {"marker_waits_for_leader"}),
        ("check --format j", {"json", "junit"}),
        ("check --spi", {"--spill"}),
        ("check no_such", set()),
    ],
)
def test_words_are_completed(
    typed: str, found: set[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_ZOMBIEPROOF_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", f"zombieproof {typed}")
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split())))
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 0
    assert {line.split(",")[1] for line in capsys.readouterr().out.splitlines() if line} == found


def test_scenarios_are_listed_with_their_stories(run: Any) -> None:
    outcome = run("scenarios")
    assert outcome.code == 0
    assert all(re.search(rf"^{name} ", outcome.out, re.MULTILINE) for name in SCENARIOS)


@pytest.mark.parametrize("name", SCENARIOS)
def test_each_scenario_tells_its_story_bounds_promises_and_mutants(run: Any, name: str) -> None:
    scenario = SCENARIOS[name]
    out = run("scenarios", name).out
    assert scenario.story in out
    assert all(promise in out for promise in (*scenario.always, *scenario.sometimes))
    for mutant in scenario.mutants:
        assert f"violates {mutant.breaks} in {mutant.steps} steps" in out


def test_scenarios_as_json(run: Any) -> None:
    data = run("scenarios", "--json").json
    assert set(data) == {"scenarios"}
    assert [scenario["name"] for scenario in data["scenarios"]] == list(SCENARIOS)
    assert set(data["scenarios"][0]) == {
        "name",
        "model",
        "story",
        "rules",
        "changes",
        "bounds",
        "faults",
        "readings",
        "distinct",
        "promises",
        "mutants",
    }
    [one] = run("scenarios", "leaderless_partition", "--json").json["scenarios"]
    assert one["faults"]["leaderless"] == 1
    assert [mutant["bug"] for mutant in one["mutants"]] == ["B73", None]


def test_the_rules_of_a_scenario_are_its_preset_and_what_it_changes(run: Any) -> None:
    words = "3.9 with refused_commit_keeps_pending"
    assert f"rules: {words}; 42,678 distinct states" in run("scenarios", "late_offset_commit").out
    [one] = run("scenarios", "late_offset_commit", "--json").json["scenarios"]
    assert (one["rules"], one["changes"]) == ("3.9", {"refused_commit_keeps_pending": 1})
    for options, said in (
        ((), words),
        (("--without", "refused_commit_keeps_pending"), "3.9 without refused_commit_keeps_pending"),
        (("--with", "transaction_version=1"), f"{words}, transaction_version=1"),
        (("--rules", "4.3"), "4.3 with refused_commit_keeps_pending"),
    ):
        checked = run("check", "late_offset_commit", *options, "--bounds", "late=0,doubled_batches=0", "--json")
        assert checked.json["scenarios"][0]["rules"] == said


def test_about_tells_versions_rules_machines_and_omissions(run: Any) -> None:
    outcome = run("about")
    assert outcome.code == 0
    assert outcome.out.startswith("zombieproof 0.")
    for word in (*PRESETS, *MACHINES, *(facts.name for facts in switches()), *(each.what for each in OMISSIONS)):
        assert word in outcome.out


def test_a_reader_that_goes_away_is_no_error() -> None:
    program = "import sys; from zombieproof.cli import main; sys.exit(main(['about']))"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        complaint = process.stderr.read()
    assert (process.returncode, complaint) == (141, b"")


def test_diagrams_are_written_checked_and_found_stale(run: Any, tmp_path: Path) -> None:
    written = run("diagrams", "--format", "dot", "-o", tmp_path)
    assert written.code == 0
    assert len(list(tmp_path.glob("*.dot"))) == len(ALL_MACHINES)
    stale = run("diagrams", "--check", "-o", tmp_path)
    assert stale.code == 1
    assert "coordinator.mmd: missing" in stale.out


def test_the_committed_diagrams_are_what_the_tables_say(run: Any, repository_root: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(repository_root)
    assert run("diagrams", "--check").code == 0


def test_an_edited_diagram_is_found(run: Any, repository_root: Path, tmp_path: Path) -> None:
    shutil.copytree(repository_root / "diagrams", tmp_path / "diagrams")
    assert run("diagrams", "--check", "-o", tmp_path / "diagrams").code == 0
    dot = tmp_path / "diagrams" / "consumer.dot"
    dot.write_text(dot.read_text().replace("Buffering", "Holding"))
    assert run("diagrams", "--check", "-o", tmp_path / "diagrams").code == 1


def test_svg_without_dot_says_what_to_install(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    outcome = run("diagrams", "--format", "svg", "-o", tmp_path / "out")
    assert outcome.code == 2
    assert "install the package graphviz" in outcome.err
    assert not (tmp_path / "out").exists()


def test_machines_of_a_file_of_ones_own_are_drawn(run: Any, repository_root: Path, tmp_path: Path) -> None:
    example = repository_root / "examples" / "two_phase_commit.py"
    assert run("diagrams", example, "--format", "mermaid", "-o", tmp_path).code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["resource_manager.mmd"]
    assert "Prepared --> Committed" in (tmp_path / "resource_manager.mmd").read_text()
    assert run("diagrams", f"{example}:resource_manager", "--format", "dot", "-o", tmp_path).code == 0


MACHINE = """
from enum import IntEnum
from zombieproof import Machine, T
class S(IntEnum):
    ONE = 0
class E(IntEnum):
    NOTHING = 0
    GO = 1
LOCK = Machine(name={name!r}, states=S, events=E, initial=S.ONE, rows=(T(S.ONE, E.GO, S.ONE, "it goes"),))
"""


@pytest.mark.parametrize(
    ("text", "asked", "said"),
    [
        (MACHINE.format(name="lock"), "own.py:lokc", "there is no machine 'lokc'; did you mean lock?"),
        (MACHINE.format(name="../lock"), "own.py", "the machine name '../lock' cannot be a file name"),
        (MACHINE.format(name="a") + "B = Machine('a', S, E, S.ONE, LOCK.rows)", "own.py", "two machines are named 'a'"),
        ("x = 1", "own.py", "defines no machine. Legal"),
        ("x = 1", "owm.py", "no such file; did you mean own.py?"),
        ("x = 1", "own", "own: not a Python file"),
        ("x =", "own.py", "own.py:1"),
    ],
)
def test_a_file_without_the_machine_that_is_asked_for_is_refused(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, asked: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(text)
    outcome = run("diagrams", asked)
    assert (outcome.code, (tmp_path / "diagrams").exists()) == (2, False)
    assert said in outcome.err


def test_two_files_with_machines_of_one_name_are_drawn_one_by_one(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text(MACHINE.format(name="lock"))
    assert "two.py: another file also defines a machine 'lock'" in run("diagrams", "one.py", "two.py").err
    assert "--check compares zombieproof's committed diagrams" in run("diagrams", "one.py", "--check").err
