"""A driver of Spark that runs queries as it is told, and is killed: ``python -m tests.spark.kills.program``.

Arguments: a folder of its own, the master, and the number of an open file for replies. A line on stdin is a query in
JSON, which is started beside those that run; or null: when all have ended the reply is a line in JSON, for each why
it failed, or null. It ends where stdin does.
"""

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.spark.sessions import end, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

INPUT, OUTPUT, GROUP = "input", "output", "copier"

ON_CLUSTERS = {
    "spark.executor.memory": "512m",
    "spark.network.timeout": "12s",
    "spark.network.timeoutInterval": "2s",
    "spark.executor.heartbeatInterval": "2s",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
"""An executor that is stopped is given up after twelve seconds."""


@dataclass(frozen=True)
class Query:
    """A query from `INPUT` to `OUTPUT`, which ends when it has read all that is there.

    Attributes:
        options: of the sink, besides those that each has.
        most: offsets in one micro-batch.
        injection: see `points`; "" for none.
    """

    bootstrap: str
    checkpoint: str
    options: Mapping[str, str]
    most: int
    injection: str = ""

    def as_json(self) -> str:
        return json.dumps(asdict(self))

    def start(self, spark: "SparkSession") -> "StreamingQuery":
        brokers = {"kafka.bootstrap.servers": self.bootstrap, "kafka.group.id": GROUP}
        rows = (
            spark.readStream.format("zombieproof")
            .options(**brokers, subscribe=INPUT, startingOffsets="earliest", includeSource="true")
            .option("maxOffsetsPerTrigger", self.most)
            .load()
        )
        made = rows.selectExpr("key", "concat(upper(cast(value AS string)), '!') AS value", "source")
        writing = made.writeStream.format("injected").options(**brokers, topic=OUTPUT, **self.options)
        writing = writing.option("injection", self.injection).option("checkpointLocation", self.checkpoint)
        return writing.trigger(availableNow=True).start()


def transformed(value: bytes) -> bytes:
    """What the query makes of a value."""
    return value.upper() + b"!"


def failure_of(query: "StreamingQuery") -> str | None:
    """Why it failed, when it has ended; None: it did not."""
    from pyspark.errors import StreamingQueryException  # noqa: PLC0415  # an extra

    try:
        query.awaitTermination()
    except StreamingQueryException as error:
        return str(error)
    return None


def main(folder: Path, master: str, replies: int) -> None:
    """Run queries until stdin ends."""
    from tests.spark.kills.sinks import InjectedSource  # noqa: PLC0415  # needs Spark
    from zombieproof.pipeline import register  # noqa: PLC0415  # as above

    spark = session(folder, master, ON_CLUSTERS if master.startswith("local-cluster") else {})
    register(spark)
    spark.dataSource.register(InjectedSource)
    running: list[StreamingQuery] = []
    with os.fdopen(replies, "w", buffering=1) as told:
        told.write(f"{json.dumps('ready')}\n")
        for line in sys.stdin:
            said: dict[str, Any] | None = json.loads(line)
            if said is not None:
                running.append(Query(**said).start(spark))
                continue
            told.write(f"{json.dumps([failure_of(each) for each in running])}\n")
            running.clear()
    end(spark)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
