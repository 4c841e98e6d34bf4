"""Counterexamples as trace files: written from a story, and run again from a file.

A file names its scenario, rules, bounds and actions. Running it again interprets the same functions (with the compiled
ones beside them) and compares what it says of each step: decisions, moves and the digest of the state.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from zombieproof.checker.engine.model import Model, Promise
from zombieproof.checker.scenario import Scenario, UnknownBound
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.report.runs import Run, has_rules
from zombieproof.report.story import Beat, Story, tell
from zombieproof.traces.trace import (
    Conclusion,
    Header,
    Move,
    Trace,
    TraceDecision,
    TraceError,
    TraceStep,
    rules_as_data,
)


def as_trace(run: Run) -> Trace:
    """The counterexample of a run as a trace.

    Raises:
        ValueError: the run has no story.
    """
    if run.story is None or run.broken is None:
        raise ValueError(f"{run.name}: there is no counterexample to write")
    checked = run.checked
    header = Header(
        model=checked.model.name,
        scenario=run.name,
        mutant=checked.mutant.name if checked.mutant else None,
        rules=rules_as_data(checked.rules) if has_rules(checked) else {},
        bounds=dict(checked.bounds),
        promise=run.broken.name,
        story=checked.scenario.story,
        file=checked.scenario.origin or None,
    )
    steps = tuple(step_of(beat) for beat in run.story.beats)
    end = Conclusion(
        verdict="violated",
        steps=len(steps),
        promise=run.broken.name,
        message=run.broken.text,
        repeats_from=run.story.repeats_from,
    )
    return Trace(header, steps, end)


def step_of(beat: Beat) -> TraceStep:
    """A step of a story as a line of a trace."""
    return TraceStep(
        number=beat.number,
        action=beat.action,
        argument=beat.argument,
        name=beat.name,
        description=beat.text,
        moves=tuple(
            Move(machine=m.machine, subject=m.subject, before=m.before, event=m.event, after=m.after)
            for m in beat.moves
        ),
        verdicts=tuple(TraceDecision(decision=d.decision, row=d.row, error=d.error) for d in beat.decisions),
        digest=beat.digest,
    )


@dataclass(frozen=True, slots=True)
class Again:
    """A trace that was run again.

    Attributes:
        trace: what the file says.
        story: what happened now, as far as the file could be followed.
        sentence: what the promise says that the file names; empty where it names none.
        fault: why the file could not be followed, or what in it is not so; empty if it reproduces.
        line: the line of the file (from 1) that the fault is about.
    """

    trace: Trace
    story: Story
    sentence: str = ""
    fault: str = ""
    line: int = 0


def scenario_of(header: Header, own: Iterable[Scenario]) -> Scenario | None:
    """The scenario that a trace names: one of `own` where it says that it is somebody's own, else a registered one."""
    if header.file is None:
        return SCENARIOS.get(header.scenario)
    return next((scenario for scenario in own if scenario.name == header.scenario), None)


def run_again(trace: Trace, file: str, own: Iterable[Scenario] = ()) -> Again:
    """Run the steps of a trace again and compare; `file` is how faults name it, `own` are scenarios not registered.

    Raises:
        TraceError: scenario, bounds or promise of the trace do not exist here, so that it cannot be run at all.
        HostsDisagree: interpreted and compiled actions differ: an error of this program.
    """
    scenario, model, setup = restored(trace.header, file, own)
    actions = [step.action for step in trace.steps]
    possible, why = follow(model, setup, actions)
    judged = scenario.judged(trace.conclusion.promise)
    whole = possible == len(actions)
    story = tell(model, setup, actions[:possible], judged, trace.conclusion.repeats_from if whole else None)
    sentence = _sentence(model, trace, file)
    for said, beat in zip(trace.steps, story.beats, strict=False):
        fault = _difference(said, step_of(beat))
        if fault:
            return Again(trace, story, sentence, f"step {said.number}: {fault}", said.number + 1)
    if not whole:
        return Again(trace, story, sentence, f"step {possible + 1}: {why}", possible + 2)
    return Again(trace, story, sentence, _unkept(trace, story, model, setup), len(actions) + 2)


