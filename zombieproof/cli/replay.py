"""zombieproof replay: judge what was recorded, and run counterexamples again."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

import click

from zombieproof.cli.judging import EXITS, examined, is_trace, judge_and_tell
from zombieproof.cli.options import PATH, OneOf, reported
from zombieproof.cli.replay_forms import Format
from zombieproof.cli.replay_questions import Asked, names_of, narrowing_of
from zombieproof.cli.usage import WrongUsage, form_of, known
from zombieproof.model.rules import PRESETS, preset
from zombieproof.report.screen import Screen
from zombieproof.report.timeline_text import Times
from zombieproof.screening.choosing import screen_for
from zombieproof.traces.trace_file import is_live_trace
from zombieproof.traces.verdict.explanation import Values

STANDARD_INPUT = "-"

HELP = """Judge what real clusters recorded, or run a counterexample again.

Any mixture of files and folders is one body of evidence: segments and whole log directories, text of
kafka-dump-log, __transaction_state, __consumer_offsets, snapshots, .txnindex, broker and client logs,
also as .gz, .xz and .bz2, and in .zip and .tar archives, which are searched like folders. `-` is standard
input. Text may be quoted, indented or numbered, have any encoding and line ends, and carry the prefixes of
docker, kubectl, syslog or journald: "read as" in the report names what was removed. docs/evidence.md says what to
collect for which symptom.

Each finding says which records it is about, when it was, what to do and why it
can have happened. A file that `zombieproof check -o` wrote is run again step by step, interpreted; the trace of a
live run is taken again event by event, and each decision and move must be the one that the rules make.

--timeline tells what happened to one transactional id, partition, producer id, group or client in order, over all
evidence;
--open tells what is open, since when and whose it is, and what holds the last stable offset of each partition back.

--topic narrows what is read: logs of other topics are left out (never those of the coordinators). --since and --until
narrow what is reported: whole logs are judged, because a log that is cut in time proves nothing.

What the evidence names and does not hold (a partition that a transaction lists, the __transaction_state of a
producer, the rest of a cut log) is not judged: it is named, with what to fetch, and the exit code is 3 unless
--allow-gaps accepts it.

If topics were deleted, give a broker's whole data directory. Its metadata log says when topics were created, so
transactions of an earlier topic are not held against the present one of the same name.

\b
Examples:
  zombieproof replay /var/lib/kafka/data
  zombieproof replay orders-0.txt __transaction_state-12.txt client.jsonl
  zombieproof replay support-bundle.tar.gz
  kubectl logs kafka-0 | zombieproof replay - orders-0.txt
  zombieproof replay broker-1/ --allow-gaps e-0,__consumer_offsets
  zombieproof replay --rules kip98 --json segments/
  zombieproof replay --values utf8 segments/   keys and values of lost records
  zombieproof replay --format markdown segments/ > finding.md
  zombieproof replay segments/ server.log --timeline orders-1
  zombieproof replay segments/ --timeline 'partition orders-1' --times both
  zombieproof replay segments/ --timeline 'producer 7' --since 2026-11-21T13:00Z
  zombieproof replay client.log --timeline 'rdkafka#producer-1'
  zombieproof replay segments/ --open --topic 'orders*'
  zombieproof replay story.jsonl
  zombieproof replay story.jsonl --scenario examples/own_model.py
  zombieproof replay --live story.jsonl        the same steps on live brokers and producers
  zombieproof replay run.jsonl                 the trace of a live run, taken again and judged
  zombieproof replay run.jsonl --write-scenario seen.py

\b
Exit codes: 0 conforms, 1 violates, 2 wrong usage, 3 damaged, or conforms as
  far as it could be judged, 130 interrupted (what was judged so far is said).
  With --timeline and --open too they are those of the verdict. With --live:
  0 the live system arrives where the story does, 1 it differs in a step,
  3 it has no lever for a step.
