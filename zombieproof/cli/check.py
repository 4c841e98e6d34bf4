"""zombieproof check: explore scenarios."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import click

from zombieproof.checker.engine.folder import EVERY_SECONDS
from zombieproof.checker.scenario import Scenario
from zombieproof.cli.exploring import Choice, choose, explore_all, hunt_all, keeping_of, spill_of, walks_of, workers_of
from zombieproof.cli.options import PATH, reported, threads
from zombieproof.cli.scenario_options import of_model, scenarios_to_explore, under_rules
from zombieproof.cli.scenarios import list_scenarios
from zombieproof.cli.usage import WrongUsage, bounds_of, form_of, memory_bytes, reductions_of
from zombieproof.report import check_text
from zombieproof.report.exits import Exit
from zombieproof.report.runs import Run, exit_code_of
from zombieproof.report.screen import Screen

HELP = """Explore scenarios exhaustively: every interleaving, every fault within its budget.

Without names, explore the whole default set. A violated property is reported with the shortest counterexample.
With --simulate, take random walks instead of exploring exhaustively. A violation is reported as a minimised trace;
finding none is inconclusive.
FILE.py is a file of your own: all scenarios that it defines, or only the one named after the colon.

\b
Examples:
  zombieproof check
  zombieproof check zombie_takeover timeout --workers 4
  zombieproof check leaderless_partition --without marker_waits_for_leader -o story.jsonl
  zombieproof check --model spark_sink
  zombieproof check two_phase_commit --without wait_for_all
  zombieproof check kip98_takeover --rules kip98 --bounds lost=2 --memory 8G
  zombieproof check late_produce --without kip360 --with transaction_version=0
  zombieproof check leaderless_partition --without marker_waits_for_leader --compare
  zombieproof check examples/own_scenario.py   your own scenario
  zombieproof check mine.py:NAME timeout --bounds lost=2
  zombieproof check kip98_takeover --bounds lost=3,crashes=3 --simulate 60 --seed 7
  zombieproof check zombie_takeover --checkpoint kept/ --resume
  zombieproof check producer_id_blocks --reduce symmetry
  zombieproof check zombie_takeover --simulate 60 --swarm
  zombieproof check zombie_takeover --memory 2G --spill /large/disk/
  zombieproof check --mutants          does each mutant fail as expected?
  zombieproof check --format junit > checks.xml
