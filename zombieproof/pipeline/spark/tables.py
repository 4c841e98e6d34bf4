"""Rows of a plan as tables of Arrow's, and as what a delivery is given."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, overload

import pyarrow as pa
import pyarrow.compute as pc

from zombieproof.pipeline import garbage
from zombieproof.pipeline.sink.rows import IllegalRows, LocatedRows, Place, Row
from zombieproof.pipeline.spark.options import By, Mode, SinkOptions

AT_ONCE: Final = 10_000
"""So many rows are made at once."""
_TEXT_OR_BYTES: Final = ("string", "binary")
_HEADERS: Final = "array<struct<key:string,value:binary>>"
_TYPES: Final = {"key": _TEXT_OR_BYTES, "value": _TEXT_OR_BYTES, "topic": ("string",), "partition": ("int",)} | {
    "headers": (_HEADERS,)
}
"""Legal types of columns, as Spark names them: those of Spark's Kafka sink."""
_PARTS: Final = {"topic": ("string",), "partition": ("int", "smallint", "tinyint"), "offset": ("bigint", "int")}
"""Legal types of the fields of column `source`."""
_SOURCE: Final = pa.struct(
    [("topic", pa.string()), ("partition", pa.int32()), ("offset", pa.int64()), ("task", pa.int64())]
)
_COLUMNS: Final = {
    "key": pa.binary(),
    "value": pa.binary(),
    "headers": pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
    "topic": pa.string(),
    "partition": pa.int32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "source": _SOURCE,
}
"""What a sink takes of a row; other columns are left out, as Kafka's sink does."""

SOURCE_IS_MISSING: Final = (
    "the rows do not say where they were read, so that nobody could tell whether they were written before. Legal is: "
    "carry it (option includeSource of the source, or .withColumn('source', struct('topic', 'partition', 'offset')), "
    "and keep that column to the end); or, where rows come from an aggregation or a join, .option('exactlyOnceBy', "
    "'batch'): "
    "then the number of the micro-batch is committed with its rows, which is exact as long as the checkpoint is kept, "
    "and refuses to go on with a new one"
)


def refuse_schema(names_to_types: dict[str, str], options: SinkOptions) -> None:
    """See that the columns are those of a sink; types as Spark calls them.

    Raises:
        IllegalRows: they are not.
    """
    if "value" not in names_to_types:
        raise IllegalRows(
            f"sink: there is no column value among {', '.join(names_to_types) or 'none'}; legal are value, and if "
            "wanted key, headers, topic, partition, timestamp and source"
        )
    for name, legal in _TYPES.items():
        is_used = name in names_to_types and not (name == "topic" and options.topic)
        if is_used and names_to_types[name] not in legal:
            raise IllegalRows(f"sink: column {name} is {names_to_types[name]}; legal is {' or '.join(legal)}: cast it")
    if not options.topic and "topic" not in names_to_types:
        raise IllegalRows(
            "sink: neither option topic nor column topic is there; legal is one of them: say where rows go"
        )
    if options.timestamp and names_to_types.get("timestamp") != "timestamp":
        raise IllegalRows(
            f"sink: includeTimestamp is true, and column timestamp is {names_to_types.get('timestamp', 'missing')}; "
            "legal is a column of type timestamp: cast it, or leave the option out to write the current time"
        )
    if options.by == By.SOURCE and "source" not in names_to_types:
        raise IllegalRows(f"sink: {SOURCE_IS_MISSING}")
    if options.by == By.SOURCE:
        _refuse_source(names_to_types["source"])
    if options.mode == Mode.PARTITION and "task" not in names_to_types["source"]:
        raise IllegalRows(
            "sink: mode is partition, and column source does not say which task read a row; legal is the column as "
            ".option('includeSource', 'true') of the source makes it"
        )


