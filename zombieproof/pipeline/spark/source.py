"""The source: committed records of topics as rows, in micro-batches or at once."""

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from zombieproof.model.vocabulary import NONE
from zombieproof.pipeline import garbage
from zombieproof.pipeline.kafka import LOGGER
from zombieproof.pipeline.progress_topic import RECORDED
from zombieproof.pipeline.reader import (
    Losses,
    MicroBatches,
    NoSuchTopic,
    Place,
    RangeNotRead,
    TopicRemade,
    named,
    read,
)
from zombieproof.pipeline.sink.errors import REMADE
from zombieproof.pipeline.spark.options import (
    EARLIEST,
    LATEST,
    Bound,
    IllegalOption,
    SourceOptions,
    Unmatched,
)
from zombieproof.pipeline.spark.reasons import reason_first, reason_first_in
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
"""Rows are handed to Spark when there are this many,"""
MOST_BYTES: Final = 64 << 20
"""or when their values have this many bytes."""
NO_TIMESTAMP: Final = -1
MOST_MS: Final = ((1 << 63) - 1) // 1000
"""Spark counts microseconds in 64 bits."""
REPROCESS: Final = "@reprocess"
"""In the offsets of a checkpoint, the key whose value is the name of `reprocess`. No topic has an @ in its name."""
GROUP: Final = "@group"
"""The key whose value is the group."""
INITIAL: Final = "@initial"
"""In the offsets at which the first micro-batch ends, or one with new partitions, the key with those where it begins.

Spark keeps only where a micro-batch ends. When such a one is repeated, the group may have positions by then.
"""
BEGUN: Final = "@begun"
"""The key with the offsets where the query began, in each batch: Spark deletes the first ones of a checkpoint."""
CONTINUED: Final = "@continued"
"""The key with those of them that were positions of a group, below the name of the group."""
TOPIC_IDS: Final = "@topicIds"
"""The key whose value has the id of each topic. Checkpoints of earlier releases have none."""
Offsets = Mapping[str, Mapping[str, Any]]
"""Offsets as a checkpoint keeps them."""


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


def as_json(
    offsets: Mapping[Place, int],
    reprocess: str = "",
    topic_ids: Mapping[str, str] | None = None,
    progress_ids: Mapping[str, str] | None = None,
) -> dict[str, dict[str, Any]]:
    """Offsets as Kafka's source writes them into a checkpoint: topic, partition, next offset."""
    found: dict[str, dict[str, Any]] = {REPROCESS: {reprocess: 0}} if reprocess else {}
    if topic_ids:
        found[TOPIC_IDS] = dict(sorted(topic_ids.items()))
    if progress_ids:
        found[RECORDED] = dict(progress_ids)
    for (topic, partition), offset in sorted(offsets.items()):
        found.setdefault(topic, {})[str(partition)] = offset
    return found


def from_json(told: Offsets, reprocess: str = "") -> dict[Place, int]:
    """The reverse of `as_json`.

    Raises:
        IllegalOption: the checkpoint was begun under another name of `reprocess`.
    """
    begun = next(iter(told.get(REPROCESS, {})), "")
    if begun != reprocess:
        was = f"with reprocess={begun}" if begun else "without reprocess"
        remedy = f"reprocess={begun}" if begun else "no reprocess"
        raise IllegalOption(
            f"source: reprocess is {reprocess!r}, and the checkpoint was begun {was}; positions of the two are in "
            f"different groups. Legal is {remedy} for source and sink, or a new checkpoint"
        )
    return {
        (topic, int(each)): int(offset)
        for topic, rest in told.items()
        if not topic.startswith("@")
        for each, offset in rest.items()
    }


def ranges(start: Mapping[Place, int], end: Mapping[Place, int], at_least: int = 0, most: int = NONE) -> list[Range]:
    """The offsets to read, in order, as tasks: one for each partition of the log, or several (`split`)."""
    return split(
        [Range(*place, start[place], past) for place, past in end.items() if past > start[place]], at_least, most
    )


