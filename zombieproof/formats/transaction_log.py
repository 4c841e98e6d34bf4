"""Records of ``__transaction_state``: key, and values of versions 0 and 1 (reference §7.1).

Partitions are written in order, so that equal values are equal bytes; Kafka's own order is that of a hash set. Whoever
needs the bytes of a record as they were goes by `VALUE`, which keeps the order and what later releases added.
Source: ``TransactionLogKey.json``, ``TransactionLogValue.json`` (4.3), ``TransactionLog.java``.
"""

from itertools import groupby
from operator import itemgetter

from zombieproof.formats.batches import TransactionValue
from zombieproof.formats.faults import Undecodable, Unwritable
from zombieproof.formats.primitives import INT16, Fields, write_string
from zombieproof.formats.schema import Array, Field, Message, Schema, Struct, read_message, write_message
from zombieproof.formats.topics import TopicPartition
from zombieproof.model.vocabulary import NONE, TransactionState

KEY_TYPE = 0
LAST_DURABLE_STATE = TransactionState.COMPLETE_ABORT
FLEXIBLE_VERSION = 1

VALUE = Schema(
    "the value",
    versions=(0, FLEXIBLE_VERSION),
    flexible=FLEXIBLE_VERSION,
    fields=(
        Field("ProducerId", "int64"),
        Field("PreviousProducerId", "int64", since=1, tag=0),
        Field("NextProducerId", "int64", since=1, tag=1),
        Field("ProducerEpoch", "int16"),
        Field("NextProducerEpoch", "int16", since=1, tag=3),
        Field("TransactionTimeoutMs", "int32"),
        Field("TransactionStatus", "int8"),
        Field(
            "TransactionPartitions",
            Array((Field("Topic", "string"), Field("PartitionIds", Array("int32")))),
            nullable=True,
        ),
        Field("TransactionLastUpdateTimestampMs", "int64"),
        Field("TransactionStartTimestampMs", "int64"),
        Field("ClientTransactionVersion", "int16", since=1, tag=2),
    ),
)


def value_version(transaction_version: int) -> int:
    """The version of the values that a cluster of this transaction version writes: flexible from 1 on."""
    return FLEXIBLE_VERSION if transaction_version >= 1 else 0


def read_key(key: bytes) -> str | None:
    """The transactional id; None for a record of another type, which a coordinator ignores.

    Raises:
        Undecodable: the bytes are not a key.
    """
    fields = Fields(key)
    return fields.string() if fields.int16() == KEY_TYPE else None


def write_key(transactional_id: str) -> bytes:
    """The key of an id's records."""
    return INT16.pack(KEY_TYPE) + write_string(transactional_id)


def durable_state(number: int) -> TransactionState:
    """The state with that number in the log.

    Raises:
        Undecodable: no state that is ever written has it.
    """
    if not 0 <= number <= LAST_DURABLE_STATE:
        raise Undecodable(f"{number} is no state of a transaction; 0 to {int(LAST_DURABLE_STATE)} are")
    return TransactionState(number)


def partitions_of(fields: Struct) -> frozenset[TopicPartition]:
    """The partitions that the fields of a value name."""
    topics = fields["TransactionPartitions"] or ()
    return frozenset((topic["Topic"], number) for topic in topics for number in topic["PartitionIds"])


def read_value(value: bytes) -> TransactionValue:
    """The value of a record that is no tombstone; tagged fields of later releases are skipped.

    Raises:
        Undecodable: the bytes are not a value of version 0 or 1.
    """
    fields = read_message(VALUE, value).fields
    return TransactionValue(
        producer_id=fields["ProducerId"],
        previous_producer_id=fields.get("PreviousProducerId", NONE),
        next_producer_id=fields.get("NextProducerId", NONE),
        producer_epoch=fields["ProducerEpoch"],
        last_producer_epoch=NONE,
        timeout_ms=fields["TransactionTimeoutMs"],
        state=durable_state(fields["TransactionStatus"]),
        partitions=partitions_of(fields),
        last_update_ms=fields["TransactionLastUpdateTimestampMs"],
        start_ms=fields["TransactionStartTimestampMs"],
        client_transaction_version=fields.get("ClientTransactionVersion", 0),
        next_producer_epoch=fields.get("NextProducerEpoch", NONE),
    )


def write_value(value: TransactionValue, version: int) -> bytes:
    """The value of a record; tagged fields that say "none" are left out.

    The log has no place for the last producer epoch, and version 0 none for previous and next producer id, the client's
    transaction version and the next producer epoch.

    Raises:
        Unwritable: the state is never durable, an empty id has partitions, or there is no such version.
    """
    if value.state > LAST_DURABLE_STATE:
        raise Unwritable(f"{value.state.name} is never written; it is only ever pending")
    if value.state == TransactionState.EMPTY and value.partitions:
        raise Unwritable(f"an id in EMPTY has no transaction, and so no partitions; got {sorted(value.partitions)}")
    fields: Struct = {
        "ProducerId": value.producer_id,
        "ProducerEpoch": value.producer_epoch,
        "TransactionTimeoutMs": value.timeout_ms,
        "TransactionStatus": int(value.state),
        "TransactionPartitions": None if value.state == TransactionState.EMPTY else _topics(value),
        "TransactionLastUpdateTimestampMs": value.last_update_ms,
        "TransactionStartTimestampMs": value.start_ms,
    }
    tagged = (
        ("PreviousProducerId", value.previous_producer_id, NONE),
        ("NextProducerId", value.next_producer_id, NONE),
        ("ClientTransactionVersion", value.client_transaction_version, 0),
        ("NextProducerEpoch", value.next_producer_epoch, NONE),
    )
    fields.update((name, held) for name, held, default in tagged if held != default)
    return write_message(VALUE, Message(version, fields))


def _topics(value: TransactionValue) -> list[Struct]:
    by_topic = groupby(sorted(value.partitions), itemgetter(0))
    return [{"Topic": topic, "PartitionIds": [number for _, number in rows]} for topic, rows in by_topic]