def _refuse_source(given: str) -> None:
    """See that column `source` is a struct that says where a row was read; the type as Spark calls it.

    Raises:
        IllegalRows: it is not.
    """
    inner = given.removeprefix("struct<").removesuffix(">")
    fields = dict(part.partition(":")[::2] for part in inner.split(",")) if given.startswith("struct<") else {}
    for name, legal in _PARTS.items():
        if fields.get(name) not in legal:
            raise IllegalRows(
                f"sink: column source is {given}, and its field {name} is {fields.get(name, 'missing')}; legal is "
                "struct<topic:string,partition:int,offset:bigint>, as option includeSource of the source makes it"
            )


def table_of(batches: Iterator[pa.RecordBatch], options: SinkOptions) -> pa.Table:
    """The rows of a task, each column in the one type that it has from here on.

    Raises:
        IllegalRows: a row does not say where it goes, or where it was read, or its timestamp is not valid.
    """
    tables = [_of_sink(batch, options) for batch in batches]
    return pa.concat_tables(tables) if tables else pa.table({"value": pa.array([], pa.binary())})


def _of_sink(batch: pa.RecordBatch, options: SinkOptions) -> pa.Table:
    made = {}
    for name, kind in _COLUMNS.items():
        at = batch.schema.get_field_index(name)
        is_unused = {
            "topic": options.topic != "",
            "source": options.by == By.BATCH,
            "timestamp": not options.timestamp,
        }
        if at < 0 or is_unused.get(name, False):
            continue
        column = batch.column(at)
        if name == "source":
            made[name] = _of_source(column)
        elif name == "timestamp":
            made[name] = _milliseconds(column.cast(kind))
        elif name == "headers":
            made[name] = _with_keys(column.cast(kind))
        elif name == "partition":
            made[name] = _partitions(column.cast(kind))
        else:
            made[name] = column.cast(kind)
    if "topic" in made and made["topic"].null_count:
        raise IllegalRows("sink: column topic is null in a row; legal is a topic in each, or option topic for all")
    if "topic" in made and pc.any(pc.equal(made["topic"], options.progress_topic)).as_py():
        raise IllegalRows(
            f"sink: column topic is {options.progress_topic} in a row, which keeps the positions of every write "
            "(progressTopic); legal is any other topic"
        )
    return pa.table(made)


def _partitions(column: Any) -> Any:
    """Partitions; null for the one that the client chooses."""
    least = pc.min(column).as_py()
    if least is not None and least < 0:
        raise IllegalRows(
            f"sink: column partition is {least} in a row; legal is the number of a partition, or null for the one that "
            "the client chooses by the key"
        )
    return column


def _with_keys(column: Any) -> Any:
    """Headers, each of which has a key."""
    headers = column.flatten()
    if headers.null_count or headers.field("key").null_count:
        raise IllegalRows(
            "sink: column headers has a header that is null or has no key; legal is a key for each header"
        )
    return column


def _milliseconds(column: Any) -> Any:
    """Timestamps as Kafka has them: ms since 1970; null for the time at which the row is sent."""
    found = pc.divide(column.cast(pa.int64()), 1000)
    earliest = pc.min(found).as_py()
    if earliest is not None and earliest < 1:
        raise IllegalRows(
            f"sink: column timestamp is {earliest} ms since 1970 in a row; legal is a time from 1 ms on (the client "
            "takes 0 for the current time), or null for the current time"
        )
    return found


def _of_source(column: Any) -> Any:
    """The column `source`, with -1 for a task that is not said."""
    named = {field.name: index for index, field in enumerate(column.type)}
    if missing := [name for name in ("topic", "partition", "offset") if name not in named]:
        raise IllegalRows(
            f"sink: column source has no field {', '.join(missing)}; legal is struct(topic, partition, offset), as "
            "option includeSource of the source makes it"
        )
    fields = [
        column.field(named[field.name]).cast(field.type)
        if field.name in named
        else pa.repeat(pa.scalar(-1, field.type), len(column))
        for field in _SOURCE
    ]
    if column.null_count or any(each.null_count for each in fields):
        raise IllegalRows(f"sink: column source is null, or a part of it, in a row: {SOURCE_IS_MISSING}")
    return pa.StructArray.from_arrays(fields, fields=list(_SOURCE))


