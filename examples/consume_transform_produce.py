"""Consume, transform, produce: exactly once, through a process that dies and one that comes back as a zombie.

    python examples/consume_transform_produce.py

Orders are read, priced and written, in transactions that hold the invoices and where to go on reading. A worker is
killed in the middle; the next one goes on. A third one is frozen, replaced, and goes on: its transaction is refused.
"""

from collections import Counter

from zombieproof import (
    AbortableError,
    Cluster,
    ClusterTransport,
    Consumer,
    ConsumerRecord,
    FatalError,
    Producer,
)

ORDERS, INVOICES = "orders", "invoices"
CONSUMER = {
    "group.id": "pricing",
    "auto.offset.reset": "earliest",
    "isolation.level": "read_committed",
    "enable.auto.commit": False,
    "max.poll.records": 10,
    "session.timeout.ms": 30_000,
}


class Killed(Exception):
    """The process is gone: nothing that it had begun goes on."""


class Worker:
    """One process: its own way to the brokers, a consumer, a producer. Nothing of it goes on that nobody waits for."""

    def __init__(self, cluster: Cluster, transactional_id: str) -> None:
        self.transport = ClusterTransport(cluster)
        self.consumer = Consumer(self.transport, CONSUMER)
        self.producer = Producer(self.transport, {"transactional.id": transactional_id})
        self.producer.init_transactions()
        self.consumer.subscribe(ORDERS)

    def run(self, *, dies_in_batch: int | None = None) -> int:
        """Work until there is nothing to do; how many batches that were."""
        batches = 0
        while records := self.consumer.poll(60_000):
            self.begin(records)
            if batches == dies_in_batch:
                self.producer.flush()
                raise Killed
            self.end()
            batches += 1
        return batches

    def begin(self, records: list[ConsumerRecord]) -> None:
        """What comes of the records is written, and with it where to go on reading."""
        self.producer.begin_transaction()
        for record in records:
            assert isinstance(record.value, bytes)
            self.producer.send(INVOICES, b"invoice for " + record.value, record.value)
        self.producer.send_offsets_to_transaction(self.consumer.positions(), self.consumer.group_metadata())

    def end(self) -> None:
        """All of it is committed; where it cannot be, all is aborted, and read again."""
        try:
            self.producer.commit_transaction()
        except AbortableError:
            self.producer.abort_transaction()
            for partition, committed in self.consumer.committed(self.consumer.assignment()).items():
                self.consumer.seek(partition, committed or 0)


def fill(cluster: Cluster, orders: range) -> None:
    """Orders come in."""
    with Producer(ClusterTransport(cluster)) as shop:
        for number in orders:
            shop.send(ORDERS, b"order %d" % number, b"%d" % number)


def invoices(cluster: Cluster) -> Counter[bytes]:
    """How many invoices each order has, for whoever reads what is committed."""
    reader = Consumer(ClusterTransport(cluster), {"isolation.level": "read_committed"})
    partitions = [(INVOICES, 0), (INVOICES, 1)]
    reader.assign(partitions)
    reader.seek_to_beginning()
    ends, found = reader.end_offsets(partitions), Counter[bytes]()
    while any(reader.position(partition) < end for partition, end in ends.items()):
        found.update(record.key for record in reader.poll(1_000) if isinstance(record.key, bytes))
    reader.close()
    return found


def tell(cluster: Cluster, orders: int, when: str) -> None:
    """Count, and say it."""
    found = invoices(cluster)
    doubled = sum(count - 1 for count in found.values())
    print(f"{when}: {orders} orders, {len(found)} have invoices, {doubled} doubled")


def main() -> None:
    """Let it happen."""
    cluster = Cluster(nodes=3, topics={ORDERS: 2, INVOICES: 2})
    fill(cluster, range(100))
    first = Worker(cluster, "pricing-1")
    try:
        first.run(dies_in_batch=3)
    except Killed:
        print("the first worker is killed with a transaction open")
    tell(cluster, 100, "what it has done")

    second = Worker(cluster, "pricing-1")
    print(f"the second one works {second.run()} batches")
    tell(cluster, 100, "then")

    fill(cluster, range(100, 120))
    zombie = second
    zombie.begin(zombie.consumer.poll(60_000))
    zombie.producer.flush()
    print("the second one is frozen with a transaction open")
    third = Worker(cluster, "pricing-1")
    print(f"the third one works {third.run()} batches")
    try:
        zombie.end()
    except FatalError as fatal:
        print(f"the second one goes on, and is told {fatal}")
    tell(cluster, 120, "in the end")


if __name__ == "__main__":
    main()
