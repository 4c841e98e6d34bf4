"""Each command on macOS and Windows, as far as Linux can show it: it works, or it refuses by name.

`other_system/sitecustomize.py` hides what the other system lacks, in each process that a test starts.
"""

import errno
import fcntl
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.other_system.sitecustomize import F_FULLFSYNC
from zombieproof import HistoryWriter, system
from zombieproof.checker.engine.places import MOST_THREADS
from zombieproof.checker.engine.search import Search
from zombieproof.cli import exploring
from zombieproof.cli.main import COMMANDS, NOT_ON_WINDOWS

NAMES = {"darwin": "macOS", "win32": "Windows"}
PROGRAM = (sys.executable, "-c", "import sys; from zombieproof.cli import main; sys.exit(main())")
LISTENS = re.compile(r"listening on 127\.0\.0\.1:(\d+)\n")
PATIENCE_S = 60
REFUSED = -1
"""Instead of an exit code: the command is refused, by its name and the system's."""

CASES: dict[str, tuple[int, int]] = {
    "check two_phase_commit --bounds n=3": (0, 0),
    "check two_phase_commit --bounds n=3 --workers 2 --memory 1G": (0, 0),
    "check two_phase_commit --bounds n=3 --mutant commit_without_waiting_for_all -o {folder}": (1, 1),
    "check two_phase_commit --bounds n=3 --spill {folder}/spilled": (0, REFUSED),
    "check two_phase_commit --bounds n=3 --checkpoint {folder}/kept": (0, REFUSED),
    "replay tests/recordings/09-offline-partition-lost-commit": (1, 1),
    "audit tests/recordings/01-commit": (0, 0),
    "audit tests/recordings/01-commit --spark local[1]": (2, REFUSED),
    "pack tests/recordings/01-commit/segments -o {folder}/packed": (0, REFUSED),
    "history {folder}/history.jsonl": (0, 0),
    "conform --recording tests/answers/sample.jsonl.gz --limit 5": (0, 0),
    "serve --data {folder}/data --port 0 --story late_end_txn --release 4.0": (2, 2),
    "serve --data {folder}/data --port 99999": (2, 2),
    "repair {folder}/nothing": (2, REFUSED),
    "farm --scenario two_phase_commit --bound n=3 --results {folder}/farm": (0, REFUSED),
    "sweep two_phase_commit --bound n=1..2 --seconds 600 --checkpoint {folder}/swept.jsonl": (0, REFUSED),
    "verify --workers 0": (2, REFUSED),
    "scenarios": (0, 0),
    "stories": (0, 0),
    "rules": (0, 0),
    "diagrams --check": (0, 0),
    "about": (0, 0),
}
"""Arguments, with the exit codes on macOS and on Windows."""


def elsewhere(system: str, **more: str) -> dict[str, str]:
    """The environment of a process on another system."""
    hiding = Path(__file__).with_name("other_system")
    return {**os.environ, "PYTHONPATH": str(hiding), "ZOMBIEPROOF_TEST_SYSTEM": system, **more}


def command(system: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *arguments], env=elsewhere(system), capture_output=True, text=True, check=False, timeout=300
    )


def test_every_command_is_run_on_every_system() -> None:
    assert {case.split()[0] for case in CASES} == set(COMMANDS)
    assert {case.split()[0] for case, (_, code) in CASES.items() if code == REFUSED} >= set(NOT_ON_WINDOWS)


@pytest.mark.slow
@pytest.mark.parametrize("other", NAMES)
@pytest.mark.parametrize("case", CASES)
def test_a_command_works_or_refuses_by_name(other: str, case: str, tmp_path: Path) -> None:
    with HistoryWriter(tmp_path / "history.jsonl") as history:
        history.send("A", "t-0", "v")
        history.acknowledged("A", "v", 0)
        history.positioned("R", "read_committed", {"t-0": 0})
        since = history.now()
        history.read("R", "t-0", 0, "v")
        history.final_read("R", "t-0", position=1, end=1, since=since)
    done = command(other, *case.format(folder=tmp_path).split())
    expected = CASES[case][list(NAMES).index(other)]
    assert "Traceback" not in done.stderr
    if expected != REFUSED:
        assert done.returncode == expected, done.stderr
        return
    assert (done.returncode, done.stdout) == (2, "")
    assert f"not supported on {NAMES[other]}" in done.stderr
    assert "run it on Linux or macOS" in done.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["history.jsonl"], "something was written before it refused"


