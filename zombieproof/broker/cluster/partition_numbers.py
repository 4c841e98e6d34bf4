"""Topic partitions as bits: decisions know a set of partitions as a mask (reference §2.2, ``records.Transaction``)."""

from collections.abc import Iterable

from zombieproof.formats.topics import TopicPartition


class PartitionNumbers:
    """Gives each topic partition a bit when it is first seen, for as long as the cluster lives."""

    def __init__(self) -> None:
        self._numbers: dict[TopicPartition, int] = {}

    def mask(self, partitions: Iterable[TopicPartition]) -> int:
        """The set of `partitions` as a mask."""
        mask = 0
        for partition in partitions:
            mask |= 1 << self._numbers.setdefault(partition, len(self._numbers))
        return mask

    def partitions(self, mask: int) -> frozenset[TopicPartition]:
        """The set that `mask` stands for."""
        return frozenset(partition for partition, number in self._numbers.items() if mask >> number & 1)
