"""A query for tests: rows of `input` in upper case to `output`, of which each may be wrong in one way."""

import shutil
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.pipeline.topics import Filled, fill, forget_group, make_topics, read_back, undecided
from tests.spark.faulty import OUTAGE, OVER, WAIT_S, Faulty, Naive
from zombieproof.pipeline import register

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.pipeline.real import RealKafka
    from zombieproof.bridge.under_test import TestedBrokers

PARTITIONS = 3
ROWS = 60
A_BATCH = 50
OUTAGE_MS = 300_000
TIMEOUT_MS = 5000


@dataclass(slots=True)
class Query:
    """A query over one broker; each run goes as far as there is anything, or as a fault lets it.

    Attributes:
        sink: `batch`, `partition` or `naive`.
        folder: of its checkpoint, and of what arms a fault.
        most: offsets in a micro-batch.
    """

    spark: "SparkSession"
    broker: "TestedBrokers | RealKafka"
    folder: Path
    sink: str = "batch"
    most: int = A_BATCH
    options: dict[str, str] = field(default_factory=dict)
    filled: Filled = field(default_factory=Filled)

    def begin(self) -> "Query":
        """Make and fill the topics."""
        make_topics(self.bootstrap, input=PARTITIONS, output=PARTITIONS)
        self.filled = fill(self.bootstrap, "input", PARTITIONS, ROWS, per_transaction=15)
        for each in (Faulty, Naive):
            self.spark.dataSource.register(each)
        register(self.spark)
        return self

    def fill_more(self) -> None:
        """Rows that come later: the same ones again, in another group of transactions."""
        self.filled.committed.extend(fill(self.bootstrap, "input", PARTITIONS, ROWS, per_transaction=15).committed)

    @property
    def bootstrap(self) -> str:
        """The address of the broker."""
        return self.broker.bootstrap

    @property
    def checkpoint(self) -> Path:
        """Of the query."""
        return self.folder / "checkpoint"

    @property
    def kafka(self) -> dict[str, str]:
        """What source and sink are told of the broker."""
        return {"kafka.bootstrap.servers": self.bootstrap, "kafka.group.id": "copier"}

    def rows(self, group: str = "copier", **options: str) -> "DataFrame":
        """What is read, from where that group is on."""
        return (
            self.spark.readStream.format("zombieproof")
            .options(**self.kafka | {"kafka.group.id": group}, subscribe="input", startingOffsets="earliest")
            .options(includeSource="true", maxOffsetsPerTrigger=str(self.most))
            .options(**options)
            .load()
        )

    def run(self, point: str = "", checkpoint: Path | None = None) -> Any:
        """Run until nothing is left; with a `point` the fault is armed, and the error is what Spark raises."""
        armed = self.folder / "armed"
        if point:
            armed.touch()
        mode = {} if self.sink == "naive" else {"mode": self.sink}
        query = (
            self.rows()
            .selectExpr("upper(cast(value as string)) as value", "key", "source")
            .writeStream.format("naive" if self.sink == "naive" else "faulty")
            .options(**self.kafka, **mode, **self.options, topic="output", point=point, armed=str(armed))
            .option("kafka.transaction.timeout.ms", str(TIMEOUT_MS))
            .option("checkpointLocation", str(checkpoint or self.checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        try:
            if point == OUTAGE:
                self._outlast(armed)
            query.awaitTermination()
        finally:
            for told in self.folder.glob("armed.*"):
                told.unlink()
        assert not armed.exists(), f"the fault {point!r} did not strike"
        return query

    def _outlast(self, armed: Path) -> None:
        """When the fault has struck, time goes on until the coordinator has aborted what is open."""
        until = time.monotonic() + WAIT_S
        while armed.exists():
            assert time.monotonic() < until, f"the outage has not begun in {WAIT_S:g} s"
            time.sleep(0.02)
        self.broker.advance(OUTAGE_MS)
        armed.with_suffix(OVER).touch()

    def newest(self, log: str) -> int:
        """The newest entry of one of the checkpoint's logs; -1: it has none."""
        return max((int(each.name) for each in (self.checkpoint / log).glob("[0-9]*")), default=-1)

    def forget_commit(self) -> None:
        """Leave the checkpoint as a driver does that dies between the sink's commit and its own."""
        number = self.newest("commits")
        for each in (f"{number}", f".{number}.crc"):
            (self.checkpoint / "commits" / each).unlink(missing_ok=True)

    def forget_positions(self) -> None:
        """Lose what the group has committed."""
        forget_group(self.bootstrap, "copier")

    def forget_checkpoint(self) -> None:
        """Lose it."""
        shutil.rmtree(self.checkpoint)

    def wrong(self) -> str:
        """What is not exact in the output; "" if nothing is."""
        expected: Counter[bytes | None] = Counter(value.upper() for value in self.filled.committed)
        found = read_back(self.bootstrap, "output")
        doubled, lost = sum((found - expected).values()), sum((expected - found).values())
        behind = undecided(self.bootstrap, "output")
        said = [(doubled, "doubled"), (lost, "lost"), (behind, "behind the last stable offset")]
        return ", ".join(f"{count} {what}" for count, what in said if count)
