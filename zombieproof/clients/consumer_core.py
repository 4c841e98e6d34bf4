"""What a consumer reads and how far it is: what calls about offsets need, whoever waits for them.

Theory of operation: everything between brokers and consumer is under way as tasks; a call begins one and waits for it.
Who is in the group, and what an application has to do about that, is in `consumer_runtime`.
Source: ``KafkaConsumer.java``, ``SubscriptionState.java``; reference §6.
"""

from collections.abc import Callable, Iterable, Mapping

from zombieproof.clients import group_offsets
from zombieproof.clients.consumer_errors import ConsumerFailure, TimedOut
from zombieproof.clients.consumer_operations import Offsets, Operation, RebalanceListener, T, Wait, as_offset
from zombieproof.clients.errors import IllegalState
from zombieproof.clients.fetcher import Fetcher
from zombieproof.clients.group_link import GroupLink
from zombieproof.clients.membership import Membership
from zombieproof.clients.partition_reader import PartitionReader
from zombieproof.clients.settings import ConsumerSettings
from zombieproof.clients.tasks import Steps, Task, Tasks
from zombieproof.clients.transactional_requests import GroupMetadata
from zombieproof.clients.transport import Transport
from zombieproof.clients.values import OffsetAndMetadata
from zombieproof.formats.topics import TopicPartition
from zombieproof.model.vocabulary import NONE, Isolation


