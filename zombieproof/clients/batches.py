"""A batch of records on its way to a partition, and what the application holds of each record.

Source: reference §5.3, §5.6; ``ProducerBatch.java``.
"""

from zombieproof.clients.errors import Failure
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.compression import Codec
from zombieproof.formats.record_batch import HEADER
from zombieproof.formats.topics import TopicPartition
from zombieproof.model.vocabulary import NONE
from zombieproof.statemachines.producer.records import Batch as BatchView


class SentRecord:
    """One record that was handed to a producer, and what became of it: that is known of its whole batch at once."""

    __slots__ = ("batch", "index", "record")

    def __init__(self, record: Record, batch: "ProducerBatch", index: int) -> None:
        self.record, self.batch, self.index = record, batch, index

    @property
    def is_done(self) -> bool:
        """Whether the record has its outcome."""
        return self.batch.is_done

    @property
    def error(self) -> Failure | None:
        """Why it failed; None if it did not."""
        return self.batch.error

    @property
    def offset(self) -> int:
        """Where it is stored; NONE until it is acknowledged, and if nobody knows it."""
        return NONE if self.batch.base_offset == NONE else self.batch.base_offset + self.index

    @property
    def is_successful(self) -> bool:
        """Whether the record is stored."""
        return self.batch.is_done and self.batch.error is None


class ProducerBatch:
    """Records for one partition. With a sequence it may have been stored already, and must not be numbered lightly.

    `size`: how many bytes it has at most, before it is packed by `codec`; `place` tells older batches from newer ones.
    """

    def __init__(
        self,
        partition: TopicPartition,
        transactional: bool,
        created_ms: int,
        codec: Codec = Codec.NONE,
        place: int = 0,
    ) -> None:
        self.partition, self.transactional, self.created_ms = partition, transactional, created_ms
        self.codec, self.place = codec, place
        self.records: list[SentRecord] = []
        self.size = HEADER.size
        self.producer_id = self.producer_epoch = self.base_sequence = NONE
        self.attempts = 0
        self.last_attempt_ms = created_ms
        self.has_been_renumbered = False
        self.is_done = False
        self.base_offset = NONE
        self.error: Failure | None = None

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

    def add(self, record: Record, size: int) -> SentRecord:
        """One more record of so many bytes; only before the batch has left."""
        assert self.base_sequence == NONE, "a numbered batch is closed"
        sent = SentRecord(record, self, len(self.records))
        self.records.append(sent)
        self.size += size
        return sent

    @property
    def newest_ms(self) -> int:
        """The largest time of its records; one that has none is as old as the batch."""
        times = {sent.record.timestamp_ms for sent in self.records}
        return max(self.created_ms if time is None else time for time in times)

    @property
    def is_open(self) -> bool:
        """Whether it takes more records: it was never sent."""
        return self.base_sequence == NONE and self.attempts == 0

    def retry(self, now_ms: int) -> None:
        """An attempt came to nothing, and another follows."""
        self.attempts += 1
        self.last_attempt_ms = now_ms

    def succeed(self, base_offset: int) -> None:
        """The batch is stored at `base_offset`, or, if that is NONE, somewhere."""
        if self.is_done:
            return
        self.is_done = True
        self.base_offset = base_offset

    def fail(self, error: Failure) -> bool:
        """The application is told that its records failed; False if it was told an outcome before."""
        if self.is_done:
            return False
        self.is_done = True
        self.error = error
        return True

    def split(self, middle: int) -> tuple["ProducerBatch", "ProducerBatch"]:
        """Two batches in the place of one that was too large: same records and age, attempts begin again."""
        parts = []
        for records in (self.records[:middle], self.records[middle:]):
            part = ProducerBatch(self.partition, self.transactional, self.created_ms, self.codec, self.place)
            for sent in records:
                sent.batch, sent.index = part, len(part.records)
                part.records.append(sent)
                part.size += size_of(sent.record)
            parts.append(part)
        return parts[0], parts[1]

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
            timestamp_ms=self.newest_ms,
            codec=self.codec,
        )


FEW_BYTES = 12
"""What a record has at most beside key, value, headers and lengths: attributes, time, offset, number of headers."""


def size_of(record: Record) -> int:
    """How many bytes a record of an application has at most in its batch (``DefaultRecord``)."""
    size, lengths = FEW_BYTES, 3 + 2 * len(record.headers)
    if isinstance(record.value, bytes):
        size += len(record.value)
    if isinstance(record.key, bytes):
        size += len(record.key)
    for name, value in record.headers:
        size += len(name.encode(errors="surrogateescape")) + len(value or b"")
    # A length is a zigzag varint, and none is larger than the record.
    return size + lengths * (1 if size + 5 * lengths < 64 else 2 if size + 5 * lengths < 8192 else 5)
