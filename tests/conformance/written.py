"""Cases that are met by a test: functions with ``@pytest.mark.case("LG-007")`` in ``tests/conformance/test_*.py``."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]


class TestsBroke(Exception):
    """Pytest could not be run: the message is what it said."""

    __test__ = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """What all tests of one case say together: a failure outweighs a skip, a skip outweighs a success."""

    passed: bool
    skipped: bool = False
    reason: str = ""


def run(ids: AbstractSet[str]) -> dict[str, Verdict]:
    """Run the tests that are written for `ids`; ids without any are left out.

    Raises:
        TestsBroke: pytest found an error before it ran a test.
    """
    return {name: _verdict(rows) for name, rows in _pytest(ids, collect_only=False).items()}


def ids_with_tests() -> set[str]:
    """Every id that a test is marked with.

    Raises:
        TestsBroke: pytest found an error.
    """
    return set(_pytest(None, collect_only=True))


def _verdict(rows: list[tuple[str, str]]) -> Verdict:
    for outcome in ("failed", "skipped"):
        reasons = [reason for got, reason in rows if got == outcome]
        if reasons:
            return Verdict(passed=False, skipped=outcome == "skipped", reason=reasons[0])
    return Verdict(passed=True)


def _pytest(ids: AbstractSet[str] | None, *, collect_only: bool) -> dict[str, list[tuple[str, str]]]:
    if not any(FOLDER.glob("test_*.py")) or ids == set():
        return {}
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "cases.json"
        # A run inside a test must not take over the options of the run outside.
        surroundings = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
        surroundings["ZOMBIEPROOF_CASE_REPORT"] = str(report)
        # What is slow for `make test` is a case all the same.
        surroundings["ZOMBIEPROOF_TESTS"] = "deep"
        surroundings["ZOMBIEPROOF_CASES"] = json.dumps(None if ids is None else sorted(ids))
        command = [sys.executable, "-m", "pytest", "-q", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT)]
        command += ["-p", "tests.conformance.recorder", "-p", "no:cacheprovider"]
        command += ["--collect-only"] if collect_only else []
        done = subprocess.run(
            [*command, str(FOLDER)], cwd=ROOT, env=surroundings, capture_output=True, text=True, check=False
        )
        if done.returncode not in (0, 1, 5) or not report.exists():
            raise TestsBroke(f"pytest ended with {done.returncode}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        found: dict[str, list[tuple[str, str]]] = {}
        for name, outcome, reason in json.loads(report.read_text("utf-8")):
            found.setdefault(name, []).append((outcome, reason))
        return found