class TableRows(LocatedRows):
    """A table as rows of a delivery, which are made some at a time, without their source: `spans` tells it."""

    def __init__(self, table: pa.Table, options: SinkOptions) -> None:
        self._table, self._options = table, options

    def __len__(self) -> int:
        return int(self._table.num_rows)

    @overload
    def __getitem__(self, at: int) -> Row: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Row]: ...

    def __getitem__(self, at: int | slice) -> Row | Sequence[Row]:
        if isinstance(at, slice) and at.step in (None, 1):
            first, past, _ = at.indices(len(self))
            return list(TableRows(self._table.slice(first, max(0, past - first)), self._options))
        return list(self)[at]

    def __iter__(self) -> Iterator[Row]:
        for batch in self._table.to_batches(max_chunksize=AT_ONCE):
            with garbage.paused():
                rows = _rows_of(batch, self._options)
            yield from rows

    def spans(self) -> dict[Place, tuple[int, int]]:
        """By place the first offset, and the one behind the last.

        Raises:
            IllegalRows: an offset is none.
        """
        if not len(self):
            return {}
        read = self._read().group_by(["topic", "partition"]).aggregate([("offset", "min"), ("offset", "max")])
        found = {
            (row["topic"], row["partition"]): (row["offset_min"], row["offset_max"] + 1) for row in read.to_pylist()
        }
        for place, (first, _) in found.items():
            if first < 0:
                raise IllegalRows(f"sink: a row says that it was read at {place[0]}-{place[1]}, offset {first}")
        return dict(sorted(found.items()))

    def behind(self, begins: Mapping[Place, int]) -> "TableRows":
        """The rows from these offsets on."""
        read = self._read()
        kept = pa.scalar(False)
        for (topic, partition), begin in begins.items():
            is_there = pc.and_(pc.equal(read["topic"], topic), pc.equal(read["partition"], partition))
            kept = pc.or_(kept, pc.and_(is_there, pc.greater_equal(read["offset"], begin)))
        return TableRows(self._table.filter(kept), self._options)

    def _read(self) -> pa.Table:
        """Where each row was read."""
        flat = self._table.column("source").combine_chunks()
        return pa.table({name: flat.field(index) for index, name in enumerate(("topic", "partition", "offset"))})


def _rows_of(batch: pa.RecordBatch, options: SinkOptions) -> list[Row]:
    there = set(batch.schema.names)

    def column(name: str) -> Iterable[Any]:
        return batch.column(name).to_pylist() if name in there else itertools.repeat(None)

    topics = itertools.repeat(options.topic) if options.topic else column("topic")
    headers = (
        [tuple((each["key"], each["value"]) for each in told) if told else () for told in column("headers")]
        if "headers" in there
        else itertools.repeat(())
    )
    sources = itertools.repeat(None)  # `TableRows.spans` knows better
    columns = (topics, column("value"), column("key"), column("partition"), headers, column("timestamp"), sources)
    return list(map(Row._make, zip(*columns, strict=False)))


def tasks_of(table: pa.Table) -> set[int]:
    """Which task attempts read the rows; -1 for rows that do not say."""
    if not table.num_rows:
        return set()
    return set(table.column("source").combine_chunks().field(3).unique().to_pylist())


def to_bytes(table: pa.Table) -> bytes:
    """A table as Arrow's stream format, compressed by LZ4."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


def from_bytes(data: bytes) -> pa.Table:
    """The reverse of `to_bytes`.

    Raises:
        ArrowInvalid: it is not one.
    """
    with pa.ipc.open_stream(data) as stream:
        return stream.read_all()
