"""A reader in micro-batches at a live broker: committed records alone, below the last stable offset, to the end."""

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.pipeline.real import RealKafka
    from zombieproof.bridge.under_test import TestedBrokers
    from zombieproof.pipeline.sink import Row

pytest.importorskip(
    "confluent_kafka",
    reason="confluent-kafka, the client of the pipeline, is not installed (extra `spark`); "
    "tests/statemachines has the steps that it hosts",
)

from zombieproof.model.vocabulary import NONE
from zombieproof.pipeline import reader
from zombieproof.pipeline.kafka import client, producer_for
from zombieproof.pipeline.reader import (
    BrokersUnavailable,
    MicroBatches,
    NoSuchTopic,
    OutOfOrder,
    RangeNotRead,
    RefusedByBrokers,
    Retries,
    read,
    shares,
)
from zombieproof.pipeline.sink import deliver

PLACE = ("input", 0)


@pytest.fixture
def filled(brokers: "TestedBrokers | RealKafka", given: dict[str, Any]) -> dict[str, Any]:
    """Committed a (0), marker (1), aborted b (2), marker (3), committed c (4), marker (5), open d (6)."""
    for number, (value, ends) in enumerate(((b"a", True), (b"b", False), (b"c", True), (b"d", None))):
        producer = producer_for(given["settings"], f"input-{number}")
        producer.init_transactions(10)
        producer.begin_transaction()
        producer.produce("input", value, partition=0)
        producer.flush(10)
        if ends is not None:
            (producer.commit_transaction if ends else producer.abort_transaction)(10)
    settings: dict[str, Any] = given["settings"]
    return settings


def values(settings: dict[str, Any], first: int, past: int, **more: Any) -> list[bytes]:
    return [each.value() for some in read(settings, "g", PLACE, first, past, **more) for each in some]


def test_a_range_holds_what_is_committed_and_ends_at_markers_too(filled: dict[str, Any]) -> None:
    ranges = {(0, 6): [b"a", b"c"], (0, 4): [b"a"], (1, 4): [], (1, 2): [], (4, 5): [b"c"], (3, 3): []}
    assert {each: values(filled, *each, deadline_s=10) for each in ranges} == ranges


@pytest.mark.slow
def test_a_range_above_the_last_stable_offset_is_not_read_to_its_end(filled: dict[str, Any]) -> None:
    with pytest.raises(RangeNotRead, match="below the last stable offset"):
        values(filled, 4, 7, deadline_s=1)


def test_a_batch_goes_no_further_than_the_last_stable_offset(filled: dict[str, Any]) -> None:
    batches = MicroBatches(filled, "g")
    try:
        assert batches.begin({PLACE: 0}) == {PLACE: 0}
        assert batches.plan({PLACE: 0}, 4) == {PLACE: 4}
        batches.finish()
        assert batches.plan({PLACE: 4}) == {PLACE: 6}
    finally:
        batches.close()


def test_without_a_checkpoint_it_begins_where_the_sink_has_committed(rows: "list[Row]", given: dict[str, Any]) -> None:
    deliver(rows, **given)
    batches = MicroBatches(given["settings"], given["group"])
    try:
        assert batches.begin({PLACE: 0}) == {PLACE: 55}
    finally:
        batches.close()


def test_a_range_that_the_broker_does_not_have_is_told(filled: dict[str, Any]) -> None:
    with pytest.raises(RangeNotRead, match="input-0 from 100 to 105: the broker does not have it"):
        values(filled, 100, 105, deadline_s=10)


def test_batches_are_planned_and_finished_in_turn(filled: dict[str, Any]) -> None:
    batches = MicroBatches(filled, "g")
    try:
        with pytest.raises(OutOfOrder, match="PLAN is illegal in UNPLACED"):
            batches.plan({PLACE: 0})
        batches.resume([PLACE])
        with pytest.raises(OutOfOrder, match="PLAN is illegal in PLANNED"):
            batches.plan({PLACE: 0})
        batches.finish()
        assert batches.plan({PLACE: 0}) == {PLACE: 6}
    finally:
        batches.close()


