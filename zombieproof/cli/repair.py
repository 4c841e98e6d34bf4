"""zombieproof repair: list the faults of a data directory, and repair them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from shlex import quote

import click

from zombieproof.broker.data_directory import DataDirectoryError, disk_at, lock
from zombieproof.broker.repairing import Repaired, Repairs
from zombieproof.cli.options import PATH
from zombieproof.cli.usage import WrongUsage
from zombieproof.report.exits import Exit
from zombieproof.report.screen import Screen

HELP = """Inspect the data directory of a stopped `zombieproof serve`, and repair it.

`serve` refuses a directory in which something is missing that was on the disk: records, a file, a folder. This command
lists every fault, the file that shows it, the repair, and the records that the repair loses. It writes nothing unless
you give --apply. Restoring the damaged files from a backup loses less; do that first, if you have one.

With --apply, everything that a repair removes or replaces is kept, under its own path, in a new folder
DIR/repaired-DATE. A log keeps every batch that is sound, and continues after its last offset, so that no offset is
given twice. A replica that is damaged is fetched again from one that is sound.

\b
Examples:
  zombieproof repair cluster/           list faults and the losses of a repair
  zombieproof repair cluster/ --apply   repair them
  zombieproof serve --data cluster/     continue

\b
Exit codes: 0 nothing is wrong, or everything was repaired, 2 wrong usage (no
  data directory, or a server uses it), 3 damaged, 130 interrupted.
"""


@click.command("repair", help=HELP)
@click.argument("directory", metavar="DIR", type=PATH, help="the data directory")
@click.option("--apply", "applies", is_flag=True, help="repair it; without this nothing is written")
def repair_command(directory: Path, applies: bool) -> int:
    """Run the command."""
    if not directory.exists():
        raise WrongUsage(f"{directory}: there is no such directory: give the DIR of `zombieproof serve --data DIR`")
    try:
        disk = disk_at(directory)
    except DataDirectoryError as error:
        raise WrongUsage(str(error)) from error
    assert disk is not None  # there is a path
    try:
        lock(disk)
        repairs = Repairs(disk, f"repaired-{datetime.now(UTC):%Y%m%dT%H%M%SZ}")
        return _repair(repairs, directory, Screen(), applies=applies)
    except DataDirectoryError as error:
        raise WrongUsage(str(error)) from error
    finally:
        disk.close()


def _repair(repairs: Repairs, directory: Path, screen: Screen, *, applies: bool) -> int:
    found, due = repairs.plan()
    for each in found.rebuilt:
        screen.say(f"{each.path}: {each.fault} ({each.source})", hang=2)
        screen.say("the next start rebuilds it, and nothing is lost", indent=2)
    for node, (topic, number) in found.interrupted:
        screen.say(f"broker-{node}/{topic}-{number}: a crash has interrupted the cleaner", hang=2)
        screen.say("the next start, or --apply, lets it finish, and inspects the log then", indent=2)
    for one in due:
        _tell(screen, one)
    if not due and not (applies and found.interrupted):
        screen.say("Nothing has to be repaired: zombieproof serve opens this directory.")
        return Exit.HOLDS
    if any(not each.finding.is_repairable for each in due):
        return Exit.INCONCLUSIVE
    if not applies:
        screen.say(f"Nothing was changed. To repair: zombieproof repair {quote(str(directory))} --apply")
        return Exit.INCONCLUSIVE
    done = repairs.apply()
    shown = {each.finding for each in due}
    for one in done:
        if one.finding not in shown:
            _tell(screen, one)
    left = repairs.plan()[1]
    count = len({each.finding for each in done} - {each.finding for each in left})
    screen.say(f"{count} repaired. Removed and replaced files are in {directory / repairs.kept}")
    for one in left:
        _tell(screen, one)
    return Exit.INCONCLUSIVE if left else Exit.HOLDS


def _tell(screen: Screen, one: Repaired) -> None:
    """Print a fault that a start refuses, its repair, and the losses."""
    screen.say(f"{one.finding.path}: {one.finding.fault} ({one.finding.source})", hang=2)
    screen.say(f"repair: {one.finding.remedy}", indent=2, hang=2)
    if one.finding.is_repairable:
        screen.say(f"loses: {one.loses}", indent=2, hang=2)
