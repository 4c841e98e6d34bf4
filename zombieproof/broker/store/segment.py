"""One segment of a partition's log: its file of batches, and the three indexes beside it.

Theory of operation: batches are written at once, and are durable when the file is synced. Where batches begin is known
sparsely, once in `index_interval_bytes`, as in Kafka; from there on headers are read. Both indexes are written when the
segment is sealed, or the log is closed: until then they are in memory, and what is missing is read from the batches.
Source: ``LogSegment.java``; reference §7.3.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from zombieproof.broker.store.disk import Disk
from zombieproof.broker.store.known_logs import IN_REPAIR, UNKNOWN, SegmentState, checksum
from zombieproof.broker.store.segment_indexes import INDEX, NO_ENTRIES, TIME_INDEX, SegmentIndexes, WrittenIndexes
from zombieproof.formats.batches import Batch, DataHeader, TransactionValue
from zombieproof.formats.encoding import read_batch, view_batch
from zombieproof.formats.faults import Undecodable
from zombieproof.formats.record_batch import (
    HEADER,
    LOG_OVERHEAD,
    MAGIC,
    BatchHeader,
    header_at,
    is_sound,
    sound_header_at,
)
from zombieproof.formats.segments import PartKind, parts_of
from zombieproof.formats.topics import TRANSACTION_STATE
from zombieproof.formats.transaction_index import ENTRY, IndexEntry, read_index, write_index
from zombieproof.model.vocabulary import NONE

READ_BYTES = 1 << 18
"""So much of a file is read at once, or one batch where it is larger."""

LOG, TRANSACTION_INDEX = ".log", ".txnindex"
MOST_OFFSETS = (1 << 31) - 1
"""How many offsets a segment can span: its indexes hold them as 4 bytes."""
LOG_NAME = re.compile(r"[0-9]{20}\.log")
LAST_OFFSET = (1 << 63) - 1
SUFFIXES = (LOG, INDEX, TIME_INDEX, TRANSACTION_INDEX)


def file_name(offset: int, suffix: str) -> str:
    """The name of a file of a segment, or of a snapshot: its offset with 20 digits."""
    return f"{offset:020d}{suffix}"


def base_of(name: str) -> int | None:
    """The base offset in the name of a segment's log; None: it is another file."""
    return int(name[:20]) if LOG_NAME.fullmatch(name) else None


class Stretch(NamedTuple):
    """Batches of one leader epoch, one behind the other: the offset of the first, and the one after the last."""

    leader_epoch: int
    first_offset: int
    end_offset: int


MOST_PRODUCER_ID, MOST_COORDINATOR_EPOCH = 1 << 62, 1 << 30
"""From here on they are made up by clients: no cluster assigns that many, and nothing could follow the largest."""


class Highest(NamedTuple):
    """The highest producer id and the highest coordinator epoch in some batches, without impossible ones."""

    producer_id: int = NONE
    coordinator_epoch: int = NONE

    def among(self, other: "Highest") -> "Highest":
        """The highest of both; impossible values of `other` are ignored."""
        producer_id = other.producer_id if other.producer_id < MOST_PRODUCER_ID else NONE
        epoch = other.coordinator_epoch if other.coordinator_epoch < MOST_COORDINATOR_EPOCH else NONE
        return Highest(max(self.producer_id, producer_id), max(self.coordinator_epoch, epoch))


def highest_in(batch: Batch, topic: str) -> Highest:
    """What a batch of `topic` names: its producer, the coordinator of its marker, the producers of transactions."""
    producer_id, epoch = batch.producer_id, NONE if batch.marker is None else batch.marker.coordinator_epoch
    for record in batch.records if topic == TRANSACTION_STATE else ():
        if isinstance(record.value, TransactionValue):
            producer_id = max(producer_id, record.value.producer_id, record.value.next_producer_id)
    return Highest(producer_id, epoch)


