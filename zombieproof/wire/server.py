"""Brokers that listen: each connection hands its requests to a broker, one after the other, and sends what it answers.

Theory of operation: one loop does everything. Requests of all connections (`peer`) that came meanwhile are delivered in
one turn; what has to be durable then is synced by a thread, while the loop reads on, and all that waited for it is
answered together: a group commit for any number of clients. Source: ``SocketServer.scala``.
"""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

from zombieproof import system
from zombieproof.broker.cluster.internal_errors import InternalError
from zombieproof.broker.embedded import TICK_MS, Unsynced
from zombieproof.broker.store.disk import MOST_OPEN
from zombieproof.wire.api import Address, Around
from zombieproof.wire.front import Asked, Front
from zombieproof.wire.listening import BACKLOG, listening
from zombieproof.wire.peer import Brokers, Limits, Peer
from zombieproof.wire.plan.play import Play
from zombieproof.wire.reports import place_of, report_of
from zombieproof.wire.security import OPEN, Security
from zombieproof.wire.sending import Sender

LOG = logging.getLogger("zombieproof.serve")
MOST_REPORTS = 16
"""So many reports of internal errors are kept."""
OTHER_FILES = 128
"""Open files other than those of connections and logs, at most."""
WHOLE_REPORTS = 3
"""So often the same internal error is reported in full. Afterwards only its count is, each time that it has doubled."""


