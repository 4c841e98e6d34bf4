"""zombieproof replay: check recorded logs, and replay counterexamples."""

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

HELP = """Check recorded logs of real clusters, or replay a counterexample.

Give any mix of files and folders from one cluster: segments and log directories, output of kafka-dump-log,
__transaction_state, __consumer_offsets, snapshots, .txnindex, broker and client logs. They may be compressed (.gz, .xz,
.bz2) or in .zip and .tar archives; `-` is standard input. Text may be quoted, indented or numbered, in any encoding,
and have prefixes of docker, kubectl, syslog or journald; "read as" in the report lists what was removed.
docs/evidence.md lists what to collect for each symptom.

Each finding names the records and the time, and tells you what to do and how it can have happened. A counterexample
of `zombieproof check -o` is replayed step by step. The trace of a live run is replayed event by event, and each
decision and transition must follow the rules.

--timeline shows the history of one transactional id, partition, producer id, group or client, from all files.
--open shows open transactions, their age and owner, and what blocks the last stable offset of each partition.

--topic limits what is read: logs of other topics are skipped, except those of the coordinators. --since and --until
limit what is reported: logs are still checked as a whole, because part of a log proves nothing.

Data that the files refer to but do not contain (a partition of a transaction, a producer's __transaction_state, the
rest of a truncated log) is listed as not checked, with what to fetch. The exit code is then 3, unless you accept the
gap with --allow-gaps.

If topics were deleted, give a broker's whole data directory. Its metadata log has the creation time of each topic, so
transactions of a deleted topic are not attributed to a new topic of the same name.

\b
Examples:
  zombieproof replay /var/lib/kafka/data
  zombieproof replay orders-0.txt __transaction_state-12.txt client.jsonl
  zombieproof replay support-bundle.tar.gz
  kubectl logs kafka-0 | zombieproof replay - orders-0.txt
  zombieproof replay broker-1/ --allow-gaps e-0,__consumer_offsets
  zombieproof replay --rules kip98 --json segments/
  zombieproof replay --values utf8 segments/   show values of lost records
  zombieproof replay --format markdown segments/ > finding.md
  zombieproof replay segments/ server.log --timeline orders-1
  zombieproof replay segments/ --timeline 'partition orders-1' --times both
  zombieproof replay segments/ --timeline 'producer 7' --since 2026-11-21T13:00Z
  zombieproof replay client.log --timeline 'rdkafka#producer-1'
  zombieproof replay segments/ --open --topic 'orders*'
  zombieproof replay story.jsonl
  zombieproof replay story.jsonl --scenario examples/own_model.py
  zombieproof replay --live story.jsonl        the same steps on live brokers and producers
  zombieproof replay run.jsonl                 replay and check the trace of a live run
  zombieproof replay run.jsonl --write-scenario seen.py

\b
Exit codes: 0 conforms, 1 violates, 2 wrong usage, 3 damaged, or conforms as
  far as the files show, 130 interrupted (partial results are printed).
  --timeline and --open do not change the exit code. With --live: 0 the live
  run ends like the counterexample, 1 a step differs, 3 a step cannot be
  reproduced live.
"""


@click.command("replay", help=HELP)
@click.argument(
    "paths",
    metavar="PATH...",
    nargs=-1,
    type=PATH,
    required=True,
    help="files, folders and archives; - for stdin",
)
@click.option(
    "--rules", metavar="PRESET", default="", help="check against the rules of a release: newest, 3.9, 4.3-tv0"
)
@click.option("--timeline", metavar="ID|PARTITION|PRODUCER|GROUP|CLIENT", help="show its history, in order")
@click.option("--open", "is_open", is_flag=True, help="show open transactions, and the offsets that they block")
@click.option("--times", type=click.Choice(get_args(Times)), help="time zone of --timeline and --open; default utc")
@click.option("--topic", metavar="NAME", multiple=True, help="read only this topic; repeatable; * and ? are wildcards")
@click.option("--since", metavar="TIME", help="report only events from this time on; ISO 8601, UTC without a zone")
@click.option("--until", metavar="TIME", help="report only events up to this time")
@click.option(
    "--values",
    type=OneOf(Values),
    default=Values.NONE.value,
    show_default=True,
    help="how to show record values in findings; keys are always shown",
)
@click.option(
    "--allow-gaps",
    metavar="NAME",
    multiple=True,
    help="accept these gaps in the files: e-0, e, e-*, __transaction_state",
)
@click.option(
    "--scenario",
    metavar="FILE.py[:NAME]",
    multiple=True,
    help="the file that defines the counterexample's scenario, if it is your own",
)
@click.option("--live", is_flag=True, help="replay a counterexample on live brokers and producers")
@click.option("--live-brokers", is_flag=True, help="the same with live brokers only; the model plays the clients")
@click.option("--write-scenario", metavar="FILE.py", type=PATH, help="write the violation of a live run as a scenario")
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
        click.echo(
            "reading standard input: paste your text, then press Ctrl-D (on Windows, Ctrl-Z and Enter)", err=True
        )
    traces = [path for path in paths if is_trace(path)]
    screen = Screen()
    if write_scenario is not None and not (len(paths) == 1 and is_live_trace(paths[0])):
        raise WrongUsage(f"--write-scenario {write_scenario}: give exactly one file, the trace of a live run")
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
        # Recordings do not need the checker, so it is loaded only here.
        from zombieproof.cli.run_again import replay_traces  # noqa: PLC0415

        return EXITS[replay_traces(screen, traces, scenario, form)]
    if live or live_brokers:
        option = "--live" if live else "--live-brokers"
        raise WrongUsage(
            f"{option} replays a counterexample, and {paths[0]} is not one: write one with zombieproof check -o"
        )
    if scenario:
        raise WrongUsage(f"--scenario {scenario[0]}: none of the files is a counterexample of `zombieproof check -o`")
    chosen = preset(rules) if rules else None
    # A timeline needs batches, which the pre-filter does not read.
    screening = None if asked.timeline else screen_for(paths, asked.narrowing, chosen)
    return judge_and_tell(screen, asked, lambda watch: examined(paths, chosen, asked, screening, watch))


def _refuse_mixture(paths: Sequence[Path], traces: Sequence[Path], given: Mapping[str, object]) -> None:
    others = [str(path) for path in paths if path not in traces]
    if others:
        both = f"{traces[0]} is a zombieproof trace and {others[0]} is a recording"
        raise WrongUsage(f"{both}: replay them separately")
    for option, value in given.items():
        if value and option == "--rules":
            raise WrongUsage(f"--rules {value}: {traces[0]} is a zombieproof trace and has its own rules; omit --rules")
        if value:
            raise WrongUsage(f"{option} is for recordings, and {traces[0]} is a zombieproof trace: omit {option}")