def test_what_is_refused_still_shows_its_help() -> None:
    done = command("win32", "farm", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Usage: zombieproof farm" in done.stdout


@pytest.mark.deep
@pytest.mark.parametrize("other", NAMES)
def test_audit_works_in_several_processes(other: str) -> None:
    done = command(other, "audit", "tests/recordings/01-commit", "--processes", "2")
    assert done.returncode == 0, done.stderr


# ---------------------------------------------------------------- serve


@contextmanager
def serving(env: dict[str, str], *arguments: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A process that serves, and its port."""
    process = subprocess.Popen(
        [*PROGRAM, "serve", "--port", "0", *arguments],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        found = LISTENS.fullmatch(line := process.stdout.readline())
        assert found, line
        yield process, int(found[1])
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("other", NAMES)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serve_in_memory_answers_and_ends_in_order(other: str, number: int) -> None:
    with serving(elsewhere(other), "--release", "4.3", "--transaction-version", "0") as (process, port):
        judged = command(
            other,
            *("conform", "--bootstrap", f"127.0.0.1:{port}"),
            *("--recording", "tests/answers/sample.jsonl.gz", "--limit", "5"),
        )
        assert judged.returncode == 0, judged.stdout + judged.stderr
        os.kill(process.pid, number)
        _, told = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, told) == (0, "")


def test_on_macos_serve_syncs_what_it_acknowledges_down_to_the_drive(tmp_path: Path) -> None:
    log = tmp_path / "syncs"
    data = tmp_path / "data"
    with serving(elsewhere("darwin", ZOMBIEPROOF_TEST_SYNCS=str(log)), "--data", str(data), "--topic", "orders") as (
        process,
        _,
    ):
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, told) == (0, "")
    synced = {Path(line) for line in log.read_text().splitlines()}
    assert any(each.is_dir() for each in synced), "no directory was synced"
    assert any(each.is_file() for each in synced), "no file was synced"


def test_on_windows_serve_refuses_a_data_directory_and_does_not_make_it(tmp_path: Path) -> None:
    done = command("win32", "serve", "--data", str(tmp_path / "data"), "--port", "0")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"a data directory ({tmp_path / 'data'}) is not supported on Windows" in done.stderr
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------- what the module does itself


class Fcntl:
    """A module `fcntl` of macOS, whose file system answers with an error."""

    F_FULLFSYNC = F_FULLFSYNC

    def __init__(self, error: int) -> None:
        self.error = error

    def fcntl(self, number: int, command: int) -> int:
        raise OSError(self.error, os.strerror(self.error))


def test_a_file_system_without_full_sync_gets_a_plain_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    synced: list[int] = []
    monkeypatch.setattr(system, "_fcntl", Fcntl(errno.ENOTSUP))
    monkeypatch.delattr(os, "fdatasync")
    monkeypatch.setattr(os, "fsync", synced.append)
    with (tmp_path / "file").open("wb") as file:
        system.sync(file.fileno())
        assert synced == [file.fileno()]


def test_a_full_sync_that_fails_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(system, "_fcntl", Fcntl(errno.EIO))
    with (tmp_path / "file").open("wb") as file, pytest.raises(OSError, match=os.strerror(errno.EIO)):
        system.sync(file.fileno())


def test_a_file_system_without_locks_is_no_other_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def flock(number: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", flock)
    with (tmp_path / "file").open("wb") as file, pytest.raises(system.NoFileLocks):
        system.claim(file.fileno())


@pytest.mark.parametrize("has_preadv", [True, False])
def test_bytes_are_read_into_memory_at_a_place(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, has_preadv: bool
) -> None:
    if not has_preadv:
        monkeypatch.delattr(os, "preadv")
    (tmp_path / "file").write_bytes(b"0123456789")
    content = bytearray(4)
    with (tmp_path / "file").open("rb") as file:
        assert system.read_into(file.fileno(), memoryview(content), 3) == 4
        assert content == b"3456"
        assert system.read_into(file.fileno(), memoryview(content), 8) == 2
        assert content == b"8956"


# ---------------------------------------------------------------- cores


def test_where_no_process_is_bound_to_cores_all_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "_CONTROL_GROUP", Path("no such folder"))
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 12)
    assert system.cores() == 12
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert system.cores() == 1


@pytest.mark.parametrize(
    ("limit", "cores"),
    [
        ("200000 100000", 2),
        ("150000 100000", 2),
        ("1000 100000", 1),
        ("max 100000", 8),
        ("", 8),
        ("1 0", 8),
        ("1 2 3", 8),
        ("-1 100000", 8),
    ],
)
def test_a_container_with_a_share_of_the_cores_gets_as_many_threads(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, limit: str, cores: int
) -> None:
    (tmp_path / "cpu.max").write_text(limit)
    monkeypatch.setattr(system, "_CONTROL_GROUP", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert system.cores() == cores


def test_by_default_one_thread_explores(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(system, "cores", lambda: 256)
    assert exploring.workers_of(None) == 1
    assert exploring.workers_of(256) == MOST_THREADS
    assert str(MOST_THREADS) in capsys.readouterr().err


@pytest.mark.parametrize("workers", [63, 64, 65, 72, 128, 256, 1000, 10**30])
def test_more_threads_than_can_share_an_exploration_are_said_to_be_capped(run: Any, workers: int) -> None:
    outcome = run("check", "two_phase_commit", "--bounds", "n=3", "--workers", workers, "--json")
    assert outcome.code == 0
    assert outcome.json["scenarios"][0]["distinct"] == 288
    said = f"--workers {workers}: an exploration uses at most 64 threads; using 64\n"
    assert outcome.err == (said if workers > 64 else "")


def test_mutants_are_hunted_by_as_many_threads_as_there_can_be(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = run("check", "late_produce", "--mutants", "--workers", "1", "--json")
    monkeypatch.setattr(Search, "_worth", lambda *_: MOST_THREADS)
    shared = run("check", "late_produce", "--mutants", "--workers", "72", "--json")
    assert (usual.code, shared.code) == (0, 0)
    assert [found(hunt) for hunt in shared.json["mutants"]] == [found(hunt) for hunt in usual.json["mutants"]]


def found(hunt: dict[str, Any]) -> dict[str, Any]:
    """A hunt without its times."""
    return {name: value for name, value in hunt.items() if "seconds" not in name}


@pytest.mark.parametrize("command", ["check", "verify", "check --mutants"])
@pytest.mark.parametrize("workers", ["0", "-1", "-72", "many", "2.5", ""])
def test_workers_are_a_number_of_threads(run: Any, command: str, workers: str) -> None:
    outcome = run(*command.split(), f"--workers={workers}")
    assert (outcome.code, outcome.out) == (2, "")
    assert "--workers" in outcome.err
    assert "Traceback" not in outcome.err
