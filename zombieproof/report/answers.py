"""What ships besides traces: recorded answers of real brokers, and a sample of Kafka's own cases."""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from zombieproof.conformance.in_process import InProcess
from zombieproof.conformance.recording import RecordingError, files_of
from zombieproof.conformance.tally import Tally, play_all

ANSWERS: Final = Path("tests/answers")
CASES: Final = Path("tests/conformance/sample.yaml")
CASES_PROGRAM: Final = "tests.conformance"


@dataclass(frozen=True, slots=True)
class Answers:
    """The recorded answers of a folder, replayed. `fault`: they could not be."""

    tallies: tuple[Tally, ...] = ()
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Cases:
    """Kafka's own cases: how many of each suite are met, failed, …; the ids that failed. `fault`: none could be run."""

    suites: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    failed: tuple[str, ...] = ()
    fault: str = ""

    def count(self, outcome: str = "met") -> int:
        """How many cases of all suites had an outcome."""
        return sum(suite.get(outcome, 0) for suite in self.suites.values())

    @property
    def total(self) -> int:
        """How many cases there are."""
        return sum(sum(suite.values()) for suite in self.suites.values())


def replay_answers(folder: Path) -> Answers:
    """Replay every recording of a folder."""
    try:
        tallies = tuple(play_all(files_of([folder]), InProcess))
    except RecordingError as error:
        return Answers(fault=str(error))
    damaged = [str(each) for tally in tallies for each in tally.damaged]
    return Answers(fault=damaged[0]) if damaged else Answers(tallies)


def meet_cases(root: Path, checklist: Path = CASES) -> Cases:
    """Run the cases of a checklist, with the program that a clone has among its tests."""
    command = [sys.executable, "-m", CASES_PROGRAM, str(checklist), "--json"]
    ended = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    try:
        report: Any = json.loads(ended.stdout)
        return Cases(report["suites"], tuple(report["failed"]))
    except (ValueError, KeyError, TypeError):
        said = (ended.stderr or ended.stdout).strip().splitlines()
        return Cases(fault=f"{' '.join(command[1:])} ended with {ended.returncode}: {said[-1] if said else 'silence'}")
