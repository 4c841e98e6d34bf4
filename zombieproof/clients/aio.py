"""The producer for asyncio: the same calls, awaited.

Theory of operation: all is done by `ProducerCalls`, as for the synchronous producer; only the waiting is another. Who
awaits lets the transport take one turn after the other, and others run in between. All of it runs in one event loop.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Generator, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self, TypeVar

from zombieproof.clients.batches import SentRecord
from zombieproof.clients.producer import headers_of, metadata_of, settings_of
from zombieproof.clients.producer_calls import Headers, Offsets, ProducerCalls
from zombieproof.clients.producer_runtime import NEVER_MS, Operation
from zombieproof.clients.settings import ProducerSettings
from zombieproof.clients.transactional_requests import GroupMetadata, PreparedTransaction
from zombieproof.clients.transport import Transport
from zombieproof.clients.values import PartitionInfo, RecordMetadata
from zombieproof.model.rules import Rules

T = TypeVar("T")

PAUSE_S = 0.001
"""How long somebody sleeps who waits for a clock that moves by itself."""


async def wait_until(transport: Transport, is_over: Callable[[], bool], timeout_ms: int) -> bool:
    """Let things happen until `is_over`, but not longer than `timeout_ms`; whether it is. Others run meanwhile."""
    until_ms = transport.now_ms() + timeout_ms
    while not is_over():
        if transport.turn(until_ms):
            await asyncio.sleep(0)
        elif transport.now_ms() >= until_ms:
            return is_over()
        else:
            await asyncio.sleep(PAUSE_S)
    return True


async def wait_for(transport: Transport, operation: Operation[T]) -> T:
    """Bring an operation to its end."""
    try:
        with transport.lock:
            wait = next(operation)
        while True:
            is_over = await wait_until(transport, *wait)
            with transport.lock:
                wait = operation.send(is_over)
    except StopIteration as end:
        result: T = end.value
        return result


class AsyncRecordFuture:
    """What becomes of one record: await it for where it is stored."""

    __slots__ = ("_producer", "_sent")

    def __init__(self, producer: "AsyncProducer", sent: SentRecord) -> None:
        self._producer, self._sent = producer, sent

    def done(self) -> bool:
        """Whether the record has its outcome."""
        return self._sent.is_done

    def __await__(self) -> Generator[Any, None, RecordMetadata]:
        return self._result().__await__()

    async def _result(self) -> RecordMetadata:
        await wait_until(self._producer.transport, self.done, NEVER_MS)
        failure = self._producer.runtime.failure_of(self._sent)
        if failure is not None:
            raise failure
        return metadata_of(self._sent)


class AsyncProducer:
    """A producer for asyncio: arguments, calls and failures are those of `Producer`."""

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

    async def _wait(self, operation: Operation[T]) -> T:
        return await wait_for(self.transport, operation)

    async def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        *,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Headers = (),
    ) -> AsyncRecordFuture:
        """Hand a record over; what is returned may be awaited for its outcome."""
        told = headers_of(value, key, headers)
        sent = self.runtime.offer(topic, value, key, partition, timestamp_ms, told)
        if sent is None:
            sent = await self._wait(self.runtime.send(topic, value, key, partition, timestamp_ms, told))
        return AsyncRecordFuture(self, sent)

    async def flush(self) -> None:
        """Wait until every record has its outcome."""
        await self._wait(self.runtime.flush())

    async def partitions_for(self, topic: str) -> list[PartitionInfo]:
        """The partitions of a topic."""
        return await self._wait(self.runtime.partitions_for(topic))

    async def init_transactions(self, *, keep_prepared: bool = False) -> PreparedTransaction | None:
        """Take the transactional id."""
        return await self._wait(self.runtime.init_transactions(keep_prepared=keep_prepared))

    async def begin_transaction(self) -> None:
        """Begin a transaction."""
        self.runtime.begin_transaction()

    async def send_offsets_to_transaction(self, offsets: Offsets, group_metadata: GroupMetadata | str) -> None:
        """Commit offsets of a consumer with the transaction."""
        await self._wait(self.runtime.send_offsets(offsets, group_metadata))

    async def commit_transaction(self) -> None:
        """Commit, when every record is acknowledged."""
        await self._wait(self.runtime.commit())

    async def abort_transaction(self) -> None:
        """Abort."""
        await self._wait(self.runtime.abort())

    async def prepare_transaction(self) -> PreparedTransaction:
        """Leave the decision to an outer commit (KIP-939)."""
        return await self._wait(self.runtime.prepare())

    async def complete_transaction(self, transaction: PreparedTransaction) -> None:
        """End what is prepared (KIP-939)."""
        await self._wait(self.runtime.complete(transaction))

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator["AsyncProducer"]:
        """A block that is one transaction, as `Producer.transaction`."""
        await self.begin_transaction()
        try:
            yield self
        except BaseException as failure:
            await self._wait(self.runtime.give_up(failure))
            raise
        await self._wait(self.runtime.commit_or_give_up())

    async def close(self, timeout_ms: int | None = None) -> None:
        """Finish what was begun, abort a transaction that is open."""
        await self._wait(self.runtime.close(timeout_ms))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()
