"""TransactionManagerTest: what is left to do after an abortable error (TP-073 to TP-077, TP-079, TP-081 to TP-086)."""

import pytest

from tests.conformance.producer_client import EPOCH, LEADER, PID, TP0, TP1, Producer, failed_with
from zombieproof.clients.batches import SentRecord
from zombieproof.clients.errors import DeliveryTimedOut, ProducerFailure, TransactionAbortable, TransactionAborted
from zombieproof.clients.sender import SenderSettings
from zombieproof.messages.transactions import EndTxn
from zombieproof.model.rules import preset
from zombieproof.model.vocabulary import Error, ProducerState

SHORT_DELIVERY = SenderSettings(delivery_timeout_ms=3_000, batch_records=1)


def ends(producer: Producer, *, committed: bool) -> None:
    """EndTxn leaves next, and is answered."""
    producer.leave("ET")
    body = producer.request("ET").body
    assert isinstance(body, EndTxn)
    assert body.committed == committed
    producer.answer("ET")


def next_transaction_commits(producer: Producer) -> None:
    producer.manager.begin_transaction()
    record = producer.send(TP0)
    producer.exchange("APT")
    producer.exchange("Produce")
    commit = producer.manager.begin_commit()
    ends(producer, committed=True)
    assert record.is_successful
    assert commit.is_successful
    assert producer.state == ProducerState.READY


@pytest.mark.case("TP-073")
def test_tp_073_a_batch_that_fails_cancels_the_commit() -> None:
    """Two batches fail at once: the first cancels the commit, after which the second asks for a raised epoch."""
    producer = Producer().with_partition(TP0).with_partition(TP1)
    records = [producer.send(TP0), producer.send(TP1)]
    commit = producer.manager.begin_commit()
    producer.exchange("Produce", Error.OUT_OF_ORDER_SEQUENCE_NUMBER)
    assert producer.sends() is None
    assert failed_with(commit) == Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert [failed_with(record) for record in records] == [Error.OUT_OF_ORDER_SEQUENCE_NUMBER] * 2
    assert producer.left == ["Produce"], "the commit is not sent"
    with pytest.raises(ProducerFailure):
        commit.acknowledge()
    abort = producer.manager.begin_abort()
    ends(producer, committed=False)
    producer.exchange("IO", producer_epoch=EPOCH + 1)
    assert producer.left == ["Produce", "ET", "IO"]
    assert abort.is_successful
    assert producer.state == ProducerState.READY
    assert producer.identity == (PID, EPOCH + 1)


@pytest.mark.case("TP-073")
def test_tp_073_a_single_batch_that_fails_during_the_commit_raises_no_epoch() -> None:
    producer = Producer().with_partition()
    record = producer.send()
    commit = producer.manager.begin_commit()
    producer.exchange("Produce", Error.OUT_OF_ORDER_SEQUENCE_NUMBER)
    assert producer.sends() is None
    assert failed_with(commit) == Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert failed_with(record) == Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producer.left == ["Produce"], "the commit is not sent"
    with pytest.raises(ProducerFailure):
        commit.acknowledge()
    abort = producer.manager.begin_abort()
    ends(producer, committed=False)
    assert abort.is_successful
    assert producer.state == ProducerState.READY
    assert producer.sends() is None
    assert producer.next_sequence() == 0


@pytest.mark.case("TP-074")
def test_tp_074_an_error_while_aborting_is_ignored() -> None:
    producer = Producer().with_partition()
    record = producer.send_now()
    abort = producer.manager.begin_abort()
    assert producer.state == ProducerState.ABORTING_TRANSACTION
    producer.answer("Produce", Error.OUT_OF_ORDER_SEQUENCE_NUMBER)
    assert failed_with(record) == Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producer.state == ProducerState.ABORTING_TRANSACTION
    assert producer.error is None
    ends(producer, committed=False)
    assert abort.is_successful
    assert producer.state == ProducerState.READY


def is_aborted(record: SentRecord) -> bool:
    return isinstance(record.error, TransactionAborted)


