"""What is at work in a soak: instances of applications that write down what they ask, are told and read."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Protocol

from tests.live.consumer import BACKOFF_MS, LiveConsumer, Read
from tests.live.stage import Client, Task, Waits, pause
from tests.live.staged_producer import StagedProducer
from tests.soak.weather import Scene
from zombieproof.clients.batches import SentRecord
from zombieproof.clients.errors import Failure, IllegalState, ProducerFailure
from zombieproof.clients.results import PendingResult
from zombieproof.clients.sender import SenderSettings
from zombieproof.clients.transactional_requests import GroupMetadata
from zombieproof.clients.values import OffsetAndMetadata
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.groups import OffsetFetch, OffsetFetchAnswer, OffsetToCommit
from zombieproof.model.vocabulary import Error, Isolation, ProducerState
from zombieproof.traces.history.events import Input, Outcome
from zombieproof.traces.history.events import Isolation as Said
from zombieproof.traces.history.writer import HistoryWriter

TRANSACTION_TIMEOUT_MS = 3000
SETTINGS = SenderSettings(delivery_timeout_ms=2_000, request_timeout_ms=1_000, retry_backoff_ms=20)
SAID: dict[Isolation, Said] = {
    Isolation.READ_COMMITTED: "read_committed",
    Isolation.READ_COMMITTED_BUFFERING: "read_committed_buffering",
    Isolation.READ_UNCOMMITTED: "read_uncommitted",
}


def name_of(partition: TopicPartition) -> str:
    """As Kafka's tools write it."""
    return f"{partition[0]}-{partition[1]}"


def outcome_of(failure: Failure) -> Outcome:
    """What a failure says: fenced for good, or nothing that can be relied on."""
    is_fenced = isinstance(failure, ProducerFailure) and failure.error == Error.PRODUCER_FENCED
    return "fenced" if is_fenced else "unknown"


class Reader:
    """A consumer that writes down where it starts and what it gets."""

    def __init__(self, stage: Scene, writer: HistoryWriter, name: str, isolation: Isolation, group: str = "") -> None:
        self.stage, self.writer, self.name, self.isolation = stage, writer, name, isolation
        self.consumer = LiveConsumer(stage, isolation=isolation, group=group)

    def position(self, positions: dict[TopicPartition, int]) -> None:
        """Start, or start again."""
        self.writer.positioned(self.name, SAID[self.isolation], {name_of(tp): at for tp, at in positions.items()})
        for partition, offset in positions.items():
            self.consumer.seek(partition, offset)

    def poll(self, records: int) -> Waits[list[Read]]:
        """The next records."""
        read = yield from self.consumer.poll(records)
        self._note(read)
        return read

    def _note(self, read: list[Read]) -> None:
        for one in read:
            assert isinstance(one.record.value, bytes), "applications write bytes"
            self.writer.read(self.name, name_of(one.partition), one.offset, one.record.value.decode())

    def read_meanwhile(self, partitions: list[TopicPartition], chance: Random) -> Waits[None]:
        """Read as others write, and start again now and then."""
        self.position(dict.fromkeys(partitions, 0))
        while not self.stage.is_over:
            yield from self.poll(200)
            yield from pause(self.stage, chance.randint(5, 150))
            if chance.random() < 0.03:
                passed = self.consumer.assigned[partition := chance.choice(partitions)].position
                self.position({partition: chance.randint(max(0, passed - 100), passed)})

    def read_all(self, partitions: list[TopicPartition]) -> Waits[None]:
        """The last look, when everything is over."""
        self.position(dict.fromkeys(partitions, 0))
        since = self.writer.now()
        of_logs = LiveConsumer(self.stage, isolation=Isolation.READ_UNCOMMITTED)
        of_logs.assign(*partitions)
        ends = yield from of_logs.ends()
        self._note((yield from self.consumer.read_all()))
        for partition in partitions:
            position = self.consumer.assigned[partition].filter.position
            self.writer.final_read(self.name, name_of(partition), position=position, end=ends[partition], since=since)

    def fetch_offsets(self, process: str, partitions: tuple[TopicPartition, ...]) -> Waits[dict[TopicPartition, int]]:
        """The committed offsets of its group; those that are not stable are waited for."""
        group = self.consumer.group
        while True:
            since = self.writer.now()
            answer = yield from self.consumer._ask_coordinator(OffsetFetch(7, group, True, partitions))
            if isinstance(answer, OffsetFetchAnswer) and answer.error == Error.NONE:
                rows = answer.partitions
                if all(row.error == Error.NONE for row in rows.values()):
                    told = {tp: row.offset for tp, row in rows.items()}
                    self.writer.fetched(process, group, {name_of(tp): at for tp, at in told.items()}, since=since)
                    return told
            yield from pause(self.stage, BACKOFF_MS)


