"""TransactionManagerTest: the order in which requests leave, and what a commit waits for (TP-001 to TP-007, TP-039)."""

import pytest

from tests.conformance.producer_client import EPOCH, LEADER, PID, TP0, TP1, Producer
from zombieproof.messages.transactions import AddPartitionsToTxn, EndTxn
from zombieproof.model.vocabulary import Error, ProducerState

CONTENT = 0, None, b"value", ()


@pytest.mark.case("TP-001")
def test_tp_001_closing_finishes_a_pending_commit() -> None:
    producer = Producer().with_partition()
    record = producer.send_now()
    producer.sender.close()
    commit = producer.manager.begin_commit()
    producer.answer("Produce")
    producer.exchange("ET")
    assert commit.is_successful
    assert record.is_successful
    assert producer.sends() is None
    assert producer.sender.is_closed
    assert producer.left == ["Produce", "ET"], "the committed transaction is not aborted by closing"


@pytest.mark.case("TP-002")
def test_tp_002_the_end_waits_for_incomplete_batches() -> None:
    producer = Producer().with_partition()
    producer.manager.begin_commit()
    assert producer.manager.next_request(producer.now_ms, has_incomplete_batches=True) is None
    request = producer.manager.next_request(producer.now_ms, has_incomplete_batches=False)
    assert request is not None
    assert isinstance(request.body, EndTxn)
    assert request.body.committed


@pytest.mark.case("TP-003")
def test_tp_003_a_commit_adds_partitions_then_sends_then_ends() -> None:
    producer = Producer().in_transaction()
    record = producer.send()
    commit = producer.manager.begin_commit()
    for name in ("APT", "Produce", "ET"):
        assert not commit.is_completed
        producer.exchange(name)
    assert producer.left == ["APT", "Produce", "ET"]
    assert record.is_successful
    assert commit.is_successful


@pytest.mark.case("TP-004")
def test_tp_004_a_partition_that_comes_meanwhile_is_added_before_anything_is_produced() -> None:
    producer = Producer().in_transaction()
    first = producer.send(TP0)
    producer.exchange("APT")
    second = producer.send(TP1)
    producer.leave("APT")
    body = producer.request("APT").body
    assert isinstance(body, AddPartitionsToTxn)
    assert body.transactions[0].partitions == (TP1,)
    assert producer.sends() is None
    producer.answer("APT")
    producer.exchange("Produce")
    assert producer.left == ["APT", "APT", "Produce"]
    assert first.is_successful
    assert second.is_successful


@pytest.mark.case("TP-005")
def test_tp_005_an_added_partition_is_drained_in_the_abortable_state() -> None:
    producer = Producer().with_partition(TP1)
    producer.manager.add_partition(TP0)
    producer.exchange("APT", Error.TOPIC_AUTHORIZATION_FAILED)
    assert producer.state == ProducerState.ABORTABLE_ERROR
    for partition in (TP0, TP1):
        producer.sender.accumulator.append(partition, CONTENT, 0, transactional=True, now_ms=producer.now_ms)
    drained = producer.sender.drain(LEADER, producer.now_ms)
    assert list(drained) == [TP1], "the refused partition stays"
    assert producer.state == ProducerState.ABORTABLE_ERROR
    assert producer.error == Error.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.case("TP-006")
def test_tp_006_a_commit_sends_what_was_not_sent() -> None:
    producer = Producer().with_partition()
    sent = producer.send()
    commit = producer.manager.begin_commit()
    producer.leave("Produce")
    assert producer.sends() is None
    producer.answer("Produce")
    assert sent.is_successful
    producer.exchange("ET")
    assert commit.is_successful
    assert producer.left == ["Produce", "ET"]


@pytest.mark.case("TP-007")
def test_tp_007_a_commit_waits_for_what_is_in_flight() -> None:
    producer = Producer().with_partition()
    producer.send_now()
    commit = producer.manager.begin_commit()
    assert producer.sends() is None
    producer.answer("Produce")
    producer.leave("ET")
    assert not commit.is_completed
    producer.answer("ET")
    assert commit.is_successful


@pytest.mark.case("TP-039")
def test_tp_039_version_2_counts_from_the_next_transaction() -> None:
    producer = Producer(transaction_version=1).with_partition()
    assert not producer.uses_v2()
    producer.brokers.learn_features(2, features_epoch=2)
    producer.send_now()
    producer.answer("Produce")
    assert not producer.uses_v2()
    commit = producer.manager.begin_commit()
    producer.leave("ET")
    assert producer.request("ET").body.version == 4, "the open transaction ends as it began"
    producer.answer("ET")
    producer.exchange("IO", producer_epoch=EPOCH + 1)
    commit.acknowledge()
    producer.manager.begin_transaction()
    assert producer.uses_v2()
    producer.left.clear()
    producer.send_now()
    assert producer.left == ["Produce"], "no partition is added"
    producer.answer("Produce")
    producer.manager.begin_commit()
    producer.leave("ET")
    assert producer.request("ET").body.version == 5
    producer.answer("ET", producer_id=PID, producer_epoch=EPOCH + 2)
    assert producer.identity == (PID, EPOCH + 2)
    assert producer.state == ProducerState.READY
