"""Records that wait to be sent, and batches that are not answered for.

Source: reference §5.3, §5.6; ``RecordAccumulator.java``.
"""

from collections.abc import Callable, Iterator

from zombieproof.clients.batches import ProducerBatch, SentRecord
from zombieproof.clients.errors import Failure
from zombieproof.formats.batches import Record
from zombieproof.formats.topics import TopicPartition


class Accumulator:
    """One queue of batches for each partition. A batch is *incomplete* until its records have an outcome.

    Args:
        batch_records: how many records a batch takes before the next one is begun.
        retry_backoff_ms: how long a batch waits before it is sent again.
    """

    def __init__(self, batch_records: int, retry_backoff_ms: int) -> None:
        self.batch_records, self.retry_backoff_ms = batch_records, retry_backoff_ms
        self._queues: dict[TopicPartition, list[ProducerBatch]] = {}
        self._incomplete: dict[ProducerBatch, None] = {}

    @property
    def has_incomplete(self) -> bool:
        """Whether a record has no outcome yet, sent or not."""
        return bool(self._incomplete)

    def append(self, partition: TopicPartition, record: Record, transactional: bool, now_ms: int) -> SentRecord:
        """A record joins the last batch of its partition, or begins a new one."""
        queue = self._queues.setdefault(partition, [])
        if not queue or queue[-1].has_sequence or len(queue[-1].records) >= self.batch_records:
            queue.append(ProducerBatch(partition, transactional, now_ms))
            self._incomplete[queue[-1]] = None
        sent = SentRecord(record)
        queue[-1].add(sent)
        return sent

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
        return batch.attempts > 0 and now_ms < batch.last_attempt_ms + self.retry_backoff_ms

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
            self.put_back(part)

    def complete(self, batch: ProducerBatch) -> None:
        """The batch has an outcome."""
        self._incomplete.pop(batch, None)
        queue = self._queues.get(batch.partition, [])
        if batch in queue:
            queue.remove(batch)

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