def restored(header: Header, file: str, own: Iterable[Scenario]) -> tuple[Scenario, Model, object]:
    """Scenario, model and setup of a trace.

    Raises:
        TraceError: scenario or bounds of the trace do not exist here.
    """
    scenario = scenario_of(header, own)
    if scenario is None:
        known = ", ".join(SCENARIOS)
        raise TraceError(file, 1, f"names the scenario {header.scenario!r}, which is unknown; known: {known}")
    missing = [name for name in scenario.bounds if name not in header.bounds]
    if missing:
        raise TraceError(file, 1, f"lacks the bounds {', '.join(missing)} of {scenario.name}")
    try:
        bounds = scenario.own_bounds(header.bounds)
        model = scenario.model(bounds)
    except UnknownBound as error:
        raise TraceError(file, 1, f"has bounds that cannot be: {error}") from error
    return scenario, model, scenario.setup(header.rules_in_force(), bounds)


def _sentence(model: Model, trace: Trace, file: str) -> str:
    named = trace.conclusion.promise
    if named is None:
        return ""
    sentences = {promise.name: promise.text for promise in model.promises if promise.kind != "sometimes"}
    if named not in sentences:
        line = len(trace.steps) + 2
        raise TraceError(file, line, f"names the promise {named!r}, which is unknown; known: {', '.join(sentences)}")
    return sentences[named]


def follow(model: Model, setup: object, actions: list[int]) -> tuple[int, str]:
    """How many of the actions are possible, one after the other, and why the next is not."""
    state = model.initial(setup)
    for count, action in enumerate(actions):
        if action >= model.actions:
            return count, f"there is no action {action}; legal: 0 to {model.actions - 1}"
        if not model.step(state, action, setup, model.trail()):
            return count, f"action {action} is not possible here"
        model.normalise(state, setup)
    return len(actions), ""


def _difference(said: TraceStep, now: TraceStep) -> str:
    """What a line says that is not so. Its description is not compared: words may get better."""
    for field in ("name", "argument", "moves", "verdicts", "digest"):
        was, found = getattr(said, field), getattr(now, field)
        if was != found and not (field == "digest" and was is None):
            return f"{field} is {_shown(found)} now, and the file says {_shown(was)}"
    return ""


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(part.model_dump_json(by_alias=True) for part in value)}]"
    return repr(value)


def _unkept(trace: Trace, story: Story, model: Model, setup: object) -> str:
    """What the last line says that is not so."""
    end = trace.conclusion
    named = next((promise for promise in model.promises if promise.name == end.promise), None)
    if named is not None and (named.kind == "leads_to" or end.repeats_from is not None):
        return _not_for_ever(trace, named, model, setup)
    last = len(story.beats)
    if end.promise is None:
        step = next(iter(story.broken), None)
        return (
            f"the verdict is {end.verdict!r}, but after step {step} {story.broken[step][0]} is broken" if step else ""
        )
    if end.promise in story.broken.get(last, ()):
        return ""
    return f"the verdict names {end.promise}, which is not broken after step {last}"


def _not_for_ever(trace: Trace, promise: Promise, model: Model, setup: object) -> str:
    """Why what is said to break a promise for ever does not."""
    from zombieproof.checker.engine.rounds import fault_of_round  # noqa: PLC0415  # it loads Numba

    repeats_from = trace.conclusion.repeats_from
    if promise.kind != "leads_to":
        kind = promise.kind.replace("_", " ")
        return f"the verdict says repeats_from, and {promise.name} is a promise of the kind {kind}, broken in a state"
    if repeats_from is None:
        return f"the verdict lacks repeats_from: {promise.name} is broken by what goes on for ever"
    fault = fault_of_round(model, setup, promise, [step.action for step in trace.steps], repeats_from)
    return f"{promise.name} is not broken for ever: {fault}" if fault else ""
