"""zombieproof pack: turn segments into Parquet, as far as an audit needs them."""

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

HELP = """Pack segments into Parquet: a file for each, with the headers of its batches in columns.

Folders keep their shape: FOLDER becomes DIR/FOLDER, each segment NAME.log the file NAME.log.parquet, and what else is
evidence (snapshots, checkpoints, dumps, logs) is copied beside. Of records only what judges read is kept: markers,
the own topics of coordinators, and batches that have lost some; --records keeps all. Nothing of a damaged segment is
lost: bytes that cannot be read are kept as they are, and are told. Columns are in docs/packed.md.

A file appears when it is whole. A second run packs only what has changed since, so one that was interrupted goes on
when it is started again.

\b
Examples:
  zombieproof pack /var/lib/kafka/data --output packed
  zombieproof pack broker-1/ broker-2/ --output packed
  zombieproof pack --records orders-0/ --output packed

\b
Exit codes: 0 all is packed, 2 wrong usage, 3 something is damaged, or the
  output holds files of which the input has none any more; 130 interrupted.
"""


@click.command("pack", help=HELP)
@click.argument("paths", metavar="PATH...", nargs=-1, type=PATH, required=True, help="segments, and folders of them")
@click.option("--output", "-o", metavar="DIR", type=PATH, required=True, help="the folder to pack into")
@click.option("--records", is_flag=True, help="keep the records of all batches as well")
def pack_command(paths: tuple[Path, ...], output: Path, records: bool) -> int:
    """Run the command."""
    need("audit", "pyarrow", "zombieproof pack")
    # Numba and pyarrow are loaded when they are needed.
    from zombieproof.screening.packed.folders import Packing, pack  # noqa: PLC0415
    from zombieproof.screening.packed.layout import PackedError  # noqa: PLC0415
    from zombieproof.traces.readers.segments import Keep  # noqa: PLC0415

    if output.exists() and not output.is_dir():
        raise WrongUsage(f"--output {output} is a file; give a folder, or a name that is free")
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
        screen.say(f"interrupted; packed and whole: {done}; start it again, and it goes on there")
        return Exit.INTERRUPTED
    if not made.segments:
        raise WrongUsage(f"{', '.join(map(str, paths))}: there is no segment; give log directories of Kafka")
    _tell(screen, made, output)
    return Exit.INCONCLUSIVE if made.damage or made.strangers else Exit.HOLDS


def _tell(screen: Screen, made: "Packing", output: Path) -> None:
    """What was packed, and what has to be known of it."""
    batches = sum(each.origin.batches for each in made.segments)
    old = sum(each.origin.old_format for each in made.segments)
    new = sum(each.is_new for each in made.segments)
    size = sum(each.target.stat().st_size for each in made.segments)
    screen.say(
        f"{output}: {plural(len(made.segments), 'segment')}, {new:,} packed now; batches: {batches:,}, "
        f"in {size:,} bytes; {plural(len(made.copied), 'other file')} beside"
    )
    for each in made.left_out:
        screen.say(f"left out: {each.file}: {each.reason}")
    if old:
        screen.say(
            f"batches of message format 0 and 1, which know no transactions: {old:,}; only their places are kept"
        )
    for place in made.damage:
        screen.say(f"damaged: {place.file}, {place.unit.value} {place.position}: {place.message}")
    for stranger in made.strangers:
        screen.say(f"of nothing that was given: {stranger}; remove it, or pack into another folder")
