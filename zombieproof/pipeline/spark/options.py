"""Options of the source and of the sink: Kafka's names where they mean the same, and a clear word on all others."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar

from zombieproof.model.vocabulary import NONE
from zombieproof.pipeline.kafka import OURS, checked
from zombieproof.pipeline.progress_topic import TOPIC
from zombieproof.pipeline.reader import RETRIES, Place, Retries
from zombieproof.pipeline.topic_pattern import IllegalPattern, topic_pattern

KAFKA: Final = "kafka."
EARLIEST: Final = -2
LATEST: Final = -1
"""Kafka's numbers for the two ends of a log, also in options."""
WORDS: Final = {"earliest": EARLIEST, "latest": LATEST}

W = TypeVar("W", bound=Enum)

Offsets = int | Mapping[Place, int]
"""`EARLIEST` or `LATEST` for all partitions, or an offset (or one of the two) for each."""


class IllegalOption(ValueError):
    """An option that cannot be what it is."""


class Mode(Enum):
    """How a micro-batch is written."""

    BATCH = "batch"
    """One transaction for each micro-batch, by the driver: any plan."""
    PARTITION = "partition"
    """One transaction for each partition of the source, by the task that read it: narrow plans."""


class By(Enum):
    """By what the sink knows whether rows were written before."""

    SOURCE = "source"
    """Rows carry where they were read."""
    BATCH = "batch"
    """The number of the micro-batch within its query."""


class Unmatched(Enum):
    """Where a partition begins that has no record from a starting timestamp on."""

    ERROR = "error"
    """Nowhere: the query fails."""
    LATEST = "latest"
    """At its end."""


@dataclass(frozen=True, slots=True)
class Bound:
    """Where a query begins or ends.

    Attributes:
        option: the option that says so.
        value: an offset or a timestamp for all partitions, or for each.
        is_timestamp: whether values are timestamps (ms since 1970).
        is_given: whether the user set the option; False for a default.
    """

    option: str
    value: Offsets
    is_timestamp: bool = False
    is_given: bool = True

    @property
    def is_latest(self) -> bool:
        """Whether a partition may begin at its end."""
        values = (self.value,) if isinstance(self.value, int) else self.value.values()
        return not self.is_timestamp and LATEST in values


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """The options of a source.

    Attributes:
        settings: of the client (Kafka's names without ``kafka.``).
        group: whose committed positions are where a query without a checkpoint begins; "" for a batch without one.
        topics: of `subscribe` and of `assign`.
        assigned: the partitions of `assign`; empty without it.
        pattern: of `subscribePattern`; "" without it.
        starting: where partitions begin of which the group has committed nothing.
        unmatched: where they begin if no record matches the starting timestamp.
        ending: where a batch query ends.
        most: offsets in one micro-batch, over all partitions; NONE: no limit.
        least: offsets that a micro-batch waits for, over all partitions; 0: it does not wait.
        delay_s: how long it waits for them.
        min_partitions: the least number of tasks of a micro-batch, about; 0: one task for each partition of the log.
        most_of_a_task: offsets that one task reads; NONE: no limit.
        fail_on_data_loss: whether deleted records are an error, and not skipped with a warning.
        retries: of calls to the brokers.
        poll_timeout_s: how long a task waits for records.
        headers: whether rows have them.
        source: whether rows have the column `source`.
        reprocess: the name of a reprocessing, which is part of `group`; "": there is none.
        progress_topic: the compacted topic that keeps committed positions when the group has lost them.
        ignored: options that have no effect, with the reason.
    """

    settings: Mapping[str, Any]
    group: str
    topics: tuple[str, ...]
    assigned: tuple[Place, ...]
    pattern: str
    starting: Bound
    unmatched: Unmatched
    ending: Bound
    most: int
    least: int
    delay_s: float
    min_partitions: int
    most_of_a_task: int
    fail_on_data_loss: bool
    retries: Retries
    poll_timeout_s: float
    headers: bool
    source: bool
    reprocess: str
    progress_topic: str
    ignored: tuple[str, ...]

    @property
    def may_begin_at_end(self) -> bool:
        """Whether a partition without a position may begin at its end, which is another offset next time."""
        return self.starting.is_latest or (self.starting.is_timestamp and self.unmatched == Unmatched.LATEST)

    @property
    def may_split(self) -> bool:
        """Whether several tasks may read one partition of the log."""
        return self.min_partitions > 0 or self.most_of_a_task != NONE


