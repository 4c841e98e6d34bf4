"""What `check` found, for people."""

from __future__ import annotations

from collections.abc import Sequence

from zombieproof.checker.engine.model import Promise
from zombieproof.checker.engine.result import Checkpoint
from zombieproof.checker.scenario import Mutant, options_of_changes
from zombieproof.report.runs import Run, has_rules
from zombieproof.report.screen import Column, Screen, plural
from zombieproof.report.states import NAMES
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


# ---------------------------------------------------------------- a violation


def show_violation(screen: Screen, run: Run, broken: Promise, *, brief: bool = False) -> None:
    """Write a broken promise with the shortest story of how it breaks; a brief one has no decisions and moves."""
    screen.say(f"{run.name} ({run.rules}): {broken.name} is broken", "bold red", hang=2)
    screen.say(f"{broken.text}" + (f" [{broken.source}]" if broken.source else ""), indent=2)
    screen.say()
    if run.story is None:
        screen.say(f"There is no step to show: {run.checked.result.why}.", indent=2)
    else:
        show_story(screen, run.story, brief=brief)
        screen.say()
        when = ", where nothing more can happen but new faults" if broken.kind == "at_rest" else ""
        screen.say(f"Broken after {plural(len(run.story.beats), 'step')}{when}: {broken.name}", "bold red", indent=2)
        screen.say(broken.text, indent=2)
    screen.say()
    screen.say("Try next", "bold", indent=2)
    for command, what in next_commands(run):
        screen.command(command, what, indent=4)


def show_story(screen: Screen, story: Story, indent: int = 2, *, brief: bool = False) -> None:
    """Write the steps, and what there is at the end; before them what the names stand for."""
    if story.ending:
        screen.say(NAMES, "dim", indent, hang=2)
        screen.say()
    for beat in story.beats:
        show_beat(screen, beat, indent, brief=brief)
    if story.ending:
        screen.say()
        screen.say("What there is then", "bold", indent)
        width = max(len(line.subject) for line in story.ending)
        for line in story.ending:
            screen.say(f"{line.subject.ljust(width)}  {line.text}", indent=indent + 2, hang=width + 5)


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
    off = (*(mutant.without if mutant else ()), *run.request.off) if has_rules(run.checked) else ()
    if off:
        flags = " ".join(f"--with {rule}" for rule in off)
        commands.append((f"{command_of(run, without=False)} {flags}", "the same with what was switched off"))
    elif has_rules(run.checked) and run.checked.rules_name != "newest":
        commands.append((f"zombieproof check {run.asked} --rules newest", "the same under the newest rules"))
    if run.story is not None:
        commands.append((f"{command_of(run)} -o story.jsonl", "this story as a file"))
        origin = run.checked.scenario.origin
        again = f"zombieproof replay story.jsonl --scenario {origin}" if origin else "zombieproof replay story.jsonl"
        commands.append((again, "run it again, step by step, interpreted"))
    commands.append((f"zombieproof scenarios {run.asked}", "what this scenario is about"))
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
    if request.bounds:
        parts.append("--bounds " + ",".join(f"{name}={value}" for name, value in request.bounds.items()))
    return " ".join(parts)
