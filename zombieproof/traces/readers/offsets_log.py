"""Offset commits in ``__consumer_offsets`` as the group coordinator writes them: values 0 to 4 (reference §7.2)."""

from collections.abc import Iterator
from dataclasses import dataclass

from zombieproof.model.vocabulary import NONE
from zombieproof.traces.evidence import Batch, OffsetCommitRecord
from zombieproof.traces.readers.codecs import Undecodable
from zombieproof.traces.readers.primitives import Fields

OFFSET_COMMIT_TYPES = (0, 1)
NEWEST_VALUE = 4


@dataclass(frozen=True, slots=True)
class OffsetKey:
    """Whose offset it is."""

    group: str
    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class OffsetValue:
    """The committed offset; `timestamp_ms` is `NONE` where the source does not print it."""

    offset: int
    metadata: str
    timestamp_ms: int = NONE


def read_key(key: bytes) -> OffsetKey | None:
    """Group, topic and partition; None for records of other types (group metadata and such).

    Raises:
        Undecodable: the bytes are not a key.
    """
    fields = Fields(key)
    if fields.int16() not in OFFSET_COMMIT_TYPES:
        return None
    return OffsetKey(fields.string(), fields.string(), fields.int32())


def read_value(value: bytes) -> OffsetValue:
    """The value of a commit that is no tombstone.

    Raises:
        Undecodable: the bytes are not a value of version 0 to 4.
    """
    fields = Fields(value)
    version = fields.int16()
    if not 0 <= version <= NEWEST_VALUE:
        raise Undecodable(f"version {version} of the value is unknown; versions 0 to {NEWEST_VALUE} are read")
    offset = fields.int64()
    if version >= 3:
        fields.int32()
    return OffsetValue(offset, fields.string(compact=version >= 4), fields.int64())


def commit_record(
    batch: Batch, log_partition: int, log_offset: int, key: OffsetKey, value: OffsetValue | None
) -> OffsetCommitRecord:
    """The record that `key` and `value` (None: tombstone) are, with what its batch says of the producer."""
    return OffsetCommitRecord(
        group=key.group,
        topic=key.topic,
        partition=key.partition,
        offset=None if value is None else value.offset,
        metadata=None if value is None else value.metadata,
        timestamp_ms=NONE if value is None else value.timestamp_ms,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        is_transactional=batch.is_transactional,
        log_partition=log_partition,
        log_offset=log_offset,
        file=batch.file,
    )


def read_batch(batch: Batch, partition: int) -> Iterator[OffsetCommitRecord]:
    """The offset commits in a sound batch of ``__consumer_offsets-<partition>`` whose `records` were kept.

    Raises:
        Undecodable: a record is not what a group coordinator writes; the message names its offset.
    """
    for record in batch.records or ():
        if batch.is_control or record.key is None:
            continue
        try:
            key = read_key(record.key)
            value = None if key is None or record.value is None else read_value(record.value)
        except Undecodable as fault:
            raise Undecodable(f"the record at offset {record.offset} cannot be read: {fault}") from fault
        if key is not None:
            yield commit_record(batch, partition, record.offset, key, value)
