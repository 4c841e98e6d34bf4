"""Where things live: the partition of an internal topic that owns a transactional id or a consumer group.

Source: reference §1; ``Utils.abs(id.hashCode) % partitions`` in ``TransactionStateManager`` and ``GroupCoordinator``.
"""


def java_hash(text: str) -> int:
    """``String.hashCode`` of Java: 32 bit, over UTF-16 units."""
    encoded = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for high, low in zip(encoded[::2], encoded[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def partition_for(name: str, partitions: int) -> int:
    """The partition of ``__transaction_state`` or ``__consumer_offsets`` that owns an id or a group (reference §1)."""
    value = java_hash(name)
    return (0 if value == -(1 << 31) else abs(value)) % partitions
