"""TransactionsTest: real clients at a cluster of three brokers (ET-001 to ET-013)."""

from collections.abc import Callable
from functools import partial

import pytest

from tests.conformance.baselines import rules_of
from tests.conformance.end_to_end import (
    acked,
    committed,
    producers_at,
    read,
    replicated,
    stage_of,
    uncommitted,
    value_of,
)
from tests.live.consumer import LiveConsumer, ask
from tests.live.copier import Copier, Flavour
from tests.live.stage import Stage
from tests.live.staged_producer import StagedProducer
from zombieproof.clients.errors import ProducerFailure, ProducerFenced
from zombieproof.clients.sender import SenderSettings
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.partitions import ListOffsets, ListOffsetsAnswer
from zombieproof.model.rules import Rules, with_switches
from zombieproof.model.vocabulary import NONE, Error, Isolation

T1: TopicPartition = ("topic1", 0)
T2: TopicPartition = ("topic2", 0)
BOTH = ("topic1", "topic2")
ID = "transactional-producer"
EVERY_VERSION = pytest.mark.parametrize("transaction_version", [0, 1, 2])


def stage_at(transaction_version: int) -> Stage:
    return stage_of(rules=Rules(transaction_version=transaction_version))


def producer_of(stage: Stage, name: str = ID, **options: int) -> StagedProducer:
    producer = StagedProducer(stage, name, **options)  # type: ignore[arg-type]  # all of them are integers
    producer.init()
    return producer


def send(producer: StagedProducer, values: list[bytes], partition: TopicPartition) -> None:
    """Send these records to a partition, and wait until they are stored."""
    sent = [producer.send(partition, value) for value in values]
    for one in sent:
        acked(producer, one)


@EVERY_VERSION
@pytest.mark.case("ET-001")
def test_et_001_of_an_aborted_and_a_committed_transaction_one_is_read(transaction_version: int) -> None:
    stage = stage_at(transaction_version)
    producer = producer_of(stage)
    for outcome, end in ((b"abort", producer.abort), (b"commit", producer.commit)):
        producer.begin()
        for partition in (("topic1", 1), ("topic2", 2)):
            producer.send(partition, outcome)
        producer.flush()
        end()
    assert committed(stage, *BOTH) == [b"commit", b"commit"]
    assert sorted(uncommitted(stage, *BOTH)) == [b"abort", b"abort", b"commit", b"commit"]


@EVERY_VERSION
@pytest.mark.case("ET-002")
def test_et_002_undecided_data_stays_hidden(transaction_version: int) -> None:
    stage = stage_at(transaction_version)
    p1, p2 = producer_of(stage, "p1"), producer_of(stage, "p2")
    p1.begin()
    p2.begin()
    time_ms = stage.now_ms
    for partition in (T1, T2):
        p2.send(partition, b"p2 first")
    p2.flush()
    stage.pass_time(1)
    later_ms = stage.now_ms
    assert later_ms > time_ms
    for producer, count in ((p1, 2), (p2, 1)):
        for partition in (T1, T2):
            for _ in range(count):
                producer.send(partition, b"later")
        producer.flush()
    p2.commit()

    assert len(uncommitted(stage, *BOTH)) == 8
    assert committed(stage, *BOTH) == [b"p2 first", b"p2 first"]
    reader = LiveConsumer(stage)
    reader.assign(T1, T2)
    assert stage.do(reader.ends()) == {T1: 1, T2: 1}
    assert offsets_at(stage, Isolation.READ_UNCOMMITTED, later_ms) == {T1: 1, T2: 1}, "found"
    assert offsets_at(stage, Isolation.READ_COMMITTED, later_ms) == {T1: NONE, T2: NONE}
    assert offsets_at(stage, Isolation.READ_COMMITTED, time_ms) == {T1: 0, T2: 0}, "what is stable is found"


def offsets_at(stage: Stage, isolation: Isolation, timestamp_ms: int) -> dict[TopicPartition, int]:
    """What ListOffsets finds at a time on both partitions."""
    found = {}
    for partition in (T1, T2):
        request = ListOffsets(5, isolation, {partition: timestamp_ms})
        answer = stage.do(ask(stage, request, stage.cluster.leader_of(partition)))
        assert isinstance(answer, ListOffsetsAnswer)
        found[partition] = answer.partitions[partition].offset
        assert answer.partitions[partition].error == Error.NONE
    return found


@EVERY_VERSION
@pytest.mark.case("ET-003")
def test_et_003_a_fetch_that_has_waited_carries_the_aborted_list(transaction_version: int) -> None:
    stage = stage_at(transaction_version)
    p1, p2 = producer_of(stage, "p1"), producer_of(stage, "p2")
    p1.begin()
    p2.begin()
    send(p2, [b"x1"], T1)
    send(p1, [b"y1", b"y2"], T1)
    send(p2, [b"x2"], T1)
    p1.abort()
    p2.commit()
    stage.settle()
    reader = LiveConsumer(stage)
    reader.assign(T1)
    since_ms = stage.now_ms
    got = stage.do(reader.poll(min_bytes=100_000, max_wait_ms=100))
    assert stage.now_ms - since_ms >= 100, "the fetch has waited"
    assert [(value_of(one), one.offset) for one in got] == [(b"x1", 0), (b"x2", 3)]


