"""Options of the source and of the sink: Kafka's names where they mean the same, and a clear word on all others."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, TypeVar

from zombieproof.model.vocabulary import NONE
from zombieproof.pipeline.kafka import OURS, checked
from zombieproof.pipeline.reader import Place

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


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """What a source is told.

    Attributes:
        settings: of the client (Kafka's names without ``kafka.``).
        group: whose committed positions are where a query without a checkpoint begins; "" for a batch without one.
        topics: which are read.
        starting: where partitions begin of which the group has committed nothing.
        ending: where a batch query ends.
        most: offsets in one micro-batch, over all partitions; NONE: no limit.
        headers: whether rows have them.
        source: whether rows have the column `source`.
    """

    settings: Mapping[str, Any]
    group: str
    topics: tuple[str, ...]
    starting: Offsets
    ending: Offsets
    most: int
    headers: bool
    source: bool


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
        query: id of the query, where Spark does not tell it (batch queries by *batch*).
        batch: number of the batch, there.
        inline: so many bytes of rows a task sends to the driver; more are staged in a file.
        staging: a folder that driver and executors share; "": the one for temporary files.
        deadline_s: so long a delivery is tried.
    """

    settings: Mapping[str, Any]
    group: str
    transactional_id: str
    topic: str
    mode: Mode
    by: By
    query: str
    batch: int
    inline: int
    staging: str
    deadline_s: float


SOURCE_NAMES: Final = (
    "subscribe",
    "startingOffsets",
    "endingOffsets",
    "maxOffsetsPerTrigger",
    "includeHeaders",
    "includeSource",
)
SINK_NAMES: Final = (
    "topic",
    "mode",
    "exactlyOnceBy",
    "queryId",
    "batchId",
    "inlineBytes",
    "stagingDirectory",
    "deadlineMs",
    "checkpointLocation",
    "path",
)
"""The last two are Spark's own, which it hands down to every sink."""


def source_options(given: Mapping[str, str], *, streaming: bool) -> SourceOptions:
    """The options of a source; names are without case.

    Raises:
        IllegalOption, IllegalSetting: one is missing, unknown or cannot be what it is.
    """
    options = _Options("source", given, SOURCE_NAMES)
    topics = tuple(dict.fromkeys(each.strip() for each in options.text("subscribe").split(",") if each.strip()))
    if not topics:
        raise IllegalOption("source: subscribe is missing; legal is topic[,topic...]: say what to read")
    starting = options.offsets("startingOffsets", "latest" if streaming else "earliest", topics)
    if not streaming and starting == LATEST:
        raise IllegalOption(
            "source: startingOffsets is latest, of which a batch query reads nothing; legal is earliest, or JSON"
        )
    ending = options.offsets("endingOffsets", "latest", topics)
    if streaming and "endingOffsets" in options:
        raise IllegalOption(
            "source: endingOffsets is for batch queries; a streaming one ends by Trigger.AvailableNow: leave it out"
        )
    if ending == EARLIEST or (isinstance(ending, Mapping) and EARLIEST in ending.values()):
        raise IllegalOption(
            "source: endingOffsets says earliest, before which nothing is; legal is latest, or JSON with offsets or -1"
        )
    group, settings = options.settings(needs_group=streaming, why="its committed positions are where a query begins")
    return SourceOptions(
        settings,
        group,
        topics,
        starting,
        ending,
        options.number("maxOffsetsPerTrigger", NONE, least=1),
        options.truth("includeHeaders"),
        options.truth("includeSource"),
    )


def sink_options(given: Mapping[str, str], *, streaming: bool) -> SinkOptions:
    """The options of a sink; names are without case.

    Raises:
        IllegalOption, IllegalSetting: one is missing, unknown or cannot be what it is.
    """
    options = _Options("sink", given, SINK_NAMES)
    transactional_id = options.text("kafka.transactional.id")
    group, settings = options.settings(needs_group=True, why="positions are committed under it together with the rows")
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
            "batch: "
            "leave one of the two out"
        )
    if by == By.BATCH and not options.text("topic"):
        raise IllegalOption(
            "sink: exactlyOnceBy is batch, and option topic is missing: the number of the batch is committed as a "
            "position "
            "of that topic, which has to be the same for every batch; legal is one topic for all rows"
        )
    if by == By.BATCH and not streaming and (not query or batch == NONE):
        raise IllegalOption(
            "sink: exactlyOnceBy is batch, and nobody says which batch it is; legal is queryId (any text that stays "
            "the "
            "same) and batchId (a number that grows): say both, or use exactly_once in foreachBatch, which does"
        )
    return SinkOptions(
        settings,
        group,
        transactional_id or group,
        options.text("topic"),
        mode,
        by,
        query,
        batch,
        options.number("inlineBytes", 1 << 20, least=0),
        options.text("stagingDirectory"),
        options.number("deadlineMs", 120_000, least=1) / 1000,
    )


class _Options:
    """Options as Spark gives them: texts, by names without case."""

    def __init__(self, subject: str, given: Mapping[str, str], names: tuple[str, ...]) -> None:
        self._subject = subject
        self._given = {name.lower(): str(value) for name, value in given.items()}
        legal = {name.lower() for name in names}
        for name in self._given:
            if name not in legal and not name.startswith(KAFKA):
                raise IllegalOption(
                    f"{subject}: there is no option {name}; legal are {', '.join(names)}, and settings of the client "
                    "as "
                    f"{KAFKA}NAME (kafka.bootstrap.servers)"
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
        if not said:
            return otherwise
        if not said.isdecimal() or int(said) < least:
            raise IllegalOption(f"{self._subject}: {name} is {said!r}; legal is a whole number from {least} on")
        return int(said)

    def truth(self, name: str) -> bool:
        said = self.text(name).lower() or "false"
        if said not in ("true", "false"):
            raise IllegalOption(f"{self._subject}: {name} is {said!r}; legal is true or false")
        return said == "true"

    def offsets(self, name: str, otherwise: str, topics: tuple[str, ...]) -> Offsets:
        said = self.text(name) or otherwise
        if said.lower() in WORDS:
            return WORDS[said.lower()]
        legal = 'earliest, latest, or JSON as {"topic":{"0":23,"1":-2}}, where -2 is earliest and -1 latest'
        try:
            return {
                (topic, int(partition)): self._offset(offset)
                for topic, partitions in json.loads(said).items()
                for partition, offset in partitions.items()
                if topic in topics or self._strange(topic, topics)
            }
        except (ValueError, TypeError, AttributeError) as error:
            if isinstance(error, IllegalOption):
                raise
            raise IllegalOption(f"{self._subject}: {name} is {said!r}; legal is {legal}") from error

    def _strange(self, topic: str, topics: tuple[str, ...]) -> bool:
        raise IllegalOption(
            f"{self._subject}: offsets are given for topic {topic}, which is not read; legal are {', '.join(topics)}"
        )

    @staticmethod
    def _offset(said: Any) -> int:
        if isinstance(said, bool) or not isinstance(said, int) or said < EARLIEST:
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
                    "it; "
                    "leave it out"
                )
        if needs_group and not group:
            raise IllegalOption(f"{self._subject}: kafka.group.id is missing; legal is any name: {why}")
        return group, checked(found)
