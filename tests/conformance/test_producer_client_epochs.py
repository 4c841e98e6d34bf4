"""TransactionManagerTest: an abort that is followed by a raised epoch (TP-035 to TP-038)."""

import pytest

from tests.conformance.producer_client import (
    COORDINATOR,
    EPOCH,
    LEADER,
    PID,
    TP0,
    Producer,
    failed_with,
    versions,
)
from zombieproof.clients.errors import ProducerFailure
from zombieproof.clients.sender import SenderSettings
from zombieproof.messages.transactions import InitProducerId
from zombieproof.model.rules import preset
from zombieproof.model.vocabulary import ApiKey, Error, ProducerState


def two_stored_one_sent(producer: Producer) -> None:
    producer.with_partition()
    for _ in range(2):
        producer.send_now()
        producer.answer("Produce")
    producer.left.clear()


def is_ready_under_the_raised_epoch(producer: Producer) -> None:
    assert producer.state == ProducerState.READY
    assert producer.identity == (PID, EPOCH + 1)
    assert producer.next_sequence() == 0


@pytest.mark.case("TP-035")
def test_tp_035_an_abort_after_an_unknown_producer_raises_the_epoch() -> None:
    producer = Producer()
    two_stored_one_sent(producer)
    third = producer.send_now()
    producer.answer("Produce", Error.UNKNOWN_PRODUCER_ID, log_start_offset=0)
    assert failed_with(third) == Error.UNKNOWN_PRODUCER_ID
    assert producer.state == ProducerState.ABORTABLE_ERROR
    abort = producer.manager.begin_abort()
    producer.exchange("ET")
    producer.leave("IO")
    asked = producer.request("IO").body
    assert isinstance(asked, InitProducerId)
    assert (asked.producer_id, asked.producer_epoch) == (PID, EPOCH)
    assert not abort.is_completed
    producer.answer("IO", producer_epoch=EPOCH + 1)
    assert abort.is_successful
    is_ready_under_the_raised_epoch(producer)


@pytest.mark.case("TP-036")
def test_tp_036_an_abort_after_a_batch_was_given_up_raises_the_epoch() -> None:
    producer = Producer(settings=SenderSettings(delivery_timeout_ms=3_000, batch_records=1))
    two_stored_one_sent(producer)
    third = producer.send_now()
    producer.disconnect("Produce")
    for node in (LEADER, COORDINATOR):
        producer.brokers.set_ready(node, ready=False)
    producer.wait(10_000)
    assert producer.sends() is None
    assert failed_with(third) == Error.REQUEST_TIMED_OUT
    assert producer.state == ProducerState.ABORTABLE_ERROR
    abort = producer.manager.begin_abort()
    producer.left.clear()
    producer.leave("FC")
    producer.brokers.set_ready(COORDINATOR, ready=True)
    producer.answer("FC")
    producer.exchange("ET")
    producer.exchange("IO", producer_epoch=EPOCH + 1)
    assert producer.left == ["FC", "ET", "IO"]
    assert abort.is_successful
    is_ready_under_the_raised_epoch(producer)


@pytest.mark.case("TP-037")
def test_tp_037_until_3_9_an_unknown_transactional_id_can_be_aborted_and_the_epoch_raised() -> None:
    producer = Producer(rules=preset("3.9")).in_transaction()
    producer.manager.add_partition(TP0)
    producer.exchange("APT", Error.INVALID_PRODUCER_ID_MAPPING)
    assert producer.state == ProducerState.ABORTABLE_ERROR
    abort = producer.manager.begin_abort()
    producer.left.clear()
    producer.exchange("IO", producer_epoch=EPOCH + 1)
    assert producer.left == ["IO"], "nothing had joined, so that there is nothing to end"
    assert abort.is_successful
    is_ready_under_the_raised_epoch(producer)


def test_until_3_9_such_an_abort_ends_the_transaction_if_a_partition_had_joined() -> None:
    producer = Producer(rules=preset("3.9")).with_partition()
    producer.manager.add_partition(("test", 1))
    producer.exchange("APT", Error.INVALID_PRODUCER_ID_MAPPING)
    abort = producer.manager.begin_abort()
    producer.left.clear()
    producer.exchange("ET")
    producer.exchange("IO", producer_epoch=EPOCH + 1)
    assert producer.left == ["ET", "IO"]
    assert abort.is_successful
    is_ready_under_the_raised_epoch(producer)


def test_until_3_9_a_producer_whose_id_is_forgotten_believes_that_its_partitions_are_still_joined() -> None:
    """As seen of clients 3.5.2 and 3.9.1 at a broker that let their id expire behind a timed out transaction.

    The end is refused like the request before it, the new identity is taken all the same, and the abort succeeds. The
    next transaction sends to the old partition without adding it; its abort is INVALID_TXN_STATE, and fatal.
    """
    producer = Producer(rules=preset("3.9")).with_partition()
    producer.manager.add_partition(("test", 1))
    producer.exchange("APT", Error.INVALID_PRODUCER_ID_MAPPING)
    abort = producer.manager.begin_abort()
    producer.left.clear()
    producer.exchange("ET", Error.INVALID_PRODUCER_ID_MAPPING)
    assert producer.state == ProducerState.ABORTING_TRANSACTION
    producer.exchange("IO", producer_id=PID + 1, producer_epoch=0)
    assert abort.is_successful
    abort.acknowledge()
    assert producer.identity == (PID + 1, 0)
    producer.manager.begin_transaction()
    producer.send_now()
    assert producer.left == ["ET", "IO", "Produce"], "no AddPartitionsToTxn"
    producer.answer("Produce", Error.TRANSACTION_ABORTABLE)
    producer.manager.begin_abort()
    producer.exchange("ET", Error.INVALID_TXN_STATE)
    assert producer.state == ProducerState.FATAL_ERROR


def test_since_4_0_an_unknown_transactional_id_is_fatal() -> None:
    producer = Producer().in_transaction()
    producer.manager.add_partition(TP0)
    producer.exchange("APT", Error.INVALID_PRODUCER_ID_MAPPING)
    assert producer.state == ProducerState.FATAL_ERROR
    with pytest.raises(ProducerFailure) as raised:
        producer.manager.begin_abort()
    assert raised.value.error == Error.INVALID_PRODUCER_ID_MAPPING


@pytest.mark.case("TP-038")
def test_tp_038_the_epoch_may_be_raised_while_nothing_is_known_of_the_coordinator() -> None:
    producer = Producer(broker_versions=versions(INIT_PRODUCER_ID=1))
    assert not producer.can_raise_epoch()
    producer.brokers.learn_versions(COORDINATOR, versions(INIT_PRODUCER_ID=3))
    producer.in_transaction()
    assert producer.can_raise_epoch()
    producer.brokers.forget(COORDINATOR)
    producer.brokers.coordinators[1] = None
    assert producer.brokers.newest_version(COORDINATOR, ApiKey.INIT_PRODUCER_ID) == 1, "nothing is known of the node"
    assert producer.can_raise_epoch()
