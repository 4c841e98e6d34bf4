"""Applications of a live system: writers, groups that copy and rebalance, readers of every kind, and what they say."""

from random import Random

from tests.live.stage import Waits, pause
from tests.soak.live_stage import LiveConsumer, LiveStage, call
from tests.soak.processes import SAID, TRANSACTION_TIMEOUT_MS, Process, Writer, name_of
from zombieproof.clients.batches import SentRecord
from zombieproof.clients.consumer_errors import ConsumerFailure, FencedInstance
from zombieproof.clients.errors import ProducerFailure
from zombieproof.clients.partition_reader import ConsumerRecord
from zombieproof.clients.producer_calls import ProducerCalls
from zombieproof.clients.results import PendingResult
from zombieproof.clients.settings import ProducerSettings
from zombieproof.clients.transactional_requests import GroupMetadata
from zombieproof.clients.values import OffsetAndMetadata
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.groups import OffsetToCommit
from zombieproof.model.vocabulary import Isolation
from zombieproof.traces.history.events import NOTHING, Input
from zombieproof.traces.history.writer import HistoryWriter

SPILLED_BYTES = 200
"""So much of open transactions is held in memory by who buffers: two or three batches."""
CALL_MS = 2_000
"""After so long somebody who waits for a call makes it again."""
QUIET_MS = 600
"""Who gets nothing for so long, when everything is over, has read everything that he gets."""


def padding(chance: Random) -> str:
    """Nothing mostly; now and then more than a sector."""
    return "." * chance.randint(1, 1_500) if chance.random() < 0.1 else ""


class LineProducer:
    """A producer as applications have it, with a line of its own."""

    def __init__(self, stage: LiveStage, transactional_id: str) -> None:
        self.stage, self.line = stage, stage.line()
        settings = ProducerSettings(
            transactional_id=transactional_id,
            transaction_timeout_ms=TRANSACTION_TIMEOUT_MS,
            delivery_timeout_ms=2_000,
            request_timeout_ms=1_000,
            retry_backoff_ms=20,
            linger_ms=stage.chance.choice([0, 0, 5]),
        )
        self.runtime = ProducerCalls(settings, self.line)
        self.manager = Calls(self.runtime)
        self.consumer: LiveConsumer | None = None
        stage.clients.append(self)

    def send_requests(self) -> None:
        """Everything that is due is done."""
        self.stage.moved |= self.line.attend()

    def handle_answers(self) -> None:
        """Answers are heard as they arrive."""

    def begin(self) -> None:
        """Begin a transaction."""
        self.runtime.begin_transaction()

    def send(self, partition: TopicPartition, value: bytes) -> SentRecord:
        """Send one record."""
        topic, number = partition
        sent = self.runtime.offer(topic, value, None, number, None, ())
        assert sent is not None, "its topic is there, and so is room"
        return sent

    def finished(self, result: PendingResult) -> Waits[None]:
        """Wait for a call, as an application."""
        yield lambda: result.is_completed
        result.acknowledge()

    def vanish(self) -> None:
        """The process is gone, with its consumer and the files that it held."""
        if self.consumer is not None:
            self.consumer.vanish()


class Calls:
    """What a process asks of its producer's transactions; each call is under way when it returns."""

    def __init__(self, runtime: ProducerCalls) -> None:
        self._runtime = runtime

    @property
    def state(self) -> int:
        """The producer's."""
        return self._runtime.manager.state

    def init_transactions(self) -> PendingResult:
        """Take the transactional id."""
        return self._runtime._do(self._runtime.manager.init_transactions)

    def send_offsets(self, offsets: tuple[OffsetToCommit, ...], group: GroupMetadata) -> PendingResult:
        """Commit offsets with the transaction."""
        return self._runtime._do(lambda: self._runtime.manager.send_offsets(offsets, group))

    def begin_commit(self) -> PendingResult:
        """Commit."""
        return self._runtime._do(self._runtime.manager.begin_commit)

    def begin_abort(self) -> PendingResult:
        """Abort."""
        return self._runtime._do(self._runtime.manager.begin_abort)


class LiveWriter(Writer):
    """A writer with the producer that applications use."""

    stage: LiveStage

    def _make_producer(self) -> LineProducer:
        return LineProducer(self.stage, self.transactional_id)

    def padding(self) -> str:
        """Some records are larger than what a disk writes at once."""
        return padding(self.chance)

    def work(self) -> Waits[None]:
        """One transaction, and some time for those who copy it."""
        yield from super().work()
        yield from pause(self.stage, self.chance.randint(5, 60))


