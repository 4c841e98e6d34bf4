"""Batches as bytes, for the disk and for the wire, and back (reference §7.3).

A batch that was read from bytes is written as those bytes: only what the broker sets (base offset and leader epoch,
which no checksum covers, and the time where it stamps batches) is put in, and the records stay packed as their producer
packed them. A batch whose records or markers were changed, or that was made here, is encoded anew.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from zombieproof.formats.batches import Batch, Encoded, Marker, Record
from zombieproof.formats.control_records import EndMarker, read_end_marker, write_end_marker
from zombieproof.formats.faults import Undecodable
from zombieproof.formats.packed_records import PackedRecords, records_of
from zombieproof.formats.record_batch import (
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    LOG_APPEND_TIME_BIT,
    MAGIC,
    TRANSACTIONAL_BIT,
    BatchHeader,
    TimestampType,
    header_at,
    read_records,
    rewritten,
    sealed,
    sound_header_at,
)
from zombieproof.formats.record_batch import write_batch as encode
from zombieproof.formats.stored_records import StoredRecord
from zombieproof.formats.topics import INTERNAL_TOPICS
from zombieproof.formats.typed_records import KAFKA_4_3, ValueVersions, read_typed, write_typed
from zombieproof.model.vocabulary import NONE

# ---------------------------------------------------------------- from bytes


def read_batch(data: bytes | memoryview, at: int = 0, topic: str = "") -> Batch:
    """The batch that starts at byte `at`; its records are typed where `topic` is an internal one.

    Raises:
        Undecodable: it is cut short, does not match its checksum, or its records are not what it says.
    """
    header = sound_header_at(data, at)
    found = records_of(header, read_records(data, at, header))
    first_ms = header.max_timestamp_ms if not found or found[0].timestamp_ms is None else found[0].timestamp_ms
    marker, control_records = _control(found) if header.is_control else (None, ())
    records = () if header.is_control else _typed(topic, header.base_offset, found)
    encoded = Encoded(bytes(data[at : at + header.size]), records, marker, control_records)
    base_ms = None if header.base_timestamp_ms == first_ms else header.base_timestamp_ms
    return batch_of(header, encoded, base_ms, is_empty_control=header.is_control and not found)


def view_batch(data: bytes | memoryview, at: int = 0, topic: str = "") -> Batch:
    """As `read_batch`, but the records of applications stay packed until somebody looks at them.

    Then they are found not to be what the batch says, if they are not.

    Raises:
        Undecodable: it is cut short, or does not match its checksum.
    """
    header = sound_header_at(data, at)
    if header.is_control or topic in INTERNAL_TOPICS:
        return read_batch(data, at, topic)
    packed = bytes(data[at : at + header.size])
    encoded = Encoded(packed, PackedRecords(packed, header.record_count), None, ())
    has_base = header.record_count == 0 or header.delete_horizon_ms is not None
    return batch_of(header, encoded, header.base_timestamp_ms if has_base else None)


def batch_of(
    header: BatchHeader, encoded: Encoded, base_timestamp_ms: int | None = None, *, is_empty_control: bool = False
) -> Batch:
    """The batch of which there are a header and the bytes; `base_timestamp_ms` None: that of its first record."""
    return Batch(
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        transactional=header.is_transactional,
        records=encoded.records,
        marker=encoded.marker,
        last_offset_delta=header.last_offset_delta,
        timestamp_ms=header.max_timestamp_ms,
        leader_epoch=header.leader_epoch,
        base_offset=header.base_offset,
        is_empty_control=is_empty_control,
        codec=header.codec,
        timestamp_type=header.timestamp_type,
        base_timestamp_ms=base_timestamp_ms,
        has_delete_horizon=header.delete_horizon_ms is not None,
        control_records=encoded.control_records,
        encoded=encoded,
    )


def read_batches(data: bytes | memoryview, topic: str = "") -> Iterator[Batch]:
    """Batch after batch to the end of `data`.

    Raises:
        Undecodable: one cannot be read; those before it were given.
    """
    at = 0
    while at < len(data):
        yield read_batch(data, at, topic)
        at += header_at(data, at).size


def _typed(topic: str, base_offset: int, records: tuple[Record, ...]) -> tuple[Record, ...]:
    if topic not in INTERNAL_TOPICS:
        return records
    typed = []
    for index, record in enumerate(records):
        offset = base_offset + (index if record.offset_delta == NONE else record.offset_delta)
        try:
            typed.append(read_typed(topic, record))
        except Undecodable as fault:
            raise Undecodable(f"the record at offset {offset} cannot be read: {fault}", fault.position) from fault
    return tuple(typed)


def _control(found: tuple[Record, ...]) -> tuple[Marker | None, tuple[Record, ...]]:
    """The marker, and the control records unless the marker says all."""
    if not found:
        return None, ()
    end = read_end_marker(*write_typed(found[0]))
    if end is None:
        return None, found
    return Marker(*end), () if found == (_marker_record(end),) else found


def _marker_record(end: EndMarker) -> Record:
    return Record(*write_end_marker(end))


# ---------------------------------------------------------------- to bytes


def write_batch(batch: Batch, versions: ValueVersions = KAFKA_4_3) -> bytes:
    """The bytes of a batch; a base offset that is not known yet is written as 0, as clients do.

    `versions` are those of the values of typed records.

    Raises:
        Unwritable: a record or a field has no place in the format.
    """
    if batch.encoded is not None:
        as_read = _under_new_header(batch, batch.encoded)
        if as_read is not None:
            return as_read
    records = _stored_records(batch)
    times = [batch.timestamp_ms if each.timestamp_ms is None else each.timestamp_ms for each in records]
    base_ms = batch.base_timestamp_ms
    if base_ms is None:
        base_ms = times[0] if times else batch.timestamp_ms
    stored = (
        StoredRecord(
            index if each.offset_delta == NONE else each.offset_delta,
            time - base_ms,
            *write_typed(each, versions),
            each.headers,
        )
        for index, (each, time) in enumerate(zip(records, times, strict=True))
    )
    return encode(_header(batch, base_ms), stored)


def size_of(batch: Batch) -> int:
    """How many bytes a batch takes on disk and in a response."""
    if batch.encoded is not None:
        return len(batch.encoded.data)
    if batch.marker is not None and not batch.control_records:
        return SIZE_OF_MARKER
    return len(write_batch(batch))


def packed_batch(batch: Batch, packed: bytes, count: int, base_timestamp_ms: int) -> Batch:
    """`batch` with `count` records of applications that are encoded, and packed by its codec, as `packed`.

    Raises:
        Unwritable: a field has no place in the format.
    """
    data = sealed(_header(batch, base_timestamp_ms)._replace(record_count=count), packed)
    records = PackedRecords(data, count)
    return replace(batch, records=records, encoded=Encoded(data, records, None, ()))


def _under_new_header(batch: Batch, encoded: Encoded) -> bytes | None:
    """The bytes that a batch came as, with what the broker sets; None where it does not hold what it came with."""
    same = encoded.records is batch.records and encoded.control_records is batch.control_records
    if not same or encoded.marker is not batch.marker:
        return None
    kept = header_at(encoded.data, 0)
    stamped = batch.timestamp_type == TimestampType.LOG_APPEND_TIME
    header = _header(batch, kept.base_timestamp_ms)._replace(record_count=kept.record_count)
    expected = kept
    if stamped:
        expected = kept._replace(attributes=kept.attributes | LOG_APPEND_TIME_BIT, max_timestamp_ms=batch.timestamp_ms)
    if header[5:] != expected[5:] or batch.base_timestamp_ms not in (None, kept.base_timestamp_ms):
        return None
    return rewritten(encoded.data, header)


def _stored_records(batch: Batch) -> Sequence[Record]:
    """The records that lie in the batch: of a control batch those that it was read with, or the one of its marker."""
    if batch.control_records or batch.marker is None:
        return batch.control_records or batch.records
    return (_marker_record(EndMarker(batch.marker.committed, batch.marker.coordinator_epoch)),)


def _header(batch: Batch, base_timestamp_ms: int) -> BatchHeader:
    attributes = int(batch.codec)
    attributes |= TRANSACTIONAL_BIT * batch.transactional
    attributes |= CONTROL_BIT * batch.is_control
    attributes |= DELETE_HORIZON_BIT * batch.has_delete_horizon
    attributes |= LOG_APPEND_TIME_BIT * (batch.timestamp_type == TimestampType.LOG_APPEND_TIME)
    return BatchHeader(
        base_offset=max(batch.base_offset, 0),
        length=NONE,
        leader_epoch=batch.leader_epoch,
        magic=MAGIC,
        crc=0,
        attributes=attributes,
        last_offset_delta=batch.last_offset_delta,
        base_timestamp_ms=base_timestamp_ms,
        max_timestamp_ms=batch.timestamp_ms,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        record_count=0,
    )


SIZE_OF_MARKER = len(write_batch(Batch(0, 0, transactional=True, marker=Marker(committed=True, coordinator_epoch=0))))
"""The size of a control batch that ends a transaction: nothing in it varies in length."""
