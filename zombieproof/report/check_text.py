"""What `check` found, for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from zombieproof.checker.engine.model import Promise
from zombieproof.checker.engine.result import Checkpoint
from zombieproof.checker.scenario import Mutant, options_of_changes
from zombieproof.report.runs import Run, has_rules
from zombieproof.report.screen import Column, Screen, plural

if TYPE_CHECKING:
    from zombieproof.checker.engine.reductions import Reduced
    from zombieproof.report.story import Beat, Story

COLUMNS = (
    Column("scenario"),
    Column("rules"),
    Column("verdict"),
    Column("distinct", "right"),
    Column("generated", "right"),
    Column("depth", "right"),
    Column("seconds", "right"),
)


def show(screen: Screen, runs: Sequence[Run], *, brief: bool = False) -> None:
    """Write the stories of broken promises, then one table, then the totals."""
    for run in runs:
        if run.broken:
            show_violation(screen, run, run.broken, brief=brief)
            screen.say()
    show_table(screen, runs)
    for run in runs:
        show_remarks(screen, run)
    show_open(screen, runs)


def show_table(screen: Screen, runs: Sequence[Run]) -> None:
    """Write one row for each scenario, and the totals."""
    screen.table(COLUMNS, [_cells(run) for run in runs])
    results = [run.checked.result for run in runs]
    distinct = sum(result.distinct for result in results)
    generated = sum(result.generated for result in results if not result.walks)
    steps = sum(result.generated for result in results if result.walks)
    seconds = sum(result.seconds for result in results)
    compiling = sum(result.compile_seconds for result in results)
    screen.say()
    done = f"{distinct:,} distinct states of {generated:,} generated"
    if steps:
        done = f"{steps:,} steps at random in {sum(result.walks for result in results):,} walks"
    screen.say(f"{plural(len(runs), 'scenario')}: {done} in {seconds:.1f} s, and {compiling:.1f} s to compile")


def _cells(run: Run) -> tuple[str, ...]:
    result = run.checked.result
    return (
        run.name,
        run.rules,
        result.verdict,
        f"{result.distinct:,}" if not result.walks else "",
        f"{result.generated:,}",
        str(result.depth),
        f"{result.seconds:.2f}",
    )


def show_remarks(screen: Screen, run: Run) -> None:
    """Write what else must be known of a run: why it is inconclusive, and counts that are not the pinned ones."""
    result, scenario = run.checked.result, run.checked.scenario
    if run.checked.reduced is not None:
        show_reduction(screen, run, run.checked.reduced)
    if result.verdict == "inconclusive":
        screen.say(f"{run.name} is inconclusive: {result.why}", "yellow")
    if result.spilled is not None:
        most, written = (amount / 2**20 for amount in (result.spilled.most_bytes, result.spilled.written_bytes))
        screen.say(
            f"{run.name}: up to {most:,.0f} MiB were in {result.spilled.folder}, of {written:,.0f} MiB written there"
        )
    if result.checkpoint is not None:
        _show_checkpoint(screen, run, result.checkpoint)
    if not run.checked.is_pinned or result.verdict != "holds" or result.distinct == scenario.distinct:
        return
    if scenario.distinct == 0:
        screen.say(f"{run.name}: no number of states is pinned; write distinct={result.distinct:_} into the scenario")
    else:
        screen.say(
            f"{run.name}: {result.distinct:,} distinct states, {scenario.distinct:,} are pinned; "
            "say in the commit what changed, and pin the new number",
            "yellow",
        )


def _show_checkpoint(screen: Screen, run: Run, kept: Checkpoint) -> None:
    went_on = f"went on from depth {kept.resumed}; " if kept.resumed >= 0 else ""
    what = "can be removed"
    if run.verdict == "inconclusive":
        what = f"{command_of(run)} --checkpoint {kept.folder} --resume goes on from it"
    screen.say(f"{run.name}: {went_on}the checkpoint in {kept.folder} is of depth {kept.depth}; {what}")


def show_reduction(screen: Screen, run: Run, reduced: Reduced) -> None:
    """Write what was reduced and by how much, and what was not and why."""
    for name, what in reduced.used.items():
        screen.say(f"{run.name} is reduced by {name} ({', '.join(what)})")
    for name, why in reduced.unused.items():
        screen.say(f"{run.name} is {'not' if name not in reduced.used else 'not further'} reduced by {name}: {why}")
    factor = run.checked.factor
    if reduced.used and factor is not None:
        full, explored = run.checked.unreduced, run.checked.result.distinct
        screen.say(f"{run.name}: {explored:,} states stand for {full:,}, {factor:.2f} times as many")


def show_open(screen: Screen, runs: Sequence[Run]) -> None:
    """Write what the scenarios' own rules break, which is why it is not among the promises that were judged."""
    places: dict[tuple[str, str, str], tuple[Mutant, list[str]]] = {}
    for run in runs:
        for mutant in run.checked.scenario.mutants if run.checked.is_pinned else ():
            if mutant.known:
                bounds = "".join(f", with {name}={value}" for name, value in mutant.bounds.items())
                place = f"{run.name} ({plural(mutant.steps, 'step')}{bounds})"
                key = (mutant.name, mutant.breaks, mutant.known)
                places.setdefault(key, (mutant, []))[1].append(place)
    for mutant, where in places.values():
        screen.say(f"{_who_breaks(mutant)}: {mutant.breaks}, in {', '.join(where)}", "yellow", hang=2)
        screen.say(f"{mutant.known}; --mutant {mutant.name} tells the story", indent=2)


