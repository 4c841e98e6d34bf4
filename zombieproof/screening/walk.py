"""From the bytes of a segment to rows of columns, compiled: as far as every batch is plain.

Plain is a whole batch of magic 2 that is sound and has a record for each of its offsets; as a control batch it holds
nothing but one end marker, written as Kafka writes it. At anything else the walk stops, and whoever called it asks the
readers (`traces.readers.segments`) what stands there: they alone know damage, old formats and unusual records.
Source: reference §7.3, §7.4; `formats.record_batch`, `formats.control_records`.
"""

import numpy as np
from numpy.typing import NDArray

from zombieproof.formats.record_batch import (
    CHECKSUMMED_FROM,
    CODEC_BITS,
    CONTROL_BIT,
    CRC_AT,
    HEADER,
    LEADER_EPOCH_AT,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_AT,
    NEWEST_CODEC,
)
from zombieproof.screening.checksum import byte, checksum
from zombieproof.screening.columns import NO_MARKER, Columns
from zombieproof.screening.compiling import compiled

HEADER_SIZE = HEADER.size
LENGTH_AT = 8
ATTRIBUTES_AT, DELTA_AT, BASE_TIME_AT, MAX_TIME_AT = 21, 23, 27, 35
PRODUCER_ID_AT, EPOCH_AT, SEQUENCE_AT, COUNT_AT = 43, 51, 53, 57

NOT_PLAIN = -2
MARKER_SIZE = 17
"""Bytes of the one record of a marker: its length (of one byte), and 16 behind it."""
KEY_SIZE, VALUE_SIZE = 8, 12
"""Lengths of 4 and 6 as varints."""


@compiled
def signed(data: NDArray[np.uint8], at: int, size: int) -> int:
    """A big-endian number of `size` bytes in two's complement."""
    value = byte(data, at)
    if value >= 0x80:
        value -= 0x100
    for i in range(at + 1, at + size):
        value = value * 256 + byte(data, i)
    return value


@compiled
def marker_at(data: NDArray[np.uint8], at: int, end: int) -> int:
    """What the end marker says whose record is all that stands from `at` to `end`, or `NOT_PLAIN`.

    Its bytes: length 16, attributes, timestamp delta 0, offset delta 0, key of 4 (version, type), value of 6 (version,
    coordinator epoch), no headers.
    """
    if end - at != MARKER_SIZE or data[at] != (MARKER_SIZE - 1) * 2:
        return NOT_PLAIN
    if data[at + 2] != 0 or data[at + 3] != 0 or data[at + 4] != KEY_SIZE or data[at + 9] != VALUE_SIZE:
        return NOT_PLAIN
    kind = signed(data, at + 7, 2)
    if kind not in (0, 1) or signed(data, at + 10, 2) < 0 or data[at + 16] != 0:
        return NOT_PLAIN
    return kind


@compiled
def walk(
    data: NDArray[np.uint8], at: int, until: int, columns: Columns, row: int, tables: NDArray[np.int64]
) -> tuple[int, int]:
    """Fill rows from `row` on with the batches from byte `at` on; where it stopped: byte and row.

    It stops at the end of the data or of the columns, behind the batch at byte `until`, and at whatever is not plain.
    """
    rows = len(columns.base_offset)
    while row < rows and at < until and at + HEADER_SIZE <= len(data):
        length = signed(data, at + LENGTH_AT, 4)
        end = at + LOG_OVERHEAD + length
        if length < HEADER_SIZE - LOG_OVERHEAD or end > len(data) or data[at + MAGIC_AT] != MAGIC:
            break
        crc = signed(data, at + CRC_AT, 4) & 0xFFFFFFFF
        if checksum(data, at + CHECKSUMMED_FROM, end, tables) != crc:
            break
        base, attributes = signed(data, at, 8), signed(data, at + ATTRIBUTES_AT, 2)
        delta, count = signed(data, at + DELTA_AT, 4), signed(data, at + COUNT_AT, 4)
        producer_id, epoch = signed(data, at + PRODUCER_ID_AT, 8), signed(data, at + EPOCH_AT, 2)
        if (attributes & CODEC_BITS) > NEWEST_CODEC or base < 0 or producer_id < -1 or epoch < -1:
            break
        if delta < 0 or count != delta + 1:
            break
        marker, coordinator_epoch = NO_MARKER, -1
        if attributes & CONTROL_BIT:
            marker = NOT_PLAIN
            if count == 1 and attributes & CODEC_BITS == 0:
                marker = marker_at(data, at + HEADER_SIZE, end)
            if marker == NOT_PLAIN:
                break
            coordinator_epoch = signed(data, at + HEADER_SIZE + 12, 4)
        columns.base_offset[row] = base
        columns.last_offset_delta[row] = delta
        columns.record_count[row] = count
        columns.producer_id[row] = producer_id
        columns.producer_epoch[row] = epoch
        columns.base_sequence[row] = signed(data, at + SEQUENCE_AT, 4)
        columns.attributes[row] = attributes
        columns.marker[row] = marker
        columns.coordinator_epoch[row] = coordinator_epoch
        columns.base_timestamp_ms[row] = signed(data, at + BASE_TIME_AT, 8)
        columns.max_timestamp_ms[row] = signed(data, at + MAX_TIME_AT, 8)
        columns.leader_epoch[row] = signed(data, at + LEADER_EPOCH_AT, 4)
        columns.position[row] = at
        columns.size[row] = end - at
        columns.crc[row] = crc
        columns.sound[row] = 1
        row += 1
        at = end
    return at, row
