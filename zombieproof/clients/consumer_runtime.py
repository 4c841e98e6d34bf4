"""A consumer at work: what the synchronous consumer and the one for asyncio share.

Theory of operation: `poll` is where the application takes part: partitions are given back and taken, offsets are
committed by themselves, and failures are told there.
Source: ``KafkaConsumer.java``, ``ClassicKafkaConsumer.java``; reference §6.
"""

from collections.abc import Iterable

from zombieproof.clients.classic_membership import ClassicMembership
from zombieproof.clients.consumer_core import ConsumerCore
from zombieproof.clients.consumer_membership import ConsumerMembership
from zombieproof.clients.consumer_operations import Call, Operation, RebalanceListener, Wait
from zombieproof.clients.errors import IllegalState
from zombieproof.clients.membership import Membership
from zombieproof.clients.partition_reader import ConsumerRecord
from zombieproof.formats.topics import TopicPartition


class ConsumerRuntime(ConsumerCore):
    """One consumer.

    Args:
        settings: its settings.
        transport: the way to the brokers.
    """

    # ---------------------------------------------------------------- what is read

    def subscribe(self, topics: Iterable[str], listener: RebalanceListener | None) -> None:
        """Read what the group assigns of these topics."""
        self._check_open()
        wanted = frozenset([topics] if isinstance(topics, str) else topics)
        if self.settings.group_id is None:
            raise IllegalState("subscribe needs a group.id: without one, assign the partitions to be read")
        if self.fetcher.readers and self._membership is None:
            raise IllegalState("partitions are assigned by hand: unsubscribe first, then subscribe")
        if not wanted:
            raise IllegalState("subscribe to at least one topic; unsubscribe ends a subscription")
        self._topics, self._listener = wanted, listener
        if self._membership is None:
            kind = ConsumerMembership if self.settings.group_protocol == "consumer" else ClassicMembership
            self._membership = kind(self.settings, self._link, self._tasks)
        self._membership.subscribe(wanted)

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these partitions, whoever else does."""
        self._check_open()
        if self._membership is not None:
            raise IllegalState("the group assigns what is read: unsubscribe first, then assign")
        wanted = list(partitions)
        counts = self.transport.metadata().partitions
        for topic, number in wanted:
            if not 0 <= number < counts.get(topic, 0):
                raise IllegalState(
                    f"{topic}-{number} cannot be assigned: {topic} has {counts.get(topic, 0)} partitions"
                )
        self.fetcher.assign(wanted)

    def unsubscribe(self) -> Operation[None]:
        """Read nothing; the group is left."""
        self._check_open()
        yield from self._leave()

    def _leave(self) -> Operation[None]:
        membership, partitions = self._membership, list(self.fetcher.readers)
        if membership is not None:
            if partitions and self._listener is not None:
                listener = self._listener
                yield Call(lambda: listener.on_partitions_revoked(partitions))
            leaving = membership.leave()
            if leaving is not None:
                yield Wait(lambda: leaving.is_over, self.settings.request_timeout_ms)
        self._membership, self._listener, self._topics = None, None, frozenset()
        self.fetcher.assign(())

    # ---------------------------------------------------------------- poll

    def poll(self, timeout_ms: int) -> Operation[list[ConsumerRecord]]:
        """The next records; none, if there are none within the time."""
        self._check_open()
        if self._membership is None and not self.fetcher.readers:
            raise IllegalState("nothing is read: subscribe to topics, or assign partitions, before polling")
        until_ms = self.transport.now_ms() + timeout_ms
        self._commit_by_itself()
        goes_on = True
        while True:
            self._refresh_metadata()
            yield from self._take_part()
            self._find_positions()
            records = self.fetcher.hand_out(self.settings.max_poll_records)
            self.fetcher.fetch()
            left_ms = until_ms - self.transport.now_ms()
            if records or left_ms <= 0 or not goes_on:
                return records
            goes_on = yield Wait(self._change(), left_ms)

    # ---------------------------------------------------------------- the group

    def _take_part(self) -> Operation[None]:
        """Whatever the group wants of the application."""
        membership = self._membership
        if membership is None:
            return
        membership.is_polled()
        membership.look()
        if membership.wants_preparation and not membership.is_lost:
            kept = [tp for tp in self.fetcher.readers if membership.keeps_partitions and tp[0] in self._topics]
            gone = [tp for tp in self.fetcher.readers if tp not in kept]
            if gone:
                yield from self._commit_before_rebalance()
            yield from self._give_back(gone)
            membership.begin(kept)
        if membership.is_lost:
            membership.is_lost = False
            yield from self._give_back(list(self.fetcher.readers), is_lost=True)
            yield from self._take_part()
        elif membership.news is not None:
            yield from self._take_assignment(membership, membership.news)
            yield from self._take_part()

    def _take_assignment(self, membership: Membership, assigned: tuple[TopicPartition, ...]) -> Operation[None]:
        gone = [tp for tp in self.fetcher.readers if tp not in assigned]
        if gone:
            yield from self._commit_before_rebalance()
        yield from self._give_back(gone)
        added = [tp for tp in assigned if tp not in self.fetcher.readers]
        self.fetcher.assign(assigned)
        membership.taken(assigned, gave_back=bool(gone))
        listener = self._listener
        if listener is not None and (added or not membership.keeps_partitions):
            yield Call(lambda: listener.on_partitions_assigned(added))

    def _give_back(self, partitions: list[TopicPartition], *, is_lost: bool = False) -> Operation[None]:
        """The application is told first, so that it may commit; then nothing of them is read."""
        listener = self._listener
        if partitions and listener is not None:
            tell = listener.on_partitions_lost if is_lost else listener.on_partitions_revoked
            yield Call(lambda: tell(partitions))
        if partitions:
            self.fetcher.assign([tp for tp in self.fetcher.readers if tp not in partitions])

    # ---------------------------------------------------------------- the end

    def close(self, timeout_ms: int | None) -> Operation[None]:
        """Commit if offsets commit themselves, leave the group, stop."""
        if self.is_closed:
            return
        try:
            yield from self._commit_before_rebalance()
            yield from self._leave()
        finally:
            self.stop()

    def stop(self) -> None:
        """Nothing goes on, and nothing is left behind."""
        self._tasks.stop_all()
        self.fetcher.stop()
        self.is_closed = True
