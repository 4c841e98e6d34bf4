"""What a consumer asks leaders for: records, and where partitions begin and end.

Theory of operation: each leader is asked by one Fetch at a time, for all partitions of which nothing is left to hand
out. What an answer holds counts only for a partition that still reads where it was asked for. A leader that is none any
more is looked for again.
Source: ``Fetcher.java``, ``OffsetFetcher.java``.
"""

from collections.abc import Callable, Iterable, Mapping

from zombieproof.clients.consumer_errors import NoOffset, ReadRefused
from zombieproof.clients.partition_reader import ConsumerRecord, PartitionReader
from zombieproof.clients.pending_transactions import PendingTransactions
from zombieproof.clients.read_committed import FETCH_VERSION, CorruptBatchError
from zombieproof.clients.settings import ConsumerSettings
from zombieproof.clients.tasks import Ask, Pause, Steps, Task, Tasks
from zombieproof.clients.values import OffsetAndMetadata
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.partitions import (
    EARLIEST,
    LATEST,
    Fetch,
    FetchAnswer,
    Fetched,
    ListOffsets,
    ListOffsetsAnswer,
)
from zombieproof.model.vocabulary import NONE, Error, Isolation
from zombieproof.statemachines.consumer.reading import isolation_of_request

LIST_OFFSETS_VERSION = 5
ELSEWHERE = frozenset(
    {
        Error.NOT_LEADER_OR_FOLLOWER,
        Error.UNKNOWN_TOPIC_OR_PARTITION,
        Error.NETWORK_EXCEPTION,
        Error.KAFKA_STORAGE_ERROR,
    }
)
"""Whoever was asked does not lead the partition, or not yet."""

Known = dict[TopicPartition, OffsetAndMetadata | None]
"""The committed offsets of partitions; None: there is none."""

RESETS = {"earliest": EARLIEST, "latest": LATEST}


