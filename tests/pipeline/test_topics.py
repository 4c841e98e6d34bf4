"""What tests of the pipeline fill and read back with: it finds what is committed, and what is not."""

from collections import Counter
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.pipeline.real import RealKafka
    from zombieproof.bridge.under_test import TestedBrokers

pytest.importorskip(
    "confluent_kafka",
    reason="confluent-kafka, the client of the pipeline, is not installed (extra `spark`); "
    "tests/statemachines has the steps that it hosts",
)

from tests.pipeline.topics import fill, make_topics, producing, read_back, settle, undecided


def test_what_was_committed_is_read_back_and_what_was_aborted_is_in_the_log(
    empty_brokers: "TestedBrokers | RealKafka",
) -> None:
    make_topics(empty_brokers.bootstrap, input=3)
    filled = fill(empty_brokers.bootstrap, "input", 3, 200, per_transaction=20)
    committed, aborted = Counter(filled.committed), Counter(filled.aborted)
    assert (committed.total(), aborted.total(), len(committed)) == (200, 40, 200)
    assert read_back(empty_brokers.bootstrap, "input") == committed
    assert read_back(empty_brokers.bootstrap, "input", "read_uncommitted") == committed + aborted
    assert undecided(empty_brokers.bootstrap, "input") == 0
    assert Counter(each.value for each in empty_brokers.records("input")) == committed


@pytest.mark.slow
def test_what_is_open_is_counted_and_not_read(empty_brokers: "TestedBrokers | RealKafka") -> None:
    make_topics(empty_brokers.bootstrap, input=2)
    producer = producing(empty_brokers.bootstrap, "open")
    producer.begin_transaction()
    for partition in (0, 0, 1):
        producer.produce("input", b"open", partition=partition)
    producer.flush(10)
    assert (read_back(empty_brokers.bootstrap, "input"), undecided(empty_brokers.bootstrap, "input")) == (Counter(), 3)
    producer.abort_transaction(10)
    assert settle(empty_brokers.bootstrap, "input") == 0
