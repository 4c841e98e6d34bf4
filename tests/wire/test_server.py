"""Brokers behind sockets: each connection for itself, in order, whatever the others do."""

import asyncio
import errno
import gc
import os
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.wire.fronts import TOPICS
from zombieproof import system
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.store.config import Durability
from zombieproof.formats.batches import Batch, Record
from zombieproof.messages.groups import FindCoordinator
from zombieproof.messages.partitions import Fetch, FetchAnswer, Produce, ProduceAnswer, SentBatch
from zombieproof.messages.transactions import EndTxn, EndTxnAnswer, InitProducerId, InitProducerIdAnswer
from zombieproof.model.vocabulary import Isolation
from zombieproof.wire.api import Around
from zombieproof.wire.asking import answer_in, request_frame
from zombieproof.wire.front import Front
from zombieproof.wire.listening import CannotListen, listening
from zombieproof.wire.names import TopicNames
from zombieproof.wire.peer import WAITING_REQUESTS, Limits, Peer
from zombieproof.wire.security import OPEN, Security
from zombieproof.wire.server import Server, most_connections

T = ("t0", 0)
INIT = InitProducerId(4, "x", 60_000)
PATIENCE_S = 20.0


def batch(value: bytes = b"v") -> SentBatch:
    return SentBatch(Batch(records=(Record(None, value),), timestamp_ms=5))


class Client:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, names: TopicNames) -> None:
        self.reader, self.writer, self.names = reader, writer, names
        self._numbers = 0

    def send(self, request: Any) -> None:
        self._numbers += 1
        self.writer.write(request_frame(request, self._numbers, "me", self.names))

    async def frame(self) -> bytes:
        (size,) = struct.unpack(">i", await self.reader.readexactly(4))
        return await self.reader.readexactly(size)

    async def ask(self, request: Any) -> Any:
        self.send(request)
        return answer_in(await self.frame(), request, self.names)

    async def is_ended(self) -> bool:
        return not await self.reader.read(1)


class Served:
    """A server that runs, and whoever comes to it."""

    def __init__(self, server: Server) -> None:
        self.server, cluster = server, server.brokers.cluster
        self.names = TopicNames(cluster.metadata.topic_ids, cluster.metadata.topic_names)
        self.clients: list[Client] = []

    async def connect(self, node: int = 1) -> Client:
        client = Client(*await asyncio.open_connection(*self.server.addresses[node]), self.names)
        self.clients.append(client)
        return client


@asynccontextmanager
async def serving(embedded: Embedded, limits: Limits | None = None, security: Security = OPEN) -> AsyncIterator[Served]:
    server = Server(embedded, limits=limits, security=security)
    await server.start()
    served = Served(server)
    try:
        yield served
        server.check()
    finally:
        for client in served.clients:
            client.writer.close()
        await server.close()


def run(play: Callable[[Served], Awaitable[None]], limits: Limits | None = None, **more: Any) -> None:
    async def main() -> None:
        with Embedded(topics=TOPICS, **{"durability": Durability.MEMORY, **more}) as embedded:
            async with asyncio.timeout(PATIENCE_S), serving(embedded, limits) as served:
                await play(served)

    asyncio.run(main())


@pytest.mark.parametrize("turns", range(4))
def test_a_client_that_comes_while_the_server_closes_is_let_go(turns: int) -> None:
    errors: list[str] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, told: errors.append(told["message"]))
        with Embedded(topics=TOPICS, durability=Durability.MEMORY) as embedded:
            server = Server(embedded)
            at = (await server.start())[1]
            with socket.create_connection((at.host, at.port)) as client:
                for _ in range(turns):
                    await asyncio.sleep(0)
                await server.close()
                client.settimeout(PATIENCE_S)
                with suppress(ConnectionResetError):
                    assert await loop.run_in_executor(None, client.recv, 1) == b""

    asyncio.run(main())
    gc.collect()
    assert not errors


def test_requests_of_a_connection_are_answered_in_their_order() -> None:
    async def play(served: Served) -> None:
        client = await served.connect()
        wants = [Fetch(11, Isolation.READ_COMMITTED, {T: 0}, max_wait_ms=50), INIT, FindCoordinator(3, "x", 1)]
        for each in wants:
            client.send(each)
        assert [(await client.frame())[:4] for _ in wants] == [struct.pack(">i", number) for number in (1, 2, 3)]

    run(play)


