"""`python -m tests.spark_connector.program FOLDER`: Spark's own Kafka connector does steps, one line of JSON each.

It runs in the Python of FOLDER (`tests.real_clients.install spark-connector`), which has nothing of this package.
A row is [partition, offset, key, value, headers, timestamp in ms], bytes as text. Steps are the methods of `Steps`.
"""

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.real_clients.programs.steps import serve
from tests.spark.sessions import settings, surroundings

COLUMNS = ("partition", "offset", "key", "value", "headers", "timestamp")


class Steps:
    """What the connector does for a test."""

    def __init__(self, installed: Path, folder: Path) -> None:
        os.environ.update(surroundings(folder))
        from pyspark.sql import SparkSession  # noqa: PLC0415  # after what it reads

        jars = ",".join(map(str, sorted((installed / "lib").glob("*.jar"))))
        builder = SparkSession.builder
        for name, value in {**settings(folder), "spark.jars": jars}.items():
            builder = builder.config(name, value)
        self.spark = builder.getOrCreate()
        self.query: Any = None

    def version(self) -> list[str]:
        """Of Spark, and of what Kafka's consumer is."""
        info: Any = self.spark.sparkContext._jvm.org.apache.kafka.common.utils.AppInfoParser
        return [self.spark.version, info.getVersion()]

    def read(self, **options: str) -> list[list[Any]]:
        """The rows of a batch."""
        return rows_of(self.spark.read.format("kafka").options(includeHeaders="true", **options).load())

    def stream(self, checkpoint: str, **options: str) -> dict[str, Any]:
        """The rows that there are now, in micro-batches; and of each its rows and where it ended."""
        found: list[list[list[Any]]] = []
        read = self.spark.readStream.format("kafka").options(includeHeaders="true", **options).load()
        query = self._now(read.writeStream.foreachBatch(lambda frame, _: found.append(rows_of(frame))), checkpoint)
        ends = [each["sources"][0]["endOffset"] for each in query.recentProgress]
        rows = [row for batch in found for row in batch]
        return {"rows": rows, "batches": [len(batch) for batch in found], "ends": ends}

    def copy(self, checkpoint: str, target: str, **options: str) -> None:
        """What there is now, from a stream into another topic, by the connector's sink."""
        self._now(self._copying(target, options), checkpoint)

    def start(self, checkpoint: str, target: str, **options: str) -> None:
        """The same, and it goes on."""
        self.query = self._copying(target, options).option("checkpointLocation", checkpoint).start()

    def finish(self) -> None:
        """What goes on ends when it has done what there is."""
        self.query.processAllAvailable()
        self.query.stop()

    def _copying(self, target: str, options: dict[str, str]) -> Any:
        read = self.spark.readStream.format("kafka").options(includeHeaders="true", **options).load()
        rows = read.selectExpr("key", "concat('copy of ', cast(value as string)) as value", "headers", "partition")
        sink = rows.writeStream.format("kafka").option("topic", target)
        return sink.option("kafka.bootstrap.servers", options["kafka.bootstrap.servers"])

    def write(self, rows: list[list[str]], **options: str) -> None:
        """Rows of (topic, key, value) as a batch."""
        made = self.spark.createDataFrame([tuple(row) for row in rows], "topic string, key string, value string")
        made.write.format("kafka").options(**options).save()

    def _now(self, writer: Any, checkpoint: str) -> Any:
        query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        if not query.awaitTermination(120):
            query.stop()
            raise TimeoutError("the query is not done with what there is after 120 s")
        return query


def rows_of(frame: Any) -> list[list[Any]]:
    """The rows of a frame of the source, in the order of their places."""
    found = [
        [
            row.partition,
            row.offset,
            row.key and row.key.decode(),
            row.value and row.value.decode(),
            [[header.key, header.value and header.value.decode()] for header in row.headers or ()],
            round(row.timestamp.timestamp() * 1000),
        ]
        for row in frame.select(*COLUMNS).collect()
    ]
    return sorted(found, key=lambda row: row[:2])


def main() -> None:
    """Do what is asked for until there is no more."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        steps = Steps(Path(sys.argv[1]), Path(folder))
        serve(steps, lambda error: type(error).__name__)
        steps.spark.stop()


if __name__ == "__main__":
    main()
