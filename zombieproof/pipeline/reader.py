"""The host of a reader in micro-batches: where it begins, how far a batch goes, and what lies in a range.

Offsets are no counts: markers and aborted records have some too, so a range may hold fewer records than
offsets, or none.
"""

import time
from collections.abc import Iterator, Mapping
from typing import Any

from zombieproof.model.spark_sink.vocabulary import ReaderEvent, ReaderState
from zombieproof.model.vocabulary import NONE
from zombieproof.pipeline.kafka import Settings, client, consumer_for
from zombieproof.statemachines.micro_batch_reader.steps import Reader, finish, past_of_batch, place, plan, resume
from zombieproof.statemachines.notes import Notes, clear

Place = tuple[str, int]

CALL_S = 10.0
BATCH = 10_000
"""So many records are asked of the client at once."""


class RangeNotRead(RuntimeError):
    """A range that cannot be read to its end: records are gone, or nobody answered."""


class OutOfOrder(RuntimeError):
    """A call that the machine of readers does not have where it is."""


class MicroBatches:
    """A source in micro-batches: one machine for each partition, and a consumer that joins no group."""

    def __init__(self, settings: Settings, group: str, places: list[Place]) -> None:
        self._consumer = consumer_for(settings, group)
        self._readers = {each: Reader() for each in places}
        self._notes = Notes()

    def close(self) -> None:
        """Let go of the client."""
        self._consumer.close()

    def begin(self, told: Mapping[Place, int]) -> dict[Place, int]:
        """There is no checkpoint: where each partition begins, at what the group committed or else as it is told."""
        asked = [client.TopicPartition(*each) for each in self._readers]
        committed = {(each.topic, each.partition): each for each in self._consumer.committed(asked, CALL_S)}
        found = {}
        for each, reader in self._readers.items():
            if committed[each].error is not None:
                raise client.KafkaException(committed[each].error)
            at = max(committed[each].offset, NONE)
            clear(self._notes, 0)
            found[each] = at if place(reader, at, self._notes) else told[each]
            self._is_legal(each)
        return found

    def resume(self) -> None:
        """A checkpoint names the range of the newest batch."""
        for each, reader in self._readers.items():
            clear(self._notes, 0)
            resume(reader, self._notes)
            self._is_legal(each)

    def plan(self, positions: Mapping[Place, int], most: int = NONE) -> dict[Place, int]:
        """Where the next batch ends, of each partition at most `most` offsets further (NONE: no limit)."""
        found = {}
        for each, reader in self._readers.items():
            clear(self._notes, 0)
            plan(reader, self._notes)
            self._is_legal(each)
            found[each] = past_of_batch(positions[each], self.last_stable_offset(each), most)
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
        _, past = self._consumer.get_watermark_offsets(client.TopicPartition(*of), CALL_S, cached=False)
        return int(past)


def read(settings: Settings, group: str, of: Place, first: int, past: int, deadline_s: float = 120.0) -> Iterator[Any]:
    """The committed records of [first, past) of one partition, as messages of the client, in order.

    Raises:
        RangeNotRead: it is not read to its end in time, or records of it are deleted.
    """
    if past <= first:
        return
    subject = f"{of[0]}-{of[1]} from {first} to {past}"
    consumer = consumer_for({**settings, "enable.partition.eof": True}, group)
    try:
        consumer.assign([client.TopicPartition(*of, first)])
        until = time.monotonic() + deadline_s
        while _position(consumer, of, first) < past:
            if time.monotonic() > until:
                raise RangeNotRead(
                    f"{subject}: read as far as {_position(consumer, of, first)} in {deadline_s:g} s; legal is a range "
                    "below the last stable offset, and a broker that answers: look at both, and run the batch again"
                )
            for message in consumer.consume(BATCH, 0.2):
                error = message.error()
                if error is None and message.offset() < past:
                    yield message
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