class TransactionCalls(Protocol):
    """The calls that a producer makes about transactions: each is under way when it returns."""

    @property
    def state(self) -> int:
        """The producer's."""
        ...

    def init_transactions(self) -> PendingResult:
        """Take the transactional id."""
        ...

    def send_offsets(self, offsets: tuple[OffsetToCommit, ...], group: GroupMetadata, /) -> PendingResult:
        """Commit offsets with the transaction."""
        ...

    def begin_commit(self) -> PendingResult:
        """Commit."""
        ...

    def begin_abort(self) -> PendingResult:
        """Abort."""
        ...


class ProcessProducer(Client, Protocol):
    """What a process wants of its producer."""

    @property
    def manager(self) -> TransactionCalls:
        """The calls about transactions."""
        ...

    def begin(self) -> None:
        """Begin a transaction."""
        ...

    def send(self, partition: TopicPartition, value: bytes) -> SentRecord:
        """Send a record."""
        ...

    def finished(self, result: PendingResult) -> Waits[None]:
        """Wait for a call.

        Raises:
            ProducerFailure: it failed.
        """
        ...


class Process:
    """One instance of an application that writes transactions; subclasses say what goes into them.

    `ended` is called when a transaction is over, one way or another.
    """

    def __init__(
        self,
        stage: Scene,
        writer: HistoryWriter,
        name: str,
        transactional_id: str,
        ended: Callable[[], None],
        chance: Random,
    ) -> None:
        self.stage, self.writer, self.name, self.ended, self.chance = stage, writer, name, ended, chance
        self.transactional_id = transactional_id
        self.producer = self._make_producer()
        self.label = ""
        self.transactions = self.values = 0
        self._waiting: dict[str, SentRecord] = {}

    def _make_producer(self) -> ProcessProducer:
        """The producer of this instance, which has taken its place on the stage."""
        timeout_ms = TRANSACTION_TIMEOUT_MS
        return StagedProducer(self.stage, self.transactional_id, settings=SETTINGS, transaction_timeout_ms=timeout_ms)

    # ---------------------------------------------------------------- what is asked and told

    def run(self) -> Waits[None]:
        """Work until the end, or until the producer is of no use any more."""
        self.writer.init(self.name, self.transactional_id)
        try:
            yield from self.producer.finished(self.producer.manager.init_transactions())
        except ProducerFailure as failure:
            self.writer.initialized(self.name, outcome_of(failure))
            return
        self.writer.initialized(self.name, "ok")
        yield from self.prepare()
        while not self.stage.is_over and self._is_alive:
            yield from self.work()

    @property
    def _is_alive(self) -> bool:
        return self.producer.manager.state != ProducerState.FATAL_ERROR

    def padding(self) -> str:
        """What a value has behind its name."""
        return ""

    def prepare(self) -> Waits[None]:
        """What comes before the first transaction, and behind one that was aborted."""
        yield from ()

    def work(self) -> Waits[None]:
        """A transaction, if there is something to be done."""
        raise NotImplementedError

    def begin(self) -> None:
        """Begin a transaction."""
        self.transactions += 1
        self.label = f"{self.name}.{self.transactions}"
        self.writer.begin(self.name, self.label)
        self.producer.begin()

    def send(self, partition: TopicPartition, inputs: tuple[Input, ...] = ()) -> None:
        """Send one record of this transaction; a producer that does not take it any more says so at once."""
        self.values += 1
        value = f"{self.name}:{self.values}{self.padding()}"
        self.writer.send(self.name, name_of(partition), value, self.label, inputs)
        try:
            self._waiting[value] = self.producer.send(partition, value.encode())
        except (IllegalState, ProducerFailure):
            self.writer.not_sent(self.name, value, "failed")

    def hear(self) -> None:
        """Write down what was told of records."""
        for value, sent in tuple(self._waiting.items()):
            if not sent.is_done:
                continue
            del self._waiting[value]
            if sent.error is None:
                self.writer.acknowledged(self.name, value, sent.offset if sent.offset >= 0 else None)
            else:
                self.writer.not_sent(self.name, value, outcome_of(sent.error))

    def flush(self) -> Waits[None]:
        """Wait for what was sent."""
        yield lambda: all(sent.is_done for sent in self._waiting.values())
        self.hear()

    def send_offsets(
        self, who: GroupMetadata, offsets: Mapping[TopicPartition, OffsetAndMetadata], inputs: tuple[Input, ...]
    ) -> Waits[None]:
        """Commit how far a group has read, with the transaction.

        Raises:
            ProducerFailure: it failed.
        """
        by_name = {name_of(partition): at.offset for partition, at in offsets.items()}
        self.writer.commit_offsets(self.name, who.group, by_name, self.label, inputs)
        try:
            rows = tuple(OffsetToCommit(partition, *at) for partition, at in offsets.items())
            yield from self.producer.finished(self.producer.manager.send_offsets(rows, who))
        except ProducerFailure as failure:
            self.writer.offsets_committed(self.name, outcome_of(failure))
            raise
        self.writer.offsets_committed(self.name, "ok")

    def commit(self) -> Waits[bool]:
        """Commit, or abort where that is what is left; whether it is committed."""
        self.hear()
        self.writer.commit(self.name, self.label)
        try:
            yield from self._told(self.producer.manager.begin_commit())
        except ProducerFailure as failure:
            self.hear()
            self.writer.not_ended(self.name, self.label, outcome_of(failure))
            yield from self.abort()
            return False
        self.hear()
        self.writer.committed(self.name, self.label)
        self.ended()
        return True

    def abort(self) -> Waits[None]:
        """Abort, if the producer still can."""
        self.hear()
        if self.producer.manager.state in (ProducerState.IN_TRANSACTION, ProducerState.ABORTABLE_ERROR):
            self.writer.abort(self.name, self.label)
            try:
                yield from self._told(self.producer.manager.begin_abort())
                self.writer.aborted(self.name, self.label)
            except ProducerFailure as failure:
                self.writer.not_ended(self.name, self.label, outcome_of(failure))
            self.hear()
        self.ended()

    def _told(self, result: PendingResult) -> Waits[None]:
        yield lambda: result.is_completed
        result.acknowledge()

    def draw_end(self) -> Waits[bool]:
        """Commit mostly, abort sometimes; whether it is committed."""
        if self.chance.random() < 0.1:
            yield from self.abort()
            return False
        return (yield from self.commit())


