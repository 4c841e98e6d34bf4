"""One segment of a partition's log: its file of batches, and the three indexes beside it.

Theory of operation: batches are written at once, and are durable when the file is synced. Where batches begin is known
sparsely, once in `index_interval_bytes`, as in Kafka; from there on headers are read. Both indexes are written when the
segment is sealed, or the log is closed: until then they are in memory, and what is missing is read from the batches.
Source: ``LogSegment.java``; reference §7.3.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterator

from zombieproof.broker.store.disk import Disk
from zombieproof.formats.batches import Batch
from zombieproof.formats.encoding import read_batch, view_batch
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
from zombieproof.formats.record_batch import HEADER, BatchHeader, header_at, sound_header_at
from zombieproof.formats.segments import PartKind, parts_of
from zombieproof.formats.transaction_index import ENTRY, IndexEntry, read_index, write_index
from zombieproof.model.vocabulary import NONE

READ_BYTES = 1 << 18
"""So much of a file is read at once, or one batch where it is larger."""

LOG, INDEX, TIME_INDEX, TRANSACTION_INDEX = ".log", ".index", ".timeindex", ".txnindex"
SUFFIXES = (LOG, INDEX, TIME_INDEX, TRANSACTION_INDEX)


def file_name(offset: int, suffix: str) -> str:
    """The name of a file of a segment, or of a snapshot: its offset with 20 digits."""
    return f"{offset:020d}{suffix}"


class Segment:
    """A segment that begins at `base_offset`; an empty one has no files yet.

    `end_offset` is the offset behind its last batch; `size` and the sizes of the indexes are bytes. `mark` stands
    behind the names of its files while it is no part of the log yet.
    """

    def __init__(self, disk: Disk, directory: str, base_offset: int, topic: str, index_interval_bytes: int) -> None:
        self.base_offset = self.end_offset = base_offset
        self.size = self.aborted_size = 0
        self.mark = ""
        self.max_timestamp_ms, self._max_timestamp_offset = NONE, base_offset
        self.first_timestamp_ms = NONE
        self._disk, self.directory, self._topic = disk, directory, topic
        self._interval, self._since_entry = index_interval_bytes, 0
        self._offsets, self._positions = array("q"), array("q")
        self._times: list[TimeEntry] = []

    def path(self, suffix: str) -> str:
        """One of its files."""
        return f"{self.directory}/{file_name(self.base_offset, suffix)}{self.mark}"

    def exists(self, suffix: str) -> bool:
        """Whether one of its files is there."""
        return self._disk.exists(self.path(suffix))

    @property
    def index_size(self) -> int:
        """The bytes of the larger one of its two indexes."""
        return max(len(self._offsets) * OFFSET_ENTRY.size, len(self._times) * TIME_ENTRY.size)

    # ---------------------------------------------------------------- writing

    def append(self, data: bytes, last_offset: int, max_timestamp_ms: int) -> None:
        """Put a batch at the end: its bytes, its last offset, and its latest timestamp."""
        self._disk.write(self.path(LOG), self.size, data)
        self._note(len(data), last_offset, max_timestamp_ms)

    def _note(self, size: int, last_offset: int, max_timestamp_ms: int) -> None:
        if self.first_timestamp_ms == NONE:
            self.first_timestamp_ms = max_timestamp_ms
        if max_timestamp_ms > self.max_timestamp_ms:
            self.max_timestamp_ms, self._max_timestamp_offset = max_timestamp_ms, last_offset
        if self._since_entry > self._interval:
            self._offsets.append(last_offset)
            self._positions.append(self.size)
            self._note_time()
            self._since_entry = 0
        self._since_entry += size
        self.size += size
        self.end_offset = last_offset + 1

    def _note_time(self) -> None:
        if not self._times or self.max_timestamp_ms > self._times[-1].timestamp_ms:
            self._times.append(TimeEntry(self.max_timestamp_ms, self._max_timestamp_offset))

    def add_aborted(self, entry: IndexEntry) -> None:
        """One more entry of the index of aborted transactions."""
        self._disk.write(self.path(TRANSACTION_INDEX), self.aborted_size, write_index((entry,)))
        self.aborted_size += ENTRY.size

    def write_indexes(self) -> list[str]:
        """Write both indexes as they are now, and let there be one of aborted transactions; returned are the files."""
        if self.size:
            self._note_time()
        entries = map(OffsetEntry, self._offsets, self._positions)
        self._rewrite(INDEX, write_offset_index(entries, self.base_offset))
        self._rewrite(TIME_INDEX, write_time_index(self._times, self.base_offset))
        if not self.exists(TRANSACTION_INDEX):
            self._disk.write(self.path(TRANSACTION_INDEX), 0, b"")
        return [self.path(suffix) for suffix in SUFFIXES]

    def _rewrite(self, suffix: str, data: bytes) -> None:
        path = self.path(suffix)
        if self._disk.exists(path):
            self._disk.truncate(path, 0)
        self._disk.write(path, 0, data)

    # ---------------------------------------------------------------- reading

    def read(self, from_offset: int, *, is_raw: bool = False) -> Iterator[Batch]:
        """Every batch that reaches `from_offset` or goes beyond, in order; `is_raw`: keys and values stay bytes.

        Raises:
            Undecodable: a batch does not match its checksum, or is not where it should be; `position` says where.
        """
        expected = NONE
        for data, at, position in self._batches(self._floor(from_offset)):
            header = header_at(data, at)
            if header.base_offset + header.last_offset_delta < from_offset:
                continue
            try:
                batch = read_batch(data, at) if is_raw else view_batch(data, at, self._topic)
            except Undecodable as fault:
                raise Undecodable(str(fault), position) from fault
            if batch.base_offset < max(expected, self.base_offset):
                raise Undecodable(
                    f"a batch at offset {batch.base_offset} stands behind offset {expected - 1}", position
                )
            expected = batch.last_offset + 1
            yield batch

    def position_of(self, offset: int) -> tuple[int, int]:
        """Where the first batch begins that reaches `offset` or goes beyond, and the offset behind the one before."""
        end = self.base_offset
        for data, at, position in self._batches(self._floor(offset)):
            header = header_at(data, at)
            if header.base_offset + header.last_offset_delta >= offset:
                return position, end
            end = header.base_offset + header.last_offset_delta + 1
        return self.size, end

    def _floor(self, offset: int) -> int:
        """A byte at which a batch begins, none of those before which reaches `offset`."""
        entry = bisect_right(self._offsets, offset) - 1
        return 0 if entry < 0 else self._positions[entry]

    def _batches(self, position: int) -> Iterator[tuple[bytes, int, int]]:
        """The batches from a byte on: bytes that hold the next one whole, where in them it begins, where in the file.

        Raises:
            Undecodable: the file ends, or a batch claims more than is there, before `size`.
        """
        data, start, end = b"", position, self.size
        while position < end:
            at = position - start
            if len(data) - at < HEADER.size or len(data) - at < header_at(data, at).size:
                wanted = READ_BYTES if len(data) - at < HEADER.size else max(READ_BYTES, header_at(data, at).size)
                data, start, at = self._disk.read(self.path(LOG), position, min(wanted, end - position)), position, 0
                if len(data) < HEADER.size:
                    raise Undecodable(f"{len(data)} bytes are left, and a batch has at least {HEADER.size}", position)
            size = header_at(data, at).size
            if not HEADER.size <= size <= end - position:
                raise Undecodable(f"a batch of {size} bytes where {end - position} are left", position)
            if len(data) - at < size:
                continue
            yield data, at, position
            position += size

    def read_aborted(self) -> tuple[list[IndexEntry], str | None]:
        """The entries of the index of aborted transactions, and why it cannot be believed (None: it can)."""
        if not self.exists(TRANSACTION_INDEX):
            return [], None if self.size == 0 else "it is missing"
        data = self._disk.read(self.path(TRANSACTION_INDEX))
        self.aborted_size = len(data)
        entries, fault = read_index(data)
        last = self.base_offset - 1
        for entry in entries:
            if fault is None and not last < entry.last_offset < max(self.end_offset, last + 2):
                fault = f"an entry ends at offset {entry.last_offset}, which is not in the segment"
            last = entry.last_offset
        return entries, fault

    # ---------------------------------------------------------------- opening

    def load(self) -> None:
        """Know the segment by its indexes, and the batches behind their last entries; it was sealed, or closed whole.

        Raises:
            Undecodable: an index is missing or cannot be read, or does not fit the file.
        """
        disk = self._disk
        offsets = read_offset_index(disk.read(self.path(INDEX)), self.base_offset)
        self._times = read_time_index(disk.read(self.path(TIME_INDEX)), self.base_offset)
        whole = disk.size(self.path(LOG))
        self._offsets, self._positions = (
            array("q", (e.offset for e in offsets)),
            array("q", (e.position for e in offsets)),
        )
        if self._times:
            self.max_timestamp_ms, self._max_timestamp_offset = self._times[-1]
        start = offsets[-1].position if offsets else 0
        if start >= whole and whole:
            raise Undecodable(f"the index goes to byte {start} of a file of {whole}", start)
        self.size = whole
        first = next(self._batches(0), None)
        if first is not None:
            self.first_timestamp_ms = header_at(first[0], first[1]).max_timestamp_ms
        for index, (data, at, position) in enumerate(self._batches(start)):
            header = header_at(data, at)
            last = header.base_offset + header.last_offset_delta
            if offsets and index == 0 and last != offsets[-1].offset:
                raise Undecodable(f"the index says offset {offsets[-1].offset}, the batch {last}", position)
            self.end_offset = last + 1
            self._since_entry = 0 if offsets and index == 0 else self._since_entry + header.size

    def scan(self, *, has_gaps: bool) -> tuple[list[BatchHeader], str | None]:
        """Know the segment by its batches alone, up to the first that is not sound.

        Args:
            has_gaps: offsets may be missing, because the log is compacted.

        Returns:
            The header of each batch, and what is wrong behind the last (None: nothing).
        """
        found: list[BatchHeader] = []
        fault = None
        self._forget()
        self.size = self._disk.size(self.path(LOG)) if self.exists(LOG) else 0
        try:
            for data, at, _ in self._batches(0):
                header = sound_header_at(data, at)
                fault = self._misplaced(header, found, has_gaps)
                if fault is not None:
                    break
                found.append(header)
        except Undecodable as error:
            fault = str(error)
        self._forget()
        for header in found:
            self._note(header.size, header.base_offset + header.last_offset_delta, header.max_timestamp_ms)
        return found, fault

    def _misplaced(self, header: BatchHeader, before: list[BatchHeader], has_gaps: bool) -> str | None:
        expected = before[-1].base_offset + before[-1].last_offset_delta + 1 if before else self.base_offset
        right = header.base_offset >= expected if has_gaps else header.base_offset == expected
        return None if right else f"a batch at offset {header.base_offset} where {expected} is due"

    def sound_batch_behind(self, position: int) -> int | None:
        """Where the next sound batch begins behind a byte that is not the begin of one; None: nowhere."""
        data = memoryview(self._disk.read(self.path(LOG), position))
        for part in parts_of(data):
            if part.kind is PartKind.BATCH and part.position > 0:
                return position + part.position
        return None

    def cut(self, end_offset: int) -> None:
        """Drop every batch at or behind `end_offset`."""
        position, _ = self.position_of(end_offset)
        self._disk.truncate(self.path(LOG), position)
        self.scan(has_gaps=True)

    def cut_file(self) -> bool:
        """Drop what the file holds behind what is known of it; False if there is nothing."""
        path = self.path(LOG)
        if not self._disk.exists(path) or self._disk.size(path) == self.size:
            return False
        self._disk.truncate(path, self.size)
        return True

    def _forget(self) -> None:
        self.end_offset, self.size, self._since_entry = self.base_offset, 0, 0
        self.max_timestamp_ms, self._max_timestamp_offset = NONE, self.base_offset
        self.first_timestamp_ms = NONE
        self._offsets, self._positions, self._times = array("q"), array("q"), []
