"""``format("zombieproof")``: source and sink under one name."""

from collections.abc import Mapping
from typing import Any

from pyspark.sql.datasource import DataSource

from zombieproof.pipeline.sink.rows import IllegalRows
from zombieproof.pipeline.spark.options import CHECKED, ENDS, SinkOptions, sink_options, source_options
from zombieproof.pipeline.spark.plans import UnsuitablePlan
from zombieproof.pipeline.spark.reasons import reason_first
from zombieproof.pipeline.spark.sink import BatchWriter, StreamWriter
from zombieproof.pipeline.spark.source import BatchReader, StreamReader, schema_of
from zombieproof.pipeline.spark.tables import refuse_schema


class ZombieproofSource(DataSource):
    """Committed records of Kafka as rows, and rows as records, each once."""

    @classmethod
    def name(cls) -> str:
        """What stands in ``format``."""
        return "zombieproof"

    @reason_first
    def schema(self) -> str:
        """The columns that are read: those of Kafka's source."""
        return schema_of(source_options(self._without_ending(), streaming=True))

    def _without_ending(self) -> dict[str, str]:
        """The options with what only one of the two kinds of queries must have: Spark does not say here which it is."""
        given: Mapping[str, Any] = self.options
        ends = {name.lower() for name in ENDS}
        told = {name.lower(): str(value) for name, value in given.items() if name.lower() not in ends}
        return {"kafka.group.id": "not asked for in a batch query", **told}

    @reason_first
    def reader(self, schema: Any) -> BatchReader:  # the schema is ours, and Spark hands it back
        """The reader of ``spark.read``."""
        return BatchReader(source_options(self.options, streaming=False))

    @reason_first
    def streamReader(self, schema: Any) -> StreamReader:  # noqa: N802  # as above; Spark's name
        """The reader of ``spark.readStream``."""
        return StreamReader(source_options(self.options, streaming=True))

    @reason_first
    def writer(self, schema: Any, overwrite: bool) -> BatchWriter:  # as Spark calls it
        """The writer of ``df.write``."""
        if overwrite:
            raise IllegalRows("sink: it is told to overwrite, and a log only grows; legal is .mode('append')")
        options = self._checked_options(schema, streaming=False)
        return BatchWriter(options)

    @reason_first
    def streamWriter(self, schema: Any, overwrite: bool) -> StreamWriter:  # noqa: N802  # as above
        """The writer of ``df.writeStream``; output mode *complete* appends the whole result, as Kafka's sink does."""
        options = self._checked_options(schema, streaming=True)
        return StreamWriter(options)

    def _checked_options(self, schema: Any, *, streaming: bool) -> SinkOptions:
        if CHECKED not in self.options:
            raise UnsuitablePlan(
                "sink: the plan of this write was not checked; call zombieproof.pipeline.register(spark) in the "
                "program that starts it, and start it by writeStream...start() or write...save(), not by INSERT of SQL"
            )
        options = sink_options(self.options, streaming=streaming)
        refuse_schema({field.name: field.dataType.simpleString() for field in schema.fields}, options)
        return options
