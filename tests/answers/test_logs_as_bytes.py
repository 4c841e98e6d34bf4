"""Brokers whose logs are bytes answer as real ones did: what a batch holds outlives its way to a disk and back."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partialmethod
from typing import Any

import pytest

from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.node import Store
from zombieproof.broker.partition.log import MemoryLog
from zombieproof.broker.partition.snapshots import MemorySnapshots
from zombieproof.formats.batches import Batch, OffsetValue, Record
from zombieproof.formats.encoding import read_batch, write_batch
from zombieproof.formats.topics import TopicPartition
from zombieproof.model.vocabulary import NONE

TOPICS = ("data", "__transaction_state", "__consumer_offsets")


class LogOfBytes(MemoryLog):
    """A log in memory through which batches go as bytes."""

    def __init__(self, topic: str, seen: Counter[str], change: "Change") -> None:
        super().__init__()
        self._topic, self._seen, self._change = topic, seen, change

    def append(self, batch: Batch) -> Batch:
        placed = batch if batch.base_offset != NONE else replace(batch, base_offset=self.end_offset)
        data = write_batch(placed)
        found = read_batch(data, topic=self._topic)
        assert write_batch(found) == data
        self._seen[self._topic if self._topic.startswith("__") else "data"] += 1
        return super().append(self._change(found))


Play = Callable[[dict[str, Any]], Any]
Change = Callable[[Batch], Batch]


@pytest.fixture
def play_from_bytes(play_json: Play, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[list[Any], Counter[str]]]:
    """Play sequences at clusters whose logs are bytes; what differed, and how many batches went where."""

    def play(sequences: list[dict[str, Any]], change: Change = lambda batch: batch) -> tuple[list[Any], Counter[str]]:
        seen: Counter[str] = Counter()

        def open_store(_node: int, partition: TopicPartition) -> Store:
            return Store(LogOfBytes(partition[0], seen, change), MemorySnapshots())

        with monkeypatch.context() as patch:
            patch.setattr(Cluster, "__init__", partialmethod(Cluster.__init__, open_store=open_store))
            played = [play_json(sequence) for sequence in sequences]
        return [each.difference for each in played if each.difference is not None], seen

    return play


def test_answers_of_the_sample_are_given_again_from_bytes(sample: list[dict[str, Any]], play_from_bytes: Any) -> None:
    differences, seen = play_from_bytes(sample[::6])
    assert differences == []
    assert all(seen[topic] > 20 for topic in TOPICS), seen


@pytest.mark.slow
def test_every_answer_of_the_sample_is_given_again_from_bytes(
    sample: list[dict[str, Any]], play_from_bytes: Any
) -> None:
    differences, seen = play_from_bytes(sample)
    assert differences == []
    assert all(seen[topic] > 100 for topic in TOPICS), seen


def other_value(record: Record) -> Record:
    match record.value:
        case bytes():
            return replace(record, value=b"?")
        case OffsetValue() as value:
            return replace(record, value=replace(value, offset=value.offset + 1))
    return record


LOSSES: dict[str, Change] = {
    "sequences": lambda batch: replace(batch, base_sequence=NONE),
    "values": lambda batch: replace(batch, records=tuple(map(other_value, batch.records))),
}


@pytest.mark.sample("values")
@pytest.mark.parametrize("loss", LOSSES)
def test_a_log_that_loses_what_a_batch_says_is_noticed(
    loss: str, sample: list[dict[str, Any]], play_from_bytes: Any
) -> None:
    differences, _ = play_from_bytes(sample[::6], LOSSES[loss])
    assert differences
