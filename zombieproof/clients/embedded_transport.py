"""The way of clients to a cluster that runs (`Embedded`): over logs on disk, in real time, from any thread.

Theory of operation: who waits drives the cluster, as `Embedded` says, and makes the calls that are due between two
waits. So a client's own times (a batch that lingers, a request that is repeated) count while somebody waits.
"""

import threading
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager

from zombieproof.broker.authorization.principals import Principal
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.broker.embedded import Embedded
from zombieproof.clients.transport import Calls, ClusterMetadata, Done, look_at
from zombieproof.messages.partitions import Produce

TICK_MS = 10
"""How far a clock that only tests move goes on when there is nothing to do."""


Line = tuple[int | None, str]
"""The Produce requests of one transactional id to one node."""


class EmbeddedTransport:
    """The way of any number of clients, in any threads, to one embedded cluster.

    Args:
        embedded: the cluster.
        client_id: what they call themselves, for whoever tells clients apart.
        principal: who all of them are, where the cluster has an access list.
    """

    def __init__(self, embedded: Embedded, client_id: str = "", principal: Principal | None = None) -> None:
        self.embedded, self._clock, self.client_id = embedded, embedded.clock, client_id
        self._principal = principal
        self._calls = Calls()
        self._books = threading.Lock()
        self._lines: dict[Line, deque[tuple[Produce, Done]]] = {}
        self._metadata, self._is_lost = ClusterMetadata(), False
        self.refresh_metadata()

    @property
    def lock(self) -> AbstractContextManager[object]:
        """That of the cluster: whoever drives it calls what clients wait for."""
        return self.embedded.lock

    def now_ms(self) -> int:
        """The time of the cluster."""
        return self._clock.now_ms()

    def send(self, node: int | None, body: Request, done: Done) -> None:
        """Hand in a request; nobody answers a Produce with acks 0. A cluster that was closed is a lost connection."""
        if not isinstance(body, Produce):
            self._submit(node, body, done)
        elif body.acks == 0:
            self._submit(node, body, _nobody)
        elif body.transactional_id is None:
            self._submit(node, body, done)
        else:
            self._produce((node, body.transactional_id), body, done)

    def _produce(self, line: Line, body: Produce, done: Done) -> None:
        """Hand in a Produce when the one before it of the same producer is answered.

        A broker of Kafka takes the next request from a connection when it has answered the one before. Taken at once,
        the second of a transaction would replace the question of the first to the coordinator, and both would be sent
        again (``SocketServer.java``, ``AddPartitionsToTxnManager.java``).
        """
        with self._books:
            waiting = self._lines.setdefault(line, deque())
            waiting.append((body, done))
            is_first = len(waiting) == 1
        if is_first:
            self._submit(line[0], body, lambda answer: self._produced(line, answer))

    def _produced(self, line: Line, answer: Answer | None) -> None:
        with self._books:
            waiting = self._lines[line]
            _, done = waiting.popleft()
            following = waiting[0][0] if waiting else None
            if following is None:
                del self._lines[line]
        if following is not None:
            self._submit(line[0], following, lambda answer: self._produced(line, answer))
        done(answer)

    def _submit(self, node: int | None, body: Request, done: Done) -> None:
        try:
            self.embedded.submit(body, node, done, self.client_id, self._principal)
        except RuntimeError:
            self._is_lost = True
            self.call_at(self.now_ms(), lambda: done(None))

    def call_at(self, at_ms: int, action: Callable[[], None]) -> None:
        """Call `action` once, when it is `at_ms` or later and somebody waits."""
        self._calls.add(at_ms, action)

    def turn(self, until_ms: int) -> bool:
        """One call that is due, or what the cluster has to do now; False: there is nothing."""
        if self._run_next() or (not self._is_lost and self.embedded.pump()):
            return True
        clock, now_ms = self.embedded.clock, self.now_ms()
        if not isinstance(clock, ManualClock) or now_ms >= until_ms:
            return False
        clock.advance(max(min(until_ms, self._calls.next_ms, now_ms + TICK_MS) - now_ms, 1))
        return True

    def wait_until(self, is_over: Callable[[], bool], timeout_ms: int) -> bool:
        """Drive the cluster, or let another thread do it, until `is_over`, but not longer than `timeout_ms`.

        A cluster that was closed answers nobody: then there is nothing to wait for.
        """
        until_ms = self.now_ms() + timeout_ms
        while not is_over():
            now_ms = self.now_ms()
            if self._run_next():
                continue
            if now_ms >= until_ms or self._is_lost or self.embedded.is_closed:
                return False
            rests_until_ms = min(until_ms, self._calls.next_ms)
            self.embedded.wait_until(self._until(is_over, rests_until_ms), rests_until_ms - now_ms)
        return True

    def _until(self, is_over: Callable[[], bool], rests_until_ms: int) -> Callable[[], bool]:
        """Whether there is no reason to rest: an answer may have made something due earlier than all before."""
        return lambda: is_over() or self._calls.next_ms < rests_until_ms

    def _run_next(self) -> bool:
        if self._calls.next_ms > self.now_ms():
            return False
        with self.lock:
            return self._calls.run_next(self.now_ms())

    def metadata(self) -> ClusterMetadata:
        """The cluster as it was at the last `refresh_metadata`."""
        return self._metadata

    def refresh_metadata(self) -> None:
        """Look at the cluster as it is now."""
        with self.lock:
            self._metadata = look_at(self.embedded.cluster, self._metadata)


def _nobody(_: object) -> None:
    """Nobody waits for this answer."""