class ConsumerCore:
    """One consumer, but for its part in the group.

    Args:
        settings: its settings.
        transport: the way to the brokers.
    """

    def __init__(self, settings: ConsumerSettings, transport: Transport) -> None:
        self.settings, self.transport = settings, transport
        self._tasks = Tasks(transport)
        self.fetcher = Fetcher(settings, self._tasks)
        self._link = GroupLink(transport, settings, settings.group_id or "")
        self._membership: Membership | None = None
        self._listener: RebalanceListener | None = None
        self._topics: frozenset[str] = frozenset()
        self._beginning: Task[None] | None = None
        self._committing: Task[None] | None = None
        self._commit_due_ms = transport.now_ms() + settings.auto_commit_interval_ms
        self._refreshed_ms = transport.now_ms()
        self.is_closed = False

    # ---------------------------------------------------------------- what is read

    def reader(self, partition: TopicPartition) -> PartitionReader:
        """One partition that is read.

        Raises:
            IllegalState: it is not.
        """
        self._check_open()
        found = self.fetcher.readers.get(partition)
        if found is None:
            names = ", ".join(f"{topic}-{number}" for topic, number in sorted(self.fetcher.readers)) or "nothing"
            raise IllegalState(f"{partition[0]}-{partition[1]} is not assigned; assigned is {names}")
        return found

    @property
    def subscription(self) -> frozenset[str]:
        """The topics that are subscribed to."""
        return self._topics

    @property
    def group_metadata(self) -> GroupMetadata:
        """Who commits.

        Raises:
            IllegalState: there is no group.
        """
        self._check_group("group_metadata")
        return self._who()

    def _who(self) -> GroupMetadata:
        found = GroupMetadata(self._link.group, instance=self.settings.group_instance_id)
        return found if self._membership is None else self._membership.metadata

    # ---------------------------------------------------------------- the cluster

    def _refresh_metadata(self) -> None:
        """What is known of the cluster is looked at anew when it is old, so that topics that have grown are noticed."""
        if self.transport.now_ms() >= self._refreshed_ms + self.settings.metadata_max_age_ms:
            self._refreshed_ms = self.transport.now_ms()
            self.transport.refresh_metadata()

    def _change(self) -> Callable[[], bool]:
        """Whether something has happened since; the application lives while it waits."""
        seen, membership = self._tasks.changes, self._membership

        def is_over() -> bool:
            if membership is not None:
                membership.is_polled()
            return self._tasks.changes != seen

        return is_over

    def _find_positions(self) -> None:
        """Ask where reading begins, of partitions of which it is not known."""
        if self._beginning is not None and self._beginning.is_over:
            beginning, self._beginning = self._beginning, None
            beginning.take()
        missing = self.fetcher.without_position
        if self._beginning is None and missing:
            committed = None if self.settings.group_id is None else self._committed
            self._beginning = self._tasks.start(self.fetcher.begin(missing, committed))

    def _committed(self, partitions: Iterable[TopicPartition]) -> Steps[dict[TopicPartition, OffsetAndMetadata | None]]:
        stable = self.settings.isolation_level != Isolation.READ_UNCOMMITTED
        return group_offsets.committed(self._link, partitions, stable=stable)

    # ---------------------------------------------------------------- offsets

    def positions(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """Where each partition that is read goes on, as it is to be committed."""
        found = {tp: reader.position for tp, reader in self.fetcher.readers.items()}
        return {tp: at for tp, at in found.items() if at is not None}

    def _commit_by_itself(self) -> None:
        """What the last poll has handed out is committed, if it is time: the application has it, done or not."""
        if not self.settings.commits_by_itself or self.transport.now_ms() < self._commit_due_ms:
            return
        self._commit_due_ms = self.transport.now_ms() + self.settings.auto_commit_interval_ms
        if self._committing is None or self._committing.is_over:
            offsets = self.positions()
            if offsets:
                self._committing = self._tasks.start(group_offsets.commit(self._link, offsets, self._who))

    def _commit_before_rebalance(self) -> Operation[None]:
        """Others go on where the application is. Where that is refused, they do so where it was committed last."""
        if self.settings.commits_by_itself and self.positions():
            try:
                yield from self.commit(None, self.settings.request_timeout_ms)
            except ConsumerFailure:
                return

    def commit(self, offsets: Offsets | None, timeout_ms: int | None = None) -> Operation[None]:
        """Commit these offsets, or those behind what was handed out."""
        self._check_group("commit")
        rows = self.positions() if offsets is None else {tp: as_offset(at) for tp, at in offsets.items()}
        if rows:
            yield from self.wait_for(group_offsets.commit(self._link, rows, self._who), "commit", timeout_ms)

    def committed(
        self, partitions: Iterable[TopicPartition], timeout_ms: int | None
    ) -> Operation[dict[TopicPartition, OffsetAndMetadata | None]]:
        """What the group has committed."""
        self._check_group("committed")
        return (yield from self.wait_for(self._committed(list(partitions)), "committed", timeout_ms))

    def position(self, partition: TopicPartition, timeout_ms: int | None) -> Operation[int]:
        """Where a partition goes on; waits until that is known."""
        limit_ms = self.settings.default_api_timeout_ms if timeout_ms is None else timeout_ms
        until_ms = self.transport.now_ms() + limit_ms
        while (at := self.reader(partition).position) is None:
            self._find_positions()
            left_ms = until_ms - self.transport.now_ms()
            if left_ms <= 0 or not (yield Wait(self._change(), left_ms)):
                raise TimedOut("position", limit_ms)
        return at.offset

    def offsets_at(
        self, partitions: Iterable[TopicPartition], timestamp_ms: int, timeout_ms: int | None
    ) -> Operation[dict[TopicPartition, int]]:
        """The first offset whose record is not older than a time."""
        self._check_open()
        steps = self.fetcher.offsets_at(list(partitions), timestamp_ms)
        return (yield from self.wait_for(steps, "looking up offsets", timeout_ms))

    def offsets_for_times(
        self, times_ms: Mapping[TopicPartition, int], timeout_ms: int | None
    ) -> Operation[dict[TopicPartition, int | None]]:
        """The same with a time for each partition; None: nothing is so late."""
        found = dict[TopicPartition, int | None]()
        for time_ms in sorted(set(times_ms.values())):
            if time_ms < 0:
                raise IllegalState(f"{time_ms} is no time: times are milliseconds from 0 on")
            partitions = [tp for tp, wanted_ms in times_ms.items() if wanted_ms == time_ms]
            told = yield from self.offsets_at(partitions, time_ms, timeout_ms)
            found |= {tp: None if offset == NONE else offset for tp, offset in told.items()}
        return found

    # ---------------------------------------------------------------- waiting

    def wait_for(self, steps: Steps[T], what: str, timeout_ms: int | None = None) -> Operation[T]:
        """Bring a sequence to its end.

        Raises:
            TimedOut: it did not come to one.
            ConsumerFailure: whatever it ended with.
        """
        limit_ms = self.settings.default_api_timeout_ms if timeout_ms is None else timeout_ms
        task = self._tasks.start(steps)
        yield Wait(lambda: task.is_over, limit_ms)
        if not task.is_over:
            self._tasks.stop(task)
            raise TimedOut(what, limit_ms)
        return task.take()

    def _check_open(self) -> None:
        if self.is_closed:
            raise IllegalState("the consumer is closed: make another one")

    def _check_group(self, call: str) -> None:
        self._check_open()
        if self.settings.group_id is None:
            raise IllegalState(f"{call} needs a group.id: offsets are committed for a group")
