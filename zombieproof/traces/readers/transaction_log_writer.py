"""Records of ``__transaction_state`` as a coordinator writes them, and as Kafka's tools show them.

The other side of ``transaction_log`` (reference §7.1, §9.3). Partitions are written in order, so that
equal values are equal bytes; Kafka's own order is that of a hash set.
"""

from itertools import groupby
from operator import itemgetter
from struct import pack

from zombieproof.model.vocabulary import NONE, TransactionState
from zombieproof.traces.evidence import TransactionLogValue
from zombieproof.traces.readers.transaction_log import KEY_TYPE, LAST_DURABLE_STATE

FLEXIBLE_VERSION = 1
PREVIOUS_PRODUCER_ID, NEXT_PRODUCER_ID, CLIENT_TRANSACTION_VERSION = 0, 1, 2
"""Numbers of the tagged fields."""


class Unwritable(ValueError):
    """A value that no coordinator writes: an ``IllegalStateException`` in Kafka."""


def value_version(transaction_version: int) -> int:
    """The version of the values that a cluster of this transaction version writes: flexible from 1 on."""
    return FLEXIBLE_VERSION if transaction_version >= 1 else 0


def write_key(transactional_id: str) -> bytes:
    """The key of an id's records."""
    return pack(">h", KEY_TYPE) + _string(transactional_id)


def write_value(value: TransactionLogValue, version: int) -> bytes:
    """The value of a record; what is None in `value` is written as Kafka's "none".

    Version 0 has no place for previous and next producer id and the client's transaction version.

    Raises:
        Unwritable: the state is never durable, an empty id has partitions, or there is no such version.
    """
    if version not in (0, FLEXIBLE_VERSION):
        raise Unwritable(f"version {version} of the value is unknown; versions 0 and {FLEXIBLE_VERSION} are written")
    if value.state > LAST_DURABLE_STATE:
        raise Unwritable(f"{value.state.name} is never written; it is only ever pending")
    if value.state == TransactionState.EMPTY and value.partitions:
        raise Unwritable(f"an id in EMPTY has no transaction, and so no partitions; got {sorted(value.partitions)}")
    flexible = version == FLEXIBLE_VERSION
    head = pack(">hqhib", version, value.producer_id, value.producer_epoch, value.timeout_ms, value.state)
    start_ms = NONE if value.start_ms is None else value.start_ms
    times = pack(">qq", value.last_update_ms, start_ms)
    return head + _partitions(value, flexible) + times + (_tags(value) if flexible else b"")


def shown(transactional_id: str, value: TransactionLogValue | None) -> str:
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


def _partitions(value: TransactionLogValue, flexible: bool) -> bytes:
    if value.state == TransactionState.EMPTY:
        return _uvarint(0) if flexible else pack(">i", -1)
    topics = [
        (topic, [number for _, number in rows]) for topic, rows in groupby(sorted(value.partitions), itemgetter(0))
    ]
    written = _uvarint(len(topics) + 1) if flexible else pack(">i", len(topics))
    for topic, numbers in topics:
        name = topic.encode()
        written += _uvarint(len(name) + 1) + name if flexible else _string(topic)
        written += _uvarint(len(numbers) + 1) if flexible else pack(">i", len(numbers))
        written += b"".join(pack(">i", number) for number in numbers)
        written += _uvarint(0) if flexible else b""
    return written


def _tags(value: TransactionLogValue) -> bytes:
    """The tagged fields, ascending; those that say "none" are left out."""
    previous, following = value.previous_producer_id, value.next_producer_id
    fields = {}
    if previous is not None and previous != NONE:
        fields[PREVIOUS_PRODUCER_ID] = pack(">q", previous)
    if following is not None and following != NONE:
        fields[NEXT_PRODUCER_ID] = pack(">q", following)
    if value.client_transaction_version:
        fields[CLIENT_TRANSACTION_VERSION] = pack(">h", value.client_transaction_version)
    return _uvarint(len(fields)) + b"".join(_uvarint(tag) + _uvarint(len(data)) + data for tag, data in fields.items())


def _string(text: str) -> bytes:
    data = text.encode()
    return pack(">h", len(data)) + data


def _uvarint(number: int) -> bytes:
    written = b""
    while number >= 0x80:
        written += bytes([number & 0x7F | 0x80])
        number >>= 7
    return written + bytes([number])
