"""Logs for the audit's benchmark: many transactions of many producers that conform, written fast.

One partition has `EVENTS` batches in `SEGMENTS` segments; every other partition is a link to the same files, so a
hundred of them need the disk of one. That is what a topic looks like of which each transaction writes to every
partition alike.
"""

from collections.abc import Iterator
from os import link
from pathlib import Path

import crc32c

from zombieproof.formats.control_records import EndMarker, write_end_marker
from zombieproof.formats.record_batch import (
    ATTRIBUTES_TO_COUNT,
    CHECKSUMMED_FROM,
    CONTROL_BIT,
    HEADER,
    LOG_OVERHEAD,
    MAGIC,
    TRANSACTIONAL_BIT,
)
from zombieproof.formats.stored_records import StoredRecord, write_section
from zombieproof.model.vocabulary import NONE

EVENTS = 1_000_000
SEGMENTS = 2
PRODUCERS = 20
IN_A_TRANSACTION = 10
"""Batches: data, and the marker behind it, which raises the epoch as transaction version 2 does."""
ABORTED = 20
"""One transaction of so many is aborted."""
VALUE = b"v" * 100
BEGAN_MS = 1_700_000_000_000
DATA = write_section([StoredRecord(0, 0, b"key", VALUE)])
MARKERS = {commits: write_section([StoredRecord(0, 0, *write_end_marker(EndMarker(commits, 3)))]) for commits in (0, 1)}


def batches(first: int, count: int, *, producers: int = PRODUCERS) -> Iterator[bytes]:
    """Batches of one record each, from an offset on: producers take turns, so their transactions overlap."""
    for offset in range(first, first + count):
        turn, producer = divmod(offset, producers)
        transaction, place = divmod(turn, IN_A_TRANSACTION)
        is_end = place == IN_A_TRANSACTION - 1
        section = MARKERS[transaction % ABORTED != 0] if is_end else DATA
        attributes = TRANSACTIONAL_BIT | (CONTROL_BIT if is_end else 0)
        epoch, sequence = transaction + is_end, NONE if is_end else place
        time = BEGAN_MS + offset // 5
        covered = ATTRIBUTES_TO_COUNT.pack(attributes, 0, time, time, 1000 + producer, epoch, sequence, 1) + section
        length = len(covered) + CHECKSUMMED_FROM - LOG_OVERHEAD
        yield (
            HEADER.pack(offset, length, 1, MAGIC, crc32c.crc32c(covered), *ATTRIBUTES_TO_COUNT.unpack_from(covered))[
                :CHECKSUMMED_FROM
            ]
            + covered
        )


def write_logs(folder: Path, partitions: int, events: int = EVENTS) -> None:
    """Write a topic with so many partitions of `events` batches each."""
    first = folder / "topic-0"
    first.mkdir(parents=True)
    in_each = -(-events // SEGMENTS)
    for begin in range(0, events, in_each):
        with (first / f"{begin:020}.log").open("wb", buffering=1 << 20) as file:
            file.writelines(batches(begin, min(in_each, events - begin)))
    for number in range(1, partitions):
        other = folder / f"topic-{number}"
        other.mkdir()
        for segment in first.iterdir():
            link(segment, other / segment.name)
