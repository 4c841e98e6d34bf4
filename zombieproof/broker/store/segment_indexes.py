"""The two sparse indexes beside a segment, and the latest time in it: in memory, on the disk, and believed or not.

Theory of operation: an entry is made once in `interval_bytes`, as in Kafka. Both files are written whole, and synced,
when the segment is sealed, closed, or has been recovered; in between what was added may be written behind that
(`extend`), which no crash has to spare. A start after a crash believes the part that was recorded with a checksum
(`read_below`), if the batch is there that its last entry names.
Source: ``LogSegment.java``, ``OffsetIndex.java``, ``TimeIndex.java``.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from itertools import islice
from typing import NamedTuple

import crc32c

from zombieproof.broker.store.disk import Disk
from zombieproof.broker.store.known_logs import checksum
from zombieproof.formats.faults import Undecodable
from zombieproof.formats.offset_indexes import (
    OFFSET_ENTRY,
    TIME_ENTRY,
    OffsetEntry,
    TimeEntry,
    read_offset_index,
    read_time_index,
    write_offset_index,
    write_time_index,
)
from zombieproof.model.vocabulary import NONE

INDEX, TIME_INDEX = ".index", ".timeindex"


class WrittenIndexes(NamedTuple):
    """The bytes of the offset index and of the time index, and their checksums."""

    index_size: int = 0
    index_checksum: int = 0
    time_size: int = 0
    time_checksum: int = 0


NO_ENTRIES = WrittenIndexes()


class SegmentIndexes:
    """The indexes of the segment that begins at `base_offset`; `path` gives the file of a suffix, sizes are in bytes.

    `written`: the sizes and checksums of both files. `max_timestamp_ms`: no batch that was noted is later.
    `has_all_times`: each batch was noted, or the files were written when the segment was sealed or closed.
    """

    def __init__(self, disk: Disk, path: Callable[[str], str], base_offset: int, interval_bytes: int) -> None:
        self._disk, self._path, self._base_offset, self._interval = disk, path, base_offset, interval_bytes
        self.forget()

    def forget(self) -> None:
        """Nothing is known, and of the files nothing is believed."""
        self._offsets, self._positions, self._times = array("q"), array("q"), list[TimeEntry]()
        self.max_timestamp_ms, self._max_timestamp_offset = NONE, self._base_offset
        self.has_all_times = True
        self._since_entry = self._offsets_written = self._times_written = 0
        self.written = NO_ENTRIES

    @property
    def size(self) -> int:
        """The bytes of the larger one."""
        return max(len(self._offsets) * OFFSET_ENTRY.size, len(self._times) * TIME_ENTRY.size)

    def note(self, position: int, size: int, last_offset: int, max_timestamp_ms: int) -> None:
        """A batch of `size` bytes begins at byte `position`."""
        if max_timestamp_ms > self.max_timestamp_ms:
            self.max_timestamp_ms, self._max_timestamp_offset = max_timestamp_ms, last_offset
        if self._since_entry > self._interval:
            self._offsets.append(last_offset)
            self._positions.append(position)
            self._note_time()
            self._since_entry = 0
        self._since_entry += size

    def _note_time(self) -> None:
        if not self._times or self.max_timestamp_ms > self._times[-1].timestamp_ms:
            self._times.append(TimeEntry(self.max_timestamp_ms, self._max_timestamp_offset))

    def floor(self, offset: int) -> OffsetEntry | None:
        """The last entry that does not go beyond `offset`: no batch before it reaches that. None: there is none."""
        entry = bisect_right(self._offsets, offset) - 1
        return None if entry < 0 else OffsetEntry(self._offsets[entry], self._positions[entry])

    def offset_since(self, timestamp_ms: int) -> int:
        """An offset below which no batch is as late as `timestamp_ms`."""
        entry = bisect_left(self._times, timestamp_ms, key=lambda each: each.timestamp_ms) - 1
        return self._times[entry].offset + 1 if self.has_all_times and entry >= 0 else self._base_offset

    # ---------------------------------------------------------------- on the disk

    def write(self, *, has_batches: bool) -> None:
        """Write both files as they are now."""
        if has_batches:
            self._note_time()
        for suffix in (INDEX, TIME_INDEX):
            if self._disk.exists(self._path(suffix)):
                self._disk.truncate(self._path(suffix), 0)
        self._offsets_written, self._times_written, self.written = 0, 0, NO_ENTRIES
        self._write_on()

    def extend(self) -> None:
        """Write what was added since both were written."""
        if (self._offsets_written, self._times_written) != (len(self._offsets), len(self._times)):
            self._write_on()

    def _write_on(self) -> None:
        entries = islice(map(OffsetEntry, self._offsets, self._positions), self._offsets_written, None)
        times = self._times[self._times_written :]
        data = write_offset_index(entries, self._base_offset)
        self._disk.write(self._path(INDEX), self._offsets_written * OFFSET_ENTRY.size, data)
        time_data = write_time_index(times, self._base_offset)
        self._disk.write(self._path(TIME_INDEX), self._times_written * TIME_ENTRY.size, time_data)
        size, seal, time_size, time_seal = self.written
        seal, time_seal = int(crc32c.crc32c(data, seal)), int(crc32c.crc32c(time_data, time_seal))
        self.written = WrittenIndexes(size + len(data), seal, time_size + len(time_data), time_seal)
        self._offsets_written, self._times_written = len(self._offsets), len(self._times)

    def read(self) -> OffsetEntry | None:
        """Know what both files say, of a segment that was synced whole; the last entry of the first is returned.

        Raises:
            Undecodable: one is not in order.
            OSError: one is missing.
        """
        disk, base = self._disk, self._base_offset
        data, time_data = disk.read(self._path(INDEX)), disk.read(self._path(TIME_INDEX))
        last = self._know(read_offset_index(data, base), read_time_index(time_data, base))
        self.written = WrittenIndexes(len(data), checksum(data), len(time_data), checksum(time_data))
        return last

    def read_below(self, offset: int, written: WrittenIndexes) -> OffsetEntry | None:
        """Know what both files say of offsets below `offset`, and let the last entry be made again; None: nothing.

        Only the part that is recorded, `written`, is believed.
        """
        self.forget()
        disk, base = self._disk, self._base_offset
        try:
            data = disk.read(self._path(INDEX), 0, written.index_size)
            time_data = disk.read(self._path(TIME_INDEX), 0, written.time_size)
            if (checksum(data), checksum(time_data)) != (written.index_checksum, written.time_checksum):
                return None
            entries, times = read_offset_index(data, base), read_time_index(time_data, base)
        except (Undecodable, OSError):
            return None
        entries = entries[: bisect_right(entries, offset - 1, key=lambda each: each.offset)]
        if not entries:
            return None
        last, self.has_all_times = entries.pop(), False
        self._know(entries, times[: bisect_right(times, last.offset, key=lambda each: each.offset)])
        self._since_entry = self._interval + 1
        return last

    def _know(self, entries: list[OffsetEntry], times: list[TimeEntry]) -> OffsetEntry | None:
        self._offsets = array("q", (each.offset for each in entries))
        self._positions = array("q", (each.position for each in entries))
        self._times = times
        self._offsets_written, self._times_written = len(entries), len(times)
        if times:
            self.max_timestamp_ms, self._max_timestamp_offset = times[-1]
        return entries[-1] if entries else None

    def passed(self, size: int, *, is_entry: bool) -> None:
        """A batch of a file whose index was read: behind the last entry bytes are counted for the next."""
        self._since_entry = 0 if is_entry else self._since_entry + size
