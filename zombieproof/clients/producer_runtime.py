"""A running producer: what the synchronous and the asynchronous API do, without waiting.

Theory of operation: a call is an *operation*, a generator that yields what it waits for; whoever made the call waits
in his own way. In between, the producer gets its turns: when an answer arrives, and when the transport calls it at the
time it has asked for. A turn hears what has arrived, sends what may leave, and says when to be called next. One thread
at a time takes turns; who finds another at it leaves him what he has brought.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping
from functools import partial
from threading import Lock
from typing import NamedTuple, TypeVar

from zombieproof.broker.cluster.network import Answer
from zombieproof.clients.batches import ProducerBatch, SentRecord, size_of
from zombieproof.clients.brokers import NEWEST_VERSIONS, Brokers
from zombieproof.clients.coordinator_answers import CoordinatorAnswer
from zombieproof.clients.errors import (
    BufferExhausted,
    CallTimedOut,
    Failure,
    IllegalState,
    ProducerFailure,
    RecordTooLarge,
    TopicUnknown,
    as_told,
)
from zombieproof.clients.partitioner import Partitioner
from zombieproof.clients.producer_core import FOREVER_MS
from zombieproof.clients.results import PendingResult
from zombieproof.clients.sender import Sender, SenderSettings
from zombieproof.clients.settings import ProducerSettings
from zombieproof.clients.transaction_manager import TransactionManager
from zombieproof.clients.transactional_requests import GroupMetadata, OutgoingRequest, PreparedTransaction
from zombieproof.clients.transport import Transport
from zombieproof.clients.values import OffsetAndMetadata, PartitionInfo
from zombieproof.formats.batches import Record
from zombieproof.formats.record_batch import HEADER, RecordHeader
from zombieproof.formats.topics import INTERNAL_TOPICS, TopicPartition
from zombieproof.messages.groups import OffsetToCommit
from zombieproof.messages.partitions import Produce, ProduceAnswer, Produced
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, Error

T = TypeVar("T")

NEVER_MS = 1 << 50
"""A time (ms) that nobody waits for."""


class Wait(NamedTuple):
    """What an operation waits for, and how long at most (ms)."""

    is_over: Callable[[], bool]
    timeout_ms: int


Operation = Generator[Wait, bool, T]
"""A call that is under way: it yields what it waits for, and is sent whether that has come."""

Headers = Mapping[str, bytes | None] | Iterable[RecordHeader]
Offsets = Mapping[TopicPartition, int | OffsetAndMetadata]


class ProducerRuntime:
    """One producer instance at work.

    Args:
        settings: its settings.
        transport: the way to the brokers, and the clock.
        rules: the rules that it follows; by default the newest.
    """

    def __init__(self, settings: ProducerSettings, transport: Transport, rules: Rules | None = None) -> None:
        self.settings, self.transport = settings, transport
        two_phases = settings.transaction_two_phase_commit_enable
        self.manager = TransactionManager(
            settings.transactional_id,
            transaction_timeout_ms=FOREVER_MS if two_phases else settings.transaction_timeout_ms,
            retry_backoff_ms=settings.retry_backoff_ms,
            brokers=Brokers(NEWEST_VERSIONS),
            two_phase_commit=two_phases,
            rules=rules,
        )
        self.sender = Sender(self.manager, _sender_settings(settings))
        name = settings.transactional_id or settings.client_id
        self._partitioner = Partitioner(name, settings.batch_size, ignores_keys=settings.partitioner_ignore_keys)
        self._lock = Lock()
        self._inbox: deque[tuple[OutgoingRequest, Answer | None]] = deque()
        self._wants_turn = False
        self._wake_ms = NEVER_MS
        self._seen = NONE
        self._refreshed_ms = transport.now_ms()
        self._available: dict[str, list[int]] = {}
        self._counts: Mapping[str, int] = {}
        self._largest = min(settings.max_request_size - HEADER.size, settings.buffer_memory)
        self._watched: list[tuple[SentRecord, Callable[[], None]]] = []
        self._is_closed = False
        self._look_at_cluster()

    # ---------------------------------------------------------------- turns

    def attend(self) -> None:
        """Take turns while there is something to do, unless somebody is at it: who is looks again before he leaves."""
        while (self._inbox or self._wants_turn) and self._lock.acquire(blocking=False):
            try:
                self._turn()
            finally:
                self._lock.release()
        if self._watched:
            over = [action for sent, action in self._watched if sent.is_done]
            self._watched = [each for each in self._watched if not each[0].is_done]
            for action in over:
                action()

    def _turn(self) -> None:
        self._wants_turn = False
        while self._inbox:
            self._hear(*self._inbox.popleft())
        now_ms = self.transport.now_ms()
        settings, hurries = self.settings, self.sender.waits_for_leader
        if now_ms >= self._refreshed_ms + (settings.retry_backoff_ms if hurries else settings.metadata_max_age_ms):
            self._refresh(now_ms)
        self._look_at_cluster()
        while (request := self.sender.next_request(now_ms)) is not None or self.sender.has_expired:
            if request is not None:
                self._send(request, now_ms)
        self._plan(now_ms)

    def _hear(self, request: OutgoingRequest, answer: Answer | None) -> None:
        now_ms = self.transport.now_ms()
        if answer is None:
            self._refresh(now_ms)
            self.sender.handle_disconnect(request, now_ms)
            return
        assert isinstance(answer, ProduceAnswer | CoordinatorAnswer), f"{answer} is no answer to a producer"
        if isinstance(answer, ProduceAnswer) and any(row.error != Error.NONE for row in answer.partitions.values()):
            self._refresh(now_ms)
        self.sender.handle_answer(request, answer, now_ms)

    def _send(self, request: OutgoingRequest, now_ms: int) -> None:
        body = request.body
        if isinstance(body, Produce) and body.acks == 0:
            self.transport.send(request.node, body, lambda _: None)
            unknown = ProduceAnswer(dict.fromkeys(body.partitions, Produced(Error.NONE)))
            self.sender.handle_answer(request, unknown, now_ms)
            return
        self.transport.send(request.node, body, lambda answer: self._answered(request, answer))

    def _answered(self, request: OutgoingRequest, answer: Answer | None) -> None:
        self._inbox.append((request, answer))
        self.attend()

    def _plan(self, now_ms: int) -> None:
        """Say when the next turn is, if nothing comes before."""
        if self._is_closed:
            return
        next_ms = self.sender.next_ms(now_ms) or NEVER_MS
        if self.sender.waits_for_leader:
            next_ms = min(next_ms, now_ms + max(self.settings.retry_backoff_ms, 1))
        if next_ms < self._wake_ms:
            self._wake_ms = next_ms
            self.transport.call_at(next_ms, lambda: self._wake(next_ms))

    def _wake(self, planned_ms: int) -> None:
        if self._wake_ms == planned_ms:
            self._wake_ms = NEVER_MS
        self._wants_turn = True
        self.attend()

    # ---------------------------------------------------------------- the cluster

    def _refresh(self, now_ms: int) -> None:
        self._refreshed_ms = now_ms
        self.transport.refresh_metadata()

    def _look_at_cluster(self) -> None:
        metadata = self.transport.metadata()
        if metadata.number == self._seen:
            return
        self._seen, brokers = metadata.number, self.manager.brokers
        leaders = {tp: node for tp, node in metadata.leaders.items() if tp[0] not in INTERNAL_TOPICS}
        self.sender.set_leaders(leaders)
        self._counts = metadata.partitions
        self._available = {}
        for topic, number in sorted(leaders):
            self._available.setdefault(topic, []).append(number)
        brokers.learn_features(metadata.transaction_version, metadata.features_epoch)
        for node, versions in metadata.versions.items():
            brokers.learn_versions(
                node, {api: min(ours, versions.get(api, ours)) for api, ours in NEWEST_VERSIONS.items()}
            )

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
        record = Record(key, value, NONE, headers, now_ms if timestamp_ms is None else timestamp_ms)
        count, size, accumulator = self._counts.get(topic, 0), size_of(record), self.sender.accumulator
        if size > self._largest:
            return self._refused(topic, record, self._too_large(size))
        if partition is not None and not 0 <= partition < count:
            if partition < 0:
                raise ValueError(f"partition {partition} of {topic}: legal is None, or a number from 0 on")
            return None
        if count == 0 or accumulator.size + size > self.settings.buffer_memory:
            return None
        with self._lock:
            if partition is None:
                available = self._available.get(topic, ())
                partition = self._partitioner.choose(topic, key, count, available, size)
            newest = accumulator.newest
            try:
                sent = self.sender.send((topic, partition), record, now_ms, size)
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
        record = Record(key, value, NONE, headers, timestamp_ms)
        while True:
            sent = self.offer(topic, value, key, partition, timestamp_ms, headers)
            if sent is not None:
                return sent
            left_ms = began_ms + limit_ms - self.transport.now_ms()
            if not (yield from self._find(topic, partition or 0, left_ms)):
                return self._refused(topic, record, TopicUnknown(_name(topic, partition), limit_ms))
            size = size_of(record)
            self._do(self.sender.flush)
            if not (yield Wait(partial(self._has_room, size), max(left_ms, 0))):
                return self._refused(topic, record, BufferExhausted(size, limit_ms))

    def _has_room(self, size: int) -> bool:
        return self.sender.accumulator.size + size <= self.settings.buffer_memory

    def _refused(self, topic: str, record: Record, failure: ProducerFailure) -> SentRecord:
        """A record that failed before it could be in a batch; what that makes of a transaction, the steps say."""
        lifecycle, refused = self.manager.lifecycle, ProducerBatch((topic, NONE), False, self.transport.now_ms())
        with self._lock:
            may_fail = lifecycle.has_ongoing_transaction and lifecycle.unacknowledged is None
            if self.manager.is_transactional and (lifecycle.has_error or not may_fail):
                self._told(lambda: self.manager.add_partition((topic, NONE)))
            self.sender.refuse_record(failure)
        sent = refused.add(record, size_of(record))
        refused.fail(failure)
        return sent

    def watch(self, sent: SentRecord, action: Callable[[], None]) -> None:
        """Call `action` when a record has its outcome."""
        self._watched.append((sent, action))
        self.attend()

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

    # ---------------------------------------------------------------- small helpers

    def _check_open(self) -> None:
        if self._is_closed:
            raise IllegalState("the producer is closed: make a new one")

    def _do(self, call: Callable[[], T]) -> T:
        """Make a call, and take a turn behind it.

        Raises:
            IllegalState, ProducerFailure: not now.
        """
        self._check_open()
        with self._lock:
            made = self._told(call)
            self._wants_turn = True
        self.attend()
        return made

    def _told(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except ProducerFailure as failure:
            raise self._as_told(failure)  # noqa: B904  # it has its cause, or is the failure itself

    def _as_told(self, failure: Failure) -> Failure:
        lifecycle = self.manager.lifecycle
        return as_told(failure, is_fatal=lifecycle.is_at_its_end) if lifecycle.has_error else failure

    def _await(self, result: PendingResult) -> Operation[None]:
        limit_ms = self.settings.max_block_ms
        if not (yield Wait(lambda: result.is_completed, limit_ms)):
            raise CallTimedOut(result.operation, limit_ms)
        self._told(result.acknowledge)


def _sender_settings(settings: ProducerSettings) -> SenderSettings:
    return SenderSettings(
        delivery_timeout_ms=settings.delivery_ms,
        request_timeout_ms=settings.request_timeout_ms,
        retry_backoff_ms=settings.retry_backoff_ms,
        retry_backoff_max_ms=settings.retry_backoff_max_ms,
        retries=settings.retries,
        max_in_flight=settings.max_in_flight_requests_per_connection,
        batch_records=1 << 31,
        batch_size=settings.batch_size,
        linger_ms=settings.linger_ms,
        codec=settings.compression_type,
        acks=settings.acks,
        idempotent=settings.enable_idempotence,
    )


def _row(partition: TopicPartition, offset: int | OffsetAndMetadata) -> OffsetToCommit:
    said = offset if isinstance(offset, OffsetAndMetadata) else OffsetAndMetadata(offset)
    return OffsetToCommit(partition, *said)


def _name(topic: str, partition: int | None) -> str:
    return topic if partition is None else f"{topic}-{partition}"
