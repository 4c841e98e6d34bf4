"""No command loads what it does not need: seen in the modules of a process of its own, never by the clock."""

import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from zombieproof.cli.main import COMMANDS, command_named

PROGRAM = """
import contextlib, io, json, sys
out = io.StringIO()
with contextlib.redirect_stdout(out):
    from zombieproof.cli import main
    try:
        code = main(sys.argv[1:])
    except SystemExit as ended:
        code = ended.code
print(json.dumps([code, len(out.getvalue()), sorted(sys.modules)]))
"""

COMPILERS = ("numba", "llvmlite", "numpy")
DRAWING = ("transitions", "graphviz", "asyncio")
OURS = ("zombieproof.checker", "zombieproof.broker", "zombieproof.conformance", "zombieproof.traces")
PROTOCOL = "zombieproof.checker.transactions.state"
OTHER_MODELS = (
    "zombieproof.checker.spark_sink",
    "zombieproof.checker.proposal2014",
    "zombieproof.checker.two_phase_commit",
)
LIBRARIES = (*COMPILERS, *DRAWING, "psutil", "yaml", "re2", "rich")
ALL = (*LIBRARIES, *OURS)

UNNEEDED: dict[str, tuple[str, ...]] = {
    "--help": (*ALL, "pydantic", "zombieproof.model"),
    "--version": (*ALL, "pydantic", "zombieproof.model"),
    "chekc": (*ALL, "zombieproof.model"),
    "check --help": (*COMPILERS, "pydantic", *DRAWING, *OURS[1:], "rich"),
    "check two_phase_commit --bounds n=3": (
        "pydantic",
        *OURS[1:],
        PROTOCOL,
        *OTHER_MODELS[:2],
        "zombieproof.report.story",
        "rich",
    ),
    "check --list": (*COMPILERS, "pydantic", *DRAWING, *OURS[1:], "rich"),
    "replay --help": (*LIBRARIES, *OURS[:3]),
    "replay tests/recordings/01-commit": (*LIBRARIES, *OURS[:3]),
    "replay --json tests/recordings/01-commit/dump": (*LIBRARIES, *OURS[:3]),
    "history --help": (*LIBRARIES, *OURS[:3], "zombieproof.model", "zombieproof.statemachines"),
    "conform --help": (*COMPILERS, *DRAWING, "zombieproof.checker"),
    "conform --recording tests/answers/sample.jsonl.gz --limit 1": (*COMPILERS, *DRAWING, "zombieproof.checker"),
    "farm --help": (*COMPILERS, *DRAWING[:2], "pyspark", "pyarrow", "zombieproof.broker", "zombieproof.conformance"),
    "farm --list": (*COMPILERS, *DRAWING[:2], "pyspark", "pyarrow", "zombieproof.broker", "zombieproof.conformance"),
    "verify --help": COMPILERS,
    "scenarios": (*LIBRARIES, "pydantic", *OURS[1:]),
    "scenarios timeout": (*LIBRARIES, "pydantic", *OURS[1:], *OTHER_MODELS),
    "rules": (*ALL, "pydantic"),
    "rules --diff 3.9 4.2": (*ALL, "pydantic"),
    "diagrams --help": (*COMPILERS, "pydantic", *OURS),
    "diagrams --check": (*COMPILERS, *OURS),
    "about": (*LIBRARIES, "pydantic", "zombieproof.broker", "zombieproof.conformance"),
}


@pytest.mark.sample("--version", "rules --diff 3.9 4.2")
@pytest.mark.parametrize("arguments", UNNEEDED)
def test_a_command_loads_only_what_it_needs(arguments: str, repository_root: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments.split()],
        cwd=repository_root,
        env={**os.environ, "PYTHONPATH": str(repository_root)},
        capture_output=True,
        text=True,
        check=True,
    )
    code, written, modules = json.loads(done.stdout)
    assert (code, written > 0) == ((2, False) if arguments == "chekc" else (0, True)), done.stderr
    loaded = [name for name in UNNEEDED[arguments] if name in modules]
    assert loaded == []


def test_what_a_command_needs_is_seen_by_the_same_means(repository_root: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "replay", "--help"], cwd=repository_root, capture_output=True, check=True
    )
    assert "zombieproof.traces.replay" in json.loads(done.stdout)[2]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_that_is_listed_is_there(name: str) -> None:
    command = command_named(name)
    assert command.name == name
    assert command.help


def test_help_lists_every_command_with_its_line(run: Any) -> None:
    out = run("--help").out
    listed = out[out.index("Commands:") :].splitlines()[1:]
    assert [tuple(line.split(maxsplit=1)) for line in listed] == list(COMMANDS.items())


def test_the_version_is_the_one_that_is_installed(run: Any) -> None:
    outcome = run("--version")
    assert (outcome.code, outcome.out, outcome.err) == (0, f"zombieproof {metadata.version('zombieproof')}\n", "")
    assert run("about").out.startswith(outcome.out)
