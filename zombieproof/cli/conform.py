"""zombieproof conform: compare the answers of any broker, or of the embedded brokers, with those of real Kafka."""

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

HELP = """Test how a broker answers: any running broker, or zombieproof's own against recordings of Kafka.

With --bootstrap, send raw protocol requests to any running broker: scenarios that brokers often get wrong (--level
smoke takes about 30 seconds, full a few minutes) and recorded sequences. Sequences that need control over the broker
are counted as not applicable, with the reason, and never as passed. All topics and groups that are created have
unique names and are deleted at the end; transactional ids cannot be deleted. Without --yes, only brokers on a
loopback address are tested.

Without --bootstrap, replay recorded answers of a real broker against brokers in this process.
A recording (.jsonl or .jsonl.gz) has one sequence per line: requests to a new cluster, and Kafka's answers. If an
answer differs, the report shows the first difference: step, request, expected and actual answer, and the decision
that produced it. Lines that cannot be read are reported, and the others are replayed.

\b
Examples:
  zombieproof conform --bootstrap 127.0.0.1:9092
  zombieproof conform --bootstrap 127.0.0.1:9092 --level full --json
  zombieproof conform --bootstrap 127.0.0.1:9092 --recording random.jsonl.gz
  zombieproof conform --recording random.jsonl.gz
  zombieproof conform --recording one.jsonl two.jsonl.gz folder/
  zombieproof conform --recording random.jsonl.gz --limit 100 --json

\b
Exit codes: 0 every answer is as expected, 1 some answers differ,
  2 wrong usage, 3 no answer differs, but the broker was not reached or went
  away, nothing could be tested, or some lines could not be read.
"""


@click.command("conform", help=HELP)
@click.option(
    "--recording",
    "recordings",
    metavar="FILE...",
    multiple=True,
    type=PATH,
    help="recordings, or folders of recordings; - for stdin; repeatable",
)
@click.argument("more", metavar="[FILE]...", nargs=-1, type=PATH, help="more recordings")
@click.option("--limit", metavar="N", type=click.IntRange(min=1), help="replay only the first N sequences")
@click.option("--bootstrap", metavar="HOST:PORT", help="the running broker to test; separate several with commas")
@click.option("--level", metavar="smoke|full", help="which scenarios to run (smoke, unless you give recordings)")
@click.option(
    "--release",
    metavar="RELEASE",
    help="the Kafka release to compare with (by default, the one that the broker's API versions match)",
)
@click.option("--yes", is_flag=True, help="allow brokers that are not on this machine")
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
            raise WrongUsage(f"{option} needs a running broker: add --bootstrap HOST:PORT")
    if not given:
        raise WrongUsage(
            "nothing to replay: give --recording FILE (a recording or a folder of them) "
            "or --bootstrap HOST:PORT (a running broker)"
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
    """Show a progress bar on stderr if it is a terminal; remove it at the end."""
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
