"""The host of a reader in micro-batches: where it begins, how far a batch goes, and what lies in a range.

Offsets are no counts: markers and aborted records have some too, so a range may hold fewer records than
offsets, or none.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from zombieproof.model.spark_sink.vocabulary import ReaderEvent, ReaderState, Reply
from zombieproof.model.vocabulary import NONE
from zombieproof.pipeline.kafka import Settings, client, consumer_for
from zombieproof.pipeline.sink.replies import reply_of
from zombieproof.statemachines.micro_batch_reader.steps import Reader, finish, past_of_batch, place, plan, resume
from zombieproof.statemachines.notes import Notes, clear

Place = tuple[str, int]
Answer = TypeVar("Answer")

LEADERLESS = frozenset({"LEADER_NOT_AVAILABLE", "NOT_LEADER_FOR_PARTITION", "_UNKNOWN_PARTITION"})
"""Somebody else leads the partition, or nobody does yet; or the client's connection broke before it could hear who."""

CALL_S = 10.0
DEADLINE_S = 120.0
"""So long a range is waited for if nothing of it comes."""
PATIENCE_S = 30.0
"""For so long a question is asked again that nobody could answer."""
UNDECIDED_S = 120.0
"""So long positions are waited for that a writer has left undecided who died: until its transaction has timed out."""
PAUSE_S = 0.05
"""Between two questions, the first of which nobody could answer yet."""
BATCH = 10_000
"""So many records are asked of the client at once."""
WAIT_S = 0.02
"""So long it waits for the rest of them."""
OF_A_RANGE = {"fetch.wait.max.ms": 20, "fetch.queue.backoff.ms": 20}
"""A range is there before it is read: brokers need not wait for more, nor the client long where its queue is full."""


class RangeNotRead(RuntimeError):
    """A range that cannot be read to its end: records are gone, or nobody answered."""


class NoSuchTopic(LookupError):
    """A topic that the brokers do not have."""


class OutOfOrder(RuntimeError):
    """A call that the machine of readers does not have where it is."""


class MicroBatches:
    """A source in micro-batches: one machine for each partition, and a consumer that joins no group."""

    def __init__(self, settings: Settings, group: str) -> None:
        self._consumer = consumer_for(settings, group)
        self._readers: dict[Place, Reader] = {}
        self._notes = Notes()

    def close(self) -> None:
        """Let go of the client."""
        self._consumer.close()

    def partitions(self, topics: Iterable[str]) -> list[Place]:
        """The partitions of topics, in order.

        Raises:
            NoSuchTopic: the brokers know none of that name.
        """
        found = []
        for topic in topics:
            told = self._consumer.list_topics(topic, CALL_S).topics[topic]
            if told.error is not None or not told.partitions:
                raise NoSuchTopic(
                    f"topic {topic}: the brokers do not have it ({told.error}); legal is a topic that is there: make "
                    "it, "
                    "or look at its name and at the rights of this client"
                )
            found += [(topic, partition) for partition in sorted(told.partitions)]
        return found

    def begin(self, told: Mapping[Place, int]) -> dict[Place, int]:
        """There is no checkpoint: where each partition begins, at what the group committed or else as it is told."""
        committed = answered(lambda: self._committed(list(told)), UNDECIDED_S)
        found = {}
        for each in told:
            at = max(committed[each], NONE)
            reader = self._readers.setdefault(each, Reader())
            clear(self._notes, 0)
            found[each] = at if place(reader, at, self._notes) else told[each]
            self._is_legal(each)
        return found

    def _committed(self, places: list[Place]) -> dict[Place, int]:
        asked = [client.TopicPartition(*each) for each in places]
        found = {}
        for told in self._consumer.committed(asked, CALL_S) if asked else ():
            if told.error is not None:
                raise client.KafkaException(told.error)
            found[told.topic, told.partition] = int(told.offset)
        return found

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
                    f"below {at} before; legal is a log that only grows: if the topic was made anew, begin with a new "
                    "checkpoint and a new group"
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
        """The first offset that is there, and the last stable one."""
        place = client.TopicPartition(*of)
        first, past = answered(lambda: self._consumer.get_watermark_offsets(place, CALL_S, cached=False))
        return int(first), int(past)


def answered(ask: Callable[[], Answer], patience_s: float = PATIENCE_S) -> Answer:
    """What brokers answer, if they do at last: one that begins to lead or to coordinate cannot yet.

    Raises:
        KafkaException: they have not for so long, or what they say is nothing that passes.
    """
    until = time.monotonic() + patience_s
    while True:
        try:
            return ask()
        except client.KafkaException as error:
            passes = reply_of(error.args[0]) == Reply.UNKNOWN or error.args[0].name() in LEADERLESS
            if not passes or time.monotonic() > until:
                raise
        time.sleep(PAUSE_S)


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
    settings: Settings, group: str, of: Place, first: int, past: int, deadline_s: float = DEADLINE_S
) -> Iterator[Any]:
    """The committed records of [first, past) of one partition, as messages of the client, in order.

    Raises:
        RangeNotRead: it is not read to its end in time, or records of it are deleted.
    """
    if past <= first:
        return
    subject = f"{of[0]}-{of[1]} from {first} to {past}"
    consumer = consumer_for({**OF_A_RANGE, **settings, "enable.partition.eof": True}, group)
    try:
        consumer.assign([client.TopicPartition(*of, first)])
        until = time.monotonic() + deadline_s
        while (at := _position(consumer, of, first)) < past:
            if time.monotonic() > until:
                raise RangeNotRead(
                    f"{subject}: read as far as {at}, and nothing came for {deadline_s:g} s; legal is a range below "
                    "the last stable offset, and a broker that answers: look at both, and run the batch again"
                )
            for message in consumer.consume(min(BATCH, past - at), WAIT_S):
                error = message.error()
                if error is None and message.offset() < past:
                    yield message
                    until = time.monotonic() + deadline_s
                elif error is not None and error.name() in ("_AUTO_OFFSET_RESET", "OFFSET_OUT_OF_RANGE"):
                    raise RangeNotRead(
                        f"{subject}: the broker does not have it any more ({error.str()}); legal is a range that is "
                        "still there: raise the retention of the topic, or begin with a new checkpoint"
                    )
                elif error is not None and error.name() == "_PARTITION_EOF" and message.offset() >= past:
                    return
                if error is None and message.offset() >= past - 1:
                    return
    finally:
        consumer.close()


def _position(consumer: Any, of: Place, first: int) -> int:
    (told,) = consumer.position([client.TopicPartition(*of)])
    return max(int(told.offset), first)
