"""Consume, transform, produce: each transaction holds what was read and how far that is.

Source: Kafka's ``TransactionalMessageCopier.java``.
"""

from collections.abc import Callable
from enum import Enum

from tests.live.consumer import BACKOFF_MS, LiveConsumer, Read, SharedAssignments
from tests.live.stage import Stage, Task, Waits, pause
from tests.live.staged_producer import StagedProducer
from zombieproof.clients.errors import ProducerFailure
from zombieproof.clients.sender import SenderSettings
from zombieproof.clients.transactional_requests import GroupMetadata
from zombieproof.formats.topics import TopicPartition
from zombieproof.model.vocabulary import ProducerState

BATCH_RECORDS = 50
"""Stands for a ``batch.size`` of 512."""

TRANSACTION_TIMEOUT_MS = 40_000


class Flavour(Enum):
    """What is sent of the consumer with its offsets: its group, or itself with the generation that it knows."""

    GROUP_ID = "group id"
    GROUP_METADATA = "group metadata"


class Copier:
    """One process that copies; what is read from a partition goes to the partition of the same number.

    Args:
        aborts: whether the transaction of this number (from 1) is to be aborted.
        shared: what the leader of its group says.
    """

    def __init__(
        self,
        stage: Stage,
        transactional_id: str,
        source: str,
        target: str,
        *,
        flavour: Flavour,
        transaction_size: int,
        aborts: Callable[[int], object],
        shared: SharedAssignments | None = None,
    ) -> None:
        self.stage, self.target = stage, target
        self.flavour, self.transaction_size, self.aborts = flavour, transaction_size, aborts
        partitions = tuple(tp for tp in stage.cluster.metadata.partitions if tp[0] == source)
        self.consumer = LiveConsumer(stage, group="copiers", shared=shared or SharedAssignments(partitions))
        settings = SenderSettings(batch_records=BATCH_RECORDS, retry_backoff_ms=50)
        self.producer = StagedProducer(
            stage, transactional_id, settings=settings, transaction_timeout_ms=TRANSACTION_TIMEOUT_MS
        )
        self.turn = self.committed = self.aborted = self.failed = 0
        self._stops = self._is_member = False

    def stop(self) -> None:
        """Copy nothing more: the transaction under way is finished."""
        self._stops = True

    def kill(self, task: Task[None]) -> None:
        """The process is gone."""
        self.stage.kill(task, self.producer)

    # ---------------------------------------------------------------- as a process

    def run_alone(self, *partitions: TopicPartition) -> Waits[None]:
        """Copy these partitions, until it is stopped."""
        yield from self.producer.finished(self.producer.manager.init_transactions())
        self.consumer.assign(*partitions)
        yield from self.consumer.rewind()
        yield from self._copy()

    def run_as_member(self) -> Waits[None]:
        """Copy what the group assigns, until it is stopped."""
        self._is_member = True
        yield from self.producer.finished(self.producer.manager.init_transactions())
        yield from self.consumer.join()
        yield from self._copy()
        yield from self.consumer.leave()

    def _copy(self) -> Waits[None]:
        while not self._stops:
            if self._is_member and not (yield from self.consumer.is_member()):
                yield from self.consumer.join()
            read = yield from self.consumer.poll(self.transaction_size)
            if read:
                yield from self._transaction(read)
            else:
                yield from pause(self.stage, BACKOFF_MS)
        yield from self.producer.close()

    def _transaction(self, read: list[Read]) -> Waits[None]:
        """One transaction. Whatever fails without ending the producer is aborted, and read again."""
        self.turn += 1
        manager, will_abort = self.producer.manager, self.aborts(self.turn)
        try:
            self.producer.begin()
            for one in read:
                value = one.record.value
                assert isinstance(value, bytes), "applications write bytes"
                self.producer.send((self.target, one.partition[1]), value)
            if will_abort or self.turn % 2:
                # Before an abort, else nothing would be stored: a batch that was not sent by then never is. And in
                # some other transactions, so that they take their time between reading and committing offsets.
                yield lambda: not self.producer.sender.accumulator.has_incomplete
            yield from self.producer.finished(manager.send_offsets(self.consumer.positions(), self._metadata()))
            if will_abort:
                self.aborted += 1
                yield from self._abort_and_rewind()
            else:
                yield from self.producer.finished(manager.begin_commit())
                self.committed += len(read)
        except ProducerFailure:
            if manager.state == ProducerState.FATAL_ERROR:
                raise
            self.failed += 1
            yield from self._abort_and_rewind()

    def _metadata(self) -> GroupMetadata:
        known = self.consumer.metadata
        return GroupMetadata(known.group) if self.flavour == Flavour.GROUP_ID else known

    def _abort_and_rewind(self) -> Waits[None]:
        if self.producer.manager.state in (ProducerState.IN_TRANSACTION, ProducerState.ABORTABLE_ERROR):
            yield from self.producer.finished(self.producer.manager.begin_abort())
        if self._is_member:
            yield from self.consumer.join()
        else:
            yield from self.consumer.rewind()
