"""TransactionManagerTest: sequences of an idempotent producer, and when it raises its own epoch (TP-023 to TP-034)."""

import pytest

from tests.conformance.producer_client import EPOCH, PID, TP0, TP1, Producer, failed_with, versions
from zombieproof.clients.batches import ProducerBatch
from zombieproof.clients.sender import SenderSettings
from zombieproof.formats.topics import TopicPartition
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, PRODUCER_EPOCH_MAX, Error, ProducerState
from zombieproof.statemachines.producer.sequences import restart, sequence_behind

SHORT_DELIVERY = SenderSettings(delivery_timeout_ms=15_000, request_timeout_ms=10_000, batch_records=1)


def numbers(batches: list[ProducerBatch]) -> list[tuple[int, int]]:
    """(epoch, sequence) of each."""
    return [(batch.producer_epoch, batch.base_sequence) for batch in batches]


def acked(producer: Producer, partition: TopicPartition, count: int) -> None:
    """`count` records of `partition` are stored."""
    for _ in range(count):
        producer.send_now(partition)
        producer.answer("Produce")


@pytest.mark.case("TP-023")
def test_tp_023_an_unknown_producer_raises_its_epoch_and_numbers_anew() -> None:
    producer = Producer(None).idempotent(EPOCH)
    sent = [producer.send_now() for _ in range(5)]
    batches = list(producer.in_flight())
    producer.answer("Produce", base_offset=500)
    producer.answer("Produce", Error.UNKNOWN_PRODUCER_ID, log_start_offset=500)
    assert not sent[1].is_done, "it is retried"
    producer.wait(100)
    producer.sends()
    assert producer.identity == (PID, EPOCH + 1)
    assert numbers(batches[1:]) == [(EPOCH + 1, sequence) for sequence in range(4)]
    assert producer.next_sequence() == 4
    for _ in range(4):
        producer.answer("Produce")
        producer.sends()
    assert all(record.is_successful for record in sent)


@pytest.mark.case("TP-024")
def test_tp_024_an_exhausted_epoch_numbers_only_the_failing_partition_anew() -> None:
    producer = Producer(None).idempotent(PRODUCER_EPOCH_MAX)
    for partition in (TP0, TP1):
        acked(producer, partition, 1)
    for partition in (TP0, TP1):
        producer.send_now(partition)
    second, other = producer.in_flight(TP0)[0], producer.in_flight(TP1)[0]
    producer.answer("Produce", Error.UNKNOWN_PRODUCER_ID, log_start_offset=400)
    assert producer.sends() == "IO", "a new producer id is needed"
    assert not producer.manager.sequences.has_producer_id
    assert producer.manager.sequences.of(TP0).next_sequence == 1
    assert producer.in_flight(TP0) == [second]
    assert second.base_sequence == 0
    assert producer.manager.sequences.of(TP1).next_sequence == 2
    assert producer.in_flight(TP1) == [other]
    assert numbers([other]) == [(PRODUCER_EPOCH_MAX, 1)]
    producer.answer("IO", producer_id=PID + 1, producer_epoch=0)
    assert (second.producer_id, second.producer_epoch, second.base_sequence) == (PID + 1, 0, 0)


@pytest.mark.case("TP-025")
def test_tp_025_what_is_in_flight_keeps_its_identity() -> None:
    producer = Producer(None).idempotent(PRODUCER_EPOCH_MAX)
    producer.send_now(TP0)
    producer.send_now(TP0)
    first, second = producer.in_flight(TP0)
    producer.manager.sequences.of(TP1).wants_bump = True
    producer.exchange("IO", producer_id=PID + 1, producer_epoch=0)
    assert producer.identity == (PID + 1, 0)
    assert producer.manager.sequences.of(TP0).next_sequence == 2
    assert numbers([first, second]) == [(PRODUCER_EPOCH_MAX, 0), (PRODUCER_EPOCH_MAX, 1)]
    producer.answer("Produce", base_offset=500)
    known = producer.manager.sequences.of(TP0)
    assert (known.next_sequence, known.last_acked_sequence, known.in_flight) == (2, 0, [second])
    assert (second.producer_id, second.producer_epoch) == (PID, PRODUCER_EPOCH_MAX)
    producer.answer("Produce", base_offset=501)
    producer.send_now(TP0)
    third = producer.in_flight(TP0)[0]
    assert (third.producer_id, third.producer_epoch, third.base_sequence) == (PID + 1, 0, 0)
    assert known.last_acked_sequence == NONE


