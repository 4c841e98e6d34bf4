"""All that a clone promises: what was explored, hunted, judged and compared, and whether each is as it must be."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from zombieproof.checker.uncovered import UNCOVERED
from zombieproof.report.answers import ANSWERS, CASES, Answers, Cases
from zombieproof.report.conform_text import decision_of
from zombieproof.report.counterexample import as_trace, run_again
from zombieproof.report.coverage import ROWS, Row, compare, rows_taken
from zombieproof.report.exits import Exit
from zombieproof.report.mutants import Hunt, exit_code_of
from zombieproof.report.recordings import Recording
from zombieproof.report.runs import Run
from zombieproof.report.screen import Column, Screen, plural
from zombieproof.report.switches import faults_of
from zombieproof.traces.trace_file import format_trace, parse_trace

if TYPE_CHECKING:
    from zombieproof.checker.turning import Turn

CheckOutcome = Literal["ok", "FAILED", "inconclusive", "not here"]

COLUMNS = (Column("part"), Column("what"), Column("outcome"), Column("found"), Column("seconds", "right"))


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the table. `faults` says what is not as it must be, and what to do."""

    part: str
    what: str
    outcome: CheckOutcome
    found: str
    seconds: float | None = None
    faults: tuple[str, ...] = ()


@dataclass(slots=True)
class Found:
    """Everything that was explored and judged. `missing` says what could not be done here, and why."""

    runs: list[Run] = field(default_factory=list)
    hunts: list[Hunt] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    recordings: list[tuple[Recording, float]] = field(default_factory=list)
    answers: tuple[Answers, float] | None = None
    cases: tuple[Cases, float] | None = None
    missing: list[str] = field(default_factory=list)
    interrupted: bool = False

    @property
    def taken(self) -> frozenset[Row]:
        """The rows of machines that some scenario took."""
        return frozenset().union(*(rows_taken(run.checked.result.coverage) for run in self.runs))


def checks_of(found: Found) -> Iterator[Check]:
    """The lines about scenarios, mutants, switches, rows, recordings, recorded answers and cases."""
    yield from map(scenario_check, found.runs)
    if found.hunts:
        yield mutants_check(found.hunts)
        yield stories_check(found.hunts)
    if found.turns:
        yield switches_check(found.turns)
    if found.runs and all(run.checked.result.verdict == "holds" for run in found.runs):
        # An exploration that ended early has not taken every row that it could.
        yield rows_check(found)
    for recording, seconds in found.recordings:
        yield recording_check(recording, seconds)
    if found.answers is not None:
        yield answers_check(*found.answers)
    if found.cases is not None:
        yield cases_check(*found.cases)


def scenario_check(run: Run) -> Check:
    """Whether a scenario holds, with the pinned number of states."""
    result, scenario = run.checked.result, run.checked.scenario
    said = f"{result.verdict}: {plural(result.distinct, 'distinct state')}, depth {result.depth}"
    faults: list[str] = []
    outcome: CheckOutcome = "ok"
    if result.verdict == "inconclusive":
        outcome = "inconclusive"
        faults.append(f"{run.name} is inconclusive: {result.why}")
    elif run.broken:
        outcome = "FAILED"
        faults.append(f"{run.name}: {run.broken.name} is broken; zombieproof check {run.name} tells how")
    elif result.distinct != scenario.distinct:
        outcome = "FAILED"
        faults.append(
            f"{run.name}: {result.distinct:,} distinct states, {scenario.distinct:,} are pinned: "
            "a rule or the model has changed; if that is meant, pin the new number and say why in the commit"
        )
    return Check("scenario", run.name, outcome, said, result.seconds, tuple(faults))


def mutants_check(hunts: Sequence[Hunt]) -> Check:
    """Whether each mutant breaks what it must."""
    faults = tuple(
        f"{hunt.scenario.name}, mutant {hunt.mutant.name}: {hunt.outcome}" for hunt in hunts if not hunt.is_as_expected
    )
    bugs = sorted({hunt.mutant.bug for hunt in hunts if hunt.mutant.bug and hunt.is_as_expected})
    good = f"{len(hunts) - len(faults)} of {plural(len(hunts), 'mutant')} break what they must"
    said = f"{good}; published bugs found: {', '.join(bugs)}" if bugs else good
    seconds = sum(hunt.result.seconds for hunt in hunts)
    outcomes: dict[Exit, CheckOutcome] = {Exit.HOLDS: "ok", Exit.INCONCLUSIVE: "inconclusive"}
    outcome = outcomes.get(exit_code_of(hunts), "FAILED")
    return Check("mutants", "every scenario", outcome, said, seconds, faults)


def stories_check(hunts: Sequence[Hunt]) -> Check:
    """Whether each counterexample, written as a file and run again, interpreted, arrives at the same verdict."""
    began = time.perf_counter()
    runs = [hunt.run for hunt in hunts if hunt.run.story is not None]
    again = [(run, run_again(parse_trace(format_trace(as_trace(run))), run.name)) for run in runs]
    faults = tuple(f"{run.name} ({run.rules}), line {each.line}: {each.fault}" for run, each in again if each.fault)
    said = f"{len(runs) - len(faults)} of {plural(len(runs), 'counterexample')} run again from their files"
    return Check("stories", "every mutant", "FAILED" if faults else "ok", said, time.perf_counter() - began, faults)


