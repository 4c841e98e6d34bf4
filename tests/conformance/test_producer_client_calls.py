"""TransactionManagerTest: calls that are made too early, or again (TP-057, TP-087 to TP-091)."""

import pytest

from tests.conformance.producer_client import TP0, Producer
from zombieproof.clients.errors import IllegalState
from zombieproof.clients.results import PendingResult
from zombieproof.model.vocabulary import ProducerState


@pytest.mark.case("TP-057")
def test_tp_057_an_illegal_call_of_the_application_changes_nothing() -> None:
    producer = Producer()
    with pytest.raises(IllegalState, match="ABORT is illegal in UNINITIALIZED"):
        producer.manager.begin_abort()
    assert producer.state == ProducerState.UNINITIALIZED
    assert producer.error is None
    producer.with_partition()
    record = producer.send_now()
    producer.answer("Produce")
    commit = producer.manager.begin_commit()
    producer.exchange("ET")
    assert record.is_successful
    assert commit.is_successful
    assert producer.state == ProducerState.READY


@pytest.mark.case("TP-087")
def test_tp_087_a_commit_that_was_not_waited_for_must_be_called_again() -> None:
    producer = Producer().with_partition()
    commit = producer.manager.begin_commit()
    producer.exchange("ET")
    assert commit.is_completed
    assert producer.state == ProducerState.READY
    calls = producer.calls()
    for name in ("init", "begin", "abort", "send"):
        with pytest.raises(IllegalState, match="call commitTransaction again"):
            calls[name]()
    with pytest.raises(IllegalState, match="call commitTransaction again"):
        producer.manager.add_partition(TP0)
    assert producer.state == ProducerState.READY
    again = producer.manager.begin_commit()
    assert again is commit
    again.acknowledge()
    producer.manager.begin_transaction()
    assert producer.is_ongoing()


def disconnected_end(*, committed: bool) -> tuple[Producer, PendingResult]:
    """EndTxn was sent, its connection closed, and the caller did not wait any longer."""
    producer = Producer().with_partition()
    end = producer.manager.begin_commit() if committed else producer.manager.begin_abort()
    producer.leave("ET")
    producer.disconnect("ET")
    assert not end.is_completed
    return producer, end


@pytest.mark.parametrize(
    "committed",
    [pytest.param(False, marks=pytest.mark.case("TP-088")), pytest.param(True, marks=pytest.mark.case("TP-089"))],
)
def test_tp_088_tp_089_the_end_is_retried_after_a_disconnect(committed: bool) -> None:
    producer, end = disconnected_end(committed=committed)
    producer.exchange("FC")
    again = producer.manager.begin_commit() if committed else producer.manager.begin_abort()
    assert again is end
    assert not again.is_completed
    producer.exchange("ET")
    assert producer.left == ["ET", "FC", "ET"], "the call that was made again sends nothing of its own"
    again.acknowledge()
    assert not producer.is_ongoing()
    assert producer.state == ProducerState.READY


@pytest.mark.case("TP-090")
def test_tp_090_after_a_commit_of_unknown_outcome_an_abort_is_refused() -> None:
    producer, _ = disconnected_end(committed=True)
    with pytest.raises(IllegalState, match="call commitTransaction again"):
        producer.manager.begin_abort()
    assert producer.state == ProducerState.COMMITTING_TRANSACTION


@pytest.mark.case("TP-091")
def test_tp_091_after_an_abort_of_unknown_outcome_a_commit_is_refused() -> None:
    producer, _ = disconnected_end(committed=False)
    with pytest.raises(IllegalState, match="call abortTransaction again"):
        producer.manager.begin_commit()
    assert producer.state == ProducerState.ABORTING_TRANSACTION