@pytest.mark.case("TP-026")
def test_tp_026_a_batch_that_is_given_up_raises_the_epoch() -> None:
    producer = Producer(None, settings=SHORT_DELIVERY).idempotent(EPOCH)
    first = producer.send_now()
    producer.wait(10_000)
    assert producer.sends() is None, "the request timed out, and backs off"
    producer.leave("Produce")
    producer.wait(4_900)
    producer.sends()
    assert failed_with(first) == Error.REQUEST_TIMED_OUT
    producer.sends()
    assert producer.identity == (PID, EPOCH + 1)
    assert producer.next_sequence() == 0
    second = producer.send_now()
    batch = producer.in_flight()[0]
    assert numbers([batch]) == [(EPOCH + 1, 0)]
    assert producer.next_sequence() == 1
    producer.wait(10_000)
    producer.leave("Produce")
    assert not second.is_done
    assert numbers([batch]) == [(EPOCH + 1, 0)], "the same batch goes again"


@pytest.mark.case("TP-027")
def test_tp_027_behind_the_largest_sequence_comes_0() -> None:
    producer = Producer(None, settings=SenderSettings(batch_records=100)).idempotent()
    known = producer.manager.sequences.of(TP0)
    restart(producer.manager.producer, known, producer.manager.effects)
    known.next_sequence = sequence_behind(0, 2147483647, Rules())
    seen = [producer.next_sequence()]
    hundred = [producer.send() for _ in range(100)]
    producer.leave("Produce")
    assert numbers(producer.in_flight()) == [(EPOCH, 2147483647)]
    seen.append(producer.next_sequence())
    producer.answer("Produce")
    assert all(record.is_successful for record in hundred)
    seen.append(sequence_behind(producer.next_sequence(), 2147483647, Rules()))
    assert seen == [2147483647, 99, 98]


@pytest.mark.case("TP-028")
def test_tp_028_a_new_producer_id_restarts_the_failing_partition() -> None:
    producer = Producer(None).idempotent(PRODUCER_EPOCH_MAX)
    for partition in (TP0, TP1):
        acked(producer, partition, 3)
    assert [producer.next_sequence(p) for p in (TP0, TP1)] == [3, 3]
    producer.manager.sequences.of(TP0).wants_bump = True
    producer.leave("IO")
    assert producer.manager.sequences.of(TP0).next_sequence == 0
    assert producer.manager.sequences.of(TP1).next_sequence == 3


def three_batches(producer: Producer) -> None:
    """Three batches were sent, each a while after the one before it."""
    for _ in range(3):
        producer.send_now()
        producer.wait(1_000)


def give_up(producer: Producer) -> None:
    """The delivery time of the oldest batch is over."""
    oldest = producer.in_flight()[0]
    producer.now_ms = oldest.created_ms + producer.sender.settings.delivery_timeout_ms
    producer.sends()
    assert oldest.is_done
    producer.out["Produce"].pop(0)


PATIENT = SenderSettings(delivery_timeout_ms=15_000, request_timeout_ms=60_000, batch_records=1)


@pytest.mark.case("TP-029")
def test_tp_029_a_later_batch_that_is_stored_resolves_those_given_up() -> None:
    producer = Producer(None, settings=PATIENT).idempotent(EPOCH)
    three_batches(producer)
    give_up(producer)
    give_up(producer)
    assert producer.manager.sequences.unresolved == {TP0: 2}
    producer.answer("Produce")
    assert producer.sends() is None
    assert producer.manager.sequences.unresolved == {}
    assert producer.identity == (PID, EPOCH)
    assert producer.next_sequence() == 3


@pytest.mark.case("TP-030")
def test_tp_030_a_last_batch_that_is_given_up_raises_the_epoch() -> None:
    producer = Producer(None, settings=PATIENT).idempotent(EPOCH)
    three_batches(producer)
    give_up(producer)
    producer.answer("Produce")
    assert producer.sends() is None
    assert producer.identity == (PID, EPOCH)
    give_up(producer)
    assert producer.sends() is None
    assert producer.identity == (PID, EPOCH + 1)
    assert producer.next_sequence() == 0


