"""Reader of a source in micro-batches: where it begins, how far a batch goes, and the records of a range.

Offsets are not counts: transaction markers and aborted records have offsets too, so a range may hold fewer records than
offsets, or none.

Every call to the brokers is retried, so that a query survives brokers that are away for minutes (`Retries`).
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from zombieproof.model.spark_sink.vocabulary import ReaderEvent, ReaderState, Reply
from zombieproof.model.vocabulary import NONE
from zombieproof.pipeline import garbage
from zombieproof.pipeline.kafka import DENIED, LOGGER, ConnectionErrors, Settings, client, consumer_for
from zombieproof.pipeline.progress_topic import TOPIC, Committed, Keyed, Progress, unsigned
from zombieproof.pipeline.sink.errors import REMADE
from zombieproof.pipeline.sink.replies import reply_of
from zombieproof.pipeline.sink.rows import Identity, identity_of_any
from zombieproof.pipeline.topic_pattern import matching_topics
from zombieproof.statemachines.micro_batch_reader.steps import Reader, finish, past_of_batch, place, plan, resume
from zombieproof.statemachines.notes import Notes, clear

Place = tuple[str, int]
Answer = TypeVar("Answer")

TRANSIENT = frozenset(
    {
        "BROKER_NOT_AVAILABLE",
        "FENCED_LEADER_EPOCH",
        "KAFKA_STORAGE_ERROR",
        "LEADER_NOT_AVAILABLE",
        "LISTENER_NOT_FOUND",
        "NETWORK_EXCEPTION",
        "NOT_LEADER_FOR_PARTITION",
        "OFFSET_NOT_AVAILABLE",
        "REPLICA_NOT_AVAILABLE",
        "UNKNOWN_LEADER_EPOCH",
        "UNKNOWN_TOPIC_OR_PART",
    }
)
"""Errors of brokers that pass by themselves, in addition to those of `reply_of`: a leader changes, for example.

