"""Records of ``__transaction_state`` as evidence, and as Kafka's tools show them."""

from collections.abc import Iterator

from zombieproof.formats.batches import TransactionValue
from zombieproof.formats.faults import Undecodable
from zombieproof.formats.schema import read_message
from zombieproof.formats.transaction_log import FLEXIBLE_VERSION, VALUE, durable_state, partitions_of, read_key
from zombieproof.model.vocabulary import NONE
from zombieproof.traces.evidence import LoggedBatch, TransactionLogValue, TransactionStateRecord


def read_value(value: bytes) -> TransactionLogValue:
    """The value of a record that is no tombstone; tagged fields of later releases are skipped.

    Raises:
        Undecodable: the bytes are not a value of version 0 or 1.
    """
    version, fields, _ = read_message(VALUE, value)
    flexible = version >= FLEXIBLE_VERSION
    return TransactionLogValue(
        producer_id=fields["ProducerId"],
        previous_producer_id=fields.get("PreviousProducerId", NONE) if flexible else None,
        next_producer_id=fields.get("NextProducerId", NONE) if flexible else None,
        producer_epoch=fields["ProducerEpoch"],
        timeout_ms=fields["TransactionTimeoutMs"],
        state=durable_state(fields["TransactionStatus"]),
        partitions=partitions_of(fields),
        last_update_ms=fields["TransactionLastUpdateTimestampMs"],
        start_ms=fields["TransactionStartTimestampMs"],
        client_transaction_version=fields.get("ClientTransactionVersion", 0) if flexible else None,
    )


def read_batch(batch: LoggedBatch, partition: int) -> Iterator[TransactionStateRecord]:
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


def shown(transactional_id: str, value: TransactionValue | None) -> str:
    """Key and value as the log dump shows them up to Kafka 4.0; a tombstone is ``<DELETE>``."""
    key = f"transaction_metadata::transactionalId={transactional_id}"
    if value is None:
        return f"{key} payload: <DELETE>"
    partitions = ",".join(f"{topic}-{number}" for topic, number in sorted(value.partitions))
    state = "".join(word.capitalize() for word in value.state.name.split("_"))
    return (
        f"{key} payload: producerId:{value.producer_id},producerEpoch:{value.producer_epoch},state={state},"
        f"partitions=[{partitions}],txnLastUpdateTimestamp={value.last_update_ms},txnTimeoutMs={value.timeout_ms}"
    )
