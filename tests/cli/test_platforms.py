"""What only some systems have is asked for and never taken for granted: commands run with such names removed."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from zombieproof.checker.engine.places import MOST_THREADS
from zombieproof.checker.engine.search import Search
from zombieproof.cli import exploring

REMOVED = {
    "os": (
        "sched_getaffinity", "sched_setaffinity", "process_cpu_count", "fork", "getuid", "geteuid", "getpgid", "killpg",
        "uname", "statvfs", "posix_fadvise", "sendfile", "memfd_create", "getloadavg", "mkfifo", "O_CLOEXEC",
    ),
    "mmap": ("MAP_PRIVATE", "MAP_ANONYMOUS", "MAP_ANON", "MADV_HUGEPAGE", "MADV_DONTNEED"),
    "signal": ("SIGPIPE", "SIGKILL", "SIGHUP", "SIGALRM", "SIGWINCH", "SIGUSR1", "pthread_sigmask", "setitimer"),
    "time": ("thread_time", "clock_gettime", "pthread_getcpuclockid"),
}  # fmt: skip
MODULES = ("resource", "fcntl", "termios", "pwd", "grp", "pty", "tty")

PROGRAM = f"""
import sys
import numba, psutil, rich.console, click  # what libraries need is their own business
import tempfile, subprocess, shutil
for name, attributes in {REMOVED!r}.items():
    module = __import__(name)
    for attribute in attributes:
        if hasattr(module, attribute):
            delattr(module, attribute)
for name in {MODULES!r}:
    sys.modules[name] = None
import pathlib
class Elsewhere(type(pathlib.Path())):
    def _refuse(self):
        if str(self).startswith(("/proc", "/sys", "/dev")):
            raise FileNotFoundError(2, "No such file or directory", str(self))
    def read_text(self, *arguments, **named):
        self._refuse()
        return super().read_text(*arguments, **named)
    def open(self, *arguments, **named):
        self._refuse()
        return super().open(*arguments, **named)
pathlib.Path = Elsewhere
from zombieproof.cli import main
sys.exit(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("check two_phase_commit --bounds n=3", 0),
        ("check two_phase_commit --bounds n=3 --workers 2 --memory 1G", 0),
        ("check two_phase_commit --bounds n=3 --mutant commit_without_waiting_for_all -o {folder}", 1),
        ("check --list", 0),
        ("scenarios", 0),
        ("rules", 0),
        ("about", 0),
        ("diagrams --check", 0),
        ("replay tests/recordings/01-commit", 0),
        ("replay tests/recordings/09-offline-partition-lost-commit", 1),
        ("conform --recording tests/answers/sample.jsonl.gz --limit 5", 0),
    ],
)
def test_a_command_runs_where_there_is_less_than_on_linux(
    repository_root: Path, tmp_path: Path, arguments: str, code: int
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments.format(folder=tmp_path).split()],
        cwd=repository_root,
        env={**os.environ, "PYTHONPATH": str(repository_root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr


# ---------------------------------------------------------------- cores


def test_where_no_process_is_bound_to_cores_all_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exploring, "_CGROUP_CPU", Path("no such file"))
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 12)
    assert exploring.cores() == 12
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert exploring.cores() == 1


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
    monkeypatch.setattr(exploring, "_CGROUP_CPU", tmp_path / "cpu.max")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert exploring.cores() == cores


def test_by_default_one_thread_explores(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(exploring, "cores", lambda: 256)
    assert exploring.workers_of(None) == 1
    assert exploring.workers_of(256) == MOST_THREADS
    assert str(MOST_THREADS) in capsys.readouterr().err


@pytest.mark.parametrize("workers", [63, 64, 65, 72, 128, 256, 1000, 10**30])
def test_more_threads_than_can_share_an_exploration_are_said_to_be_capped(run: Any, workers: int) -> None:
    outcome = run("check", "two_phase_commit", "--bounds", "n=3", "--workers", workers, "--json")
    assert outcome.code == 0
    assert outcome.json["scenarios"][0]["distinct"] == 288
    said = f"--workers {workers}: an exploration is shared by up to 64 threads; so many work\n"
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