class GroupSettings:
    """How a group assigns: by which assignor, whether its members are static, and how they read.

    `has_new_ids`: each instance of a member has a transactional id of its own, so that nothing but the generation of
    the group keeps a zombie of it from committing (KIP-447).
    """

    def __init__(self, name: str, chance: Random) -> None:
        self.name = name
        self.strategy = chance.choice(["cooperative-sticky", "range", "range,cooperative-sticky"])
        self.is_static = chance.random() < 0.4
        self.has_new_ids = chance.random() < 0.6
        modes = [Isolation.READ_COMMITTED, Isolation.READ_COMMITTED, Isolation.READ_COMMITTED_BUFFERING]
        self.isolation = chance.choice(modes)


class GroupCopier(Process):
    """A member of a group: makes records of what it is assigned, and commits how far that is with them."""

    stage: LiveStage
    group: GroupSettings
    role = ""
    partitions: tuple[TopicPartition, ...] = ()
    is_finished = False

    def _make_producer(self) -> LineProducer:
        self.line_producer = LineProducer(self.stage, self.transactional_id)
        return self.line_producer

    @property
    def _is_alive(self) -> bool:
        return not self.is_finished and super()._is_alive

    def prepare(self) -> Waits[None]:
        """Join the group."""
        settings: dict[str, object] = {
            "group.id": self.group.name,
            "partition.assignment.strategy": self.group.strategy,
            "isolation.level": self.group.isolation.name.lower(),
            "session.timeout.ms": 400,
            "heartbeat.interval.ms": 100,
            "max.poll.interval.ms": 3_000,
            "max.poll.records": 6,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "request.timeout.ms": 1_000,
            "retry.backoff.ms": 20,
            "fetch.max.wait.ms": 50,
            "pending.transactions.memory": SPILLED_BYTES,
        }
        if self.group.is_static:
            settings["group.instance.id"] = self.role
        producer = self.line_producer
        producer.consumer = LiveConsumer(self.stage, producer.line, settings)
        self.consumer = producer.consumer.runtime
        self.fresh = set[TopicPartition]()
        self.consumer.subscribe("in", self)
        yield from ()

    def padding(self) -> str:
        """Some records are larger than what a disk writes at once."""
        return padding(self.chance)

    # ---------------------------------------------------------------- what the group wants

    def on_partitions_assigned(self, partitions: list[TopicPartition]) -> None:
        """Nothing is read of these before it is known, and written down, where that begins."""
        self.stage.happened("rebalances")
        self._look_up(partitions)

    def on_partitions_revoked(self, partitions: list[TopicPartition]) -> None:
        """No transaction is open where that is told."""
        self.fresh -= set(partitions)

    def on_partitions_lost(self, partitions: list[TopicPartition]) -> None:
        """Others have them already."""
        self.fresh -= set(partitions)

    def _look_up(self, partitions: list[TopicPartition]) -> None:
        for partition in partitions:
            self.consumer.reader(partition).is_paused = True
        self.fresh |= set(partitions)

    def _find_positions(self) -> Waits[None]:
        wanted, since = sorted(self.fresh), self.writer.now()
        told = yield from call(self.stage, self.consumer.committed(wanted, CALL_MS))
        by_name = {name_of(tp): NOTHING if at is None else at.offset for tp, at in told.items()}
        self.writer.fetched(self.name, self.group.name, by_name, since=since)
        for partition in wanted:
            reader, at = self.consumer.reader(partition), told[partition]
            positions = {name_of(partition): 0 if at is None else at.offset}
            self.writer.positioned(self.name, SAID[self.group.isolation], positions)
            if at is None:
                reader.forget_position(-2)
            else:
                reader.begin_at(at)
            reader.is_paused = False
        self.fresh.clear()

    # ---------------------------------------------------------------- work

    def work(self) -> Waits[None]:
        """One transaction, if there is something to read."""
        try:
            read = yield from call(self.stage, self.consumer.poll(self.chance.randint(0, 60)))
            if self.fresh:
                yield from self._find_positions()
        except FencedInstance:
            self.is_finished = True
            return
        except ConsumerFailure:
            yield from pause(self.stage, 20)
            return
        for one in read:
            assert isinstance(one.value, bytes), "applications write bytes"
            self.writer.read(self.name, name_of((one.topic, one.partition)), one.offset, one.value.decode())
        if read:
            yield from self._copy(read)
        else:
            yield from pause(self.stage, self.chance.randint(5, 40))
        if self.chance.random() < 0.01:
            yield from self._leave()

    def _copy(self, read: list[ConsumerRecord]) -> Waits[None]:
        who, positions = self.consumer.group_metadata, self.consumer.positions()
        self.begin()
        left_out = []
        for one in read:
            made_of = Input(self.group.name, name_of((one.topic, one.partition)), one.offset)
            if self.chance.random() < 0.1:
                left_out.append(made_of)
                continue
            for _ in range(1 if self.chance.random() < 0.9 else 2):
                self.send(self.chance.choice(self.partitions), (made_of,))
        if self.chance.random() < 0.25:
            # Long enough for others to take what is read here.
            yield from pause(self.stage, self.chance.randint(1, 1_000))
        offsets = {tp: positions[tp] for tp in sorted({(one.topic, one.partition) for one in read})}
        try:
            yield from self.send_offsets(who, offsets, tuple(left_out))
        except ProducerFailure:
            yield from self.abort()
            is_committed = False
        else:
            if self.chance.random() < 0.1:
                yield from pause(self.stage, self.chance.randint(1, 600))
            is_committed = yield from self.draw_end()
        if not is_committed:
            self._look_up(list(self.consumer.fetcher.readers))

    def _leave(self) -> Waits[None]:
        self.stage.happened("members left")
        self.is_finished = True
        yield from call(self.stage, self.consumer.close(CALL_MS))


