"""The consumer for asyncio: the same calls, awaited. All is done by `ConsumerRuntime`; only the waiting is another.

What a listener returns is awaited where it has to be, so its methods may be ``async``.
"""

from collections.abc import Iterable, Mapping
from inspect import isawaitable
from types import TracebackType
from typing import Self, TypeVar

from zombieproof.clients.aio import wait_until
from zombieproof.clients.consumer_calls import ConsumerCalls
from zombieproof.clients.consumer_operations import Call, Offsets, Operation
from zombieproof.clients.partition_reader import ConsumerRecord
from zombieproof.clients.values import OffsetAndMetadata
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.partitions import EARLIEST, LATEST

T = TypeVar("T")


class AsyncConsumer(ConsumerCalls):
    """A consumer for asyncio: arguments, calls and failures are those of `Consumer`."""

    async def _wait(self, operation: Operation[T]) -> T:
        try:
            with self.transport.lock:
                wanted = next(operation)
            while True:
                is_over = True
                if isinstance(wanted, Call):
                    returned = wanted.action()
                    if isawaitable(returned):
                        await returned
                else:
                    is_over = await wait_until(self.transport, *wanted)
                with self.transport.lock:
                    wanted = operation.send(is_over)
        except StopIteration as end:
            result: T = end.value
            return result

    # ---------------------------------------------------------------- what is read

    async def unsubscribe(self) -> None:
        """Read nothing; the group is left."""
        await self._wait(self.runtime.unsubscribe())

    async def poll(self, timeout_ms: int = 0) -> list[ConsumerRecord]:
        """The next records; none, if there are none within `timeout_ms`."""
        return await self._wait(self.runtime.poll(timeout_ms))

    # ---------------------------------------------------------------- where it is

    async def position(self, partition: TopicPartition, timeout_ms: int | None = None) -> int:
        """The offset at which somebody goes on who is to get what `poll` has not handed out."""
        return await self._wait(self.runtime.position(partition, timeout_ms))

    # ---------------------------------------------------------------- offsets

    async def commit(self, offsets: Offsets | None = None, timeout_ms: int | None = None) -> None:
        """Commit `offsets`, or those behind the records that `poll` has handed out."""
        await self._wait(self.runtime.commit(offsets, timeout_ms))

    async def committed(
        self, partitions: Iterable[TopicPartition], timeout_ms: int | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """What the group has committed for each of these."""
        return await self._wait(self.runtime.committed(partitions, timeout_ms))

    async def beginning_offsets(
        self, partitions: Iterable[TopicPartition], timeout_ms: int | None = None
    ) -> dict[TopicPartition, int]:
        """The first offset of each partition."""
        return await self._wait(self.runtime.offsets_at(partitions, EARLIEST, timeout_ms))

    async def end_offsets(
        self, partitions: Iterable[TopicPartition], timeout_ms: int | None = None
    ) -> dict[TopicPartition, int]:
        """Where each partition ends for a reader of this isolation."""
        return await self._wait(self.runtime.offsets_at(partitions, LATEST, timeout_ms))

    async def offsets_for_times(
        self, times_ms: Mapping[TopicPartition, int], timeout_ms: int | None = None
    ) -> dict[TopicPartition, int | None]:
        """The first offset of each partition whose record is not older than its time."""
        return await self._wait(self.runtime.offsets_for_times(times_ms, timeout_ms))

    # ---------------------------------------------------------------- the end

    async def close(self, timeout_ms: int | None = None) -> None:
        """Commit where offsets commit themselves, leave the group, and stop."""
        await self._wait(self.runtime.close(timeout_ms))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()