class Segment:
    """A segment that begins at `base_offset`; an empty one has no files yet.

    `end_offset` is the offset behind its last batch; `size` and the sizes of the indexes are bytes. `mark` stands
    behind the names of its files while it is no part of the log yet.
    """

    def __init__(self, disk: Disk, directory: str, base_offset: int, topic: str, index_interval_bytes: int) -> None:
        self.base_offset = self.end_offset = base_offset
        self.size = self.aborted_size = self.last_position = self.first_checksum = 0
        self.mark = ""
        self._looked_at, self.highest = (0, 0), Highest()
        self.first_timestamp_ms = NONE
        self._disk, self.directory, self._topic = disk, directory, topic
        self._indexes = SegmentIndexes(disk, self.path, base_offset, index_interval_bytes)

    def path(self, suffix: str) -> str:
        """One of its files."""
        return f"{self.directory}/{file_name(self.base_offset, suffix)}{self.mark}"

    def exists(self, suffix: str) -> bool:
        """Whether one of its files is there."""
        return self._disk.exists(self.path(suffix))

    @property
    def index_size(self) -> int:
        """The bytes of the larger one of its two indexes."""
        return self._indexes.size

    @property
    def written_indexes(self) -> WrittenIndexes:
        """Its two indexes as they are on the disk."""
        return self._indexes.written

    @property
    def max_timestamp_ms(self) -> int:
        """No batch of it is later."""
        return self._indexes.max_timestamp_ms

    # ---------------------------------------------------------------- writing

    def append(self, data: bytes, last_offset: int, max_timestamp_ms: int) -> None:
        """Put a batch at the end: its bytes, its last offset, and its latest timestamp."""
        self._disk.write(self.path(LOG), self.size, data)
        if self.size == 0:
            self.first_checksum = checksum(data[: HEADER.size])
        self._note(len(data), last_offset, max_timestamp_ms)

    def _note(self, size: int, last_offset: int, max_timestamp_ms: int) -> None:
        if self.first_timestamp_ms == NONE:
            self.first_timestamp_ms = max_timestamp_ms
        self._indexes.note(self.size, size, last_offset, max_timestamp_ms)
        self.last_position = self.size
        self.size += size
        self.end_offset = last_offset + 1

    def add_aborted(self, entry: IndexEntry) -> None:
        """One more entry of the index of aborted transactions."""
        self._disk.write(self.path(TRANSACTION_INDEX), self.aborted_size, write_index((entry,)))
        self.aborted_size += ENTRY.size

    def cut_aborted(self, count: int) -> None:
        """The index of aborted transactions keeps its first entries: what was synced of them stays so."""
        self.aborted_size = count * ENTRY.size
        self._disk.truncate(self.path(TRANSACTION_INDEX), self.aborted_size)

    def replace_aborted(self, entries: Iterable[IndexEntry]) -> None:
        """Another index of aborted transactions is there whole, or the one that was is: the next start believes it."""
        path, data = self.path(TRANSACTION_INDEX), write_index(entries)
        if self._disk.exists(f"{path}.tmp"):
            self._disk.remove(f"{path}.tmp")
        self._disk.write(f"{path}.tmp", 0, data)
        self._disk.sync(f"{path}.tmp")
        self._disk.rename(f"{path}.tmp", path)
        self.aborted_size = len(data)

    def write_indexes(self) -> list[str]:
        """Write both indexes as they are now, and let there be one of aborted transactions; returned are the files."""
        self._indexes.write(has_batches=self.size > 0)
        if not self.exists(TRANSACTION_INDEX):
            self._disk.write(self.path(TRANSACTION_INDEX), 0, b"")
        return [self.path(suffix) for suffix in SUFFIXES]

    def extend_indexes(self) -> None:
        """Write what was added to both indexes: a start after a crash then reads less."""
        self._indexes.extend()

    # ---------------------------------------------------------------- reading

    def read(self, from_offset: int, *, is_raw: bool = False) -> Iterator[Batch]:
        """Every batch that reaches `from_offset` or goes beyond, in order; `is_raw`: keys and values stay bytes.

        Raises:
            Undecodable: a batch does not match its checksum, or is not where it should be; `position` says where.
        """
        for _, data, at, position in self._batches_from(from_offset):
            with _at(position):
                batch = read_batch(data, at) if is_raw else view_batch(data, at, self._topic)
            yield batch

    def read_of_producers(self, from_offset: int) -> Iterator[Batch | DataHeader]:
        """What was written by producer ids from `from_offset` on: batches, of those with records only the headers.

        Raises:
            Undecodable: as `read`.
        """
        for header, data, at, position in self._batches_from(from_offset):
            if header.producer_id == NONE:
                continue
            if header.is_control:
                with _at(position):
                    yield view_batch(data, at, self._topic)
            else:
                if not self._looked_at[0] <= position < self._looked_at[1]:
                    with _at(position):
                        sound_header_at(data, at)
                yield tuple.__new__(DataHeader, header)

    def read_since(self, timestamp_ms: int, from_offset: int) -> Iterator[Batch]:
        """Every batch with a time as late as `timestamp_ms` that reaches `from_offset` or goes beyond, in order.

        Raises:
            Undecodable: as `read`.
        """
        if not self.may_have_since(timestamp_ms):
            return
        for header, data, at, position in self._batches_from(
            max(from_offset, self._indexes.offset_since(timestamp_ms))
        ):
            if header.max_timestamp_ms >= timestamp_ms:
                with _at(position):
                    batch = view_batch(data, at, self._topic)
                yield batch

    def may_have_since(self, timestamp_ms: int) -> bool:
        """Whether a batch may be as late as `timestamp_ms`, as far as the indexes tell."""
        return not self._indexes.has_all_times or self.max_timestamp_ms >= timestamp_ms

    def is_older_than(self, timestamp_ms: int) -> bool:
        """Whether every batch is; False as well where a batch cannot be read."""
        if self._indexes.has_all_times:
            return self.max_timestamp_ms < timestamp_ms
        try:
            return self.latest_ms() < timestamp_ms
        except (Undecodable, OSError):  # A reader will find it.
            return False

    def latest_ms(self) -> int:
        """The greatest time of a batch that has records; NONE: there is none.

        Raises:
            Undecodable: as `read`.
        """
        if self._indexes.has_all_times:
            found = next(self.read_since(self.max_timestamp_ms, self.base_offset), None)
            if found is not None and found.has_record:
                return found.timestamp_ms
        headers = (header for header, *_ in self._batches_from(self.base_offset))
        return max((each.max_timestamp_ms for each in headers if each.record_count), default=NONE)

    def _batches_from(self, from_offset: int) -> Iterator[tuple[BatchHeader, memoryview, int, int]]:
        """As `_batches`, those that reach an offset or go beyond; each is where it should be.

        No checksum covers a base offset: a batch is given when the one behind it is where this one says.
        """
        floor, expected = self._indexes.floor(from_offset), self.base_offset
        start = 0 if floor is None else floor.position
        before: tuple[BatchHeader, memoryview, int, int] | None = None
        for found in self._batches(start):
            header, position = found[0], found[3]
            first, last = header.base_offset, header.base_offset + header.last_offset_delta
            is_entry = floor is not None and position == start
            if not expected <= first <= last < self.end_offset or (is_entry and floor and last != floor.offset):
                raise Undecodable(f"a batch of the offsets {first} to {last} where {expected} is due", position)
            expected = last + 1
            if before is not None:
                yield before
            before = found if last >= from_offset else None
        if before is not None:
            yield before

    def position_of(self, offset: int) -> int:
        """Where the first batch begins that reaches `offset` or goes beyond."""
        floor = self._indexes.floor(offset)
        for header, _, _, position in self._batches(0 if floor is None else floor.position):
            if header.base_offset + header.last_offset_delta >= offset:
                return position
        return self.size

    def ends_at(self, position: int, end_offset: int) -> bool:
        """Whether the batch that ends at a byte is the last one below `end_offset`, and reaches it."""
        floor = self._indexes.floor(end_offset - 1)
        for header, _, _, start in self._batches(0 if floor is None else floor.position):
            if start + header.length + LOG_OVERHEAD >= position:
                end = header.base_offset + header.last_offset_delta + 1
                return (start + header.length + LOG_OVERHEAD, end) == (position, end_offset)
        return False

    def _batches(self, position: int, end: int | None = None) -> Iterator[tuple[BatchHeader, memoryview, int, int]]:
        """The batches from a byte on: header, bytes that hold it whole, where in them it begins, where in the file.

        Raises:
            Undecodable: the file ends, or a batch claims more than is there, before `end` (None: `size`).
        """
        data, at = memoryview(b""), 0
        end = self.size if end is None else end
        while position < end:
            if len(data) - at < HEADER.size:
                data, at = self._read_on(position, HEADER.size, end), 0
            header = tuple.__new__(BatchHeader, HEADER.unpack_from(data, at))
            size = header.length + LOG_OVERHEAD
            if not HEADER.size <= size <= end - position:
                raise Undecodable(f"a batch of {size} bytes where {end - position} are left", position)
            if len(data) - at < size:
                data, at = self._read_on(position, size, end), 0
            yield header, data, at, position
            position += size
            at += size

    def _read_on(self, position: int, least: int, end: int) -> memoryview:
        wanted = min(max(READ_BYTES, least), end - position)
        data = memoryview(self._disk.read(self.path(LOG), position, wanted))
        if len(data) < least:
            raise Undecodable(f"{len(data)} bytes are left, and a batch has at least {HEADER.size}", position)
        return data

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

    # ---------------------------------------------------------------- what is recorded of it

    def state(self, next_offset: int, highest: Highest) -> SegmentState:
        """What is to be recorded of it: its batches, its indexes as they are on the disk, and `highest` up to here."""
        return SegmentState(
            self.base_offset,
            self.end_offset,
            next_offset,
            self.size,
            self.last_position,
            self.first_checksum,
            checksum(self._disk.read(self.path(LOG), self.last_position, HEADER.size)) if self.size else 0,
            *highest,
            *map(self._checksum_of, SUFFIXES[1:]),
        )

    def _checksum_of(self, suffix: str) -> int:
        return checksum(self._disk.read(self.path(suffix))) if self.exists(suffix) else UNKNOWN

    def contradicts(self, known: SegmentState, *, is_last: bool) -> str | None:
        """Why its file is not the one of which this is recorded; None: it is. The last segment may be longer."""
        if known.size == IN_REPAIR:
            return "a repair of it was interrupted"
        size = self._disk.size(self.path(LOG))
        first = self._disk.read(self.path(LOG), 0, HEADER.size)
        if known.size and size and checksum(first) != known.first_checksum:
            return "its first batch is not the one that was there"
        if size < known.size or (size > known.size and not is_last):
            return f"it has {size} bytes, and had {known.size}"
        header = self._disk.read(self.path(LOG), known.last_position, HEADER.size)
        if known.size and checksum(header) != known.last_checksum:
            return f"its batch at byte {known.last_position} is not the one that was there"
        return None

    def changed_indexes(self, known: SegmentState) -> list[str]:
        """The names of its indexes that are not as recorded: missing, or with other bytes."""
        recorded = zip(SUFFIXES[1:], known[-3:], strict=True)
        return [suffix for suffix, found in recorded if found == UNKNOWN or self._checksum_of(suffix) != found]

    # ---------------------------------------------------------------- opening

    def load(self) -> None:
        """Know the segment by its indexes, and the batches behind their last entries; it was sealed, or closed whole.

        Raises:
            Undecodable: an index is missing or cannot be read, or does not fit the file.
        """
        self._forget()
        last, whole = self._indexes.read(), self._disk.size(self.path(LOG))
        start = 0 if last is None else last.position
        if start >= whole and whole:
            raise Undecodable(f"the index goes to byte {start} of a file of {whole}", start)
        self.size = whole
        self._note_first()
        for header, _, _, position in self._batches(start):
            end = header.base_offset + header.last_offset_delta
            is_entry = last is not None and position == start
            if last is not None and is_entry and end != last.offset:
                raise Undecodable(f"the index says offset {last.offset}, the batch {end}", position)
            self.end_offset, self.last_position = end + 1, position
            self._indexes.passed(header.size, is_entry=is_entry)

    def load_sealed(self, known: SegmentState) -> None:
        """Know a segment by its indexes and by what is recorded of it; it is not written to any more.

        Raises:
            Undecodable: an index is not in order.
        """
        self._forget()
        self._indexes.read()
        self.size, self.end_offset, self.last_position = known.size, known.end_offset, known.last_position
        self._note_first()

    def _note_first(self) -> None:
        data = self._disk.read(self.path(LOG), 0, HEADER.size)
        if len(data) == HEADER.size:
            self.first_timestamp_ms = header_at(data, 0).max_timestamp_ms
            self.first_checksum = checksum(data)

    def scan(
        self, *, has_gaps: bool, known_below: int = 0, written: WrittenIndexes = NO_ENTRIES
    ) -> tuple[list[Stretch], str | None]:
        """Know the segment by its batches alone, up to the first that is not sound; `highest` is what they name.

        Args:
            has_gaps: offsets may be missing, because the log is compacted.
            known_below: below this offset the indexes are believed, where they fit; the batches are not looked at.
            written: the part of the indexes that is recorded.

        Returns:
            The stretches of one leader epoch that were looked at, and what is wrong behind the last (None: nothing).
        """
        self._forget()
        self.size = whole = self._disk.size(self.path(LOG)) if self.exists(LOG) else 0
        start, expected = self._believed(known_below, written)
        self.size = start
        found, fault = list[Stretch](), None
        try:
            for header, data, at, _ in self._batches(start, whole):
                if header.magic != MAGIC or not is_sound(header, data, at):
                    sound_header_at(data, at)
                if header.is_control or self._topic == TRANSACTION_STATE:
                    # A record of a kind that nobody knows yet names nothing; whoever reads it says so.
                    with suppress(Undecodable):
                        found_here = highest_in(view_batch(data, at, self._topic), self._topic)
                        self.highest = self.highest.among(found_here)
                elif header.producer_id > self.highest.producer_id:
                    self.highest = self.highest.among(Highest(header.producer_id))
                first, end = header.base_offset, header.base_offset + header.last_offset_delta + 1
                if first != expected and (first < expected or not has_gaps):
                    fault = f"a batch at offset {first} where {expected} is due"
                    break
                if header.leader_epoch < NONE:
                    fault = f"a batch of leader epoch {header.leader_epoch} at offset {first}"
                    break
                if end - self.base_offset > MOST_OFFSETS:
                    fault = f"a batch at offset {first} in a segment that begins at {self.base_offset}"
                    break
                self._note(header.length + LOG_OVERHEAD, end - 1, header.max_timestamp_ms)
                if found and found[-1].leader_epoch == header.leader_epoch:
                    first = found.pop().first_offset
                found.append(Stretch(header.leader_epoch, first, end))
                expected = end
        except Undecodable as error:
            fault = str(error)
        self._looked_at = start, self.size
        if self.size and start == 0:
            self._note_first()
        return found, fault

    def _believed(self, below: int, written: WrittenIndexes) -> tuple[int, int]:
        """The byte and the offset of the last batch below an offset that the index has, if it is there; or the begin.

        What the index says of batches before that one is known then.
        """
        last = self._indexes.read_below(below, written) if below > self.base_offset else None
        with suppress(Undecodable):
            found = None if last is None else next(self._batches(last.position), None)
            if last is not None and found is not None:
                header = sound_header_at(found[1], found[2])
                if header.base_offset + header.last_offset_delta == last.offset:
                    self._note_first()
                    return last.position, header.base_offset
        self._indexes.forget()
        return 0, self.base_offset

    def sound_batch_behind(self, position: int) -> int | None:
        """Where the next sound batch begins behind a byte that is not the begin of one; None: nowhere."""
        data = memoryview(self._disk.read(self.path(LOG), position))
        for part in parts_of(data):
            if part.kind is PartKind.BATCH and part.position > 0:
                return position + part.position
        return None

    def holds_below(self, position: int, offset: int) -> bool:
        """Whether a sound batch of an offset below `offset` is at a byte of the file or behind it."""
        parts = parts_of(memoryview(self._disk.read(self.path(LOG), position)))
        return any(
            part.kind is PartKind.BATCH and part.header is not None and part.header.base_offset < offset
            for part in parts
        )

    def cut(self, end_offset: int) -> None:
        """Drop every batch at or behind `end_offset`."""
        self._disk.truncate(self.path(LOG), self.position_of(end_offset))
        self.scan(has_gaps=True)

    def cut_file(self) -> bool:
        """Drop what the file holds behind what is known of it; False if there is nothing."""
        path = self.path(LOG)
        if not self._disk.exists(path) or self._disk.size(path) == self.size:
            return False
        self._disk.truncate(path, self.size)
        return True

    def _forget(self) -> None:
        self.end_offset, self.size, self._looked_at = self.base_offset, 0, (0, 0)
        self.last_position = self.first_checksum = 0
        self.highest = Highest()
        self.first_timestamp_ms = NONE
        self._indexes.forget()


@contextmanager
def _at(position: int | None) -> Iterator[None]:
    """What cannot be read is told with its place in the file."""
    try:
        yield
    except Undecodable as fault:
        raise Undecodable(str(fault), position) from fault
