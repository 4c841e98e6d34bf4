"""TransactionManagerTest: finding the coordinator, and asking again (TP-040 to TP-045, TP-060 to TP-063, TP-078)."""

import pytest

from tests.conformance.producer_client import (
    COORDINATOR,
    EPOCH,
    MEMBER,
    OFFSETS,
    PID,
    TP0,
    TP1,
    Errors,
    Producer,
)
from zombieproof.clients.results import PendingResult
from zombieproof.messages.groups import TxnOffsetCommit
from zombieproof.model.vocabulary import Error, ProducerState


def starting() -> tuple[Producer, PendingResult]:
    """InitTransactions was called."""
    producer = Producer()
    return producer, producer.manager.init_transactions()


def is_initialised(producer: Producer, init: PendingResult) -> None:
    init.acknowledge()
    assert producer.identity == (PID, EPOCH)
    assert producer.state == ProducerState.READY


@pytest.mark.case("TP-040")
def test_tp_040_a_look_up_that_is_disconnected_is_repeated() -> None:
    producer, _ = starting()
    producer.leave("FC")
    producer.disconnect("FC")
    assert producer.coordinator() is None
    producer.exchange("FC")
    assert producer.coordinator() == COORDINATOR


@pytest.mark.case("TP-041")
def test_tp_041_an_initialisation_that_is_disconnected_looks_the_coordinator_up_again() -> None:
    producer, init = starting()
    producer.exchange("FC")
    producer.leave("IO")
    producer.disconnect("IO")
    assert producer.coordinator() is None
    producer.exchange("FC")
    assert producer.coordinator() == COORDINATOR
    assert not init.is_completed
    assert not producer.manager.sequences.has_producer_id
    producer.exchange("IO")
    assert producer.left == ["FC", "IO", "FC", "IO"]
    is_initialised(producer, init)


@pytest.mark.case("TP-042")
def test_tp_042_a_coordinator_that_cannot_be_reached_is_looked_up_again() -> None:
    producer, init = starting()
    producer.exchange("FC")
    producer.brokers.set_ready(COORDINATOR, ready=False)
    producer.leave("FC")
    assert producer.coordinator() is None
    assert not init.is_completed
    producer.brokers.set_ready(COORDINATOR, ready=True)
    producer.answer("FC")
    producer.exchange("IO")
    assert producer.left == ["FC", "FC", "IO"], "nothing was sent to the node that could not be reached"
    is_initialised(producer, init)


@pytest.mark.case("TP-043")
def test_tp_043_an_initialisation_at_the_wrong_node_looks_the_coordinator_up_again() -> None:
    producer, init = starting()
    producer.exchange("FC")
    producer.exchange("IO", Error.NOT_COORDINATOR)
    assert producer.coordinator() is None
    producer.exchange("FC")
    assert not init.is_completed
    producer.exchange("IO")
    is_initialised(producer, init)


@pytest.mark.case("TP-044")
def test_tp_044_the_coordinator_may_be_looked_up_in_the_abortable_state() -> None:
    producer = Producer().in_transaction()
    producer.manager.add_partition(TP0)
    producer.leave("APT")
    producer.abortable()
    producer.answer("APT", Error.NOT_COORDINATOR)
    assert producer.coordinator() is None
    producer.exchange("FC")
    assert producer.coordinator() == COORDINATOR
    assert producer.state == ProducerState.ABORTABLE_ERROR
    assert producer.sends() is None, "the partition is not asked for again"


RETRIABLE = (
    Error.UNKNOWN_TOPIC_OR_PARTITION,
    Error.REQUEST_TIMED_OUT,
    Error.COORDINATOR_LOAD_IN_PROGRESS,
    Error.CONCURRENT_TRANSACTIONS,
)


