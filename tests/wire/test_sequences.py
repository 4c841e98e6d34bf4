"""Requests of every API in any order, from several connections, end no broker and no data directory."""

from collections.abc import Callable

import pytest

from tests.wire.sequences import sequences
from zombieproof.broker.cluster.node import Broker
from zombieproof.broker.group.consumer_group import ConsumerGroup
from zombieproof.broker.store.log_directory import LogDirectory
from zombieproof.formats.topics import TopicPartition
from zombieproof.wire.names import TopicNames

Break = Callable[[pytest.MonkeyPatch], None]

MOST_SEEDS = 20
"""How many times 75 sequences may take to meet an error; one or two are usual."""


@pytest.mark.parametrize("stored", [False, True], ids=["in memory", "stored"])
@pytest.mark.parametrize("nodes", [1, 3])
def test_sequences_meet_no_unexpected_error(nodes: int, stored: bool) -> None:
    found = sequences(75, 99, nodes=nodes, stored=stored)
    assert found.findings == []
    assert found.counts["answered"] > 300


def test_the_same_seed_sends_the_same_sequences() -> None:
    assert sequences(10, 5).counts == sequences(10, 5).counts


def waiters_are_woken_one_by_one(broken: pytest.MonkeyPatch) -> None:
    def remove(self: Broker, partitions: list[TopicPartition]) -> list[TopicPartition]:
        for each in partitions:
            if self.partitions.replicas.pop(each, None) is not None:
                self.desk.changed(each)
        return []

    broken.setattr(Broker, "remove_replicas", remove)


def groups_keep_deleted_topics(broken: pytest.MonkeyPatch) -> None:
    broken.setattr(ConsumerGroup, "forget_topics", lambda self, topic_ids: None)


def folders_are_not_renamed(broken: pytest.MonkeyPatch) -> None:
    broken.setattr(LogDirectory, "discard", lambda self: None)


def names_with_a_question_mark_are_ids(broken: pytest.MonkeyPatch) -> None:
    told = TopicNames.topic

    def topic(self: TopicNames, name: str) -> object:
        if name.startswith("?") and len(name) < 10:
            raise ValueError("badly formed hexadecimal UUID string")
        return told(self, name)

    broken.setattr(TopicNames, "topic", topic)


@pytest.mark.parametrize(
    ("breaks", "error", "stored"),
    [
        (waiters_are_woken_one_by_one, "KeyError", False),
        (groups_keep_deleted_topics, "KeyError", False),
        (folders_are_not_renamed, "Damaged", True),
        (names_with_a_question_mark_are_ids, "ValueError", False),
    ],
)
def test_brokers_that_fall_over_a_deleted_topic_are_found(
    breaks: Break, error: str, stored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    breaks(monkeypatch)
    batches = (sequences(75, seed, stored=stored) for seed in range(1, MOST_SEEDS + 1))
    assert any(f": {error}: " in each for found in batches for each in found.findings)