class Started(NamedTuple):
    """What is known of the run of a query when it starts.

    Attributes:
        run: names it; "": not known.
        newest: the newest batch of the checkpoint; NONE: it has none; None: not known.
        progress_id: the id of the progress topic when that batch was planned; "": not known.
        source_ids: the ids of topics that are read in another cluster, by `foreign` name.
    """

    run: str = ""
    newest: int | None = None
    progress_id: str = ""
    source_ids: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class SinkOptions:
    """What a sink is told.

    Attributes:
        settings: of the client.
        group: the group whose positions are committed together with the rows.
        transactional_id: of the driver; in mode *partition* topic and partition of the source are added to it.
        topic: where rows go; "": the column `topic` says it.
        mode: who commits.
        by: by what rows written before are known.
        name: of the sink; its default is made of plan and output.
        query: id of the query, where Spark does not tell it (batch queries by *batch*).
        batch: number of the batch, there.
        inline: so many bytes of rows a task sends to the driver; more are staged in a file.
        staging: a folder that driver and executors share; "": the one for temporary files.
        deadline_s: time for one delivery.
        report_to: the first part of the names of files with the counts of commits; "": they are not wanted.
        timestamp: whether column `timestamp` is the timestamp of records.
        progress_topic: the compacted topic that keeps committed positions when the group has lost them.
        started: what is known of this run of the query.
    """

    settings: Mapping[str, Any]
    group: str
    transactional_id: str
    topic: str
    mode: Mode
    by: By
    name: str
    query: str
    batch: int
    inline: int
    staging: str
    deadline_s: float
    report_to: str
    timestamp: bool
    progress_topic: str
    started: Started


CHOICES: Final = ("assign", "subscribe", "subscribePattern")
"""Options that say which topics are read; a source has exactly one of them."""
STARTS: Final = ("startingTimestamp", "startingOffsetsByTimestamp", "startingOffsets")
ENDS: Final = ("endingTimestamp", "endingOffsetsByTimestamp", "endingOffsets")
"""The first one that is given counts, as in Spark's own source."""
OF_STREAMS: Final = ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay")
SOURCE_NAMES: Final = (
    *CHOICES,
    *STARTS,
    "startingOffsetsByTimestampStrategy",
    *ENDS,
    *OF_STREAMS,
    "minPartitions",
    "maxRecordsPerPartition",
    "failOnDataLoss",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "kafkaConsumer.pollTimeoutMs",
    "groupIdPrefix",
    "includeHeaders",
    "includeSource",
    "reprocess",
    "progressTopic",
)
WITHOUT_MEANING: Final = {
    "kafka.auto.offset.reset": "it would skip deleted records without a word: use startingOffsets and failOnDataLoss",
    "kafka.key.deserializer": "keys are columns of bytes: cast them in the query",
    "kafka.value.deserializer": "values are columns of bytes: cast them in the query",
    "kafka.interceptor.classes": "interceptors are classes of Java, and this source runs in Python: transform the rows",
}
"""Options of Spark's Kafka source that have no meaning here, with what to do instead."""
UNITS_MS: Final = {
    "us": 0.001,
    "ms": 1,
    "s": 1000,
    "m": 60_000,
    "min": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
}
"""Units of times as Spark reads them; a number without one is in milliseconds."""
SINK_NAMES: Final = (
    "topic",
    "name",
    "mode",
    "exactlyOnceBy",
    "queryId",
    "batchId",
    "includeTimestamp",
    "inlineBytes",
    "stagingDirectory",
    "deadlineMs",
    "checkpointLocation",
    "queryName",
    "path",
    "reprocess",
    "progressTopic",
)
"""`checkpointLocation`, `queryName` and `path` are Spark's own, which it hands down to every sink."""
LONGEST_NAME: Final = 500
"""Bytes: brokers limit the metadata of a position to 4096 in all (`offset.metadata.max.bytes`)."""
STAGING_SCHEMES: Final = {
    **{each: each for each in ("file", "hdfs", "viewfs", "gs", "abfs", "abfss", "s3")},
    "s3a": "s3",
    "s3n": "s3",
    "dbfs": "file",
}
"""Spark's schemes of file systems, and those of Arrow."""
LOCAL_SCHEMES: Final = {"file": "", "dbfs": "/dbfs"}
"""Those of folders that each machine has, and where it has them. What follows is a path, and not encoded."""
STAGING_URI: Final = re.compile(r"(?P<scheme>[a-zA-Z][a-zA-Z0-9+.-]+):(?P<rest>/.*)")
CHECKED: Final = "zombieproof.checked"
"""An option that `starting` adds after it has checked options, columns and plan: the default name of the sink."""
REPORT_TO: Final = "zombieproof.report.to"
"""An option that `starting` adds: the first part of the names of files with the counts of commits (`progress`)."""

