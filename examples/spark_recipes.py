"""Recipes for the pipeline on Spark, as functions to copy; docs/spark-recipes.md says when to use which.

Each writes every row once, also after a crash between any two steps. Needed: Java 17, and the extra `spark`.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as all programs of Spark call it

from zombieproof.pipeline import exactly_once


def read(spark: SparkSession, kafka: Mapping[str, str], topic: str, **options: str) -> DataFrame:
    """Read a topic in micro-batches, with the column `source` by which the sink knows rows."""
    return (
        spark.readStream.format("zombieproof")
        .options(**kafka, subscribe=topic, includeSource="true", startingOffsets="earliest", **options)
        .load()
    )


def write_two_outputs(rows: DataFrame, batch: int, servers: str, group: str) -> None:
    """Write orders and their audit trail from one function of ``foreachBatch``.

    Each write has a group of its own. The source has the group of the last one, `GROUP-audit`: its positions are never
    ahead of those of the first, so that a lost checkpoint skips nothing.
    """
    rows.persist()
    orders, audit = rows.selectExpr("key", "value", "source"), rows.selectExpr("value", "source")
    exactly_once(orders, batch, topic="orders", kafka_bootstrap_servers=servers, kafka_group_id=f"{group}-orders")
    exactly_once(audit, batch, topic="audit", kafka_bootstrap_servers=servers, kafka_group_id=f"{group}-audit")
    rows.unpersist()


def offsets_of_checkpoint(checkpoint: Path) -> str:
    """Return the offsets at which a stopped query of Spark's own Kafka source would continue, as JSON.

    The newest batch with an entry in `commits` is finished. A later one in `offsets` may be written in part, because
    Spark's sink writes at least once: its rows are read again.
    """
    finished = max((int(each.name) for each in (checkpoint / "commits").glob("[0-9]*")), default=None)
    if finished is None:
        raise ValueError(f"{checkpoint}: no batch is finished; start the new query with the old startingOffsets")
    _, _, *sources = (checkpoint / "offsets" / str(finished)).read_text().splitlines()
    found: dict[str, dict[str, int]] = {}
    for source in sources:
        _, brace, offsets = source.partition("{")  # version 2 of the file names the source first
        if not brace:  # another source of the query, of which the batch had nothing
            continue
        for topic, partitions in json.loads(brace + offsets).items():
            found.setdefault(topic, {}).update(partitions)
    return json.dumps(found)


def backfill(
    spark: SparkSession, kafka: Mapping[str, str], source: str, target: str, since_ms: int, until_ms: int
) -> None:
    """Write the records of a time range once more, by a batch query that can be repeated after a failure.

    The name in the group says which backfill this is: the same name never writes a row twice.
    """
    own = {**kafka, "kafka.group.id": f"backfill-{source}-{since_ms}-{until_ms}"}
    (
        spark.read.format("zombieproof")
        .options(**own, subscribe=source, includeSource="true")
        .options(startingTimestamp=str(since_ms), endingTimestamp=str(until_ms))
        .option("startingOffsetsByTimestampStrategy", "latest")
        .load()
        .selectExpr("key", "value", "timestamp", "source")
        .write.format("zombieproof")
        .options(**own, topic=target, includeTimestamp="true")
        .mode("append")
        .save()
    )


def from_registry(value: Column) -> tuple[Column, Column]:
    """Split a value in the format of schema registries: the id of its schema, and the bytes that it describes."""
    is_framed = F.hex(F.substring(value, 1, 1)) == "00"
    number = F.conv(F.hex(F.substring(value, 2, 4)), 16, 10).cast("int")
    payload = F.substring(value, 6, 1 << 30)
    return F.when(is_framed, number), F.when(is_framed, payload)


def to_registry(schema_id: Column, payload: Column) -> Column:
    """Make a value in the format of schema registries: a zero byte, the id of the schema in four bytes, the payload."""
    return F.concat(F.unhex(F.lit("00")), F.unhex(F.lpad(F.hex(schema_id), 8, "0")), payload)


def to_table(rows: DataFrame, checkpoint: str, table: str, kind: str) -> Any:
    """Write to a table, or to files if `table` is a path: Delta, Iceberg, or a file format of Spark.

    Their sinks keep the number of the newest batch beside the rows and skip it when it is repeated, as long as the
    checkpoint is kept.
    """
    writer = rows.writeStream.format(kind).option("checkpointLocation", checkpoint).trigger(availableNow=True)
    return writer.start(table) if "/" in table else writer.toTable(table)


def from_table(rows: DataFrame, kafka: Mapping[str, str], checkpoint: str, topic: str) -> Any:
    """Write the rows of a table or of files to a topic. They have no offsets, so their batch identifies them."""
    return (
        rows.writeStream.format("zombieproof")
        .options(**kafka, topic=topic, exactlyOnceBy="batch", checkpointLocation=checkpoint)
        .trigger(availableNow=True)
        .start()
    )
