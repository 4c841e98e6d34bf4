"""TransactionManagerTest: when a partition may be registered, and sent to (TP-008 to TP-022)."""

import pytest

from tests.conformance.producer_client import TP0, TP1, Producer
from zombieproof.clients.errors import InErrorState, ProducerFailure
from zombieproof.messages.transactions import AddPartitionsToTxn
from zombieproof.model.vocabulary import Error, ProducerState
from zombieproof.statemachines.producer.records import Joining


@pytest.mark.case("TP-008")
def test_tp_008_without_transactional_id_a_record_needs_no_transaction() -> None:
    producer = Producer(None).idempotent()
    producer.manager.add_partition(TP0)
    producer.send_now()
    producer.answer("Produce")
    assert producer.left == ["Produce"]


@pytest.mark.case("TP-009")
def test_tp_009_without_transactional_id_nothing_is_sent_after_a_fatal_error() -> None:
    producer = Producer(None).idempotent()
    fatal = producer.fatal()
    with pytest.raises(InErrorState) as raised:
        producer.manager.add_partition(TP0)
    assert raised.value.__cause__ is fatal


@pytest.mark.case("TP-010")
def test_tp_010_nothing_is_sent_after_a_fatal_error() -> None:
    producer = Producer().initialised()
    fatal = producer.fatal()
    with pytest.raises(InErrorState) as raised:
        producer.manager.add_partition(TP0)
    assert raised.value.__cause__ is fatal
    assert producer.sends() is None


@pytest.mark.case("TP-011")
def test_tp_011_nothing_is_registered_after_an_abortable_error() -> None:
    producer = Producer().in_transaction()
    abortable = producer.abortable()
    with pytest.raises(InErrorState) as raised:
        producer.manager.add_partition(TP0)
    assert raised.value.__cause__ is abortable
    assert producer.state == ProducerState.ABORTABLE_ERROR


@pytest.mark.case("TP-012")
def test_tp_012_nothing_is_registered_after_a_fatal_error() -> None:
    producer = Producer().initialised()
    producer.fatal(Error.CLUSTER_AUTHORIZATION_FAILED)
    with pytest.raises(ProducerFailure) as raised:
        producer.manager.add_partition(TP0)
    assert raised.value.error == Error.CLUSTER_AUTHORIZATION_FAILED
    assert producer.state == ProducerState.FATAL_ERROR


@pytest.mark.parametrize(
    "committed",
    [pytest.param(False, marks=pytest.mark.case("TP-013")), pytest.param(True, marks=pytest.mark.case("TP-014"))],
)
def test_tp_013_tp_014_a_transaction_is_ongoing_until_its_end_is_answered(committed: bool) -> None:
    producer = Producer().initialised()
    assert not producer.is_ongoing()
    producer.manager.begin_transaction()
    assert producer.is_ongoing()
    producer.manager.add_partition(TP0)
    producer.exchange("APT")
    assert producer.is_ongoing()
    end = producer.manager.begin_commit() if committed else producer.manager.begin_abort()
    assert producer.is_ongoing()
    producer.leave("ET")
    assert producer.is_ongoing()
    producer.answer("ET")
    assert end.is_successful
    assert not producer.is_ongoing()


@pytest.mark.case("TP-015")
def test_tp_015_a_partition_is_registered_once() -> None:
    producer = Producer().in_transaction()
    partitions = producer.manager.partitions
    producer.manager.add_partition(TP0)
    assert partitions.standing(TP0) == Joining.PENDING
    assert TP0 not in partitions.added
    producer.leave("APT")
    assert partitions.standing(TP0) == Joining.PENDING
    producer.answer("APT")
    assert partitions.standing(TP0) != Joining.PENDING
    assert TP0 in partitions.added
    producer.manager.add_partition(TP0)
    assert partitions.standing(TP0) != Joining.PENDING
    assert producer.sends() is None
    assert producer.left == ["APT"]


@pytest.mark.case("TP-016")
def test_tp_016_a_refused_first_partition_waits_the_configured_time() -> None:
    producer = Producer().in_transaction()
    producer.manager.add_partition(TP0)
    producer.exchange("APT", Error.COORDINATOR_NOT_AVAILABLE)
    producer.exchange("FC")
    producer.wait(99)
    assert producer.sends() is None
    producer.wait(1)
    assert producer.sends() == "APT"


def test_only_a_transaction_that_still_completes_is_asked_again_sooner() -> None:
    producer = Producer().in_transaction()
    producer.manager.add_partition(TP0)
    producer.exchange("APT", Error.CONCURRENT_TRANSACTIONS)
    producer.wait(19)
    assert producer.sends() is None
    producer.wait(1)
    assert producer.sends() == "APT"
    body = producer.request("APT").body
    assert isinstance(body, AddPartitionsToTxn)
    assert body.transactions[0].partitions == (TP0,)


def pending(producer: Producer) -> None:
    """`TP0` waits to be added."""
    producer.manager.add_partition(TP0)


def under_way(producer: Producer) -> None:
    """AddPartitionsToTxn for `TP0` is in flight."""
    producer.manager.add_partition(TP0)
    producer.leave("APT")


@pytest.mark.case("TP-017")
def test_tp_017_a_partition_on_its_way_is_not_sent_to_after_an_abortable_error() -> None:
    producer = Producer().in_transaction()
    under_way(producer)
    producer.abortable()
    assert producer.state == ProducerState.ABORTABLE_ERROR
    assert not producer.may_send_to(TP0)


@pytest.mark.case("TP-018")
def test_tp_018_a_pending_partition_is_not_sent_to_after_a_fatal_error() -> None:
    producer = Producer().in_transaction()
    pending(producer)
    producer.fatal()
    assert not producer.may_send_to(TP0)


@pytest.mark.case("TP-019")
def test_tp_019_a_partition_on_its_way_is_not_sent_to_after_a_fatal_error() -> None:
    producer = Producer().in_transaction()
    under_way(producer)
    producer.fatal()
    assert not producer.may_send_to(TP0)


@pytest.mark.case("TP-020")
def test_tp_020_an_added_partition_is_sent_to_after_an_abortable_error() -> None:
    producer = Producer().with_partition()
    sent = producer.send_now()
    producer.abortable()
    assert producer.may_send_to(TP0)
    producer.answer("Produce", Error.NOT_LEADER_OR_FOLLOWER)
    producer.exchange("Produce")
    assert sent.is_successful, "what was sent goes on being retried"


@pytest.mark.case("TP-021")
def test_tp_021_an_added_partition_is_not_sent_to_after_a_fatal_error() -> None:
    producer = Producer().with_partition()
    assert producer.may_send_to(TP0)
    producer.fatal()
    assert not producer.may_send_to(TP0)


@pytest.mark.case("TP-022")
def test_tp_022_a_partition_that_was_not_registered_is_not_sent_to() -> None:
    producer = Producer().with_partition(TP1)
    assert producer.may_send_to(TP1)
    assert not producer.may_send_to(TP0)