@pytest.mark.case("TP-075")
def test_tp_075_an_abort_of_nothing_that_was_sent_needs_no_end() -> None:
    producer = Producer().in_transaction()
    record = producer.send()
    abort = producer.manager.begin_abort()
    assert producer.sends() is None
    assert producer.left == []
    assert abort.is_successful
    assert is_aborted(record)
    assert producer.state == ProducerState.READY


@pytest.mark.case("TP-076")
def test_tp_076_an_abort_first_finishes_the_partition_that_is_retried() -> None:
    producer = Producer().in_transaction()
    record = producer.send()
    producer.exchange("APT", Error.UNKNOWN_TOPIC_OR_PARTITION)
    abort = producer.manager.begin_abort()
    assert not record.is_done
    producer.exchange("APT")
    ends(producer, committed=False)
    assert producer.left == ["APT", "APT", "ET"]
    assert is_aborted(record)
    assert abort.is_successful
    assert producer.state == ProducerState.READY


@pytest.mark.case("TP-077")
def test_tp_077_an_abort_first_finishes_the_batch_that_is_retried() -> None:
    producer = Producer().with_partition()
    record = producer.send_now()
    producer.answer("Produce", Error.REQUEST_TIMED_OUT)
    abort = producer.manager.begin_abort()
    producer.exchange("Produce")
    assert record.is_successful
    ends(producer, committed=False)
    assert producer.left == ["Produce", "Produce", "ET"]
    assert abort.is_successful
    assert producer.state == ProducerState.READY


@pytest.mark.case("TP-079")
def test_tp_079_an_abort_after_a_partition_was_denied_needs_no_end() -> None:
    producer = Producer().in_transaction()
    producer.manager.add_partition(TP0)
    producer.exchange("APT", Error.TOPIC_AUTHORIZATION_FAILED)
    abort = producer.manager.begin_abort()
    assert producer.sends() is None
    assert producer.left == ["APT"]
    assert abort.is_successful
    assert producer.state == ProducerState.READY


@pytest.mark.case("TP-081")
def test_tp_081_a_transaction_that_had_not_begun_is_recovered_from() -> None:
    producer = Producer().in_transaction()
    record = producer.send()
    producer.exchange("APT", Error.TOPIC_AUTHORIZATION_FAILED)
    assert producer.state == ProducerState.ABORTABLE_ERROR
    abort = producer.manager.begin_abort()
    assert producer.sends() is None
    assert producer.left == ["APT"], "no EndTxn"
    assert abort.is_successful
    assert record.is_done
    assert not record.is_successful
    abort.acknowledge()
    next_transaction_commits(producer)


@pytest.mark.case("TP-082")
def test_tp_082_a_transaction_that_had_begun_is_recovered_from() -> None:
    producer = Producer().in_transaction()
    added = producer.send(TP0)
    producer.leave("APT")
    denied = producer.send(TP1)
    producer.answer("APT")
    producer.exchange("APT", Error.TOPIC_AUTHORIZATION_FAILED)
    assert producer.state == ProducerState.ABORTABLE_ERROR
    assert TP0 in producer.manager.partitions.added
    assert TP1 not in producer.manager.partitions.added
    assert not added.is_done
    abort = producer.manager.begin_abort()
    ends(producer, committed=False)
    assert "Produce" not in producer.left
    for record in (added, denied):
        assert record.is_done
        assert not record.is_successful
    assert abort.is_successful
    abort.acknowledge()
    assert producer.manager.partitions.added == set()
    next_transaction_commits(producer)


@pytest.mark.case("TP-083")
def test_tp_083_a_transaction_with_a_batch_in_retry_is_recovered_from() -> None:
    producer = Producer().with_partition(TP0)
    stored = producer.send_now(TP0)
    producer.answer("Produce", Error.REQUEST_TIMED_OUT)
    denied = producer.send(TP1)
    producer.exchange("APT", Error.TOPIC_AUTHORIZATION_FAILED)
    assert producer.state == ProducerState.ABORTABLE_ERROR
    assert not stored.is_done
    producer.exchange("Produce")
    assert stored.is_successful
    assert failed_with(denied) == Error.TOPIC_AUTHORIZATION_FAILED
    abort = producer.manager.begin_abort()
    ends(producer, committed=False)
    assert abort.is_successful
    abort.acknowledge()
    next_transaction_commits(producer)


