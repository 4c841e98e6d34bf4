"""A shop whose brokers live in this process, over logs on disk: kill it whenever you like, and run it again.

    python examples/shop_on_disk.py DATA [--orders 200] [--durability fsync|page-cache|memory] [--trace FILE]

Each order is one transaction over two topics: what was sold, and what that takes from the stock. After every run the
two agree, and the numbers go on where the run before has ended, however it has ended. DATA is read by Kafka's own
``kafka-dump-log``, and judged by ``zombieproof replay DATA``; FILE is judged by ``zombieproof replay FILE``.
"""

import argparse
from contextlib import nullcontext
from pathlib import Path

from zombieproof import (
    Consumer,
    DataDirectoryError,
    Durability,
    Embedded,
    EmbeddedTransport,
    LiveTraceFile,
    Producer,
)

SOLD, STOCK = "sold", "stock"
EACH = "".join(f"\n{each.value}: {each.loses}." for each in Durability)


def take_orders(transport: EmbeddedTransport, orders: range) -> None:
    """One transaction for each order; it is in both topics, or in none."""
    producer = Producer(transport, {"transactional.id": "till"})
    producer.init_transactions()
    for number in orders:
        with producer.transaction():
            producer.send(SOLD, b"1", b"%d" % number)
            producer.send(STOCK, b"-1", b"%d" % number)
    producer.close()


def count(transport: EmbeddedTransport, topic: str) -> int:
    """How many different orders a topic has, for whoever reads what is committed.

    Raises:
        SystemExit: an order is there twice.
    """
    reader = Consumer(transport, {"isolation.level": "read_committed"})
    partitions = [(topic, number) for number in range(2)]
    reader.assign(partitions)
    reader.seek_to_beginning()
    ends, seen = reader.end_offsets(partitions), list[object]()
    while any(reader.position(partition) < end for partition, end in ends.items()):
        seen += [record.key for record in reader.poll(1_000)]
    reader.close()
    if len(set(seen)) != len(seen):
        raise SystemExit(f"{topic}: {len(seen) - len(set(seen))} orders are there twice")
    return len(seen)


def main() -> None:
    """Go on with the shop in a directory."""
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0],
        epilog=f"What is lost by each durability:{EACH}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("data", type=Path, help="the data directory; it is made where it is not there")
    parser.add_argument("--orders", type=int, default=200, help="how many orders are taken now (default 200)")
    parser.add_argument(
        "--durability",
        choices=[each.value for each in Durability],
        default=Durability.FSYNC.value,
        help="when an append counts as durable (default fsync)",
    )
    parser.add_argument("--trace", type=Path, metavar="FILE", help="write down everything that the brokers do")
    asked = parser.parse_args()
    durability = Durability(asked.durability)
    try:
        with (
            nullcontext() if asked.trace is None else LiveTraceFile(asked.trace) as trace,
            Embedded(asked.data, topics={SOLD: 2, STOCK: 2}, durability=durability, journal=trace) as cluster,
        ):
            transport = EmbeddedTransport(cluster)
            before = count(transport, SOLD), count(transport, STOCK)
            print(f"found: {before[0]} orders sold, {before[1]} taken from the stock")
            take_orders(transport, range(before[0], before[0] + asked.orders))
            print(f"now: {count(transport, SOLD)} orders sold, {count(transport, STOCK)} taken from the stock")
    except DataDirectoryError as error:
        parser.error(str(error))
    if durability is not Durability.FSYNC:
        print(f"with {durability.value} {durability.loses}")


if __name__ == "__main__":
    main()