class Writer(Process):
    """Writes a few records to some partitions in each transaction."""

    partitions: tuple[TopicPartition, ...] = ()

    def work(self) -> Waits[None]:
        """One transaction."""
        self.begin()
        for _ in range(self.chance.randint(1, 4)):
            self.send(self.chance.choice(self.partitions))
            if self.chance.random() < 0.3:
                yield from pause(self.stage, self.chance.randint(1, 5))
        if self.chance.random() < 0.3:
            yield from self.flush()
        if self.chance.random() < 0.02:
            # Longer than a transaction may take.
            yield from pause(self.stage, 2 * TRANSACTION_TIMEOUT_MS)
        yield from self.draw_end()


class Copier(Process):
    """Makes records of what it reads from one partition, and commits how far that is with them."""

    group = ""
    source: TopicPartition = ("", 0)
    partitions: tuple[TopicPartition, ...] = ()
    reader: Reader
    starts = 0

    def prepare(self) -> Waits[None]:
        """Begin where the group is. A new reader each time: its name says which try it is."""
        self.starts += 1
        self.reader = Reader(
            self.stage, self.writer, f"{self.name}/{self.starts}", Isolation.READ_COMMITTED, self.group
        )
        told = yield from self.reader.fetch_offsets(self.name, (self.source,))
        self.reader.position({self.source: max(0, told[self.source])})

    def work(self) -> Waits[None]:
        """One transaction, if there is something to read."""
        read = yield from self.reader.poll(self.chance.randint(1, 6))
        if not read:
            yield from pause(self.stage, self.chance.randint(5, 40))
            return
        self.begin()
        left_out = []
        for one in read:
            made_of = Input(self.group, name_of(self.source), one.offset)
            if self.chance.random() < 0.1:
                left_out.append(made_of)
                continue
            for _ in range(1 if self.chance.random() < 0.9 else 2):
                self.send(self.chance.choice(self.partitions), (made_of,))
        try:
            offsets = {self.source: OffsetAndMetadata(read[-1].offset + 1)}
            yield from self.send_offsets(GroupMetadata(self.group), offsets, tuple(left_out))
        except ProducerFailure:
            yield from self.abort()
            is_committed = False
        else:
            is_committed = yield from self.draw_end()
        if not is_committed and self._is_alive:
            yield from self.prepare()


