"""Logs for the audit's benchmark: many transactions of many producers that conform, written fast.

One partition has `EVENTS` batches in `SEGMENTS` segments; every other partition is a link to the same files, so a
hundred of them need the disk of one. That is what a topic looks like of which each transaction writes to every
partition alike.
"""

from collections.abc import Iterator
from os import link
from pathlib import Path

import crc32c

from zombieproof.formats.batches import TransactionValue
from zombieproof.formats.control_records import EndMarker, write_end_marker
from zombieproof.formats.record_batch import (
    ATTRIBUTES_TO_COUNT,
    CHECKSUMMED_FROM,
    CONTROL_BIT,
    HEADER,
    LOG_OVERHEAD,
    MAGIC,
    TRANSACTIONAL_BIT,
    BatchHeader,
    write_batch,
)
from zombieproof.formats.stored_records import StoredRecord, write_section
from zombieproof.formats.transaction_log import FLEXIBLE_VERSION, write_key, write_value
from zombieproof.model.vocabulary import NONE, TransactionState

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


def write_coordinator(folder: Path, events: int = EVENTS) -> None:
    """Write the coordinator's log beside it, as compaction leaves it: how each id's last transaction ended."""
    state = folder / "__transaction_state-0"
    state.mkdir(parents=True)
    last, time = events // PRODUCERS // IN_A_TRANSACTION - 1, BEGAN_MS + events // 5
    with (state / f"{0:020}.log").open("wb") as file:
        for producer in range(PRODUCERS):
            how = TransactionState.COMPLETE_COMMIT if last % ABORTED else TransactionState.COMPLETE_ABORT
            pid, began = 1000 + producer, time - 1000
            value = TransactionValue(pid, pid, NONE, last + 1, NONE, 60_000, how, frozenset(), time, began, 2)
            record = StoredRecord(0, 0, write_key(f"id-{producer}"), write_value(value, FLEXIBLE_VERSION))
            offset = (last + 1) * PRODUCERS + producer  # those of earlier ones are cleaned away
            file.write(
                write_batch(BatchHeader(offset, 0, 1, MAGIC, 0, 0, 0, time, time, NONE, NONE, NONE, 1), [record])
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
