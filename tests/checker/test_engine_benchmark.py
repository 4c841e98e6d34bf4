"""The comparison of the engine with its peers: all count the same graph, and whoever counts another one is told."""

import shutil
import sys
from pathlib import Path

import pytest

import zombieproof
from benchmarks import engine, engine_profile
from zombieproof.checker.engine.explore import explore
from zombieproof.checker.scenarios import SCENARIOS

MANAGERS = 4


def needs(*tools: str) -> None:
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"{' and '.join(missing)} are not installed; the peers that are here are tested")


@pytest.mark.parametrize("which", [0, 1, 2], ids=["C", "C with prefetch", "Spin"])
def test_a_peer_counts_the_states_of_the_graph(which: int, tmp_path: Path) -> None:
    needs("gcc", *(["spin"] if which == 2 else []))
    subject = engine.on_two_phase_commit(MANAGERS)[which]
    [row] = engine.measure([subject], engine.DISTINCT[MANAGERS], 1, tmp_path)
    assert (row.fault, row.distinct, len(row.runs)) == ("", 1_568, 1)


@pytest.mark.deep  # half a minute of compiling in Rust; `make bench` says so too
def test_stateright_counts_the_states_of_the_graph(tmp_path: Path) -> None:
    needs("cargo")
    [row] = engine.measure([engine.stateright(MANAGERS)], engine.DISTINCT[MANAGERS], 1, tmp_path)
    if row.fault.startswith("missing"):
        pytest.skip(f"Stateright cannot be compiled here ({row.fault}); the other peers are tested")
    assert (row.fault, row.distinct) == ("", 1_568)


@pytest.mark.slow
def test_the_command_is_measured_as_users_run_it(tmp_path: Path) -> None:
    subject = engine.ours("alone", "two_phase_commit", f"n={MANAGERS}", "--workers", "1")
    [row] = engine.measure([subject], engine.DISTINCT[MANAGERS], 1, tmp_path)
    assert (row.fault, row.distinct) == ("", 1_568)
    assert row.runs[0].user > 0.1
    assert row.runs[0].peak_mib > 50


@pytest.mark.slow
def test_two_at_once_are_measured_together(tmp_path: Path) -> None:
    alone, _, twice = engine.ours_in_each_way("two_phase_commit", f"n={MANAGERS}")
    rows = engine.measure([alone, twice], engine.DISTINCT[MANAGERS], 1, tmp_path)
    assert [(row.fault, row.distinct) for row in rows] == [("", 1_568), ("", 2 * 1_568)]


ALTERNATE = """
import os, sys
try:
    os.mkdir("{marks}")
    number = 0
except FileExistsError:
    number = 1
print("told")
sys.exit(3 if number == {failing} else 0)
"""
"""A program that fails where it is the first of two, or the second."""


@pytest.mark.parametrize("failing", [0, 1])
def test_one_of_two_at_once_that_fails_is_an_error(failing: int, tmp_path: Path) -> None:
    (tmp_path / "measured").mkdir()
    command = [sys.executable, "-c", ALTERNATE.format(marks=tmp_path / "marks", failing=failing)]
    with pytest.raises(engine.Wrong, match="exit code 3: told"):
        engine.run_at_once(command, tmp_path / "measured", 2)


def test_a_peer_with_another_graph_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    needs("gcc")
    own = (engine.SOURCES / "two_phase.c").read_text()
    wrong = own.replace("if (state & abort_sent)", "if (0)")
    assert wrong != own
    (tmp_path / "two_phase.c").write_text(wrong)
    monkeypatch.setattr(engine, "SOURCES", tmp_path)
    page = tmp_path / "page.md"
    code = engine.main(["--peers", "--managers", "4", "--rounds", "1", "--only", "by hand with", "--write", str(page)])
    assert code == 1
    assert "states instead of 1,568" in capsys.readouterr().out
    assert "| C by hand with prefetch | error: " in page.read_text()


def test_a_tool_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    rows = engine.measure(engine.on_two_phase_commit(MANAGERS)[:4], 1_568, 1, tmp_path / "built")
    assert [row.fault for row in rows] == [
        "missing: gcc is not installed",
        "missing: gcc is not installed",
        "missing: spin is not installed",
        "missing: cargo is not installed",
    ]
    assert [cells[1] for cells in engine.rows_of(rows)] == [row.fault for row in rows]


@pytest.mark.parametrize("said", ["", "pan: out of memory", "{}", '{"scenarios": []}'])
def test_what_says_no_count_is_an_error(said: str) -> None:
    for subject in engine.on_two_phase_commit(MANAGERS):
        with pytest.raises(engine.Wrong):
            subject.count(said)


