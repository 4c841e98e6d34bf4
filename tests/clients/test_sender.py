"""The producer without I/O, beyond Kafka's own cases: batches, time, closing, answers that come late."""

import pytest

from tests.conformance.producer_client import EPOCH, LEADER, PID, TP0, TP1, Producer, failed_with
from zombieproof.clients.errors import (
    DeliveryTimedOut,
    IllegalState,
    ProducerClosed,
    ProducerFailure,
    TopicAuthorizationFailed,
)
from zombieproof.clients.sender import SenderSettings
from zombieproof.messages.partitions import Produce, ProduceAnswer, Produced
from zombieproof.messages.transactions import EndTxnAnswer, InitProducerIdAnswer
from zombieproof.model.rules import preset
from zombieproof.model.vocabulary import NONE, Error, ProducerState

WHOLE = SenderSettings(batch_records=4)


def test_records_of_one_partition_share_a_batch_and_get_their_own_offsets() -> None:
    producer = Producer(None, settings=WHOLE).idempotent()
    records = [producer.send() for _ in range(5)]
    producer.leave("Produce", "Produce")
    first, second = (request.body for request in producer.out["Produce"])
    assert isinstance(first, Produce)
    assert isinstance(second, Produce)
    assert [len(body.partitions[TP0][0].batch.records) for body in (first, second)] == [4, 1]
    assert second.partitions[TP0][0].batch.base_sequence == 4
    producer.answer("Produce", base_offset=100)
    assert [record.offset for record in records[:4]] == [100, 101, 102, 103]
    assert not records[4].is_done


def test_one_request_carries_a_batch_for_each_partition_of_its_node() -> None:
    producer = Producer(None).idempotent()
    producer.sender.set_leaders({TP0: LEADER, TP1: LEADER, ("test", 2): 4})
    for partition in (TP0, TP1, ("test", 2)):
        producer.send(partition)
    producer.leave("Produce", "Produce")
    bodies = [(request.node, request.body) for request in producer.out["Produce"]]
    assert [(node, sorted(body.partitions)) for node, body in bodies if isinstance(body, Produce)] == [
        (LEADER, [TP0, TP1]),
        (4, [("test", 2)]),
    ]


def test_a_partition_without_a_leader_waits() -> None:
    producer = Producer(None).idempotent()
    producer.sender.set_leaders({})
    producer.send()
    assert producer.sends() is None
    producer.sender.set_leaders({TP0: LEADER})
    assert producer.sends() == "Produce"


def test_at_most_five_requests_are_under_way_to_a_node() -> None:
    producer = Producer(None).idempotent()
    for _ in range(6):
        producer.send()
    producer.leave(*["Produce"] * 5)
    assert producer.sends() is None
    producer.answer("Produce")
    producer.leave("Produce")


@pytest.mark.parametrize("limit", [0, 6])
def test_an_idempotent_producer_refuses_more_than_a_leader_remembers(limit: int) -> None:
    with pytest.raises(ValueError, match="1 to 5"):
        SenderSettings(max_in_flight=limit)


def test_while_a_batch_is_retried_those_behind_it_wait_in_the_order_of_sequences() -> None:
    producer = Producer(None).idempotent()
    records = [producer.send_now() for _ in range(3)]
    producer.answer("Produce", Error.NOT_LEADER_OR_FOLLOWER)
    producer.answer("Produce", Error.OUT_OF_ORDER_SEQUENCE_NUMBER)
    producer.answer("Produce", Error.OUT_OF_ORDER_SEQUENCE_NUMBER)
    producer.wait(100)
    for sequence in range(3):
        producer.leave("Produce")
        assert producer.sends() is None
        body = producer.request("Produce").body
        assert isinstance(body, Produce)
        assert body.partitions[TP0][0].batch.base_sequence == sequence
        producer.answer("Produce")
    assert all(record.is_successful for record in records)
    assert producer.identity == (PID, EPOCH)


def test_a_batch_that_is_too_large_goes_in_two() -> None:
    producer = Producer(None, settings=WHOLE).idempotent()
    records = [producer.send() for _ in range(3)]
    producer.exchange("Produce", Error.MESSAGE_TOO_LARGE)
    assert [batch.base_sequence for batch in producer.in_flight()] == [0, 1]
    producer.exchange("Produce", base_offset=7)
    assert [record.offset for record in records] == [7, NONE, NONE]
    producer.exchange("Produce", base_offset=8)
    assert [record.offset for record in records] == [7, 8, 9]
    assert producer.next_sequence() == 3


