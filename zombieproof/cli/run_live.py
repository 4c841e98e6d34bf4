"""`zombieproof replay --live`: replay a counterexample on live brokers and producers."""

import json
from collections.abc import Sequence
from pathlib import Path

from zombieproof.bridge.live import Arrival, LiveRun, LiveStep, run_live
from zombieproof.checker.scenario import Scenario
from zombieproof.cli.naming import scenarios_named
from zombieproof.cli.replay_forms import Format
from zombieproof.cli.run_again import scenario_is_known
from zombieproof.cli.usage import WrongUsage
from zombieproof.report.counterexample import follow, restored
from zombieproof.report.exits import Exit
from zombieproof.report.live_text import live_as_data, show_live_end, show_live_step
from zombieproof.report.screen import Screen
from zombieproof.traces.trace import Trace, TraceError
from zombieproof.traces.trace_file import read_trace

EXITS = {Arrival.ARRIVES: Exit.HOLDS, Arrival.DIFFERS: Exit.VIOLATED, Arrival.NO_LEVER: Exit.INCONCLUSIVE}
WORST = (Exit.VIOLATED, Exit.INCONCLUSIVE, Exit.HOLDS)


def replay_live(
    screen: Screen, paths: Sequence[Path], files: Sequence[str], form: Format, *, live_producers: bool
) -> Exit:
    """Replay each counterexample live and report it; `files` are those of `--scenario`.

    Raises:
        WrongUsage: a scenario is in a file missing from `files`, or the format is not supported.
    """
    if form not in ("text", "json"):
        raise WrongUsage(f"--format {form}: a live replay is reported as text or json only")
    own = scenarios_named(files, {})
    found, exits = [], []
    for path in paths:
        try:
            trace, run = _run(screen, path, own, form, live_producers)
        except TraceError as error:
            exits.append(Exit.INCONCLUSIVE)
            found.append({"file": error.file, "line": error.line, "damaged": error.fault})
            if form == "text":
                screen.say(f"damaged: {error.file}, line {error.line}: {error.fault}", "bold yellow")
            continue
        exits.append(EXITS[run.arrival])
        found.append(live_as_data(str(path), trace, run))
        if form == "text":
            show_live_end(screen, str(path), trace, run)
    if form == "json":
        screen.data(json.dumps({"live": found}, indent=2))
    return next(each for each in WORST if each in exits)


def _run(
    screen: Screen, path: Path, own: Sequence[Scenario], form: Format, live_producers: bool
) -> tuple[Trace, LiveRun]:
    trace = read_trace(path)
    scenario_is_known(trace, path, own)
    scenario, model, setup = restored(trace.header, str(path), own)
    actions = [step.action for step in trace.steps]
    possible, why = follow(model, setup, actions)
    if possible < len(actions):
        raise TraceError(str(path), possible + 2, f"step {possible + 1}: {why}")
    if form == "text":
        mutant = f", mutant {trace.header.mutant}" if trace.header.mutant else ""
        screen.say(f"{path}: {scenario.name}{mutant}, live", "bold")

    def hear(step: LiveStep) -> None:
        if form == "text":
            show_live_step(screen, step)

    judged = scenario.judged(trace.conclusion.promise)
    return trace, run_live(model, setup, actions, judged, live_producers=live_producers, hear=hear)