NO_TOPIC: Final = "column topic"
"""Stands for the output in the name of a sink whose rows say it."""
STARTED: Final = "zombieproof.started"
"""An option that `starting` adds: `Started`, as JSON."""


def source_options(given: Mapping[str, str], *, streaming: bool) -> SourceOptions:
    """The options of a source; names are without case.

    Raises:
        IllegalOption, IllegalSetting: one is missing, unknown or cannot be what it is.
    """
    options = _Options("source", given, SOURCE_NAMES)
    for name, reason in WITHOUT_MEANING.items():
        if name in options:
            raise IllegalOption(f"source: {name} has no meaning here; leave it out, {reason}")
    topics, assigned, pattern = options.topics()
    starting = options.bound(STARTS, "latest" if streaming else "earliest", topics, assigned)
    ending = options.bound(ENDS, "latest", topics, assigned)
    if streaming:
        for name in ENDS:
            if name in options:
                raise IllegalOption(
                    f"source: {name} is for batch queries; a streaming one ends by Trigger.AvailableNow: leave it out"
                )
    else:
        _refuse_bounds_of_a_batch(starting, ending)
    most = options.number("maxOffsetsPerTrigger", NONE, least=1)
    least = options.number("minOffsetsPerTrigger", 0, least=0)
    if NONE < most < least:
        raise IllegalOption(
            f"source: minOffsetsPerTrigger is {least}, above maxOffsetsPerTrigger, which is {most}; legal is a minimum "
            "that is not above the maximum"
        )
    group, settings = options.settings(needs_group=streaming, why="its committed positions are where a query begins")
    retries = Retries(
        options.number("fetchOffset.numRetries", RETRIES.count, least=0),
        options.number("fetchOffset.retryIntervalMs", round(RETRIES.interval_s * 1000), least=0) / 1000,
    )
    prefix = options.text("groupIdPrefix")
    return SourceOptions(
        settings=settings,
        group=group or (f"{prefix}-zombieproof" if prefix else ""),
        topics=topics,
        assigned=assigned,
        pattern=pattern,
        starting=starting,
        unmatched=options.word("startingOffsetsByTimestampStrategy", Unmatched, Unmatched.ERROR),
        ending=ending,
        most=most,
        least=least,
        delay_s=options.time_s("maxTriggerDelay", "15m"),
        min_partitions=options.number("minPartitions", 0, least=1),
        most_of_a_task=options.number("maxRecordsPerPartition", NONE, least=1),
        fail_on_data_loss=options.truth("failOnDataLoss", otherwise=True),
        retries=retries,
        poll_timeout_s=options.number("kafkaConsumer.pollTimeoutMs", round(retries.total_s * 1000), least=1) / 1000,
        headers=options.truth("includeHeaders"),
        source=options.truth("includeSource"),
        reprocess=options.text("reprocess"),
        progress_topic=options.progress_topic(),
        ignored=tuple(_ignored(options, starting, ending, streaming=streaming)),
    )


def _refuse_bounds_of_a_batch(starting: Bound, ending: Bound) -> None:
    if not starting.is_timestamp and LATEST in _values(starting):
        raise IllegalOption(
            "source: startingOffsets is latest, of which a batch query reads nothing; legal is earliest, or JSON with "
            "offsets or -2"
        )
    if not ending.is_timestamp and EARLIEST in _values(ending):
        raise IllegalOption(
            "source: endingOffsets says earliest, before which nothing is; legal is latest, or JSON with offsets or -1"
        )


def _values(bound: Bound) -> tuple[int, ...]:
    return (bound.value,) if isinstance(bound.value, int) else tuple(bound.value.values())


def _ignored(options: "_Options", starting: Bound, ending: Bound, *, streaming: bool) -> list[str]:
    """Options that are given and have no effect, as in Spark's own source, with the reason."""
    found = []
    for names, bound in ((STARTS, starting), (ENDS, ending)):
        later = names[names.index(bound.option) + 1 :]
        found += [f"{name}: {bound.option} is given and takes precedence" for name in later if name in options]
    if not streaming:
        found += [f"{name}: this is a batch query, which has no triggers" for name in OF_STREAMS if name in options]
    elif "maxTriggerDelay" in options and "minOffsetsPerTrigger" not in options:
        found.append("maxTriggerDelay: minOffsetsPerTrigger is not given, so no micro-batch waits")
    if "groupIdPrefix" in options and options.text("kafka.group.id"):
        found.append("groupIdPrefix: kafka.group.id is given and takes precedence")
    if "startingOffsetsByTimestampStrategy" in options and not starting.is_timestamp:
        found.append("startingOffsetsByTimestampStrategy: no starting timestamp is given")
    return found


