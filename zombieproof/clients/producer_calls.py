"""What an application may ask of a producer, as operations: they yield what they wait for, and never wait.

Source: reference §5.2; ``KafkaProducer.java``; KIP-98, KIP-447, KIP-939.
"""

from collections.abc import Iterable, Mapping
from functools import partial

from zombieproof.clients.batches import Content, ProducerBatch, SentRecord, size_of
from zombieproof.clients.errors import (
    BufferExhausted,
    Failure,
    IllegalState,
    ProducerFailure,
    RecordTooLarge,
    TopicUnknown,
)
from zombieproof.clients.partitioner import Partitioner
from zombieproof.clients.producer_runtime import NEVER_MS, Operation, ProducerRuntime, Wait
from zombieproof.clients.settings import ProducerSettings
from zombieproof.clients.transactional_requests import GroupMetadata, PreparedTransaction
from zombieproof.clients.transport import Transport
from zombieproof.clients.values import OffsetAndMetadata, PartitionInfo
from zombieproof.formats.record_batch import HEADER
from zombieproof.formats.stored_records import RecordHeader
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.groups import OffsetToCommit
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE

Headers = Mapping[str, bytes | None] | Iterable[RecordHeader]
Offsets = Mapping[TopicPartition, int | OffsetAndMetadata]