@EVERY_VERSION
@pytest.mark.parametrize(
    "flavour",
    [
        pytest.param(Flavour.GROUP_ID, marks=pytest.mark.case("ET-004"), id="ET-004"),
        pytest.param(Flavour.GROUP_METADATA, marks=pytest.mark.case("ET-005"), id="ET-005"),
    ],
)
def test_et_004_and_005_a_copy_is_exactly_once(flavour: Flavour, transaction_version: int) -> None:
    stage = stage_at(transaction_version)
    values = [str(number).encode() for number in range(500)]
    seeder = StagedProducer(stage, None)
    for number, value in enumerate(values):
        seeder.send(("topic1", number % 4), value)
    seeder.flush()
    assert sorted(committed(stage, "topic1")) == sorted(values)

    copier = Copier(stage, ID, "topic1", "topic2", flavour=flavour, transaction_size=20, aborts=lambda turn: turn % 2)
    task = stage.start(copier.run_as_member())
    assert stage.run(lambda: copier.committed >= 500)
    copier.stop()
    stage.wait(task)
    assert copier.aborted >= 10, "alternately"
    output = committed(stage, "topic2")
    assert len(output) == 500
    assert set(output) == set(values), "nothing twice, nothing missing"
    assert len(uncommitted(stage, "topic2")) > 500, "aborted copies are there"


@EVERY_VERSION
@pytest.mark.case("ET-006")
def test_et_006_an_old_producer_is_fenced_when_it_commits(transaction_version: int) -> None:
    stage = stage_at(transaction_version)
    p1 = producer_of(stage)
    p1.begin()
    send(p1, [b"old"], T1)
    send(p1, [b"old"], T2)
    p2 = producer_of(stage)
    p2.begin()
    p2.send(T1, b"new")
    p2.send(T2, b"new")
    with pytest.raises(ProducerFenced):
        p1.commit()
    p2.commit()
    assert committed(stage, *BOTH) == [b"new", b"new"]


@EVERY_VERSION
@pytest.mark.parametrize(
    "ends",
    [
        pytest.param("commit", marks=pytest.mark.case("ET-007"), id="ET-007"),
        pytest.param("abort", marks=pytest.mark.case("ET-008"), id="ET-008"),
    ],
)
def test_et_007_and_008_an_end_times_out_when_nobody_is_there(ends: str, transaction_version: int) -> None:
    stage = stage_at(transaction_version)
    producer = producer_of(stage, max_block_ms=3000)
    producer.begin()
    send(producer, [b"value"], T1)
    for node in tuple(stage.cluster.brokers):
        stage.cluster.kill(node)
    since_ms = stage.now_ms
    with pytest.raises(TimeoutError):
        producer.commit() if ends == "commit" else producer.abort()
    assert 3000 <= stage.now_ms - since_ms < 3500
    for node in (3, 2, 1):
        stage.cluster.start(node, was_clean=False)
    producer.commit() if ends == "commit" else producer.abort()
    assert committed(stage, *BOTH) == ([b"value"] if ends == "commit" else []), "the same call goes on"


@EVERY_VERSION
@pytest.mark.case("ET-009")
def test_et_009_an_old_producer_is_fenced_when_it_sends(transaction_version: int) -> None:
    stage = stage_at(transaction_version)
    p1 = producer_of(stage)
    p1.begin()
    send(p1, [b"old"], T1)
    send(p1, [b"old"], T2)
    p2 = producer_of(stage)
    p2.begin()
    send(p2, [b"new"], T1)
    send(p2, [b"new"], T2)
    with pytest.raises(ProducerFailure) as refused:
        acked(p1, p1.send(T1, b"too late"))
    assert refused.value.error in (Error.PRODUCER_FENCED, Error.INVALID_PRODUCER_EPOCH)
    p2.commit()
    assert committed(stage, *BOTH) == [b"new", b"new"]


@EVERY_VERSION
@pytest.mark.case("ET-010")
def test_et_010_a_transaction_that_timed_out_is_aborted_and_fenced(transaction_version: int) -> None:
    stage = stage_at(transaction_version)
    producer = producer_of(stage, transaction_timeout_ms=100)
    producer.begin()
    send(producer, [b"first"], T1)
    stage.pass_time(600)
    with pytest.raises(ProducerFailure) as refused:
        acked(producer, producer.send(T2, b"second"))
    # With transaction version 2 nobody asks the coordinator first, and the leader says what the producer may survive.
    fenced = Error.INVALID_PRODUCER_EPOCH if transaction_version == 2 else Error.PRODUCER_FENCED
    assert refused.value.error == fenced
    assert isinstance(refused.value, ProducerFenced) == (transaction_version < 2)
    assert uncommitted(stage, *BOTH) == [b"first"]
    assert committed(stage, *BOTH) == []