def switches_check(turns: Sequence[Turn]) -> Check:
    """Whether turning a switch changes the number of states where it is said to, and nowhere else that is small."""
    faults = faults_of(turns)
    counting, silent = (len({turn.switch for turn in turns if turn.counts is counts}) for counts in (True, False))
    said = f"{counting} change a number of states, {silent} change none that is small, with a reason"
    seconds = sum(turn.result.seconds for turn in turns)
    open_ends = any(turn.result.verdict == "inconclusive" for turn in turns)
    outcome: CheckOutcome = "FAILED" if faults else "inconclusive" if open_ends else "ok"
    return Check("switches", "every switch", outcome, said, seconds, faults)


def rows_check(found: Found) -> Check:
    """Whether every row of every machine is taken or has its reason."""
    taken = found.taken
    mismatch = compare(taken, UNCOVERED)
    where = "zombieproof/checker/uncovered.py"
    faults = [f"{row} is taken by no scenario, and {where} has no reason for it" for row in mismatch.unexplained]
    faults += [f"{row} is taken: delete it from {where}" for row in mismatch.needless]
    faults += [f"{row} is in {where} and in no table" for row in mismatch.unknown]
    said = f"{len(taken)} of {plural(len(ROWS), 'row')} taken, {len(UNCOVERED)} listed with a reason"
    return Check("rows", "every machine", "FAILED" if faults else "ok", said, None, tuple(faults))


def recording_check(recording: Recording, seconds: float) -> Check:
    """Whether a recording is judged as it is known to be."""
    report = recording.report
    promises = ", ".join(dict.fromkeys(finding.promise for finding in report.findings))
    said = f"{report.verdict.value}: {promises}" if promises else report.verdict.value
    faults = tuple(f"{recording.name}: {difference}" for difference in recording.differences)
    return Check("recording", recording.name, "FAILED" if faults else "ok", said, seconds, faults)


def answers_check(answers: Answers, seconds: float) -> Check:
    """Whether brokers here answer as real ones did."""
    sequences = sum(tally.sequences for tally in answers.tallies)
    equal = sum(tally.equal for tally in answers.tallies)
    compared = plural(sum(tally.steps for tally in answers.tallies), "answer")
    said = f"{equal:,} of {plural(sequences, 'recorded sequence')} equal, {compared} compared"
    faults = [answers.fault] if answers.fault else []
    faults += [
        f"{each.file}: {each.id}, step {each.step}: {each.api} is answered otherwise ({decision_of(each)}); "
        f"zombieproof conform --recording {each.file} tells how"
        for tally in answers.tallies
        for each in tally.differences
    ]
    return Check("answers", str(ANSWERS), "FAILED" if faults else "ok", said, seconds, tuple(faults))


def cases_check(cases: Cases, seconds: float) -> Check:
    """Whether Kafka's own cases are met; a case that cannot be run is not met."""
    said = f"{cases.count():,} of {plural(cases.total, 'case')} of Kafka's own tests met"
    faults = [cases.fault] if cases.fault else []
    faults += [f"case {name} failed: python -m tests.conformance {CASES} tells why" for name in cases.failed]
    if cases.count("not_runnable"):
        faults.append(f"{plural(cases.count('not_runnable'), 'case')} of {CASES} cannot be run")
    return Check("cases", str(CASES), "FAILED" if faults else "ok", said, seconds, tuple(faults))


# ---------------------------------------------------------------- show


def show(screen: Screen, checks: Sequence[Check], found: Found) -> None:
    """Write the table, what is wrong, what was not here, and the totals."""
    screen.table(COLUMNS, [_cells(check) for check in checks])
    screen.say()
    for check in checks:
        for fault in check.faults:
            screen.say(fault, "red", hang=2)
    for line in found.missing:
        screen.say(f"not here: {line}", "yellow", hang=2)
    distinct = sum(run.checked.result.distinct for run in found.runs)
    seconds = sum(check.seconds or 0.0 for check in checks)
    compiling = sum(each.checked.result.compile_seconds for each in found.runs)
    compiling += sum(hunt.result.compile_seconds for hunt in found.hunts)
    screen.say(
        f"{distinct:,} distinct states in all, {plural(len(found.recordings), 'recording')}; "
        f"{seconds:.1f} s, and {compiling:.1f} s to compile"
    )
    said = {Exit.HOLDS: "everything is as it must be", Exit.VIOLATED: "FAILED", Exit.INCONCLUSIVE: "inconclusive"}
    screen.say(said.get(exit_code(checks, found), "interrupted"), "bold")


def _cells(check: Check) -> tuple[str, ...]:
    seconds = "" if check.seconds is None else f"{check.seconds:.2f}"
    return check.part, check.what, check.outcome, check.found, seconds


def exit_code(checks: Sequence[Check], found: Found) -> Exit:
    """One exit code for all lines."""
    if found.interrupted:
        return Exit.INTERRUPTED
    outcomes = {check.outcome for check in checks}
    if "FAILED" in outcomes:
        return Exit.VIOLATED
    return Exit.INCONCLUSIVE if "inconclusive" in outcomes else Exit.HOLDS


def as_json(checks: Sequence[Check], found: Found) -> str:
    """All lines as the text of one object."""
    verdicts = {Exit.HOLDS: "holds", Exit.VIOLATED: "violated"}
    data = {
        "verdict": verdicts.get(exit_code(checks, found), "inconclusive"),
        "checks": [
            {
                "part": check.part,
                "what": check.what,
                "outcome": check.outcome.lower(),
                "found": check.found,
                "seconds": check.seconds,
                "faults": list(check.faults),
            }
            for check in checks
        ],
        "not_here": found.missing,
    }
    return json.dumps(data, indent=2)
