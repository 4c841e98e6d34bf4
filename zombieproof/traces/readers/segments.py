"""One segment file as evidence: its batches in order, and the places that cannot be read."""

from enum import Enum

from zombieproof.formats.control_records import read_end_marker
from zombieproof.formats.faults import Undecodable
from zombieproof.formats.record_batch import (
    CONTROL_BIT,
    LOG_OVERHEAD,
    TRANSACTIONAL_BIT,
    BatchHeader,
    add_to_sequence,
    header_at,
    is_sound,
    read_records,
)
from zombieproof.formats.segments import WINDOW, Part, PartKind, parts_of
from zombieproof.traces.evidence import Damage, LoggedBatch, LoggedMarker, LoggedRecord
from zombieproof.traces.readers.files import base_offset_of, place_of
from zombieproof.traces.readers.lines import Reached
from zombieproof.traces.readers.segment_content import SegmentContent


class Keep(Enum):
    """Which records to keep. Markers, and records of batches with fewer records than offsets, are always read."""

    NEEDED = "needed"
    ALL = "all"


def read_segment(
    data: memoryview, file: str, keep: Keep = Keep.NEEDED, reached: Reached | None = None
) -> SegmentContent:
    """Read a whole segment. `file` is how it is named in batches and damage."""
    content = SegmentContent(file, place_of(file), file, start_offset=base_offset_of(file))
    tell_at = WINDOW if reached else len(data)
    for part in parts_of(data):
        if part.position >= tell_at and reached is not None:
            reached(part.position)
            tell_at = part.position + WINDOW
        take_part(content, data, part, file, keep)
    return content


def take_part(content: SegmentContent, data: memoryview, part: Part, file: str, keep: Keep) -> None:
    """Put a part of a segment to what was read of it before."""
    if part.header is not None:
        batch, damage = read_part(data, part, file, keep)
        if damage is not None:
            content.breaks(damage)
        if batch.is_valid:
            content.take(batch)
        else:
            content.unsound.append(batch)
    elif part.kind is PartKind.OLD_FORMAT:
        content.old_format += 1
        content.skipped = True
    elif part.kind is PartKind.UNREADABLE:
        content.breaks(unreadable(file, data, part))


def read_part(data: memoryview, part: Part, file: str, keep: Keep) -> tuple[LoggedBatch, Damage | None]:
    """The batch of magic 2 that a part holds, with its records where they are to be kept.

    It is not valid where it may not be believed; then the damage says why.
    """
    assert part.header is not None
    batch = _recorded(part.header, part.position, file, part.kind is PartKind.BATCH)
    damage = None
    if not batch.is_valid:
        damage = _bad_checksum(batch)
    elif batch.is_control or keep is Keep.ALL or not batch.is_dense:
        damage = _complete(data, part.header, batch)
        batch.is_valid = damage is None
    return batch, damage


def read_header(data: memoryview, at: int, file: str) -> LoggedBatch:
    """The batch whose header starts at byte `at` and whose bytes are all there, as it is recorded in `file`.

    `is_valid` compares the CRC-32C and asks that the header makes sense; a codec that does not exist is not valid.
    """
    header = header_at(data, at)
    return _recorded(header, at, file, is_sound(header, data, at))


def read_payload(data: memoryview, batch: LoggedBatch) -> list[LoggedRecord]:
    """The records of a sound batch, which stands at `batch.position` in `data`.

    Raises:
        Undecodable: the records section is not what the header says.
    """
    return _payload(data, batch.position, header_at(data, batch.position))


def marker_in(records: list[LoggedRecord]) -> LoggedMarker | None:
    """The marker that the records of a control batch hold; None for other control records and for empty batches.

    Raises:
        Undecodable: a control record without type, or an end-transaction marker of a version below 0 or too short.
    """
    end = read_end_marker(records[0].key, records[0].value) if records else None
    return None if end is None else LoggedMarker(end.committed, end.coordinator_epoch)


def _recorded(header: BatchHeader, at: int, file: str, sound: bool) -> LoggedBatch:
    base, length, leader_epoch, _, crc, attributes, delta, _, max_time, pid, epoch, sequence, count = header
    return LoggedBatch(
        base_offset=base,
        last_offset=base + delta,
        count=count,
        base_sequence=sequence,
        last_sequence=add_to_sequence(sequence, delta),
        producer_id=pid,
        producer_epoch=epoch,
        partition_leader_epoch=leader_epoch,
        is_transactional=bool(attributes & TRANSACTIONAL_BIT),
        is_control=bool(attributes & CONTROL_BIT),
        delete_horizon_ms=header.delete_horizon_ms,
        position=at,
        max_timestamp_ms=max_time,
        timestamp_type=header.timestamp_type,
        size=LOG_OVERHEAD + length,
        codec=header.codec,
        crc=crc,
        is_valid=sound,
        file=file,
    )


def _payload(data: memoryview, at: int, header: BatchHeader) -> list[LoggedRecord]:
    base_time, base_offset, base_sequence = header.base_timestamp_ms, header.base_offset, header.base_sequence
    stamped = header.max_timestamp_ms if header.timestamp_type else None
    return [
        LoggedRecord(
            base_offset + stored.offset_delta,
            base_time + stored.timestamp_delta if stamped is None else stamped,
            add_to_sequence(base_sequence, stored.offset_delta),
            stored.key,
            stored.value,
        )
        for stored in read_records(data, at, header)
    ]


def _complete(data: memoryview, header: BatchHeader, batch: LoggedBatch) -> Damage | None:
    """Read the records; the damage when the batch cannot be believed because of them."""
    try:
        batch.records = _payload(data, batch.position, header)
        if batch.is_control:
            batch.marker = marker_in(batch.records)
    except Undecodable as fault:
        message = f"the batch at offset {batch.base_offset} has a valid CRC, but {fault}"
        return Damage(batch.file, batch.position, message)
    return None


def unreadable(file: str, data: memoryview, part: Part) -> Damage:
    """The damage that a part is which holds no batch."""
    found = part.position + part.size
    if found < len(data):
        return Damage(file, part.position, f"no batch can be read here; the next sound one begins at byte {found}")
    return Damage(file, part.position, f"the last {part.size} bytes are not a whole batch: the tail is torn")


def _bad_checksum(batch: LoggedBatch) -> Damage:
    return Damage(
        batch.file,
        batch.position,
        f"the batch at offset {batch.base_offset} does not match its CRC {batch.crc}: nothing in it is believed",
    )
