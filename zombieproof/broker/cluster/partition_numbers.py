"""Topic partitions as bits: decisions know a set of partitions as a mask (reference §2.2, ``records.Transaction``)."""

import heapq
from collections.abc import Iterable

from zombieproof.formats.topics import TopicPartition

FEWEST = 64
"""As many numbers are given out before anybody looks which are still needed."""


class PartitionNumbers:
    """Gives each topic partition a bit when it is seen, the lowest that is free, and takes back what nobody mentions.

    Masks mean something only to the broker whose numbers these are: what is written holds names.
    """

    def __init__(self) -> None:
        self._numbers: dict[TopicPartition, int] = {}
        self._partitions: dict[int, TopicPartition] = {}
        self._free: list[int] = []
        self._given = 0
        self._enough = FEWEST

    def __len__(self) -> int:
        return len(self._numbers)

    def mask(self, partitions: Iterable[TopicPartition]) -> int:
        """The set of `partitions` as a mask."""
        mask = 0
        for partition in partitions:
            number = self._numbers.get(partition)
            mask |= 1 << (self._give(partition) if number is None else number)
        return mask

    def _give(self, partition: TopicPartition) -> int:
        number = heapq.heappop(self._free) if self._free else len(self._numbers)
        self._numbers[partition], self._partitions[number] = number, partition
        self._given += 1
        return number

    def partitions(self, mask: int) -> frozenset[TopicPartition]:
        """The set that `mask` stands for."""
        return frozenset(self._partitions[number] for number in _bits(mask))

    @property
    def may_free(self) -> bool:
        """Whether so many were given out since `free_others` that it is worth looking again."""
        return self._given >= self._enough

    def free_others(self, mentioned: Iterable[int]) -> None:
        """Keep the numbers of the masks that are `mentioned`; the others can be given to other partitions.

        Whoever holds a mask that is not mentioned must forget it. The next look is due when as many numbers were given
        out as were looked at now, so that looking costs no more than giving.
        """
        kept, looked_at = 0, 0
        for mask in mentioned:
            kept |= mask
            looked_at += 1
        for partition, number in list(self._numbers.items()):
            if not kept >> number & 1:
                del self._numbers[partition], self._partitions[number]
                heapq.heappush(self._free, number)
        self._given, self._enough = 0, max(FEWEST, looked_at, len(self._numbers))


def _bits(mask: int) -> Iterable[int]:
    """The numbers of the bits of `mask` that are set, the lowest first."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