@pytest.mark.case("TP-084")
def test_tp_084_a_batch_is_retried_in_the_abortable_state() -> None:
    producer = Producer().with_partition()
    record = producer.send_now()
    producer.answer("Produce", Error.NOT_LEADER_OR_FOLLOWER)
    producer.abortable()
    assert producer.state == ProducerState.ABORTABLE_ERROR
    producer.exchange("Produce")
    assert record.is_successful
    assert producer.state == ProducerState.ABORTABLE_ERROR


@pytest.mark.case("TP-085")
@pytest.mark.parametrize("release", ["newest", "3.9"])
def test_tp_085_a_batch_that_is_given_up_is_abortable(release: str) -> None:
    producer = Producer(rules=preset(release), settings=SHORT_DELIVERY).with_partition()
    record = producer.send()
    producer.brokers.set_ready(LEADER, ready=False)
    producer.wait(10_000)
    assert producer.sends() is None
    assert isinstance(record.error, DeliveryTimedOut)
    assert producer.state == ProducerState.ABORTABLE_ERROR
    reported = producer.manager.lifecycle.last_error
    if release == "newest":
        assert isinstance(reported, TransactionAbortable)
        assert reported.__cause__ is record.error
    else:
        assert reported is record.error


@pytest.mark.case("TP-086")
@pytest.mark.parametrize("release", ["newest", "3.9"])
def test_tp_086_a_batch_that_is_given_up_cancels_the_commit(release: str) -> None:
    """The batch was sent before its leader went away: nobody knows whether it is stored, so the epoch is raised."""
    producer = Producer(rules=preset(release), settings=SHORT_DELIVERY).with_partition()
    record = producer.send_now()
    commit = producer.manager.begin_commit()
    producer.brokers.set_ready(LEADER, ready=False)
    producer.disconnect("Produce")
    producer.wait(10_000)
    assert producer.sends() is None
    assert isinstance(record.error, DeliveryTimedOut)
    assert producer.sends() is None
    assert commit.is_completed
    with pytest.raises(ProducerFailure) as raised:
        commit.acknowledge()
    assert is_time_out(raised.value, record)
    assert "ET" not in producer.left, "the commit is never sent"
    assert producer.state == ProducerState.ABORTABLE_ERROR
    assert producer.is_ongoing()
    abort = producer.manager.begin_abort()
    ends(producer, committed=False)
    producer.exchange("IO", producer_epoch=EPOCH + 1)
    assert abort.is_successful
    assert not producer.is_ongoing()
    assert producer.manager.partitions.added == set()


@pytest.mark.case("TP-086")
def test_tp_086_a_batch_that_was_never_sent_cancels_the_commit_and_raises_no_epoch() -> None:
    producer = Producer(settings=SHORT_DELIVERY).with_partition()
    record = producer.send()
    commit = producer.manager.begin_commit()
    producer.brokers.set_ready(LEADER, ready=False)
    producer.wait(10_000)
    assert producer.sends() is None
    assert producer.sends() is None
    with pytest.raises(ProducerFailure) as raised:
        commit.acknowledge()
    assert is_time_out(raised.value, record)
    assert producer.left == []
    abort = producer.manager.begin_abort()
    ends(producer, committed=False)
    assert abort.is_successful
    assert producer.sends() is None
    assert not producer.is_ongoing()


def is_time_out(failure: BaseException | None, record: SentRecord) -> bool:
    """Whether the record's own failure is the reason, perhaps told as another (TRANSACTION_ABORTABLE since 4.1)."""
    return failure is not None and (failure is record.error or is_time_out(failure.__cause__, record))
