"""A counterexample on the live system, for people and as data."""

from typing import Any

from zombieproof.bridge.live import Arrival, LiveRun, LiveStep
from zombieproof.report.screen import Screen, plural
from zombieproof.traces.trace import Trace

STYLE = {Arrival.ARRIVES: "bold green", Arrival.DIFFERS: "bold red", Arrival.NO_LEVER: "bold yellow"}


def show_live_step(screen: Screen, step: LiveStep) -> None:
    """Write one step when it is taken."""
    screen.say(f"{step.number:2}. {step.text}", indent=2, hang=4)
    for line in step.did:
        screen.say(f"* {line}", indent=8, hang=2)


def show_live_end(screen: Screen, file: str, trace: Trace, run: LiveRun) -> None:
    """Write how it ended."""
    screen.say()
    screen.say(f"{file}: {live_verdict(trace, run)}", STYLE[run.arrival])
    if run.why:
        screen.say(run.why, indent=2)


def live_verdict(trace: Trace, run: LiveRun) -> str:
    """The verdict in one line."""
    if run.arrival is Arrival.DIFFERS:
        return f"differs in step {run.at} of {len(trace.steps)}"
    if run.arrival is Arrival.NO_LEVER:
        where = f"step {run.at} of {len(trace.steps)}" if run.at else "its beginning"
        return f"inconclusive: the live system has no lever for {where}"
    broken = f", and breaks {', '.join(run.broken)}" if run.broken else ", and no promise is broken"
    return f"arrives: after {plural(len(trace.steps), 'step')} the live system stands where the checker stands{broken}"


def live_as_data(file: str, trace: Trace, run: LiveRun) -> dict[str, Any]:
    """The same as JSON has it."""
    return {
        "file": file,
        "scenario": trace.header.scenario,
        "mutant": trace.header.mutant,
        "arrival": run.arrival.value,
        "step": run.at,
        "why": run.why,
        "broken": list(run.broken),
        "steps": [{"number": each.number, "text": each.text, "did": list(each.did)} for each in run.steps],
    }
