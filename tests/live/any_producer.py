"""The synchronous producer and the one for asyncio behind the same calls, so that one test is about both."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from tests.live.faulty_transport import FaultyTransport
from zombieproof.clients.aio import AsyncProducer, AsyncRecordFuture
from zombieproof.clients.producer import Producer, RecordFuture
from zombieproof.clients.producer_calls import ProducerCalls
from zombieproof.clients.transport import Transport
from zombieproof.clients.values import RecordMetadata

T = TypeVar("T")

KINDS = ("sync", "asyncio")


class AwaitedFuture:
    def __init__(self, awaited: "AwaitedProducer", future: AsyncRecordFuture) -> None:
        self._awaited, self._future = awaited, future

    def done(self) -> bool:
        return self._future.done()

    def result(self) -> RecordMetadata:
        return self._awaited.run(self._future)


class AwaitedProducer:
    """An `AsyncProducer` whose calls are awaited at once."""

    def __init__(self, loop: asyncio.AbstractEventLoop, transport: Transport, *given: Any, **named: Any) -> None:
        self._loop, self._producer = loop, AsyncProducer(transport, *given, **named)

    @property
    def runtime(self) -> ProducerCalls:
        return self._producer.runtime

    def run(self, awaitable: Awaitable[T]) -> T:
        async def awaited() -> T:
            return await awaitable

        return self._loop.run_until_complete(awaited())

    def send(self, *given: Any, **named: Any) -> AwaitedFuture:
        return AwaitedFuture(self, self.run(self._producer.send(*given, **named)))

    def __getattr__(self, name: str) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            return self.run(getattr(self._producer, name)(*given, **named))

        return call

    @contextmanager
    def transaction(self) -> Iterator["AwaitedProducer"]:
        block = self._producer.transaction()
        self.run(block.__aenter__())
        try:
            yield self
        except BaseException as failure:
            if not self.run(block.__aexit__(type(failure), failure, failure.__traceback__)):
                raise
        else:
            self.run(block.__aexit__(None, None, None))


AnyProducer = Producer | AwaitedProducer
AnyFuture = RecordFuture | AwaitedFuture
Make = Callable[..., AnyProducer]
"""Makes a producer: transport, settings."""


def transactional(make: Make, transport: FaultyTransport, **settings: Any) -> AnyProducer:
    producer = make(transport, {"transactional.id": "shop"}, **settings)
    producer.init_transactions()
    return producer
