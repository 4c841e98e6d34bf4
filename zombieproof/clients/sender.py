"""A whole producer without I/O: records in, requests out, answers in, outcomes of records and calls out.

Theory of operation: one pass of `next_request` does what one pass of Kafka's sender thread does. A transactional
request goes first, and nothing else leaves while one is under way; else the batches that may leave go to the leaders,
one Produce for each node. Time-outs happen when `next_request` is called with a later time.
Source: reference §5.3, §5.6; ``Sender.java``, ``KafkaProducer.java``.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from zombieproof.clients.accumulator import ANY_SIZE, Accumulator, Batching
from zombieproof.clients.batches import Content, ProducerBatch, SentRecord, content_of, size_of
from zombieproof.clients.coordinator_answers import CoordinatorAnswer
from zombieproof.clients.errors import (
    DeliveryTimedOut,
    IllegalState,
    ProducerClosed,
    ProducerFailure,
    TransactionAbortable,
    TransactionAborted,
    failure_of_batch,
)
from zombieproof.clients.transaction_manager import TransactionManager
from zombieproof.clients.transactional_requests import OutgoingRequest
from zombieproof.formats.batches import Record
from zombieproof.formats.compression import Codec
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.partitions import Produce, ProduceAnswer, Produced, SentBatch
from zombieproof.model.vocabulary import ApiKey, Error
from zombieproof.statemachines.producer import batches as steps
from zombieproof.statemachines.producer.calls import aborts_on_close, is_completing
from zombieproof.statemachines.producer.effects import Fate
from zombieproof.statemachines.producer.records import Batch as BatchView
from zombieproof.statemachines.producer.records import BatchAnswer
from zombieproof.statemachines.producer.requests import produce_version


@dataclass(frozen=True, slots=True)
class SenderSettings:
    """Times in milliseconds, sizes in bytes, by the names that Kafka gives them (reference §8).

    `max_in_flight` is ``max.in.flight.requests.per.connection``: with idempotence at most 5, or a leader could not
    recognise a batch that it was sent before. `batch_records` limits a batch besides `batch_size`. `acks` -1: all
    replicas in sync. Without `idempotent` there are no producer ids and no sequences: a retry may double or reorder.
    """

    delivery_timeout_ms: int = 120_000
    request_timeout_ms: int = 30_000
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 0
    retries: int = 2147483647
    max_in_flight: int = 5
    batch_records: int = 1000
    batch_size: int = ANY_SIZE
    linger_ms: int = 0
    codec: Codec = Codec.NONE
    acks: int = -1
    idempotent: bool = True

    def __post_init__(self) -> None:
        if self.idempotent and not 1 <= self.max_in_flight <= 5:
            raise ValueError(f"max_in_flight {self.max_in_flight}: an idempotent producer allows 1 to 5")

    @property
    def batching(self) -> Batching:
        """When a batch is full, and when it leaves."""
        return Batching(
            self.batch_records,
            self.retry_backoff_ms,
            self.retry_backoff_max_ms,
            self.batch_size,
            self.linger_ms,
            self.codec,
        )


class Sender:
    """One producer instance with its records. `has_expired`: the last pass gave a batch up, and more may follow.

    Args:
        manager: its transactional side.
        settings: times and limits.
    """

    def __init__(self, manager: TransactionManager, settings: SenderSettings | None = None) -> None:
        self.manager, self.settings = manager, settings or SenderSettings()
        self.accumulator = Accumulator(self.settings.batching)
        self.flushes = False
        self.has_expired = False
        self._leaders: dict[TopicPartition, int] = {}
        self._in_flight: dict[int, tuple[OutgoingRequest, dict[TopicPartition, ProducerBatch]]] = {}
        self._closing = False

    # ------------------------------------------------------------ public calls

    def send(self, partition: TopicPartition, record: Record, now_ms: int) -> SentRecord:
        """Hand a record over; its outcome shows in what is returned.

        Raises:
            IllegalState, ProducerFailure: the producer is closed, or does not take records now.
        """
        content = content_of(record, now_ms)
        return self.add(partition, content, size_of(*content[1:]), now_ms)

    def add(self, partition: TopicPartition, content: Content, size: int, now_ms: int) -> SentRecord:
        """As `send`, with a record as the application has handed it over, and its size in bytes."""
        if self._closing:
            raise IllegalState("the producer is closed")
        manager = self.manager
        manager.add_partition(partition)
        return self.accumulator.append(partition, content, size, manager.transactional_id is not None, now_ms)

    def flush(self) -> None:
        """What waits for more records leaves as it is, until everything that is incomplete has its outcome."""
        self.flushes = True

    def refuse_record(self, failure: ProducerFailure) -> None:
        """A record was refused before it could be handed over: too large, no right to its topic, ..."""
        manager = self.manager
        manager.lifecycle.clear()
        steps.refuse_record(
            manager.producer, failure.error, manager.host, manager.rules, manager.effects, manager.notes
        )
        manager.carry_out(self._as_reported(failure))

    def close(self) -> None:
        """No record or transaction begins any more. What waits is finished; a transaction left open is aborted."""
        self._closing = True

    def close_by_force(self) -> None:
        """As `close`, and everything that is not over fails at once."""
        self._closing = True
        self.manager.close_by_force()
        self.accumulator.abort_all(ProducerClosed())
        self._in_flight.clear()

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called and nothing is left to do."""
        return self._closing and not self._has_work and not self.manager.lifecycle.has_ongoing_transaction

    @property
    def _has_work(self) -> bool:
        waits = len(self.manager.requests.queue) > 0 or self.manager.requests.in_flight is not None
        return waits or self.accumulator.has_incomplete or bool(self._in_flight)

    # ------------------------------------------------------------ the cluster

    def set_leaders(self, leaders: Mapping[TopicPartition, int]) -> None:
        """Which node leads each partition; one that is missing has no leader now."""
        self._leaders = dict(leaders)

    @property
    def waits_for_leader(self) -> bool:
        """Whether a batch waits for a partition of which nobody is known to lead it."""
        return any(partition not in self._leaders for partition in self.accumulator.waiting)

    # ------------------------------------------------------------ requests

    def next_request(self, now_ms: int) -> OutgoingRequest | None:
        """The request that leaves now; None if there is nothing to send yet. Call it until it is None."""
        self.has_expired = False
        self._expire_requests(now_ms)
        if not self.settings.idempotent:
            return self._next_produce(now_ms)
        manager, reason = self.manager, self.manager.lifecycle.last_error
        manager.settle()
        reason = manager.lifecycle.last_error or reason
        if manager.effects.fails_batches:
            self.accumulator.abort_all(reason or TransactionAborted())
        if manager.effects.gives_up:
            self._in_flight.clear()
            return None
        if manager.requests.in_flight is not None:
            self._expire_batches(now_ms)
            return None
        if manager.effects.fails_unsent:
            self.accumulator.abort_unsent(reason or TransactionAborted())
        request = manager.next_of_queue(now_ms, self.accumulator.has_incomplete)
        if request is None and self._closing and aborts_on_close(manager.producer, self._has_work):
            request = self._abort_on_close(now_ms)
        if request is not None:
            return request
        if manager.requests.is_backing_off(now_ms):
            self._expire_batches(now_ms)
            return None
        return self._next_produce(now_ms)

    def _abort_on_close(self, now_ms: int) -> OutgoingRequest | None:
        try:
            self.manager.begin_abort()
        except (IllegalState, ProducerFailure):
            self.close_by_force()
            return None
        return self.manager.next_request(now_ms)

    def next_ms(self, now_ms: int) -> int | None:
        """When there is something to do again, if no answer comes before; None: never. Later than `now_ms`."""
        settings, requests, first = self.settings, self.manager.requests, self.manager.requests.queue.first
        times = [request.sent_ms + settings.request_timeout_ms for request, _ in self._in_flight.values()]
        if requests.in_flight is not None:
            times.append(requests.in_flight[0].sent_ms + settings.request_timeout_ms)
        if first is not None:
            times.append(first.not_before_ms)
        if self.accumulator.oldest_ms is not None:
            times.append(self.accumulator.oldest_ms + settings.delivery_timeout_ms)
        times += self.accumulator.ready_ms(self._is_flushing)
        return min((time for time in times if time > now_ms), default=None)

    @property
    def _is_flushing(self) -> bool:
        self.flushes = self.flushes and self.accumulator.has_incomplete
        return self.flushes or self._closing or is_completing(self.manager.producer)

    def _next_produce(self, now_ms: int) -> OutgoingRequest | None:
        sent, leaders = None, self._leaders
        led: dict[int, list[TopicPartition]] = {}
        for partition in self.accumulator.waiting:
            if partition in leaders:
                led.setdefault(leaders[partition], []).append(partition)
        for node in sorted(led):
            under_way = sum(1 for other, _ in self._in_flight.values() if other.node == node)
            crowded = under_way >= self.settings.max_in_flight
            if crowded or not self.manager.brokers.is_ready(node):
                continue
            ready = self.accumulator.is_ready(led[node], self._is_flushing, now_ms)
            batches = self.drain(node, now_ms) if ready else {}
            if batches:
                sent = self._produce(node, batches, now_ms)
                break
        self._expire_batches(now_ms)
        return sent

    def drain(self, node: int, now_ms: int) -> dict[TopicPartition, ProducerBatch]:
        """The batches that may go to `node` now, at most one for each partition; they count as sent.

        While batches are under way to another node, which led before, those behind them wait: two leaders with five
        each would be more than either recognises when they come again.
        """
        elsewhere = {
            partition for request, batches in self._in_flight.values() if request.node != node for partition in batches
        }
        led = (
            partition
            for partition in sorted(self.accumulator.waiting)
            if self._leaders.get(partition) == node and partition not in elsewhere
        )
        drained = self.accumulator.drain(led, self._may_leave, now_ms)
        for batch in drained.values():
            if self.settings.idempotent and not batch.has_sequence:
                self.manager.sequences.number(batch)
        return drained

    def _may_leave(self, batch: ProducerBatch) -> bool:
        if not self.settings.idempotent:
            return True
        joining = self.manager.partitions.standing(batch.partition)
        return self.manager.sequences.may_leave(batch, joining, self.manager.host)

    def _produce(self, node: int, batches: dict[TopicPartition, ProducerBatch], now_ms: int) -> OutgoingRequest:
        brokers = self.manager.brokers
        version = produce_version(self.manager.producer, brokers.newest_version(node, ApiKey.PRODUCE))
        partitions: dict[TopicPartition, tuple[SentBatch, ...]] = {
            partition: (SentBatch(batch.send()),) for partition, batch in batches.items()
        }
        body = Produce(version, self.manager.transactional_id, self.settings.acks, partitions)
        request = OutgoingRequest(self.manager.requests.next_number(), node, body, now_ms)
        self._in_flight[request.number] = request, batches
        return request

    def handle_answer(self, request: OutgoingRequest, answer: ProduceAnswer | CoordinatorAnswer, now_ms: int) -> None:
        """The answer to `request`. One that comes after its request was given up is ignored."""
        if not isinstance(answer, ProduceAnswer):
            self.manager.handle_answer(request, answer, now_ms)
            return
        self.manager.lifecycle.journal.caused("answer", api=request.api.name, number=request.number)
        for partition, batch in self._land(request).items():
            # A partition that the answer leaves out was not answered for.
            self._handle_answer(batch, answer.partitions.get(partition, Produced(Error.NETWORK_EXCEPTION)), now_ms)

    def handle_disconnect(self, request: OutgoingRequest, now_ms: int) -> None:
        """No answer to `request` will come."""
        if request.api != ApiKey.PRODUCE:
            self.manager.handle_disconnect(request, now_ms)
            return
        for batch in self._land(request).values():
            self._handle_answer(batch, Produced(Error.NETWORK_EXCEPTION), now_ms)

    def handle_unsupported(self, request: OutgoingRequest, now_ms: int) -> None:
        """The broker does not know `request` in its version."""
        if request.api != ApiKey.PRODUCE:
            self.manager.handle_unsupported(request)
            return
        for batch in self._land(request).values():
            self._handle_answer(batch, Produced(Error.UNSUPPORTED_VERSION), now_ms)

    def _land(self, request: OutgoingRequest) -> dict[TopicPartition, ProducerBatch]:
        _, batches = self._in_flight.pop(request.number, (request, {}))
        return batches

    # ------------------------------------------------------------ what happens to batches

    def _handle_answer(self, batch: ProducerBatch, answer: Produced, now_ms: int) -> None:
        manager, known = self.manager, self.manager.sequences.of(batch.partition)
        outcome = BatchAnswer(answer.error, answer.base_offset, answer.log_start_offset)
        manager.lifecycle.clear()
        steps.handle_batch(
            manager.producer, known, self._view(batch, now_ms), outcome, manager.rules, manager.effects, manager.notes
        )
        failed = manager.effects.fate == Fate.FAILED
        self._carry_out(batch, failure_of_batch(answer.error, batch.partition) if failed else None, now_ms)

    def _view(self, batch: ProducerBatch, now_ms: int) -> BatchView:
        in_time = now_ms < batch.created_ms + self.settings.delivery_timeout_ms
        return batch.view(in_time=in_time, has_attempts=batch.attempts < self.settings.retries)

    def _carry_out(self, batch: ProducerBatch, failure: ProducerFailure | None, now_ms: int) -> None:
        fate, base_offset = self.manager.effects.fate, self.manager.effects.base_offset
        self.manager.carry_out(failure and self._as_reported(failure), batch=batch)
        if fate == Fate.STORED:
            batch.succeed(base_offset)
            self.accumulator.complete(batch)
        elif fate == Fate.REPEATED:
            batch.retry(now_ms)
            self.accumulator.put_back(batch)
        elif fate == Fate.SPLIT:
            self.accumulator.replace(batch, self.manager.sequences.split(batch))
        elif failure is not None:
            batch.fail(failure)
            self.accumulator.complete(batch)

    def _as_reported(self, failure: ProducerFailure) -> ProducerFailure:
        if self.manager.effects.application_error == failure.error:
            return failure
        reported = TransactionAbortable("a record could not be delivered")
        reported.__cause__ = failure
        return reported

    # ------------------------------------------------------------ time

    def _expire_requests(self, now_ms: int) -> None:
        under_way = [request for request, _ in self._in_flight.values()]
        if self.manager.requests.in_flight is not None:
            under_way.append(self.manager.requests.in_flight[0])
        for request in under_way:
            if now_ms >= request.sent_ms + self.settings.request_timeout_ms:
                self.handle_disconnect(request, now_ms)

    def _expire_batches(self, now_ms: int) -> None:
        manager = self.manager
        for batch in self.accumulator.expired(self.settings.delivery_timeout_ms, now_ms):
            self.has_expired = True
            known = manager.sequences.of(batch.partition)
            manager.lifecycle.clear()
            steps.expire_batch(
                manager.producer, known, self._view(batch, now_ms), manager.rules, manager.effects, manager.notes
            )
            self._carry_out(batch, DeliveryTimedOut(batch.partition, now_ms - batch.created_ms), now_ms)
