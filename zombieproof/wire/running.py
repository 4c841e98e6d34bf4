"""Brokers in memory that listen beside whoever has no loop, under a plan: for a test, or a script.

Everything is done to them in the loop of the server (`background`); whoever calls waits until it is done.
"""

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from zombieproof.broker.authorization.access_list import AccessList
from zombieproof.broker.cluster.clock import AheadClock, ManualClock
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.live_trace import LiveTraceFile
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.store.config import Durability
from zombieproof.model.releases import RELEASES
from zombieproof.wire.background import Background
from zombieproof.wire.plan.parts import Plan
from zombieproof.wire.plan.play import Play
from zombieproof.wire.security import OPEN, Security
from zombieproof.wire.server import Server

Result = TypeVar("Result")

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
        access: who may do what; None: everybody everything.
        security: how whoever comes says who he is.
    """

    def __init__(  # each has a default, and a test names the few that matter
        self,
        plan: Plan | None = None,
        trace: Path | None = None,
        brokers: int = 1,
        settings: Settings | None = None,
        access: AccessList | None = None,
        security: Security = OPEN,
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
            access=access,
        )
        self.play = Play(self.plan, self.embedded)
        self.server = Server(self.embedded, play=self.play, security=security)
        self._background: Background | None = Background(self.server)

    # ---------------------------------------------------------------- what a test asks

    @property
    def bootstrap(self) -> str:
        """What clients take as ``bootstrap.servers``."""
        return ",".join(f"{each.host}:{each.port}" for _, each in sorted(self.server.addresses.items()))

    @property
    def is_running(self) -> bool:
        """Whether they were not stopped."""
        return self._background is not None

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
        if self._journal is not None and self.is_running:
            self.do(self._journal.save)

    def release(self, word: str) -> None:
        """What waits in the plan for a word goes on before this returns.

        Raises:
            NoSuchWord: nothing does.
        """
        self.do(lambda: self.play.release(word))

    def do(self, what: Callable[[], Result]) -> Result:
        """Do something to the brokers where they run, and let all happen that follows from it.

        Raises:
            NotRunning: they were stopped.
        """
        if self._background is None:
            raise NotRunning("the brokers were stopped; ask for others")
        return self._background.do(what)

    def close(self) -> None:
        """End all connections, and the trace."""
        if self._background is None:
            return
        background, self._background = self._background, None
        try:
            background.close()
        finally:
            self.embedded.close()
            if self._journal is not None:
                self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