def test_a_choice_of_nobody_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        engine.main(["--peers", "--only", "nobody"])
    assert refused.value.code == 2
    assert "--only nobody: nobody is called so" in capsys.readouterr().err


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What looks like a clone of another commit that was set up: this package, with the interpreter that runs."""
    (tmp_path / "clone").mkdir()
    (tmp_path / "clone" / ".venv").symlink_to(sys.prefix)
    (tmp_path / "clone" / "zombieproof").symlink_to(Path(zombieproof.__file__).parent)
    return tmp_path / "clone"


@pytest.mark.slow
def test_an_earlier_commit_takes_its_turns(clone: Path, tmp_path: Path) -> None:
    subjects = [engine.as_it_was(clone, "two_phase_commit", f"n={MANAGERS}")]
    [row] = engine.measure(subjects, engine.DISTINCT[MANAGERS], 1, tmp_path / "measured")
    assert (row.fault, row.distinct) == ("", 1_568)
    cells = dict(zip(engine.TITLES, engine.rows_of([row])[0], strict=True))
    assert cells["of earlier:"] == "1.00"


_KEEPS = """
import os
folder = os.environ["ZOMBIEPROOF_CACHE_DIR"]
assert folder == os.environ["XDG_CACHE_HOME"] and not os.listdir(folder)
open(os.path.join(folder, "kept"), "w").close()
print('{"scenarios": [{"verdict": "holds", "distinct": 7}]}')
"""


def test_compiling_begins_with_nothing_each_time(clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "PROGRAM", _KEEPS)
    (tmp_path / "caches").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "caches"))
    rows = engine.measure(engine.compiling(clone), 7, 2, tmp_path / "measured")
    ran = [(row.name, row.fault, len(row.runs)) for row in rows]
    assert ran == [("zombieproof, as shipped", "", 2), (engine.EARLIER, "", 2)]
    assert list((tmp_path / "caches").iterdir()) == []
    told = [dict(zip(engine.COMPILING_TITLES, cells, strict=True)) for cells in engine.rows_of_compiling(rows)]
    assert told[1]["all, of earlier:"] == "1.00"


def test_an_earlier_commit_that_is_not_set_up_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        engine.main(["--earlier", str(tmp_path)])
    assert refused.value.code == 2
    assert f"--earlier {tmp_path}: it is not set up" in capsys.readouterr().err


def test_memory_is_told_for_each_state() -> None:
    spent = engine.Spent(user=2.0, cpu=2.1, seconds=2.2, peak_mib=10.0, said="")
    row = engine.Row("somebody", 1_000_000, (spent,))
    cells = dict(zip(engine.TITLES, engine.rows_of([row])[0], strict=True))
    assert (cells["M/CPU s:"], cells["most MiB:"], cells["bytes/state:"]) == ("0.50", "10", "10")
    assert cells["of Spin:"] == cells["of C:"] == ""


def test_processes_at_once_take_the_sum_and_the_time_of_the_last() -> None:
    one = engine.Spent(user=2.0, cpu=2.1, seconds=4.0, peak_mib=10.0, said="1")
    other = engine.Spent(user=3.0, cpu=3.5, seconds=3.0, peak_mib=20.0, said="2")
    both = engine.together([one, other])
    assert both == engine.Spent(user=5.0, cpu=5.6, seconds=4.0, peak_mib=30.0, said="2")
    rows = [engine.Row(engine.SHIPPED, 1_000_000, (one,)), engine.Row(engine.TWICE, 2_000_000, (both,))]
    cells = [dict(zip(engine.TITLES, each, strict=True)) for each in engine.rows_of(rows)]
    assert [each["times as fast:"] for each in cells] == ["1.00", "2.00"]
    assert [each["of shipped:"] for each in cells] == ["1.00", "0.80"]


def test_a_profile_finds_the_same_graph_and_leaves_no_second_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert engine_profile.main(["two_phase_commit", "1", "n=5"]) == 0
    said = capsys.readouterr().out
    assert "two_phase_commit: 8,832 states in " in said
    told = {line.split()[0]: line.split() for line in said.splitlines()[1:] if line.startswith("  ")}
    assert tuple(told)[:7] == tuple(part.split()[0] for part in engine_profile.PARTS)
    assert sum(float(told[part][-3].rstrip("%")) for part in ("actions", "table", "promises")) > 0


def test_phases_apart_are_the_phases_together() -> None:
    scenario = SCENARIOS["two_phase_commit"]
    bounds = scenario.own_bounds({"n": 5})
    setup, model = scenario.setup(scenario.own_rules(), bounds), scenario.model(bounds)
    way = engine_profile.apart(model, setup, scenario.kept)
    together = explore(model, setup, promises=scenario.kept)
    assert (way.result.distinct, way.result.generated, way.result.depth) == (
        together.distinct,
        together.generated,
        together.depth,
    )
    assert set(way.phases) == {"expand", "table", "gather", "unpack"}
    assert all(seconds > 0 for seconds in way.phases.values())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "there is no scenario ''"),
        (["nothing"], "there is no scenario 'nothing'"),
        (["two_phase_commit", "0"], "'0' are no rounds"),
        (["two_phase_commit", "1", "n"], "'n' is not name=number"),
        (["two_phase_commit", "1", "m=2"], "there is no bound 'm'"),
    ],
)
def test_a_profile_of_nothing_is_refused(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert engine_profile.main(arguments) == 2
    assert said in capsys.readouterr().out