class Fetcher:
    """The partitions that one consumer reads, in the order in which it got them."""

    def __init__(self, settings: ConsumerSettings, tasks: Tasks) -> None:
        self._settings, self._tasks = settings, tasks
        self.isolation = settings.isolation_level
        self.pending = PendingTransactions(settings.pending_transactions_memory, settings.pending_transactions_dir)
        self.readers: dict[TopicPartition, PartitionReader] = {}
        self._fetches: dict[int, Task[None]] = {}
        self._failures: list[Exception] = []

    # ---------------------------------------------------------------- what is read

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these partitions, and no others; of those that were read before nothing is lost."""
        wanted = dict.fromkeys(partitions)
        for partition in [each for each in self.readers if each not in wanted]:
            self.readers.pop(partition).close()
        for partition in wanted:
            if partition not in self.readers:
                self.readers[partition] = PartitionReader(partition, self.isolation, self.pending)

    def stop(self) -> None:
        """Nothing is read any more."""
        self.assign(())
        self.pending.close()
        for task in self._fetches.values():
            self._tasks.stop(task)

    @property
    def without_position(self) -> list[TopicPartition]:
        """The partitions of which it is not known where they are to be read."""
        return [partition for partition, reader in self.readers.items() if reader.filter is None]

    def hand_out(self, most: int) -> list[ConsumerRecord]:
        """The next records, `most` at most; who had a turn is behind the others the next time.

        Raises:
            ConsumerFailure, CorruptBatchError, SpillFailed: something cannot be read.
        """
        found = list[ConsumerRecord]()
        for partition, reader in list(self.readers.items()):
            if len(found) == most:
                break
            records = reader.hand_out(most - len(found))
            if records:
                found += records
                self.readers[partition] = self.readers.pop(partition)
        if not found:
            self._fail()
        return found

    def _fail(self) -> None:
        """What cannot be read is told when everything before it was handed out."""
        if self._failures:
            raise self._failures.pop(0)
        if self.pending.failure is not None:
            failure, self.pending.failure = self.pending.failure, None
            raise failure

    # ---------------------------------------------------------------- Fetch

    def fetch(self) -> None:
        """Ask each leader that is not being asked for what is wanted of it."""
        self._fetches = {node: task for node, task in self._fetches.items() if not task.is_over}
        leaders = self._tasks.transport.metadata().leaders
        by_node: dict[int, dict[TopicPartition, PartitionReader]] = {}
        for partition, reader in self.readers.items():
            if reader.wants_data and partition in leaders:
                by_node.setdefault(leaders[partition], {})[partition] = reader
            elif reader.wants_data and NONE not in self._fetches:
                self._fetches[NONE] = self._tasks.start(self._looking_again())
        for node, readers in by_node.items():
            if node not in self._fetches:
                self._fetches[node] = self._tasks.start(self._fetching(node, readers))

    def _fetching(self, node: int, readers: Mapping[TopicPartition, PartitionReader]) -> Steps[None]:
        settings = self._settings
        asked = {tp: reader.filter.position for tp, reader in readers.items() if reader.filter is not None}
        isolation = Isolation(isolation_of_request(self.isolation))
        request = Fetch(
            FETCH_VERSION,
            isolation,
            asked,
            settings.fetch_min_bytes,
            settings.fetch_max_wait_ms,
            max(settings.fetch_max_bytes, 1),
            max(settings.max_partition_fetch_bytes, 1),
        )
        answer = yield Ask(node, request, settings.request_timeout_ms)
        rows = answer.partitions if isinstance(answer, FetchAnswer) else {}
        is_elsewhere = not rows
        for partition, fetched in rows.items():
            reader = self.readers.get(partition)
            still = reader is not None and reader.wants_data and reader.filter is not None
            if reader is None or not still or reader.filter is None or reader.filter.position != asked[partition]:
                continue
            is_elsewhere |= not self._take(reader, fetched)
        if is_elsewhere:
            yield from self._looking_again()

    def _looking_again(self) -> Steps[None]:
        """After a while the cluster is looked at again."""
        yield Pause(self._tasks.transport.now_ms() + self._settings.retry_backoff_ms)
        self._tasks.transport.refresh_metadata()

    def _take(self, reader: PartitionReader, fetched: Fetched) -> bool:
        """What was fetched of a partition; False: it is to be fetched elsewhere."""
        topic, number = reader.partition
        if fetched.error == Error.OFFSET_OUT_OF_RANGE:
            reader.forget_position()
            reader.is_reset = True
        elif fetched.error in ELSEWHERE:
            return False
        elif fetched.error != Error.NONE:
            self._failures.append(ReadRefused(fetched.error, f"{topic}-{number} cannot be read"))
            return False
        else:
            try:
                reader.take(fetched)
            except CorruptBatchError as failure:
                self._failures.append(failure)
        return True

    # ---------------------------------------------------------------- offsets by time

    def offsets_at(self, partitions: Iterable[TopicPartition], timestamp_ms: int) -> Steps[dict[TopicPartition, int]]:
        """The first offset of each partition whose record is not older; NONE: there is none.

        Raises:
            ReadRefused: a leader does not tell.
        """
        found, left = dict[TopicPartition, int](), set(partitions)
        while left:
            for node, theirs in self._by_leader(left).items():
                request = ListOffsets(
                    LIST_OFFSETS_VERSION,
                    Isolation(isolation_of_request(self.isolation)),
                    dict.fromkeys(theirs, timestamp_ms),
                )
                answer = yield Ask(node, request, self._settings.request_timeout_ms)
                rows = answer.partitions if isinstance(answer, ListOffsetsAnswer) else {}
                for (topic, number), row in rows.items():
                    if row.error == Error.NONE:
                        found[topic, number] = row.offset
                    elif row.error not in ELSEWHERE:
                        raise ReadRefused(row.error, f"{topic}-{number}: its offsets are not told")
            left -= found.keys()
            if left:
                yield from self._looking_again()
        return found

    def _by_leader(self, partitions: Iterable[TopicPartition]) -> dict[int, tuple[TopicPartition, ...]]:
        leaders = self._tasks.transport.metadata().leaders
        found: dict[int, tuple[TopicPartition, ...]] = {}
        for partition in sorted(partitions):
            if partition in leaders:
                node = leaders[partition]
                found[node] = (*found.get(node, ()), partition)
        return found

    # ---------------------------------------------------------------- where reading begins

    def begin(
        self, partitions: Iterable[TopicPartition], committed: Callable[[list[TopicPartition]], Steps[Known]] | None
    ) -> Steps[None]:
        """Begin where the group has committed (`committed` None: there is no group), or where auto.offset.reset says.

        Raises:
            ConsumerFailure: neither says where.
        """
        readers = {tp: self.readers[tp] for tp in partitions}
        asks = [tp for tp, reader in readers.items() if not reader.is_reset and reader.reset_to is None]
        known = (yield from committed(asks)) if committed is not None and asks else {}
        for partition, at in known.items():
            reader = readers[partition]
            if at is not None and reader.filter is None:
                reader.begin_at(at)
        left = [tp for tp, reader in readers.items() if self.readers.get(tp) is reader and reader.filter is None]
        yield from self._reset(readers, left)

    def _reset(self, readers: Mapping[TopicPartition, PartitionReader], left: list[TopicPartition]) -> Steps[None]:
        """Begin at the beginning or at the end, as each partition was told to, or as the policy is."""
        policy = RESETS.get(self._settings.auto_offset_reset, NONE)
        times: dict[int, list[TopicPartition]] = {}
        lost = list[TopicPartition]()
        for partition in left:
            to = readers[partition].reset_to
            if to is None and self._settings.auto_offset_reset not in RESETS:
                lost.append(partition)
            else:
                times.setdefault(policy if to is None else to, []).append(partition)
        if lost:
            raise NoOffset(lost)
        for time, theirs in times.items():
            offsets = yield from self.offsets_at(theirs, time)
            for partition, offset in offsets.items():
                reader = readers[partition]
                if self.readers.get(partition) is reader and reader.filter is None:
                    reader.begin_at(OffsetAndMetadata(offset))
