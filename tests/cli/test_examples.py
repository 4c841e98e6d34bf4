"""Every example runs as it stands and ends as it says."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

MAIN = "import sys; from zombieproof.cli import main; sys.exit(main())"


@pytest.fixture
def examples(repository_root: Path) -> Path:
    return repository_root / "examples"


def _run(*command: object) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    arguments = [str(part) for part in command]
    return subprocess.run(arguments, capture_output=True, text=True, check=False, env={**os.environ, "PATH": path})


def test_a_scenario_of_your_own_is_explored_and_told(examples: Path) -> None:
    done = _run(sys.executable, examples / "own_scenario.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("timeout_and_failover: holds, ")
    assert "7. coordinator node 0 crashes; node 1 takes over and loads the log" in done.stdout
    assert "PREPARE_ABORT (producer 0, epoch 1), partitions p0; nobody sends its markers" in done.stdout


@pytest.mark.parametrize("name", ["own_scenario.py", "own_model.py"])
def test_a_file_of_your_own_is_checked_by_the_command(examples: Path, name: str) -> None:
    command = [sys.executable, "-c", MAIN, "check"]
    done = _run(*command, examples / name, examples / name)
    assert (done.returncode, done.stderr) == (0, "")
    assert "pinned" not in done.stdout


def test_a_zombie_is_fenced_at_a_live_cluster(examples: Path) -> None:
    done = _run(sys.executable, examples / "zombie_at_a_live_cluster.py")
    assert done.returncode == 0, done.stderr
    assert "the commit of the first is answered PRODUCER_FENCED" in done.stdout
    assert "what began at [0]" in done.stdout


def test_a_transfer_is_whole_and_seen_in_halves(examples: Path) -> None:
    done = _run(sys.executable, examples / "bank_transfer.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert "it was aborted: alice has 100, bob has 0, together 100" in done.stdout
    assert "a message later: alice has 70, bob has 0, together 70" in done.stdout
    assert "in the end: alice has 70, bob has 30, together 100" in done.stdout
    assert "it is told PRODUCER_FENCED: a newer producer has the transactional id" in done.stdout
    assert done.stdout.endswith("nothing was moved twice: alice has 70, bob has 30, together 100\n")


def test_consume_transform_produce_is_exact_through_crash_and_zombie(examples: Path) -> None:
    done = _run(sys.executable, examples / "consume_transform_produce.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert "what it has done: 100 orders, 30 have invoices, 0 doubled" in done.stdout
    assert "then: 100 orders, 100 have invoices, 0 doubled" in done.stdout
    assert "the second one goes on, and is told PRODUCER_FENCED" in done.stdout
    assert done.stdout.endswith("in the end: 120 orders, 120 have invoices, 0 doubled\n")


@pytest.mark.slow
def test_a_shop_goes_on_where_it_ended_also_when_it_was_killed(examples: Path, tmp_path: Path) -> None:
    shop, data, trace = examples / "shop_on_disk.py", tmp_path / "data", tmp_path / "run.jsonl"
    done = _run(sys.executable, shop, data, "--orders", "5", "--trace", trace)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("now: 5 orders sold, 5 taken from the stock\n")
    with subprocess.Popen([sys.executable, "-u", shop, data, "--orders", "100000"], stdout=subprocess.PIPE) as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == b"found: 5 orders sold, 5 taken from the stock\n"
        time.sleep(0.5)
        killed.kill()
    done = _run(sys.executable, shop, data, "--orders", "1", "--durability", "page-cache")
    assert (done.returncode, done.stderr) == (0, "")
    told = [int(number) for number in re.findall(r"\d+", done.stdout)]
    assert told[0] == told[1] >= 5, "an order is in both topics, or in none"
    assert told[2:] == [told[0] + 1] * 2
    assert "if the machine loses power, the newest records are lost" in done.stdout
    for path in (data, trace):
        judged = _run(sys.executable, "-c", MAIN, "replay", path)
        assert (judged.returncode, judged.stderr) == (0, ""), judged.stdout


def test_a_shop_in_what_is_no_data_directory_is_refused(examples: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    done = _run(sys.executable, examples / "shop_on_disk.py", file)
    assert done.returncode == 2
    assert "is a file: a data directory is a folder" in done.stderr
    assert file.read_text() == "mine"


def test_the_three_delivery_semantics_differ_under_the_same_crashes(examples: Path) -> None:
    done = _run(sys.executable, examples / "delivery_semantics.py")
    assert (done.returncode, done.stderr) == (0, "")
    crashes = "120 records, 6 crashes"
    assert done.stdout.splitlines() == [
        f"at_most_once: {crashes}: 20 lost, 0 doubled",
        f"at_least_once: {crashes}: 0 lost, 20 doubled",
        f"exactly_once: {crashes}: 0 lost, 0 doubled",
        f"with_auto_commit: {crashes}: 10 lost, 0 doubled",
    ]


def test_a_recording_is_judged_from_a_program(examples: Path, repository_root: Path) -> None:
    done = _run(sys.executable, examples / "replay_a_recording.py")
    assert (done.returncode, done.stderr) == (1, "")
    assert "every_listed_partition_has_its_marker, e-0 offset 2: " in done.stdout
    conforming = repository_root / "tests/recordings/01-commit"
    assert _run(sys.executable, examples / "replay_a_recording.py", conforming).returncode == 0


@pytest.mark.sample("a promise is broken", "did not run")
@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["late_produce", "delayed_commit"], 0, "every scenario holds"),
        (["late_produce", "delayed_commit", "--rules", "kip98"], 1, "a promise is broken"),
        (["late_produce", "--memory", "2M"], 3, "inconclusive"),
        (["late_produces"], 2, "the check did not run"),
    ],
)
def test_a_ci_step_leaves_a_report_and_the_stories(
    examples: Path, tmp_path: Path, arguments: list[str], code: int, says: str
) -> None:
    done = _run(examples / "check_in_ci.sh", tmp_path / "reports", *arguments)
    assert (done.returncode, says in done.stdout) == (code, True), done.stderr
    if code != 2:
        [suite] = ET.fromstring((tmp_path / "reports/checks.xml").read_text())
        assert len(suite.findall("testcase")) == len([name for name in arguments if "_" in name])
    if code == 1:
        assert (tmp_path / "reports/late_produce.jsonl").is_file()


def test_every_example_is_named_in_the_readme_and_tested(examples: Path) -> None:
    named = (examples / "README.md").read_text()
    tests = Path(__file__).parents[1]
    others = (*(tests / "spark").glob("test_*.py"), *(tests / "examples").glob("test_*.py"))
    here = "".join(path.read_text() for path in (Path(__file__), *others))
    files = [path.name for path in examples.iterdir() if path.suffix in {".py", ".sh"}]
    assert files
    assert [name for name in files if f"`{name}`" not in named] == []
    imports = {name: f"from examples import {name.partition('.')[0]}" for name in files}
    assert [name for name in files if f'{name}"' not in here and imports[name] not in here] == []
