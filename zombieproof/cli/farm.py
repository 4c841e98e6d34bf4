"""zombieproof farm: run a batch of explorations and store each result."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import click

from zombieproof.checker.request import STEPS
from zombieproof.cli.farming import examine, list_jobs, runner_of, values_of_bounds, watching
from zombieproof.cli.options import PATH, reported
from zombieproof.cli.usage import WrongUsage, form_of, memory_bytes
from zombieproof.farm.expanding import jobs_of
from zombieproof.farm.jobs import OWN, Job
from zombieproof.farm.plan import Group, Plan, PlanFault, bound_values, load_plan
from zombieproof.farm.running import Harvest, run
from zombieproof.farm.store import Store
from zombieproof.pipeline.farm import write_parquet
from zombieproof.pipeline.own_session import NoSpark
from zombieproof.report import farm_pages, farm_text
from zombieproof.report.exits import Exit
from zombieproof.report.screen import Screen, plural

HELP = """Run a batch of explorations (scenarios, rules, bounds, mutants) and store each result, so a batch can resume.

Describe the batch in a plan, or use the options below: every scenario, with each of the rules and all values of the
bounds. Each exploration gives the same result as `check`. Results are stored in a folder, keyed by a hash of the
exploration and of the program's sources; an exploration that has a result is not repeated. The report is written to
the same folder (report.md, report.html). By default, a mutant is expected to violate its registered property and
everything else is expected to hold; a plan can say otherwise. Explorations run one after another; --processes N or
--spark MASTER runs them in parallel.

\b
Examples:
  zombieproof farm                             every scenario
  zombieproof farm --mutants --processes 4     also every mutant
  zombieproof farm --scenario 'spark_*' --bound crashes=0..2 --list
  zombieproof farm --scenario timeout --rules own --rules 4.2 --rules 3.9
  zombieproof farm --scenario timeout --bound lost=4 --seeds 1..8
  zombieproof farm examples/farm.yaml --processes 8 --memory 4G
  zombieproof farm examples/farm.yaml --spark 'local[2]' --parquet all.parquet

\b
A plan:
  explorations:
  - {scenarios: "*", mutants: "*"}
  - {scenarios: [timeout, "kip98_*"], rules: [own, 3.9], bounds: {lost: 0..2}}
  - {scenarios: late_produce, without: kip360, with: transaction_version=0,
     expect: violated}            or holds, or anything
  - {scenarios: timeout, bounds: {lost: 4}, seeds: 1..8, steps: 2000000}
                                  random walks; no violation is expected

\b
Exit codes: 0 every result is as expected, 1 some are not, 2 wrong usage,
  3 inconclusive, 70 an exploration failed, 130 interrupted.
