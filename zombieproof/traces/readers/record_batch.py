"""One record batch of magic 2 from its bytes: header, checksum, records, markers (reference §7.3, §7.4).

A header is unpacked whatever its checksum says, so that a damaged batch can be named; `Batch.is_valid` tells whether it
may be believed. Records are unpacked only when asked for.
"""

from struct import Struct

import crc32c

from zombieproof.model.vocabulary import NONE, SEQUENCE_MAX
from zombieproof.traces.evidence import Batch, Codec, Marker, Record, TimestampType
from zombieproof.traces.readers.codecs import Undecodable, unpack_records

HEADER = Struct(">qiibIhiqqqhii")
"""baseOffset, batchLength, partitionLeaderEpoch, magic, crc, attributes, lastOffsetDelta, baseTimestamp, maxTimestamp,
producerId, producerEpoch, baseSequence, recordCount."""

LOG_OVERHEAD = 12
"""Bytes of base offset and batch length, which batchLength does not count."""

MAGIC_AT = 16
CHECKSUMMED_FROM = 21
MAGIC = 2

CODEC_BITS = 0x07
LOG_APPEND_TIME_BIT = 0x08
TRANSACTIONAL_BIT = 0x10
CONTROL_BIT = 0x20
DELETE_HORIZON_BIT = 0x40

ABORT_TYPE, COMMIT_TYPE = 0, 1

VARINT_BYTES_MAX = 10


def read_header(data: memoryview, at: int, file: str) -> Batch:
    """The batch whose 61-byte header starts at byte `at` and whose `batchLength` bytes are all there.

    `is_valid` compares the CRC-32C and asks that the header makes sense; a codec that does not exist is not valid.
    """
    base, length, leader_epoch, _, crc, attributes, delta, base_time, max_time, pid, epoch, sequence, count = (
        HEADER.unpack_from(data, at)
    )
    end = at + LOG_OVERHEAD + length
    codec = attributes & CODEC_BITS
    sound = crc32c.crc32c(data[at + CHECKSUMMED_FROM : end]) == crc and codec <= Codec.ZSTD
    sound = sound and base >= 0 and delta >= 0 and 0 <= count <= delta + 1 and epoch >= NONE and pid >= NONE
    log_append = attributes & LOG_APPEND_TIME_BIT
    return Batch(
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
        delete_horizon_ms=base_time if attributes & DELETE_HORIZON_BIT else None,
        position=at,
        max_timestamp_ms=max_time,
        timestamp_type=TimestampType.LOG_APPEND_TIME if log_append else TimestampType.CREATE_TIME,
        size=LOG_OVERHEAD + length,
        codec=Codec(codec) if codec <= Codec.ZSTD else Codec.NONE,
        crc=crc,
        is_valid=sound,
        file=file,
    )


def add_to_sequence(base_sequence: int, delta: int) -> int:
    """The sequence `delta` records behind `base_sequence`, round the end; -1 stays (``incrementSequence``)."""
    if base_sequence == NONE:
        return NONE
    return (base_sequence + delta) & SEQUENCE_MAX


def read_records(data: memoryview, batch: Batch) -> list[Record]:
    """The records of a sound batch, which stands at `batch.position` in `data`.

    Raises:
        Undecodable: the records section is not what the header says.
    """
    start, end = batch.position + HEADER.size, batch.position + batch.size
    section = unpack_records(batch.codec, data[start:end])
    (base_time,) = Struct(">q").unpack_from(data, batch.position + 27)
    if not section and batch.count:
        raise Undecodable("the records are missing")
    return _split_records(section, batch, base_time)


def _split_records(section: bytes, batch: Batch, base_time: int) -> list[Record]:
    records = []
    append_time = batch.max_timestamp_ms if batch.timestamp_type == TimestampType.LOG_APPEND_TIME else None
    span = batch.last_offset - batch.base_offset
    at = 0
    previous = -1
    for _ in range(batch.count):
        length, at = read_varint(section, at)
        end = at + length
        if length < 1 or end > len(section):
            raise Undecodable(f"a record of {length} bytes does not fit into its batch")
        time_delta, at = read_varint(section, at + 1)
        offset_delta, at = read_varint(section, at)
        if not previous < offset_delta <= span:
            raise Undecodable(f"a record lies at offset delta {offset_delta}, which its batch does not allow")
        key, at = _sized(section, at, end)
        value, at = _sized(section, at, end)
        if at > end:
            raise Undecodable("a record is longer than its length says")
        time = append_time if append_time is not None else base_time + time_delta
        sequence = add_to_sequence(batch.base_sequence, offset_delta)
        records.append(Record(batch.base_offset + offset_delta, time, sequence, key, value))
        previous = offset_delta
        at = end
    if at != len(section):
        raise Undecodable(f"{len(section) - at} bytes follow the last record")
    return records


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """A zigzag varint at byte `at`, and where the next field starts.

    Raises:
        Undecodable: it runs over the end, or over 10 bytes.
    """
    value = 0
    for index in range(VARINT_BYTES_MAX):
        if at >= len(data):
            raise Undecodable("a number runs over the end")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
    raise Undecodable("a number is longer than 10 bytes")


def _sized(section: bytes, at: int, end: int) -> tuple[bytes | None, int]:
    size, at = read_varint(section, at)
    if size < 0:
        return None, at
    if at + size > end:
        raise Undecodable(f"a field of {size} bytes does not fit into its record")
    return section[at : at + size], at + size


def read_marker(records: list[Record]) -> Marker | None:
    """The marker that the records of a control batch hold; None for other control records and for empty batches.

    Raises:
        Undecodable: a control record without type, or an end-transaction marker of a version below 0 or too short.
    """
    if not records:
        return None
    key, value = records[0].key, records[0].value
    if key is None or len(key) < 4:
        raise Undecodable("a control record has no type")
    kind = int.from_bytes(key[2:4], signed=True)
    if kind not in (ABORT_TYPE, COMMIT_TYPE):
        return None
    if value is None or len(value) < 6:
        raise Undecodable("an end-transaction marker has no coordinator epoch")
    if int.from_bytes(value[0:2], signed=True) < 0:
        raise Undecodable("an end-transaction marker has a negative version")
    return Marker(kind == COMMIT_TYPE, int.from_bytes(value[2:6], signed=True))
