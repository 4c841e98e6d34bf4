"""Work grows with the number of partitions, and no faster; and there is an end to how many are made at once."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.store import fault_disk
from zombieproof.broker.store.fault_disk import FaultDisk
from zombieproof.formats.batches import Batch, Record
from zombieproof.messages.admin import CreateTopics, NewTopic, Setting, TopicsCreated
from zombieproof.messages.partitions import DescribeTopics, Fetch, Produce, SentBatch
from zombieproof.messages.transactions import (
    AddPartitionsToTxn,
    EndTxn,
    InitProducerId,
    InitProducerIdAnswer,
    TransactionToAdd,
)
from zombieproof.model.vocabulary import NONE, Error, Isolation

SETTINGS = Settings(transaction_state_log_num_partitions=1, offsets_topic_num_partitions=1)
FEW, MANY = 40, 160


def calls(work: Callable[[], object]) -> int:
    """How many functions are called, but for those of the disk that is simulated: it looks through all its names."""
    count = 0

    def called(frame: FrameType, event: str, _: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call") and frame.f_code.co_filename != fault_disk.__file__

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def sent(producer_id: int = NONE, epoch: int = NONE) -> tuple[SentBatch, ...]:
    """One record; of a transaction, if it has a producer."""
    is_transactional, records = producer_id != NONE, (Record(None, b"v"),)
    sequence = 0 if is_transactional else NONE
    return (SentBatch(Batch(producer_id, epoch, sequence, is_transactional, records, timestamp_ms=5)),)


def counted(partitions: int, disk: FaultDisk | None) -> dict[str, int]:
    """How many calls each kind of work takes with so many partitions."""
    every, found = [("t", number) for number in range(partitions)], dict[str, int]()
    with Embedded(disk=disk, topics={"t": partitions}, settings=SETTINGS) as embedded:
        who = embedded.ask(InitProducerId(4, "x", 600_000, -1, -1))
        assert isinstance(who, InitProducerIdAnswer)
        told = list[object]()

        def transaction() -> None:
            added = TransactionToAdd("x", who.producer_id, who.producer_epoch, tuple(every))
            embedded.ask(AddPartitionsToTxn(3, (added,)))
            embedded.ask(Produce(9, "x", -1, {each: sent(who.producer_id, who.producer_epoch) for each in every}))
            embedded.ask(EndTxn(3, "x", who.producer_id, who.producer_epoch, committed=True))
            embedded.ask(InitProducerId(4, "x", 600_000, who.producer_id, who.producer_epoch))

        def write_each() -> None:
            for each in every:
                embedded.ask(Produce(9, None, -1, {each: sent()}))

        write_each()
        found["one request to all"] = calls(lambda: embedded.ask(Produce(9, None, -1, dict.fromkeys(every, sent()))))
        found["one transaction over all"] = calls(transaction)
        found["one fetch of all"] = calls(
            lambda: embedded.ask(Fetch(11, Isolation.READ_COMMITTED, dict.fromkeys(every, 0)))
        )
        ends = {each: embedded.cluster.brokers[1].partitions.replicas[each].log.end_offset for each in every}
        embedded.submit(Fetch(11, Isolation.READ_UNCOMMITTED, ends, 1 << 30, 600_000), 1, told.append)
        found["a record to each while a fetch waits for all"] = calls(write_each)
        assert not told, "the fetch waits"
    return found


@pytest.mark.sample("memory")
@pytest.mark.parametrize("where", ["memory", "disk"])
def test_four_times_the_partitions_are_four_times_the_work(where: str) -> None:
    few, many = (counted(count, None if where == "memory" else FaultDisk()) for count in (FEW, MANY))
    for name, count in few.items():
        assert many[name] < 1.25 * MANY / FEW * count, f"{name}: {count} calls, then {many[name]}"


# ---------------------------------------------------------------- how many there can be


def created(cluster: Cluster, *topics: NewTopic) -> list[int]:
    answer = cluster.ask(CreateTopics(7, topics, 1000, validate_only=True))
    assert isinstance(answer, TopicsCreated)
    return [each.error for each in answer.topics]


def test_a_request_makes_as_many_partitions_as_a_request_to_kafka() -> None:
    """As Kafka 4.4.0 and 3.9.1 answer."""
    cluster = Cluster(1, settings=SETTINGS)
    refused, a_setting = Error.POLICY_VIOLATION, (Setting("retention.ms", "1000"),)
    for topics, errors in (
        ([NewTopic("a", 9_999)], [0]),
        ([NewTopic("a", 10_000)], [refused]),
        ([NewTopic("a", 100_000_000)], [refused]),
        ([NewTopic("a", 5_000), NewTopic("b", 4_998)], [0, 0]),
        ([NewTopic("a", 5_000), NewTopic("b", 4_999)], [refused, refused]),
        ([NewTopic("a", 9_999), NewTopic("b", 0)], [0, Error.INVALID_PARTITIONS]),
        ([NewTopic("a", 9_998, settings=a_setting)], [0]),
        ([NewTopic("a", 9_999, settings=a_setting)], [refused]),
    ):
        assert created(cluster, *topics) == errors, topics


def test_a_topic_from_the_start_has_no_more() -> None:
    assert Cluster(1, settings=SETTINGS, topics={"t": 10_000}).metadata.count("t") == 10_000
    for topics, settings in (({"x": 100_000_000}, SETTINGS), ({}, Settings(offsets_topic_num_partitions=10_001))):
        with pytest.raises(ValueError, match="at most 10,000 can be made at once"):
            Cluster(1, settings=settings, topics=topics)


def test_a_topic_that_is_made_because_somebody_asks_has_no_more() -> None:
    cluster = Cluster(1, settings=Settings(num_partitions=100_000_000))
    cluster.ask(DescribeTopics(12, ("new",), creates=True))
    assert cluster.metadata.count("new") == 0
