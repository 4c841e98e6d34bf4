"""A machine with brokers over a disk: it fails in every way of `FaultDisk`, stops, and starts from what is left.

Whatever happens is drawn from one seed. What is promised depends on how it stops: when only the process dies, the disk
keeps what was written; without power what was not synced is kept, dropped, or kept in part. A sync that lies is
followed by the death of the process alone, for nobody can notice such a loss of power.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from random import Random

from tests.soak.drawing import drawn_between, faults_of
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.cluster import Replicas
from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.partition.log import StorageFailure
from zombieproof.broker.store.config import LogConfig
from zombieproof.broker.store.fault_disk import Fate, Fault, FaultDisk, Plan, PowerLost
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from zombieproof.model.rules import Rules

INPUTS, OUTPUTS = 3, 3
SETTINGS = Settings(
    transaction_state_log_num_partitions=2,
    offsets_topic_num_partitions=1,
    transaction_abort_timed_out_transaction_cleanup_interval_ms=200,
    group_initial_rebalance_delay_ms=0,
    group_min_session_timeout_ms=100,
)
DATA_CONFIG = LogConfig(segment_bytes=12_000, index_interval_bytes=600)
COMPACTED = LogConfig(segment_bytes=8_000, index_interval_bytes=600, cleanup_policy="compact")

DOWN_MS = 60
"""How long a machine stays off, on the average."""
PATIENCE_MS = 300
"""After so long, on the average, a machine whose disk has failed is started again."""
OPERATIONS = 120
"""Within so many operations of the disk a fault of it happens."""
IN_RECOVERY = 60
"""Within so many operations a machine that starts is stopped again, if it is."""

FAILURES = (OSError, StorageFailure)
"""What ends a process of brokers: its disk does not do what it has to."""


@dataclass(frozen=True, slots=True)
class DiskWeather:
    """How many milliseconds lie between two faults of a kind; of `lost` and `late` how likely each message is."""

    lost: float = 0.0
    late: float = 0.0
    power_ms: int = 0
    torn_ms: int = 0
    killed_ms: int = 0
    restart_ms: int = 0
    eio_ms: int = 0
    enospc_ms: int = 0
    lie_ms: int = 0
    crash_ms: int = 0
    zombie_ms: int = 0
    clock_jumps_ms: int = 0

    @property
    def faults(self) -> list[str]:
        """What happens at all."""
        return faults_of(self)


STORM = DiskWeather(
    lost=0.004,
    late=0.02,
    power_ms=1_000,
    torn_ms=1_500,
    killed_ms=1_500,
    restart_ms=2_000,
    eio_ms=1_500,
    enospc_ms=1_500,
    lie_ms=2_000,
    crash_ms=900,
    zombie_ms=800,
    clock_jumps_ms=3_000,
)
"""Everything at once, as much as leaves time for work."""
CALM = DiskWeather()


def drawn(chance: Random) -> DiskWeather:
    """Some of the faults, each mild or hard."""
    return drawn_between(CALM, STORM, chance, 4)


@dataclass(slots=True, eq=False)
class Asked:
    """A request that is handed in and not answered."""

    told: Callable[[Answer | None], None]


class Machine:
    """Brokers over a disk. `embedded` is what clients talk to; while the machine is off it is the one that was.

    Args:
        happened: is told the name of each fault.
        restarted: is called when the machine is on again.
    """

    def __init__(
        self,
        clock: ManualClock,
        chance: Random,
        happened: Callable[[str], None],
        restarted: Callable[[], None],
        nodes: int,
        rules: Rules | None,
    ) -> None:
        self.clock, self.chance, self.nodes, self.rules = clock, chance, nodes, rules
        self._happened, self._restarted = happened, restarted
        self.disk = FaultDisk()
        self.embedded = self._opened()
        self.is_on = True
        self.on_at_ms = 0
        self.lies = self.is_calm = False
        self.restarts = 0
        self._asked: list[Asked] = []

    def _opened(self) -> Embedded:
        replicas = min(self.nodes, 3)
        topics: dict[str, int | Replicas] = {
            name: [tuple((first + i) % self.nodes + 1 for i in range(replicas)) for first in range(count)]
            for name, count in (("in", INPUTS), ("out", OUTPUTS))
        }
        return Embedded(
            nodes=self.nodes,
            topics=topics,
            settings=SETTINGS,
            rules=self.rules,
            clock=self.clock,
            default_config=DATA_CONFIG,
            configs={TRANSACTION_STATE: COMPACTED, CONSUMER_OFFSETS: COMPACTED},
            disk=self.disk,
        )

    # ---------------------------------------------------------------- requests

    def submit(self, request: Request, node: int | None, told: Callable[[Answer | None], None]) -> None:
        """Hand in a request; who asks a machine that is off, or goes off, hears that the connection is lost."""
        asked = Asked(told)

        def done(answer: Answer | None) -> None:
            if asked in self._asked:
                self._asked.remove(asked)
                told(answer)

        if not self.is_on:
            told(None)
            return
        self._asked.append(asked)
        self.embedded.submit(request, node, done)

    def turn(self) -> bool:
        """What brokers have to do now; False: nothing."""
        if not self.is_on:
            if self.clock.now_ms() >= self.on_at_ms:
                self._start()
            return False
        moved = [True]
        with self._may_fail():
            moved.append(self.embedded.pump())
        return moved[-1]

    @contextmanager
    def _may_fail(self) -> Generator[None, None, None]:
        try:
            yield
        except PowerLost:
            self._happened("torn_ms" if self.disk.plan.fault is Fault.TEAR else "power_ms")
            self._off(self._drawn_fate())
        except FAILURES:
            self._off(Fate.KEPT)

    # ---------------------------------------------------------------- how it ends

    def _drawn_fate(self) -> Fate:
        return Fate.KEPT if self.lies else self.chance.choice([Fate.DROPPED, Fate.RANDOM, Fate.RANDOM, Fate.KEPT])

    def _off(self, fate: Fate) -> None:
        """The machine is off, with this fate of what was not synced."""
        self.is_on, self.lies = False, False
        self.embedded.abandon()
        self.disk = self.disk.survivor(fate, self.chance)
        asked, self._asked = self._asked, []
        for each in asked:
            each.told(None)
        self.on_at_ms = self.clock.now_ms() + (0 if self.is_calm else 1 + int(self.chance.expovariate(1 / DOWN_MS)))

    def _start(self) -> None:
        """Start from what is left; that may be cut short, too."""
        if not self.is_calm and self.chance.random() < 0.2:
            fault = self.chance.choice([Fault.CRASH, Fault.TEAR, Fault.EIO, Fault.ENOSPC])
            self.disk.plan = Plan(self.chance.randint(1, IN_RECOVERY), fault, self.chance.randint(1, 40))
        try:
            self.embedded = self._opened()
        except (PowerLost, *FAILURES) as failure:
            fate = self._drawn_fate() if isinstance(failure, PowerLost) else Fate.KEPT
            self.disk = self.disk.survivor(fate, self.chance)
            self._happened("cut in recovery")
            return
        self.restarts += 1
        self.is_on = True
        self._restarted()

    def power(self, torn: bool) -> None:
        """The power is lost at one of the next operations of the disk, which may be torn."""
        if self.is_on and self.has_failed and not self.lies:
            self._happened("power_ms")
            self._off(self._drawn_fate())
        elif self.is_on and not self.lies:
            self.disk.plan = self._soon(Fault.TEAR if torn else Fault.CRASH)

    def kill(self) -> None:
        """The process dies where it is; the operating system goes on."""
        if self.is_on:
            self._off(Fate.KEPT)

    def restart(self) -> None:
        """Stop in order, and start again."""
        if self.is_on:
            with self._may_fail():
                self.embedded.close()
                self._off(Fate.KEPT)

    def fail(self, fault: Fault, *, repeats: bool) -> None:
        """The disk begins to fail: an error, no room, or a sync that lies."""
        if self.is_on and not self.lies:
            self.disk.plan = replace(self._soon(fault), repeats=repeats or fault is Fault.LIE)
            self.lies = fault is Fault.LIE

    def _soon(self, fault: Fault) -> Plan:
        at = self.disk.operations + self.chance.randint(1, OPERATIONS)
        return Plan(at, fault, self.chance.randint(1, 400) if fault in (Fault.TEAR, Fault.ENOSPC) else 0)

    @property
    def has_failed(self) -> bool:
        """Whether the disk has failed since the machine was started."""
        return 0 < self.disk.plan.number <= self.disk.operations

    def calm(self) -> None:
        """Nothing fails any more: a last restart, if the disk has, and everything is sound."""
        self.is_calm = True
        if self.is_on:
            self._off(Fate.KEPT)
        while not self.is_on:
            self.clock.advance(1)
            self.turn()
