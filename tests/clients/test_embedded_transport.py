"""Producers at a cluster that runs: in memory and on disk, from one thread and from several, on after a restart."""

import asyncio
from pathlib import Path
from threading import Thread

import pytest

from zombieproof.broker.authorization.principals import Principal
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.store.config import Durability
from zombieproof.clients.aio import AsyncProducer
from zombieproof.clients.embedded_transport import EmbeddedTransport
from zombieproof.clients.errors import ApplicationRecoverable, ProducerFailure
from zombieproof.clients.producer import Producer
from zombieproof.clients.read_committed import FetchFilter
from zombieproof.clients.transport import Done
from zombieproof.messages.partitions import FetchAnswer, Produce
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import Isolation

T0 = ("t", 0)
FEW = Settings(transaction_state_log_num_partitions=2, offsets_topic_num_partitions=2)


def read(transport: EmbeddedTransport, expected: int) -> list[bytes]:
    """What a consumer reads, who waits for so many records; more may be there."""
    values, reader = list[bytes](), FetchFilter(T0, Isolation.READ_COMMITTED, Rules(), Journal())
    fetched: list[object] = []

    def look() -> None:
        for answer in fetched:
            assert isinstance(answer, FetchAnswer)
            values.extend(each.record.value for each in reader.read(answer.partitions[T0]))  # type: ignore[misc]
        fetched.clear()
        transport.send(transport.metadata().leaders[T0], reader.request(), fetched.append)

    look()
    for _ in range(100):
        transport.wait_until(lambda: bool(fetched), 1_000)
        look()
        transport.wait_until(lambda: len(values) >= expected, 10)
        if len(values) >= expected:
            break
    return values


def test_what_was_committed_is_there_after_a_restart_and_what_was_open_is_not(tmp_path: Path) -> None:
    with Embedded(tmp_path / "data", topics={"t": 1}, settings=FEW) as embedded:
        producer = Producer(EmbeddedTransport(embedded), transactional_id="shop")
        producer.init_transactions()
        with producer.transaction():
            producer.send("t", b"kept")
        producer.begin_transaction()
        producer.send("t", b"open").result()
    with Embedded(tmp_path / "data", settings=FEW) as embedded:
        successor = Producer(EmbeddedTransport(embedded), transactional_id="shop")
        successor.init_transactions()
        with successor.transaction():
            successor.send("t", b"after")
        successor.close()
        assert read(EmbeddedTransport(embedded), 2) == [b"kept", b"after"]