"""

Format = Literal["text", "json", "junit"]


@click.command("check", help=HELP)
@scenarios_to_explore
@of_model
@under_rules
@click.option("--mutant", metavar="NAME", default="", help="explore a mutant or a known violation of the scenario")
@click.option("--mutants", is_flag=True, help="explore every mutant, and compare with the violation expected of it")
@click.option(
    "--compare",
    "comparing",
    is_flag=True,
    help="also explore without --with and --without (or, if you give neither, without --rules and --mutant) "
    "and show both results side by side; the exit code is that of the changed rules",
)
@click.option("--bounds", metavar="k=v,...", default="", help="change bounds, such as lost=2,crashes=1")
@click.option(
    "-o",
    "--output",
    metavar="TRACE",
    type=PATH,
    help="write the counterexample; if TRACE is a folder, one file for each",
)
@reported(Format)
@click.option("--brief", is_flag=True, help="leave decisions and transitions out of counterexamples")
@click.option(
    "--memory", metavar="SIZE", default="", help="stop, inconclusive, before using more memory than this, such as 8G"
)
@threads
@click.option(
    "--simulate",
    metavar="AMOUNT",
    default="",
    help="random simulation in one thread, for 30 (seconds) or 2000000steps; for state spaces that are too large",
)
@click.option("--seed", metavar="N", type=int, help="random seed of --simulate; default 0")
@click.option(
    "--swarm", is_flag=True, help="with --simulate, draw new bounds every few walks; no fault bound is lowered"
)
@click.option(
    "--checkpoint",
    metavar="DIR",
    type=PATH,
    help="save progress in this folder (used for nothing else), so that --resume can continue",
)
@click.option(
    "--checkpoint-every",
    metavar="SECONDS",
    type=float,
    help=f"how often to save, at the end of a level; default {EVERY_SECONDS:.0f}",
)
@click.option(
    "--resume",
    is_flag=True,
    help="continue from the checkpoint in DIR; the result is the same as without the interruption",
)
@click.option(
    "--reduce",
    metavar="symmetry,order",
    default="",
    help="explore fewer states with the same verdicts. symmetry: one of the states that differ only by swapping "
    "identical clients, partitions or resource managers. order: one of the equivalent orders of independent steps "
    "(counterexamples may get longer). If neither applies, say so and explore all states",
)
@click.option(
    "--spill",
    metavar="DIR",
    type=PATH,
    help="keep states beyond --memory in this folder on disk until the end; the results are the same",
)
@click.option("--list", "listing", is_flag=True, help="list the scenarios and explore nothing")
def check_command(  # noqa: PLR0913, PLR0917  # one parameter for each option
    names: tuple[str, ...],
    model: str,
    rules: str,
    on: tuple[str, ...],
    off: tuple[str, ...],
    mutant: str,
    mutants: bool,
    comparing: bool,
    bounds: str,
    output: Path | None,
    form: Format,
    as_json: bool,
    brief: bool,
    memory: str,
    workers: int | None,
    simulate: str,
    seed: int | None,
    swarm: bool,
    checkpoint: Path | None,
    checkpoint_every: float | None,
    resume: bool,
    reduce: str,
    spill: Path | None,
    listing: bool,
) -> int:
    """Run the command."""
    form = form_of(form, as_json=as_json)
    if listing:
        list_scenarios(Screen(), names, model=model, as_json=form == "json")
        return Exit.HOLDS
    choice = Choice(
        rules=rules,
        on=on,
        off=off,
        mutant=mutant,
        bounds=bounds_of(bounds),
        workers=workers_of(workers),
        memory_bytes=memory_bytes(memory) if memory else None,
        walks=walks_of(simulate, seed, swarm=swarm),
        keeping=keeping_of(checkpoint, checkpoint_every, resume=resume),
        reduce=reductions_of(reduce),
    )
    if choice.walks is not None and choice.reduce:
        raise WrongUsage("--simulate and --reduce: choose one; random walks cannot be reduced")
    choice = replace(choice, spill=spill_of(spill, choice))
    chosen = choose(names, choice, model=model)
    if choice.keeping is not None:
        _check_keeping(chosen, choice, changes=mutants or comparing)
    if mutants:
        if comparing:
            raise WrongUsage("--mutants and --compare: choose one; to compare one mutant, give --mutant NAME --compare")
        return _check_mutants(chosen, choice, form, output)
    writable(output, len(chosen))
    if comparing:
        runs, interrupted = _compare(chosen, choice, form, brief=brief)
    else:
        runs, interrupted = explore_all(chosen, choice)
        report(runs, form, brief=brief)
    if output is not None:
        write(runs, output)
    return Exit.INTERRUPTED if interrupted else exit_code_of(runs)


def _check_keeping(chosen: Sequence[Scenario], choice: Choice, *, changes: bool) -> None:
    """Refuse a checkpoint of several explorations, or of random walks."""
    if choice.walks is not None:
        raise WrongUsage("--checkpoint and --simulate: choose one; to repeat random walks, give the same --seed")
    if changes or len(chosen) > 1:
        what = "--mutants and --compare run several" if changes else f"you chose {len(chosen)} scenarios"
        raise WrongUsage(f"--checkpoint saves one exploration, but {what}: give one scenario")


def _compare(chosen: Sequence[Scenario], choice: Choice, form: Format, *, brief: bool) -> tuple[Sequence[Run], bool]:
    """Explore before and after the change, and report both; returns the runs after it."""
    from zombieproof.report import comparison  # noqa: PLC0415  # each report is loaded when it is wanted

    if form == "junit":
        raise WrongUsage("--compare is reported as text or json only")
    if choice.walks is not None:
        raise WrongUsage("--compare and --simulate: choose one; random walks have no state counts to compare")
    before = choice.before()
    if before == choice:
        raise WrongUsage("--compare: there is no change to compare; give --with, --without, --rules or --mutant")
    ones, interrupted = explore_all(chosen, before)
    others, again = ([], True) if interrupted else explore_all(chosen, choice)
    found = [comparison.Comparison(one, other) for one, other in zip(ones, others, strict=False)]
    if form == "json":
        Screen().data(comparison.as_json(found))
    else:
        comparison.show_comparisons(Screen(), found, brief=brief)
    return others, interrupted or again


def _check_mutants(chosen: Sequence[Scenario], choice: Choice, form: Format, output: Path | None) -> int:
    if (
        choice != Choice(workers=choice.workers, memory_bytes=choice.memory_bytes, spill=choice.spill)
        or output is not None
    ):
        raise WrongUsage(
            "--mutants explores each mutant with its own rules and bounds: "
            "omit --rules, --with, --without, --bounds, --mutant, --simulate, --reduce and -o"
        )
    if form == "junit":
        raise WrongUsage("--mutants is reported as text or json only")
    from zombieproof.report import mutants as mutants_report  # noqa: PLC0415  # it is loaded when it is wanted

    hunts, interrupted = hunt_all(chosen, choice)
    screen = Screen()
    if form == "json":
        screen.data(mutants_report.hunts_as_json(hunts))
    else:
        mutants_report.show_hunts(screen, hunts)
    if interrupted:
        return Exit.INTERRUPTED
    return mutants_report.exit_code_of(hunts)


def report(runs: Sequence[Run], form: Format, *, brief: bool = False) -> None:
    """Write the results to stdout; for JSON and JUnit, write remarks to stderr."""
    screen = Screen()
    if form == "text":
        check_text.show(screen, runs, brief=brief)
        return
    if form == "json":
        from zombieproof.report.check_json import as_json  # noqa: PLC0415  # it is loaded when it is wanted

        screen.data(as_json(runs))
    else:
        from zombieproof.report.junit import as_junit  # noqa: PLC0415  # it is loaded when it is wanted

        screen.data(as_junit(runs))
    aside = Screen(sys.stderr)
    for run in runs:
        check_text.show_remarks(aside, run)


def writable(output: Path | None, count: int) -> None:
    """Refuse an unusable -o before exploring."""
    if output is None or output.is_dir():
        return
    if count > 1:
        raise WrongUsage(f"-o {output}: you chose {count} scenarios; give a folder that exists, for one file each")
    if not output.parent.is_dir():
        raise WrongUsage(f"-o {output}: the folder {output.parent} does not exist")


def write(runs: Sequence[Run], output: Path) -> None:
    """Write the counterexamples."""
    from zombieproof.report.counterexample import as_trace  # noqa: PLC0415  # traces are loaded when they are wanted
    from zombieproof.traces.trace_file import write_trace  # noqa: PLC0415  # the same

    aside = Screen(sys.stderr)
    for run in runs:
        if run.story is None:
            if not output.is_dir():
                aside.say(f"{run.name}: no counterexample, so {output} was not written")
            continue
        path = output / f"{run.name}.jsonl" if output.is_dir() else output
        write_trace(path, as_trace(run))
        aside.say(f"{run.name}: the counterexample is in {path}")
