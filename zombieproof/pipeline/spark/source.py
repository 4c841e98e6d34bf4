"""The source: committed records of topics as rows, in micro-batches or at once."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from zombieproof.model.vocabulary import NONE
from zombieproof.pipeline import garbage
from zombieproof.pipeline.reader import MicroBatches, Place, read
from zombieproof.pipeline.spark.options import EARLIEST, LATEST, IllegalOption, Offsets, SourceOptions
from zombieproof.pipeline.spark.task_context import this_attempt

SCHEMA: Final = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, timestampType int"
)
HEADERS: Final = "headers array<struct<key: string, value: binary>>"
SOURCE: Final = "source struct<topic: string, partition: int, offset: bigint, task: bigint>"

ARROW: Final = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("timestampType", pa.int32()),
    ]
)
ARROW_HEADERS: Final = pa.field("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])))
ARROW_SOURCE: Final = pa.field(
    "source",
    pa.struct([("topic", pa.string()), ("partition", pa.int32()), ("offset", pa.int64()), ("task", pa.int64())]),
)
ROWS: Final = 10_000
"""So many rows are handed to Spark at once."""
NO_TIMESTAMP: Final = -1


def schema_of(options: SourceOptions) -> str:
    """The columns of Kafka's source in its order, and `source` behind them, if it is asked for."""
    return ", ".join([SCHEMA, *([HEADERS] if options.headers else []), *([SOURCE] if options.source else [])])


@dataclass(frozen=True)
class Range(InputPartition):
    """The offsets of one partition that one task reads."""

    topic: str
    partition: int
    first: int
    past: int


def as_json(offsets: Mapping[Place, int]) -> dict[str, dict[str, int]]:
    """Offsets as Kafka's source writes them into a checkpoint: topic, partition, next offset."""
    found: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        found.setdefault(topic, {})[str(partition)] = offset
    return found


def from_json(told: Mapping[str, Mapping[str, int]]) -> dict[Place, int]:
    """The reverse of `as_json`."""
    return {(topic, int(each)): int(offset) for topic, rest in told.items() for each, offset in rest.items()}


def ranges(start: Mapping[Place, int], end: Mapping[Place, int]) -> list[Range]:
    """What there is to read, each partition by one task of its own; where nothing is, there is no task."""
    return [Range(*place, start[place], past) for place, past in end.items() if past > start[place]]


def rows_of(options: SourceOptions, given: Range) -> Iterator[pa.RecordBatch]:
    """The committed records of a range, as batches of Arrow's."""
    place, task = (given.topic, given.partition), this_attempt().task
    garbage.spared()
    waiting: list[Any] = []
    for message in read(options.settings, options.group or "zombieproof", place, given.first, given.past):
        waiting.append(message)
        if len(waiting) == ROWS:
            yield _batch(options, place, task, waiting)
            waiting = []
    if waiting:
        yield _batch(options, place, task, waiting)


def _batch(options: SourceOptions, place: Place, task: int, messages: list[Any]) -> pa.RecordBatch:
    with garbage.paused():
        return _columns(options, place, task, messages)


def _columns(options: SourceOptions, place: Place, task: int, messages: list[Any]) -> pa.RecordBatch:
    topic, partition = place
    count = len(messages)
    stamps = [message.timestamp() for message in messages]
    offsets = pa.array([message.offset() for message in messages], pa.int64())
    columns = [
        pa.array([message.key() for message in messages], pa.binary()),
        pa.array([message.value() for message in messages], pa.binary()),
        pa.repeat(pa.scalar(topic, pa.string()), count),
        pa.repeat(pa.scalar(partition, pa.int32()), count),
        offsets,
        pa.array([at * 1000 if at != NO_TIMESTAMP else None for _, at in stamps], pa.timestamp("us", tz="UTC")),
        # librdkafka counts from 1 (0: there is none), Kafka from 0 (-1: there is none).
        pa.array([kind - 1 for kind, _ in stamps], pa.int32()),
    ]
    fields = list(ARROW)
    if options.headers:
        told = [
            [{"key": key, "value": value} for key, value in message.headers() or ()] or None for message in messages
        ]
        columns.append(pa.array(told, ARROW_HEADERS.type))
        fields.append(ARROW_HEADERS)
    if options.source:
        of_task = pa.repeat(pa.scalar(task, pa.int64()), count)
        columns.append(
            pa.StructArray.from_arrays([columns[2], columns[3], offsets, of_task], fields=list(ARROW_SOURCE.type))
        )
        fields.append(ARROW_SOURCE)
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def resolved(batches: MicroBatches, told: Offsets, places: list[Place], otherwise: int) -> dict[Place, int]:
    """Offsets in place of the words for both ends; `otherwise` is meant for a partition that is not named.

    Raises:
        IllegalOption: an offset is given for a partition that is not there.
    """
    if not isinstance(told, int) and (strange := sorted(set(told) - set(places))):
        names = ", ".join(f"{topic}-{partition}" for topic, partition in strange)
        raise IllegalOption(f"source: offsets are given for {names}, which the brokers do not have; leave them out")
    found = {}
    for place in places:
        said = told if isinstance(told, int) else told.get(place, otherwise)
        if said in (EARLIEST, LATEST):
            first, past = batches.ends(place)
            said = first if said == EARLIEST else past
        found[place] = said
    return found