def test_the_parts_of_a_split_batch_stand_before_what_follows_it() -> None:
    producer = Producer(None, settings=SenderSettings(batch_records=2)).idempotent()
    for _ in range(4):
        producer.send()
    producer.leave("Produce", "Produce")
    producer.answer("Produce", Error.MESSAGE_TOO_LARGE)
    assert [batch.base_sequence for batch in producer.in_flight()] == [0, 1, 2]


def test_a_batch_that_was_sent_under_its_new_number_is_judged_by_it() -> None:
    producer = Producer(None).idempotent()
    record = producer.send_now()
    for raised in (1, 2):
        producer.answer("Produce", Error.UNKNOWN_PRODUCER_ID, log_start_offset=500)
        producer.leave("Produce")
        assert producer.identity == (PID, EPOCH + raised)
    producer.answer("Produce")
    assert record.is_successful


def test_a_single_record_that_is_too_large_fails_and_closes_the_gap() -> None:
    producer = Producer().with_partition()
    large, small = producer.send_now(), producer.send_now()
    producer.answer("Produce", Error.MESSAGE_TOO_LARGE)
    assert failed_with(large) == Error.MESSAGE_TOO_LARGE
    assert [batch.base_sequence for batch in producer.in_flight()] == [0]
    assert producer.state == ProducerState.ABORTABLE_ERROR
    assert not small.is_done


def test_a_lost_log_start_renumbers_a_transactional_partition_and_goes_on() -> None:
    producer = Producer().with_partition()
    producer.send_now()
    producer.answer("Produce", base_offset=5)
    record = producer.send_now()
    producer.answer("Produce", Error.UNKNOWN_PRODUCER_ID, log_start_offset=6)
    assert [batch.base_sequence for batch in producer.in_flight()] == [0]
    producer.exchange("Produce")
    assert record.is_successful
    assert producer.state == ProducerState.IN_TRANSACTION


def test_before_kip_360_an_idempotent_producer_starts_anew() -> None:
    producer = Producer(None, rules=preset("2.4")).idempotent()
    producer.send_now()
    producer.answer("Produce")
    record = producer.send_now()
    producer.answer("Produce", Error.OUT_OF_ORDER_SEQUENCE_NUMBER)
    assert failed_with(record) == Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producer.identity == (NONE, NONE)
    producer.exchange("IO", producer_id=PID + 1, producer_epoch=0)
    assert producer.identity == (PID + 1, 0)
    assert producer.next_sequence() == 0


def test_before_kip_360_an_idempotent_producer_starts_anew_when_it_does_not_know_what_is_stored() -> None:
    settings = SenderSettings(delivery_timeout_ms=1_000, batch_records=1)
    producer = Producer(None, rules=preset("2.4"), settings=settings).idempotent()
    record = producer.send_now()
    producer.wait(1_000)
    assert producer.sends() is None
    assert isinstance(record.error, DeliveryTimedOut)
    producer.exchange("IO", producer_id=PID + 1, producer_epoch=0)
    assert producer.identity == (PID + 1, 0)


@pytest.mark.parametrize("transactional_id", ["foobar", None])
def test_a_batch_whose_retries_are_used_up_fails(transactional_id: str | None) -> None:
    producer = Producer(transactional_id, settings=SenderSettings(retries=1, batch_records=1))
    if transactional_id is None:
        producer.idempotent()
    else:
        producer.with_partition()
    record = producer.send_now()
    producer.answer("Produce", Error.NOT_LEADER_OR_FOLLOWER)
    producer.exchange("Produce", Error.NOT_LEADER_OR_FOLLOWER)
    assert failed_with(record) == Error.NOT_LEADER_OR_FOLLOWER
    if transactional_id is None:
        assert producer.state == ProducerState.READY
    else:
        assert producer.error == Error.TRANSACTION_ABORTABLE


