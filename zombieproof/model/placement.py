"""Where things live: the partition of an internal topic that owns an id or a group, and that of a record with a key.

Source: reference §1; ``Utils.abs(id.hashCode) % partitions`` in ``TransactionStateManager`` and ``GroupCoordinator``.
"""

from functools import lru_cache


def java_hash(text: str) -> int:
    """``String.hashCode`` of Java: 32 bit, over UTF-16 units."""
    encoded = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for high, low in zip(encoded[::2], encoded[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


@lru_cache(1 << 16)
def partition_for(name: str, partitions: int) -> int:
    """The partition of ``__transaction_state`` or ``__consumer_offsets`` that owns an id or a group (reference §1)."""
    value = java_hash(name)
    return (0 if value == -(1 << 31) else abs(value)) % partitions


_M = 0x5BD1E995
_SEED = 0x9747B28C


def murmur2(data: bytes) -> int:
    """The hash that Kafka's producers choose partitions by: 32 bit, unsigned (``Utils.murmur2``)."""
    value = (_SEED ^ len(data)) & 0xFFFFFFFF
    whole = len(data) & ~3
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at : at + 4], "little") * _M & 0xFFFFFFFF
        word = (word ^ word >> 24) * _M & 0xFFFFFFFF
        value = (value * _M & 0xFFFFFFFF) ^ word
    if whole < len(data):
        value = (value ^ int.from_bytes(data[whole:], "little")) * _M & 0xFFFFFFFF
    value = (value ^ value >> 13) * _M & 0xFFFFFFFF
    return value ^ value >> 15


def partition_of_key(key: bytes, partitions: int) -> int:
    """The partition of a record with a key (``BuiltInPartitioner.partitionForKey``)."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions
