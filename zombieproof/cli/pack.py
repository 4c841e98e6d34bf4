"""zombieproof pack: convert segments to Parquet, keeping what an audit needs."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from zombieproof.cli.extras import need
from zombieproof.cli.options import PATH
from zombieproof.cli.replay_watching import following
from zombieproof.cli.usage import WrongUsage
from zombieproof.report.exits import Exit
from zombieproof.report.screen import Screen, plural
from zombieproof.traces.evidence import EvidenceError

if TYPE_CHECKING:
    from zombieproof.screening.packed.folders import Packing

HELP = """Pack segments into Parquet, one file each, with the batch headers in columns.

The folder structure stays: FOLDER becomes DIR/FOLDER, and each segment NAME.log becomes NAME.log.parquet. Other input
files (snapshots, checkpoints, dumps, logs) are copied. Only records that the checks read are kept: markers, internal
topics, and batches from which compaction removed records; --records keeps all. Damaged segments lose nothing: bytes
that cannot be read are stored unchanged and reported. docs/packed.md describes the columns.

Files appear only when they are complete. A second run packs only files that have changed, so you can continue an
interrupted run by starting it again.

\b
Examples:
  zombieproof pack /var/lib/kafka/data --output packed
  zombieproof pack broker-1/ broker-2/ --output packed
  zombieproof pack --records orders-0/ --output packed

\b
Exit codes: 0 everything is packed, 2 wrong usage, 3 a file is damaged, or the
  output has files whose segments are gone from the input, 130 interrupted.
"""


@click.command("pack", help=HELP)
@click.argument("paths", metavar="PATH...", nargs=-1, type=PATH, required=True, help="segments, or folders of segments")
@click.option("--output", "-o", metavar="DIR", type=PATH, required=True, help="the output folder")
@click.option("--records", is_flag=True, help="keep the records of all batches")
def pack_command(paths: tuple[Path, ...], output: Path, records: bool) -> int:
    """Run the command."""
    need("audit", "pyarrow", "zombieproof pack")
    # Numba and pyarrow are loaded when they are needed.
    from zombieproof.screening.packed.folders import Packing, pack  # noqa: PLC0415
    from zombieproof.screening.packed.layout import PackedError  # noqa: PLC0415
    from zombieproof.traces.readers.segments import Keep  # noqa: PLC0415

    if output.exists() and not output.is_dir():
        raise WrongUsage(f"--output {output} is a file; give a folder or a new name")
    made, interrupted = Packing(), False
    with following() as watch:
        try:
            pack(paths, output, Keep.ALL if records else Keep.NEEDED, watch, made)
        except (EvidenceError, PackedError) as error:
            raise WrongUsage(str(error)) from error
        except KeyboardInterrupt:
            interrupted = True
    screen = Screen()
    if interrupted:
        done = plural(len(made.segments), "segment")
        screen.say(f"interrupted; {done} packed; run the same command again to continue")
        return Exit.INTERRUPTED
    if not made.segments:
        raise WrongUsage(f"{', '.join(map(str, paths))}: no segments found; give Kafka log directories")
    _tell(screen, made, output)
    return Exit.INCONCLUSIVE if made.damage or made.strangers else Exit.HOLDS


def _tell(screen: Screen, made: "Packing", output: Path) -> None:
    """Report what was packed, skipped and damaged."""
    batches = sum(each.origin.batches for each in made.segments)
    old = sum(each.origin.old_format for each in made.segments)
    new = sum(each.is_new for each in made.segments)
    size = sum(each.target.stat().st_size for each in made.segments)
    screen.say(
        f"{output}: {plural(len(made.segments), 'segment')}, {new:,} packed now; batches: {batches:,}, "
        f"in {size:,} bytes; {plural(len(made.copied), 'other file')} copied"
    )
    for each in made.left_out:
        screen.say(f"skipped: {each.file}: {each.reason}")
    if old:
        screen.say(
            f"batches in message formats 0 and 1, which have no transactions: {old:,}; only their positions are kept"
        )
    for place in made.damage:
        screen.say(f"damaged: {place.file}, {place.unit.value} {place.position}: {place.message}")
    for stranger in made.strangers:
        screen.say(f"not from this input: {stranger}; remove it, or pack into another folder")