def test_a_raised_epoch_ends_the_wait_for_what_was_given_up() -> None:
    settings = SenderSettings(delivery_timeout_ms=5_000, request_timeout_ms=60_000, batch_records=1)
    producer = Producer(None, settings=settings).idempotent()
    producer.send_now()
    producer.wait(1_000)
    behind = producer.send_now()
    producer.wait(4_000)
    producer.sends()
    producer.out["Produce"].pop(0)
    waiting = producer.send()
    assert producer.sends() is None
    producer.answer("Produce", Error.OUT_OF_ORDER_SEQUENCE_NUMBER)
    producer.leave("Produce", "Produce")
    assert [batch.base_sequence for batch in producer.in_flight()] == [0, 1]
    producer.answer("Produce")
    producer.answer("Produce")
    assert behind.is_successful
    assert waiting.is_successful
    assert producer.identity == (PID, EPOCH + 1)


def test_a_stored_batch_counts_even_if_its_record_was_given_up() -> None:
    """The answer comes after the delivery time: the application keeps its failure, the sequences are in order."""
    settings = SenderSettings(delivery_timeout_ms=5_000, request_timeout_ms=60_000, batch_records=1)
    producer = Producer(None, settings=settings).idempotent()
    early = producer.send_now()
    producer.wait(1_000)
    late = producer.send_now()
    producer.wait(4_000)
    producer.sends()
    assert isinstance(early.error, DeliveryTimedOut)
    producer.answer("Produce", base_offset=1)
    assert isinstance(early.error, DeliveryTimedOut)
    producer.answer("Produce", base_offset=2)
    assert late.is_successful
    producer.sends()
    assert producer.identity == (PID, EPOCH)


def test_a_request_that_times_out_is_a_disconnect_and_its_late_answer_is_not_heard() -> None:
    settings = SenderSettings(request_timeout_ms=1_000, batch_records=1)
    producer = Producer(None, settings=settings).idempotent()
    record = producer.send_now()
    first = producer.request("Produce")
    producer.wait(1_000)
    assert producer.sends() is None
    producer.wait(100)
    assert producer.sends() == "Produce"
    producer.sender.handle_answer(first, ProduceAnswer({TP0: Produced(0, 3, 0)}), producer.now_ms)
    assert not record.is_done
    producer.out["Produce"].pop(0)
    producer.answer("Produce", base_offset=4)
    assert record.offset == 4


def test_a_batch_whose_partition_the_answer_leaves_out_is_sent_again() -> None:
    producer = Producer(None).idempotent()
    record = producer.send_now()
    producer.sender.handle_answer(producer.out["Produce"].pop(), ProduceAnswer({}), producer.now_ms)
    assert not record.is_done
    producer.exchange("Produce")
    assert record.is_successful


def test_a_coordinator_that_does_not_answer_is_looked_up_again() -> None:
    producer = Producer(settings=SenderSettings(request_timeout_ms=1_000, batch_records=1))
    init = producer.manager.init_transactions()
    producer.exchange("FC")
    producer.leave("IO")
    late = producer.request("IO")
    producer.wait(1_000)
    producer.leave("FC")
    producer.out["IO"].clear()
    producer.answer("FC")
    producer.sender.handle_answer(late, InitProducerIdAnswer(0, 1, 1), producer.now_ms)
    assert not init.is_completed
    producer.exchange("IO")
    assert init.is_successful
    assert producer.identity == (PID, EPOCH)


def test_an_answer_of_another_kind_is_refused() -> None:
    producer = Producer()
    producer.manager.init_transactions()
    producer.leave("FC")
    with pytest.raises(TypeError, match="EndTxnAnswer is no answer to FIND_COORDINATOR"):
        producer.sender.handle_answer(producer.request("FC"), EndTxnAnswer(0), producer.now_ms)


# ---------------------------------------------------------------- closing


def test_closing_sends_what_waits_and_aborts_an_open_transaction() -> None:
    producer = Producer().with_partition()
    record = producer.send()
    producer.sender.close()
    with pytest.raises(IllegalState, match="closed"):
        producer.send()
    producer.exchange("Produce")
    assert record.is_successful
    producer.exchange("ET")
    assert producer.sends() is None
    assert producer.left == ["Produce", "ET"]
    assert producer.sender.is_closed
    assert producer.state == ProducerState.READY