def sink_options(given: Mapping[str, str], *, streaming: bool) -> SinkOptions:
    """The options of a sink; names are without case.

    Raises:
        IllegalOption, IllegalSetting: one is missing, unknown or cannot be what it is.
    """
    options = _Options("sink", given, SINK_NAMES)
    transactional_id = options.text("kafka.transactional.id")
    group, settings = options.settings(needs_group=True, why="positions are committed under it together with the rows")
    topic, name = options.text("topic"), options.text("name")
    if len(name.encode()) > LONGEST_NAME:
        raise IllegalOption(
            f"sink: name has {len(name.encode())} bytes; legal are {LONGEST_NAME}, because each position keeps it"
        )
    mode = options.word("mode", Mode, Mode.BATCH)
    by = options.word("exactlyOnceBy", By, By.SOURCE)
    query, batch = options.text("queryId"), options.number("batchId", NONE, least=0)
    if streaming and (query or batch != NONE):
        raise IllegalOption(
            "sink: queryId and batchId are for batch queries; a streaming query has an id, and numbers its batches: a "
            "name of your own would take batches of a new checkpoint for those of the old one. Leave both out"
        )
    if by == By.BATCH and mode == Mode.PARTITION:
        raise IllegalOption(
            "sink: exactlyOnceBy is batch in mode partition, in which each task commits for itself; legal is mode "
            "batch: leave one of the two out"
        )
    if topic and topic == options.progress_topic():
        raise IllegalOption(
            f"sink: topic is {topic}, which keeps the positions of every write (progressTopic); legal is any other one"
        )
    if by == By.BATCH and not options.text("topic"):
        raise IllegalOption(
            "sink: exactlyOnceBy is batch, and option topic is missing: the number of the batch is committed as a "
            "position of that topic, which has to be the same for every batch; legal is one topic for all rows"
        )
    if by == By.BATCH and not streaming and (not query or batch == NONE):
        raise IllegalOption(
            "sink: exactlyOnceBy is batch, and nobody says which batch it is; legal is queryId (any text that stays "
            "the same) and batchId (a number that grows): say both, or use exactly_once in foreachBatch, which does"
        )
    return SinkOptions(
        settings,
        group,
        transactional_id or group,
        topic,
        mode,
        by,
        f"{topic or NO_TOPIC}/{name}" if name else options.text(CHECKED),
        query,
        batch,
        options.number("inlineBytes", 1 << 20, least=0),
        options.staging(),
        options.number("deadlineMs", round(RETRIES.total_s * 1000), least=1) / 1000,
        options.text(REPORT_TO),
        options.truth("includeTimestamp"),
        options.progress_topic(),
        Started(*json.loads(options.text(STARTED) or "[]")),
    )


_EXAMPLES: Final = {
    **{each: f"{each}:///folder/staging" for each in ("file", "hdfs", "viewfs", "dbfs")},
    **{each: f"{each}://bucket/staging" for each in ("s3", "s3a", "s3n", "gs")},
    **{each: f"{each}://container@account.dfs.core.windows.net/staging" for each in ("abfs", "abfss")},
}
"""A staging directory of each file system."""


