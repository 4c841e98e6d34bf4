"""One connection of a client to a broker that listens: bytes of a socket, as requests that are handed in.

Theory of operation: what comes is cut into frames; the next is taken when the one before is answered, as a broker of
Kafka does, so answers keep the order of requests. Whoever does not read is not read from, nor is he whose requests
wait. Source: ``SocketServer.scala``.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, cast

from zombieproof.broker.authorization.principals import Principal
from zombieproof.broker.authorization.session import Session
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.broker.embedded import Done, Unsynced
from zombieproof.broker.partition.fetch_budget import Load
from zombieproof.wire.certificates import subject_of
from zombieproof.wire.connection import Connection
from zombieproof.wire.faults import Malformed
from zombieproof.wire.frames import MOST_BYTES
from zombieproof.wire.front import Asked, Front
from zombieproof.wire.gate import Gate
from zombieproof.wire.responses import Response
from zombieproof.wire.security import Security
from zombieproof.wire.sending import Sender, Stream

WAITING_REQUESTS = 16
"""With so many requests that wait for their turn a connection is not read from."""


TURN_LOAD, RESPONSE_LOAD = Load(1 << 24, 1 << 11), Load(1 << 26, 1 << 13)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a connection may be: the longest request, how many connections there are, and how long one may be idle.

    `handshake_s`: how long (seconds) TLS may take to begin. `turn_load`: how much may be fetched in one turn of
    the server; `response_load`: how much all responses together may hold that are being sent.
    """

    request_bytes: int = MOST_BYTES
    turn_load: Load = TURN_LOAD
    response_load: Load = RESPONSE_LOAD
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


class Host(Protocol):
    """Whoever has peers, and drives their brokers: `Server` is one."""

    brokers: Brokers
    limits: Limits
    security: Security
    connections: "set[Peer]"
    sender: Sender
    requests: int

    @property
    def takes_connections(self) -> bool:
        """Whether one more connection can be had."""
        ...

    def wake(self) -> None:
        """Something was handed in."""
        ...

    def blame(self, asked: Asked | None, error: Exception) -> None:
        """This program has failed to take or to answer a request."""
        ...


class Peer(asyncio.Protocol):
    """One connection to one broker."""

    def __init__(self, server: Host, front: Front) -> None:
        self._server, self._connection = server, Connection(front, server.limits.request_bytes)
        self._transport: asyncio.Transport | None = None
        self._is_slow = self._is_paused = self._is_ending = False
        self._stream: Stream | None = None
        self.heard_at = asyncio.get_running_loop().time()

    @property
    def waits(self) -> bool:
        """Whether the client waits for an answer."""
        return self._stream is not None or not self._connection.is_idle

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
        if not self._server.takes_connections or self.node not in self._server.brokers.cluster.brokers:
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
        self._end_stream()

    def close(self) -> None:
        """End the connection, when what was answered is sent."""
        self._is_ending = True
        if self._transport is not None and self._stream is None:
            self._transport.close()

    def abandon(self) -> None:
        """End the connection; a response that is being sent is cut short."""
        self._end_stream()
        self.close()

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
        if self._stream is None:
            self._go_on()
        else:
            self._server.sender.add(self)

    @property
    def _is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing() and not self._is_ending

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
            while self._is_open and not self._is_busy and (asked := self._connection.next_request()) is not None:
                self._server.requests += 1
                self._hand_in(asked)
        except Malformed:
            self.close()
        except Exception as error:  # noqa: BLE001  # whatever it is, the others are not to suffer
            self._failed(None, error)
        self._balance()

    @property
    def _is_busy(self) -> bool:
        """Whether a response is being sent, or the client does not read."""
        return self._is_slow or self._stream is not None

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
        if self._is_ending:  # The loop may be closed already.
            return
        if len(answers) == len(asked.messages):
            self._send(asked, [answers[each] for each in range(len(answers))])
            self._go_on()

    def _ended(self, _: Answer | None) -> None:
        """What nobody waits for an answer to was refused: the client is told by the end of the connection."""
        self.close()

    def _send(self, asked: Asked, answers: Sequence[Answer | None]) -> None:
        try:
            response = self._connection.answer(answers)
        except Exception as error:  # noqa: BLE001  # whatever it is, the others are not to suffer
            self._failed(asked, error)
            return
        if self._connection.is_over:
            # Who has failed to say who he is waits for it, so that he cannot try again at once.
            delay_ms = self._server.brokers.cluster.settings.connection_failed_authentication_delay_ms
            if delay_ms:
                asyncio.get_running_loop().call_later(delay_ms / 1000, self._end, response)
            else:
                self._end(response)
        elif response is None:
            self.close()
        elif self._transport is not None:
            self._write(self._transport, response)

    def _write(self, transport: asyncio.Transport, response: Response) -> None:
        if not response.records:
            transport.write(response.data)
            return
        self._stream = Stream(response)
        self._server.brokers.cluster.fetch_budget.hold(self._stream.load)
        if not self._is_slow:
            self._server.sender.add(self)

    @property
    def is_sending(self) -> bool:
        """Whether there is a response to send, and the client reads."""
        return self._stream is not None and not self._is_slow

    def send_piece(self, most: int) -> None:
        """Send at most so many bytes of the response."""
        if self._stream is None or self._transport is None or self._is_slow:
            return
        try:
            data = self._stream.take(most)
        except Exception as error:  # noqa: BLE001  # whatever it is, the others are not to suffer
            self._end_stream()
            self._failed(None, error)
            return
        if data:
            self._transport.write(data)
            return
        self._end_stream()
        if self._is_ending:
            self._transport.close()
        else:
            self._go_on()

    def _end_stream(self) -> None:
        if self._stream is not None:
            self._server.brokers.cluster.fetch_budget.release(self._stream.load)
            self._stream = None

    def _failed(self, asked: Asked | None, error: Exception) -> None:
        self._server.blame(asked, error)
        self.close()

    def _end(self, response: Response | None) -> None:
        """The last that is sent."""
        if self._transport is not None and response is not None:
            self._transport.write(response.whole())
        self.close()
