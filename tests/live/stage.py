"""Live clients at a live cluster, in one process: everybody goes on when what they wait for has happened.

An application is a generator that yields conditions: it is resumed when the last one is true. A `turn` lets clients
send, delivers what is in flight, and takes a millisecond; a turn in which nothing is in flight takes as long as
somebody patient would wait before looking again. What brokers do by a timer happens as often as their settings say.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.model.rules import Rules

T = TypeVar("T")
Condition = Callable[[], bool]
Waits = Generator[Condition, None, T]

TURN_MS = 1
IDLE_MS = 10
"""How far time moves in a turn with and without messages."""

RESEND_MS = 100
"""How often a coordinator looks for markers to be sent again."""

LOOK_MS = 10
"""How often a broker looks for fetches that have waited for long enough."""

PATIENCE = 20_000
"""How many turns anything is waited for."""


class Client(Protocol):
    """What takes part in every turn."""

    def send_requests(self) -> None:
        """Everything that may leave now sets out."""
        ...

    def handle_answers(self) -> None:
        """Every answer that has arrived is heard."""
        ...


@dataclass(eq=False)
class Task(Generic[T]):
    """An application that is under way; `failure` is what ended it early."""

    waits: Waits[T]
    condition: Condition
    is_done: bool = False
    result: T | None = None
    failure: Exception | None = None

    def resume(self) -> None:
        """Go on, as long as nothing has to be waited for."""
        try:
            while not self.is_done and self.condition():
                self.condition = next(self.waits)
        except StopIteration as end:
            self.is_done, self.result = True, end.value
        except Exception as failure:  # noqa: BLE001  # raised again by whoever waits for the task
            self.is_done, self.failure = True, failure


class Stage:
    """A cluster, its clients (of the cluster's rules, unless others are given), and the applications under way."""

    def __init__(self, cluster: Cluster, client_rules: Rules | None = None) -> None:
        assert isinstance(cluster.clock, ManualClock), "time is moved here"
        self.cluster, self.clock = cluster, cluster.clock
        self.client_rules = client_rules or cluster.rules
        self.clients: list[Client] = []
        self.tasks: list[Task[Any]] = []
        self._last_run = dict.fromkeys(self._timers(), self.now_ms)
        self.turns = 0

    @property
    def now_ms(self) -> int:
        """The time."""
        return self.clock.now_ms()

    def _timers(self) -> dict[str, tuple[int, Callable[[], None]]]:
        settings, cluster = self.cluster.settings, self.cluster
        return {
            "markers": (RESEND_MS, cluster.resend_markers),
            "waits": (LOOK_MS, cluster.end_waits),
            "timeouts": (
                settings.transaction_abort_timed_out_transaction_cleanup_interval_ms,
                cluster.abort_timed_out_transactions,
            ),
            "ids": (settings.transaction_remove_expired_transaction_cleanup_interval_ms, cluster.remove_expired_ids),
            "offsets": (settings.offsets_retention_check_interval_ms, cluster.expire_offsets),
            "producers": (settings.producer_id_expiration_check_interval_ms, cluster.expire_producers),
        }

    # ---------------------------------------------------------------- turns

    def turn(self) -> None:
        """One turn: clients send, messages arrive, clients hear, applications go on, time passes."""
        self.turns += 1
        for client in tuple(self.clients):
            client.send_requests()
        under_way = len(self.cluster.network.in_flight)
        self.deliver()
        for client in tuple(self.clients):
            client.handle_answers()
        for task in tuple(self.tasks):
            task.resume()
        self.tasks = [task for task in self.tasks if not task.is_done]
        self.clock.advance(TURN_MS if under_way else IDLE_MS)
        for name, (interval_ms, timer) in self._timers().items():
            if self.now_ms >= self._last_run[name] + interval_ms:
                self._last_run[name] = self.now_ms
                timer()

    def deliver(self) -> None:
        """What is in flight arrives, in the order in which it was sent."""
        for _ in range(len(self.cluster.network.in_flight)):
            self.cluster.step()

    def run(self, is_over: Condition, limit_ms: int | None = None, *, turns: int = PATIENCE) -> bool:
        """Take turns until `is_over`, or for `limit_ms`; whether it is."""
        until_ms = None if limit_ms is None else self.now_ms + limit_ms
        for _ in range(turns):
            if is_over():
                return True
            if until_ms is not None and self.now_ms >= until_ms:
                return False
            self.turn()
        return is_over()

    def pass_time(self, milliseconds: int) -> None:
        """Take turns until so much time is over."""
        self.run(lambda: False, milliseconds)

    def settle(self) -> None:
        """Take turns until nothing is in flight, and a few timers have found nothing to do.

        Raises:
            TimeoutError: somebody always sends.
        """
        quiet = 0
        for _ in range(PATIENCE):
            self.turn()
            quiet = 0 if self.cluster.network.in_flight else quiet + 1
            if quiet >= 2 * RESEND_MS // IDLE_MS:
                return
        raise TimeoutError("there is always something in flight")

    # ---------------------------------------------------------------- applications

    def start(self, waits: Waits[T]) -> Task[T]:
        """Let an application begin."""
        task = Task(waits, lambda: True)
        task.resume()
        self.tasks.append(task)
        return task

    def kill(self, task: Task[Any], *clients: Client) -> None:
        """An application is gone, with its clients; what they have sent still arrives."""
        task.is_done = True
        self.tasks = [other for other in self.tasks if other is not task]
        self.clients = [other for other in self.clients if other not in clients]

    def wait(self, task: Task[T]) -> T | None:
        """Take turns until an application is over; what it returned.

        Raises:
            TimeoutError: it goes on.
            Exception: what ended it.
        """
        if not self.run(lambda: task.is_done):
            raise TimeoutError("an application is still under way")
        if task.failure is not None:
            raise task.failure
        return task.result

    def do(self, waits: Waits[T]) -> T:
        """An application from its beginning to its end."""
        task = self.start(waits)
        self.wait(task)
        return task.result  # type: ignore[return-value]  # a task that is over has the result that it is declared with


def pause(stage: Stage, milliseconds: int) -> Waits[None]:
    """Wait for some time."""
    until_ms = stage.now_ms + milliseconds
    yield lambda: stage.now_ms >= until_ms
