"""What 1,000 to 10,000 partitions cost: `python benchmarks/many_partitions.py [COUNT ...]`.

For each count, `zombieproof serve` starts with one topic of so many partitions. confluent-kafka writes a record to
each, writes one transaction over all of them, and reads everything in one consumer. Prints the seconds of each, and the
CPU time of the broker for each partition, which should not grow with their number.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path
from uuid import uuid4

from confluent_kafka import Consumer, Producer, TopicPartition

TOPIC = "many"
PATIENCE_S = 300.0


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("counts", nargs="*", type=int, default=[1000, 2000, 5000, 10_000])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--profile", help="write a profile of the broker there (cProfile)")
    given = parser.parse_args()
    print("partitions  a record each  transaction over all  one consumer   (s, and broker CPU in us a partition)")
    for count in given.counts:
        command = [str(Path(sys.executable).with_name("zombieproof"))]
        if given.profile:
            command = [sys.executable, "-m", "cProfile", "-o", given.profile, *command]
        command += ["serve", "--port", str(given.port), "--topic", f"{TOPIC}={count}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as broker:
            try:
                assert broker.stdout is not None
                bootstrap = broker.stdout.readline().removeprefix("listening on ").strip()
                cells = []
                for step in (write_each, write_all, read_all):
                    began, cpu_began = time.monotonic(), cpu_s(broker.pid)
                    step(bootstrap, count)
                    cpu_us = (cpu_s(broker.pid) - cpu_began) / count * 1e6
                    cells.append(f"{time.monotonic() - began:7.1f} {cpu_us:7.0f}")
                print(f"{count:10,}" + "".join(cells), flush=True)
            finally:
                broker.terminate()


def write_each(bootstrap: str, count: int) -> None:
    """A record to each partition, from an idempotent producer."""
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5})
    _produce(producer, count)
    assert producer.flush(PATIENCE_S) == 0


def write_all(bootstrap: str, count: int) -> None:
    """One transaction with a record to each partition."""
    producer = Producer(
        {"bootstrap.servers": bootstrap, "transactional.id": uuid4().hex, "transaction.timeout.ms": 300_000}
    )
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    _produce(producer, count)
    producer.commit_transaction(PATIENCE_S)


def _produce(producer: Producer, count: int) -> None:
    for number in range(count):
        producer.produce(TOPIC, b"value", partition=number)
        producer.poll(0)


def read_all(bootstrap: str, count: int) -> None:
    """All records in one consumer that is assigned all partitions."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": uuid4().hex, "auto.offset.reset": "earliest"})
    consumer.assign([TopicPartition(TOPIC, number, 0) for number in range(count)])
    left, until = 2 * count, time.monotonic() + PATIENCE_S
    while left and time.monotonic() < until:
        left -= sum(message.error() is None for message in consumer.consume(10_000, 1.0))
    consumer.close()
    assert left == 0, f"{left} of {2 * count} records did not come"


def cpu_s(pid: int) -> float:
    """The CPU time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


if __name__ == "__main__":
    main()