class _Options:
    """Options as Spark gives them: texts, by names without case."""

    def __init__(self, subject: str, given: Mapping[str, str], names: tuple[str, ...]) -> None:
        self._subject = subject
        self._given = {name.lower(): str(value) for name, value in given.items()}
        legal = {name.lower() for name in (*names, CHECKED, REPORT_TO, STARTED)}
        if "provider" in self._given:
            raise IllegalOption(
                f"{subject}: a table of the catalog cannot have this format; read and write without CREATE TABLE, by "
                "spark.read, spark.readStream, df.write or df.writeStream"
            )
        for name in self._given:
            if name not in legal and not name.startswith(KAFKA):
                raise IllegalOption(
                    f"{subject}: there is no option {name}; legal are {', '.join(names)}, and settings of the client "
                    f"as {KAFKA}NAME (kafka.bootstrap.servers)"
                )

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._given

    def text(self, name: str) -> str:
        return self._given.get(name.lower(), "").strip()

    def word(self, name: str, words: type[W], otherwise: W) -> W:
        said = self.text(name).lower()
        if not said:
            return otherwise
        try:
            return words(said)
        except ValueError:
            legal = " or ".join(str(each.value) for each in words)
            raise IllegalOption(f"{self._subject}: {name} is {said!r}; legal is {legal}") from None

    def number(self, name: str, otherwise: int, least: int) -> int:
        said = self.text(name)
        if name not in self:
            return otherwise
        if not said.isdecimal() or int(said) < least:
            raise IllegalOption(f"{self._subject}: {name} is {said!r}; legal is a whole number from {least} on")
        return int(said)

    def truth(self, name: str, *, otherwise: bool = False) -> bool:
        said = self.text(name).lower() or str(otherwise).lower()
        if said not in ("true", "false"):
            raise IllegalOption(f"{self._subject}: {name} is {said!r}; legal is true or false")
        return said == "true"

    def time_s(self, name: str, otherwise: str) -> float:
        """A time with a unit, in seconds."""
        said = self.text(name).lower() or otherwise
        read = re.fullmatch(r"([0-9]+)([a-z]*)", said)
        if read is None or (read[2] or "ms") not in UNITS_MS:
            raise IllegalOption(
                f"{self._subject}: {name} is {said!r}; legal is a whole number with one of the units "
                f"{', '.join(UNITS_MS)} (15m), or without one for milliseconds"
            )
        return int(read[1]) * UNITS_MS[read[2] or "ms"] / 1000

    def staging(self) -> str:
        """The folder for rows that are staged.

        Raises:
            IllegalOption: nobody knows its file system, or it would be another one than is meant.
        """
        folder = self.text("stagingDirectory")
        scheme, colon, rest = folder.partition(":")
        if not colon or not re.fullmatch(r"[a-zA-Z][a-zA-Z0-9+.-]+", scheme):
            return folder
        subject = f"{self._subject}: stagingDirectory is {folder!r}"
        if scheme not in STAGING_SCHEMES:
            raise IllegalOption(
                f"{subject}, and {scheme}: is not a known file system; legal is a folder that driver and executors "
                f"share, also one that begins with {', '.join(f'{each}:' for each in STAGING_SCHEMES)}"
            )
        if not rest.startswith("/"):
            raise IllegalOption(f"{subject}, without a slash after {scheme}:; legal is {_EXAMPLES[scheme]}")
        if scheme in LOCAL_SCHEMES:
            if re.match("//[^/]", rest):
                raise IllegalOption(f"{subject}, which names a machine; legal is {_EXAMPLES[scheme]}, without a host")
            return folder
        address = rest.partition("?")[0]
        if re.search(r"[\s#]", rest):
            raise IllegalOption(
                f"{subject}, with a blank or a # in an address; legal is a folder without them, or %20 and %23 for them"
            )
        if scheme not in ("hdfs", "viewfs") and not re.match("//[^/]", address):
            raise IllegalOption(f"{subject}, without a bucket or container; legal is {_EXAMPLES[scheme]}")
        return folder

    def progress_topic(self) -> str:
        name = self.text("progressTopic") or TOPIC
        if not re.fullmatch("[A-Za-z0-9._-]{1,249}", name):
            raise IllegalOption(f"{self._subject}: progressTopic is {name!r}; legal is the name of a topic")
        return name

    def topics(self) -> tuple[tuple[str, ...], tuple[Place, ...], str]:
        """Topics, partitions and pattern; empty where the option does not name them."""
        said = [name for name in CHOICES if name in self]
        if len(said) != 1:
            raise IllegalOption(
                f"{self._subject}: {' and '.join(said) or 'none'} of {', '.join(CHOICES)} "
                f"{'are' if said else 'is'} given; legal is exactly one of them: subscribe=topic[,topic...], "
                'assign={"topic":[0,1]}, or subscribePattern=REGEX'
            )
        text = self.text(said[0])
        if said == ["assign"]:
            places = self._assigned(text)
            return tuple(dict.fromkeys(topic for topic, _ in places)), places, ""
        if said == ["subscribePattern"]:
            try:
                topic_pattern(text)
            except IllegalPattern as error:
                raise IllegalOption(f"{self._subject}: subscribePattern is {text!r}: {error}") from error
            if text:
                return (), (), text
        topics = tuple(dict.fromkeys(each.strip() for each in text.split(",") if each.strip()))
        if not topics:
            raise IllegalOption(
                f"{self._subject}: {said[0]} is missing: it names no topic; legal is topic[,topic...], or a pattern "
                "for subscribePattern: say what to read"
            )
        return topics, (), ""

    def _assigned(self, text: str) -> tuple[Place, ...]:
        try:
            places = [(topic, self._whole(each)) for topic, rest in json.loads(text).items() for each in rest]
            if not places:
                raise ValueError(text)
        except (ValueError, TypeError, AttributeError) as error:
            raise IllegalOption(
                f'{self._subject}: assign is {text!r}; legal is JSON as {{"topic":[0,1]}}, with one partition at least'
            ) from error
        return tuple(sorted(set(places)))

    def bound(
        self, names: tuple[str, ...], otherwise: str, topics: tuple[str, ...], assigned: tuple[Place, ...]
    ) -> Bound:
        """Where a query begins or ends, by the first of three options that is given."""
        timestamp, by_timestamp, offsets = names
        if timestamp in self:
            return Bound(timestamp, self.number(timestamp, 0, least=0), is_timestamp=True)
        if by_timestamp in self:
            legal = 'JSON as {"topic":{"0":1700000000000}} with timestamps in ms since 1970'
            value = self._of_places(by_timestamp, self._whole, legal, topics, assigned)
            return Bound(by_timestamp, value, is_timestamp=True)
        said = (self.text(offsets) or otherwise).lower()
        if said in WORDS:
            return Bound(offsets, WORDS[said], is_given=offsets in self)
        legal = 'earliest, latest, or JSON as {"topic":{"0":23,"1":-2}}, where -2 is earliest and -1 latest'
        return Bound(offsets, self._of_places(offsets, self._offset, legal, topics, assigned))

    def _of_places(
        self,
        name: str,
        read: Callable[[Any], int],
        legal: str,
        topics: tuple[str, ...],
        assigned: tuple[Place, ...],
    ) -> Mapping[Place, int]:
        said = self.text(name)
        try:
            found = {
                (topic, int(partition)): read(value)
                for topic, partitions in json.loads(said).items()
                for partition, value in partitions.items()
            }
        except (ValueError, TypeError, AttributeError) as error:
            raise IllegalOption(f"{self._subject}: {name} is {said!r}; legal is {legal}") from error
        for topic, partition in found:
            if topics and topic not in topics:
                raise IllegalOption(
                    f"{self._subject}: {name}: offsets are given for topic {topic}, which is not read; legal are "
                    f"{', '.join(topics)}"
                )
            if assigned and (topic, partition) not in assigned:
                raise IllegalOption(
                    f"{self._subject}: {name}: offsets are given for {topic}-{partition}, which is not assigned; legal "
                    f"are {', '.join(f'{each}-{at}' for each, at in assigned)}"
                )
        return found

    @staticmethod
    def _offset(said: Any) -> int:
        if isinstance(said, bool) or not isinstance(said, int) or said < EARLIEST:
            raise ValueError(said)
        return said

    @staticmethod
    def _whole(said: Any) -> int:
        if isinstance(said, bool) or not isinstance(said, int) or said < 0:
            raise ValueError(said)
        return said

    def settings(self, *, needs_group: bool, why: str) -> tuple[str, dict[str, Any]]:
        """The group, and the settings of the client without those that are ours."""
        found = {name.removeprefix(KAFKA): value for name, value in self._given.items() if name.startswith(KAFKA)}
        group = found.pop("group.id", "").strip()
        found.pop("transactional.id", None)
        if found.get("isolation.level") == "read_committed":
            del found["isolation.level"]
        for name in OURS:
            if name in found:
                raise IllegalOption(
                    f"{self._subject}: {KAFKA}{name} is {found[name]!r}, and is not to be set: what is exact rests on "
                    "it; leave it out"
                )
        if needs_group and not group:
            raise IllegalOption(
                f"{self._subject}: kafka.group.id is missing; legal is any name: {why}"
                + (", so a group that is generated from groupIdPrefix would not do" if "groupIdPrefix" in self else "")
            )
        name = self.text("reprocess")
        if "reprocess" in self and not re.fullmatch("[A-Za-z0-9._-]+", name):
            raise IllegalOption(
                f"{self._subject}: reprocess is {name!r}; legal is a name of letters, digits, '.', '_' and '-', the "
                "same for source and sink"
            )
        return f"{group}@{name}" if group and name else group, checked(found)
