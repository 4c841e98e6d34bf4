"""`make test` leaves long tests out, CI only the longest, and both those on Spark; `-m` overrules it."""

import os
import re
import shutil
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
@pytest.mark.long("much")
@pytest.mark.parametrize("which", ["little", "much"])
def test_listed(which): pass
@pytest.mark.share(2)
@pytest.mark.parametrize("which", ["first", "second"])
def test_shared(which): pass
@pytest.mark.spark
def test_sparking(): pass
@pytest.mark.spark
@pytest.mark.slow
def test_sparking_long(): pass
"""


NAMES = (
    "short",
    "slow",
    "deep",
    "drawn[one]",
    "drawn[two]",
    "listed[little]",
    "listed[much]",
    "shared[first]",
    "shared[second]",
    "sparking",
    "sparking_long",
)


@pytest.fixture
def tests(repository_root: Path, tmp_path: Path) -> Path:
    """A folder with one test of each length, under the conftest of this project."""
    folder = tmp_path / "clone" / "tests"
    folder.mkdir(parents=True)
    (folder / "conftest.py").write_text((repository_root / "tests/conftest.py").read_text())
    (folder / "test_made.py").write_text(MADE)
    project = (repository_root / "pyproject.toml").read_text()
    (folder / "pyproject.toml").write_text(project.replace('testpaths = ["tests"]', 'testpaths = ["."]'))
    return folder


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
        (None, (), {"short", "drawn[one]", "listed[little]", "shared[first]"}),
        ("quick", (), {"short", "drawn[one]", "listed[little]", "shared[first]"}),
        ("ci", (), {"short", "slow", "drawn[one]", "drawn[two]", "listed[little]", "shared[first]"}),
        ("deep", (), set(NAMES) - {"sparking", "sparking_long"}),
        ("quick", ("-m", "slow"), {"slow", "drawn[two]"}),
        ("ci", ("-m", "deep"), {"deep", "listed[much]", "shared[second]"}),
        ("quick", ("-m", "spark"), {"sparking"}),
        ("ci", ("-m", "spark"), {"sparking", "sparking_long"}),
    ],
)
def test_a_profile_leaves_out_what_is_longer(
    tests: Path, profile: str | None, arguments: tuple[str, ...], names: set[str]
) -> None:
    code, out = ran(tests, profile, *arguments)
    assert (code, {name for name in NAMES if f"test_{name} PASSED" in out}) == (0, names)


@pytest.mark.slow
@pytest.mark.parametrize(("mark", "word", "test"), [("sample", "one", "drawn"), ("long", "much", "listed")])
def test_a_sample_of_nothing_is_refused_where_all_recordings_are(
    tests: Path, mark: str, word: str, test: str, tmp_path: Path
) -> None:
    made = tests / "test_made.py"
    made.write_text(made.read_text().replace(f'mark.{mark}("{word}")', f'mark.{mark}("{word}", "three")'))
    code, out = ran(tests, "quick")
    assert code == 0, out
    (tmp_path / "shared").mkdir()
    code, out = ran(tests, "quick")
    assert code == 4
    assert f"@pytest.mark.{mark} names no test of its own" in out
    assert f"test_{test}: three" in out


@pytest.mark.slow
def test_a_share_of_nothing_is_refused_where_all_recordings_are(tests: Path, tmp_path: Path) -> None:
    made = tests / "test_made.py"
    made.write_text(made.read_text().replace('["first", "second"]', '["second"]'))
    (tmp_path / "shared").mkdir()
    code, out = ran(tests, "quick")
    assert code == 4
    assert "@pytest.mark.share leaves nothing to CI: test_made.py::test_shared" in out


@pytest.mark.slow
def test_a_clone_that_stands_alone_has_tests(repository_root: Path, tmp_path: Path) -> None:
    clone = tmp_path / "alone" / "clone"
    shutil.copytree(repository_root, clone, ignore=shutil.ignore_patterns(".*cache*", ".git", ".venv*"))
    code, out = ran(clone, "quick", "--collect-only", "-q")
    assert code == 0, out[-2000:]
    found = re.search(r"(\d+)/\d+ tests collected", out)
    assert found is not None
    assert int(found[1]) > 10_000


def test_a_profile_that_does_not_exist_is_refused(tests: Path) -> None:
    code, out = ran(tests, "quik")
    assert code == 4
    assert "ZOMBIEPROOF_TESTS=quik is no profile; there are: quick, ci, deep" in out


HANGS = """
import threading
def test_before(): pass
def test_waits_for_nobody(): threading.Event().wait()
def test_behind(): pass
"""


@pytest.mark.parametrize(
    "arguments", [(), pytest.param(("-p", "xdist", "-n", "2", "--dist", "worksteal"), marks=pytest.mark.slow)]
)
def test_what_hangs_is_named_with_where_it_waits_and_ended(tests: Path, arguments: tuple[str, ...]) -> None:
    (tests / "test_made.py").write_text(HANGS)
    code, out = ran(tests, None, "-o", "faulthandler_timeout=2", *arguments)
    assert code == 1
    assert "in test_waits_for_nobody" in out, "the line where it waits"
    if arguments:
        assert "crashed while running 'test_made.py::test_waits_for_nobody'" in out
        assert "2 passed" in out, "others go on"


def test_ci_takes_the_slow_tests(repository_root: Path) -> None:
    assert "export ZOMBIEPROOF_TESTS=ci" in (repository_root / ".ci/run").read_text()


def test_what_runs_on_spark_is_not_even_imported_where_it_was_not_asked_for(repository_root: Path) -> None:
    code, out = ran(repository_root, "ci", "--collect-only", "-q", "tests/spark")
    assert (code, "no tests collected" in out, "deselected" in out) == (5, True, False), out
    code, out = ran(repository_root, "ci", "--collect-only", "-q", "tests/spark/test_session.py")
    assert (code, "3 deselected" in out) == (5, True), out


PROGRAM = """#!/bin/sh
echo "{name} $*"
exit {code}
"""


def of_ci(root: Path, folder: Path, java: int) -> tuple[int, str]:
    """What `.ci/run` says where every target passes, and `tests.jvm.java` ends with a code; nobody is root."""
    script = folder / ".ci" / "run"
    programs = {"make": 0, "timeout": 0, "id": 0, "dot": 0, "../.venv/bin/python": java}
    for name, code in programs.items():
        program = folder / "bin" / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text("#!/bin/sh\necho 1000\n" if name == "id" else PROGRAM.format(name=name, code=code))
        program.chmod(0o755)
    script.parent.mkdir()
    script.write_text((root / ".ci/run").read_text())
    surroundings = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", script], env=surroundings, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def test_ci_runs_spark_behind_everything_else_within_eight_minutes(repository_root: Path, tmp_path: Path) -> None:
    code, out = of_ci(repository_root, tmp_path, java=0)
    assert (code, out.splitlines()[-1]) == (0, "all passed")
    made = [line for line in out.splitlines() if line.startswith(("make", "timeout"))]
    assert made[-2:] == ["make .venv/spark", "timeout --signal=INT --kill-after=30 900 make spark"]


def test_ci_says_that_spark_was_not_run_where_there_is_no_java(repository_root: Path, tmp_path: Path) -> None:
    code, out = of_ci(repository_root, tmp_path, java=1)
    assert code == 0
    assert "spark             0  not run" in out
    assert out.splitlines()[-1].startswith("passed, but for what was not run: spark (there is no Java 17")
    assert "make spark" not in out
