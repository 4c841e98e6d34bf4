"""A pipeline on Spark that writes each row once: committed orders are read, priced, and written, through a crash.

    make pipeline                                                        with a broker in this process
    .venv/bin/python examples/spark_pipeline.py --bootstrap HOST:PORT    with a Kafka of yours: makes two topics there

The input has three partitions with committed and aborted transactions. After a first run Spark's commit log loses its
newest batch, as when the driver dies behind the sink's commit; then the whole checkpoint is lost. Each time, what is in
the output is compared with what has to be there, value by value. Needed: Java 17, and the extra `spark`.
"""

import argparse
import contextlib
import os
import shutil
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import confluent_kafka
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from zombieproof import Plan, TestedBrokers
from zombieproof.pipeline import register

PARTITIONS = 3
A_TRANSACTION = 100
WAIT_S = 60.0


@contextlib.contextmanager
def brokers(bootstrap: str, folder: Path) -> Iterator[str]:
    """Where brokers listen: those that are named, or one in this process, whose promises are judged in the end."""
    if bootstrap:
        yield bootstrap
        return
    own = TestedBrokers(Plan(), folder / "trace.jsonl")
    try:
        yield own.bootstrap
    finally:
        wrong = own.wrong()
        own.close()
        if wrong is not None:
            raise SystemExit(f"the broker broke a promise:\n{wrong}")


def fill(bootstrap: str, topic: str, rows: int) -> Counter[bytes]:
    """Write orders in transactions, each third of which is aborted; what has to come out of them."""
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "transactional.id": f"shop-{topic}"})
    producer.init_transactions(WAIT_S)
    expected: Counter[bytes] = Counter()
    for turn, first in enumerate(range(0, rows, A_TRANSACTION)):
        producer.begin_transaction()
        numbers = range(first, min(first + A_TRANSACTION, rows))
        for number in numbers:
            producer.produce(topic, b"%d" % number, b"order-%d" % number, partition=number % PARTITIONS)
        if turn % 3 == 1:
            producer.flush(WAIT_S)  # the orders are in the log, and nobody is to see them
            producer.abort_transaction(WAIT_S)
        else:
            producer.commit_transaction(WAIT_S)
            expected.update(b"price of %d: %d" % (number, 3 * number) for number in numbers)
    wait_for_markers(bootstrap, topic)
    return expected


def reader(bootstrap: str, isolation: str) -> Any:
    """A consumer that joins no group."""
    return confluent_kafka.Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"check-{uuid.uuid4().hex}",
            "isolation.level": isolation,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )


def wait_for_markers(bootstrap: str, topic: str) -> None:
    """Until everything in a topic is decided: Kafka answers a commit before its markers are there to be read past."""
    decided, written = reader(bootstrap, "read_committed"), reader(bootstrap, "read_uncommitted")
    until = time.monotonic() + WAIT_S
    for number in range(PARTITIONS):
        place = confluent_kafka.TopicPartition(topic, number)
        while decided.get_watermark_offsets(place, WAIT_S)[1] < written.get_watermark_offsets(place, WAIT_S)[1]:
            if time.monotonic() > until:
                raise SystemExit(f"{topic}-{number}: a transaction is open after {WAIT_S:g} s")
            time.sleep(0.05)
    decided.close()
    written.close()