@pytest.mark.case("TP-045")
@pytest.mark.parametrize("error", RETRIABLE, ids=lambda error: error.name)
def test_tp_045_retriable_errors_are_retried_everywhere(error: Error) -> None:
    producer, init = starting()
    producer.exchange("FC", error)
    producer.exchange("FC")
    assert producer.coordinator() == COORDINATOR
    producer.exchange("IO", error)
    assert not init.is_completed
    producer.exchange("IO")
    is_initialised(producer, init)
    producer.manager.begin_transaction()
    producer.manager.add_partition(TP0)
    adding = Error.COORDINATOR_LOAD_IN_PROGRESS if error == Error.CONCURRENT_TRANSACTIONS else error
    producer.exchange("APT", adding)
    assert TP0 not in producer.manager.partitions.added
    producer.exchange("APT")
    assert TP0 in producer.manager.partitions.added
    commit = producer.manager.begin_commit()
    producer.exchange("ET", error)
    assert not commit.is_completed
    producer.exchange("ET")
    assert commit.is_successful
    assert producer.left == ["FC", "FC", "IO", "IO", "APT", "APT", "ET", "ET"]


def sending_offsets(producer: Producer, *, member: bool = False) -> PendingResult:
    """SendOffsetsToTransaction was called; AddOffsetsToTxn is answered, and the group coordinator known."""
    producer.in_transaction()
    result = producer.send_offsets(MEMBER) if member else producer.send_offsets()
    producer.exchange("AOT")
    producer.exchange("FC")
    return result


def committed(producer: Producer) -> TxnOffsetCommit:
    """The TxnOffsetCommit that waits for its answer."""
    body = producer.request("TOC").body
    assert isinstance(body, TxnOffsetCommit)
    return body


def second_answer_completes(producer: Producer, result: PendingResult, first: Errors) -> None:
    producer.exchange("TOC", first)
    assert not result.is_completed
    assert producer.has_pending_offset_commits()
    producer.exchange("TOC")
    result.acknowledge()
    assert not producer.has_pending_offset_commits()
    assert producer.state == ProducerState.IN_TRANSACTION
    assert producer.left[-2:] == ["TOC", "TOC"], "no other coordinator is looked for"


@pytest.mark.case("TP-060")
def test_tp_060_offsets_with_group_metadata_are_sent_again_until_all_are_stored() -> None:
    producer = Producer()
    result = sending_offsets(producer, member=True)
    first = {TP0: Error.NONE, TP1: Error.COORDINATOR_LOAD_IN_PROGRESS}
    producer.leave("TOC")
    body = committed(producer)
    assert (body.generation, body.member, body.instance) == (5, "member", "instance")
    assert body.offsets == OFFSETS
    producer.answer("TOC", first)
    assert not result.is_completed
    producer.leave("TOC")
    assert committed(producer).offsets == OFFSETS
    producer.answer("TOC")
    assert result.is_successful
    assert not producer.has_pending_offset_commits()


@pytest.mark.case("TP-062")
def test_tp_062_offsets_are_sent_again_while_the_group_is_loaded() -> None:
    producer = Producer()
    result = sending_offsets(producer)
    first = {TP0: Error.NONE, TP1: Error.COORDINATOR_LOAD_IN_PROGRESS}
    second_answer_completes(producer, result, first)


@pytest.mark.case("TP-063")
def test_tp_063_offsets_are_sent_again_after_a_network_error() -> None:
    producer = Producer()
    result = sending_offsets(producer)
    first = {TP0: Error.NONE, TP1: Error.NETWORK_EXCEPTION}
    second_answer_completes(producer, result, first)


def test_offsets_go_to_a_new_group_coordinator_where_the_old_one_says_so() -> None:
    producer = Producer()
    result = sending_offsets(producer)
    producer.exchange("TOC", {TP0: Error.NONE, TP1: Error.NOT_COORDINATOR})
    producer.exchange("FC", node=4)
    producer.leave("TOC")
    assert producer.request("TOC").node == 4
    producer.answer("TOC")
    assert result.is_successful


@pytest.mark.case("TP-078")
def test_tp_078_a_partition_that_is_not_known_yet_is_asked_for_again() -> None:
    producer = Producer().in_transaction()
    record = producer.send()
    producer.exchange("APT", Error.UNKNOWN_TOPIC_OR_PARTITION)
    assert TP0 not in producer.manager.partitions.added
    assert not record.is_done
    producer.exchange("APT")
    assert TP0 in producer.manager.partitions.added
    producer.exchange("Produce")
    assert record.is_successful
