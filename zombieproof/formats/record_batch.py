"""One record batch of magic 2 as bytes: its header of 61 bytes, its checksum, its records (reference §7.3).

A header is unpacked whatever its checksum says, so that a damaged batch can be named; `is_sound` tells whether it may
be believed. Base offset and leader epoch are the broker's: no checksum covers them.
Source: ``DefaultRecordBatch.java``, ``DefaultRecord.java``.
"""

import struct
from collections.abc import Iterable
from enum import IntEnum
from struct import Struct
from typing import NamedTuple

import crc32c

from zombieproof.formats.compression import Codec, pack_records, unpack_records
from zombieproof.formats.faults import Undecodable, Unwritable
from zombieproof.formats.stored_records import StoredRecord, read_section, write_section
from zombieproof.model.vocabulary import NONE, SEQUENCE_MAX

HEADER = Struct(">qiibIhiqqqhii")
ATTRIBUTES_TO_COUNT = Struct(">hiqqqhii")
OFFSET_AND_LENGTH = Struct(">qi")
LEADER_EPOCH = Struct(">i")

LOG_OVERHEAD = 12
"""Bytes of base offset and batch length, which batchLength does not count."""
LEADER_EPOCH_AT, MAGIC_AT, CRC_AT, CHECKSUMMED_FROM = 12, 16, 17, 21
MAGIC = 2

CODEC_BITS = 0x07
NEWEST_CODEC = int(Codec.ZSTD)
CODECS: tuple[Codec, ...] = (*Codec, *(Codec.NONE for _ in range(CODEC_BITS + 1 - len(Codec))))
LOG_APPEND_TIME_BIT = 0x08
TRANSACTIONAL_BIT = 0x10
CONTROL_BIT = 0x20
DELETE_HORIZON_BIT = 0x40