def read_back(bootstrap: str, topic: str) -> Counter[bytes]:
    """What readers of committed records find, how often."""
    wait_for_markers(bootstrap, topic)
    consumer = reader(bootstrap, "read_committed")
    consumer.assign([confluent_kafka.TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
    found: Counter[bytes] = Counter()
    ended: set[int] = set()
    until = time.monotonic() + WAIT_S
    while len(ended) < PARTITIONS:
        if time.monotonic() > until:
            raise SystemExit(f"{topic} could not be read to its end in {WAIT_S:g} s")
        for message in consumer.consume(1000, 0.2):
            if message.error() is None:
                found[message.value() or b""] += 1
            elif message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF:  # noqa: SLF001  # its public name
                ended.add(message.partition())
            else:
                raise SystemExit(f"{topic} cannot be read: {message.error()}")
    consumer.close()
    return found


def session(folder: Path) -> SparkSession:
    """Spark on this machine; settings that a cluster has for itself."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(folder / "spark"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.log.level": "OFF",
    }
    builder = SparkSession.builder.master("local[2]").appName("spark_pipeline")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


class Pipeline:
    """Orders in, prices out."""

    def __init__(self, spark: SparkSession, bootstrap: str, name: str, mode: str) -> None:
        self.spark, self.mode = spark, mode
        self.orders, self.prices = f"{name}-orders", f"{name}-prices"
        self.kafka = {"kafka.bootstrap.servers": bootstrap, "kafka.group.id": f"{name}-pipeline"}

    def start(self, checkpoint: Path, most: int) -> Any:
        """Start the query: it ends when what is committed now is done."""
        orders = (
            self.spark.readStream.format("zombieproof")
            .options(**self.kafka, subscribe=self.orders, startingOffsets="earliest")
            .option("includeSource", "true")  # where a row was read stays with it: by that the sink knows it again
            .option("maxOffsetsPerTrigger", str(most))
            .load()
        )
        prices: DataFrame = orders.selectExpr(
            "concat('price of ', string(value), ': ', 3 * int(string(value))) as value", "key", "source"
        )
        return (
            prices.writeStream.format("zombieproof")
            .options(**self.kafka, topic=self.prices, mode=self.mode)
            .option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True)
            .start()
        )


def forget_newest_commit(checkpoint: Path) -> int:
    """Leave a checkpoint as a driver does that dies between the sink's commit and its own; the number of the batch."""
    newest = max(int(path.name) for path in (checkpoint / "commits").glob("[0-9]*"))
    for path in (checkpoint / "commits" / f"{newest}", checkpoint / "commits" / f".{newest}.crc"):
        path.unlink(missing_ok=True)
    return newest


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bootstrap", default="", metavar="HOST:PORT", help="brokers; a broker of ours by default")
    parser.add_argument("--rows", type=int, default=3000, help="orders (%(default)s)")
    parser.add_argument("--mode", choices=("batch", "partition"), default="batch", help="who commits (%(default)s)")
    told = parser.parse_args()
    if told.rows < 1:
        parser.error(f"--rows is {told.rows}; legal is a number from 1 on")
    folder = Path(tempfile.mkdtemp(prefix="spark-pipeline-"))
    try:
        with brokers(told.bootstrap, folder) as bootstrap:
            exact = run(bootstrap, folder, told.rows, told.mode)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if not exact:
        raise SystemExit("not exact")


def run(bootstrap: str, folder: Path, rows: int, mode: str) -> bool:
    """Fill, run three times, compare."""
    name = f"example-{uuid.uuid4().hex[:8]}"
    spark = session(folder)
    register(spark)
    pipeline = Pipeline(spark, bootstrap, name, mode)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for made in admin.create_topics(
        [NewTopic(topic, PARTITIONS, 1) for topic in (pipeline.orders, pipeline.prices)]
    ).values():
        made.result(WAIT_S)
    expected = fill(bootstrap, pipeline.orders, rows)
    print(f"input: {rows} orders in {PARTITIONS} partitions, {sum(expected.values())} of them committed")

    def look(when: str) -> bool:
        found = read_back(bootstrap, pipeline.prices)
        doubled, lost = sum((found - expected).values()), sum((expected - found).values())
        print(f"{when}: {sum(found.values())} prices, {doubled} too many, {lost} missing")
        return not doubled and not lost

    checkpoint = folder / "checkpoint"
    pipeline.start(checkpoint, most=max(1, rows // 2)).awaitTermination()
    exact = look("a first run")
    print(
        f"Spark's commit log loses batch {forget_newest_commit(checkpoint)}, as when the driver dies behind the commit"
    )
    pipeline.start(checkpoint, most=max(1, rows // 2)).awaitTermination()
    exact &= look("started again")
    shutil.rmtree(checkpoint)
    print("the checkpoint is lost")
    try:
        pipeline.start(folder / "new checkpoint", most=max(1, rows // 5)).awaitTermination()
    except StreamingQueryException as error:
        print(error)
        return False
    exact &= look("started with a new one")
    spark.stop()
    print("exact" if exact else "NOT exact")
    return exact


if __name__ == "__main__":
    main()
