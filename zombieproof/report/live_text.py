"""A counterexample on the live system, for people and as data."""

from typing import Any

from zombieproof.bridge.again import LiveJudgement
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


# ---------------------------------------------------------------- live runs


def show_judgement(screen: Screen, file: str, judgement: LiveJudgement) -> None:
    """Write what came of a live run that was taken again."""
    events = plural(len(judgement.record.events), "event")
    finding, open_question = judgement.finding, judgement.open_question
    if finding is not None:
        screen.say(f"violates: {file}, line {finding.line}: {finding.promise}", "bold red")
        screen.say(finding.message, indent=2)
        screen.say(f"{plural(judgement.judged, 'event')} of {events} before it came out as the trace says", indent=2)
    elif open_question and judgement.judged < len(judgement.record.events):
        screen.say(f"inconclusive: {file}, line {judgement.line}: {open_question}", "bold yellow")
    elif open_question:
        where = f"{file}, line {judgement.line}" if judgement.line else file
        screen.say(f"inconclusive: {where}: {open_question}", "bold yellow")
        screen.say(f"{events} came out as the trace says, and no promise is broken by them", indent=2)
    else:
        screen.say(f"conforms: {file}: {events} came out as the trace says, and no promise is broken", "bold green")
    if finding is not None and judgement.record.fault:
        screen.say(f"{file}, line {judgement.record.line}: {judgement.record.fault}", "yellow")


def judgement_as_data(file: str, judgement: LiveJudgement) -> dict[str, Any]:
    """The same as JSON has it."""
    finding = judgement.finding
    verdict = "violates" if finding else "inconclusive" if judgement.open_question else "conforms"
    return {
        "file": file,
        "verdict": verdict,
        "events": len(judgement.record.events),
        "judged": judgement.judged,
        "finding": None
        if finding is None
        else {"line": finding.line, "promise": finding.promise, "message": finding.message},
        "open": judgement.open_question,
        "line": judgement.line,
        "damage": judgement.record.fault,
    }
