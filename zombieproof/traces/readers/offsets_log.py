"""Offset commits in ``__consumer_offsets`` as evidence."""

from collections.abc import Iterator

from zombieproof.formats.batches import OffsetKey, OffsetValue
from zombieproof.formats.faults import Undecodable
from zombieproof.formats.offsets_log import read_key, read_offset
from zombieproof.model.vocabulary import NONE
from zombieproof.traces.evidence import LoggedBatch, OffsetCommitRecord


def commit_record(
    batch: LoggedBatch, log_partition: int, log_offset: int, key: OffsetKey, value: OffsetValue | None
) -> OffsetCommitRecord:
    """The record that `key` and `value` (None: tombstone) are, with what its batch says of the producer."""
    return OffsetCommitRecord(
        group=key.group,
        topic=key.topic,
        partition=key.partition,
        offset=None if value is None else value.offset,
        metadata=None if value is None else value.metadata,
        timestamp_ms=NONE if value is None else value.committed_ms,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        is_transactional=batch.is_transactional,
        log_partition=log_partition,
        log_offset=log_offset,
        file=batch.file,
    )


def read_batch(batch: LoggedBatch, partition: int) -> Iterator[OffsetCommitRecord]:
    """The offset commits in a sound batch of ``__consumer_offsets-<partition>`` whose `records` were kept.

    Raises:
        Undecodable: a record is not what a group coordinator writes; the message names its offset.
    """
    for record in batch.records or ():
        if batch.is_control or record.key is None:
            continue
        try:
            key = read_key(record.key)
            if not isinstance(key, OffsetKey):
                continue
            value = None if record.value is None else read_offset(record.value)
        except Undecodable as fault:
            raise Undecodable(f"the record at offset {record.offset} cannot be read: {fault}") from fault
        yield commit_record(batch, partition, record.offset, key, value)