A topic that does not exist is recognised by its metadata (`NoSuchTopic`), not by these errors.
"""
LASTING = frozenset(
    {
        "_APPLICATION",
        "_AUTHENTICATION",
        "_CONFLICT",
        "_CRIT_SYS_RESOURCE",
        "_FATAL",
        "_FS",
        "_INVALID_ARG",
        "_INVALID_TYPE",
        "_NOT_CONFIGURED",
        "_NOT_IMPLEMENTED",
        "_READ_ONLY",
        "_STATE",
        "_UNKNOWN_GROUP",
        "_UNKNOWN_PROTOCOL",
        "_UNSUPPORTED_FEATURE",
    }
)
"""Errors of the client itself (they begin with an underscore) that no retry repairs. All others come from connections,
and pass when a broker is back."""
ABSENT = frozenset({"UNKNOWN_TOPIC_OR_PART", "TOPIC_AUTHORIZATION_FAILED", "TOPIC_EXCEPTION"})
"""Errors in the metadata of a topic that mean: this client will not get to see it."""
UNKNOWN = frozenset({"UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_PARTITION", "_UNKNOWN_TOPIC"})

CALL_S = 10.0
"""Timeout of one call to the client."""
PAUSE_S = 0.05
"""The first pause between two calls; each further one is twice as long, up to `LONGEST_PAUSE_S`."""
LONGEST_PAUSE_S = 1.0
BATCH = 10_000
"""So many records are asked of the client at once."""
WAIT_S = 0.02
"""So long it waits for the rest of them."""
OF_A_RANGE = {"fetch.wait.max.ms": 20, "fetch.queue.backoff.ms": 20}
"""A range is there before it is read: brokers need not wait for more, nor the client long where its queue is full."""


@dataclass(frozen=True, slots=True)
class Retries:
    """How long a call to the brokers is retried: by default for about 4 minutes.

    Attributes:
        count: attempts after the first one (`fetchOffset.numRetries`).
        interval_s: pause between two attempts (`fetchOffset.retryIntervalMs`).
        attempt_s: length of an attempt, in which transient errors are retried with backoff. It is the default of
            `default.api.timeout.ms`, for which Spark's own source waits in each attempt.
    """

    count: int = 3
    interval_s: float = 1.0
    attempt_s: float = 60.0

    @property
    def total_s(self) -> float:
        """How long brokers may be away before a call fails."""
        return (self.count + 1) * self.attempt_s + self.count * self.interval_s


RETRIES = Retries()


class RangeNotRead(RuntimeError):
    """A range that cannot be read to its end: records are gone, or no broker answered."""


class NoSuchTopic(LookupError):
    """A topic or partition that the brokers do not have, or do not show to this client."""


class BrokersUnavailable(RuntimeError):
    """No broker answered a call, although it was retried."""


class RefusedByBrokers(RuntimeError):
    """The brokers answered a call with an error that no retry repairs."""

    def __init__(self, subject: str, error: Any) -> None:
        super().__init__(
            f"{subject}: the brokers answer {error.name()} ({error.str()}), which no retry repairs; check the names, "
            "the credentials and the rights of this client"
        )


class TopicRemade(RuntimeError):
    """A topic that was deleted and created again, so that positions in it mean nothing."""


class OutOfOrder(RuntimeError):
    """A call that the machine of readers does not have where it is."""


class Losses:
    """Offsets that were deleted before they were read: an error, or with `failOnDataLoss=false` a warning.

    Attributes:
        count: offsets skipped so far.
    """

    def __init__(self, *, fail: bool) -> None:
        self.fail = fail
        self.count = 0

    def skip(self, of: Place, first: int, past: int) -> None:
        """Skip the offsets [first, past) of a partition.

        Raises:
            RangeNotRead: data loss is to fail the query.
        """
        topic, partition = of
        lost = f"{topic}-{partition}: offsets {first} to {past - 1} ({past - first}) were deleted before they were read"
        if self.fail:
            raise RangeNotRead(
                f"{lost}, and failOnDataLoss is true; raise the retention of the topic, and set failOnDataLoss=false "
                "to skip them"
            )
        self.count += past - first
        LOGGER.warning(
            "source: %s; failOnDataLoss is false, so they are skipped (%d offsets skipped so far)", lost, self.count
        )


class MicroBatches:
    """A source in micro-batches: one machine for each partition, and a consumer that joins no group."""

    def __init__(self, settings: Settings, group: str, retries: Retries = RETRIES, progress_topic: str = TOPIC) -> None:
        self._consumer = consumer_for(settings, group)
        self._progress = Progress(settings, group, progress_topic)
        self.is_of_a_sink = False
        """Whether a sink of this project has committed one of the positions that were asked for last."""
        self.progress_ids: dict[str, str] = {}
        """The id of the progress topic by its name, as of the last look at ids; nothing if it is not there."""
        self._group = group
        self._retries = retries
        self._call_s = min(CALL_S, retries.attempt_s)
        self._readers: dict[Place, Reader] = {}
        self._notes = Notes()

    def close(self) -> None:
        """Let go of the client."""
        self._consumer.close()

    def _ask(self, subject: str, call: Callable[[], Answer]) -> Answer:
        """Call the client, with retries; a failed login is an error at once."""

        def ask() -> Answer:
            try:
                return call()
            except client.KafkaException:
                self._consumer.poll(0)  # hands over what connections have reported
                if self._consumer.errors.refusal is not None:
                    raise RefusedByBrokers(subject, self._consumer.errors.refusal) from None
                raise

        self._consumer.errors.clear()
        return answered(ask, subject, self._retries, self._consumer.errors)

    def partitions(self, topics: Iterable[str]) -> list[Place]:
        """The partitions of topics, in order.

        Raises:
            NoSuchTopic: the brokers have no topic of that name.
        """
        return [(topic, partition) for topic in topics for partition in self._partitions_of(topic)]

    def _partitions_of(self, topic: str) -> list[int]:
        return self._ask(f"the metadata of topic {topic}", lambda: self._described(topic))

    def _described(self, topic: str) -> list[int]:
        told = self._consumer.list_topics(topic, self._call_s).topics[topic]
        if told.error is not None and told.error.name() not in ABSENT:
            raise client.KafkaException(told.error)
        if told.error is not None or not told.partitions:
            raise NoSuchTopic(
                f"topic {topic}: the brokers do not have it ({told.error}); use an existing topic: create it, or check "
                "its name and the rights of this client"
            )
        return sorted(told.partitions)

    def matching(self, pattern: str) -> list[Place]:
        """The partitions of every topic whose whole name matches a pattern, in order.

        Internal topics and the progress topic never match.

        Raises:
            IllegalPattern: the pattern is not valid.
        """

        def ask() -> list[Place]:
            found, topics = [], self._consumer.list_topics(None, self._call_s).topics
            for topic in matching_topics(pattern, topics.keys() - {self._progress.topic}):
                told = topics[topic]
                if told.error is not None and told.error.name() not in ABSENT:
                    raise client.KafkaException(told.error)
                found += [(topic, partition) for partition in sorted(told.partitions)]
            return found

        return self._ask(f"the topics that match {pattern}", ask)

    def begin(self, told: Mapping[Place, int], committed: Mapping[Place, int] | None = None) -> dict[Place, int]:
        """There is no checkpoint: where each partition begins, at what the group committed or else as it is told."""
        if committed is None:
            committed = self.committed(list(told))
        found = {}
        for each in told:
            at = committed[each]
            reader = self._readers.setdefault(each, Reader())
            clear(self._notes, 0)
            found[each] = at if place(reader, at, self._notes) else told[each]
            self._is_legal(each)
        return found

    def committed(self, places: list[Place], *, by_sinks: bool = False) -> dict[Place, int]:
        """The committed offsets of the group, or else those of the progress topic; NONE where there is neither.

        Offsets that other clients have committed do not tell what is in the output. They do not count where a sink of
        this project has committed another one of `places`, nor if only those `by_sinks` are wanted.

        Raises:
            TopicRemade: the topic was deleted and created again since the commit.
        """
        if not places:
            return {}
        return self._ask(f"the committed offsets of group {self._group}", lambda: self._committed(places, by_sinks))

    def _committed(self, places: list[Place], by_sinks: bool) -> dict[Place, int]:
        ids = self._ids({topic for topic, _ in places})
        found = {
            (told.topic, told.partition): Committed(max(_offset_of(told), NONE), told.metadata or "")
            for told in self._consumer.committed([client.TopicPartition(*each) for each in places], self._call_s)
        }
        if self._progress.topic in ids and (lost := unsigned(found)):
            self._progress.check(ids[self._progress.topic])
            found |= self._progress.newest(lost)
        identities = {each: Identity.of_metadata(text, each) for each, (_, text) in found.items()}
        of_sinks = {each: identity for each, identity in identities.items() if identity is not None}
        for each, identity in of_sinks.items():
            if remade := identity.remade(ids):
                raise TopicRemade(
                    f"the committed offset {found[each].offset} of {named([each])} under group {self._group} is older "
                    f"than topic {remade}. {REMADE}"
                )
        self.is_of_a_sink = of_sinks != {}
        counts = of_sinks if self.is_of_a_sink or by_sinks else found
        return {each: offset if each in counts else NONE for each, (offset, _) in found.items()}

    def written_elsewhere(self, places: Collection[Place]) -> list[Place]:
        """The partitions, other than `places`, whose positions a sink of this project has committed under the group."""

        def ask() -> list[Keyed]:
            is_there = self._progress.topic in self._ids(())
            return self._progress.of_all_groups(lambda each: each.group == self._group) if is_there else []

        found = self._ask(f"the positions of group {self._group}", ask)
        identities = {each.place: identity_of_any(each.committed.metadata, each.place) for each in found}
        return sorted(each for each, identity in identities.items() if identity and each not in places)

    def topic_ids(self, topics: Iterable[str]) -> dict[str, str]:
        """The ids of topics, without those that the brokers do not have; "" if brokers have no ids."""
        found = self._ask("the ids of topics", lambda: self._ids(topics))
        return {topic: found[topic] for topic in topics if topic in found}

    def _ids(self, topics: Iterable[str]) -> dict[str, str]:
        self._progress.ask(topics)
        found = self._progress.ids()
        self.progress_ids = {name: each for name, each in found.items() if each and name == self._progress.topic}
        return found

    def offsets_at(self, timestamps: Mapping[Place, int]) -> dict[Place, int]:
        """The first offset of each partition whose timestamp (ms) is not before the given one; NONE: there is none."""
        asked = [client.TopicPartition(*each, at) for each, at in timestamps.items()]

        def ask() -> dict[Place, int]:
            told = self._consumer.offsets_for_times(asked, self._call_s) if asked else ()
            return {(each.topic, each.partition): max(_offset_of(each), NONE) for each in told}

        return self._ask(f"the offsets for timestamps of {named(timestamps)}", ask)

    def resume(self, places: Iterable[Place]) -> None:
        """A checkpoint names the range of the newest batch, of these partitions."""
        for each in places:
            clear(self._notes, 0)
            resume(self._readers.setdefault(each, Reader()), self._notes)
            self._is_legal(each)

    @property
    def places(self) -> list[Place]:
        """The partitions that have begun or were resumed."""
        return list(self._readers)

    @property
    def is_planned(self) -> bool:
        """Whether a batch is planned and not finished."""
        return any(each.state == ReaderState.PLANNED for each in self._readers.values())

    def plan(
        self, positions: Mapping[Place, int], most: int = NONE, bounds: Mapping[Place, int] | None = None
    ) -> dict[Place, int]:
        """Where the next batch ends: at most `most` offsets further, over all partitions (NONE: no limit).

        `bounds` are read instead of the last stable offsets, where they were looked up before.

        Raises:
            RangeNotRead: a log ends before the position in it.
        """
        ends = {each: self.last_stable_offset(each) for each in positions} if bounds is None else bounds
        for (topic, partition), at in positions.items():
            if ends[topic, partition] < at:
                raise RangeNotRead(
                    f"{topic}-{partition} from {at} on: everything is decided below {ends[topic, partition]} only, and "
                    "was "
                    f"below {at} before; legal is a log that only grows: if the topic was deleted and created again, "
                    "begin with a new checkpoint and reprocess=NAME (or a new group), also with failOnDataLoss=false: "
                    "the sink would take the new records for already written"
                )
        limits = shares({each: max(0, ends[each] - at) for each, at in positions.items()}, most)
        found = {}
        for each, at in positions.items():
            clear(self._notes, 0)
            plan(self._readers.setdefault(each, Reader()), self._notes)
            self._is_legal(each)
            found[each] = past_of_batch(at, ends[each], limits[each])
        return found

    def finish(self) -> None:
        """The planned batch is finished."""
        for each, reader in self._readers.items():
            clear(self._notes, 0)
            finish(reader, self._notes)
            self._is_legal(each)

    def _is_legal(self, of: Place) -> None:
        if self._notes.illegal:
            state, event = ReaderState(self._notes.illegal_state).name, ReaderEvent(self._notes.illegal_event).name
            raise OutOfOrder(
                f"the reader of {of[0]}-{of[1]}: {event} is illegal in {state}; legal is to begin or to resume once, "
                "then to plan and to finish in turn"
            )

    def last_stable_offset(self, of: Place) -> int:
        """Below it everything is decided: what brokers tell readers of committed records as the end."""
        return self.ends(of)[1]

    def ends(self, of: Place) -> tuple[int, int]:
        """The first offset that is there, and the last stable one.

        Raises:
            NoSuchTopic: the brokers do not have the partition.
        """

        def ask() -> tuple[int, int]:
            try:
                first, past = self._consumer.get_watermark_offsets(
                    client.TopicPartition(*of), self._call_s, cached=False
                )
            except client.KafkaException as error:
                if error.args[0].name() in UNKNOWN and of[1] not in self._described(of[0]):
                    raise NoSuchTopic(
                        f"{named([of])}: the topic has no such partition; use one that the brokers have"
                    ) from error
                raise
            return int(first), int(past)

        return self._ask(f"the first and the last stable offset of {named([of])}", ask)


def named(places: Iterable[Place]) -> str:
    """The names of partitions for messages: ``orders-0, orders-1``."""
    return ", ".join(f"{topic}-{partition}" for topic, partition in places)


def _offset_of(told: Any) -> int:
    if told.error is not None:
        raise client.KafkaException(told.error)
    return int(told.offset)


def answered(
    ask: Callable[[], Answer],
    subject: str = "a call",
    retries: Retries = RETRIES,
    errors: ConnectionErrors | None = None,
) -> Answer:
    """Return what the brokers answer; transient errors are retried with backoff.

    Raises:
        BrokersUnavailable: transient errors have not passed in time.
        RefusedByBrokers: an error that no retry repairs.
    """
    for attempt in range(retries.count + 1):
        until, pause = time.monotonic() + retries.attempt_s, PAUSE_S
        while True:
            try:
                return ask()
            except client.KafkaException as error:
                last = error.args[0]
                if not _passes(last):
                    raise RefusedByBrokers(subject, last) from error
            left = until - time.monotonic()
            if left <= 0:
                break
            time.sleep(min(pause, left))
            pause = min(2 * pause, LONGEST_PAUSE_S)
        LOGGER.warning(
            "%s: no answer in attempt %d of %d: %s", subject, attempt + 1, retries.count + 1, _said(last, errors)
        )
        if attempt < retries.count:
            time.sleep(retries.interval_s)
    raise BrokersUnavailable(
        f"{subject}: no broker has answered in {retries.total_s:g} s: {_said(last, errors)}; check "
        "kafka.bootstrap.servers and the brokers, or raise fetchOffset.numRetries for longer outages, and start the "
        "query again"
    )


def _passes(error: Any) -> bool:
    """Whether an error may be gone when the call is made again."""
    name = error.name()
    if name.startswith("_"):
        return name not in LASTING
    return reply_of(error) == Reply.UNKNOWN or name in TRANSIENT


def _said(error: Any, errors: ConnectionErrors | None) -> str:
    newest = None if errors is None else errors.newest
    more = "" if newest is None else f", {newest.name()} {newest.str()}"
    return f"{error.name()} ({error.str()}{more})"


def shares(sizes: Mapping[Place, int], most: int) -> dict[Place, int]:
    """How many offsets of each partition a batch of `most` takes (NONE: all): as much of it as of any other.

    No partition is left waiting for ever: as long as one has anything, something of it is taken. As Kafka's source of
    Spark does, a share below one is one, so that a batch may be larger by as many offsets as there are partitions.
    """
    total = sum(sizes.values())
    if most == NONE or total <= most:
        return dict.fromkeys(sizes, NONE)
    return {each: max(1, most * size // total) for each, size in sizes.items()}


def read(
    settings: Settings,
    group: str,
    of: Place,
    first: int,
    past: int,
    deadline_s: float = RETRIES.total_s,
    losses: Losses | None = None,
    retries: Retries = RETRIES,
) -> Iterator[list[Any]]:
    """The committed records of [first, past) of one partition, as messages of the client, in order, some at a time.

    The client connects again by itself, so brokers may be away as long as `deadline_s` without an error.

    Raises:
        RangeNotRead: nothing came for `deadline_s`, or records of it are deleted and `losses` does not skip them.
        RefusedByBrokers: an error that no retry repairs.
    """
    if past <= first:
        return
    subject = f"{of[0]}-{of[1]} from {first} to {past}"
    consumer = consumer_for({**OF_A_RANGE, **settings, "enable.partition.eof": True}, group)
    errors = consumer.errors
    try:
        consumer.assign([client.TopicPartition(*of, first)])
        until, floor = time.monotonic() + deadline_s, first
        while (at := max(_position(consumer, of), floor)) < past:
            if time.monotonic() > until:
                last = errors.newest
                said = "" if last is None else f" (the last error: {last.name()}, {last.str()})"
                raise RangeNotRead(
                    f"{subject}: read as far as {at}, and nothing came for {deadline_s:g} s{said}; legal is a range "
                    "below the last stable offset, and a broker that answers: look at both, raise "
                    "kafkaConsumer.pollTimeoutMs for longer outages, and run the batch again"
                )
            with garbage.paused():
                messages = consumer.consume(min(BATCH, past - at), WAIT_S)
            are_records = all(message.error() is None for message in messages)
            if messages and are_records and (newest := messages[-1].offset()) < past:
                yield messages  # the usual case, all at once
                until = time.monotonic() + deadline_s
                if newest == past - 1:
                    return
                continue
            for message in messages:
                error = message.error()
                if error is None and message.offset() < past:
                    yield [message]
                    until = time.monotonic() + deadline_s
                elif error is not None and error.name() in ("_AUTO_OFFSET_RESET", "OFFSET_OUT_OF_RANGE"):
                    floor = _past_the_deleted(
                        consumer, of, max(_position(consumer, of), floor), past, error, losses, retries
                    )
                    consumer.assign([client.TopicPartition(*of, floor)])
                    break
                elif error is not None and error.name() == "_PARTITION_EOF" and message.offset() >= past:
                    return
                elif error is not None and error.name() in DENIED | {"UNKNOWN_TOPIC_OR_PART"}:
                    errors.refusal = error
                if error is None and message.offset() >= past - 1:
                    return
            if errors.refusal is not None:
                raise RefusedByBrokers(subject, errors.refusal)
    finally:
        consumer.close()


def _past_the_deleted(
    consumer: Any, of: Place, at: int, past: int, error: Any, losses: Losses | None, retries: Retries
) -> int:
    """Where to read on after the broker answered that it does not have an offset."""
    asked = client.TopicPartition(*of)
    first, _ = answered(
        lambda: consumer.get_watermark_offsets(asked, CALL_S, cached=False),
        f"the first offset of {named([of])}",
        retries,
    )
    if losses is None or first <= at:
        raise RangeNotRead(
            f"{of[0]}-{of[1]} from {at} to {past}: the broker does not have it any more ({error.str()}); legal is a "
            "range that is still there: raise the retention of the topic, or begin with a new checkpoint"
        )
    losses.skip(of, at, min(first, past))
    return int(min(first, past))


def _position(consumer: Any, of: Place) -> int:
    (told,) = consumer.position([client.TopicPartition(*of)])
    return int(told.offset)