class ProducerCalls(ProducerRuntime):
    """One producer instance, as its application sees it, but for the waiting."""

    def __init__(self, settings: ProducerSettings, transport: Transport, rules: Rules | None = None) -> None:
        super().__init__(settings, transport, rules)
        name = settings.transactional_id or settings.client_id
        self._partitioner = Partitioner(name, settings.batch_size, ignores_keys=settings.partitioner_ignore_keys)
        self._largest = min(settings.max_request_size - HEADER.size, settings.buffer_memory)
        self._buffer_memory = settings.buffer_memory

    # ---------------------------------------------------------------- the cluster

    def partitions_for(self, topic: str) -> Operation[list[PartitionInfo]]:
        """The partitions of a topic, when the cluster has told of it.

        Raises:
            TopicUnknown: it has not.
        """
        self._check_open()
        if not (yield from self._find(topic, NONE, self.settings.max_block_ms)):
            raise TopicUnknown(topic, self.settings.max_block_ms)
        metadata = self.transport.metadata()
        numbers = range(metadata.partitions[topic])
        return [PartitionInfo(topic, number, metadata.leaders.get((topic, number))) for number in numbers]

    def _find(self, topic: str, partition: int, timeout_ms: int) -> Operation[bool]:
        """Wait until a topic, and a partition of it, is known."""
        until_ms = self.transport.now_ms() + timeout_ms
        while partition >= self.transport.metadata().partitions.get(topic, NONE):
            left_ms = until_ms - self.transport.now_ms()
            if left_ms <= 0:
                return False
            self._refresh(self.transport.now_ms())
            seen = self.transport.metadata().number
            if partition >= self.transport.metadata().partitions.get(topic, NONE):
                pause_ms = max(self.settings.retry_backoff_ms, 1)
                yield Wait(partial(self._is_newer_than, seen), min(left_ms, pause_ms))
        with self._lock:
            self._look_at_cluster()
        return True

    def _is_newer_than(self, seen: int) -> bool:
        return self.transport.metadata().number != seen

    # ---------------------------------------------------------------- records

    def offer(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        partition: int | None,
        timestamp_ms: int | None,
        headers: tuple[RecordHeader, ...],
    ) -> SentRecord | None:
        """Hand a record over; None if something has to be waited for first.

        Raises:
            IllegalState, ProducerFailure: not now.
        """
        if self._is_closed:
            self._check_open()
        now_ms = self.transport.now_ms()
        content = now_ms if timestamp_ms is None else timestamp_ms, key, value, headers
        count, size, accumulator = self._counts.get(topic, 0), size_of(key, value, headers), self.sender.accumulator
        if size > self._largest:
            return self._refused(topic, content, self._too_large(size))
        if partition is not None and not 0 <= partition < count:
            if partition < 0:
                raise ValueError(f"partition {partition} of {topic}: legal is None, or a number from 0 on")
            return None
        if count == 0 or accumulator.size + size > self._buffer_memory:
            return None
        with self._lock:
            if partition is None:
                available = self._available.get(topic, ())
                partition = self._partitioner.choose(topic, key, count, available, size)
            newest = accumulator.newest
            try:
                sent = self.sender.add((topic, partition), content, size, now_ms)
            except ProducerFailure as failure:
                raise self._as_told(failure)  # noqa: B904  # it has its cause, or is the failure itself
            if accumulator.newest != newest:
                self._wants_turn = True
        if self._wants_turn or self._inbox:
            self.attend()
        return sent

    def _too_large(self, size: int) -> RecordTooLarge:
        settings = self.settings
        if size > settings.buffer_memory:
            return RecordTooLarge(size, "buffer.memory", settings.buffer_memory)
        return RecordTooLarge(size, "max.request.size", settings.max_request_size)

    def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        partition: int | None,
        timestamp_ms: int | None,
        headers: tuple[RecordHeader, ...],
    ) -> Operation[SentRecord]:
        """Hand a record over when its topic is known and there is room; one that cannot be is returned as failed.

        Raises:
            IllegalState, ProducerFailure: not now.
        """
        began_ms, limit_ms = self.transport.now_ms(), self.settings.max_block_ms
        content = began_ms if timestamp_ms is None else timestamp_ms, key, value, headers
        size = size_of(key, value, headers)
        while True:
            sent = self.offer(topic, value, key, partition, timestamp_ms, headers)
            if sent is not None:
                return sent
            left_ms = began_ms + limit_ms - self.transport.now_ms()
            if not (yield from self._find(topic, partition or 0, left_ms)):
                return self._refused(topic, content, TopicUnknown(_name(topic, partition), limit_ms))
            self._do(self.sender.flush)
            if not (yield Wait(partial(self._has_room, size), max(left_ms, 0))):
                return self._refused(topic, content, BufferExhausted(size, limit_ms))

    def _has_room(self, size: int) -> bool:
        return self.sender.accumulator.size + size <= self.settings.buffer_memory

    def _refused(self, topic: str, content: Content, failure: ProducerFailure) -> SentRecord:
        """A record that failed before it could be in a batch; what that makes of a transaction, the steps say."""
        lifecycle, refused = self.manager.lifecycle, ProducerBatch((topic, NONE), False, self.transport.now_ms())
        with self._lock:
            may_fail = lifecycle.has_ongoing_transaction and lifecycle.unacknowledged is None
            if self.manager.is_transactional and (lifecycle.has_error or not may_fail):
                self._told(lambda: self.manager.add_partition((topic, NONE)))
            self.sender.refuse_record(failure)
        sent = refused.add(content, 0)
        refused.fail(failure)
        return sent

    def failure_of(self, sent: SentRecord) -> Failure | None:
        """Why a record failed, as its application is told; None if it did not."""
        return None if sent.error is None else self._as_told(sent.error)

    def flush(self) -> Operation[None]:
        """Every record that was handed over until now has its outcome."""
        self._check_open()
        place = self.sender.accumulator.newest
        self._do(self.sender.flush)
        yield Wait(lambda: not self.sender.accumulator.has_incomplete_until(place), NEVER_MS)

    # ---------------------------------------------------------------- transactions

    def init_transactions(self, *, keep_prepared: bool = False) -> Operation[PreparedTransaction | None]:
        """Take the transactional id; with `keep_prepared` a prepared transaction stays, and is returned."""
        yield from self._await(self._do(lambda: self.manager.init_transactions(keep_prepared=keep_prepared)))
        return self.manager.prepared

    def begin_transaction(self) -> None:
        """Begin a transaction; nobody is asked."""
        self._do(self.manager.begin_transaction)

    def send_offsets(self, offsets: Offsets, group: GroupMetadata | str) -> Operation[None]:
        """Commit offsets of a consumer with the transaction."""
        rows = tuple(_row(partition, offset) for partition, offset in sorted(offsets.items()))
        whose = GroupMetadata(group) if isinstance(group, str) else group
        yield from self._await(self._do(lambda: self.manager.send_offsets(rows, whose)))

    def commit(self) -> Operation[None]:
        """Commit: everything is sent and acknowledged before."""
        yield from self._await(self._do(self.manager.begin_commit))

    def abort(self) -> Operation[None]:
        """Abort; what was not sent fails."""
        yield from self._await(self._do(self.manager.begin_abort))

    def prepare(self) -> Operation[PreparedTransaction]:
        """Leave the decision to an outer commit; everything is sent and acknowledged before (KIP-939)."""
        yield from self.flush()
        return self._do(self.manager.prepare_transaction)

    def complete(self, transaction: PreparedTransaction) -> Operation[None]:
        """End what is prepared: commit if it is this transaction, abort if it is not (KIP-939)."""
        yield from self._await(self._do(lambda: self.manager.complete_transaction(transaction)))

    def commit_or_give_up(self) -> Operation[None]:
        """The end of a block without a failure: commit; where that fails, `give_up`."""
        try:
            yield from self.commit()
        except (IllegalState, ProducerFailure) as failure:
            yield from self.give_up(failure)
            raise

    def give_up(self, failure: BaseException) -> Operation[None]:
        """Abort because of `failure`, unless there is nothing that could be; it is told why an abort failed, too."""
        lifecycle = self.manager.lifecycle
        if self._is_closed or lifecycle.is_at_its_end or not lifecycle.has_ongoing_transaction:
            return
        try:
            yield from self.abort()
        except (IllegalState, ProducerFailure) as second:
            failure.add_note(f"the transaction was not aborted: {second}")

    # ---------------------------------------------------------------- the end

    def close(self, timeout_ms: int | None = None) -> Operation[None]:
        """Finish what was begun, abort what is open; what is not over in time fails.

        Args:
            timeout_ms: how long; None: as long as a record may take.
        """
        if self._is_closed:
            return
        self._do(self.sender.close)
        limit_ms = self.settings.delivery_ms if timeout_ms is None else timeout_ms
        if not (yield Wait(lambda: self.sender.is_closed, limit_ms)):
            with self._lock:
                self.sender.close_by_force()
        self._is_closed = True
        self.attend()


def _row(partition: TopicPartition, offset: int | OffsetAndMetadata) -> OffsetToCommit:
    said = offset if isinstance(offset, OffsetAndMetadata) else OffsetAndMetadata(offset)
    return OffsetToCommit(partition, *said)


def _name(topic: str, partition: int | None) -> str:
    return topic if partition is None else f"{topic}-{partition}"
