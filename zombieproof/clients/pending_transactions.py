"""What a consumer that buffers holds back of open transactions, in memory and, past a limit, on disk.

Theory of operation: each open transaction of a partition is a list of batches. When all of a consumer together are
larger than `most_bytes`, the largest one that is still in memory moves to a temporary file of its own, and grows there.
The file has no name in its directory: it is gone when the transaction is decided and read, when the consumer is closed,
and when its process dies, however that happens.
Source: "Transactional Messaging in Kafka", *PendingTransactionMap*.
"""

import errno
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from struct import Struct
from typing import IO

from zombieproof.formats.batches import Batch
from zombieproof.formats.encoding import read_batch, size_of, write_batch
from zombieproof.formats.topics import TopicPartition

HEAD = Struct(">qi")
"""What stands before each batch of a file: the first offset that counts of it, and its size in bytes."""


class SpillFailed(RuntimeError):
    """Held transactions are larger than their limit, and the disk does not take them. Nothing is lost."""

    def __init__(self, held_bytes: int, most_bytes: int, directory: str, reason: OSError) -> None:
        super().__init__(
            f"open transactions hold {held_bytes} bytes, pending.transactions.memory allows {most_bytes}, and "
            f"{directory} does not take them ({reason.strerror or reason}): make room there, choose another "
            "pending.transactions.dir, or allow more memory; nothing is lost"
        )


@dataclass(slots=True)
class HeldTransaction:
    """One open transaction in one partition. `first_offset`: that of its first record that counts."""

    topic: str
    first_offset: int
    batches: list[tuple[int, Batch]] = field(default_factory=list)
    size: int = 0
    file: IO[bytes] | None = None

    def __iter__(self) -> Iterator[tuple[int, Batch]]:
        """Its batches in their order, each with the first offset that counts; what is on disk is read as it goes."""
        if self.file is not None:
            self.file.seek(0)
            while head := self.file.read(HEAD.size):
                from_offset, size = HEAD.unpack(head)
                yield from_offset, read_batch(self.file.read(size), 0, self.topic)
        yield from self.batches

    def close(self) -> None:
        """Nobody reads it any more."""
        self.batches.clear()
        if self.file is not None:
            self.file.close()

    def spill(self, directory: Path | None) -> None:
        """What is in memory moves to its file.

        Raises:
            OSError: the disk did not take it: it stays in memory.
        """
        if self.file is None:
            # Without a buffer: what could not be written must not be written later.
            self.file = tempfile.TemporaryFile(buffering=0, dir=directory)  # noqa: SIM115  # `close` closes it
        end = self.file.seek(0, os.SEEK_END)
        try:
            for from_offset, batch in self.batches:
                data = write_batch(batch)
                whole = HEAD.pack(from_offset, len(data)) + data
                if self.file.write(whole) != len(whole):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            self.file.truncate(end)
            raise
        self.batches.clear()
        self.size = 0


class PendingTransactions:
    """All open transactions of one consumer.

    Args:
        most_bytes: so much of them is kept in memory.
        directory: where the files of the others are made; where the system makes temporary files by default.

    `failure`: why the disk did not take what it should have.
    """

    def __init__(self, most_bytes: int = sys.maxsize, directory: Path | None = None) -> None:
        self._most_bytes, self._directory = most_bytes, directory
        self._held: dict[tuple[TopicPartition, int], HeldTransaction] = {}
        self._size = 0
        self.failure: SpillFailed | None = None
        self.spilled = 0

    def hold(self, partition: TopicPartition, producer_id: int, batch: Batch, from_offset: int) -> None:
        """A batch of an open transaction, of which the records from `from_offset` on count."""
        key = partition, producer_id
        held = self._held.get(key)
        if held is None:
            first = max(from_offset, batch.base_offset)
            held = self._held[key] = HeldTransaction(partition[0], first)
        size = size_of(batch)
        held.batches.append((from_offset, batch))
        held.size += size
        self._size += size
        while self._size > self._most_bytes and self._spill():
            pass

    def _spill(self) -> bool:
        largest = max(self._held.values(), key=lambda held: held.size)
        size = largest.size
        try:
            largest.spill(self._directory)
        except OSError as reason:
            where = str(self._directory or tempfile.gettempdir())
            self.failure = SpillFailed(self._size, self._most_bytes, where, reason)
            return False
        self._size -= size
        self.spilled += 1
        self.failure = None
        return True

    def release(self, partition: TopicPartition, producer_id: int) -> HeldTransaction | None:
        """The transaction is decided, and is somebody else's now, who closes it; None: there is none."""
        held = self._held.pop((partition, producer_id), None)
        if held is not None:
            self._size -= held.size
        return held

    def drop(self, partition: TopicPartition, producer_id: int) -> None:
        """The transaction is of no use any more."""
        held = self.release(partition, producer_id)
        if held is not None:
            held.close()

    def drop_partition(self, partition: TopicPartition) -> None:
        """Nothing of a partition is read any more."""
        for place, producer_id in [key for key in self._held if key[0] == partition]:
            self.drop(place, producer_id)

    def of(self, partition: TopicPartition) -> list[HeldTransaction]:
        """The open transactions of a partition."""
        return [held for (place, _), held in self._held.items() if place == partition]

    def close(self) -> None:
        """Nothing is read any more."""
        for partition, producer_id in list(self._held):
            self.drop(partition, producer_id)