def bumped_because_of_tp0(producer: Producer) -> ProducerBatch:
    """Both partitions have a batch in flight; that of TP0 made the epoch rise. Returned is that of TP1."""
    for partition in (TP0, TP1):
        acked(producer, partition, 1)
    for partition in (TP0, TP1):
        producer.send_now(partition)
    other = producer.in_flight(TP1)[0]
    producer.answer("Produce", Error.UNKNOWN_PRODUCER_ID, log_start_offset=500)
    producer.leave("Produce")
    assert numbers(producer.in_flight(TP0)) == [(EPOCH + 1, 0)]
    assert producer.identity == (PID, EPOCH + 1)
    return other


@pytest.mark.case("TP-031")
def test_tp_031_a_healthy_partition_finishes_under_the_old_epoch() -> None:
    producer = Producer(None).idempotent(EPOCH)
    old = bumped_because_of_tp0(producer)
    new = producer.send(TP1)
    producer.answer("Produce", Error.NOT_LEADER_OR_FOLLOWER)
    producer.leave("Produce")
    assert numbers(producer.in_flight(TP1)) == [(EPOCH, 1)], "retried under the old epoch"
    assert producer.in_flight(TP1) == [old]
    assert producer.sends() is None, "a new batch of TP1 waits"
    producer.answer("Produce")
    producer.answer("Produce")
    producer.leave("Produce")
    assert numbers(producer.in_flight(TP1)) == [(EPOCH + 1, 0)]
    producer.answer("Produce")
    assert new.is_successful


@pytest.mark.case("TP-032")
def test_tp_032_a_batch_of_the_old_epoch_is_stored_after_the_epoch_rose() -> None:
    producer = Producer(None).idempotent(EPOCH)
    old = bumped_because_of_tp0(producer)
    assert numbers([old]) == [(EPOCH, 1)]
    third = producer.send(TP1)
    assert producer.sends() is None
    producer.answer("Produce")
    assert old.is_done
    producer.leave("Produce")
    assert numbers(producer.in_flight(TP1)) == [(EPOCH + 1, 0)]
    producer.answer("Produce")
    producer.answer("Produce")
    assert third.is_successful
    assert producer.next_sequence(TP1) == 1


def old_broker() -> Producer:
    """A producer whose coordinator cannot raise epochs."""
    return Producer(broker_versions=versions(INIT_PRODUCER_ID=1))


@pytest.mark.case("TP-033")
def test_tp_033_without_a_raised_epoch_a_refused_sequence_is_used_again() -> None:
    producer = old_broker().with_partition()
    acked(producer, TP0, 2)
    refused = producer.send_now()
    assert producer.next_sequence() == 3
    producer.answer("Produce", Error.TOPIC_AUTHORIZATION_FAILED)
    assert failed_with(refused) == Error.TOPIC_AUTHORIZATION_FAILED
    assert producer.state == ProducerState.ABORTABLE_ERROR
    abort = producer.manager.begin_abort()
    producer.exchange("ET")
    abort.acknowledge()
    assert producer.state == ProducerState.READY
    producer.with_begun_transaction()
    assert producer.next_sequence() == 2
    producer.send_now()
    assert numbers(producer.in_flight()) == [(EPOCH, 2)]


@pytest.mark.case("TP-034")
def test_tp_034_without_a_raised_epoch_a_forgotten_partition_begins_again() -> None:
    producer = old_broker().with_partition(TP0).with_partition(TP1)
    acked(producer, TP0, 2)
    acked(producer, TP1, 1)
    refused = producer.send_now(TP0)
    producer.answer("Produce", Error.UNKNOWN_PRODUCER_ID, log_start_offset=0)
    assert failed_with(refused) == Error.UNKNOWN_PRODUCER_ID
    abort = producer.manager.begin_abort()
    producer.exchange("ET")
    abort.acknowledge()
    producer.with_begun_transaction()
    assert producer.next_sequence(TP0) == 0
    assert producer.next_sequence(TP1) == 1
    assert producer.identity == (PID, EPOCH)
