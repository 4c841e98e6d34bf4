"""Producer state snapshots of a partition, ``<offset>.snapshot`` (reference §3.7).

int16 version 1, uint32 CRC-32C over everything behind it, int32 count, then 50 bytes for each producer.
Source: ``ProducerStateManager.writeSnapshot``, ``readSnapshot``.
"""

from collections.abc import Iterable
from struct import Struct
from typing import NamedTuple

import crc32c

from zombieproof.formats.faults import Undecodable

HEADER = Struct(">hIi")
ENTRY = Struct(">qhiqiqiq")
COUNT = Struct(">i")

VERSION = 1
CHECKSUMMED_FROM = 6


class SnapshotEntry(NamedTuple):
    """What a snapshot says of one producer, field by field. Where a producer has no batch, -1, -1 and 0 say so.

    `current_txn_first_offset` is -1 where no transaction is open.
    """

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    last_timestamp_ms: int
    coordinator_epoch: int
    current_txn_first_offset: int


def has_snapshot_form(data: bytes | memoryview) -> bool:
    """Whether these bytes are a snapshot with a valid checksum, whatever the file is called."""
    if len(data) < HEADER.size or (len(data) - HEADER.size) % ENTRY.size:
        return False
    version, crc, _ = HEADER.unpack_from(data)
    return bool(version == VERSION and crc32c.crc32c(data[CHECKSUMMED_FROM:]) == crc)


def read_snapshot(data: bytes | memoryview) -> tuple[SnapshotEntry, ...]:
    """The entries of a snapshot.

    Raises:
        Undecodable: another version, a bad checksum, or a wrong size; Kafka deletes such a snapshot and rebuilds.
    """
    if len(data) < HEADER.size:
        raise Undecodable(f"a snapshot has at least {HEADER.size} bytes, this one has {len(data)}", 0)
    version, crc, count = HEADER.unpack_from(data)
    if version != VERSION:
        raise Undecodable(f"version {version} of producer snapshots is unknown; version {VERSION} is read", 0)
    if crc32c.crc32c(data[CHECKSUMMED_FROM:]) != crc:
        raise Undecodable(f"the snapshot does not match its CRC {crc}", 2)
    if len(data) != HEADER.size + count * ENTRY.size:
        raise Undecodable(f"{count} entries do not fill {len(data) - HEADER.size} bytes", CHECKSUMMED_FROM)
    return tuple(map(SnapshotEntry._make, ENTRY.iter_unpack(data[HEADER.size :])))


def write_snapshot(entries: Iterable[SnapshotEntry]) -> bytes:
    """The snapshot of these entries."""
    body = b"".join(ENTRY.pack(*entry) for entry in entries)
    count = len(body) // ENTRY.size
    return HEADER.pack(VERSION, crc32c.crc32c(COUNT.pack(count) + body), count) + body