class LiveReader:
    """A consumer of no group that writes down where it starts and what it gets; `group`: whose offsets it looks up."""

    def __init__(
        self, stage: LiveStage, writer: HistoryWriter, name: str, isolation: Isolation, group: str | None = None
    ) -> None:
        self.stage, self.writer, self.name, self.isolation = stage, writer, name, isolation
        settings: dict[str, object] = {
            "isolation.level": isolation.name.lower(),
            "request.timeout.ms": 1_000,
            "retry.backoff.ms": 20,
            "fetch.max.wait.ms": 50,
            "max.poll.records": 200,
            "pending.transactions.memory": SPILLED_BYTES,
            "auto.offset.reset": "earliest",
        }
        self.client = LiveConsumer(stage, stage.line(), settings | ({} if group is None else {"group.id": group}))
        self.consumer = self.client.runtime
        stage.clients.append(self.client)

    def position(self, positions: dict[TopicPartition, int]) -> None:
        """Start, or start again."""
        self.writer.positioned(self.name, SAID[self.isolation], {name_of(tp): at for tp, at in positions.items()})
        for partition, offset in positions.items():
            self.consumer.reader(partition).begin_at(OffsetAndMetadata(offset))

    def poll(self, timeout_ms: int) -> Waits[int]:
        """The next records; how many they were."""
        try:
            read = yield from call(self.stage, self.consumer.poll(timeout_ms))
        except ConsumerFailure:
            yield from pause(self.stage, 20)
            return 0
        for one in read:
            assert isinstance(one.value, bytes), "applications write bytes"
            self.writer.read(self.name, name_of((one.topic, one.partition)), one.offset, one.value.decode())
        return len(read)

    def read_meanwhile(self, partitions: list[TopicPartition], chance: Random) -> Waits[None]:
        """Read as others write, and start again now and then."""
        self.consumer.assign(partitions)
        self.position(dict.fromkeys(partitions, 0))
        while not self.stage.is_over:
            yield from self.poll(chance.randint(5, 150))
            if chance.random() < 0.03:
                known = self.consumer.positions()[partition := chance.choice(partitions)].offset
                self.position({partition: chance.randint(max(0, known - 100), known)})

    def read_all(self, partitions: list[TopicPartition]) -> Waits[None]:
        """The last look, when everything is over."""
        self.consumer.assign(partitions)
        self.position(dict.fromkeys(partitions, 0))
        since = self.writer.now()
        of_logs = LiveReader(self.stage, self.writer, f"ends for {self.name}", Isolation.READ_UNCOMMITTED)
        ends = yield from call(self.stage, of_logs.consumer.offsets_at(partitions, -1, None))
        quiet_since_ms, before = self.stage.now_ms, self._offsets()
        while self.stage.now_ms < quiet_since_ms + QUIET_MS and any(before[tp] < ends[tp] for tp in partitions):
            count = yield from self.poll(50)
            if count or self._offsets() != before:
                quiet_since_ms, before = self.stage.now_ms, self._offsets()
        while (yield from self.poll(0)):
            pass
        for partition, position in self._offsets().items():
            self.writer.final_read(self.name, name_of(partition), position=position, end=ends[partition], since=since)

    def _offsets(self) -> dict[TopicPartition, int]:
        return {tp: at.offset for tp, at in self.consumer.positions().items()}

    def fetch_offsets(self, group: str, partitions: tuple[TopicPartition, ...]) -> Waits[None]:
        """The committed offsets of the group; those that are not stable are waited for.

        Raises:
            ConsumerFailure: they never are.
        """
        since = self.writer.now()
        told = yield from call(self.stage, self.consumer.committed(partitions, None))
        by_name = {name_of(tp): NOTHING if at is None else at.offset for tp, at in told.items()}
        self.writer.fetched(self.name, group, by_name, since=since)