def test_a_limit_is_for_all_partitions_and_leaves_none_behind() -> None:
    sizes = {("a", 0): 90, ("a", 1): 9, ("a", 2): 1, ("b", 0): 0}
    assert shares(sizes, 10) == {("a", 0): 9, ("a", 1): 1, ("a", 2): 1, ("b", 0): 1}
    assert shares(sizes, 100) == dict.fromkeys(sizes, NONE)
    assert shares(sizes, NONE) == dict.fromkeys(sizes, NONE)


def test_partitions_are_those_of_the_brokers(filled: dict[str, Any]) -> None:
    batches = MicroBatches(filled, "g")
    try:
        assert batches.partitions(["output", "input"]) == [(each, at) for each in ("output", "input") for at in (0, 1)]
        with pytest.raises(NoSuchTopic, match="topic absent: the brokers do not have it"):
            batches.partitions(["absent"])
    finally:
        batches.close()


def test_a_log_that_ends_before_the_position_is_told(filled: dict[str, Any]) -> None:
    batches = MicroBatches(filled, "g")
    try:
        batches.resume([PLACE])
        batches.finish()
        with pytest.raises(RangeNotRead, match="input-0 from 9 on: everything is decided below 6 only"):
            batches.plan({PLACE: 9})
    finally:
        batches.close()


def refused(api: str, error: str, when: str) -> dict[str, Any]:
    return {"name": error, "faults": [{"request": {"api": api}, "inject_error": error, "when": when}]}


def begun_and_planned(
    settings: dict[str, Any], retries: Retries = reader.RETRIES
) -> tuple[dict[tuple[str, int], int], dict[tuple[str, int], int]]:
    batches = MicroBatches(settings, "g", retries)
    try:
        return batches.begin({PLACE: 0}), batches.plan({PLACE: 0})
    finally:
        batches.close()


@pytest.mark.txn_faults(plan=refused("OffsetFetch", "NOT_COORDINATOR", "once"))
def test_a_coordinator_that_begins_is_asked_again(filled: dict[str, Any]) -> None:
    """As Apache Kafka 4.3.1 answers whoever asks for a group right after the first partition of its log was made."""
    assert begun_and_planned(filled) == ({PLACE: 0}, {PLACE: 6})


@pytest.mark.slow
@pytest.mark.txn_faults(plan=refused("OffsetFetch", "NOT_COORDINATOR", "every_time"))
def test_one_that_never_begins_is_told(filled: dict[str, Any]) -> None:
    with pytest.raises(BrokersUnavailable, match=r"offsets of group g: no broker has answered .*NOT_COORDINATOR"):
        begun_and_planned(filled, Retries(count=1, interval_s=0.1, attempt_s=0.3))


@pytest.mark.txn_faults(plan=refused("ListOffsets", "NOT_LEADER_OR_FOLLOWER", "once"))
def test_a_leader_that_is_another_one_is_looked_for(filled: dict[str, Any]) -> None:
    assert begun_and_planned(filled) == ({PLACE: 0}, {PLACE: 6})


def test_a_client_that_has_not_heard_of_a_partition_is_asked_again() -> None:
    """As librdkafka answers whose connections break before it has its metadata."""
    errors = [client.KafkaException(client.KafkaError(client.KafkaError._UNKNOWN_PARTITION))]

    def ask() -> str:
        if errors:
            raise errors.pop()
        return "known"

    assert reader.answered(ask) == "known"


@pytest.mark.txn_faults(plan=refused("OffsetFetch", "GROUP_AUTHORIZATION_FAILED", "once"))
def test_what_does_not_pass_is_told_at_once(filled: dict[str, Any]) -> None:
    with pytest.raises(RefusedByBrokers, match="offsets of group g: the brokers answer GROUP_AUTHORIZATION_FAILED"):
        begun_and_planned(filled)