def split(whole: list[Range], at_least: int, most: int) -> list[Range]:
    """Ranges cut into pieces, in order, as Spark's Kafka source does.

    A piece has at most `most` offsets (NONE: no limit; `maxRecordsPerPartition`). If there are fewer pieces than
    `at_least` (`minPartitions`), the large ones are cut again, in proportion, to about that number.
    """
    pieces = whole
    if most != NONE:
        pieces = [piece for each in whole for piece in _cut(each, -(-_size(each) // most))]
    if len(pieces) >= at_least:
        return pieces
    total = sum(map(_size, pieces))
    large = [_count(_size(each), total, at_least) > 1 for each in pieces]
    rest = sum(_size(each) for each, is_large in zip(pieces, large, strict=True) if is_large)
    wanted = max(at_least - large.count(False), 1)
    return [
        piece
        for each, is_large in zip(pieces, large, strict=True)
        for piece in _cut(each, _count(_size(each), rest, wanted) if is_large else 1)
    ]


def _size(given: Range) -> int:
    return given.past - given.first


def _count(size: int, total: int, wanted: int) -> int:
    return max(1, int(size / total * wanted + 0.5))


def _cut(whole: Range, count: int) -> list[Range]:
    size, count = _size(whole), min(count, _size(whole))
    cuts = [whole.first + size * number // count for number in range(count + 1)]
    return [replace(whole, first=first, past=past) for first, past in pairwise(cuts)]


def rows_of(options: SourceOptions, given: InputPartition) -> Iterator[pa.RecordBatch]:
    """The committed records of a range, as batches of Arrow's. Where there are no ranges, Spark asks for another one.

    Rows of a source that may split partitions name no task: two tasks that commit offsets of one partition would
    overtake each other, so mode *partition* of the sink refuses rows that no single task has read.
    """
    if not isinstance(given, Range):
        return
    place, task = (given.topic, given.partition), NONE if options.may_split else this_attempt().task
    garbage.spared()
    waiting: list[Any] = []
    size = 0
    losses = Losses(fail=options.fail_on_data_loss)
    for messages in read(
        options.settings,
        group_of(options),
        place,
        given.first,
        given.past,
        options.poll_timeout_s,
        losses,
        options.retries,
    ):
        waiting += messages
        size += sum(map(len, messages))  # the lengths of their values
        if len(waiting) >= ROWS or size >= MOST_BYTES:
            yield _batch(options, place, task, waiting)
            waiting, size = [], 0
    if waiting:
        yield _batch(options, place, task, waiting)


def _batch(options: SourceOptions, place: Place, task: int, messages: list[Any]) -> pa.RecordBatch:
    with garbage.paused():
        return _columns(options, place, task, messages)


def _microseconds(place: Place, stamps: Any) -> Any:
    """Kafka's timestamps as Spark has them; null where there is none.

    Raises:
        RangeNotRead: Spark cannot have one.
    """
    latest = pc.max(stamps).as_py()
    if latest > MOST_MS:
        raise RangeNotRead(
            f"source: the timestamp of a record of {named([place])} is {latest} ms since 1970, and Spark has none "
            f"later than {MOST_MS}; begin after that record, with a new checkpoint and startingOffsets"
        )
    there = pc.if_else(pc.equal(stamps, NO_TIMESTAMP), pa.scalar(None, pa.int64()), stamps)
    return pc.multiply(there, 1000).cast(pa.timestamp("us", tz="UTC"))


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
        _microseconds(place, pa.array([at for _, at in stamps], pa.int64())),
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


def group_of(options: SourceOptions) -> str:
    """The group under which a client asks brokers."""
    return options.group or "zombieproof"


def places_of(batches: MicroBatches, options: SourceOptions, known: frozenset[str] = frozenset()) -> list[Place]:
    """The partitions that the options name.

    A topic of `known` may be missing if deleted records are to be skipped.

    Raises:
        NoSuchTopic: the brokers do not have a topic.
        IllegalOption: they do not have a partition of it.
    """
    if options.pattern:
        return batches.matching(options.pattern)
    found = []
    for topic in options.topics:
        try:
            found += batches.partitions([topic])
        except NoSuchTopic:
            if options.fail_on_data_loss or topic not in known:
                raise
    if not options.assigned:
        return found
    if absent := [each for each in options.assigned if each not in found and each[0] not in known]:
        raise IllegalOption(
            f"source: assign names {named(absent)}, which the brokers do not have; legal are partitions that are there"
        )
    return [each for each in options.assigned if each in found]


def resolved(
    batches: MicroBatches, bound: Bound, places: list[Place], asked: list[Place], unmatched: Unmatched
) -> tuple[dict[Place, int], list[Place]]:
    """Resolve words and timestamps to offsets, for those of `places` in `asked`; also which of them begin at the end.

    Raises:
        IllegalOption: a bound for each partition names one that is not there, or leaves one out; or no record matches
            a timestamp.
    """
    value = bound.value
    if isinstance(value, int):
        said = dict.fromkeys(asked, value)
    else:
        if strange := sorted(set(value) - set(places)):
            raise IllegalOption(
                f"source: {bound.option}: offsets are given for {named(strange)}, which the brokers do not have; leave "
                "them out"
            )
        if missing := sorted(set(places) - set(value)):
            raise IllegalOption(
                f"source: {bound.option} leaves out {named(missing)}; legal is a value for every partition that is "
                "read (as an offset, -2 is earliest and -1 latest)"
            )
        said = {place: value[place] for place in asked}
    if bound.is_timestamp:
        found = batches.offsets_at(said)
        late = sorted(place for place, offset in found.items() if offset == NONE)
        if late and unmatched == Unmatched.ERROR:
            raise IllegalOption(
                f"source: {bound.option}: {named(late)} has no record from timestamp {said[late[0]]} on; legal is an "
                "earlier timestamp, or startingOffsetsByTimestampStrategy=latest to begin at the end"
            )
        said = {place: LATEST if offset == NONE else offset for place, offset in found.items()}
    at_end = sorted(place for place, offset in said.items() if offset == LATEST)
    for place, offset in said.items():
        if offset in (EARLIEST, LATEST):
            said[place] = batches.ends(place)[0 if offset == EARLIEST else 1]
    return said, at_end


def ranges_left(
    batches: MicroBatches,
    losses: Losses,
    begins: Mapping[Place, int],
    ends: Mapping[Place, int],
    firsts: Mapping[Place, int],
) -> dict[Place, int]:
    """Where to begin in each partition, past what is deleted; `firsts` are the first offsets that are known already.

    Raises:
        RangeNotRead, NoSuchTopic: records are deleted, and that is to fail the query.
    """
    found = dict(begins)
    for place, past in ends.items():
        begin = begins[place]
        if begin >= past:
            continue
        try:
            first = firsts[place] if place in firsts else batches.ends(place)[0]
        except NoSuchTopic:
            if losses.fail:
                raise
            first = past
        if first > begin:
            found[place] = min(first, past)
            losses.skip(place, begin, found[place])
    return found


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The reader of a streaming query: on the driver it plans, in tasks it reads."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._forget()

    def _forget(self) -> None:
        """Everything that the driver alone knows."""
        self._batches: MicroBatches | None = None
        self._losses = Losses(fail=self._options.fail_on_data_loss)
        self._initial: dict[str, dict[str, Any]] | None = None
        self._is_resumed = False
        self._begins_at_the_end = False
        self._target: dict[Place, int] | None = None
        self._new: dict[Place, int] = {}
        self._gone: set[Place] = set()
        self._firsts: dict[Place, int] = {}
        self._latest: dict[str, dict[str, Any]] | None = None
        self._has_seen_the_sink = not self._options.reprocess
        self._triggered_s: float | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Tasks get the options alone."""
        return {"_options": self._options}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Begin as one that has seen nothing."""
        self._options = state["_options"]
        self._forget()

    def _connected(self) -> MicroBatches:
        if self._batches is None:
            self._batches = self._made()
            warn_of_ignored(self._options)
        return self._batches

    def _made(self) -> MicroBatches:
        options = self._options
        return MicroBatches(options.settings, options.group, options.retries, options.progress_topic)

    def _resume(self) -> None:
        """Without a call of `initialOffset` before, a checkpoint says where the query begins: log that once."""
        if self._initial is None and not self._is_resumed:
            self._is_resumed = True
            self._warn_of_start("the checkpoint says where the query begins")

    def _warn_of_start(self, reason: str) -> None:
        if self._options.starting.is_given:
            LOGGER.warning(
                "source: %s is ignored: %s. To read again from there, use a new checkpoint and reprocess=NAME, the "
                "same for source and sink",
                self._options.starting.option,
                reason,
            )

    def _json(self, offsets: Mapping[Place, int], topic_ids: Mapping[str, str]) -> dict[str, dict[str, Any]]:
        ids = {name: each for name, each in topic_ids.items() if each}
        found = as_json(offsets, self._options.reprocess, ids, self._connected().progress_ids)
        return found | {GROUP: {self._options.group: 0}}

    def _from_json(self, told: Offsets) -> dict[Place, int]:
        return from_json(told, self._options.reprocess)

    def _same_topics(self, told: Offsets, topics: Iterable[str]) -> dict[str, str]:
        """Return the ids of topics, after a look whether they are those of the offsets of a checkpoint.

        Raises:
            TopicRemade: one is another; also with failOnDataLoss=false, because its records would be skipped.
        """
        now = self._connected().topic_ids(sorted(set(topics)))
        before = dict(told.get(TOPIC_IDS, {}))
        for topic, then in before.items():
            if now.get(topic, then) not in (then, ""):
                raise TopicRemade(
                    f"source: the checkpoint has offsets of topic {topic} with id {then}, and its id is {now[topic]}. "
                    f"{REMADE}"
                )
        return before | now

    @reason_first
    def initialOffset(self) -> dict[str, dict[str, Any]]:  # noqa: N802  # Spark's name
        """Where a query without a checkpoint begins: at what its group has committed, else as it is told.

        Spark asks twice: when it plans the first micro-batch, and when it runs it.
        """
        if self._initial is None:
            batches, options = self._connected(), self._options
            places = places_of(batches, options)
            warn_of_no_topic(options, places)
            topic_ids = batches.topic_ids(sorted({topic for topic, _ in places}))
            committed = batches.committed(places)
            fresh = [place for place in places if committed[place] == NONE]
            placed = [place for place in places if committed[place] != NONE]
            told, at_end = resolved(batches, options.starting, places, fresh, options.unmatched)
            self._begins_at_the_end = at_end != []
            if isinstance(options.starting.value, Mapping) and not options.starting.is_timestamp:
                _refuse_beyond(options, told, {place: batches.ends(place)[1] for place in told})
            if at_end:
                _refuse_latest(options, at_end, placed if batches.is_of_a_sink else batches.written_elsewhere(places))
            begins = batches.begin({**committed, **told}, committed)
            self._initial = self._json(begins, topic_ids) | {BEGUN: as_json(begins)}
            if placed:
                self._initial[CONTINUED] = {options.group: as_json({place: begins[place] for place in placed})}
            if placed:
                self._warn_of_start(f"group {options.group} has committed offsets of {named(placed)}")
        return self._initial

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  # Spark's name
        """How much a micro-batch reads; `Trigger.Once` asks for everything nevertheless."""
        if self._options.most != NONE:
            return ReadMaxRows(self._options.most)
        return ReadMinRows(self._options.least) if self._options.least else ReadAllAvailable()

    @reason_first
    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  # Spark's name
        """What is decided now is all that this query reads."""
        batches = self._connected()
        places = places_of(batches, self._options, frozenset(self._options.topics))
        self._target = {place: batches.last_stable_offset(place) for place in places}

    @reason_first
    def latestOffset(self, start: dict[str, dict[str, Any]], limit: ReadLimit) -> dict[str, dict[str, Any]]:  # noqa: N802  # Spark's name
        """Where the next micro-batch ends: below the last stable offset, and within the limits.

        Limits are offsets, which are more than rows: markers and aborted records have some too.

        The first micro-batch of a query that begins at the end has nothing in it. Spark keeps where each one ends, and
        so where the next begins; where the first began it asks again when it runs it again, and *latest* is another
        place by then.
        """
        self._resume()
        if self._begins_at_the_end:
            self._begins_at_the_end = False
            return start
        batches, positions = self._connected(), self._from_json(start)
        if not batches.places:
            batches.resume(positions)
        if batches.is_planned:
            batches.finish()
            self._look_for_the_sink(positions)
        places = self._places(positions)
        positions |= self._begin_new([place for place in places if place not in positions])
        ends = self._ends(positions, places)
        topic_ids = self._same_topics(start, (topic for topic, _ in places))
        self._latest = self._json(ends, topic_ids)
        if self._waits(sum(max(0, ends[place] - at) for place, at in positions.items()), limit):
            return start
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else NONE
        planned = batches.plan(positions, most, ends)
        if planned == positions:
            batches.finish()
            if planned == self._from_json(start):
                return start
        offsets = self._json(planned, topic_ids) | _beginning(start, positions)
        if start == self._initial or len(positions) > len(self._from_json(start)):
            offsets[INITIAL] = as_json(positions, self._options.reprocess)
        return offsets

    def _look_for_the_sink(self, positions: Mapping[Place, int]) -> None:
        """After the first micro-batch of a reprocessing: warn if no sink has committed offsets in the group of it."""
        if self._has_seen_the_sink:
            return
        self._has_seen_the_sink = True
        if set(self._connected().committed(list(positions)).values()) <= {NONE}:
            LOGGER.warning(
                "source: reprocess is %s, and after a micro-batch no sink has committed offsets under group %s. If the "
                "query writes by format zombieproof and its sink is not given reprocess=%s, the sink takes the rows "
                "for already written: stop the query and add the option to the sink. With another sink, or if no row "
                "was left to write, nothing is wrong",
                self._options.reprocess,
                self._options.group,
                self._options.reprocess,
            )

    def _places(self, positions: Mapping[Place, int]) -> list[Place]:
        """The partitions to read. Those of `positions` that are gone are data loss, and so never come back.

        Raises:
            RangeNotRead: partitions are gone, and that is to fail the query; or they came back.
        """
        if self._target is not None:
            places = list(self._target)
        else:
            places = places_of(self._connected(), self._options, frozenset(topic for topic, _ in positions))
        gone = set(positions) - set(places)
        remedy = "begin with a new checkpoint and reprocess=NAME (or a new group) to read what is there now"
        if back := sorted(self._gone - gone):
            raise RangeNotRead(f"{named(back)}: the topic was deleted and created again; {remedy}")
        if gone and self._losses.fail:
            raise RangeNotRead(
                f"{named(sorted(gone))}: the checkpoint has positions of it, and it is deleted or no longer named by "
                f"the options, so records of it may be lost; {remedy}, or set failOnDataLoss=false to continue without "
                "it"
            )
        for place in sorted(gone - self._gone):
            LOGGER.warning(
                "source: %s is deleted or no longer named by the options: its records from offset %d on are lost (how "
                "many is unknown); failOnDataLoss is false, so the query continues without it",
                named([place]),
                positions[place],
            )
        self._gone = gone
        return places

    def _begin_new(self, new: list[Place]) -> dict[Place, int]:
        """Where partitions begin that were found while the query runs; each is placed once."""
        batches = self._connected()
        if found := [place for place in new if place not in self._new]:
            committed = batches.committed(found, by_sinks=True)
            self._new |= batches.begin(dict.fromkeys(found, 0), committed)
        return {place: self._new[place] for place in new}

    def _ends(self, positions: Mapping[Place, int], places: list[Place]) -> dict[Place, int]:
        """How far each partition can be read; a partition that is gone ends where it was read to."""
        if self._target is not None:
            return {place: self._target.get(place, at) for place, at in positions.items()}
        looked = {place: self._connected().ends(place) for place in places}
        self._firsts = {place: first for place, (first, _) in looked.items()}
        return {place: looked[place][1] if place in looked else at for place, at in positions.items()}

    def _waits(self, available: int, limit: ReadLimit) -> bool:
        """Whether a micro-batch waits for more offsets (`minOffsetsPerTrigger`); `Trigger.AvailableNow` never does."""
        if self._target is not None or isinstance(limit, ReadAllAvailable) or not available:
            return False
        now, last = time.monotonic(), self._triggered_s
        if available < self._options.least and last is not None and now - last < self._options.delay_s:
            return True
        self._triggered_s = now
        return False

    def reportLatestOffset(self) -> dict[str, dict[str, Any]] | None:  # noqa: N802  # Spark's name
        """The last stable offsets when the last micro-batch was planned, which the query's progress shows."""
        return self._latest

    @reason_first
    def partitions(self, start: dict[str, dict[str, Any]], end: dict[str, dict[str, Any]]) -> list[Range]:
        """The tasks of a micro-batch; a partition of the log that is new begins with what is there of it."""
        self._resume()
        self._begins_at_the_end = False  # the first one is planned, maybe by a driver that died
        begins, ends = self._from_json(end.get(INITIAL, start)), self._from_json(end)
        self._same_topics(end, (topic for topic, _ in ends))
        batches, options = self._connected(), self._options
        if new := [place for place in ends if place not in begins]:
            begins |= {place: max(at, 0) for place, at in batches.committed(new, by_sinks=True).items()}
        firsts, self._firsts = self._firsts, {}
        begins = ranges_left(batches, self._losses, begins, ends, firsts)
        return ranges(begins, ends, options.min_partitions, options.most_of_a_task)

    @reason_first_in
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The committed records of a range."""
        return rows_of(self._options, partition)

    def commit(self, end: dict[str, dict[str, Any]]) -> None:
        """Nothing: positions are committed by the sink, together with the rows."""

    def stop(self) -> None:
        """Let go of the client."""
        if self._batches is not None:
            self._batches.close()
            self._batches = None


def _beginning(start: Offsets, positions: Mapping[Place, int]) -> dict[str, dict[str, Any]]:
    """Where the query began, as the last offsets say it, and partitions that are new; {} if they do not say it."""
    if BEGUN not in start:
        return {}
    begun = as_json({**positions, **from_json(start[BEGUN])})
    return {BEGUN: begun} | ({CONTINUED: dict(start[CONTINUED])} if CONTINUED in start else {})


def _refuse_latest(options: SourceOptions, late: list[Place], placed: list[Place]) -> None:
    """Check that a query that has lost its checkpoint does not skip the records of a partition without a position.

    Raises:
        IllegalOption: it would begin at the end of one.
    """
    if late and placed:
        here = [place for place in placed if place[0] in {topic for topic, _ in late}]
        offsets = json.dumps(as_json({**dict.fromkeys(here, LATEST), **dict.fromkeys(late, 0)}))
        raise IllegalOption(
            f"source: {options.starting.option} is latest for {named(late)}, of which group {options.group} has no "
            f"position, while a sink has committed that of {named(placed)}. So the query has run before, without a "
            "checkpoint now, and records since then would be skipped. Bring back the checkpoint; or use a new group; "
            f"or set startingOffsets to earliest, or to offsets like {offsets} (those of partitions with a position "
            "are ignored)"
        )


def _refuse_beyond(options: SourceOptions, told: Mapping[Place, int], ends: Mapping[Place, int]) -> None:
    """Check that no partition begins beyond its end.

    Raises:
        IllegalOption: one does.
    """
    for place, offset in told.items():
        if offset > ends[place]:
            raise IllegalOption(
                f"source: {options.starting.option} is {offset} for {named([place])}, which is decided up to "
                f"{ends[place]} only; legal is at most that"
            )


def warn_of_ignored(options: SourceOptions) -> None:
    """Log the options that have no effect."""
    for each in options.ignored:
        LOGGER.warning("source: option is ignored: %s", each)


def warn_of_no_topic(options: SourceOptions, places: list[Place]) -> None:
    """Log that a pattern matches no topic, which is legal: a topic may come later."""
    if not places:
        LOGGER.warning("source: no topic matches subscribePattern %r, so there is nothing to read", options.pattern)


class BatchReader(DataSourceReader):
    """The reader of a batch query."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    @reason_first
    def partitions(self) -> list[Range]:
        """The tasks of the query; committed offsets of its group are not read.

        Raises:
            IllegalOption: a partition ends above what is decided, or before it begins.
        """
        options = self._options
        warn_of_ignored(options)
        batches = MicroBatches(options.settings, group_of(options), options.retries, options.progress_topic)
        try:
            places = places_of(batches, options)
            warn_of_no_topic(options, places)
            start, _ = resolved(batches, options.starting, places, places, options.unmatched)
            end, _ = resolved(batches, options.ending, places, places, Unmatched.LATEST)
            firsts = {}
            for place, past in end.items():
                firsts[place], stable = batches.ends(place)
                if past > stable:
                    raise IllegalOption(
                        f"source: {options.ending.option} is {past} for {named([place])}, where everything is decided "
                        f"below {stable} only; legal is at most that, or latest"
                    )
                if start[place] > past:
                    raise IllegalOption(
                        f"source: {options.starting.option} begins {named([place])} at {start[place]}, and "
                        f"{options.ending.option} ends it at {past}; legal is a start that is not after the end"
                    )
            start = ranges_left(batches, Losses(fail=options.fail_on_data_loss), start, end, firsts)
            return ranges(start, end, options.min_partitions, options.most_of_a_task)
        finally:
            batches.close()

    @reason_first_in
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The committed records of a range."""
        return rows_of(self._options, partition)
