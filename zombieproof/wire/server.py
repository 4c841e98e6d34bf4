"""Brokers that listen: each connection hands its requests to a broker, one after the other, and sends what it answers.

Theory of operation: one loop does everything. What comes on a connection is cut into frames; the next is taken when the
one before is answered, as a broker of Kafka does, so answers keep the order of requests. Requests of all connections
that came meanwhile are delivered in one turn; what has to be durable then is synced by a thread, while the loop reads
on, and all that waited for it is answered together: a group commit for any number of clients. A connection whose peer
does not read is not read from. Source: ``SocketServer.scala``.
"""

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Protocol, cast

from zombieproof.broker.authorization.principals import Principal
from zombieproof.broker.authorization.session import Session
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.broker.embedded import TICK_MS, Done, Unsynced
from zombieproof.wire.api import Address, Around
from zombieproof.wire.certificates import subject_of
from zombieproof.wire.connection import Connection
from zombieproof.wire.faults import Malformed
from zombieproof.wire.frames import MOST_BYTES
from zombieproof.wire.front import Asked, Front
from zombieproof.wire.gate import Gate
from zombieproof.wire.plan.play import Play
from zombieproof.wire.security import OPEN, Security

MOST_FAULTS = 16
"""So many faults of this program are kept; the first is the one to look at."""
WAITING_REQUESTS = 16
"""With so many requests that wait for their turn a connection is not read from."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a connection may be: the longest request, how many connections there are, and how long one may be idle.

    `handshake_s`: how long (seconds) TLS may take to begin.
    """

    request_bytes: int = MOST_BYTES
    connections: int = 10_000
    idle_ms: int = 600_000
    handshake_s: float = 10.0


class Brokers(Protocol):
    """A cluster that somebody drives: `Embedded` is one."""

    @property
    def cluster(self) -> Cluster:
        """The cluster."""
        ...

    @property
    def cluster_id(self) -> str:
        """Its id, as Kafka writes ids."""
        ...

    @property
    def next_ms(self) -> int:
        """In how long (ms) something is to be done though nothing comes in."""
        ...

    def submit(
        self,
        request: Request,
        node: int | None,
        done: Done,
        client_id: str = "",
        principal: Principal | None = None,
    ) -> None:
        """Hand in a request of `principal`; `done` is called with the answer, None: the connection ends."""
        ...

    def begin_turn(self) -> Unsynced:
        """Deliver what is in flight; what is returned is synced, and then comes `end_turn`."""
        ...

    def end_turn(self, unsynced: Unsynced) -> None:
        """What was begun is durable."""
        ...