class Role:
    """A transactional id and whoever works under it: one instance, and the zombies of earlier ones."""

    def __init__(self, stage: Scene, name: str, chance: Random, make: Callable[[str], Process]) -> None:
        self.stage, self.name, self.chance, self._make = stage, name, chance, make
        self.instances = 0
        self.failures: list[Exception] = []

    def run(self) -> Waits[None]:
        """Start instance after instance, until everything is over."""
        while self.stage.goes_on():
            self.instances += 1
            process = self._make(f"{self.name}#{self.instances}")
            task = self.stage.start(process.run())
            ends_ms, is_zombie = self._fate()
            yield lambda: task.is_done or self.stage.is_over or self.stage.now_ms >= ends_ms  # noqa: B023  # read at once
            if task.failure is not None:
                self.failures.append(task.failure)
            if task.is_done or not self.stage.goes_on() or not is_zombie:
                if not task.is_done and self.stage.goes_on():
                    self.stage.happened("crash_ms")
                self.stage.kill(task, process.producer)
                continue
            self.stage.happened("zombie_ms")
            self.stage.tasks.remove(task)
            self.stage.clients.remove(process.producer)
            self.stage.start(self._come_back(process, task))

    def _fate(self) -> tuple[int, bool]:
        """When the present instance ends at the latest, and whether it comes back."""
        now_ms = self.stage.now_ms
        ends = [
            (now_ms + 1 + int(self.chance.expovariate(1 / every_ms)), is_zombie)
            for every_ms, is_zombie in ((self.stage.crash_ms, False), (self.stage.zombie_ms, True))
            if every_ms
        ]
        return min(ends, default=(2**62, False))

    def _come_back(self, process: Process, task: Task[None]) -> Waits[None]:
        """It stood still for a while, and goes on as if nothing had happened."""
        yield from self.stage.between(self.stage.asleep_ms)
        if not self.stage.goes_on():
            return
        self.stage.tasks.append(task)
        self.stage.clients.append(process.producer)
        yield lambda: task.is_done or self.stage.is_over
        if task.failure is not None:
            self.failures.append(task.failure)
        self.stage.kill(task, process.producer)
