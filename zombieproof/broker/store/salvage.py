"""Salvage of a damaged log: keep every batch that is sound and in order.

Theory of operation: a plan is made without writing (`plan`); it lists the offsets that are lost. `Salvage.apply`
rewrites the segments that contain other bytes, records the segments that are left, and lets the log continue after
the last offset that was ever given, so that no offset is given twice. Base offset and leader epoch of a batch are not
covered by its checksum. Base offsets are corrected where both neighbours determine them; leader epochs as the record
and the checkpoint of them say, or else so that they never fall. The next start rebuilds indexes.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from zombieproof.broker.store.disk import Disk, Kind
from zombieproof.broker.store.known_logs import (
    IN_REPAIR,
    SEGMENTS,
    UNKNOWN,
    FolderState,
    LogState,
    SegmentState,
    checksum,
    replace_file,
    write_folder_state,
)
from zombieproof.broker.store.leader_epochs import LEADER_EPOCHS
from zombieproof.broker.store.log_loader import Recorded
from zombieproof.broker.store.segment import LOG, TRANSACTION_INDEX, base_of, file_name
from zombieproof.broker.store.segment_states import Epochs, SegmentStates
from zombieproof.formats.batches import Batch
from zombieproof.formats.checkpoints import read_leader_epochs
from zombieproof.formats.encoding import read_batch, read_batches, write_batch
from zombieproof.formats.faults import Undecodable
from zombieproof.formats.record_batch import HEADER, LEADER_EPOCH, LEADER_EPOCH_AT, OFFSET_AND_LENGTH
from zombieproof.formats.segments import PartKind, parts_of
from zombieproof.model.vocabulary import NONE


@dataclass(slots=True)
class _Batch:
    """A sound batch as it will be: where it is in the file now, its size, and the two fields that may be corrected."""

    position: int
    size: int
    base_offset: int
    leader_epoch: int
    delta: int
    is_corrected: bool = False

    @property
    def end_offset(self) -> int:
        return self.base_offset + self.delta + 1


@dataclass(slots=True)
class _Kept:
    """A segment of which batches are kept, in order; `is_whole`: its file stays as it is."""

    base_offset: int
    batches: list[_Batch]
    is_whole: bool


@dataclass(slots=True)
class Salvage:
    """The plan for one log.

    Attributes:
        known: the record of the segments.
        lost: ranges of offsets, each as its first offset and the one after its last.
        end_offset: where the log continues.
        snapshots: the checksums of the snapshots of producers that are believed.
    """

    disk: Disk
    directory: str
    recorded: Recorded
    topic_id: str
    known: FolderState = field(default_factory=FolderState)
    kept: list[_Kept] = field(default_factory=list)
    lost: list[tuple[int, int]] = field(default_factory=list)
    end_offset: int = 0
    start_offset: int = 0
    snapshots: dict[int, int] = field(default_factory=dict)

    def apply(self, keep: Callable[[str], None], added: Batch | None = None) -> LogState:
        """Write the kept batches; `keep` copies a file that is about to be replaced or removed.

        A crash at any point leaves a log that the same repair continues. `added` follows the kept batches at
        `end_offset`. It is written first: it was derived from a plan that an interrupted repair would not find again.

        Returns:
            The new record of the log.
        """
        disk = self.disk
        sequence = max(self.known.sequence, 0 if self.recorded.state is None else self.recorded.state.sequence) + 1
        tail = f"{self.directory}/{file_name(self.end_offset, LOG)}"
        written = b"" if added is None else write_batch(added)
        if written or not disk.exists(tail):
            replace_file(disk, tail, written)
        self._write_entries(sequence, self._unfinished(), keep)
        for segment in self.kept:
            if not segment.is_whole:
                path = f"{self.directory}/{file_name(segment.base_offset, LOG)}"
                data = self._bytes_of(segment)
                keep(path)
                replace_file(disk, path, data)
        epochs = f"{self.directory}/{LEADER_EPOCHS}"
        if disk.exists(epochs):
            keep(epochs)
            disk.remove(epochs)
        disk.sync_directory(self.directory)
        entries = {segment.base_offset: self._entry(segment, behind) for segment, behind in self._with_ends()}
        entries.pop(self.end_offset, None)
        state = FolderState(self.topic_id, self._number, sequence, entries, snapshots=self.snapshots)
        self._write_entries(sequence, state)
        before = self.recorded.state or LogState(self.topic_id, 0, 0)
        return LogState(
            self.topic_id,
            self.start_offset,
            self.end_offset if added is None else added.last_offset + 1,
            before.producer_id,
            before.coordinator_epoch,
            last_base=self.end_offset,
            first_checksum=checksum(written[: HEADER.size]) if written else 0,
            sequence=sequence,
            synced_size=len(written),
        )

    def batches(self, topic: str) -> list[Batch]:
        """The kept batches.

        Raises:
            Undecodable: a record in them cannot be read.
        """
        return [batch for segment in self.kept for batch in read_batches(self._bytes_of(segment), topic)]

    def _bytes_of(self, segment: _Kept) -> bytes:
        """The content of a segment as it will be."""
        data = self.disk.read(f"{self.directory}/{file_name(segment.base_offset, LOG)}")
        return data if segment.is_whole else b"".join(_written(data, batch) for batch in segment.batches)

    def _with_ends(self) -> Iterator[tuple[_Kept, int]]:
        """The segments, each with the offset at which the next one begins."""
        return zip(self.kept, [*(each.base_offset for each in self.kept[1:]), self.end_offset], strict=False)

    @property
    def _number(self) -> int:
        return SegmentStates(self.disk, self.directory).number

    def _unfinished(self) -> FolderState:
        """The record while segments are replaced: those that are to be replaced have the mark `IN_REPAIR`.

        A start refuses such a segment. Another repair keeps its sound batches, whether they are the old or the new
        ones: without this it would take the new ones for those of another log.
        """
        entries = dict(self.known.segments)
        for segment, behind in self._with_ends():
            if not segment.is_whole and segment.batches:
                was = entries.get(segment.base_offset)
                end = segment.batches[-1].end_offset
                begun = SegmentState(segment.base_offset, end, behind, IN_REPAIR, 0, 0, 0, NONE, NONE)
                entries[segment.base_offset] = begun if was is None else was._replace(size=IN_REPAIR)
        return replace(self.known, topic_id=self.topic_id, number=self._number, segments=entries)

    def _write_entries(self, sequence: int, state: FolderState, keep: Callable[[str], None] | None = None) -> None:
        path = f"{self.directory}/{SEGMENTS}"
        if keep is not None and self.disk.exists(path):
            keep(path)
        replace_file(self.disk, path, write_folder_state(replace(state, sequence=sequence)))
        self.disk.sync_directory(self.directory)

    def _entry(self, segment: _Kept, next_offset: int) -> SegmentState:
        data = self.disk.read(f"{self.directory}/{file_name(segment.base_offset, LOG)}")
        last = len(data) - segment.batches[-1].size if segment.batches else 0
        was = self.known.segments.get(segment.base_offset)
        # An undamaged list of aborted transactions knows more than the batches that are left.
        path = f"{self.directory}/{file_name(segment.base_offset, TRANSACTION_INDEX)}"
        is_listed = was is not None and self.disk.exists(path) and checksum(self.disk.read(path)) == was[-1]
        return SegmentState(
            segment.base_offset,
            segment.batches[-1].end_offset if segment.batches else segment.base_offset,
            next_offset,
            len(data),
            last,
            checksum(data[: HEADER.size]) if segment.batches else 0,
            checksum(data[last : last + HEADER.size]) if segment.batches else 0,
            NONE if was is None else was.producer_id,
            NONE if was is None else was.coordinator_epoch,
            transaction_index=was[-1] if was is not None and is_listed else UNKNOWN,
        )


def plan(disk: Disk, directory: str, recorded: Recorded, topic_id: str, *, is_compacted: bool) -> Salvage:
    """Plan the salvage of the log in a folder."""
    found = Salvage(disk, directory, recorded, topic_id)
    names = (name for name, kind in disk.kinds(directory).items() if kind is Kind.FILE)
    bases = sorted(base for name in names if (base := base_of(name)) is not None)
    states = SegmentStates(disk, directory)
    states.read(0 if recorded.state is None else recorded.state.sequence, topic_id)
    found.known = states.state
    epochs = _known_epochs(disk, directory, states.state)
    start = recorded.start_offset if recorded.start_offset is not None else (bases[0] if bases else 0)
    expected = start
    for base, known in states.state.segments.items():
        if base not in bases and known.next_offset > max(start, base):
            found.lost.append((base, known.end_offset))
    for base, behind in zip(bases, [*bases, None][1:], strict=True):
        was = states.state.segments.get(base)
        data = disk.read(f"{directory}/{file_name(base, LOG)}")
        if _is_foreign(data, base, was, recorded.state, epochs):
            segment, holes = _Kept(base, [], is_whole=not data), [(base, base)]
        else:
            is_replaced = was is not None and was.size == IN_REPAIR
            trusted = recorded._replace(state=None) if is_replaced else recorded  # Its bytes are not those recorded.
            segment, holes = _sound_batches(data, base, behind, trusted, was, is_compacted=is_compacted)
        found.kept.append(segment)
        first = segment.batches[0].base_offset if segment.batches else None
        if base > expected and not (is_compacted and base in states.state.segments and not holes):
            found.lost.append((expected, base))
        found.lost += (each for each in holes if each[0] < each[1])
        end = segment.batches[-1].end_offset if segment.batches else base
        if was is not None and was.end_offset > end:
            found.lost.append((end, was.end_offset))
            end = was.end_offset
        expected = max(expected, end if was is None else max(end, was.next_offset), first or 0)
    _correct_epochs(found.kept, epochs, states.state)
    found.end_offset = max(expected, recorded.synced_offset)
    if recorded.synced_offset > expected:
        found.lost.append((expected, recorded.synced_offset))
    found.lost = list(_merged(each for each in found.lost if each[1] > start))
    found.start_offset = max(start, bases[0]) if bases else found.end_offset
    takes_all = recorded.believes_snapshots(found.start_offset, is_recorded=states.is_there)
    found.snapshots = states.snapshots_in_folder(takes_all=takes_all)
    return found


def _is_foreign(data: bytes, base: int, was: SegmentState | None, state: LogState | None, epochs: Epochs) -> bool:
    """Whether neither the first nor the last batch is the one that is recorded: then none belongs to this log."""
    if was is not None:
        if was.size == IN_REPAIR or not data:
            return False
        last = data[was.last_position : was.last_position + HEADER.size]
        is_first = _is_recorded(data[: HEADER.size], was.first_checksum, base, epochs)
        return not is_first and not _is_recorded(last, was.last_checksum, base, epochs)
    if state is None or not state.last_base == base < state.end_offset:
        return False
    return not _is_recorded(data[: HEADER.size], state.first_checksum, base, epochs) and _is_sound(data)


def _is_recorded(header: bytes, recorded: int, base: int, epochs: Epochs) -> bool:
    """Whether a header has this checksum, but for a base offset or a leader epoch that is damaged."""
    if checksum(header) == recorded:
        return True
    if len(header) < HEADER.size:
        return False
    at, length = OFFSET_AND_LENGTH.unpack_from(header)
    (epoch,) = LEADER_EPOCH.unpack_from(header, LEADER_EPOCH_AT)
    for offset in (at, base):
        for each in {epoch, *(known for known, _ in epochs)}:
            changed = bytearray(header)
            OFFSET_AND_LENGTH.pack_into(changed, 0, offset, length)
            LEADER_EPOCH.pack_into(changed, LEADER_EPOCH_AT, each)
            if checksum(bytes(changed)) == recorded:
                return True
    return False


def _is_sound(data: bytes) -> bool:
    """Whether the first batch is sound: then it is not the recorded one with damage in it."""
    part = next(parts_of(memoryview(data)), None)
    return part is not None and part.kind is PartKind.BATCH


def _sound_batches(
    data: bytes, base: int, behind: int | None, recorded: Recorded, was: SegmentState | None, *, is_compacted: bool
) -> tuple[_Kept, list[tuple[int, int]]]:
    """The batches of a segment that are sound and in order, and the offsets of those that are not."""
    parts = list(parts_of(memoryview(data)))
    found = list[_Batch]()
    for part in parts:
        if part.kind is PartKind.BATCH and part.header is not None and _can_be_read(data, part.position):
            header = part.header
            found.append(
                _Batch(part.position, part.size, header.base_offset, header.leader_epoch, header.last_offset_delta)
            )
    state = recorded.state
    if state is not None and state.last_base == base:
        for batch in found:
            if batch.position + batch.size == state.synced_size and batch.end_offset != state.end_offset:
                batch.base_offset, batch.is_corrected = state.end_offset - batch.delta - 1, True
    _correct(found, base, recorded.synced_offset if behind is None else behind)
    kept, holes, gaps, end, at = list[_Batch](), list[tuple[int, int]](), list[tuple[int, int]](), base, 0
    limit = 1 << 62 if behind is None else behind
    for batch in found:
        is_in_order = end <= batch.base_offset and batch.end_offset <= limit
        if not is_in_order:
            continue
        if batch.position > at:
            holes.append((end, batch.base_offset))
        if batch.base_offset > end:
            gaps.append((end, batch.base_offset))
        kept.append(batch)
        end, at = batch.end_offset, batch.position + batch.size
    if at < len(data):
        holes.append((end, max(end, behind or end)))
    is_whole = at == len(data) and not holes and not any(batch.is_corrected for batch in kept)
    # The cleaner leaves gaps, and so do repairs; nothing else does, and neither where bytes are missing.
    if was is not None:
        is_changed = len(data) < was.size or not (is_compacted or len(data) == was.size)
    elif is_compacted:
        is_changed = state is not None and state.last_base == base and len(data) < state.synced_size
    else:
        is_changed = True
    return _Kept(base, kept, is_whole), holes + (gaps if holes or is_changed else [])


def _can_be_read(data: bytes, position: int) -> bool:
    """Whether the records of a batch can be read, which a checksum alone does not say."""
    try:
        read_batch(data, position)
    except Undecodable:
        return False
    return True


def _correct(batches: list[_Batch], base: int, behind: int) -> None:
    """Correct base offsets that their neighbours determine."""
    for place, batch in enumerate(batches):
        end = batches[place - 1].end_offset if place else base
        follows = batches[place + 1].base_offset if place + 1 < len(batches) else behind
        if batch.base_offset != end and follows == end + batch.delta + 1:
            batch.base_offset, batch.is_corrected = end, True


def _known_epochs(disk: Disk, directory: str, known: FolderState) -> Epochs:
    """The leader epochs that are recorded, and those that the checkpoint adds: it goes on where the record ends."""
    path, read = f"{directory}/{LEADER_EPOCHS}", tuple[tuple[int, int], ...]()
    if disk.exists(path):
        with suppress(Undecodable):
            read = tuple(read_leader_epochs(disk.read(path)))
    return read if read[: len(known.leader_epochs)] == known.leader_epochs else known.leader_epochs


def _correct_epochs(kept: list[_Kept], epochs: Epochs, known: FolderState) -> None:
    """Correct leader epochs: those of batches that were recorded are known, and none is lower than the one before."""
    recorded_end = max((each.next_offset for each in known.segments.values()), default=0) if known.leader_epochs else 0
    limit = recorded_end if epochs == known.leader_epochs else 1 << 63
    batches = [batch for segment in kept for batch in segment.batches]
    rising = [batches[place] for place in _rising([batch.leader_epoch for batch in batches])]
    if not known.leader_epochs and any(_epoch_at(epochs, each.base_offset) != each.leader_epoch for each in rising):
        limit = 0  # Nothing else is recorded, and most batches contradict the checkpoint.
    meant = [
        _epoch_at(epochs, batch.base_offset) if batch.base_offset < limit else batch.leader_epoch for batch in batches
    ]
    fits = _rising(meant)
    last, in_order = meant[fits[0]] if fits else NONE, set(fits)
    for place, batch in enumerate(batches):
        last = meant[place] if place in in_order else last
        if batch.leader_epoch != last:
            batch.leader_epoch, batch.is_corrected = last, True
    for segment in kept:
        segment.is_whole = segment.is_whole and not any(batch.is_corrected for batch in segment.batches)


def _epoch_at(epochs: Epochs, offset: int) -> int:
    return next((epoch for epoch, start in reversed(epochs) if start <= offset), NONE)


def _rising(numbers: Sequence[int]) -> list[int]:
    """The places of the longest subsequence that does not fall; none of its numbers is below -1."""
    ends, places, before = list[int](), list[int](), dict[int, int]()
    for place, number in enumerate(numbers):
        if number < NONE:
            continue
        length = bisect_right(ends, number)
        if length:
            before[place] = places[length - 1]
        ends[length : length + 1], places[length : length + 1] = [number], [place]
    found = places[-1:]
    while found and found[-1] in before:
        found.append(before[found[-1]])
    return found[::-1]


def _written(data: bytes, batch: _Batch) -> bytes:
    changed = bytearray(data[batch.position : batch.position + batch.size])
    OFFSET_AND_LENGTH.pack_into(changed, 0, batch.base_offset, OFFSET_AND_LENGTH.unpack_from(changed)[1])
    LEADER_EPOCH.pack_into(changed, LEADER_EPOCH_AT, batch.leader_epoch)
    return bytes(changed)


def _merged(ranges: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Ranges in order that do not touch; empty ones are left out."""
    last: tuple[int, int] | None = None
    for first, end in sorted(each for each in ranges if each[0] < each[1]):
        if last is not None and first <= last[1]:
            last = last[0], max(last[1], end)
            continue
        if last is not None:
            yield last
        last = first, end
    if last is not None:
        yield last
