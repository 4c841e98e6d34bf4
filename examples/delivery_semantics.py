"""At most once, at least once, exactly once: the same loop under the same crashes loses, doubles, is exact.

    python examples/delivery_semantics.py

Each loop reads a few records, writes each of them once, and says where to go on. They differ in the order. A fourth
one is the exactly-once loop with ``enable.auto.commit`` left on: offsets then run ahead of the transaction.
"""

from collections import Counter
from collections.abc import Callable, Iterator

from zombieproof import Cluster, ClusterTransport, Consumer, ConsumerRecord, Producer

SOURCE, TARGET = ("source", 0), ("target", 0)
RECORDS = 120
CRASHES = ((0, 1), (2, 3), (3, 2), (5, 1), (6, 3), (8, 2))
"""In which round, and after how many of its steps, the process dies."""

Step = Callable[[], None]


class Process:
    """One life of the program: its own way to the brokers, which nobody uses when it is gone."""

    def __init__(self, cluster: Cluster, transactional_id: str = "", *, commits_by_itself: bool = False) -> None:
        transport = ClusterTransport(cluster)
        self.producer = Producer(transport, {"transactional.id": transactional_id} if transactional_id else {})
        if transactional_id:
            self.producer.init_transactions()
        self.consumer = Consumer(
            transport,
            {
                "group.id": "copiers",
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "max.poll.records": 5,
                "enable.auto.commit": commits_by_itself,
                "auto.commit.interval.ms": 0,
            },
        )
        self.consumer.assign([SOURCE])

    def read(self) -> list[ConsumerRecord]:
        """What one round takes: two polls."""
        return [record for _ in range(2) for record in self.consumer.poll(1_000)]

    def write(self, records: list[ConsumerRecord]) -> None:
        """Each record once."""
        for record in records:
            assert isinstance(record.value, bytes)
            self.producer.send(TARGET[0], record.value, partition=TARGET[1])
        self.producer.flush()

    def commit_both(self) -> None:
        """What was written, and where to go on, in one."""
        self.producer.send_offsets_to_transaction(self.consumer.positions(), self.consumer.group_metadata())
        self.producer.commit_transaction()


def at_most_once(cluster: Cluster) -> Callable[[], Iterator[bool]]:
    """Where to go on is committed before anything is written."""

    def run() -> Iterator[bool]:
        process = Process(cluster)
        while records := process.read():
            yield False
            process.consumer.commit()
            yield False
            process.write(records)
            yield True

    return run


def at_least_once(cluster: Cluster) -> Callable[[], Iterator[bool]]:
    """Where to go on is committed when everything is written."""

    def run() -> Iterator[bool]:
        process = Process(cluster)
        while records := process.read():
            yield False
            process.write(records)
            yield False
            process.consumer.commit()
            yield True

    return run


def exactly_once(cluster: Cluster, *, commits_by_itself: bool = False) -> Callable[[], Iterator[bool]]:
    """Both are committed with one transaction."""

    def run() -> Iterator[bool]:
        process = Process(cluster, "copier", commits_by_itself=commits_by_itself)
        while records := process.read():
            yield False
            process.producer.begin_transaction()
            process.write(records)
            yield False
            process.commit_both()
            yield True

    return run


def with_auto_commit(cluster: Cluster) -> Callable[[], Iterator[bool]]:
    """Exactly once, it was thought."""
    return exactly_once(cluster, commits_by_itself=True)


def live(run: Callable[[], Iterator[bool]]) -> None:
    """One life after the other: each is killed where the plan says so, until there is nothing to do."""
    rounds, crashes = 0, list(CRASHES)
    while True:
        step = 0
        for is_round in run():
            step += 1
            if crashes and (rounds, step) == crashes[0]:
                crashes.pop(0)
                rounds += 1
                break
            if is_round:
                rounds, step = rounds + 1, 0
        else:
            return


def count(cluster: Cluster) -> Counter[bytes]:
    """How often each record was written, for whoever reads what is committed."""
    reader = Consumer(ClusterTransport(cluster), {"isolation.level": "read_committed"})
    reader.assign([TARGET])
    reader.seek_to_beginning()
    end, found = reader.end_offsets([TARGET])[TARGET], Counter[bytes]()
    while reader.position(TARGET) < end:
        found.update(record.value for record in reader.poll(1_000) if isinstance(record.value, bytes))
    return found


def main() -> None:
    """Run all four, and count what came of it."""
    for loop in (at_most_once, at_least_once, exactly_once, with_auto_commit):
        cluster = Cluster(topics={SOURCE[0]: 1, TARGET[0]: 1})
        with Producer(ClusterTransport(cluster)) as source:
            for number in range(RECORDS):
                source.send(SOURCE[0], b"%d" % number, partition=0)
        live(loop(cluster))
        found = count(cluster)
        lost, doubled = RECORDS - len(found), sum(times - 1 for times in found.values())
        print(f"{loop.__name__}: {RECORDS} records, {len(CRASHES)} crashes: {lost} lost, {doubled} doubled")


if __name__ == "__main__":
    main()
