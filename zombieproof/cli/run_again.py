"""`zombieproof replay` of counterexamples: replay files of `zombieproof check -o` step by step."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

from zombieproof.checker.scenario import Scenario
from zombieproof.cli.exploring import blaming
from zombieproof.cli.naming import scenarios_named
from zombieproof.cli.replay_forms import Format, write_report
from zombieproof.cli.usage import WrongUsage
from zombieproof.report.counterexample import Again, run_again, scenario_of
from zombieproof.report.replay_json import as_report
from zombieproof.report.replay_text import Replayed, show_replayed
from zombieproof.report.screen import Screen
from zombieproof.traces.evidence import Unit
from zombieproof.traces.trace import Trace, TraceError
from zombieproof.traces.trace_file import read_trace
from zombieproof.traces.verdict.report import DamagedPlace, Judgement


def replay_traces(screen: Screen, paths: Sequence[Path], files: Sequence[str], form: Format) -> Judgement:
    """Replay each trace and report it; `files` are those of `--scenario`.

    Raises:
        WrongUsage: the scenario of a trace is in a file missing from `files`, or a file has a mistake.
    """
    own = scenarios_named(files, {})
    replayed: list[Replayed] = []
    unread: list[DamagedPlace] = []
    for path in paths:
        try:
            replayed.append(Replayed(str(path), _run_again(path, own)))
        except TraceError as error:
            place = DamagedPlace(file=error.file, position=error.line, unit=Unit.LINE, message=error.fault)
            unread.append(place)
    report = as_report(replayed, unread)
    if form != "text":
        write_report(screen, form, report)
    else:
        for each in replayed:
            show_replayed(screen, each)
        for place in unread:
            screen.say(f"damaged: {place.file}, line {place.position}: {place.message}", "bold yellow")
    return report.verdict


def _run_again(path: Path, own: Sequence[Scenario]) -> Again:
    trace = read_trace(path)
    scenario = scenario_is_known(trace, path, own)
    with blaming(scenario) if scenario is not None else contextlib.nullcontext():
        return run_again(trace, str(path), own)


def scenario_is_known(trace: Trace, path: Path, own: Sequence[Scenario]) -> Scenario | None:
    """Return the scenario of a trace, if it is registered or among `own`.

    Raises:
        WrongUsage: it is defined in a file that was not given.
    """
    scenario = scenario_of(trace.header, own)
    if scenario is None and trace.header.file is not None:
        # The file is code, and the trace may come from someone else: run it only if the user names it.
        given = f", and not in {', '.join(each.origin for each in own)}" if own else ""
        raise WrongUsage(
            f"{path}: its scenario {trace.header.scenario!r} is not registered; it was defined in {trace.header.file}"
            f"{given}. Give that file: zombieproof replay {path} --scenario {trace.header.file}"
        )
    return scenario