"""


@click.command("replay", help=HELP)
@click.argument(
    "paths",
    metavar="PATH...",
    nargs=-1,
    type=PATH,
    required=True,
    help="files, folders and archives; - is standard input",
)
@click.option("--rules", metavar="PRESET", default="", help="rules to judge by: newest, 3.9, 4.3-tv0")
@click.option("--timeline", metavar="ID|PARTITION|PRODUCER|GROUP|CLIENT", help="what happened to one of them, in order")
@click.option("--open", "is_open", is_flag=True, help="what is open, and what it holds back")
@click.option(
    "--times", type=click.Choice(get_args(Times)), help="zone of the times of --timeline and --open; utc by default"
)
@click.option("--topic", metavar="NAME", multiple=True, help="read this topic only; repeatable, * and ? are wild")
@click.option("--since", metavar="TIME", help="report what is there from then on; ISO 8601, else UTC")
@click.option("--until", metavar="TIME", help="report what is there up to then")
@click.option(
    "--values",
    type=OneOf(Values),
    default=Values.NONE.value,
    show_default=True,
    help="show values of the records that findings are about; keys are shown",
)
@click.option(
    "--allow-gaps", metavar="NAME", multiple=True, help="gaps that need not be judged: e-0, e, e-*, __transaction_state"
)
@click.option(
    "--scenario",
    metavar="FILE.py[:NAME]",
    multiple=True,
    help="where the scenario of a story is defined, if it is your own",
)
@click.option("--live", is_flag=True, help="take a story's steps on live brokers and producers")
@click.option("--live-brokers", is_flag=True, help="the same, but what clients do is the checker's")
@click.option("--write-scenario", metavar="FILE.py", type=PATH, help="a live run that broke a promise, as a scenario")
@reported(Format)
def replay_command(  # noqa: PLR0913, PLR0917  # one parameter for each option
    paths: tuple[Path, ...],
    rules: str,
    timeline: str | None,
    is_open: bool,
    times: Times | None,
    topic: tuple[str, ...],
    since: str | None,
    until: str | None,
    values: Values,
    allow_gaps: tuple[str, ...],
    scenario: tuple[str, ...],
    live: bool,
    live_brokers: bool,
    write_scenario: Path | None,
    form: Format,
    as_json: bool,
) -> int:
    """Run the command."""
    form = form_of(form, as_json=as_json)
    if rules:
        known("preset of rules", rules, PRESETS, "zombieproof rules")
    asked = Asked(timeline, is_open, times, narrowing_of(topic, since, until), form, values, names_of(allow_gaps))
    if STANDARD_INPUT in map(str, paths) and sys.stdin is not None and sys.stdin.isatty():
        click.echo("reading standard input: paste, then end it with Ctrl-D (on Windows Ctrl-Z and Enter)", err=True)
    traces = [path for path in paths if is_trace(path)]
    screen = Screen()
    if write_scenario is not None and not (len(paths) == 1 and is_live_trace(paths[0])):
        raise WrongUsage(f"--write-scenario {write_scenario}: give the trace of one live run, and nothing else")
    if traces and all(is_live_trace(path) for path in traces):
        given = {
            "--rules": rules,
            **asked.given,
            "--scenario": scenario,
            "--live": live,
            "--live-brokers": live_brokers,
        }
        _refuse_mixture(paths, traces, given)
        from zombieproof.cli.live_runs import replay_live_runs  # noqa: PLC0415  # few need live brokers

        return replay_live_runs(screen, traces, write_scenario, form)
    if traces:
        _refuse_mixture(paths, traces, {"--rules": rules, **asked.given})
        if live or live_brokers:
            from zombieproof.cli.run_live import replay_live  # noqa: PLC0415  # the checker is loaded when it is needed

            return replay_live(screen, traces, scenario, form, live_producers=not live_brokers)
        # A recording is judged without the checker, which is not loaded for it.
        from zombieproof.cli.run_again import replay_traces  # noqa: PLC0415

        return EXITS[replay_traces(screen, traces, scenario, form)]
    if live or live_brokers:
        option = "--live" if live else "--live-brokers"
        raise WrongUsage(f"{option} takes the steps of a story, and {paths[0]} is none: write one with check -o")
    if scenario:
        raise WrongUsage(f"--scenario {scenario[0]}: none of the files is a story that `zombieproof check -o` wrote")
    chosen = preset(rules) if rules else None
    # A timeline asks for batches, which a screen leaves where they are.
    screening = None if asked.timeline else screen_for(paths, asked.narrowing, chosen)
    return judge_and_tell(screen, asked, lambda watch: examined(paths, chosen, asked, screening, watch))


def _refuse_mixture(paths: Sequence[Path], traces: Sequence[Path], given: Mapping[str, object]) -> None:
    others = [str(path) for path in paths if path not in traces]
    if others:
        both = f"{traces[0]} is a trace of this program and {others[0]} is not"
        raise WrongUsage(f"{both}: a trace is run again, a recording is judged; replay them one after the other")
    for option, value in given.items():
        if value and option == "--rules":
            raise WrongUsage(
                f"--rules {value}: {traces[0]} is a trace of this program and says its own rules; leave it away"
            )
        if value:
            raise WrongUsage(f"{option} is for recordings, and {traces[0]} is a trace of this program: leave it away")