def _who_breaks(mutant: Mutant) -> str:
    """Whose behaviour it is: that of these rules, or that of releases without a rule that would repair it."""
    if not mutant.without:
        return "not kept by these rules"
    return f"known violation of {mutant.releases or 'the newest release'}, without {', '.join(mutant.without)}"


# ---------------------------------------------------------------- a violation


def show_violation(screen: Screen, run: Run, broken: Promise, *, brief: bool = False) -> None:
    """Write a broken promise with the shortest story of how it breaks; a brief one has no decisions and moves."""
    screen.say(f"{run.name} ({run.rules}): {broken.name} is broken", "bold red", hang=2)
    screen.say(f"{broken.text}" + (f" [{broken.source}]" if broken.source else ""), indent=2)
    if run.drawn:
        drawn = ", ".join(f"{name}={value}" for name, value in run.drawn.items())
        screen.say(f"Within bounds that were drawn: {drawn}", indent=2, hang=2)
    screen.say()
    if run.story is None:
        screen.say(f"There is no step to show: {run.checked.result.why}.", indent=2)
    else:
        show_story(screen, run.story, brief=brief)
        screen.say()
        screen.say(f"Broken {_when(run.story, broken)}: {broken.name}", "bold red", indent=2)
        screen.say(broken.text, indent=2)
    screen.say()
    screen.say("Try next", "bold", indent=2)
    for command, what in next_commands(run):
        screen.command(command, what, indent=4)


def _when(story: Story, broken: Promise) -> str:
    """When a promise is broken, in words."""
    if story.repeats_from is not None:
        return f"for ever after {plural(story.repeats_from, 'step')}"
    when = ", where nothing more can happen but new faults" if broken.kind == "at_rest" else ""
    return f"after {plural(len(story.beats), 'step')}{when}"


