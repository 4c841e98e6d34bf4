"""Records of ``__transaction_state`` as the coordinator writes them: key, value versions 0 and 1 (reference §7.1)."""

from collections.abc import Iterator
from typing import NamedTuple

from zombieproof.formats.topics import TopicPartition
from zombieproof.model.vocabulary import NONE, TransactionState
from zombieproof.traces.evidence import Batch, TransactionLogValue, TransactionStateRecord
from zombieproof.traces.readers.codecs import Undecodable
from zombieproof.traces.readers.primitives import INT16, INT64, Fields, tagged

KEY_TYPE = 0
LAST_DURABLE_STATE = TransactionState.COMPLETE_ABORT
KNOWN_TAGS = frozenset({0, 1, 2, 3})
"""Previous and next producer id, client transaction version, and the next producer epoch, which nobody writes."""


def read_key(key: bytes) -> str | None:
    """The transactional id; None for a record of another type, which a coordinator ignores.

    Raises:
        Undecodable: the bytes are not a key.
    """
    fields = Fields(key)
    return fields.string() if fields.int16() == KEY_TYPE else None


class UnknownTags(NamedTuple):
    """The tagged fields of a value that no release up to now has: of the value itself, and of its topics."""

    of_value: dict[int, bytes]
    of_topics: dict[str, dict[int, bytes]]


def read_value(value: bytes) -> TransactionLogValue:
    """The value of a record that is no tombstone; tagged fields of later releases are skipped.

    Raises:
        Undecodable: the bytes are not a value of version 0 or 1.
    """
    known, _ = read_value_and_unknown_tags(value)
    return known


def read_value_and_unknown_tags(value: bytes) -> tuple[TransactionLogValue, UnknownTags]:
    """The value of a record, and beside it what a later release added to it.

    Raises:
        Undecodable: the bytes are not a value of version 0 or 1.
    """
    fields = Fields(value)
    version = fields.int16()
    if version not in (0, 1):
        raise Undecodable(f"version {version} of the value is unknown; versions 0 and 1 are read")
    flexible = version == 1
    producer_id, epoch, timeout = fields.int64(), fields.int16(), fields.int32()
    state = durable_state(fields.int8())
    partitions, of_topics = _partitions(fields, flexible)
    last_update, start = fields.int64(), fields.int64()
    tags = fields.tags() if flexible else {}
    unknown = UnknownTags({tag: data for tag, data in tags.items() if tag not in KNOWN_TAGS}, of_topics)
    known = TransactionLogValue(
        producer_id=producer_id,
        previous_producer_id=tagged(tags, 0, INT64, NONE) if flexible else None,
        next_producer_id=tagged(tags, 1, INT64, NONE) if flexible else None,
        producer_epoch=epoch,
        timeout_ms=timeout,
        state=state,
        partitions=partitions,
        last_update_ms=last_update,
        start_ms=start,
        client_transaction_version=tagged(tags, 2, INT16, 0) if flexible else None,
    )
    return known, unknown


def durable_state(number: int) -> TransactionState:
    """The state with that number in the log.

    Raises:
        Undecodable: no state that is ever written has it.
    """
    if not 0 <= number <= LAST_DURABLE_STATE:
        raise Undecodable(f"{number} is no state of a transaction; 0 to {int(LAST_DURABLE_STATE)} are")
    return TransactionState(number)


def _partitions(fields: Fields, flexible: bool) -> tuple[frozenset[TopicPartition], dict[str, dict[int, bytes]]]:
    """The partitions, and for each topic that has some the tagged fields: all of them are unknown."""
    found, unknown = set(), {}
    for _ in range(fields.count(compact=flexible) or 0):
        topic = fields.string(compact=flexible)
        for _ in range(fields.count(compact=flexible) or 0):
            found.add((topic, fields.int32()))
        tags = fields.tags() if flexible else {}
        if tags:
            unknown[topic] = tags
    return frozenset(found), unknown


def read_batch(batch: Batch, partition: int) -> Iterator[TransactionStateRecord]:
    """The records of a sound batch of ``__transaction_state-<partition>`` whose `records` were kept.

    Raises:
        Undecodable: a record is not what a coordinator writes; the message names its offset.
    """
    for record in batch.records or ():
        if batch.is_control or record.key is None:
            continue
        try:
            transactional_id = read_key(record.key)
            value = None if transactional_id is None or record.value is None else read_value(record.value)
        except Undecodable as fault:
            raise Undecodable(f"the record at offset {record.offset} cannot be read: {fault}") from fault
        if transactional_id is not None:
            yield TransactionStateRecord(
                transactional_id, partition, record.offset, record.timestamp_ms, value, batch.file, record.offset
            )