@EVERY_VERSION
@pytest.mark.case("ET-011")
def test_et_011_many_markers_for_one_leader(transaction_version: int) -> None:
    topics = {"largeTopic": replicated(10), "largeTopicOneReplica": replicated(10, replicas=1)}
    stage = stage_of(topics, rules=Rules(transaction_version=transaction_version))
    producer = producer_of(stage)
    producer.begin()
    for topic in topics:
        for number in range(5000):
            producer.send((topic, number % 10), f"{topic} {number} abort".encode())
    producer.flush()
    producer.abort()
    producer.begin()
    expected = [f"largeTopic {number} commit".encode() for number in range(1000)]
    for number, value in enumerate(expected):
        producer.send(("largeTopic", number % 10), value)
    producer.commit()
    assert sorted(committed(stage, *topics)) == sorted(expected)
    everything = uncommitted(stage, *topics)
    assert len(everything) == len(set(everything)) == 11_000


@EVERY_VERSION
@pytest.mark.case("ET-012")
def test_et_012_the_epoch_rises_after_a_lost_batch(transaction_version: int) -> None:
    lone: TopicPartition = ("test-topic", 0)
    topics = {"topic1": replicated(4), "topic2": replicated(4), "test-topic": replicated(3, replicas=1)[2:]}
    stage = stage_of(topics, rules=Rules(transaction_version=transaction_version))
    settings = SenderSettings(delivery_timeout_ms=5000, request_timeout_ms=5000, retry_backoff_ms=50)
    producer = StagedProducer(stage, ID, settings=settings)
    producer.init()
    producer.begin()
    send(producer, [b"first"], lone)
    producer.commit()
    stage.settle()
    (before,) = producers_at(stage, lone)

    producer.begin()
    send(producer, [b"aborted"], T1)
    leader = stage.cluster.leader_of(lone)
    assert leader == 3
    stage.cluster.kill(leader)
    lost = producer.send(lone, b"lost")
    stage.pass_time(6000)
    stage.cluster.start(leader, was_clean=False)
    assert lost.is_done
    assert isinstance(lost.error, ProducerFailure)
    assert lost.error.error == Error.REQUEST_TIMED_OUT, "Kafka's TimeoutException"
    producer.abort()

    producer.begin()
    for partition in (T1, T2, lone, lone):
        producer.send(partition, b"second")
    producer.commit()
    assert sorted(committed(stage, *topics)) == [b"first", *[b"second"] * 4]
    (after,) = producers_at(stage, lone)
    assert after.producer_id == before.producer_id
    assert after.producer_epoch > before.producer_epoch


@pytest.mark.parametrize("baseline", ["2024-10", "both"])
@pytest.mark.case("ET-013")
def test_et_013_a_fence_that_failed_does_not_eat_an_epoch(baseline: str) -> None:
    stage = stage_of(rules=rules_of(baseline, transaction_version=1))
    p1 = producer_of(stage)
    p1.begin()
    send(p1, [b"p1"], T1)
    p1.commit()
    stage.settle()
    (before,) = producers_at(stage, T1)

    others = [node for node in stage.cluster.brokers if node != stage.cluster.coordinator_of(ID)]
    for node in others:
        stage.cluster.kill(node)
    p2 = StagedProducer(stage, ID, max_block_ms=1000)
    with pytest.raises(TimeoutError):
        p2.init()
    p2.vanish()
    for node in others:
        stage.cluster.start(node, was_clean=False)

    p3 = producer_of(stage)
    p3.begin()
    send(p3, [b"p3"], T1)
    p3.commit()
    (after,) = producers_at(stage, T1)
    assert after.producer_epoch == before.producer_epoch + 1
    assert [value_of(one) for one in read(stage, Isolation.READ_COMMITTED, *BOTH)] == [b"p1", b"p3"]


@pytest.mark.parametrize(
    ("case", "off"),
    [
        (test_et_001_of_an_aborted_and_a_committed_transaction_one_is_read, "aborted_list"),
        (test_et_002_undecided_data_stays_hidden, "stable_bound"),
        (test_et_003_a_fetch_that_has_waited_carries_the_aborted_list, "aborted_list"),
        (partial(test_et_004_and_005_a_copy_is_exactly_once, Flavour.GROUP_METADATA), "skipping_ends"),
        (test_et_006_an_old_producer_is_fenced_when_it_commits, "strict_end"),
        (test_et_009_an_old_producer_is_fenced_when_it_sends, "init_raises_epoch fence_bump"),
        (test_et_010_a_transaction_that_timed_out_is_aborted_and_fenced, "timeout_bump"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_a_broken_rule_is_noticed(case: Callable[[int], None], off: str, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = with_switches(Rules(transaction_version=1), off=off.split())
    monkeypatch.setitem(globals(), "stage_at", lambda _: stage_of(rules=broken))
    with pytest.raises((AssertionError, ProducerFailure, pytest.fail.Exception)):
        case(1)
