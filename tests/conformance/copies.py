"""Copiers at work while something happens to them or to the brokers, and what is expected of what they write.

Of each run: nothing is in the output twice, nothing was seen twice by a consumer that read meanwhile, and the output is
what that consumer saw, and is the input, partition by partition in its order.
"""

from collections.abc import Callable, Iterable
from functools import partial
from random import Random

from tests.conformance.end_to_end import read, replicated, stage_of, value_of
from tests.live.bounces import MOMENTS, bounce
from tests.live.consumer import LiveConsumer, SharedAssignments
from tests.live.copier import Copier, Flavour
from tests.live.stage import PATIENCE, Condition, Stage, Task, Waits, pause
from tests.live.staged_producer import StagedProducer
from zombieproof.clients.sender import SenderSettings
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import Isolation, ProducerState

ROUNDS = 3
REST_MS = 1000
"""How long the consumer that reads meanwhile looks for more when everything is copied."""

SPREAD_MS = 40
"""Within how much time behind the end of a transaction faults happen: about as long as one takes."""

SESSION_MS = 100
"""After how long a group is told that a killed member is gone."""


class Copies:
    """Copiers, the consumer that reads what they write meanwhile, and what is expected of both.

    Args:
        records: how many the input has; values are their numbers.
        in_group: the copiers share the input as members of a group; else each has a partition of its own.
    """

    def __init__(
        self,
        stage: Stage,
        records: int,
        *,
        copiers: int,
        flavour: Flavour,
        transaction_size: int = 750,
        in_group: bool = False,
    ) -> None:
        self.stage, self.flavour, self.in_group = stage, flavour, in_group
        self.transaction_size = transaction_size
        self.sources = [tp for tp in stage.cluster.metadata.partitions if tp[0] == "input"]
        self.shared = SharedAssignments(tuple(self.sources))
        self.expected = self._fill(records)
        self.records = records
        self.seen: dict[int, list[bytes]] = {number: [] for number in range(len(self.sources))}
        self.count = 0
        self.aborted = 0
        self.running: dict[int, tuple[Copier, Task[None]]] = {}
        for number in range(copiers):
            self.start_copier(number)
        self.reader = stage.start(self._read_meanwhile())

    def _fill(self, records: int) -> dict[int, list[bytes]]:
        seeder = StagedProducer(self.stage, None, settings=SenderSettings(batch_records=250))
        expected: dict[int, list[bytes]] = {number: [] for number in range(len(self.sources))}
        for number in range(records):
            value = str(number).encode()
            seeder.send(self.sources[number % len(expected)], value)
            expected[number % len(expected)].append(value)
        seeder.flush()
        seeder.close_now()
        return expected

    # ---------------------------------------------------------------- copiers

    def start_copier(self, number: int) -> None:
        """Copier `number` begins, or begins anew under its id."""
        random = Random(f"{number} {self.stage.now_ms}")
        copier = Copier(
            self.stage,
            f"copier-{number}",
            "input",
            "output",
            flavour=self.flavour,
            transaction_size=self.transaction_size,
            aborts=lambda _: random.randrange(3) == 0,
            shared=self.shared,
        )
        run = copier.run_as_member() if self.in_group else copier.run_alone(self.sources[number])
        self.running[number] = copier, self.stage.start(run)

    def bounce_copier(self, number: int, *, clean: bool) -> Waits[None]:
        """Copier `number` stops, or is killed, and begins anew."""
        copier, task = self.running[number]
        if clean:
            copier.stop()
            yield lambda: task.is_done
            assert task.failure is None, "a copier that is told to stop finishes"
        else:
            copier.kill(task)
            if self.in_group:
                yield from pause(self.stage, SESSION_MS)
                yield from copier.consumer.leave()
        self.aborted += copier.aborted
        self.start_copier(number)

    def make_zombie(self, number: int, *, has_sent_offsets: bool) -> Waits[None]:
        """Copier `number` stands still within a transaction, loses its partitions meanwhile, and goes on.

        It has sent records of what it has read, and its offsets too, or not.
        """
        copier, task = self.running[number]
        manager = copier.producer.manager
        state = ProducerState.COMMITTING_TRANSACTION if has_sent_offsets else ProducerState.IN_TRANSACTION
        yield (
            lambda: (
                manager.state == state
                and manager.requests.in_flight is None
                and copier.producer.sender.accumulator.has_incomplete
            )
        )
        self.stage.tasks.remove(task)
        self.stage.clients.remove(copier.producer)
        yield from pause(self.stage, SESSION_MS)
        yield from copier.consumer.leave()
        yield from pause(self.stage, SESSION_MS)
        self.stage.tasks.append(task)
        self.stage.clients.append(copier.producer)

    # ---------------------------------------------------------------- the consumer that reads meanwhile

    def _read_meanwhile(self) -> Waits[None]:
        consumer = LiveConsumer(self.stage, isolation=Isolation.READ_COMMITTED)
        consumer.assign(*(("output", number) for _, number in self.sources))
        while True:
            got = yield from consumer.poll(2000)
            for one in got:
                self.seen[one.partition[1]].append(value_of(one))
            self.count += len(got)
            if not got:
                yield from pause(self.stage, 5)

    def reaches(self, part: float) -> Condition:
        """Whether so much of the input has been read as output."""
        return lambda: self.count >= self.records * part

    # ---------------------------------------------------------------- a whole run

    def run(self, faults: Iterable[Callable[[], Waits[None]]], *, patience: int = PATIENCE) -> None:
        """Copy everything, while faults happen at equal distances, each in the midst of the copying; judge the output.

        Raises:
            Exception: a copier failed.
        """
        planned = list(faults)
        script = self.stage.start(self._script(planned))
        assert self.stage.run(self._is_over, turns=patience), "the copiers do not go on"
        for _, task in self.running.values():
            if task.failure is not None:
                raise task.failure
        self.stage.wait(script)
        for copier, task in self.running.values():
            copier.stop()
            self.stage.wait(task)
            self.aborted += copier.aborted
        self.stage.pass_time(REST_MS)
        self.stage.kill(self.reader)
        assert self.aborted > 0, "copiers abort one third of their transactions"
        self._judge()

    def _script(self, faults: list[Callable[[], Waits[None]]]) -> Waits[None]:
        for i, fault in enumerate(faults):
            yield self.reaches((i + 0.5) / (len(faults) + 1))
            # A transaction was read just now; where the next one stands shall differ from fault to fault.
            yield from pause(self.stage, SPREAD_MS * i // len(faults))
            assert self.count < self.records, "everything was copied before the fault"
            yield from fault()

    def _is_over(self) -> bool:
        return self.count >= self.records or any(task.failure is not None for _, task in self.running.values())

    def _judge(self) -> None:
        output: dict[int, list[bytes]] = {number: [] for number in self.expected}
        for one in read(self.stage, Isolation.READ_COMMITTED, "output"):
            output[one.partition[1]].append(value_of(one))
        for got in (output, self.seen):
            values = [value for partition in got.values() for value in partition]
            assert len(values) == len(set(values)), "nothing twice"
            assert len(values) == self.records, "every record once"
        assert output == self.seen, "who reads meanwhile sees what is there in the end"
        assert output == self.expected, "partition by partition, in the order of the input"


def copies(
    partitions: int,
    records: int,
    *,
    copiers: int,
    flavour: Flavour,
    in_group: bool = False,
    transaction_size: int = 750,
    rules: Rules | None = None,
) -> Copies:
    """Three brokers with an input and an output of so many partitions."""
    topics = {"input": replicated(partitions), "output": replicated(partitions)}
    stage = stage_of(topics, rules=rules, min_insync_replicas=2)
    return Copies(
        stage, records, copiers=copiers, flavour=flavour, transaction_size=transaction_size, in_group=in_group
    )


def broker_bounces(run: Copies, *, clean: bool, rounds: int = ROUNDS) -> list[Callable[[], Waits[None]]]:
    """Every broker in turn, in each round; killed when an answer of it is about to be lost."""
    nodes = sorted(run.stage.cluster.brokers)
    turns = [(node, MOMENTS[(number + i) % len(MOMENTS)]) for number in range(rounds) for i, node in enumerate(nodes)]
    return [partial(bounce, run.stage, node, clean=clean, moment=None if clean else moment) for node, moment in turns]


def copier_bounces(run: Copies, *, clean: bool, rounds: int = ROUNDS) -> list[Callable[[], Waits[None]]]:
    """Every copier in turn, in each round."""
    return [partial(run.bounce_copier, number, clean=clean) for _ in range(rounds) for number in sorted(run.running)]


def zombies(run: Copies) -> list[Callable[[], Waits[None]]]:
    """Every copier in turn loses its partitions without knowing it, before and behind sending offsets."""
    return [
        partial(run.make_zombie, number, has_sent_offsets=has_sent)
        for has_sent in (False, True)
        for number in sorted(run.running)
    ]
