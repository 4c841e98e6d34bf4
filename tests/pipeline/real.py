"""A real Kafka where a test of the pipeline expects brokers of ours: with `--real-kafka` (`make pipeline-kafka`)."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from tests.jvm.kafka_node import QUICK, node
from tests.pipeline.topics import make_topics, messages
from zombieproof.bridge.under_test import ReadRecord, TestedBrokers

TIMEOUT_MS = 60_000
"""Transactions may be open for so long where nobody says anything else."""
NOTICED_S = 3.0
"""So much later the coordinator has looked, at the most."""


class RealKafka:
    """What tests ask of `TestedBrokers`, of a Kafka that listens at an address."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    def topics(self, **partitions: int) -> None:
        """Make topics."""
        make_topics(self.bootstrap, **partitions)

    def records(
        self, topic: str, isolation: Literal["read_committed", "read_uncommitted"] = "read_committed"
    ) -> list[ReadRecord]:
        """What a reader of a topic gets, partition by partition."""
        return [
            ReadRecord(
                topic,
                each.partition(),
                each.offset(),
                each.key(),
                each.value(),
                tuple(each.headers() or ()),
                each.timestamp()[1],
            )
            for each in messages(self.bootstrap, topic, isolation)
        ]

    def advance(self, milliseconds: int) -> None:
        """Time goes on as far as the end of every transaction that is open, and no further: this clock is not ours."""
        assert milliseconds > TIMEOUT_MS
        time.sleep(TIMEOUT_MS / 1000 + NOTICED_S)


def broker_for(request: pytest.FixtureRequest, folder: Path) -> Iterator[TestedBrokers | RealKafka]:
    """The broker of a test: ours, or with `--real-kafka` a node of Kafka in an empty folder."""
    if not request.config.getoption("real_kafka"):
        yield request.getfixturevalue("txn_broker")
        return
    if request.node.get_closest_marker("txn_faults"):
        pytest.skip("a real Kafka plays no plan of faults; brokers of ours do, without --real-kafka")
    with node(folder, options=QUICK) as address:
        yield RealKafka(address)
