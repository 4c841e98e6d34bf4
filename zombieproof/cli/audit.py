"""zombieproof audit: check recorded logs of any size, one task for each segment."""

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

HELP = """Check recorded logs of any size: the report of `zombieproof replay`, with segments pre-filtered in parallel.

Each segment is pre-filtered on its own: in this process, in several, or on Spark. Spark tasks get file names and
return a small summary of each segment, so the files must exist under the same paths on the workers. Segments that
the filter cannot clear are read in this process, checked and explained. The folders may also contain output of
kafka-dump-log and anything else that `zombieproof replay` reads.

\b
Examples:
  zombieproof audit /var/lib/kafka/data
  zombieproof audit --processes 8 /backup/2026-11/
  zombieproof audit --spark spark://head:7077 /shared/kafka/broker-1
  zombieproof audit --topic 'orders*' --json /var/lib/kafka/data
  zombieproof audit segments/ --allow-gaps __transaction_state

\b
Exit codes: 0 conforms, 1 violates, 2 wrong usage, 3 damaged, or conforms as
  far as the files show, 130 interrupted (partial results are printed).
"""

LARGE = 10_000_000_000
"""Bytes of logs above which several processes, or Spark, save more time than they need to start."""


@click.command("audit", help=HELP)
@click.argument("paths", metavar="PATH...", nargs=-1, type=PATH, required=True, help="files and folders")
@click.option(
    "--processes",
    metavar="N",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="number of processes that pre-filter segments",
)
@click.option("--spark", metavar="MASTER", default="", help="pre-filter on Spark: local[2], spark://host:7077")
@click.option("--topic", metavar="NAME", multiple=True, help="read only this topic; repeatable; * and ? are wildcards")
@click.option(
    "--allow-gaps",
    metavar="NAME",
    multiple=True,
    help="accept these gaps in the files: e-0, e, e-*, __transaction_state",
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
        raise WrongUsage(f"--processes {processes} and --spark {spark}: choose one")
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
        raise WrongUsage(f"{story} is a zombieproof trace, not a recorded log; run zombieproof replay {story}")

    size = sum(each.stat().st_size for path in paths for each in _segments(path))
    if size > LARGE and processes == 1 and not spark:
        click.echo(
            f"reading {size / 1e9:,.0f} GB of logs in one process; --processes N uses several, --spark MASTER a "
            "cluster",
            err=True,
        )

    def examine(watch: Watch) -> Examined:
        with _runner(processes, spark) as run:
            from zombieproof.screening.taking import LogScreen  # noqa: PLC0415  # loads the compiler

            return examined(paths, None, asked, LogScreen(run), watch)

    return judge_and_tell(Screen(), asked, examine)


def _segments(path: Path) -> Iterator[Path]:
    """Return the segments below a path."""
    return (each for each in (path.rglob("*.log") if path.is_dir() else (path,)) if each.is_file())


@contextmanager
def _runner(processes: int, spark: str) -> Iterator[Runner]:
    """Choose where segments are pre-filtered. Load the compiler and Spark only when needed."""
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
