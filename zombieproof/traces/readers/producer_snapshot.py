"""Producer state snapshots of a partition, ``<offset>.snapshot`` (reference §3.7).

int16 version 1, uint32 CRC-32C over everything behind it, int32 count, then 50 bytes for each producer.
"""

from struct import Struct

import crc32c

from zombieproof.model.vocabulary import NONE
from zombieproof.traces.evidence import ProducerSnapshotEntry
from zombieproof.traces.readers.codecs import Undecodable

HEADER = Struct(">hIi")
ENTRY = Struct(">qhiqiqiq")
"""producerId, epoch, lastSequence, lastOffset, offsetDelta, timestamp, coordinatorEpoch, currentTxnFirstOffset."""

VERSION = 1
CHECKSUMMED_FROM = 6


def has_snapshot_form(data: memoryview) -> bool:
    """Whether these bytes are a snapshot with a valid checksum, whatever the file is called."""
    if len(data) < HEADER.size or (len(data) - HEADER.size) % ENTRY.size:
        return False
    version, crc, _ = HEADER.unpack_from(data)
    return bool(version == VERSION and crc32c.crc32c(data[CHECKSUMMED_FROM:]) == crc)


def read_snapshot(data: memoryview) -> tuple[ProducerSnapshotEntry, ...]:
    """The entries of a snapshot.

    Raises:
        Undecodable: another version, a bad checksum, or a wrong size; Kafka deletes such a snapshot and rebuilds.
    """
    if len(data) < HEADER.size:
        raise Undecodable(f"a snapshot has at least {HEADER.size} bytes, this one has {len(data)}")
    version, crc, count = HEADER.unpack_from(data)
    if version != VERSION:
        raise Undecodable(f"version {version} of producer snapshots is unknown; version {VERSION} is read")
    if crc32c.crc32c(data[CHECKSUMMED_FROM:]) != crc:
        raise Undecodable(f"the snapshot does not match its CRC {crc}")
    if len(data) != HEADER.size + count * ENTRY.size:
        raise Undecodable(f"{count} entries do not fill {len(data) - HEADER.size} bytes")
    return tuple(_entry(data, HEADER.size + index * ENTRY.size) for index in range(count))


def _entry(data: memoryview, at: int) -> ProducerSnapshotEntry:
    producer_id, epoch, last_sequence, last_offset, delta, timestamp, coordinator_epoch, first = ENTRY.unpack_from(
        data, at
    )
    has_batch = last_offset != NONE
    return ProducerSnapshotEntry(
        producer_id=producer_id,
        producer_epoch=epoch,
        coordinator_epoch=coordinator_epoch,
        current_txn_first_offset=None if first == NONE else first,
        last_timestamp_ms=timestamp,
        last_sequence=last_sequence if has_batch else NONE,
        last_offset=last_offset,
        offset_delta=delta if has_batch else 0,
    )
