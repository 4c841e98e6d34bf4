"""`make test` leaves long tests out, CI only the longest; `-m` overrules both."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

MADE = """
import pytest
def test_short(): pass
@pytest.mark.slow
def test_slow(): pass
@pytest.mark.deep
def test_deep(): pass
@pytest.mark.sample("one")
@pytest.mark.parametrize("which", ["one", "two"])
def test_drawn(which): pass
"""


NAMES = ("short", "slow", "deep", "drawn[one]", "drawn[two]")


@pytest.fixture
def tests(repository_root: Path, tmp_path: Path) -> Path:
    """A folder with one test of each length, under the conftest of this project."""
    (tmp_path / "conftest.py").write_text((repository_root / "tests/conftest.py").read_text())
    (tmp_path / "test_made.py").write_text(MADE)
    project = (repository_root / "pyproject.toml").read_text()
    (tmp_path / "pyproject.toml").write_text(project.replace('testpaths = ["tests"]', 'testpaths = ["."]'))
    return tmp_path


def ran(tests: Path, profile: str | None, *arguments: str) -> tuple[int, str]:
    surroundings = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "ZOMBIEPROOF_"))}
    if profile is not None:
        surroundings["ZOMBIEPROOF_TESTS"] = profile
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-p", "no:xdist", *arguments]
    done = subprocess.run(command, cwd=tests, env=surroundings, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("profile", "arguments", "names"),
    [
        (None, (), {"short", "drawn[one]"}),
        ("quick", (), {"short", "drawn[one]"}),
        ("ci", (), {"short", "slow", "drawn[one]", "drawn[two]"}),
        ("deep", (), {"short", "slow", "deep", "drawn[one]", "drawn[two]"}),
        ("quick", ("-m", "slow"), {"slow", "drawn[two]"}),
        ("ci", ("-m", "deep"), {"deep"}),
    ],
)
def test_a_profile_leaves_out_what_is_longer(
    tests: Path, profile: str | None, arguments: tuple[str, ...], names: set[str]
) -> None:
    code, out = ran(tests, profile, *arguments)
    assert (code, {name for name in NAMES if f"test_{name} PASSED" in out}) == (0, names)


def test_a_sample_of_nothing_is_refused(tests: Path) -> None:
    made = tests / "test_made.py"
    made.write_text(made.read_text().replace('mark.sample("one")', 'mark.sample("one", "three")'))
    code, out = ran(tests, "quick")
    assert code == 4
    assert "@pytest.mark.sample names no test of its own" in out
    assert "test_drawn: three" in out


def test_a_profile_that_does_not_exist_is_refused(tests: Path) -> None:
    code, out = ran(tests, "quik")
    assert code == 4
    assert "ZOMBIEPROOF_TESTS=quik is no profile; there are: quick, ci, deep" in out


def test_ci_takes_the_slow_tests(repository_root: Path) -> None:
    assert "export ZOMBIEPROOF_TESTS=ci" in (repository_root / ".ci/run").read_text()
