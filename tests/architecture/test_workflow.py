"""The workflow for other machines: its matrix is what pyproject.toml says, and each of its commands exists."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.architecture.test_documents import missing_targets, wrong_commands
from zombieproof.cli.main import NOT_ON_WINDOWS

WORKFLOW = Path(".github/workflows/other-machines.yml")


@pytest.fixture(scope="module")
def jobs(repository_root: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((repository_root / WORKFLOW).read_text(encoding="utf-8"))["jobs"]
    return found


def commands(jobs: dict[str, Any]) -> list[str]:
    """Every line that a step runs."""
    steps = [step for job in jobs.values() for step in job["steps"]]
    return [line for step in steps for line in step.get("run", "").splitlines()]


def classifiers(repository_root: Path) -> list[str]:
    project = tomllib.loads((repository_root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [*project["classifiers"]]


def test_there_are_three_systems_and_each_python_that_is_named(repository_root: Path, jobs: dict[str, Any]) -> None:
    named = classifiers(repository_root)
    pythons = [each.rpartition(" ")[2] for each in named if each.startswith("Programming Language :: Python :: 3.")]
    systems = [system for job in jobs.values() for system in job["strategy"]["matrix"]["system"]]
    assert systems == ["ubuntu-latest", "macos-latest", "windows-latest"]
    for job in jobs.values():
        assert job["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13", "3.14"]
        assert set(pythons) <= set(job["strategy"]["matrix"]["python"])
    assert {each.rpartition(" ")[2] for each in named if each.startswith("Operating System")} == {
        "Linux",
        "MacOS",
        "Windows",
    }


def test_every_command_exists(repository_root: Path, jobs: dict[str, Any]) -> None:
    found = commands(jobs)
    text = "\n".join(["```console", *(f"$ {line}" for line in found), "```"])
    assert not missing_targets(repository_root, text)
    assert not wrong_commands(text)
    programs = {line.split()[0] for line in found}
    assert programs == {"make", "python", "zombieproof"}


def test_every_path_exists(repository_root: Path, jobs: dict[str, Any]) -> None:
    named = [word for line in commands(jobs) for word in line.split() if word.startswith("tests/")]
    assert len(named) > 3
    assert [path for path in named if not (repository_root / path).exists()] == []


def test_windows_runs_nothing_that_it_refuses(jobs: dict[str, Any]) -> None:
    run = {line.split()[1] for line in commands({"windows": jobs["windows"]}) if line.startswith("zombieproof ")}
    assert not run & set(NOT_ON_WINDOWS)
    assert {"check", "replay", "audit", "history", "diagrams", "conform", "serve"} <= run
