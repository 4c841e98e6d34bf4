"""Records that wait to be sent, and batches that are not answered for.

Source: reference §5.3, §5.6; ``RecordAccumulator.java``.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from zombieproof.clients.batches import Content, ProducerBatch, SentRecord
from zombieproof.clients.errors import Failure
from zombieproof.formats.compression import Codec
from zombieproof.formats.record_batch import HEADER
from zombieproof.formats.topics import TopicPartition

ANY_SIZE = 1 << 31
"""A batch size (bytes) that no batch reaches."""


@dataclass(frozen=True, slots=True)
class Batching:
    """When a batch is full, and when it leaves.

    Args:
        batch_records: how many records a batch takes before the next one is begun.
        batch_size: how many bytes, before it is packed; a larger record gets a batch of its own.
        linger_ms: how long a batch that is not full waits for more records.
        codec: how it is packed.
        retry_backoff_ms: how long a batch waits before it is sent again; twice as long after each attempt,
        retry_backoff_max_ms: but not longer than this.
    """

    batch_records: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int = 0
    batch_size: int = ANY_SIZE
    linger_ms: int = 0
    codec: Codec = Codec.NONE

    def backoff_ms(self, attempts: int) -> int:
        """How long a batch waits that was sent so often."""
        grown = self.retry_backoff_ms << min(attempts - 1, 31)
        return max(self.retry_backoff_ms, min(grown, self.retry_backoff_max_ms))


class Accumulator:
    """One queue of batches for each partition. A batch is *incomplete* until its records have an outcome."""

    def __init__(self, batching: Batching) -> None:
        self.batching = batching
        self.size = 0
        self.newest = 0
        self._queues: dict[TopicPartition, list[ProducerBatch]] = {}
        self._incomplete: dict[ProducerBatch, None] = {}

    @property
    def has_incomplete(self) -> bool:
        """Whether a record has no outcome yet, sent or not."""
        return bool(self._incomplete)

    def has_incomplete_until(self, place: int) -> bool:
        """Whether a record of the batches up to this place has no outcome yet."""
        oldest = next(iter(self._incomplete), None)
        return oldest is not None and oldest.place <= place

    @property
    def waiting(self) -> Iterable[TopicPartition]:
        """The partitions with batches that wait to be sent."""
        return (partition for partition, queue in self._queues.items() if queue)

    # ---------------------------------------------------------------- records

    def append(
        self, partition: TopicPartition, content: Content, size: int, transactional: bool, now_ms: int
    ) -> SentRecord:
        """A record of so many bytes joins the last batch of its partition, or begins a new one."""
        queue, batching = self._queues.get(partition), self.batching
        if queue:
            last = queue[-1]
            is_full = last.size + size > batching.batch_size or len(last.records) >= batching.batch_records
            if not is_full and last.is_open:
                self.size += size
                return last.add(content, size)
        self.newest += 1
        batch = ProducerBatch(partition, transactional, now_ms, batching.codec, self.newest)
        self._queues.setdefault(partition, []).append(batch)
        self._incomplete[batch] = None
        self.size += size
        return batch.add(content, size)

    # ---------------------------------------------------------------- what leaves

    def is_ready(self, partitions: Iterable[TopicPartition], flushes: bool, now_ms: int) -> bool:
        """Whether the first batch of one of these partitions has waited for long enough."""
        queues = (self._queues.get(partition) for partition in partitions)
        return any(now_ms >= self._ready_ms(queue, flushes) for queue in queues if queue)

    def ready_ms(self, flushes: bool) -> Iterator[int]:
        """For each partition when its first batch has waited for long enough."""
        return (self._ready_ms(queue, flushes) for queue in self._queues.values() if queue)

    def _ready_ms(self, queue: list[ProducerBatch], flushes: bool) -> int:
        first = queue[0]
        if first.attempts > 0:
            return self._backs_off_until(first)
        batching, is_full = self.batching, len(queue) > 1 or not first.is_open
        if is_full or flushes or first.size >= batching.batch_size or len(first.records) >= batching.batch_records:
            return first.created_ms
        return first.created_ms + batching.linger_ms

    def _backs_off_until(self, batch: ProducerBatch) -> int:
        return batch.last_attempt_ms + self.batching.backoff_ms(batch.attempts)

    def drain(
        self, partitions: Iterator[TopicPartition], may_leave: Callable[[ProducerBatch], bool], now_ms: int
    ) -> dict[TopicPartition, ProducerBatch]:
        """The first batch of each of these partitions that may leave now."""
        drained = {}
        for partition in partitions:
            queue = self._queues.get(partition)
            if queue and not self._backs_off(queue[0], now_ms) and may_leave(queue[0]):
                drained[partition] = queue.pop(0)
        return drained

    def _backs_off(self, batch: ProducerBatch, now_ms: int) -> bool:
        return batch.attempts > 0 and now_ms < self._backs_off_until(batch)

    def put_back(self, batch: ProducerBatch) -> None:
        """A batch waits to be sent again, in the order of sequences and before what has none."""
        queue = self._queues.setdefault(batch.partition, [])
        later = (i for i, other in enumerate(queue) if not other.has_sequence or _is_behind(other, batch))
        queue.insert(next(later, len(queue)), batch)

    def replace(self, batch: ProducerBatch, parts: tuple[ProducerBatch, ...]) -> None:
        """`parts` take the place of a batch that was split, and wait to be sent."""
        self.complete(batch)
        for part in parts:
            self._incomplete[part] = None
            self.size += _records_size(part)
            self.put_back(part)
        self._incomplete = dict.fromkeys(sorted(self._incomplete, key=lambda each: each.place))

    # ---------------------------------------------------------------- outcomes

    def complete(self, batch: ProducerBatch) -> None:
        """The batch has an outcome."""
        if batch not in self._incomplete:
            return
        del self._incomplete[batch]
        self.size -= _records_size(batch)
        queue = self._queues.get(batch.partition, [])
        if batch in queue:
            queue.remove(batch)

    @property
    def oldest_ms(self) -> int | None:
        """When the oldest incomplete batch was begun; None if there is none."""
        oldest = next(iter(self._incomplete), None)
        return None if oldest is None else oldest.created_ms

    def expired(self, delivery_timeout_ms: int, now_ms: int) -> list[ProducerBatch]:
        """The incomplete batches whose delivery time is over."""
        return [batch for batch in self._incomplete if now_ms >= batch.created_ms + delivery_timeout_ms]

    def abort_unsent(self, failure: Failure) -> None:
        """Every batch that was never sent fails. What may be stored already is finished."""
        self._abort([batch for batch in self._incomplete if not batch.has_sequence], failure)

    def abort_all(self, failure: Failure) -> None:
        """Every batch fails, wherever it is."""
        self._abort(list(self._incomplete), failure)

    def _abort(self, batches: list[ProducerBatch], failure: Failure) -> None:
        for batch in batches:
            batch.fail(failure)
            self.complete(batch)


def _is_behind(other: ProducerBatch, batch: ProducerBatch) -> bool:
    return other.base_sequence > batch.base_sequence


def _records_size(batch: ProducerBatch) -> int:
    return batch.size - HEADER.size
