"""Rounds of the live system: brokers over a disk that fails, applications with its clients, and their verdict."""

import time
from collections import Counter
from collections.abc import Callable
from random import Random

from tests.live.stage import Task, Waits
from tests.soak.live_processes import GroupCopier, GroupSettings, LiveReader, LiveWriter
from tests.soak.live_stage import LiveStage
from tests.soak.machine import INPUTS, OUTPUTS, STORM, DiskWeather, drawn
from tests.soak.processes import TRANSACTION_TIMEOUT_MS, Process
from tests.soak.roles import Roles
from tests.soak.soak import GROUPS, Round, Stuck
from zombieproof.clients.consumer_errors import ConsumerFailure
from zombieproof.formats.topics import TopicPartition
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import Isolation
from zombieproof.traces.history.judge import judge
from zombieproof.traces.history.writer import HistoryWriter

MEMBERS = 2
"""Of each group; some come later, some leave."""
TURNS = 200_000
"""In how many turns a round gets through its transactions; a system that stands still does not."""

INPUT: tuple[TopicPartition, ...] = tuple(("in", number) for number in range(INPUTS))
OUTPUT: tuple[TopicPartition, ...] = tuple(("out", number) for number in range(OUTPUTS))


class LiveSoak:
    """One round, from its seed alone."""

    def __init__(
        self, seed: int, transactions: int, *, rules: Rules | None = None, weather: DiskWeather | None = None
    ) -> None:
        self.seed, self.transactions = seed, transactions
        self.chance = Random(seed)
        # Each seventh round has everything.
        self.weather = weather or (STORM if seed % 7 == 0 else drawn(self.chance))
        self.stage = LiveStage(self.chance, self.weather, self.chance.choice([1, 1, 3]), rules)
        self.writer = HistoryWriter()
        self.roles = Roles(self.stage, self.chance)
        self.readers: list[Task[None]] = []
        self.groups = [GroupSettings(name, self.chance) for name in GROUPS[: self.chance.randint(1, 2)]]

    def run(self) -> Round:
        """Everything until it is over, and the verdict.

        Raises:
            Stuck: applications do not go on.
            Exception: an application failed otherwise than by what clients may tell it.
        """
        try:
            return self._run()
        finally:
            self.stage.kill_all()

    def _run(self) -> Round:
        began = time.perf_counter()
        self._start()
        if not self.stage.run(lambda: self.roles.done >= self.transactions, turns=TURNS):
            raise Stuck(f"seed {self.seed}: {self.roles.done} of {self.transactions} transactions in {TURNS} turns")
        self._end()
        failures = [failure for role in self.roles.every for failure in role.failures]
        for failure in failures + [task.failure for task in self.readers if task.failure is not None]:
            raise failure
        history = self.writer.history()
        verdict = judge(history)
        seconds = time.perf_counter() - began
        return Round(self.seed, self.weather, history, verdict, Counter(self.stage.faults), seconds)

    def _start(self) -> None:
        self.roles.begin("source", self._writer(INPUT))
        for group in self.groups:
            for number in range(MEMBERS):
                self.roles.begin(f"{group.name}-{number}", self._copier(group, f"{group.name}-{number}"))
        for number in range(self.chance.randint(0, 2)):
            self.roles.begin(f"writer-{number}", self._writer(OUTPUT))
        for isolation in Isolation:
            reader = LiveReader(self.stage, self.writer, f"reader {isolation.name.lower()}", isolation)
            self.readers.append(self.stage.start(reader.read_meanwhile([*INPUT, *OUTPUT], self.chance)))
        self.stage.start(self._late_members())
        self.stage.faults_of_the_machine()

    def _late_members(self) -> Waits[None]:
        """More members join as time goes by."""
        for number in range(MEMBERS, MEMBERS + 2):
            for group in self.groups:
                yield from self.stage.between(1_500)
                if not self.stage.goes_on():
                    return
                self.stage.happened("members joined")
                self.roles.begin(f"{group.name}-{number}", self._copier(group, f"{group.name}-{number}"))

    def _writer(self, partitions: tuple[TopicPartition, ...]) -> Callable[[str, str], Process]:
        def make(name: str, transactional_id: str) -> Process:
            process = LiveWriter(self.stage, self.writer, name, transactional_id, self.roles.ended, self.chance)
            process.partitions = partitions
            return process

        return make

    def _copier(self, group: GroupSettings, role: str) -> Callable[[str, str], Process]:
        def make(name: str, transactional_id: str) -> Process:
            own = name if group.has_new_ids else transactional_id
            process = GroupCopier(self.stage, self.writer, name, own, self.roles.ended, self.chance)
            process.group, process.role, process.partitions = group, role, OUTPUT
            return process

        return make

    def _end(self) -> None:
        """Applications vanish as they stand, the machine is sound, every time-out is over; then everybody looks."""
        stage = self.stage
        stage.is_over = True
        stage.turn()
        for task in tuple(stage.tasks):
            stage.kill(task)
        stage.kill_all()
        stage.machine.calm()
        # What is under way may open another transaction.
        stage.pass_time(500)
        stage.clock.advance(TRANSACTION_TIMEOUT_MS)
        stage.pass_time(1_000)
        for isolation in Isolation:
            reader = LiveReader(stage, self.writer, f"last {isolation.name.lower()}", isolation)
            stage.do(reader.read_all([*INPUT, *OUTPUT]))
        for group in self.groups:
            reader = LiveReader(stage, self.writer, f"last of {group.name}", Isolation.READ_COMMITTED, group.name)
            try:
                stage.do(reader.fetch_offsets(group.name, INPUT))
            except ConsumerFailure as error:
                raise Stuck(f"seed {self.seed}: the offsets of {group.name} are never stable again") from error
