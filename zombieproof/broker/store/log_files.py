"""The files of one log: its segments, what of them has to be synced, and what is renamed before it is removed.

Theory of operation: what was written is *touched* until somebody takes it (`unsynced`) and syncs it. A file that nobody
needs any more gets another name first: whoever reads it is not disturbed, and a crash leaves a name that says all. When
the disk fails nothing is written any more.
Source: ``LocalLog.java``, ``LogSegment.java``.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable
from contextlib import suppress

from zombieproof.broker.cluster.clock import Clock
from zombieproof.broker.partition.log import Damaged, StorageFailure
from zombieproof.broker.store.config import Durability, LogConfig
from zombieproof.broker.store.disk import Disk
from zombieproof.broker.store.findings import UNREADABLE, Finding, Repair, refusal
from zombieproof.broker.store.segment import LOG, SUFFIXES, Highest, Segment
from zombieproof.broker.store.segment_states import SegmentStates

DELETED = ".deleted"
SYNCED = "it had been synced, so it is not a torn tail, and is not cut"


def _nobody_listens() -> None:
    """Whoever owns the log finds out when it is used."""


class LogFiles:
    """The segments of one log, oldest first, in a folder that exists.

    Args:
        topic: what the records of internal topics are read as.

    `held` are the segments, `touched` the files to be synced; `names_changed`: the folder has to be as well.
    `in_trouble` is called when the log first fails (`failure`) or is found damaged (`damage`).
    """

    def __init__(
        self, disk: Disk, directory: str, topic: str, config: LogConfig, clock: Clock, durability: Durability
    ) -> None:
        self.disk, self.directory, self.topic = disk, directory, topic
        self.config, self.clock, self._durability = config, clock, durability
        self.held: list[Segment] = []
        self.start_offset = 0
        """The first offset that is served."""
        self.recovery_point = 0
        """What the disk has: a start after a crash has to look at nothing below."""
        self.touched: dict[str, None] = {}
        self.names_changed = True
        self._renamed: list[tuple[int, str]] = []
        self.failure: StorageFailure | None = None
        self.refused = 0
        """So many writes were refused because of `failure`."""
        self.offline: Damaged | None = None
        self.in_trouble: Callable[[], None] = _nobody_listens
        self.states = SegmentStates(disk, directory)
        self.highest = Highest()
        """The highest producer id and coordinator epoch that were ever in the log."""

    @property
    def size_in_bytes(self) -> int:
        """The bytes of all segments."""
        return sum(each.size for each in self.held)

    def configure(self, config: LogConfig) -> None:
        """Its settings are these from now on."""
        self.config = config

    # ---------------------------------------------------------------- what is there

    @property
    def end_offset(self) -> int:
        """The offset that the next record gets."""
        return self.held[-1].end_offset if self.held else self.start_offset

    @property
    def durable_offset(self) -> int:
        """What the disk has; or the operating system, where that is enough."""
        return self.recovery_point if self._durability is Durability.FSYNC else self.end_offset

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The segments, oldest first."""
        return tuple(self.held)

    def index_of(self, offset: int) -> int:
        """Which of the segments holds an offset; the first for those below all."""
        return max(bisect_right(self.held, offset, key=lambda each: each.base_offset) - 1, 0)

    # ---------------------------------------------------------------- segments

    def new_segment(self, offset: int) -> Segment:
        """A segment of which nothing is known yet."""
        return Segment(self.disk, self.directory, offset, self.topic, self.config.index_interval_bytes)

    def empty_segment(self, offset: int) -> Segment:
        """A segment with a file that holds nothing yet: without one a folder would not look like that of a log."""
        segment = self.new_segment(offset)
        for suffix in SUFFIXES:
            if segment.exists(suffix):  # an index that a crash has left without its log
                self.disk.remove(segment.path(suffix))
        self.disk.write(segment.path(LOG), 0, b"")
        self.touched[segment.path(LOG)] = None
        self.names_changed = True
        return segment

    def delete(self, segment: Segment) -> None:
        """Rename the files first: whoever reads them is not disturbed, and a crash leaves a name that says all."""
        for suffix in SUFFIXES:
            path = segment.path(suffix)
            if self.disk.exists(path):
                self.disk.rename(path, path + DELETED)
                self._renamed.append((self.clock.now_ms(), path + DELETED))
            self.touched.pop(path, None)
        self.names_changed = True

    def remove(self, segment: Segment) -> None:
        """Remove the files at once."""
        for suffix in SUFFIXES:
            if segment.exists(suffix):
                self.disk.remove(segment.path(suffix))
            self.touched.pop(segment.path(suffix), None)
        self.names_changed = True

    def remove_deleted(self, *, at_once: bool = False) -> None:
        """Remove files that were renamed long enough ago."""
        due_ms = self.clock.now_ms() - self.config.file_delete_delay_ms
        for renamed_ms, path in self._renamed:
            if (at_once or renamed_ms <= due_ms) and self.disk.exists(path):
                self.disk.remove(path)
        self._renamed = [each for each in self._renamed if not at_once and each[0] > due_ms]

    def move_to(self, directory: str) -> None:
        """Move the folder; everything goes on where it then is (a topic that is deleted is renamed first)."""
        with self.failing():
            self.disk.rename(self.directory, directory)
        self.touched = {path.replace(self.directory, directory, 1): None for path in self.touched}
        self.directory = self.states.directory = directory
        self.names_changed = True
        for segment in self.held:
            segment.directory = directory

    # ---------------------------------------------------------------- durability

    def unsynced(self) -> tuple[int, tuple[str, ...], bool]:
        """The end of the log, the files that have to be synced for it, and whether the folder has to be."""
        files, names = tuple(self.touched), self.names_changed
        self.touched.clear()
        self.names_changed = False
        return self.end_offset, files, names

    def sync(self, files: Iterable[str], names: bool) -> None:
        """Sync what `unsynced` said; this may go on beside everything else.

        Raises:
            OSError: the disk says that it is not done. What is on it then nobody knows: `fail` is due.
        """
        for path in files:
            self.disk.sync(path)
        if names:
            self.disk.sync_directory(self.directory)
            self.disk.sync_directory(self.directory.rpartition("/")[0])

    def synced(self, end_offset: int) -> None:
        """Everything below is on the disk."""
        self.recovery_point = max(self.recovery_point, min(end_offset, self.end_offset))

    def fail(self, error: OSError) -> StorageFailure:
        """The disk has failed: nothing can be appended any more, and what is not durable never will be here."""
        is_first = self.failure is None
        self.failure = StorageFailure(self.no_write(error))
        if is_first:
            self.in_trouble()
        return self.failure

    def no_write(self, error: OSError) -> str:
        """The sentence about a write that the disk has refused."""
        return (
            f"{error.filename or self.disk.name(self.directory)}: {error.strerror or error}; the log of "
            f"{self.directory.rpartition('/')[2]} is closed for writes until the disk takes them again"
        )

    def take_damage(self, damage: Damaged) -> Damaged:
        """Nothing of the log is served or written from now on; returned is the first damage that was found."""
        if self.offline is None:
            self.offline = damage
            self.in_trouble()
        return self.offline

    def unreadable(self, error: OSError) -> Damaged:
        """The disk does not give what is there."""
        return Damaged(
            f"{error.filename or self.disk.name(self.directory)}: cannot be read: {error.strerror or error}. "
            f"Check the disk; the files may be sound"
        )

    def flush(self) -> None:
        """Make everything durable before this returns.

        Raises:
            StorageFailure: the disk has failed, now or before.
        """
        with self.failing():
            end, files, names = self.unsynced()
            self.sync(files, names)
            self.synced(end)

    def failing(self) -> "_Failing":
        """What is inside closes the log when the disk fails.

        Raises:
            StorageFailure: the disk has failed before.
        """
        if self.failure is not None:
            self.refused += 1
            raise self.failure
        if self.offline is not None:
            raise StorageFailure(str(self.offline))
        return _Failing(self)

    def damage(self, segment: Segment, position: int | None, fault: str) -> Finding:
        """What was synced cannot be read: where, and why."""
        at, behind = segment.size if position is None else position, None
        with suppress(OSError):
            behind = segment.sound_batch_behind(at) if segment.exists(LOG) else None
        found = "" if behind is None else f"; a sound batch follows at byte {behind}"
        return self.lost(segment.path(LOG), f"damaged at byte {at}: {fault}{found}", SYNCED)

    def lost(self, path: str, fault: str, source: str) -> Finding:
        """Something of the log is missing, or is not what it was."""
        topic, _, number = self.directory.rpartition("/")[2].rpartition("-")
        node = self.directory.partition("/")[0].rpartition("-")[2]
        return Finding(
            path,
            fault,
            source,
            "keep every sound batch of this log, and continue without the others",
            UNREADABLE,
            Repair.SALVAGE,
            int(node) if node.isdecimal() else None,
            (topic, int(number)) if number.isdecimal() else None,
        )

    def damaged(self, segment: Segment, position: int | None, fault: str) -> Damaged:
        """The error of whoever reads what `damage` tells of."""
        return refusal(self.disk, [self.damage(segment, position, fault)], begins="")


class _Failing:
    """What fails inside closes the log."""

    __slots__ = ("_log",)

    def __init__(self, log: LogFiles) -> None:
        self._log = log

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise self._log.fail(error) from error