class TimestampType(IntEnum):
    """What the timestamps of a batch mean: bit 3 of its attributes (reference §7.3)."""

    NO_TIMESTAMP = -1
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class BatchHeader(NamedTuple):
    """The header of a batch, field by field. `length` counts what follows it; `crc` covers all from `attributes` on."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp_ms: int
    max_timestamp_ms: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        """Bytes of the whole batch."""
        return LOG_OVERHEAD + self.length

    @property
    def codec(self) -> Codec:
        """How the records are packed; a codec that does not exist counts as none, and its batch is never sound."""
        return CODECS[self.attributes & CODEC_BITS]

    @property
    def timestamp_type(self) -> TimestampType:
        """Whether the broker stamped the batch when it was appended."""
        stamped = self.attributes & LOG_APPEND_TIME_BIT
        return TimestampType.LOG_APPEND_TIME if stamped else TimestampType.CREATE_TIME

    @property
    def is_transactional(self) -> bool:
        """Whether it belongs to a transaction."""
        return bool(self.attributes & TRANSACTIONAL_BIT)

    @property
    def is_control(self) -> bool:
        """Whether its records are control records."""
        return bool(self.attributes & CONTROL_BIT)

    @property
    def delete_horizon_ms(self) -> int | None:
        """When what the cleaner left of tombstones and markers may go; it stands where the base timestamp was."""
        return self.base_timestamp_ms if self.attributes & DELETE_HORIZON_BIT else None


def header_at(data: bytes | memoryview, at: int) -> BatchHeader:
    """The header that starts at byte `at`, whatever it says.

    Raises:
        Undecodable: fewer bytes are left than a header has.
    """
    if len(data) - at < HEADER.size:
        raise Undecodable(f"a batch has at least {HEADER.size} bytes, and {len(data) - at} are left", at)
    # What `BatchHeader._make` does, without its check of the length: there is one header for each batch of a log.
    return tuple.__new__(BatchHeader, HEADER.unpack_from(data, at))


def matches_checksum(header: BatchHeader, data: bytes | memoryview, at: int) -> bool:
    """Whether the batch at byte `at`, all of whose bytes are there, has its checksum."""
    return crc32c.crc32c(data[at + CHECKSUMMED_FROM : at + LOG_OVERHEAD + header.length]) == header.crc


def is_sound(header: BatchHeader, data: bytes | memoryview, at: int) -> bool:
    """Whether the batch at byte `at`, all of whose bytes are there, has its checksum and makes sense."""
    if not matches_checksum(header, data, at):
        return False
    delta, count = header.last_offset_delta, header.record_count
    if header.attributes & CODEC_BITS > NEWEST_CODEC or header.base_offset < 0 or delta < 0:
        return False
    return 0 <= count <= delta + 1 and header.producer_epoch >= NONE and header.producer_id >= NONE


def sound_header_at(data: bytes | memoryview, at: int) -> BatchHeader:
    """The header of a whole and sound batch of magic 2 at byte `at`.

    Raises:
        Undecodable: it is cut short, of another format, or does not match its checksum.
    """
    header = header_at(data, at)
    if header.magic != MAGIC:
        raise Undecodable(f"a batch has magic {header.magic}; batches of magic {MAGIC} are read", at + MAGIC_AT)
    if header.length < HEADER.size - LOG_OVERHEAD:
        raise Undecodable(f"a batch says that it has {header.size} bytes; {HEADER.size} are the least", at + 8)
    if at + header.size > len(data):
        raise Undecodable(f"a batch of {header.size} bytes is expected where {len(data) - at} are left", at + 8)
    if not is_sound(header, data, at):
        raise Undecodable(f"the batch at offset {header.base_offset} does not match its CRC {header.crc}", at + CRC_AT)
    return header


def add_to_sequence(base_sequence: int, delta: int) -> int:
    """The sequence `delta` records behind `base_sequence`, round the end; -1 stays (``incrementSequence``)."""
    if base_sequence == NONE:
        return NONE
    return (base_sequence + delta) & SEQUENCE_MAX


def read_records(data: bytes | memoryview, at: int, header: BatchHeader) -> list[StoredRecord]:
    """The records of the sound batch at byte `at`.

    Raises:
        Undecodable: the records section is not what the header says.
    """
    section = unpack_records(header.codec, data[at + HEADER.size : at + header.size])
    return read_section(section, header.record_count, header.last_offset_delta)


def write_batch(header: BatchHeader, records: Iterable[StoredRecord]) -> bytes:
    """The bytes of a batch of these records; length, magic, checksum and count of `header` are made anew.

    Raises:
        Unwritable: a field of the header does not fit into its bytes, or a record does not fit into the batch.
    """
    stored = list(records)
    previous = -1
    for record in stored:
        if not previous < record.offset_delta <= header.last_offset_delta:
            raise Unwritable(
                f"a record at offset delta {record.offset_delta} cannot stand behind {previous} in a batch whose "
                f"last delta is {header.last_offset_delta}"
            )
        previous = record.offset_delta
    section = pack_records(header.codec, write_section(stored))
    return sealed(header._replace(record_count=len(stored)), section)


def rewritten(data: bytes, header: BatchHeader) -> bytes:
    """The batch `data` under another header, its records as they lie there; the checksum is made anew where needed.

    Raises:
        Unwritable: a field of the header does not fit into its bytes.
    """
    kept = header_at(data, 0)
    if header[5:] != kept[5:]:
        # What a broker sets beyond offset and leader epoch is covered by the checksum.
        return sealed(header, data[HEADER.size :])
    placed = bytearray(data)
    OFFSET_AND_LENGTH.pack_into(placed, 0, header.base_offset, kept.length)
    LEADER_EPOCH.pack_into(placed, LEADER_EPOCH_AT, header.leader_epoch)
    return bytes(placed)


def sealed(header: BatchHeader, packed: bytes) -> bytes:
    """A batch of records that are packed as `header` says; length, magic and checksum are made anew.

    Raises:
        Unwritable: a field of the header does not fit into its bytes.
    """
    try:
        covered = ATTRIBUTES_TO_COUNT.pack(*header[5:]) + packed
        length = len(covered) + CHECKSUMMED_FROM - LOG_OVERHEAD
        head = header._replace(length=length, magic=MAGIC, crc=crc32c.crc32c(covered))
        return HEADER.pack(*head)[:CHECKSUMMED_FROM] + covered
    except struct.error as error:
        raise Unwritable(f"a field of {header} does not fit into its bytes: {error}") from error
