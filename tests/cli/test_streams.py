"""Whatever becomes of the streams of a command: one line at most, a documented exit code, never a traceback."""

import os
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

import pytest

from zombieproof.cli import main

FULL = Path("/dev/full")
STARTER = (
    "import os, sys; [os.close(int(n)) for n in sys.argv[1].split(',') if n]; os.execv(sys.executable, sys.argv[2:])"
)
PROGRAM = "import sys; from zombieproof.cli import main; sys.exit(main())"

COMMANDS: dict[str, int] = {
    "--help": 0,
    "--version": 0,
    "check --list": 0,
    "scenarios timeout": 0,
    "rules --diff 3.9 4.2": 0,
    "about": 0,
    "diagrams --check": 0,
    "replay --json tests/recordings/09-offline-partition-lost-commit": 1,
    "conform --recording tests/answers/sample.jsonl.gz --limit 1": 0,
}
"""What prints a report, and the exit code that it deserves."""

REFUSED: dict[str, int] = {
    "nope": 2,
    "check nope": 2,
    "check --workers none": 2,
    "replay nope": 2,
    "conform nope": 2,
    "verify --memory much": 2,
}
"""What prints nothing on stdout."""


File = int | IO[str]


def started(
    root: Path,
    arguments: str,
    closed: str = "",
    out: int | IO[str] = subprocess.PIPE,
    err: int | IO[str] = subprocess.PIPE,
) -> subprocess.CompletedProcess[str]:
    """Run a command with some of its streams closed, by numbers such as "1,2"."""
    command = [sys.executable, "-c", STARTER, closed, sys.executable, "-c", PROGRAM, *arguments.split()]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    return subprocess.run(
        command, cwd=root, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err, text=True, check=False
    )


def is_one_line(text: str) -> bool:
    return text.startswith("zombieproof: ") and text.count("\n") == 1


@pytest.mark.sample("scenarios", "conform")
@pytest.mark.parametrize("arguments", COMMANDS)
def test_a_report_that_cannot_be_written_is_no_success(arguments: str, repository_root: Path) -> None:
    done = started(repository_root, arguments, closed="1")
    assert (done.returncode, done.stderr) == (
        70,
        "zombieproof: the report cannot be written to stdout: it is closed\n",
    )


def test_without_any_stream_the_exit_code_says_it(repository_root: Path) -> None:
    assert started(repository_root, "rules", closed="0,1,2").returncode == 70


@pytest.mark.sample("scenarios", "conform")
@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full: a closed stdout is tested instead")
@pytest.mark.parametrize("arguments", COMMANDS)
def test_a_full_disk_behind_stdout_is_no_success(arguments: str, repository_root: Path) -> None:
    with FULL.open("w") as full:
        done = started(repository_root, arguments, out=full)
    assert (done.returncode, done.stderr) == (
        70,
        "zombieproof: the report cannot be written to stdout: No space left on device\n",
    )


@pytest.mark.sample("scenarios", "conform")
@pytest.mark.parametrize("arguments", COMMANDS)
def test_a_reader_that_has_gone_is_nobodys_error(arguments: str, repository_root: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        done = started(repository_root, arguments, out=pipe)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.share(2)
@pytest.mark.sample("replay nope")
@pytest.mark.parametrize("arguments", [*COMMANDS, *REFUSED])
def test_without_stderr_the_exit_code_is_the_same(arguments: str, repository_root: Path) -> None:
    code = (COMMANDS | REFUSED)[arguments]
    usual = started(repository_root, arguments)
    assert usual.returncode == code
    for done in (started(repository_root, arguments, closed="2"), started(repository_root, arguments, closed="0,2")):
        assert (done.returncode, done.stdout) == (code, usual.stdout)
    if FULL.exists():
        with FULL.open("w") as full:
            assert started(repository_root, arguments, err=full).returncode == code


@pytest.mark.sample("replay")
@pytest.mark.parametrize("arguments", REFUSED)
def test_what_is_refused_needs_no_stdout(arguments: str, repository_root: Path) -> None:
    done = started(repository_root, arguments, closed="1")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_no_file_takes_the_number_of_a_closed_stream(repository_root: Path) -> None:
    program = "import os; from zombieproof.cli.streams import guarded\nwith guarded(): os._exit(os.open(os.devnull, 0))"
    command = [sys.executable, "-c", STARTER, "0,1", sys.executable, "-c", program]
    assert subprocess.run(command, cwd=repository_root, check=False).returncode > 2


# ---------------------------------------------------------------- input


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["replay", "{file}/below"], 2),
        (["replay", "{long}"], 2),
        (["replay", "{memory}"], 3),
        (["conform", "--recording", "{file}/below"], 2),
        (["conform", "--recording", "{long}"], 2),
        (["conform", "--recording", "{memory}"], 3),
        (["conform", "--recording", "-"], 3),
        (["check", "two_phase_commit", "--bounds", "n=2", "-o", "{file}/below"], 2),
        (["diagrams", "--format", "dot", "-o", "{file}/below"], 2),
        (["diagrams", "--format", "dot", "-o", "{long}"], 2),
    ],
    ids=str,
)
def test_what_cannot_be_read_or_written_is_named(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int
) -> None:
    memory = Path("/proc/self/mem")
    if "{memory}" in arguments and not memory.exists():
        pytest.skip("there is no /proc/self/mem, which cannot be read: a path below a file is tested instead")
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.setattr(sys, "stdin", None)
    places = {"file": str(file), "long": "x" * 300, "memory": str(memory)}
    outcome = run(*(argument.format(**places) for argument in arguments))
    assert outcome.code == code
    assert "Traceback" not in outcome.err
    said = any(word in outcome.out for word in ("cannot be read", "is empty"))
    assert is_one_line(outcome.err) or (code == 3 and said)


def test_an_error_of_the_machine_is_one_line(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error", "rules.txt")

    monkeypatch.setattr("zombieproof.cli.rules.Screen", fails)
    outcome = run("rules")
    assert (outcome.code, outcome.err) == (70, "zombieproof: rules.txt: Input/output error\n")


def test_streams_are_as_they_were_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    before = (sys.stdin, sys.stdout, sys.stderr)
    assert main(["--version"]) == 0
    assert main(["nope"]) == 2
    assert (sys.stdin, sys.stdout, sys.stderr) == before
