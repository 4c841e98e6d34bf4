"""zombieproof conform: does the interpreted host, or any broker, answer as a real broker did?"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from zombieproof.cli.bars import progress
from zombieproof.cli.options import PATH
from zombieproof.cli.usage import WrongUsage
from zombieproof.conformance.in_process import InProcess
from zombieproof.conformance.recording import RecordingError, count, files_of
from zombieproof.conformance.runner import Played
from zombieproof.conformance.tally import play_all
from zombieproof.report import conform_json, conform_text
from zombieproof.report.exits import Exit
from zombieproof.report.screen import Screen

HELP = """Judge a broker: one that is running, or, by recordings alone, the brokers of this process.

With --bootstrap a running broker of whatever make is asked by raw requests: by scenarios where brokers get
transactions wrong (--level smoke takes half a minute, full some minutes), and by recorded sequences. What cannot be
played at a broker that is told nothing is counted with the reason, never passed. Everything that is made there has a
name of its own and is deleted at the end, but for transactional ids. Only loopback is asked without --yes.

Without it recorded answers of a real broker are replayed against brokers in this process.
A recording (.jsonl or .jsonl.gz) holds one sequence in each line: requests to a new cluster, and what Kafka answered.
Of a sequence that is answered otherwise the first difference is shown: step, request, expected, got, and the decision
with the reference row that answered. A line that cannot be understood is named, and the others are replayed.

\b
Examples:
  zombieproof conform --bootstrap 127.0.0.1:9092
  zombieproof conform --bootstrap 127.0.0.1:9092 --level full --json
  zombieproof conform --bootstrap 127.0.0.1:9092 --recording random.jsonl.gz
  zombieproof conform --recording random.jsonl.gz
  zombieproof conform --recording one.jsonl two.jsonl.gz folder/
  zombieproof conform --recording random.jsonl.gz --limit 100 --json

\b
Exit codes: 0 every answer is the expected one, 1 some are not,
  2 wrong usage, 3 the broker was not reached or went away, nothing could be
  judged, or some lines could not be understood; and no answer is another one.
"""


@click.command("conform", help=HELP)
@click.option(
    "--recording",
    "recordings",
    metavar="FILE...",
    multiple=True,
    type=PATH,
    help="recordings and folders of them, - for stdin; repeatable",
)
@click.argument("more", metavar="[FILE]...", nargs=-1, type=PATH, help="more recordings")
@click.option("--limit", metavar="N", type=click.IntRange(min=1), help="play only the first N sequences")
@click.option("--bootstrap", metavar="HOST:PORT", help="a running broker, which is judged; several with commas")
@click.option("--level", metavar="smoke|full", help="by which scenarios (smoke, if there are no recordings)")
@click.option(
    "--release", metavar="RELEASE", help="the release whose recordings the broker is judged by (the one it speaks as)"
)
@click.option("--yes", is_flag=True, help="ask also a broker that is not on this machine")
@click.option("--json", "as_json", is_flag=True, help="print one JSON object")
def conform_command(
    recordings: tuple[Path, ...],
    more: tuple[Path, ...],
    limit: int | None,
    bootstrap: str | None,
    level: str | None,
    release: str | None,
    yes: bool,
    as_json: bool,
) -> int:
    """Run the command."""
    given = [*recordings, *more]
    if bootstrap is not None:
        from zombieproof.cli import extras  # noqa: PLC0415  # only this way of judging needs the extra

        extras.need("wire", "kio", "conform --bootstrap")
        from zombieproof.cli.conform_outside import judge_broker  # noqa: PLC0415  # kio is there

        return judge_broker(bootstrap, level, given, limit, release, says_yes=yes, as_json=as_json)
    for option, value in (("--level", level), ("--release", release), ("--yes", yes or None)):
        if value is not None:
            raise WrongUsage(f"{option} is about a running broker: give --bootstrap HOST:PORT as well")
    if not given:
        raise WrongUsage(
            "there is nothing to replay: give --recording FILE, a recording or a folder of them, "
            "or --bootstrap HOST:PORT, a broker"
        )
    try:
        files = files_of(given)
        with watching(files, limit) as watch:
            tallies = play_all(files, InProcess, limit, watch)
    except RecordingError as error:
        raise WrongUsage(str(error)) from error
    screen = Screen()
    if as_json:
        screen.data(conform_json.as_json(tallies))
    else:
        conform_text.show(screen, tallies)
    if any(tally.differences for tally in tallies):
        return Exit.VIOLATED
    return Exit.INCONCLUSIVE if any(tally.damaged for tally in tallies) else Exit.HOLDS


@contextmanager
def watching(files: Sequence[Path], limit: int | None) -> Iterator[Callable[[Played], None]]:
    """A bar on a terminal, nothing in a pipe; on stderr, and gone afterwards."""
    bar = progress()
    counts = [count(file) for file in files] if not bar.disable else []
    known = [number for number in counts if number is not None]
    total = sum(known) if len(known) == len(counts) else None
    if total is not None and limit is not None:
        total = min(total, limit)
    with bar:
        task = bar.add_task("", total=total, reached="")
        done = different = 0

        def watch(played: Played) -> None:
            nonlocal done, different
            done += 1
            different += played.difference is not None
            of = f" of {total:,}" if total is not None else ""
            says = f", {different:,} different" if different else ""
            bar.update(task, advance=1, description=Path(played.recorded.file).name, reached=f"{done:,}{of}{says}")

        yield watch
