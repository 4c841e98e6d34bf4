"""Brokers that listen in a thread of their own, for whoever has no loop: a test, a script.

Theory of operation: the thread has a loop, in which the server runs and everything is done to its cluster. Whoever
calls from another thread waits until the loop has done it. Everything is in memory: nothing is waited for.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from zombieproof.broker.cluster.clock import AheadClock, ManualClock
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.live_trace import LiveTraceFile
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.store.config import Durability
from zombieproof.model.releases import RELEASES
from zombieproof.wire.plan.parts import Plan
from zombieproof.wire.plan.play import Play
from zombieproof.wire.server import Server

Result = TypeVar("Result")

PATIENCE_S = 30
"""How long anything in the loop may take: it waits for nothing."""

SETTINGS = Settings(
    transaction_state_log_num_partitions=3, offsets_topic_num_partitions=3, group_initial_rebalance_delay_ms=0
)
"""Small, and without waits that only production needs."""


class NotRunning(RuntimeError):
    """The brokers were stopped, or did not start."""


class Running:
    """Brokers in memory that listen on loopback, under a plan, with a trace of all that happens.

    Args:
        plan: how they misbehave, and what they are: brokers, topics, release, rules, clock.
        trace: the file of the trace; None: there is none.
        brokers: how many, if more than the plan says.
        settings: of every broker.
    """

    def __init__(
        self,
        plan: Plan | None = None,
        trace: Path | None = None,
        brokers: int = 1,
        settings: Settings | None = None,
    ) -> None:
        self.plan = plan or Plan()
        self.clock = ManualClock() if self.plan.controlled_clock else AheadClock()
        self.trace = trace
        self._journal = None if trace is None else LiveTraceFile(trace, self.plan.name)
        nodes = max(brokers, self.plan.brokers)
        self.embedded = Embedded(
            nodes=nodes,
            topics=self.plan.topics,
            settings=settings or SETTINGS,
            rules=self.plan.rules(),
            durability=Durability.MEMORY,
            clock=self.clock,
            release=self.plan.release or RELEASES[-1],
            journal=self._journal,
        )
        self.play = Play(self.plan, self.embedded)
        self.server = Server(self.embedded, play=self.play)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="zombieproof-brokers", daemon=True)
        self._thread.start()
        try:
            self._addresses = self._in_loop(self.server.start())
        except BaseException:
            self._stop_loop()
            raise

    # ---------------------------------------------------------------- what a test asks

    @property
    def bootstrap(self) -> str:
        """What clients take as ``bootstrap.servers``."""
        return ",".join(f"{each.host}:{each.port}" for _, each in sorted(self._addresses.items()))

    @property
    def cluster(self) -> Cluster:
        """The brokers; they belong to the loop, so look at them only when nothing happens, or through `do`."""
        return self.embedded.cluster

    def topics(self, **partitions: int) -> None:
        """Make topics, each with so many partitions, of which every broker has a replica.

        Raises:
            ValueError: there is one already, or Kafka takes no such name.
        """
        nodes = self.cluster.nodes

        def make() -> None:
            for topic, count in partitions.items():
                spread = [nodes[first % len(nodes) :] + nodes[: first % len(nodes)] for first in range(count)]
                self.embedded.create_topic(topic, spread)

        self.do(make)

    def advance(self, milliseconds: int) -> None:
        """Time goes on, and what is due by it happens before this returns."""
        self.do(lambda: self.play.commands.advance(milliseconds))

    def save_trace(self) -> None:
        """Everything that has happened is in the file of the trace."""
        if self._journal is not None:
            self.do(self._journal.save)

    def release(self, word: str) -> None:
        """What waits in the plan for a word goes on before this returns.

        Raises:
            NoSuchWord: nothing does.
        """
        self.do(lambda: self.play.release(word))

    def do(self, what: Callable[[], Result]) -> Result:
        """Do something to the brokers where they run, and let all happen that follows from it."""

        async def there() -> Result:
            found = what()
            self.embedded.end_turn(self.embedded.begin_turn())
            return found

        return self._in_loop(there())

    # ---------------------------------------------------------------- the thread

    def close(self) -> None:
        """End all connections, and the trace."""
        if self._loop.is_closed():
            return
        try:
            self._in_loop(self.server.close())
        finally:
            self._stop_loop()
            self.embedded.close()
            if self._journal is not None:
                self._journal.close()

    def _in_loop(self, what: Coroutine[Any, Any, Result]) -> Result:
        if not self._thread.is_alive() or self._loop.is_closed():
            what.close()
            raise NotRunning("the brokers were stopped; ask for others")
        return asyncio.run_coroutine_threadsafe(what, self._loop).result(PATIENCE_S)

    def _stop_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