"""

Format = Literal["text", "json", "markdown"]
RESULTS = Path("farm-results")


@click.command("farm", help=HELP)
@click.argument(
    "plan", metavar="[PLAN.yaml]", type=PATH, required=False, help="the batch to run; or use the options below"
)
@click.option(
    "--scenario",
    "scenarios",
    metavar="NAME",
    multiple=True,
    help="name, pattern or FILE.py[:NAME]; repeatable; default: all",
)
@click.option(
    "--rules", metavar="PRESET", multiple=True, help="rules of a release; default own, the scenario's; repeatable"
)
@click.option("--with", "on", metavar="RULE", multiple=True, help="enable a rule everywhere; repeatable")
@click.option("--without", "off", metavar="RULE", multiple=True, help="disable a rule everywhere; repeatable")
@click.option(
    "--bound", "bounds", metavar="NAME=VALUES", multiple=True, help="such as lost=0,1,2 or lost=0..2; repeatable"
)
@click.option("--seeds", metavar="VALUES", default="", help="random simulation with each of these seeds: 1..8 or 1,5,9")
@click.option("--steps", metavar="N", type=click.IntRange(min=1), help=f"steps for each seed; default {STEPS:,}")
@click.option("--mutants", is_flag=True, help="also explore every mutant, with its own rules and bounds")
@click.option(
    "--results",
    metavar="FOLDER",
    type=PATH,
    default=RESULTS,
    show_default=True,
    help="where results are stored and looked up",
)
@click.option("--fresh", is_flag=True, help="ignore stored results and explore again")
@click.option("--processes", metavar="N", type=int, help="number of processes, each with one thread")
@click.option("--spark", metavar="MASTER", default="", help="explore on Spark: local[2], spark://host:7077")
@click.option("--workers", metavar="N", type=int, help="threads for each exploration in this process; default 1")
@click.option(
    "--memory", metavar="SIZE", default="", help="stop an exploration before its process uses more memory than this"
)
@click.option("--parquet", metavar="FILE", type=PATH, help="also write the results as Parquet (needs extra spark)")
@click.option("--list", "listing", is_flag=True, help="list explorations and tasks; explore nothing")
@reported(Format)
def farm_command(  # noqa: PLR0913, PLR0917  # one parameter for each option
    plan: Path | None,
    scenarios: tuple[str, ...],
    rules: tuple[str, ...],
    on: tuple[str, ...],
    off: tuple[str, ...],
    bounds: tuple[str, ...],
    seeds: str,
    steps: int | None,
    mutants: bool,
    results: Path,
    fresh: bool,
    processes: int | None,
    spark: str,
    workers: int | None,
    memory: str,
    parquet: Path | None,
    listing: bool,
    form: Format,
    as_json: bool,
) -> int:
    """Run the command."""
    form = form_of(form, as_json=as_json)
    limit = memory_bytes(memory) if memory else None
    options = Group(
        "the command line",
        scenarios=scenarios or ("*",),
        rules=rules or (OWN,),
        on=on,
        off=off,
        bounds=values_of_bounds(bounds),
        seeds=_seeds(seeds),
        steps=STEPS if steps is None else steps,
    )
    if steps is not None and not seeds:
        raise WrongUsage(f"--steps {steps} is for random walks: add --seeds, such as 1..8")
    if plan is not None and (mutants or options != Group(options.where)):
        raise WrongUsage(
            f"{plan} already says what to explore: omit --scenario, --rules, --with, --without, "
            "--bound, --seeds and --mutants"
        )
    jobs = _jobs(plan, options, mutants=mutants)
    if listing:
        list_jobs(Screen(), jobs, as_json=form == "json")
        return Exit.HOLDS
    if parquet is not None and not parquet.parent.is_dir():
        raise WrongUsage(f"--parquet {parquet}: the folder {parquet.parent} does not exist")
    examine(jobs)
    try:
        with watching(len(jobs)) as watcher:
            runner = runner_of(processes, spark, workers, limit, watcher.begin)
            store = Store(results)
            harvest = run(jobs, runner, store, memory_bytes=limit, fresh=fresh, tell=watcher.came)
        _report(harvest, store, form)
        if parquet is not None:
            write_parquet(harvest.entries, parquet)
    except NoSpark as error:
        raise WrongUsage(str(error)) from error
    return farm_text.exit_code_of(harvest)


def _seeds(text: str) -> tuple[int, ...]:
    try:
        return bound_values(text) if text else ()
    except PlanFault as fault:
        raise WrongUsage(f"--seeds {text!r}: {fault}") from fault


def _jobs(plan: Path | None, options: Group, *, mutants: bool) -> list[Job]:
    """Return the explorations of the plan or of the options.

    Raises:
        WrongUsage: a name does not exist, or a value is not valid.
    """
    groups: Plan = (options,)
    if mutants:
        groups += (
            Group(
                options.where,
                scenarios=options.scenarios,
                mutants=("*",),
                seeds=options.seeds,
                steps=options.steps,
            ),
        )
    try:
        return jobs_of(groups if plan is None else load_plan(plan))
    except PlanFault as fault:
        raise WrongUsage(str(fault)) from fault


def _report(harvest: Harvest, store: Store, form: Format) -> None:
    """Write report pages to the results folder, the summary to stdout, and remarks to stderr."""
    pages = {"report.md": farm_pages.as_markdown(harvest), "report.html": farm_pages.as_html(harvest)}
    for name, page in pages.items():
        (store.folder / name).write_text(page, encoding="utf-8", newline="\n")
    screen, aside = Screen(), Screen(sys.stderr)
    if form == "text":
        farm_text.show(screen, harvest)
    else:
        screen.data(farm_text.as_json(harvest) if form == "json" else pages["report.md"])
    for file in store.damaged:
        aside.say(f"{file} was damaged, so its exploration was run again")
    aside.say(f"report: {store.folder / 'report.html'} and {store.folder / 'report.md'}")
    if harvest.interrupted:
        done = f"{len(harvest.found):,} of {plural(len(harvest.jobs), 'exploration')}"
        aside.say(
            f"interrupted: results of {done} are stored in {store.folder}; run the same command again to continue"
        )
