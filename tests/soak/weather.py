"""A stage on which messages are lost, doubled and late, brokers come and go, and leaders change.

Everything that happens is drawn from one seed, and so is how much of each happens: a run with one kind of fault finds
what a run with all kinds hides.
"""

from dataclasses import dataclass
from random import Random

from tests.live.stage import Stage, Waits, pause
from tests.soak.drawing import drawn_between, faults_of
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.network import Message, Request
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE


@dataclass(frozen=True, slots=True)
class Weather:
    """How likely each fault is. Of messages: for each delivery. Others: how many milliseconds lie between two."""

    lost: float = 0.0
    doubled: float = 0.0
    late: float = 0.0
    broker_gone_ms: int = 0
    leader_changes_ms: int = 0
    coordinator_deposed_ms: int = 0
    crash_ms: int = 0
    zombie_ms: int = 0
    clock_jumps_ms: int = 0

    @property
    def faults(self) -> list[str]:
        """What happens at all."""
        return faults_of(self)


STORM = Weather(
    lost=0.01,
    doubled=0.01,
    late=0.03,
    broker_gone_ms=250,
    leader_changes_ms=200,
    coordinator_deposed_ms=300,
    crash_ms=200,
    zombie_ms=250,
    clock_jumps_ms=600,
)
"""Everything at once, as much as leaves time for work."""

CALM = Weather()

LATE_MS = 400
"""How late messages are on the average, if they are more than overtaken."""


def drawn(chance: Random) -> Weather:
    """Some of the faults, each mild or hard."""
    return drawn_between(CALM, STORM, chance, 5)


class Scene(Stage):
    """A stage with faults, counted by their names; `is_over` ends them all.

    Applications crash and come back as zombies: `crash_ms` and `zombie_ms` lie between two of each, 0: none does.
    """

    asleep_ms = 200
    """How long a zombie stands still, on the average."""

    def __init__(self, cluster: Cluster, chance: Random, faults: list[str], crash_ms: int, zombie_ms: int) -> None:
        super().__init__(cluster)
        self.chance, self.crash_ms, self.zombie_ms = chance, crash_ms, zombie_ms
        self.faults = dict.fromkeys(faults, 0)
        self.is_over = False

    def goes_on(self) -> bool:
        """Whether faults and applications go on; asked anew behind each wait."""
        return not self.is_over

    def happened(self, fault: str) -> None:
        """Count a fault."""
        self.faults[fault] = self.faults.get(fault, 0) + 1

    def between(self, milliseconds: int) -> Waits[None]:
        """Wait for about so long."""
        yield from pause(self, 1 + int(self.chance.expovariate(1 / milliseconds)))


class StormyStage(Scene):
    """Messages arrive as the weather has it."""

    def __init__(self, cluster: Cluster, chance: Random, weather: Weather) -> None:
        super().__init__(cluster, chance, weather.faults, weather.crash_ms, weather.zombie_ms)
        self.weather = weather
        self._held: dict[tuple[int, bool], int] = {}
        """Until when a message that is late is held back."""

    def deliver(self) -> None:
        """Messages arrive in the order in which they were sent, but for those that the weather takes."""
        network = self.cluster.network
        for message in tuple(network.in_flight):
            # A broker that goes takes messages along.
            if not any(each is message for each in network.in_flight) or self.tamper(message):
                continue
            if self._is_held(message):
                continue
            drawn, weather = self.chance.random(), CALM if self.is_over else self.weather
            if drawn < weather.lost:
                network.lose(message)
                self.happened("lost")
            elif drawn < weather.lost + weather.late:
                # Some are overtaken by the next ones only, some arrive when nobody waits for them any more.
                late_ms = self.chance.expovariate(1 / LATE_MS) if self.chance.random() < 0.3 else 0
                self._held[message.number, message.is_answer] = self.now_ms + int(late_ms)
                self.happened("late")
            elif drawn < weather.lost + weather.late + weather.doubled and _can_be_doubled(message):
                network.double(message)
                self.happened("doubled")
            else:
                self.cluster.deliver(message)

    def _is_held(self, message: Message) -> bool:
        until_ms = self._held.get((message.number, message.is_answer))
        return until_ms is not None and self.now_ms < until_ms and not self.is_over

    def tamper(self, message: Message) -> bool:
        """Whether a message was dealt with otherwise: a mutant replaces this."""
        return False

    # ---------------------------------------------------------------- what happens to brokers

    def faults_of_brokers(self) -> None:
        """Begin everything that is drawn by time."""
        for name in ("broker_gone", "leader_changes", "coordinator_deposed", "clock_jumps"):
            if getattr(self.weather, f"{name}_ms"):
                self.start(getattr(self, f"_{name}")(getattr(self.weather, f"{name}_ms")))

    def _broker_gone(self, milliseconds: int) -> Waits[None]:
        while self.goes_on():
            yield from self.between(milliseconds)
            up = sorted(self.cluster.brokers)
            if not self.goes_on() or len(up) < 2:
                continue
            node, is_clean = self.chance.choice(up), self.chance.random() < 0.3
            self.cluster.stop(node) if is_clean else self.cluster.kill(node)
            self.happened("broker_gone_ms")
            yield from self.between(60)
            self.cluster.start(node, was_clean=is_clean)

    def _leader_changes(self, milliseconds: int) -> Waits[None]:
        while self.goes_on():
            yield from self.between(milliseconds)
            partitions = self.cluster.metadata.partitions
            movable = [tp for tp, known in partitions.items() if len(known.in_sync) > 1 and tp[0] != TRANSACTION_STATE]
            if movable and self.goes_on():
                self.cluster.elect(self.chance.choice(movable))
                self.happened("leader_changes_ms")

    def _coordinator_deposed(self, milliseconds: int) -> Waits[None]:
        """Another one takes over, and the old one does not know it for a while."""
        while self.goes_on():
            yield from self.between(milliseconds)
            partitions = self.cluster.metadata.partitions
            movable = [
                tp
                for tp, known in partitions.items()
                if len(known.in_sync) > 1 and tp[0] in (TRANSACTION_STATE, CONSUMER_OFFSETS) and known.leader > 0
            ]
            if not movable or not self.goes_on():
                continue
            partition = self.chance.choice(movable)
            old = partitions[partition].leader
            self.cluster.elect(partition, old_resigns=False)
            self.happened("coordinator_deposed_ms")
            yield from self.between(40)
            if old in self.cluster.brokers:
                self.cluster.resign(old)

    def _clock_jumps(self, milliseconds: int) -> Waits[None]:
        while self.goes_on():
            yield from self.between(milliseconds)
            if self.goes_on():
                self.clock.advance(self.chance.choice([300, 1500, 6000]))
                self.happened("clock_jumps_ms")


def _can_be_doubled(message: Message) -> bool:
    return not message.is_answer and isinstance(message.body, Request)
