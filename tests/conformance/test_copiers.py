"""System tests: copiers go on while brokers or copiers are stopped or killed, and brokers upgraded (SY-001 to SY-010).

Of each run: nothing is in the output twice, nothing was seen twice by a consumer that read meanwhile, and the output is
what that consumer saw, and is the input; where order is checked, in its order.
"""

from collections.abc import Callable, Iterable
from random import Random

import pytest

from tests.conformance.end_to_end import read, replicated, stage_of, value_of
from tests.live.bounces import bounce, upgrade
from tests.live.consumer import LiveConsumer, SharedAssignments
from tests.live.copier import Copier, Flavour
from tests.live.stage import Condition, Stage, Task, Waits, pause
from tests.live.staged_producer import StagedProducer
from zombieproof.clients.sender import SenderSettings
from zombieproof.model.rules import preset_for
from zombieproof.model.vocabulary import Isolation

BOTH_FLAVOURS = pytest.mark.parametrize("flavour", list(Flavour))
ROUNDS = 3
REST_MS = 1000
"""How long the consumer that reads meanwhile looks for more when everything is copied."""

SPREAD_MS = 40
"""Within how much time behind the end of a transaction faults happen: about as long as one takes."""

SESSION_MS = 300
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

    def run(self, faults: Iterable[Callable[[], Waits[None]]]) -> None:
        """Copy everything, while faults happen at equal distances, each in the midst of the copying; judge the output.

        Raises:
            Exception: a copier failed.
        """
        planned = list(faults)
        script = self.stage.start(self._script(planned))
        assert self.stage.run(lambda: self.reaches(1)() or self._somebody_failed()), "the copiers do not go on"
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

    def _somebody_failed(self) -> bool:
        return any(task.failure is not None for _, task in self.running.values())

    def _judge(self) -> None:
        output: dict[int, list[bytes]] = {number: [] for number in self.expected}
        for one in read(self.stage, Isolation.READ_COMMITTED, "output"):
            output[one.partition[1]].append(value_of(one))
        for got in (output, self.seen):
            values = [value for partition in got.values() for value in partition]
            assert len(values) == len(set(values)), "nothing twice"
            assert len(values) == self.records
        assert output == self.seen, "who reads meanwhile sees what is there in the end"
        assert output == self.expected, "partition by partition, in the order of the input"


def copies(partitions: int, records: int, *, copiers: int, flavour: Flavour, in_group: bool = False) -> Copies:
    """Three brokers with an input and an output of so many partitions."""
    topics = {"input": replicated(partitions), "output": replicated(partitions)}
    stage = stage_of(topics, min_insync_replicas=2)
    return Copies(stage, records, copiers=copiers, flavour=flavour, in_group=in_group)


def broker_bounces(run: Copies, *, clean: bool, rounds: int = ROUNDS) -> list[Callable[[], Waits[None]]]:
    """Every broker in turn, in each round."""
    nodes = sorted(run.stage.cluster.brokers)
    return [lambda node=node: bounce(run.stage, node, clean=clean) for _ in range(rounds) for node in nodes]  # type: ignore[misc]  # mypy cannot tell what a default is


def copier_bounces(run: Copies, *, clean: bool, rounds: int = ROUNDS) -> list[Callable[[], Waits[None]]]:
    """Every copier in turn, in each round."""
    return [lambda n=n: run.bounce_copier(n, clean=clean) for _ in range(rounds) for n in sorted(run.running)]  # type: ignore[misc]  # mypy cannot tell what a default is


@pytest.mark.slow
@BOTH_FLAVOURS
@pytest.mark.parametrize(
    "clean",
    [
        pytest.param(False, marks=pytest.mark.case("SY-001"), id="SY-001"),
        pytest.param(True, marks=pytest.mark.case("SY-002"), id="SY-002"),
    ],
)
def test_sy_001_and_002_copies_survive_the_bounce_of_every_broker(clean: bool, flavour: Flavour) -> None:
    run = copies(2, 100_000, copiers=2, flavour=flavour)
    run.run(broker_bounces(run, clean=clean))


@pytest.mark.slow
@BOTH_FLAVOURS
@pytest.mark.parametrize(
    "clean",
    [
        pytest.param(False, marks=pytest.mark.case("SY-003"), id="SY-003"),
        pytest.param(True, marks=pytest.mark.case("SY-004"), id="SY-004"),
    ],
)
def test_sy_003_and_004_copies_survive_the_bounce_of_every_copier(clean: bool, flavour: Flavour) -> None:
    run = copies(2, 100_000, copiers=2, flavour=flavour)
    run.run(copier_bounces(run, clean=clean))


@BOTH_FLAVOURS
@pytest.mark.case("SY-005")
def test_sy_005_killed_brokers_do_not_change_the_order(flavour: Flavour) -> None:
    run = copies(1, 33_333, copiers=1, flavour=flavour)
    run.run(broker_bounces(run, clean=False))


@BOTH_FLAVOURS
@pytest.mark.parametrize(
    "clean",
    [
        pytest.param(False, marks=pytest.mark.case("SY-006"), id="SY-006"),
        pytest.param(True, marks=pytest.mark.case("SY-007"), id="SY-007"),
    ],
)
def test_sy_006_and_007_copiers_that_begin_anew_do_not_change_the_order(clean: bool, flavour: Flavour) -> None:
    run = copies(1, 33_333, copiers=1, flavour=flavour)
    run.run(copier_bounces(run, clean=clean))


@pytest.mark.slow
@pytest.mark.case("SY-008")
def test_sy_008_a_group_of_copiers_survives_killed_brokers() -> None:
    run = copies(9, 100_000, copiers=3, flavour=Flavour.GROUP_METADATA, in_group=True)
    run.run(broker_bounces(run, clean=False))


@pytest.mark.slow
@pytest.mark.case("SY-009")
def test_sy_009_partitions_move_between_copiers_that_are_killed() -> None:
    run = copies(9, 100_000, copiers=3, flavour=Flavour.GROUP_METADATA, in_group=True)
    run.run(copier_bounces(run, clean=False))
    assert len(run.shared.by_generation) > ROUNDS * 3, "each bounce moves partitions"


@BOTH_FLAVOURS
@pytest.mark.case("SY-010")
def test_sy_010_copies_go_on_while_brokers_are_upgraded(flavour: Flavour) -> None:
    old, new = "3.9", "4.3"
    topics = {"input": replicated(3), "output": replicated(3)}
    stage = stage_of(topics, min_insync_replicas=2, rules=preset_for(old), release=old, client_rules=preset_for(new))
    run = Copies(stage, 1000, copiers=3, flavour=flavour, transaction_size=5)
    committed_before: list[int] = []

    def raise_level() -> Waits[None]:
        committed_before.append(run.count)
        stage.cluster.finalize_transaction_version(2)
        yield lambda: True

    upgrades = [lambda node=node: upgrade(stage, node, preset_for(new, 0), new) for node in (1, 2, 3)]
    run.run([*upgrades, raise_level])
    assert 0 < committed_before[0] < 1000, "transactions go on during and after"
    assert all(copier.producer.manager.transaction_version == 2 for copier, _ in run.running.values())