@pytest.mark.parametrize("has_own_thread", [False, True])
def test_producers_of_several_threads_share_a_cluster(has_own_thread: bool) -> None:
    failures: list[BaseException] = []
    with Embedded(nodes=2, topics={"t": 1}, settings=FEW, durability=Durability.MEMORY) as embedded:
        if has_own_thread:
            embedded.start()
        transport = EmbeddedTransport(embedded)

        def work(name: str) -> None:
            try:
                with Producer(transport, transactional_id=name, linger_ms=1) as producer:
                    producer.init_transactions()
                    for number in range(10):
                        with producer.transaction():
                            producer.send("t", b"%s%d" % (name.encode(), number)).result()
            except BaseException as failure:  # noqa: BLE001  # told by the test
                failures.append(failure)

        threads = [Thread(target=work, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert failures == []
        assert not any(thread.is_alive() for thread in threads)
        values = read(transport, 40)
    assert sorted(values) == sorted(b"%s%d" % (name.encode(), number) for name in "abcd" for number in range(10))
    for name in "abcd":
        mine = [value for value in values if value.startswith(name.encode())]
        assert mine == [b"%s%d" % (name.encode(), number) for number in range(10)]


def test_a_producer_of_one_thread_is_used_by_several() -> None:
    with Embedded(topics={"t": 1}, settings=FEW, durability=Durability.MEMORY) as embedded:
        producer = Producer(EmbeddedTransport(embedded), batch_size=0, linger_ms=0)
        offsets: list[int] = []

        def work() -> None:
            offsets.extend(producer.send("t", b"v").result().offset for _ in range(25))

        threads = [Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert sorted(offsets) == list(range(100))


def test_the_asynchronous_producer_lets_others_run_while_it_waits() -> None:
    async def work() -> tuple[list[int], int]:
        with Embedded(topics={"t": 1}, settings=FEW, durability=Durability.MEMORY) as embedded:
            producer, others = AsyncProducer(EmbeddedTransport(embedded), linger_ms=20), 0

            async def other() -> None:
                nonlocal others
                while True:
                    others += 1
                    await asyncio.sleep(0.001)

            running = asyncio.create_task(other())
            offsets = [(await (await producer.send("t", b"v"))).offset for _ in range(3)]
            running.cancel()
            return offsets, others

    offsets, others = asyncio.run(work())
    assert offsets == [0, 1, 2]
    assert others > 3


def test_under_a_clock_that_is_moved_an_hour_is_soon_over() -> None:
    with Embedded(topics={"t": 1}, settings=FEW, durability=Durability.MEMORY, clock=ManualClock()) as embedded:
        transport = EmbeddedTransport(embedded)
        zombie = Producer(transport, transactional_id="shop")
        zombie.init_transactions()
        zombie.begin_transaction()
        zombie.send("t", b"slow").result()
        transport.wait_until(lambda: False, 3_600_000)
        with pytest.raises(ApplicationRecoverable):
            zombie.commit_transaction()
        assert read(transport, 0) == []


def test_a_record_that_nobody_acknowledges_is_stored() -> None:
    with Embedded(topics={"t": 1}, settings=FEW, durability=Durability.MEMORY) as embedded:
        transport = EmbeddedTransport(embedded)
        with Producer(transport, acks=0) as producer:
            producer.send("t", b"v").result()
        assert read(transport, 1) == [b"v"]


def test_a_cluster_that_is_closed_under_its_clients_is_a_lost_connection() -> None:
    embedded = Embedded(topics={"t": 1}, settings=FEW, durability=Durability.MEMORY)
    producer = Producer(EmbeddedTransport(embedded), linger_ms=0, delivery_timeout_ms=30_000)
    producer.send("t", b"stored").result()
    waiting = producer.send("t", b"v")
    embedded.close()
    late = producer.send("t", b"v")
    producer.close()
    for future in (waiting, late):
        assert future.done()
    with pytest.raises(ProducerFailure, match="closed by force"):
        late.result()


class Watched(Embedded):
    """A cluster that counts the Produce requests that it was handed, and those that it had at the same time."""

    def __init__(self) -> None:
        self.handed_in = self.under_way = self.most = 0
        super().__init__(topics={"t": 1}, settings=FEW, durability=Durability.MEMORY)

    def submit(
        self,
        request: Request,
        node: int | None,
        done: Done,
        client_id: str = "",
        principal: Principal | None = None,
    ) -> None:
        if not isinstance(request, Produce):
            super().submit(request, node, done, client_id, principal)
            return
        self.handed_in, self.under_way = self.handed_in + 1, self.under_way + 1
        self.most = max(self.most, self.under_way)

        def answered(answer: Answer | None) -> None:
            self.under_way -= 1
            done(answer)

        super().submit(request, node, answered, client_id, principal)


def test_a_produce_waits_for_the_one_before_and_none_is_sent_twice() -> None:
    with Watched() as embedded:
        producer = Producer(EmbeddedTransport(embedded), transactional_id="shop")
        producer.init_transactions()
        for _ in range(3):
            with producer.transaction():
                sent = [producer.send("t", b"v" * 1000, partition=0) for _ in range(200)]
            assert [each.result().offset - sent[0].result().offset for each in sent] == list(range(200))
        assert embedded.most == 1, "a broker takes one from a connection at a time"
        assert embedded.handed_in == 3 * 13, "16 records of a thousand bytes fill 16 KiB, and each batch leaves once"


def test_a_transport_that_hands_in_everything_at_once_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def at_once(transport: EmbeddedTransport, line: tuple[int | None, str], body: Produce, done: Done) -> None:
        transport.embedded.submit(body, line[0], done)

    monkeypatch.setattr(EmbeddedTransport, "_produce", at_once)
    with pytest.raises(AssertionError, match="one from a connection at a time"):
        test_a_produce_waits_for_the_one_before_and_none_is_sent_twice()