def most_connections(wanted: int) -> int:
    """How many connections there may be at a time: some of the files that a process may open are for logs."""
    files = system.open_files()
    return wanted if files is None else min(wanted, max(files // 2, files - MOST_OPEN - OTHER_FILES))


class Server:
    """The brokers of a cluster, each with a port of its own.

    Args:
        brokers: the cluster; from now on nobody else drives it.
        host: the address that they listen at.
        port: that of the first; the others follow it. 0: any that are free.
        limits: what connections may be.
        play: the plan of faults that is played at the cluster: connections to a broker that crashes end.
        security: how whoever comes says who he is.
        advertised_host: what clients are told instead of the address (Kafka's ``advertised.listeners``).

    An internal error ends the connection of the request in which it happens; all others continue. `reports` tell of
    these errors, as they were logged. `check` raises each of them once.

    Raises (`start`):
        CannotListen: a port is taken, or the host is none of this machine.
    """

    def __init__(
        self,
        brokers: Brokers,
        host: str = "127.0.0.1",
        port: int = 0,
        limits: Limits | None = None,
        play: Play | None = None,
        security: Security = OPEN,
        advertised_host: str | None = None,
    ) -> None:
        self.brokers, self.limits, self.security = brokers, limits or Limits(), security
        self._host, self._port, self._advertised_host = host, port, advertised_host
        self.addresses: dict[int, Address] = {}
        self.connections: set[Peer] = set()
        self.sender = Sender()
        budget = brokers.cluster.fetch_budget
        budget.each_turn, budget.in_flight = self.limits.turn_load, self.limits.response_load
        self.requests = self.turns = 0
        self.reports: list[str] = []
        self._unraised: deque[Exception] = deque(maxlen=MOST_REPORTS)
        self._seen: Counter[tuple[str, str, int]] = Counter()
        self._listeners: list[asyncio.Server] = []
        self._driving: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._looked_at = 0.0
        self._is_awake = self._is_closing = self._was_full = False
        self._room = most_connections(self.limits.connections)
        self._syncs = ThreadPoolExecutor(1, "zombieproof-sync")
        if play is not None:
            play.crashes.told.append(self._gone)

    async def start(self) -> Mapping[int, Address]:
        """Listen; returned is where each broker does."""
        loop, cluster = asyncio.get_running_loop(), self.brokers.cluster
        advertised: dict[int, Address] = {}
        around = Around(cluster.metadata, advertised, self.brokers.cluster_id, lambda: cluster.brokers)
        around.protocol = self.security.protocol
        for number, node in enumerate(sorted(cluster.brokers)):
            front = Front(cluster, node, around)
            sockets = listening(self._host, self._port and self._port + number)
            self.addresses[node] = at = Address(*sockets[0].getsockname()[:2])
            for each in sockets:
                listener = await loop.create_server(
                    partial(Peer, self, front),
                    sock=each,
                    backlog=BACKLOG,
                    ssl=self.security.tls,
                    ssl_handshake_timeout=None if self.security.tls is None else self.limits.handshake_s,
                )
                self._listeners.append(listener)
            advertised[node] = Address(self._advertised_host or at.host, at.port)
        cluster.contain_errors(self._contain)
        self._driving = loop.create_future()
        self.wake()
        return self.addresses

    async def close(self) -> None:
        """Take no more connections, end those that there are, and stop driving the cluster."""
        self._is_closing = True
        loop = asyncio.get_running_loop()
        for each in (each for listener in self._listeners for each in listener.sockets):
            with suppress(NotImplementedError):  # the loop of Windows has no readers
                loop.remove_reader(each.fileno())
        # A connection that is accepted already is made and ended now: after `close`, CPython 3.11 would leave it open.
        await asyncio.sleep(0)
        for listener in self._listeners:
            listener.close()
        for peer in list(self.connections):
            peer.abandon()
        self.wake()
        if self._driving is not None:
            # A turn that was begun is ended: what is being synced was not in vain, and nobody else may drive before.
            await asyncio.wait((self._driving,))
        if self._timer is not None:
            self._timer.cancel()
        self._syncs.shutdown()

    async def serve_until(self, over: asyncio.Event) -> None:
        """Run until `over`, or until the cluster cannot go on.

        Raises:
            BaseException: whatever ended the cluster.
        """
        waiting = asyncio.ensure_future(over.wait())
        assert self._driving is not None, "start comes first"
        await asyncio.wait((waiting, self._driving), return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        self._check_driving()

    def check(self) -> None:
        """See that the cluster goes on, and that no internal error has happened since this was asked last.

        Raises:
            BaseException: whatever ended the cluster, or the first of those errors.
        """
        self._check_driving()
        if self._unraised:
            raise self._unraised.popleft()

    def _check_driving(self) -> None:
        if self._driving is not None and self._driving.done():
            self._driving.result()

    @property
    def takes_connections(self) -> bool:
        """Whether one more connection can be had."""
        is_full = len(self.connections) >= self._room
        if is_full and not self._was_full:
            LOG.warning("%d connections are open: more are refused until some have ended", len(self.connections))
        self._was_full = is_full
        return not is_full and not self._is_closing

    def wake(self) -> None:
        """Something came in: there is a turn soon, with all that comes until then."""
        if not self._is_awake and self._driving is not None:
            self._is_awake = True
            self._driving.get_loop().call_soon(self._turn, self._driving)

    def blame(self, asked: Asked | None, error: Exception) -> None:
        """This program has failed to take or to answer a request; say so, and go on."""
        self._report(asked, error)

    def _contain(self, failed: InternalError) -> None:
        self._report(failed, failed.error)

    def _report(self, failed: InternalError | Asked | None, error: Exception) -> None:
        self._unraised.append(error)
        place = place_of(error)
        self._seen[place] += 1
        times, cluster = self._seen[place], self.brokers.cluster
        report = report_of(failed, error, cluster.release_of(cluster.nodes[0]))
        if len(self.reports) < MOST_REPORTS:
            self.reports.append(report)
        if times <= WHOLE_REPORTS:
            LOG.error(report)
        elif times & (times - 1) == 0:
            LOG.error("the internal error at %s:%d (%s) has happened %d times", place[1], place[2], place[0], times)

    def _gone(self, node: int) -> None:
        """A broker went down: its connections end."""
        for peer in [each for each in self.connections if each.node == node]:
            peer.abandon()

    def _turn(self, driving: asyncio.Future[None]) -> None:
        """One turn of the cluster, which is `driving` as long as it can go on."""
        if driving.done() or self._is_closing:
            if not driving.done():
                driving.set_result(None)
            return
        try:
            self.brokers.cluster.fetch_budget.begin_turn()
            unsynced = self.brokers.begin_turn()
            if unsynced:
                syncing = driving.get_loop().run_in_executor(self._syncs, unsynced.sync)
                syncing.add_done_callback(partial(self._synced, driving, unsynced))
                return
            self.brokers.end_turn(unsynced)
            self.turns += 1
            self._is_awake = False
            self._let_go()
            self._rest(driving.get_loop())
        except BaseException as error:  # noqa: BLE001  # `serve_until` and `check` raise it
            driving.set_exception(error)

    def _synced(self, driving: asyncio.Future[None], unsynced: Unsynced, syncing: asyncio.Future[None]) -> None:
        """What was begun is durable, or cannot be; what that has released may be followed by more."""
        try:
            syncing.result()
            self.brokers.end_turn(unsynced)
        except BaseException as error:  # noqa: BLE001  # `serve_until` and `check` raise it
            driving.set_exception(error)
            return
        self.turns += 1
        self._turn(driving)

    def _rest(self, loop: asyncio.AbstractEventLoop) -> None:
        """Nothing is to be done before something comes in, or is due; a timer that rings earlier is let be."""
        at = loop.time() + max(1, min(TICK_MS, self.brokers.next_ms)) / 1000
        if self._timer is not None:
            if self._timer.when() <= at:
                return
            self._timer.cancel()
        self._timer = loop.call_at(at, self._rings)

    def _rings(self) -> None:
        self._timer = None
        self.wake()

    def _let_go(self) -> None:
        """Connections on which nothing was asked for long end."""
        before = asyncio.get_running_loop().time() - self.limits.idle_ms / 1000
        if self._looked_at < before:
            self._looked_at = min((peer.heard_at for peer in self.connections), default=before)
            for peer in [peer for peer in self.connections if peer.heard_at <= before and not peer.waits]:
                peer.close()