def has_latest(told: Offsets, places: list[Place]) -> bool:
    """Whether a partition is to begin at the end of its log; one that is not named does."""
    return any((told if isinstance(told, int) else told.get(place, LATEST)) == LATEST for place in places)


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The reader of a streaming query: on the driver it plans, in tasks it reads."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._batches: MicroBatches | None = None
        self._initial: dict[str, dict[str, int]] | None = None
        self._begins_at_the_end = False
        self._target: dict[Place, int] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Tasks get the options alone."""
        return {
            "_options": self._options,
            "_batches": None,
            "_initial": None,
            "_begins_at_the_end": False,
            "_target": None,
        }

    def _connected(self) -> MicroBatches:
        if self._batches is None:
            self._batches = MicroBatches(self._options.settings, self._options.group)
        return self._batches

    def initialOffset(self) -> dict[str, dict[str, int]]:  # noqa: N802  # Spark's name
        """Where a query without a checkpoint begins: at what its group has committed, else as it is told.

        Spark asks twice: when it plans the first micro-batch, and when it runs it.
        """
        if self._initial is None:
            batches = self._connected()
            places = batches.partitions(self._options.topics)
            told = resolved(batches, self._options.starting, places, LATEST)
            self._initial = as_json(batches.begin(told))
            self._begins_at_the_end = has_latest(self._options.starting, places)
        return self._initial

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  # Spark's name
        """How much a micro-batch reads; `Trigger.Once` asks for everything nevertheless."""
        return ReadAllAvailable() if self._options.most == NONE else ReadMaxRows(self._options.most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  # Spark's name
        """What is decided now is all that this query reads."""
        batches = self._connected()
        places = batches.partitions(self._options.topics)
        self._target = {place: batches.last_stable_offset(place) for place in places}

    def latestOffset(self, start: dict[str, dict[str, int]], limit: ReadLimit) -> dict[str, dict[str, int]]:  # noqa: N802  # Spark's name
        """Where the next micro-batch ends: below the last stable offset, and within the limit.

        Limits are offsets, which are more than rows: markers and aborted records have some too.

        The first micro-batch of a query that begins at the end has nothing in it. Spark keeps where each one ends, and
        so where the next begins; where the first began it asks again when it runs it again, and *latest* is another
        place by then.
        """
        if self._begins_at_the_end:
            self._begins_at_the_end = False
            return start
        batches, positions = self._connected(), from_json(start)
        if not batches.places:
            batches.resume(positions)
        if batches.is_planned:
            batches.finish()
        places = batches.partitions(self._options.topics) if self._target is None else self._target
        if new := [place for place in places if place not in positions]:
            positions |= batches.begin(resolved(batches, EARLIEST, new, EARLIEST))
        bounds = None
        if self._target is not None:
            bounds = {place: self._target.get(place, at) for place, at in positions.items()}
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else NONE
        ends = batches.plan(positions, most, bounds)
        if ends == positions:
            batches.finish()
        return as_json(ends)

    def reportLatestOffset(self) -> dict[str, dict[str, int]]:  # noqa: N802  # Spark's name
        """The last stable offsets, which a query's progress shows beside where it is."""
        batches = self._connected()
        return as_json({place: batches.last_stable_offset(place) for place in batches.partitions(self._options.topics)})

    def partitions(self, start: dict[str, dict[str, int]], end: dict[str, dict[str, int]]) -> list[Range]:
        """One task for each partition of the log; one that is new begins with what is there of it."""
        self._begins_at_the_end = False  # the first one is planned, maybe by a driver that died
        begins, ends = from_json(start), from_json(end)
        batches = self._connected()
        new = {place: batches.ends(place)[0] for place in ends if place not in begins}
        return ranges({**begins, **new}, ends)

    def read(self, partition: Range) -> Iterator[pa.RecordBatch]:
        """The committed records of a range."""
        return rows_of(self._options, partition)

    def commit(self, end: dict[str, dict[str, int]]) -> None:
        """Nothing: positions are committed by the sink, together with the rows."""

    def stop(self) -> None:
        """Let go of the client."""
        if self._batches is not None:
            self._batches.close()
            self._batches = None


class BatchReader(DataSourceReader):
    """The reader of a batch query."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def partitions(self) -> list[Range]:
        """One task for each partition of the log; what its group has committed is not asked.

        Raises:
            IllegalOption: it ends above what is decided.
        """
        batches = MicroBatches(self._options.settings, self._options.group or "zombieproof")
        try:
            places = batches.partitions(self._options.topics)
            start = resolved(batches, self._options.starting, places, EARLIEST)
            end = resolved(batches, self._options.ending, places, LATEST)
            for place, past in end.items():
                stable = batches.last_stable_offset(place)
                if past > stable:
                    raise IllegalOption(
                        f"source: endingOffsets is {past} for {place[0]}-{place[1]}, where everything is decided below "
                        f"{stable} only; legal is at most that, or latest"
                    )
            return ranges(start, end)
        finally:
            batches.close()

    def read(self, partition: Range) -> Iterator[pa.RecordBatch]:
        """The committed records of a range."""
        return rows_of(self._options, partition)
