"""A batch of records on its way to a partition, and what the application holds of each record.

Source: reference §5.3, §5.6; ``ProducerBatch.java``.
"""

from zombieproof.clients.errors import Failure
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.topics import TopicPartition
from zombieproof.model.vocabulary import NONE
from zombieproof.statemachines.producer.records import Batch as BatchView


class SentRecord:
    """One record that was handed to a producer. `offset` is NONE until it is acknowledged, and if nobody knows it."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.offset = NONE
        self.error: Failure | None = None
        self.is_done = False

    @property
    def is_successful(self) -> bool:
        """Whether the record is stored."""
        return self.is_done and self.error is None


class ProducerBatch:
    """Records for one partition. With a sequence it may have been stored already, and must not be numbered lightly."""

    def __init__(self, partition: TopicPartition, transactional: bool, created_ms: int) -> None:
        self.partition, self.transactional, self.created_ms = partition, transactional, created_ms
        self.records: list[SentRecord] = []
        self.producer_id = self.producer_epoch = self.base_sequence = NONE
        self.attempts = 0
        self.last_attempt_ms = created_ms
        self.has_been_renumbered = False
        self.is_done = False

    @property
    def has_sequence(self) -> bool:
        """Whether it was numbered, which happens when it is first sent."""
        return self.base_sequence != NONE

    def view(self, *, in_time: bool, has_attempts: bool) -> BatchView:
        """The batch as a step reads it."""
        return BatchView(
            transactional=self.transactional,
            producer_id=self.producer_id,
            base_sequence=self.base_sequence,
            records=len(self.records),
            has_been_renumbered=self.has_been_renumbered,
            is_done=self.is_done,
            in_time=in_time,
            has_attempts=has_attempts,
        )

    def number(self, producer_id: int, producer_epoch: int, base_sequence: int) -> None:
        """Give the batch its identity; a second time it counts as renumbered."""
        self.has_been_renumbered = self.has_sequence
        self.producer_id, self.producer_epoch, self.base_sequence = producer_id, producer_epoch, base_sequence

    def add(self, record: SentRecord) -> None:
        """One more record; only before the batch is numbered."""
        assert not self.has_sequence, "a numbered batch is closed"
        self.records.append(record)

    def retry(self, now_ms: int) -> None:
        """An attempt came to nothing, and another follows."""
        self.attempts += 1
        self.last_attempt_ms = now_ms

    def succeed(self, base_offset: int) -> None:
        """The batch is stored at `base_offset`, or, if that is NONE, somewhere."""
        if self.is_done:
            return
        self.is_done = True
        for index, sent in enumerate(self.records):
            sent.offset = NONE if base_offset == NONE else base_offset + index
            sent.is_done = True

    def fail(self, error: Failure) -> bool:
        """The application is told that its records failed; False if it was told an outcome before."""
        if self.is_done:
            return False
        self.is_done = True
        for sent in self.records:
            sent.error = error
            sent.is_done = True
        return True

    def split(self, middle: int) -> tuple["ProducerBatch", "ProducerBatch"]:
        """Two batches in the place of one that was too large: same records and age, attempts begin again."""
        first, second = (ProducerBatch(self.partition, self.transactional, self.created_ms) for _ in range(2))
        first.records, second.records = self.records[:middle], self.records[middle:]
        return first, second

    def send(self) -> Batch:
        """The batch as it goes out now; from here on its number is the one that the leader sees."""
        self.has_been_renumbered = False
        return Batch(
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=self.base_sequence,
            transactional=self.transactional,
            records=tuple(sent.record for sent in self.records),
            last_offset_delta=len(self.records) - 1,
            timestamp_ms=self.created_ms,
        )
