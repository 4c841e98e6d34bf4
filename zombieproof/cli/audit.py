"""zombieproof audit: judge recorded logs of any size, a segment a task."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from zombieproof import system
from zombieproof.cli.extras import need
from zombieproof.cli.judging import examined, is_trace, judge_and_tell
from zombieproof.cli.options import PATH, reported
from zombieproof.cli.replay_forms import Format
from zombieproof.cli.replay_questions import Asked, names_of, narrowing_of
from zombieproof.cli.usage import WrongUsage, form_of
from zombieproof.report.screen import Screen
from zombieproof.traces.judging.folded import Examined
from zombieproof.traces.verdict.explanation import Values
from zombieproof.traces.watching import Watch

if TYPE_CHECKING:
    from zombieproof.screening.runners import Runner

HELP = """Judge recorded logs of any size: the report of `zombieproof replay`, from segments screened a task each.

A segment is screened without knowing what stands before it: in this process, in several, or on Spark, where
file names go to tasks and a small summary of each segment comes back (the files must lie where the tasks run,
under the same names). What the screen cannot clear is read here, judged and explained. Text that kafka-dump-log
printed, and all that `zombieproof replay` reads, may lie among the segments.

\b
Examples:
  zombieproof audit /var/lib/kafka/data
  zombieproof audit --processes 8 /backup/2026-11/
  zombieproof audit --spark spark://head:7077 /shared/kafka/broker-1
  zombieproof audit --topic 'orders*' --json /var/lib/kafka/data
  zombieproof audit segments/ --allow-gaps __transaction_state

\b
Exit codes: 0 conforms, 1 violates, 2 wrong usage, 3 damaged, or conforms as
  far as it could be judged, 130 interrupted (what was judged so far is said).
"""

LARGE = 10_000_000_000
"""Bytes of logs from which several processes, or Spark, save more than their start takes (docs/audit-spark.md)."""


@click.command("audit", help=HELP)
@click.argument("paths", metavar="PATH...", nargs=-1, type=PATH, required=True, help="files and folders")
@click.option(
    "--processes",
    metavar="N",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="screen in so many processes",
)
@click.option("--spark", metavar="MASTER", default="", help="screen on Spark: local[2], spark://host:7077")
@click.option("--topic", metavar="NAME", multiple=True, help="read this topic only; repeatable, * and ? are wild")
@click.option(
    "--allow-gaps", metavar="NAME", multiple=True, help="gaps that need not be judged: e-0, e, e-*, __transaction_state"
)
@reported(Format)
def audit_command(
    paths: tuple[Path, ...],
    processes: int,
    spark: str,
    topic: tuple[str, ...],
    allow_gaps: tuple[str, ...],
    form: Format,
    as_json: bool,
) -> int:
    """Run the command."""
    form = form_of(form, as_json=as_json)
    if spark and processes > 1:
        raise WrongUsage(f"--processes {processes} and --spark {spark} are two places to screen in; choose one")
    asked = Asked(
        timeline=None,
        is_open=False,
        times=None,
        narrowing=narrowing_of(topic, None, None),
        form=form,
        values=Values.NONE,
        allowed_gaps=names_of(allow_gaps),
    )
    story = next((path for path in paths if is_trace(path)), None)
    if story is not None:
        raise WrongUsage(f"{story} is a trace of this program, not a recorded log: zombieproof replay {story}")

    size = sum(each.stat().st_size for path in paths for each in _segments(path))
    if size > LARGE and processes == 1 and not spark:
        click.echo(
            f"{size / 1e9:,.0f} GB of logs are screened in one process: --processes N takes several, --spark MASTER a "
            "cluster",
            err=True,
        )

    def examine(watch: Watch) -> Examined:
        with _runner(processes, spark) as run:
            from zombieproof.screening.taking import LogScreen  # noqa: PLC0415  # loads the compiler

            return examined(paths, None, asked, LogScreen(run), watch)

    return judge_and_tell(Screen(), asked, examine)


def _segments(path: Path) -> Iterator[Path]:
    """The segments that a path names."""
    return (each for each in (path.rglob("*.log") if path.is_dir() else (path,)) if each.is_file())


@contextmanager
def _runner(processes: int, spark: str) -> Iterator[Runner]:
    """Where segments are screened. The compiler, and Spark, are loaded when they are needed."""
    if spark:
        system.refuse_on_windows("zombieproof audit --spark", "use --processes")
        need("spark", "pyspark", "audit --spark")
        from zombieproof.pipeline.audit import on_spark, session_for_audit  # noqa: PLC0415
        from zombieproof.pipeline.own_session import NoSpark  # noqa: PLC0415

        try:
            with session_for_audit(spark) as begun:
                yield on_spark(begun)
        except NoSpark as error:
            raise WrongUsage(str(error)) from error
        return
    from zombieproof.screening import runners  # noqa: PLC0415

    if processes > 1:
        with runners.processes(processes) as run:
            yield run
    else:
        yield runners.here
