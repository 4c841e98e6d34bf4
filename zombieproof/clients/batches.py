"""A batch of records on its way to a partition, and what the application holds of each record.

Source: reference §5.3, §5.6; ``ProducerBatch.java``.
"""

from typing import NamedTuple

from zombieproof.clients.errors import Failure
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.compression import Codec, pack_records
from zombieproof.formats.encoding import packed_batch
from zombieproof.formats.record_batch import HEADER
from zombieproof.formats.stored_records import Headers, write_section
from zombieproof.formats.topics import TopicPartition
from zombieproof.model.vocabulary import NONE
from zombieproof.statemachines.producer.records import Batch as BatchView

Content = tuple[int, bytes | None, bytes | None, Headers]
"""Time (ms), key, value and headers of a record: what an application has said of it."""


def content_of(record: Record, now_ms: int) -> Content:
    """The content of a record of an application; one without a time is of now."""
    key, value = record.key, record.value
    assert key is None or isinstance(key, bytes), "the keys of applications are bytes"
    assert value is None or isinstance(value, bytes), "the values of applications are bytes"
    return now_ms if record.timestamp_ms is None else record.timestamp_ms, key, value, record.headers


class SentRecord:
    """One record that was handed to a producer, and what became of it: that is known of its whole batch at once."""

    __slots__ = ("_batch", "_index", "timestamp_ms")

    def __init__(self, batch: "ProducerBatch", index: int, timestamp_ms: int) -> None:
        self._batch, self._index, self.timestamp_ms = batch, index, timestamp_ms

    @property
    def batch(self) -> "ProducerBatch":
        """The batch that it is in now: one that was too large is split."""
        while (parts := self._batch.parts) is not None:
            middle = parts.middle
            if self._index < middle:
                self._batch = parts.first
            else:
                self._batch, self._index = parts.second, self._index - middle
        return self._batch

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
        base_offset = self.batch.base_offset
        return NONE if base_offset == NONE else base_offset + self._index

    @property
    def is_successful(self) -> bool:
        """Whether the record is stored."""
        return self.is_done and self.error is None


class Parts(NamedTuple):
    """What a batch was split into: its records up to `middle`, and those behind."""

    middle: int
    first: "ProducerBatch"
    second: "ProducerBatch"


class ProducerBatch:
    """Records for one partition. With a sequence it may have been stored already, and must not be numbered lightly.

    `size`: how many bytes it has at most, before it is packed by `codec`; `place` tells older batches from newer ones;
    `is_open`: it takes more records, because it was never sent.
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
        self.records: list[Content] = []
        self.parts: Parts | None = None
        self._packed: bytes | None = None
        self.size = HEADER.size
        self.producer_id = self.producer_epoch = self.base_sequence = NONE
        self.is_open = True
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
        self.is_open = False
        self.has_been_renumbered = self.has_sequence
        self.producer_id, self.producer_epoch, self.base_sequence = producer_id, producer_epoch, base_sequence

    def add(self, content: Content, size: int) -> SentRecord:
        """One more record of so many bytes; only before the batch has left."""
        records = self.records
        records.append(content)
        self.size += size
        return SentRecord(self, len(records) - 1, content[0])

    def retry(self, now_ms: int) -> None:
        """An attempt came to nothing, and another follows."""
        self.is_open = False
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
            part.records = records
            part.size += sum(size_of(key, value, headers) for _, key, value, headers in records)
            parts.append(part)
        self.parts = Parts(middle, *parts)
        return parts[0], parts[1]

    def send(self) -> Batch:
        """The batch as it goes out now; from here on its number is the one that the leader sees."""
        self.has_been_renumbered = False
        records, times = self.records, [content[0] for content in self.records]
        base_ms = times[0]
        if self._packed is None:
            stored = (
                (delta, time_ms - base_ms, key, value, headers, 0)
                for delta, (time_ms, key, value, headers) in enumerate(records)
            )
            self._packed = pack_records(self.codec, write_section(stored))
        batch = Batch(
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=self.base_sequence,
            transactional=self.transactional,
            last_offset_delta=len(records) - 1,
            timestamp_ms=max(times),
            codec=self.codec,
        )
        return packed_batch(batch, self._packed, len(records), base_ms)


FEW_BYTES = 12
"""What a record has at most beside key, value, headers and lengths: attributes, time, offset, number of headers."""


def size_of(key: bytes | None, value: bytes | None, headers: Headers) -> int:
    """How many bytes a record of an application has at most in its batch (``DefaultRecord``)."""
    size, lengths = FEW_BYTES, 3
    if value is not None:
        size += len(value)
    if key is not None:
        size += len(key)
    if headers:
        lengths += 2 * len(headers)
        for name, told in headers:
            size += len(name.encode(errors="surrogateescape")) + len(told or b"")
    # A length is a zigzag varint, and none is larger than the record.
    return size + lengths * (1 if size + 5 * lengths < 64 else 2 if size + 5 * lengths < 8192 else 5)
