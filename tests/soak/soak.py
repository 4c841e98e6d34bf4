"""Rounds of a soak: a cluster, applications and weather, drawn from one seed; and the verdict of their history."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from tests.conformance.end_to_end import NODES, replicated
from tests.soak.machine import DiskWeather
from tests.soak.processes import TRANSACTION_TIMEOUT_MS, Copier, Process, Reader, Writer
from tests.soak.roles import Roles
from tests.soak.weather import STORM, StormyStage, Weather, drawn
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.settings import Settings
from zombieproof.formats.topics import TopicPartition
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import Isolation
from zombieproof.traces.history.history_file import History
from zombieproof.traces.history.judge import judge
from zombieproof.traces.history.verdict import HistoryVerdict
from zombieproof.traces.history.writer import HistoryWriter

INPUTS, OUTPUTS = 2, 3
GROUPS = ("copiers", "auditors")
"""Each reads the whole input, one process for each partition; the second is there in half of the rounds."""

TURNS = 40_000
"""In how many turns a round gets through its transactions; a system that stands still does not."""

INPUT: tuple[TopicPartition, ...] = tuple(("in", number) for number in range(INPUTS))
OUTPUT: tuple[TopicPartition, ...] = tuple(("out", number) for number in range(OUTPUTS))


class Stuck(Exception):
    """Applications do not go on, though faults leave time for it."""


@dataclass(slots=True)
class Round:
    """What came of one round."""

    seed: int
    weather: Weather | DiskWeather
    history: History
    verdict: HistoryVerdict
    faults: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0


class Soak:
    """One round, from its seed alone. `prepare` may tamper with the cluster before anything happens."""

    def __init__(
        self,
        seed: int,
        transactions: int,
        *,
        rules: Rules | None = None,
        weather: Weather | None = None,
        prepare: Callable[["Soak"], None] | None = None,
    ) -> None:
        self.seed, self.transactions = seed, transactions
        self.chance = Random(seed)
        # Each seventh round has everything.
        self.weather = weather or (STORM if seed % 7 == 0 else drawn(self.chance))
        settings = Settings(
            transaction_state_log_num_partitions=2,
            offsets_topic_num_partitions=1,
            transaction_abort_timed_out_transaction_cleanup_interval_ms=200,
            group_initial_rebalance_delay_ms=0,
        )
        topics = {"in": replicated(INPUTS), "out": replicated(OUTPUTS)}
        self.stage = StormyStage(Cluster(NODES, rules, settings, topics), self.chance, self.weather)
        self.writer = HistoryWriter()
        self.roles = Roles(self.stage, self.chance)
        if prepare is not None:
            prepare(self)

    def run(self) -> Round:
        """Everything until it is over, and the verdict.

        Raises:
            Stuck: applications do not go on.
            Exception: an application failed otherwise than by what producers may tell it.
        """
        began = time.perf_counter()
        self._start()
        if not self.stage.run(lambda: self.roles.done >= self.transactions, turns=TURNS):
            raise Stuck(f"seed {self.seed}: {self.roles.done} of {self.transactions} transactions in {TURNS} turns")
        self._end()
        for role in self.roles.every:
            for failure in role.failures:
                raise failure
        history = self.writer.history()
        verdict = judge(history)
        seconds = time.perf_counter() - began
        return Round(self.seed, self.weather, history, verdict, Counter(self.stage.faults), seconds)

    def _start(self) -> None:
        self.roles.begin("source", self._writer(INPUT))
        for group in GROUPS[: self.chance.randint(1, 2)]:
            for number in range(INPUTS):
                self.roles.begin(f"{group}-{number}", self._copier(group, INPUT[number]))
        for number in range(self.chance.randint(1, 3)):
            self.roles.begin(f"writer-{number}", self._writer(OUTPUT))
        for isolation in (Isolation.READ_COMMITTED, Isolation.READ_UNCOMMITTED):
            reader = Reader(self.stage, self.writer, f"reader {isolation.name.lower()}", isolation)
            self.stage.start(reader.read_meanwhile([*INPUT, *OUTPUT], self.chance))
        self.stage.faults_of_brokers()

    def _writer(self, partitions: tuple[TopicPartition, ...]) -> Callable[[str, str], Process]:
        def make(name: str, transactional_id: str) -> Process:
            process = Writer(self.stage, self.writer, name, transactional_id, self.roles.ended, self.chance)
            process.partitions = partitions
            return process

        return make

    def _copier(self, group: str, source: TopicPartition) -> Callable[[str, str], Process]:
        def make(name: str, transactional_id: str) -> Process:
            process = Copier(self.stage, self.writer, name, transactional_id, self.roles.ended, self.chance)
            process.group, process.source, process.partitions = group, source, OUTPUT
            return process

        return make

    def _end(self) -> None:
        """Applications vanish as they stand, brokers come back, every time-out is over; then everybody looks."""
        stage = self.stage
        stage.is_over = True
        stage.turn()
        for task in tuple(stage.tasks):
            stage.kill(task)
        stage.clients.clear()
        for node in range(1, NODES + 1):
            if node not in stage.cluster.brokers:
                stage.cluster.start(node, was_clean=False)
            stage.cluster.resign(node)
        # What is under way may open another transaction.
        stage.settle()
        stage.clock.advance(TRANSACTION_TIMEOUT_MS)
        stage.pass_time(500)
        stage.settle()
        for isolation in (Isolation.READ_COMMITTED, Isolation.READ_UNCOMMITTED):
            reader = Reader(stage, self.writer, f"last {isolation.name.lower()}", isolation)
            stage.do(reader.read_all([*INPUT, *OUTPUT]))
        for group in GROUPS:
            reader = Reader(stage, self.writer, f"last of {group}", Isolation.READ_COMMITTED, group)
            try:
                stage.do(reader.fetch_offsets("last", INPUT))
            except TimeoutError as error:
                raise Stuck(f"seed {self.seed}: the offsets of {group} are never stable again") from error