def show_story(screen: Screen, story: Story, indent: int = 2, *, brief: bool = False) -> None:
    """Write the steps, and what there is at the end; before them what the names stand for."""
    if story.ending:
        from zombieproof.report.states import NAMES  # noqa: PLC0415  # of the protocol, whose states have an ending

        screen.say(NAMES, "dim", indent, hang=2)
        screen.say()
    for beat in story.beats:
        if beat.number - 1 == story.repeats_from:
            screen.say("Then, for ever:", "bold red", indent)
        show_beat(screen, beat, indent, brief=brief)
    if story.repeats_from is not None:
        screen.say(_for_ever(story, story.repeats_from), "bold red", indent, hang=2)
    if story.ending:
        screen.say()
        screen.say("Final state", "bold", indent)
        width = max(len(line.subject) for line in story.ending)
        for line in story.ending:
            screen.say(f"{line.subject.ljust(width)}  {line.text}", indent=indent + 2, hang=width + 5)


def _for_ever(story: Story, repeats_from: int) -> str:
    """What stands behind the steps of a story that goes on for ever."""
    if repeats_from == len(story.beats):
        return "Then, for ever: nothing. Nobody has to act any more."
    return f"Everything is as before step {repeats_from + 1} now: it goes on there, and so on for ever."


def show_beat(screen: Screen, beat: Beat, indent: int, *, brief: bool = False) -> None:
    """Write one step: what happened, who decided, what moved, what changed."""
    screen.say(f"{beat.number:>2}. {beat.text}", "bold", indent, 4)
    for decided in () if brief else beat.decisions:
        screen.say(decided.words, "cyan", indent + 6, 2)
    for moved in () if brief else beat.moves:
        screen.say(moved.words, "dim", indent + 6, 2)
    for change in beat.changes:
        screen.say(f"* {change}", "", indent + 6, 2)


def next_commands(run: Run) -> list[tuple[str, str]]:
    """Commands that are worth a try after a violation, and what each shows."""
    commands = []
    mutant = run.checked.mutant
    off = (*(mutant.without if mutant else ()), *run.request.off)
    if not has_rules(run.checked):
        off = tuple(rule for rule in off if rule in run.checked.scenario.readings)
    if off:
        flags = " ".join(f"--with {rule}" for rule in off)
        commands.append((f"{command_of(run, without=False)} {flags}", "the same with the disabled rules enabled"))
    elif has_rules(run.checked) and run.checked.rules_name != "newest":
        commands.append((f"zombieproof check {run.asked} --rules newest", "the same with the newest rules"))
    if run.story is not None:
        commands.append((f"{command_of(run)} -o story.jsonl", "save this counterexample"))
        origin = run.checked.scenario.origin
        again = f"zombieproof replay story.jsonl --scenario {origin}" if origin else "zombieproof replay story.jsonl"
        commands.append((again, "replay it step by step"))
    commands.append((f"zombieproof scenarios {run.asked}", "describe this scenario"))
    return commands


def options_of(mutant: Mutant) -> str:
    """The options of `check` that make the same rules and bounds as a mutant."""
    parts = [f"--rules {mutant.rules}"] if mutant.rules else []
    on, off = options_of_changes(mutant.changes)
    parts += [f"--without {rule}" for rule in (*mutant.without, *off)]
    parts += [f"--with {rule}" for rule in on]
    if mutant.bounds:
        parts.append("--bounds " + ",".join(f"{name}={value}" for name, value in mutant.bounds.items()))
    return " ".join(parts)


def command_of(run: Run, *, without: bool = True) -> str:
    """The command that checks the same again; its `--without` can be left away."""
    request = run.request
    parts = ["zombieproof check", run.asked]
    parts += [f"--rules {request.rules}"] if request.rules else []
    parts += [f"--mutant {request.mutant}"] if request.mutant else []
    parts += [f"--with {rule.replace(' ', '')}" for rule in request.on]
    parts += [f"--without {rule}" for rule in request.off if without]
    bounds = {**(request.bounds or {}), **run.drawn}
    if bounds:
        parts.append("--bounds " + ",".join(f"{name}={value}" for name, value in bounds.items()))
    parts += [f"--reduce {','.join(request.reduce)}"] if request.reduce else []
    return " ".join(parts)