def test_a_transaction_goes_through_sockets_and_lies_on_disk(tmp_path: Path) -> None:
    async def play(served: Served) -> None:
        client = await served.connect()
        got = await client.ask(INIT)
        assert isinstance(got, InitProducerIdAnswer)
        sent = Batch(got.producer_id, got.producer_epoch, 0, True, (Record(None, b"v"),), timestamp_ms=5)
        produced = await client.ask(Produce(12, "x", -1, {T: (SentBatch(sent),)}))
        assert isinstance(produced, ProduceAnswer)
        assert produced.partitions[T].error == 0
        ended = await client.ask(EndTxn(5, "x", got.producer_id, got.producer_epoch, committed=True))
        assert isinstance(ended, EndTxnAnswer)
        assert ended.producer_epoch == got.producer_epoch + 1

    run(play, path=tmp_path, durability=Durability.FSYNC)
    with Embedded(tmp_path) as again:
        answer = again.ask(Fetch(11, Isolation.READ_COMMITTED, {T: 0}))
        assert isinstance(answer, FetchAnswer)
        assert [record.value for each in answer.partitions[T].batches for record in each.records] == [b"v"]


def test_who_waits_for_records_is_answered_when_another_has_written_some() -> None:
    async def play(served: Served) -> None:
        reader, writer = await served.connect(), await served.connect()
        reader.send(request := Fetch(11, Isolation.READ_COMMITTED, {T: 0}, max_wait_ms=15_000))
        await writer.ask(Produce(9, None, -1, {T: (batch(),)}))
        answer = answer_in(await reader.frame(), request, served.names)
        assert isinstance(answer, FetchAnswer)
        assert len(answer.partitions[T].batches) == 1

    run(play)


