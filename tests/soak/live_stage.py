"""A stage for clients with the API that applications use, at a machine that fails: what happens when is drawn once."""

from collections.abc import Generator
from random import Random
from typing import Protocol, TypeVar, cast

from tests.live.stage import IDLE_MS, TURN_MS, Condition, Task, Waits
from tests.soak.line import Line
from tests.soak.machine import DiskWeather, Machine
from tests.soak.weather import Scene
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.store.fault_disk import Fault
from zombieproof.clients.consumer_operations import Call
from zombieproof.clients.consumer_operations import Wait as ConsumerWait
from zombieproof.clients.consumer_runtime import ConsumerRuntime
from zombieproof.clients.producer_runtime import Wait as ProducerWait
from zombieproof.clients.settings import ConsumerSettings
from zombieproof.clients.transport import Calls
from zombieproof.model.rules import Rules

T = TypeVar("T")


class LiveClient(Protocol):
    """Somebody with a line of his own."""

    line: Line

    def vanish(self) -> None:
        """The process is gone: nothing of it is left on this side."""
        ...


class LiveStage(Scene):
    """A machine, and processes that reach it by lines of their own."""

    asleep_ms = 700
    """So that groups take it for dead, sometimes."""

    def __init__(self, chance: Random, weather: DiskWeather, nodes: int, rules: Rules | None) -> None:
        clock = ManualClock()
        self.machine = Machine(clock, chance, self.happened, self._is_on_again, nodes, rules)
        super().__init__(self.machine.embedded.cluster, chance, weather.faults, weather.crash_ms, weather.zombie_ms)
        self.weather, self.travelling = weather, Calls()
        self.moved = False
        self.consumers: list[LiveConsumer] = []
        """All that there ever were: those of zombies that sleep hold files as well."""

    def _is_on_again(self) -> None:
        self.cluster = self.machine.embedded.cluster
        self.happened("started again")

    def line(self) -> Line:
        """A new way to the machine."""
        return Line(self.machine, self.travelling, self.chance, self._message_faults, self.happened)

    def _message_faults(self) -> tuple[float, float]:
        return (0.0, 0.0) if self.is_over else (self.weather.lost, self.weather.late)

    def turn(self) -> None:
        """Messages arrive, brokers work, clients hear and go on, time passes."""
        self.turns += 1
        self.moved = False
        while self.travelling.run_next(self.now_ms):
            self.moved = True
        self.moved |= self.machine.turn()
        for client in tuple(self.clients):
            client.send_requests()
        for task in tuple(self.tasks):
            task.resume()
        self.tasks = [task for task in self.tasks if not task.is_done]
        self.clock.advance(TURN_MS if self.moved else IDLE_MS)

    def kill(self, task: Task[object], *clients: object) -> None:
        """A process is gone; what it has sent still arrives."""
        super().kill(task)
        for client in cast(tuple[LiveClient, ...], clients):
            client.line.is_dead = True
            client.vanish()
        self.clients = [other for other in self.clients if other not in clients]

    def kill_all(self) -> None:
        """Every process is gone."""
        for client in cast(list[LiveClient], tuple(self.clients)):
            client.line.is_dead = True
            client.vanish()
        self.clients.clear()
        for consumer in self.consumers:
            consumer.vanish()
        self.consumers.clear()

    # ---------------------------------------------------------------- what happens to the machine

    def faults_of_the_machine(self) -> None:
        """Begin everything that is drawn by time."""
        machine = self.machine
        for name, act in (
            ("power", lambda: machine.power(torn=False)),
            ("torn", lambda: machine.power(torn=True)),
            ("killed", lambda: self._counted("killed_ms", machine.kill)),
            ("restart", lambda: self._counted("restart_ms", machine.restart)),
            ("eio", lambda: self._disk_fails("eio_ms", Fault.EIO)),
            ("enospc", lambda: self._disk_fails("enospc_ms", Fault.ENOSPC)),
            ("lie", lambda: self._disk_fails("lie_ms", Fault.LIE)),
            ("clock_jumps", self._clock_jumps),
        ):
            every_ms = getattr(self.weather, f"{name}_ms")
            if every_ms:
                self.start(self._again_and_again(every_ms, act))
        self.start(self._repair())

    def _again_and_again(self, every_ms: int, act: object) -> Waits[None]:
        while self.goes_on():
            yield from self.between(every_ms)
            if self.goes_on():
                act()  # type: ignore[operator]  # a function without arguments

    def _counted(self, name: str, act: object) -> None:
        if self.machine.is_on:
            self.happened(name)
            act()  # type: ignore[operator]  # a function without arguments

    def _disk_fails(self, name: str, fault: Fault) -> None:
        if self.machine.is_on and not self.machine.lies and not self.machine.disk.plan.number:
            self.machine.fail(fault, repeats=self.chance.random() < 0.5)
            self.happened(name)

    def _clock_jumps(self) -> None:
        self.clock.advance(self.chance.choice([100, 800, 4000]))
        self.happened("clock_jumps_ms")

    def _repair(self) -> Waits[None]:
        """Somebody starts a machine again whose disk has failed, after a while."""
        while self.goes_on():
            yield from self.between(200)
            if self.machine.is_on and self.machine.has_failed:
                yield from self.between(300)
                if self.goes_on() and self.machine.has_failed:
                    self.machine.kill() if self.chance.random() < 0.7 else self.machine.restart()


def call(stage: LiveStage, operation: Generator[ProducerWait | ConsumerWait | Call, bool, T]) -> Waits[T]:
    """A call of a client, from its beginning to its end.

    Raises:
        Exception: whatever the call raises.
    """
    try:
        wanted = next(operation)
        while True:
            is_over = True
            if isinstance(wanted, Call):
                wanted.action()
            else:
                yield _until(stage, wanted)
                is_over = wanted.is_over()
            wanted = operation.send(is_over)
    except StopIteration as end:
        return cast(T, end.value)


def _until(stage: LiveStage, wanted: ProducerWait | ConsumerWait) -> Condition:
    until_ms = stage.now_ms + wanted.timeout_ms
    return lambda: wanted.is_over() or stage.now_ms >= until_ms


class LiveConsumer:
    """A consumer of a process that has a line; `vanish` ends both."""

    def __init__(self, stage: LiveStage, line: Line, settings: dict[str, object]) -> None:
        self.stage, self.line = stage, line
        self.runtime = ConsumerRuntime(ConsumerSettings(settings), line)
        stage.consumers.append(self)

    def send_requests(self) -> None:
        """Everything that is due is done."""
        self.stage.moved |= self.line.attend()

    def handle_answers(self) -> None:
        """Answers are heard as they arrive."""

    def vanish(self) -> None:
        """The process is gone, with the files that it held."""
        self.runtime.stop()
