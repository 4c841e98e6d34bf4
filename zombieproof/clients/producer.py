"""The producer: what an application calls.

Theory of operation: a call waits by letting the transport work (`Transport.wait_until`); everything else is done by
`ProducerCalls`, which the asynchronous producer (`aio`) shares. A failure says what to do next by its class:
`AbortableError` abort the transaction; `ApplicationRecoverable`, and with it `ProducerFenced`, close the producer and
begin again with a new one; `InvalidConfiguration` change what is configured; `CallTimedOut` make the same call again;
`IllegalState` the call itself was a mistake, and has changed nothing. What can be repeated was repeated before.
Source: reference §5.2; ``KafkaProducer.java``; KIP-98, KIP-447, KIP-939, KIP-1050.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self, TypeVar

from zombieproof.clients.batches import SentRecord
from zombieproof.clients.errors import Failure
from zombieproof.clients.producer_calls import Headers, Offsets, ProducerCalls
from zombieproof.clients.producer_runtime import NEVER_MS, Operation
from zombieproof.clients.settings import ProducerSettings
from zombieproof.clients.transactional_requests import GroupMetadata, PreparedTransaction
from zombieproof.clients.transport import Transport
from zombieproof.clients.values import PartitionInfo, RecordMetadata
from zombieproof.formats.stored_records import RecordHeader
from zombieproof.model.rules import Rules

T = TypeVar("T")


class RecordFuture:
    """What becomes of one record, in the manner of ``concurrent.futures.Future``; times in milliseconds."""

    __slots__ = ("_producer", "_sent")

    def __init__(self, producer: "Producer", sent: SentRecord) -> None:
        self._producer, self._sent = producer, sent

    def done(self) -> bool:
        """Whether the record has its outcome."""
        return self._sent.is_done

    def result(self, timeout_ms: int | None = None) -> RecordMetadata:
        """Wait until the record is stored.

        Raises:
            AbortableError, FatalError, ProducerFailure: it is not.
            TimeoutError: nobody knows within `timeout_ms`; None: within ``delivery.timeout.ms`` it is known.
        """
        failure = self.exception(timeout_ms)
        if failure is not None:
            raise failure
        return metadata_of(self._sent)

    def exception(self, timeout_ms: int | None = None) -> Failure | None:
        """Wait for the outcome, and return why the record failed; None if it is stored.

        Raises:
            TimeoutError: nobody knows within `timeout_ms`.
        """
        limit_ms = NEVER_MS if timeout_ms is None else timeout_ms
        if not self._producer.transport.wait_until(self.done, limit_ms):
            raise TimeoutError(f"the record has no outcome within {limit_ms} ms: it may have one later")
        return self._producer.runtime.failure_of(self._sent)

    def add_done_callback(self, action: Callable[["RecordFuture"], object]) -> None:
        """Call `action` with this future when the record has its outcome, which may be now."""

        def act() -> None:
            action(self)

        self._producer.runtime.watch(self._sent, act)


class Producer:
    """A producer, transactional if it has a ``transactional.id``.

    Args:
        transport: the way to the brokers.
        settings: settings, or a mapping of them by Kafka's names.
        rules: the rules that it follows; by default the newest.
        named: settings by their names with underscores.

    Raises:
        SettingsError: a setting does not exist, or does not go together with another.
    """

    def __init__(
        self,
        transport: Transport,
        settings: ProducerSettings | Mapping[str, Any] | None = None,
        /,
        *,
        rules: Rules | None = None,
        **named: Any,
    ) -> None:
        self.transport, self.settings = transport, settings_of(settings, named)
        self.runtime = ProducerCalls(self.settings, transport, rules)

    def _wait(self, operation: Operation[T]) -> T:
        try:
            with self.transport.lock:
                wait = next(operation)
            while True:
                is_over = self.transport.wait_until(*wait)
                with self.transport.lock:
                    wait = operation.send(is_over)
        except StopIteration as end:
            result: T = end.value
            return result

    # ---------------------------------------------------------------- records

    def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        *,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Headers = (),
    ) -> RecordFuture:
        """Hand a record over; it leaves with its batch.

        Waits for the topic to be known, and for room, up to ``max.block.ms``; a record for which that was in vain has
        failed, which its future tells.

        Args:
            topic: its topic.
            value: what it says; None: a tombstone.
            key: what it is about.
            partition: where it goes; None: by its key, or where others without a key go now.
            timestamp_ms: its time; None: now.
            headers: names and values.

        Raises:
            IllegalState: no transaction is open, or the producer is closed.
            AbortableError, FatalError: the transaction, or the producer, has failed before.
            TypeError: key or value is no bytes.
        """
        told: tuple[RecordHeader, ...] = ()
        if headers or key is not None or not isinstance(value, bytes):
            told = headers_of(value, key, headers)
        sent = self.runtime.offer(topic, value, key, partition, timestamp_ms, told)
        if sent is None:
            sent = self._wait(self.runtime.send(topic, value, key, partition, timestamp_ms, told))
        return RecordFuture(self, sent)

    def flush(self) -> None:
        """Wait until every record has its outcome; each future tells its own."""
        self._wait(self.runtime.flush())

    def partitions_for(self, topic: str) -> list[PartitionInfo]:
        """The partitions of a topic.

        Raises:
            TopicUnknown: the cluster has not told of it within ``max.block.ms``.
        """
        return self._wait(self.runtime.partitions_for(topic))

    # ---------------------------------------------------------------- transactions

    def init_transactions(self, *, keep_prepared: bool = False) -> PreparedTransaction | None:
        """Take the transactional id: whoever had it before is fenced, and its transaction aborted.

        With `keep_prepared` a prepared transaction stays, and is returned (KIP-939).

        Raises:
            IllegalState: it was called before, or there is no transactional id.
            FatalError: the id cannot be had.
            CallTimedOut: not within ``max.block.ms``.
        """
        return self._wait(self.runtime.init_transactions(keep_prepared=keep_prepared))

    def begin_transaction(self) -> None:
        """Begin a transaction.

        Raises:
            IllegalState: one is open, or `init_transactions` was not called.
            FatalError: the producer is at its end.
        """
        self.runtime.begin_transaction()

    def send_offsets_to_transaction(self, offsets: Offsets, group_metadata: GroupMetadata | str) -> None:
        """Commit offsets of a consumer with the transaction: where it goes on reading.

        Raises:
            IllegalState: no transaction is open.
            AbortableError: the consumer is no member of its group any more, or the transaction has failed before.
            FatalError: the producer is at its end.
            CallTimedOut: not within ``max.block.ms``.
        """
        self._wait(self.runtime.send_offsets(offsets, group_metadata))

    def commit_transaction(self) -> None:
        """Commit, when every record is acknowledged.

        Raises:
            IllegalState: no transaction is open.
            AbortableError: a record failed, or the commit did.
            FatalError: the producer is at its end; a transaction that was being committed may be committed.
            CallTimedOut: not within ``max.block.ms``; the outcome is not known.
        """
        self._wait(self.runtime.commit())

    def abort_transaction(self) -> None:
        """Abort: no read_committed consumer ever sees its records.

        Raises:
            IllegalState: no transaction is open.
            FatalError: the producer is at its end.
            CallTimedOut: not within ``max.block.ms``.
        """
        self._wait(self.runtime.abort())

    def prepare_transaction(self) -> PreparedTransaction:
        """Leave the decision to an outer commit, which is told what is returned (KIP-939).

        Raises:
            IllegalState, ProducerFailure: no transaction is open, or the producer takes no part in two-phase commit.
        """
        return self._wait(self.runtime.prepare())

    def complete_transaction(self, transaction: PreparedTransaction) -> None:
        """End what is prepared: commit if the outer commit tells of this transaction, abort if it does not (KIP-939).

        Raises:
            IllegalState: nothing is prepared.
        """
        self._wait(self.runtime.complete(transaction))

    @contextmanager
    def transaction(self) -> Iterator["Producer"]:
        """A block that is one transaction: it is committed at the end, and aborted if an exception leaves it.

        The exception is raised again as it is. Where nothing can be aborted (the producer is at its end, the commit
        timed out) nothing is tried.
        """
        self.begin_transaction()
        try:
            yield self
        except BaseException as failure:
            self._wait(self.runtime.give_up(failure))
            raise
        self._wait(self.runtime.commit_or_give_up())

    # ---------------------------------------------------------------- the end

    def close(self, timeout_ms: int | None = None) -> None:
        """Finish what was begun, abort a transaction that is open; what is not over within `timeout_ms` fails.

        None waits as long as a record may take (``delivery.timeout.ms``).
        """
        self._wait(self.runtime.close(timeout_ms))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()


def settings_of(settings: ProducerSettings | Mapping[str, Any] | None, named: Mapping[str, Any]) -> ProducerSettings:
    """The settings as they were given: whole, or by their names.

    Raises:
        SettingsError: one does not exist, or does not go together with another.
    """
    if isinstance(settings, ProducerSettings):
        chosen = {name: getattr(settings, name) for name in settings.model_fields_set}
        return ProducerSettings(**{**chosen, **named}) if named else settings
    return ProducerSettings(settings, **named)


def headers_of(value: object, key: object, headers: Headers) -> tuple[RecordHeader, ...]:
    """The headers of a record, when key and value are what they may be.

    Raises:
        TypeError: key or value is no bytes.
    """
    for name, part in (("value", value), ("key", key)):
        if part is not None and not isinstance(part, bytes):
            raise TypeError(f"the {name} of a record is bytes or None, not {type(part).__name__}: encode it first")
    return tuple(headers.items() if isinstance(headers, Mapping) else headers) if headers else ()


def metadata_of(sent: SentRecord) -> RecordMetadata:
    """Where a record that is stored lies."""
    return RecordMetadata(*sent.batch.partition, sent.offset, sent.timestamp_ms)
