"""The way of one process to a machine that is switched on and off: cut, slow, silent while the process sleeps."""

from collections import defaultdict
from collections.abc import Callable
from random import Random

from tests.soak.machine import Machine
from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.clients.embedded_transport import EmbeddedTransport
from zombieproof.clients.transport import Calls, Done
from zombieproof.messages.partitions import Produce

LATE_MS = 40
"""How late messages are on the average; some are ten times as late."""


class Line(EmbeddedTransport):
    """The transport of one process.

    On one connection nothing overtakes: what is late holds up what follows it, and when the connection to a node is
    cut, everything that is under way there is lost. What a process has sent travels on while it sleeps, and when it is
    dead.

    Args:
        travelling: what messages do at which time.
        faults: how likely it is that a message is the last of its connection, and that it is late.
        happened: is told the name of each fault.
    """

    def __init__(
        self,
        machine: Machine,
        travelling: Calls,
        chance: Random,
        faults: Callable[[], tuple[float, float]],
        happened: Callable[[str], None],
    ) -> None:
        super().__init__(machine.embedded)
        self.machine, self.chance = machine, chance
        self._travelling, self._faults, self._happened = travelling, faults, happened
        self.is_dead = False
        self._connections: dict[int | None, int] = defaultdict(int)
        self._arrives_ms: dict[tuple[int | None, bool], int] = defaultdict(int)
        self._open: dict[int | None, list[Callable[[], None]]] = defaultdict(list)

    def refresh_metadata(self) -> None:
        """Look at the cluster as it is now."""
        if hasattr(self, "machine"):
            self.embedded = self.machine.embedded
        super().refresh_metadata()

    def attend(self) -> bool:
        """Make the calls that are due; False: there are none."""
        ran = False
        while not self.is_dead and self._run_next():
            ran = True
        return ran

    def send(self, node: int | None, body: Request, done: Done) -> None:
        """A request sets out."""
        connection, is_over = self._connections[node], False

        def tell(answer: Answer | None) -> None:
            nonlocal is_over
            if not is_over:
                is_over = True
                self._open[node].remove(lost)
                # The process hears it when it has its turn.
                self.call_at(self.now_ms(), lambda: done(answer))

        def lost() -> None:
            tell(None)

        def answered(answer: Answer | None) -> None:
            if not is_over:
                self._travel(node, is_answer=True, arrive=lambda: tell(answer))

        def arrive() -> None:
            if self._connections[node] == connection:
                self.machine.submit(body, node, answered if not _is_unanswered(body) else _nobody)

        self._open[node].append(lost)
        lost_share, _ = self._faults()
        if self.chance.random() < lost_share:
            self._happened("lost")
            # Cut before the request arrives, or before its answer does.
            if self.chance.random() < 0.5:
                self._travel(node, is_answer=False, arrive=arrive)
                self._travelling.add(self.now_ms() + self.chance.randint(0, 3), lambda: self._cut(node))
            else:
                self._cut(node)
            return
        self._travel(node, is_answer=False, arrive=arrive)

    def _cut(self, node: int | None) -> None:
        self._connections[node] += 1
        for lost in tuple(self._open[node]):
            lost()

    def _travel(self, node: int | None, *, is_answer: bool, arrive: Callable[[], None]) -> None:
        _, late_share = self._faults()
        at_ms = self.now_ms()
        if self.chance.random() < late_share:
            self._happened("late")
            often = 1 if self.chance.random() < 0.9 else 10
            at_ms += int(self.chance.expovariate(1 / (LATE_MS * often)))
        at_ms = self._arrives_ms[node, is_answer] = max(at_ms, self._arrives_ms[node, is_answer])
        self._travelling.add(at_ms, arrive)


def _is_unanswered(body: Request) -> bool:
    return isinstance(body, Produce) and body.acks == 0


def _nobody(_: object) -> None:
    """Nobody waits for this answer."""
