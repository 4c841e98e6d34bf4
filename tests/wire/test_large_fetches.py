"""Large responses to fetches are sent in pieces: no turn of the loop sends or collects more than it may."""

import struct
from collections.abc import Iterator
from functools import partial
from socket import create_connection, socket
from threading import Thread
from time import monotonic, sleep

import pytest

pytest.importorskip("kio", reason="kio (extra `wire`) is missing")

from tests.wire.raw import request_bytes
from zombieproof.broker.partition.fetch_budget import LEAST, NOTHING, FetchBudget, Load
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.encoding import read_batches, size_of, write_batch
from zombieproof.messages.partitions import Produce, ProduceAnswer, SentBatch
from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.peer import TURN_LOAD
from zombieproof.wire.responses import Records, Response
from zombieproof.wire.running import Running
from zombieproof.wire.sending import PIECE_BATCHES, PIECE_BYTES, TURN_PIECES, Sender, Stream

T = ("t", 0)
VALUE = bytes(range(256)) * 2000
COUNT = 24
HEADER_OF_RECORDS = 4 + 4 + 4 + 3 + 4 + 4 + 2 + 8 + 8 + 4
"""The bytes of a Fetch 4 of one partition up to the length of its records, behind the size of the response."""


@pytest.fixture
def running() -> Iterator[Running]:
    with Running() as made:
        made.topics(t=1)
        for number in range(COUNT):
            made.do(partial(_produce, made, number))
        yield made


def _produce(running: Running, number: int) -> None:
    batch = Batch(records=(Record(b"%d" % number, VALUE),), timestamp_ms=5)
    answer = running.cluster.ask(Produce(9, None, -1, {T: (SentBatch(batch),)}), 1)
    assert isinstance(answer, ProduceAnswer)
    assert answer.partitions[T].error == 0


def fetching(offset: int = 0, most: int = 50 << 20) -> bytes:
    partition = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": most}
    values = {"replica_id": -1, "max_wait": 0, "min_bytes": 1, "max_bytes": most, "isolation_level": 0}
    body = request_bytes(ApiKey.FETCH, 4, {**values, "topics": [{"topic": "t", "partitions": [partition]}]})
    return struct.pack(">i", len(body)) + body


def connected(running: Running) -> socket:
    [address] = running.server.addresses.values()
    return create_connection(address, timeout=30)


def received(connection: socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = connection.recv(min(size - len(data), 1 << 20))
        assert part, "the connection ended within a response"
        data += part
    return bytes(data)


def response(connection: socket) -> list[Batch]:
    data = received(connection, struct.unpack(">i", received(connection, 4))[0])
    (size,) = struct.unpack_from(">i", data, HEADER_OF_RECORDS)
    records = data[HEADER_OF_RECORDS + 4 :]
    assert len(records) == size
    return list(read_batches(records))


def test_twenty_large_responses_are_sent_in_pieces_and_whole(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    turns: list[list[int]] = []
    turn, take = Sender._turn, Stream.take

    def turned(sender: Sender) -> None:
        turns.append([])
        turn(sender)

    def taken(stream: Stream, most: int) -> bytes:
        data = take(stream, most)
        turns[-1].append(len(data))
        return data

    monkeypatch.setattr(Sender, "_turn", turned)
    monkeypatch.setattr(Stream, "take", taken)
    found: list[list[Batch]] = []

    def read_all() -> None:
        batches: list[Batch] = []
        with connected(running) as connection:
            while len(batches) < COUNT:
                connection.sendall(fetching(len(batches)))
                batches += response(connection)
        found.append(batches)

    threads = [Thread(target=read_all) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [[each.records[0].key for each in batches] for batches in found] == [[b"%d" % n for n in range(COUNT)]] * 20
    assert max(max(turn_, default=0) for turn_ in turns) <= PIECE_BYTES
    assert max(map(len, turns)) <= TURN_PIECES
    assert sum(map(sum, turns)) >= 20 * COUNT * len(VALUE), "all of it went this way"
    assert running.do(lambda: running.cluster.fetch_budget.held) == NOTHING


def test_a_client_that_does_not_read_holds_no_more_than_the_budget_and_gives_it_back(running: Running) -> None:
    budget = running.cluster.fetch_budget
    connections = [connected(running) for _ in range(12)]
    for each in connections:
        each.sendall(fetching() * 4)
    until = monotonic() + 10
    while monotonic() < until and running.do(lambda: budget.held.batches) < 2:
        sleep(0.02)
    held = running.do(lambda: budget.held)
    assert 0 < held.size <= budget.in_flight.size + len(connections) * (LEAST.size + len(VALUE) + 100)
    with connected(running) as other:
        other.sendall(fetching(COUNT - 1))
        assert len(response(other)) == 1, "others are answered meanwhile"
    for each in connections:
        each.close()
    until = monotonic() + 10
    while monotonic() < until and running.do(lambda: budget.held) != NOTHING:
        sleep(0.02)
    assert running.do(lambda: budget.held) == NOTHING


def test_a_response_that_is_being_sent_ends_before_the_next_request_is_answered(running: Running) -> None:
    with connected(running) as connection:
        connection.sendall(fetching() + fetching(COUNT - 2))
        first = response(connection)
        assert len(first) > 2
        assert [each.base_offset for each in response(connection)] == [COUNT - 2, COUNT - 1]


def test_a_fetch_gets_what_is_left_of_the_budget_and_at_least_one_batch() -> None:
    budget = FetchBudget(Load(1 << 24, 2000), Load(1 << 26, 3000))
    assert budget.left == (1 << 24, 2000)
    budget.collect(Load(1 << 23, 100))
    budget.hold(Load((1 << 26) - (1 << 22), 2950))
    assert budget.left == (1 << 22, LEAST.batches)
    budget.begin_turn()
    budget.release(Load((1 << 26) - (1 << 22), 2950))
    assert budget.left == (1 << 24, 2000)
    assert FetchBudget().left.size > 1 << 60, "in process there is no limit"


def test_a_turn_collects_no_more_than_its_budget(running: Running) -> None:
    size = size_of(Batch(records=(Record(b"10", VALUE),), timestamp_ms=5, base_offset=0))
    with connected(running) as connection:
        connection.sendall(fetching())
        assert sum(len(write_batch(each)) for each in response(connection)) <= TURN_LOAD.size
    assert COUNT * size < TURN_LOAD.size, "one fetch alone gets all"


def test_a_piece_has_few_batches() -> None:
    batches = [Batch(records=(Record(None, b"v"),), timestamp_ms=5, base_offset=n) for n in range(500)]
    stream = Stream(Response(b"beginend", ((5, Records(batches)),)))
    pieces = list(iter(lambda: stream.take(PIECE_BYTES), b""))
    assert b"".join(pieces) == b"begin" + b"".join(map(write_batch, batches)) + b"end"
    assert max(len(list(read_batches(piece))) for piece in pieces[1:-1]) <= PIECE_BATCHES
