"""Which partition a record goes to: by its key, else the same one until a batch is full.

Source: ``BuiltInPartitioner.java``; KIP-480, KIP-794.
"""

from collections.abc import Sequence
from random import Random

from zombieproof.model.placement import partition_of_key


class Partitioner:
    """The partitioner of one producer.

    Args:
        name: producers of different names begin at different partitions; one of the same name does the same again.
        batch_size: after so many bytes without a key another partition has its turn.
        ignores_keys: a record with a key is treated as one without.
    """

    def __init__(self, name: str, batch_size: int, *, ignores_keys: bool) -> None:
        self._random, self._batch_size, self._ignores_keys = Random(name), max(batch_size, 1), ignores_keys
        self._sticky: dict[str, tuple[int, int]] = {}

    def choose(self, topic: str, key: bytes | None, count: int, available: Sequence[int], size: int) -> int:
        """The partition of a record of `size` bytes.

        Args:
            topic: its topic.
            key: its key.
            count: how many partitions the topic has.
            available: those that have a leader now; none: any.
            size: how large the record is.
        """
        if key is not None and not self._ignores_keys:
            return partition_of_key(key, count)
        chosen, left = self._sticky.get(topic, (0, 0))
        if left <= 0 or (available and chosen not in available):
            others = [number for number in available or range(count) if number != chosen or topic not in self._sticky]
            chosen, left = self._random.choice(others or [chosen]), self._batch_size
        self._sticky[topic] = chosen, left - size
        return chosen