def test_a_producer_is_closed_only_when_nothing_is_left_to_do() -> None:
    producer = Producer()
    assert not producer.sender.is_closed
    init = producer.manager.init_transactions()
    producer.exchange("FC", Error.COORDINATOR_NOT_AVAILABLE)
    producer.sender.close()
    assert not producer.sender.is_closed, "the look-up is repeated"
    producer.exchange("FC")
    producer.leave("IO")
    assert not producer.sender.is_closed
    producer.answer("IO")
    assert init.is_successful
    assert producer.sends() is None
    assert producer.sender.is_closed


def test_closing_with_a_call_that_nobody_waited_for_closes_by_force() -> None:
    producer = Producer()
    producer.manager.init_transactions()
    producer.exchange("FC")
    producer.exchange("IO")
    with pytest.raises(IllegalState, match="call initTransactions again"):
        producer.manager.begin_transaction()
    producer.sender.close()
    assert producer.sends() is None
    assert producer.sender.is_closed


def test_closing_after_a_commit_that_failed_unseen_closes_by_force() -> None:
    producer = Producer().with_partition()
    record = producer.send()
    producer.manager.begin_commit()
    producer.exchange("Produce", Error.INVALID_RECORD)
    producer.sender.close()
    assert producer.sends() is None
    assert failed_with(record) == Error.INVALID_RECORD
    assert producer.state == ProducerState.FATAL_ERROR, "the caller never saw that the commit failed"
    assert producer.sender.is_closed


def test_closing_by_force_fails_everything() -> None:
    producer = Producer().with_partition()
    sent, unsent = producer.send_now(), producer.send(TP1)
    offsets = producer.send_offsets()
    commit = producer.manager.begin_commit()
    producer.sender.close_by_force()
    for result in (sent, unsent, offsets, commit):
        assert isinstance(result.error, ProducerClosed)
        assert str(result.error) == "UNKNOWN_SERVER_ERROR: the producer was closed by force"
    assert producer.sends() is None
    assert producer.sender.is_closed
    producer.answer("Produce")
    assert isinstance(sent.error, ProducerClosed), "what comes later is ignored"


def test_closing_by_force_gives_up_what_is_asked_of_a_coordinator() -> None:
    producer = Producer()
    init = producer.manager.init_transactions()
    producer.exchange("FC")
    producer.leave("IO")
    producer.sender.close_by_force()
    assert isinstance(init.error, ProducerClosed)
    assert producer.sender.is_closed
    producer.answer("IO")
    assert producer.identity == (NONE, NONE)


# ---------------------------------------------------------------- failures before a record is handed over


def test_a_record_that_is_refused_beforehand_leaves_only_abort() -> None:
    producer = Producer().with_partition()
    producer.sender.refuse_record(TopicAuthorizationFailed(frozenset({"test"})))
    assert producer.state == ProducerState.ABORTABLE_ERROR
    assert producer.error == Error.TOPIC_AUTHORIZATION_FAILED


def test_without_a_transaction_a_refused_record_concerns_nobody_else() -> None:
    producer = Producer(None).idempotent()
    producer.sender.refuse_record(ProducerFailure(Error.MESSAGE_TOO_LARGE))
    assert producer.state == ProducerState.READY


def test_a_fatal_refusal_is_fatal() -> None:
    producer = Producer().with_partition()
    producer.sender.refuse_record(ProducerFailure(Error.CLUSTER_AUTHORIZATION_FAILED))
    assert producer.state == ProducerState.FATAL_ERROR


def test_a_refused_initialisation_fails_the_records_that_wait_for_it() -> None:
    producer = Producer(None)
    record = producer.send()
    producer.exchange("IO", Error.CLUSTER_AUTHORIZATION_FAILED)
    assert producer.state == ProducerState.ABORTABLE_ERROR
    producer.leave("IO")
    assert failed_with(record) == Error.CLUSTER_AUTHORIZATION_FAILED
    producer.answer("IO")
    assert producer.state == ProducerState.READY, "it asked again, and has the right now"


def test_until_3_5_a_refused_initialisation_ended_the_producer() -> None:
    producer = Producer(None, rules=preset("3.5"))
    record = producer.send()
    producer.exchange("IO", Error.CLUSTER_AUTHORIZATION_FAILED)
    assert producer.state == ProducerState.FATAL_ERROR
    assert producer.sends() is None
    assert failed_with(record) == Error.CLUSTER_AUTHORIZATION_FAILED