@pytest.mark.parametrize(
    "bad", [b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x00\x00\x00\x02ab", b"GET / HTTP/1.1\r\n\r\n"]
)
def test_bytes_that_are_no_request_end_their_connection_only(bad: bytes) -> None:
    async def play(served: Served) -> None:
        good, other = await served.connect(), await served.connect()
        other.writer.write(bad)
        assert await other.is_ended()
        assert isinstance(await good.ask(INIT), InitProducerIdAnswer)

    run(play)


def test_what_was_asked_before_bad_bytes_is_answered() -> None:
    async def play(served: Served) -> None:
        client = await served.connect()
        client.send(INIT)
        await client.frame()
        client.writer.write(b"\xff\xff\xff\xff")
        assert await client.is_ended()

    run(play)


def test_an_unanswered_produce_is_written_and_a_refused_one_ends_the_connection() -> None:
    async def play(served: Served) -> None:
        client, reader = await served.connect(), await served.connect()
        client.send(Produce(9, None, 0, {T: (batch(b"1"),)}))
        assert isinstance(await client.ask(INIT), InitProducerIdAnswer), "the next is answered first"
        got = await reader.ask(Fetch(11, Isolation.READ_COMMITTED, {T: 0}))
        assert len(got.partitions[T].batches) == 1
        client.send(Produce(9, None, 0, {("nowhere", 0): (batch(b"2"),)}))
        assert await client.is_ended()

    run(play)


def test_many_requests_at_once_are_taken_as_their_turn_comes() -> None:
    async def play(served: Served) -> None:
        client = await served.connect()
        count = WAITING_REQUESTS * 20
        for _ in range(count):
            client.send(INIT)
        epochs = [answer_in(await client.frame(), INIT, served.names) for _ in range(count)]
        assert [each.producer_epoch for each in epochs if isinstance(each, InitProducerIdAnswer)] == list(range(count))

    run(play)


def test_a_client_that_does_not_read_costs_no_more_than_a_few_answers() -> None:
    async def play(served: Served) -> None:
        slow, writer = await served.connect(), await served.connect()
        for _ in range(8):
            await writer.ask(Produce(9, None, -1, {T: (batch(bytes(500_000)),)}))
        before = served.server.requests
        for _ in range(100):
            slow.send(Fetch(11, Isolation.READ_COMMITTED, {T: 0}))
        await asyncio.sleep(0.5)
        assert served.server.requests - before < 30, "4 MB each: the rest waits until the client reads"
        assert isinstance(await writer.ask(INIT), InitProducerIdAnswer)
        for _ in range(100):
            await slow.frame()

    run(play)


def test_there_are_so_many_connections_and_no_more() -> None:
    async def play(served: Served) -> None:
        first, second = await served.connect(), await served.connect()
        await first.ask(INIT)
        await second.ask(INIT)
        third = await served.connect()
        third.send(INIT)
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await third.frame()
        first.writer.close()
        await first.writer.wait_closed()
        await asyncio.sleep(0.05)
        assert isinstance(await (await served.connect()).ask(INIT), InitProducerIdAnswer)

    run(play, Limits(connections=2))


class NoTransport(asyncio.Transport):
    """A transport that must not be written to."""

    def __init__(self) -> None:
        super().__init__()
        self.is_aborted = False

    def abort(self) -> None:
        self.is_aborted = True

    def is_closing(self) -> bool:
        return False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def write(self, data: object) -> None:
        raise AssertionError("the loop is closed")


def test_who_comes_while_the_server_closes_is_sent_away() -> None:
    async def play(served: Served) -> None:
        transport, server = NoTransport(), served.server
        late = Peer(server, Front(server.brokers.cluster, 1, Around(server.brokers.cluster.metadata, {}, "", dict)))
        await server.close()
        late.connection_made(transport)
        assert transport.is_aborted
        assert not server.connections

    run(play)


def test_what_is_answered_after_the_server_has_closed_goes_nowhere() -> None:
    """The cluster answers waiting clients when it closes, and the loop is closed by then."""
    with Embedded(topics=TOPICS, durability=Durability.MEMORY) as embedded:

        async def main() -> Peer:
            async with serving(embedded) as served:
                client = await served.connect()
                await client.ask(INIT)
                client.send(Fetch(11, Isolation.READ_COMMITTED, {T: 0}, max_wait_ms=60_000))
                await asyncio.sleep(0.1)
                (peer,) = served.server.connections
                await served.server.close()
                peer._transport = NoTransport()
                return peer

        assert asyncio.run(main()).waits


def test_a_process_that_may_open_few_files_has_fewer_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    for files, wanted, most in (
        (None, 10_000, 10_000),
        (1024, 10_000, 512),
        (1 << 20, 10_000, 10_000),
        (256, 100, 100),
    ):
        monkeypatch.setattr(system, "open_files", lambda files=files: files)
        assert most_connections(wanted) == most


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_a_connection_for_which_no_file_can_be_opened_is_refused(
    number: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (listener,) = listening("127.0.0.1", 0)
    accept, refusals = socket.socket.accept, [OSError(number, os.strerror(number))]

    def scarce(self: socket.socket) -> Any:
        if refusals:
            raise refusals.pop()
        return accept(self)

    monkeypatch.setattr(socket.socket, "accept", scarce)
    with closing(listener), closing(socket.create_connection(listener.getsockname(), PATIENCE_S)) as client:
        with pytest.raises(BlockingIOError):
            listener.accept()
        assert client.recv(1) == b"", "its connection ends"
        assert "1 connections were refused (see ulimit -n)" in caplog.text
        again = socket.create_connection(listener.getsockname(), PATIENCE_S)
        listener.accept()[0].close()
        again.close()


def test_an_address_that_this_machine_does_not_have_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    here, elsewhere = (socket.AF_INET, ("127.0.0.1", 0)), (socket.AF_INET, ("192.0.2.1", 0))
    monkeypatch.setattr("zombieproof.wire.listening._addresses", lambda host, port: [elsewhere, here])
    (listener,) = listening("both", 0)
    with closing(listener):
        assert listener.getsockname()[0] == "127.0.0.1"
    monkeypatch.setattr("zombieproof.wire.listening._addresses", lambda host, port: [elsewhere])
    with pytest.raises(CannotListen, match="assign requested address"):
        listening("elsewhere", 0)


def test_a_port_that_is_taken_is_said_so() -> None:
    (listener,) = listening("127.0.0.1", 0)
    with closing(listener), pytest.raises(CannotListen, match="in use"):
        listening("127.0.0.1", listener.getsockname()[1])


def test_who_asks_for_nothing_for_long_is_let_go() -> None:
    async def play(served: Served) -> None:
        idle, busy = await served.connect(), await served.connect()
        busy.send(Fetch(11, Isolation.READ_COMMITTED, {T: 0}, max_wait_ms=1500))
        assert await idle.is_ended()
        await busy.frame()

    run(play, Limits(idle_ms=300))


def test_three_brokers_listen_each_at_a_port_of_its_own() -> None:
    async def play(served: Served) -> None:
        assert sorted(served.server.addresses) == [1, 2, 3]
        assert len({address.port for address in served.server.addresses.values()}) == 3
        found = set()
        for key in map(str, range(20)):
            found.add((await (await served.connect(2)).ask(FindCoordinator(4, key, 1))).node)
        assert found == {1, 2, 3}

    run(play, nodes=3)


def test_a_client_that_hangs_up_while_it_waits_leaves_nothing_behind() -> None:
    async def play(served: Served) -> None:
        client, other = await served.connect(), await served.connect()
        client.send(Fetch(11, Isolation.READ_COMMITTED, {T: 0}, max_wait_ms=100))
        await asyncio.sleep(0.03)
        client.writer.transport.abort()
        await asyncio.sleep(0.2)
        assert isinstance(await other.ask(INIT), InitProducerIdAnswer)
        embedded = served.server.brokers
        assert isinstance(embedded, Embedded)
        assert not embedded.cluster.network.exchanges

    run(play)
