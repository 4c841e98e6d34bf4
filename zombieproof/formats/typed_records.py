"""Records of the internal topics between their bytes and what coordinators make of them.

Keys and values of types and versions that are not known stay bytes, both ways: a coordinator passes them over, and the
log keeps them.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from zombieproof.formats import offsets_log, transaction_log
from zombieproof.formats.batches import GroupKey, GroupValue, OffsetKey, OffsetValue, Record, TransactionValue
from zombieproof.formats.faults import Unwritable
from zombieproof.formats.primitives import INT16
from zombieproof.formats.schema import Schema
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE


class ValueVersions(NamedTuple):
    """Which versions of values a broker writes into the internal topics; the defaults are those of Kafka 4.3."""

    transaction: int = transaction_log.FLEXIBLE_VERSION
    offset: int = offsets_log.OFFSET_VALUE_VERSION
    group: int = offsets_log.GROUP_VALUE_VERSION


KAFKA_4_3 = ValueVersions()


def read_typed(topic: str, record: Record) -> Record:
    """The record of `topic` as its coordinator knows it; a record of any other topic as it is.

    Raises:
        Undecodable: key or value are not what their type and version say.
    """
    read = READERS.get(topic)
    if read is None or not isinstance(record.key, bytes):
        return record
    assert record.value is None or isinstance(record.value, bytes), "what is read is bytes"
    return read(record, record.key, record.value)


def write_typed(record: Record, versions: ValueVersions = KAFKA_4_3) -> tuple[bytes | None, bytes | None]:
    """Key and value of a record in bytes.

    Raises:
        Unwritable: the log has no place for it, or key and value do not belong together.
    """
    key = record.key
    match record.value:
        case None | bytes() as value:
            return _key(key), value
        case TransactionValue() as value if isinstance(key, str):
            return _key(key), transaction_log.write_value(value, versions.transaction)
        case OffsetValue() as value if isinstance(key, OffsetKey):
            return _key(key), offsets_log.write_offset(value, versions.offset)
        case GroupValue() as value if isinstance(key, GroupKey):
            return _key(key), offsets_log.write_group(value, versions.group)
    raise Unwritable(f"a {type(record.value).__name__} does not belong under the key {key!r}")


def _key(key: object) -> bytes | None:
    if key is None or isinstance(key, bytes):
        return key
    if isinstance(key, str):
        return transaction_log.write_key(key)
    assert isinstance(key, OffsetKey | GroupKey), f"{key!r} is no key"
    return offsets_log.write_key(key)


def _read_transaction(record: Record, key: bytes, value: bytes | None) -> Record:
    transactional_id = transaction_log.read_key(key)
    if transactional_id is None or not _is_known(transaction_log.VALUE, value):
        return record
    return replace(record, key=transactional_id, value=None if value is None else transaction_log.read_value(value))


def _read_offsets(record: Record, key: bytes, value: bytes | None) -> Record:
    owner = offsets_log.read_key(key)
    match owner:
        case OffsetKey() if _is_known(offsets_log.OFFSET_VALUE, value):
            return replace(record, key=owner, value=None if value is None else offsets_log.read_offset(value))
        case GroupKey() if _is_known(offsets_log.GROUP_VALUE, value):
            return replace(record, key=owner, value=None if value is None else offsets_log.read_group(value))
    return record


def _is_known(schema: Schema, value: bytes | None) -> bool:
    """Whether a value is of a version that can be read; bytes too short to say are for the reader to refuse."""
    if value is None or len(value) < INT16.size:
        return True
    (version,) = INT16.unpack_from(value)
    return bool(schema.versions[0] <= version <= schema.versions[1])


READERS: Mapping[str, Callable[[Record, bytes, bytes | None], Record]] = {
    TRANSACTION_STATE: _read_transaction,
    CONSUMER_OFFSETS: _read_offsets,
}
