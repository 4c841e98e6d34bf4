"""What the checker leaves out of what a cluster knows: one function for each, with the reason."""

from dataclasses import replace

from zombieproof.bridge.names import Names
from zombieproof.bridge.requests import (
    PARTITIONS,
)
from zombieproof.checker.transactions.state import CheckedEntry
from zombieproof.formats.batches import Batch, OffsetValue
from zombieproof.formats.topics import TopicPartition
from zombieproof.model.records import Transaction
from zombieproof.model.vocabulary import NONE


def without_time(transaction: Transaction) -> Transaction:
    """Times are 0 where they are set: in the checker a time-out may happen whenever something is open."""
    return replace(
        transaction,
        timeout_ms=int(transaction.timeout_ms != 0),
        start_ms=NONE if transaction.start_ms == NONE else 0,
        last_update_ms=NONE if transaction.last_update_ms == NONE else 0,
    )


def in_first_use(partitions: frozenset[TopicPartition]) -> int:
    """A set of partitions as a mask by the checker's numbers, not by the order in which the cluster met them."""
    return sum(1 << PARTITIONS.index(partition) for partition in partitions)


def without_group_records(batches: list[Batch]) -> dict[int, int]:
    """Offset in the log -> number among offset commits and markers.

    The log of the group's partition also holds who is a member; to the checker a rebalance is a fact without a record.
    """
    kept = [batch.base_offset for batch in batches if batch.marker is not None or not _is_of_group(batch)]
    return {offset: number for number, offset in enumerate(kept)}


def _is_of_group(batch: Batch) -> bool:
    return not all(isinstance(record.value, OffsetValue) for record in batch.records)


def without_sequence(entry: CheckedEntry) -> CheckedEntry:
    """Batches of a group coordinator all have sequence 0 and nobody looks at it; the checker says: no sequence."""
    for cached in entry.batches[: entry.batch_count]:
        cached.last_sequence = NONE
    return entry


def without_fresh_metadata(transaction: Transaction | None, names: Names) -> Transaction:
    """What a coordinator holds of an id, unless it made it up when it was deposed already (see `Names`)."""
    if transaction is None or transaction.producer_id not in names.producer_ids:
        return Transaction()
    return transaction
