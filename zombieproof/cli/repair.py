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

`serve` refuses a directory that has lost records, files or folders. This command lists every fault, the file that shows
it, the repair, and the records that the repair loses. It writes nothing unless you give --apply. If you have a backup,
restore the damaged files from it first: that loses less.

With --apply, everything that a repair removes or replaces is kept, under the same path, in a new folder
DIR/repaired-DATE. A log keeps every intact batch and continues after its last offset, so no offset is assigned twice.
A damaged replica is copied again from an intact one.

\b
Examples:
  zombieproof repair cluster/           list faults, repairs and losses
  zombieproof repair cluster/ --apply   repair them
  zombieproof serve --data cluster/     continue

\b
Exit codes: 0 no fault, or everything was repaired, 2 wrong usage (not a data
  directory, or in use by a server), 3 damaged, 130 interrupted.
"""


@click.command("repair", help=HELP)
@click.argument("directory", metavar="DIR", type=PATH, help="the data directory")
@click.option("--apply", "applies", is_flag=True, help="repair the directory; without this, nothing is written")
def repair_command(directory: Path, applies: bool) -> int:
    """Run the command."""
    if not directory.exists():
        raise WrongUsage(f"{directory}: no such directory; give the DIR of `zombieproof serve --data DIR`")
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
        screen.say("the next start rebuilds it; nothing is lost", indent=2)
    for node, (topic, number) in found.interrupted:
        screen.say(f"broker-{node}/{topic}-{number}: a crash interrupted the log cleaner", hang=2)
        screen.say("the next start, or --apply, finishes the cleaning and then inspects the log", indent=2)
    for one in due:
        _tell(screen, one)
    if not due and not (applies and found.interrupted):
        screen.say("No repair is needed: zombieproof serve can open this directory.")
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
    """Print a fault, its repair, and the losses of the repair."""
    screen.say(f"{one.finding.path}: {one.finding.fault} ({one.finding.source})", hang=2)
    screen.say(f"repair: {one.finding.remedy}", indent=2, hang=2)
    if one.finding.is_repairable:
        screen.say(f"loses: {one.loses}", indent=2, hang=2)
