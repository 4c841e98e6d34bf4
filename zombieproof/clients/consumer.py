"""The consumer: what an application calls.

Theory of operation: a call waits by letting the transport work (`Transport.wait_until`); everything else is done by
`ConsumerRuntime`, which the consumer for asyncio (`aio_consumer`) shares. A consumer lives as long as somebody lets the
transport work; it reads, and takes part in its group, in `poll`.
Source: ``KafkaConsumer.java``; KIP-62, KIP-345, KIP-429, KIP-447, KIP-848.
"""

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Self, TypeVar

from zombieproof.clients.consumer_calls import ConsumerCalls
from zombieproof.clients.consumer_operations import Call, Offsets, Operation
from zombieproof.clients.partition_reader import ConsumerRecord
from zombieproof.clients.values import OffsetAndMetadata
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.partitions import EARLIEST, LATEST

T = TypeVar("T")


class Consumer(ConsumerCalls):
    """A consumer of one group, or of none.

    Args:
        transport: the way to the brokers.
        settings: settings, or a mapping of them by Kafka's names.
        named: settings by their names with underscores.

    Raises:
        SettingsError: a setting does not exist, or does not go together with another.
    """

    def _wait(self, operation: Operation[T]) -> T:
        try:
            with self.transport.lock:
                wanted = next(operation)
            while True:
                is_over = True
                if isinstance(wanted, Call):
                    wanted.action()
                else:
                    is_over = self.transport.wait_until(*wanted)
                with self.transport.lock:
                    wanted = operation.send(is_over)
        except StopIteration as end:
            result: T = end.value
            return result

    # ---------------------------------------------------------------- what is read

    def unsubscribe(self) -> None:
        """Read nothing; the group is left."""
        self._wait(self.runtime.unsubscribe())

    def poll(self, timeout_ms: int = 0) -> list[ConsumerRecord]:
        """The next records, ``max.poll.records`` at most; none, if there are none within `timeout_ms`.

        The group is joined here, partitions come and go here, and offsets that commit themselves do it here.

        Raises:
            IllegalState: nothing is read, or the consumer is closed.
            FencedInstance: another consumer has its place.
            GroupRefused: the group does not take the consumer.
            NoOffset: it is not known where to begin.
            ReadRefused, CorruptBatchError: a partition cannot be read; it stays where it is.
            SpillFailed: open transactions are larger than their memory, and the disk does not take them.
        """
        return self._wait(self.runtime.poll(timeout_ms))

    # ---------------------------------------------------------------- where it is

    def position(self, partition: TopicPartition, timeout_ms: int | None = None) -> int:
        """The offset at which somebody goes on who is to get what `poll` has not handed out.

        With ``read_committed_buffering`` that is the first record of what is open; what lies behind it and was handed
        out is in the metadata of `positions`.

        Raises:
            IllegalState: the partition is not assigned.
            TimedOut: it is not known within `timeout_ms`, None: ``default.api.timeout.ms``.
        """
        return self._wait(self.runtime.position(partition, timeout_ms))

    # ---------------------------------------------------------------- offsets of the group

    def commit(self, offsets: Offsets | None = None, timeout_ms: int | None = None) -> None:
        """Commit `offsets`, or those behind the records that `poll` has handed out, and wait until that is durable.

        Raises:
            IllegalState: there is no group.
            CommitRefused: the consumer is no member any more, or of another generation.
            RebalanceUnderWay: poll first.
            FencedInstance, GroupRefused: see there.
            TimedOut: nobody knows within `timeout_ms`.
        """
        self._wait(self.runtime.commit(offsets, timeout_ms))

    def committed(
        self, partitions: Iterable[TopicPartition], timeout_ms: int | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """What the group has committed for each of these; None: nothing."""
        return self._wait(self.runtime.committed(partitions, timeout_ms))

    # ---------------------------------------------------------------- offsets of partitions

    def beginning_offsets(
        self, partitions: Iterable[TopicPartition], timeout_ms: int | None = None
    ) -> dict[TopicPartition, int]:
        """The first offset of each partition."""
        return self._wait(self.runtime.offsets_at(partitions, EARLIEST, timeout_ms))

    def end_offsets(
        self, partitions: Iterable[TopicPartition], timeout_ms: int | None = None
    ) -> dict[TopicPartition, int]:
        """Where each partition ends for a reader of this isolation."""
        return self._wait(self.runtime.offsets_at(partitions, LATEST, timeout_ms))

    def offsets_for_times(
        self, times_ms: Mapping[TopicPartition, int], timeout_ms: int | None = None
    ) -> dict[TopicPartition, int | None]:
        """The first offset of each partition whose record is not older than its time; None: there is none."""
        return self._wait(self.runtime.offsets_for_times(times_ms, timeout_ms))

    # ---------------------------------------------------------------- the end

    def close(self, timeout_ms: int | None = None) -> None:
        """Commit where offsets commit themselves, leave the group, and stop; a static instance keeps its place."""
        self._wait(self.runtime.close(timeout_ms))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()