class Server:
    """The brokers of a cluster, each with a port of its own.

    Args:
        brokers: the cluster; from now on nobody else drives it.
        host: the address that they listen at.
        port: that of the first; the others follow it. 0: any that are free.
        limits: what connections may be.
        play: the plan of faults that is played at the cluster: connections to a broker that crashes end.
        security: how whoever comes says who he is.

    `faults` are the errors of this program that a request met on its way in or out: its connection has ended, all
    others go on.

    Raises (`start`):
        OSError: a port is taken, or the host is none of this machine.
    """

    def __init__(
        self,
        brokers: Brokers,
        host: str = "127.0.0.1",
        port: int = 0,
        limits: Limits | None = None,
        play: Play | None = None,
        security: Security = OPEN,
    ) -> None:
        self.brokers, self.limits, self.security = brokers, limits or Limits(), security
        self._host, self._port = host, port
        self.addresses: dict[int, Address] = {}
        self.connections: set[_Peer] = set()
        self.requests = self.turns = 0
        self.faults: list[Exception] = []
        self._listeners: list[asyncio.Server] = []
        self._driving: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._looked_at = 0.0
        self._is_awake = self._is_closing = False
        self._syncs = ThreadPoolExecutor(1, "zombieproof-sync")
        if play is not None:
            play.crashes.told.append(self._gone)

    async def start(self) -> Mapping[int, Address]:
        """Listen; returned is where each broker does."""
        loop, cluster = asyncio.get_running_loop(), self.brokers.cluster
        around = Around(cluster.metadata, self.addresses, self.brokers.cluster_id, lambda: cluster.brokers)
        for number, node in enumerate(sorted(cluster.brokers)):
            front = Front(cluster, node, around)
            listener = await loop.create_server(
                partial(_Peer, self, front),
                self._host,
                self._port and self._port + number,
                ssl=self.security.tls,
                ssl_handshake_timeout=None if self.security.tls is None else self.limits.handshake_s,
            )
            self._listeners.append(listener)
            self.addresses[node] = Address(*listener.sockets[0].getsockname()[:2])
        self._driving = loop.create_future()
        self.wake()
        return self.addresses

    async def close(self) -> None:
        """Take no more connections, end those that there are, and stop driving the cluster."""
        for listener in self._listeners:
            listener.close()
        for peer in list(self.connections):
            peer.close()
        self._is_closing = True
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
            BaseException: whatever ended the cluster, or, when it is over, the first of `faults`.
        """
        waiting = asyncio.ensure_future(over.wait())
        assert self._driving is not None, "start comes first"
        await asyncio.wait((waiting, self._driving), return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        self.check()

    def check(self) -> None:
        """See that the cluster goes on, and that every request was answered.

        Raises:
            BaseException: whatever ended it, or the first of `faults`.
        """
        if self._driving is not None and self._driving.done():
            self._driving.result()
        if self.faults:
            raise self.faults[0]

    def wake(self) -> None:
        """Something came in: there is a turn soon, with all that comes until then."""
        if not self._is_awake and self._driving is not None:
            self._is_awake = True
            self._driving.get_loop().call_soon(self._turn, self._driving)

    def blame(self, asked: Asked | None, error: Exception) -> None:
        """This program has failed to take or to answer a request; say so, and go on."""
        if asked is not None:
            client = asked.header.client_id
            error.add_note(f"{asked.api.name} {asked.header.version} of client {client!r} was not answered")
        if len(self.faults) < MOST_FAULTS:
            self.faults.append(error)
        told = {"message": "a request was not answered: a fault of zombieproof", "exception": error}
        asyncio.get_running_loop().call_exception_handler(told)

    def _gone(self, node: int) -> None:
        """A broker went down: its connections end."""
        for peer in [each for each in self.connections if each.node == node]:
            peer.close()

    def _turn(self, driving: asyncio.Future[None]) -> None:
        """One turn of the cluster, which is `driving` as long as it can go on."""
        if driving.done() or self._is_closing:
            if not driving.done():
                driving.set_result(None)
            return
        try:
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


class _Peer(asyncio.Protocol):
    """One connection to one broker."""

    def __init__(self, server: Server, front: Front) -> None:
        self._server, self._connection = server, Connection(front, server.limits.request_bytes)
        self._transport: asyncio.Transport | None = None
        self._is_slow = self._is_paused = False
        self.heard_at = asyncio.get_running_loop().time()

    @property
    def waits(self) -> bool:
        """Whether the client waits for an answer."""
        return not self._connection.is_idle

    @property
    def node(self) -> int:
        """The broker that it is to."""
        return self._connection.front.node

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has come."""
        # Transports of uvloop are of no class of asyncio's.
        self._transport = transport = cast(asyncio.Transport, transport)
        self._connection.host = str((transport.get_extra_info("peername") or ("",))[0])
        self._guard()
        is_full = len(self._server.connections) >= self._server.limits.connections
        if is_full or self.node not in self._server.brokers.cluster.brokers:
            transport.abort()
            return
        self._server.connections.add(self)

    def _guard(self) -> None:
        """Whoever has come is who his certificate says; at a listener that demands SASL he says who he is first."""
        mechanisms, cluster = self._server.security.mechanisms, self._server.brokers.cluster
        shown = self._transport and self._transport.get_extra_info("ssl_object")
        certificate = shown and shown.getpeercert(binary_form=True)
        if certificate:
            self._connection.certified = subject_of(certificate)
        if mechanisms:
            settings, host = cluster.settings, self._connection.host
            most_ms, now_ms = settings.connections_max_reauth_ms, cluster.clock.now_ms
            session = Session(mechanisms, host=host, most_ms=most_ms, now_ms=now_ms)
            self._connection.guard(Gate(self._connection.front, session), settings.sasl_server_max_receive_size)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone. What it asked for may happen all the same."""
        self._server.connections.discard(self)
        self._transport = None

    def close(self) -> None:
        """End the connection, when what was answered is sent."""
        if self._transport is not None:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        """Bytes have come."""
        self.heard_at = asyncio.get_running_loop().time()
        try:
            self._connection.receive(data)
        except Malformed:
            self.close()
        else:
            self._go_on()

    def pause_writing(self) -> None:
        """The client does not read what it is sent."""
        self._is_slow = True
        self._balance()

    def resume_writing(self) -> None:
        """It does again."""
        self._is_slow = False
        self._go_on()

    @property
    def _is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def _balance(self) -> None:
        """Read on, or wait until the client reads, or the brokers have answered."""
        if self._transport is None or not self._is_open:
            return
        is_full = self._is_slow or self._connection.waiting >= WAITING_REQUESTS
        if is_full and not self._is_paused:
            self._transport.pause_reading()
        elif self._is_paused and not is_full:
            self._transport.resume_reading()
        self._is_paused = is_full

    # ---------------------------------------------------------------- one request after the other

    def _go_on(self) -> None:
        """Take the next request, and the next, until one has to wait."""
        try:
            while self._is_open and not self._is_slow and (asked := self._connection.next_request()) is not None:
                self._server.requests += 1
                self._hand_in(asked)
        except Malformed:
            self.close()
        except Exception as error:  # noqa: BLE001  # whatever it is, the others are not to suffer
            self._failed(None, error)
        self._balance()

    def _hand_in(self, asked: Asked) -> None:
        answers: dict[int, Answer | None] = {}
        for number, message in enumerate(asked.messages):
            done = partial(self._answered, asked, answers, number) if asked.wants_answer else self._ended
            self._server.brokers.submit(message, self.node, done, asked.header.client_id or "", self._who)
        if asked.messages:
            self._server.wake()
        else:
            self._send(asked, ())

    @property
    def _who(self) -> Principal | None:
        """Who asks, where that is wanted."""
        return None if self._server.brokers.cluster.access is None else self._connection.principal

    def _answered(self, asked: Asked, answers: dict[int, Answer | None], number: int, answer: Answer | None) -> None:
        answers[number] = answer
        if len(answers) == len(asked.messages):
            self._send(asked, [answers[each] for each in range(len(answers))])
            self._go_on()

    def _ended(self, _: Answer | None) -> None:
        """What nobody waits for an answer to was refused: the client is told by the end of the connection."""
        self.close()

    def _send(self, asked: Asked, answers: Sequence[Answer | None]) -> None:
        try:
            data = self._connection.answer(answers)
        except Exception as error:  # noqa: BLE001  # whatever it is, the others are not to suffer
            self._failed(asked, error)
            return
        if self._connection.is_over:
            # Who has failed to say who he is waits for it, so that he cannot try again at once.
            delay_ms = self._server.brokers.cluster.settings.connection_failed_authentication_delay_ms
            if delay_ms:
                asyncio.get_running_loop().call_later(delay_ms / 1000, self._end, data)
            else:
                self._end(data)
        elif data is None:
            self.close()
        elif self._transport is not None:
            self._transport.write(data)

    def _failed(self, asked: Asked | None, error: Exception) -> None:
        self._server.blame(asked, error)
        self.close()

    def _end(self, data: bytes | None) -> None:
        """The last that is sent."""
        if self._transport is not None and data is not None:
            self._transport.write(data)
        self.close()
