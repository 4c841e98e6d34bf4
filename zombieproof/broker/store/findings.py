"""Faults of a data directory, in one form for the start, for ``zombieproof repair`` and for tests.

A start that finds a fault either rebuilds the file from others, with a warning in the log, or refuses the
directory and names the command that repairs it. Nothing else becomes of a fault.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from shlex import quote

from zombieproof.broker.partition.log import Damaged
from zombieproof.broker.store.disk import Disk
from zombieproof.formats.topics import TopicPartition

NOTHING = "nothing"
"""The loss of a repair that loses no records."""
UNREADABLE = "the records, markers and offsets that cannot be read"
"""The loss of a repair that only its plan can list."""


def forgotten(offset: int) -> str:
    """The loss of a log that begins at an offset, without a snapshot of its producers."""
    return f"the last sequences of producers whose records are all below offset {offset}: they start again"


def unreadable(error: OSError) -> str:
    """The fault of a file that the disk does not read.

    Raises:
        PermissionError: the file is sound, and belongs to another user.
    """
    if isinstance(error, PermissionError):
        raise error
    return f"it cannot be read: {error.strerror or error}"


class Repair(Enum):
    """How a fault is repaired."""

    NONE = "none"
    """Nothing that a repair could do helps."""
    REBUILD = "rebuild"
    """The start rebuilds the file itself: nothing is lost."""
    SALVAGE = "salvage"
    """Keep every sound batch of a log, and forget what was recorded of the others."""
    REFETCH = "refetch"
    """Begin an empty log, which is filled from another replica."""
    RECREATE = "recreate"
    """Begin an empty log where the lost one ended."""
    CLUSTER_FILE = "cluster file"
    """Restore cluster.json from its copy, or rebuild it from the folders."""
    IDENTIFY = "identify"
    """Write whose folder it is again."""
    MOVE_AWAY = "move away"
    """Move away a segment that does not continue the log, or a file or folder of the wrong kind."""
    CONTINUE = "continue"
    """Continue with an older copy of the folder of a broker."""
    SET_ASIDE = "set aside"
    """Move a folder or a file out of the data directory."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault.

    Attributes:
        path: the file or folder, below the data directory.
        fault: what is wrong with it.
        source: the file or the fact from which this is known.
        remedy: what ``zombieproof repair --apply`` does about it.
        loses: the records, transactions and offsets that are lost then.
        repair: the same remedy, for programs.
        node: the broker whose folder it is in.
        partition: the partition whose log it belongs to.
        hides_loss: batches of the log may be missing, and nothing would show it.
    """

    path: str
    fault: str
    source: str
    remedy: str
    loses: str = NOTHING
    repair: Repair = Repair.REBUILD
    node: int | None = None
    partition: TopicPartition | None = None
    hides_loss: bool = False

    @property
    def is_refused(self) -> bool:
        """Whether a start refuses the directory; otherwise the start rebuilds the file."""
        return self.repair is not Repair.REBUILD

    @property
    def is_repairable(self) -> bool:
        """Whether a repair helps."""
        return self.repair is not Repair.NONE

    def __str__(self) -> str:
        """The fault in one line."""
        return f"{self.path}: {self.fault} ({self.source})"


def refusal(disk: Disk, findings: Iterable[Finding], *, begins: str = "Nothing was changed. ") -> Damaged:
    """The error with which a start refuses a directory because of `findings`; its advice `begins` so."""
    refused = tuple(findings)
    lines = [f"{disk.name(each.path)}: {each.fault} ({each.source})" for each in refused]
    if by_hand := [each.remedy for each in refused if each.repair is Repair.NONE]:
        advice = "; ".join(by_hand)
    else:
        command = f"zombieproof repair {quote(disk.name('').rstrip('/'))}"
        advice = f"restore it from a backup, or see what a repair keeps and loses: {command}"
    return Damaged("\n".join([*lines, begins + advice[0].upper() + advice[1:]]), refused)
