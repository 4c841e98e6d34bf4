"""The transactional side of the producer, beyond Kafka's own cases: transaction version 2, illegal moves."""

import pytest

from tests.conformance.producer_client import (
    EPOCH,
    GROUP,
    OFFSETS,
    PID,
    TP0,
    TP1,
    Producer,
    failed_with,
    versions,
)
from zombieproof.clients.brokers import Brokers
from zombieproof.clients.errors import IllegalState, ProducerFailure
from zombieproof.clients.joined_partitions import JoinedPartitions
from zombieproof.clients.transaction_manager import TransactionManager
from zombieproof.clients.transactional_requests import GroupMetadata, PreparedTransaction
from zombieproof.messages.groups import FindCoordinator, TxnOffsetCommit
from zombieproof.messages.transactions import EndTxn, InitProducerId
from zombieproof.model.vocabulary import NONE, Error, ProducerEvent, ProducerState
from zombieproof.statemachines.kernel import IllegalTransition
from zombieproof.statemachines.producer.failures import happen

# ---------------------------------------------------------------- transaction version 2


def test_version_2_adds_nothing_and_takes_the_next_epoch_from_the_end() -> None:
    producer = Producer(transaction_version=2).initialised()
    producer.manager.begin_transaction()
    offsets = producer.send_offsets()
    record = producer.send()
    producer.exchange("FC")
    producer.leave("TOC")
    body = producer.request("TOC").body
    assert isinstance(body, TxnOffsetCommit)
    assert body.version == 5
    producer.answer("TOC")
    producer.leave("Produce")
    assert producer.request("Produce").body.version == 12
    producer.answer("Produce")
    commit = producer.manager.begin_commit()
    producer.exchange("ET", producer_id=PID, producer_epoch=EPOCH + 1)
    assert producer.left == ["FC", "TOC", "Produce", "ET"]
    for result in (offsets, record, commit):
        assert result.is_successful
    assert producer.identity == (PID, EPOCH + 1)
    assert producer.next_sequence() == 0


def test_version_2_asks_for_no_epoch_behind_an_abort() -> None:
    producer = Producer(transaction_version=2).initialised()
    producer.manager.begin_transaction()
    producer.send_now()
    producer.answer("Produce", Error.OUT_OF_ORDER_SEQUENCE_NUMBER)
    abort = producer.manager.begin_abort()
    producer.exchange("ET", producer_id=PID + 1, producer_epoch=0)
    assert abort.is_successful
    assert producer.left == ["Produce", "ET"]
    assert producer.identity == (PID + 1, 0), "the producer id was exhausted"


def test_version_2_ends_an_empty_transaction_without_asking() -> None:
    producer = Producer(transaction_version=2).initialised()
    producer.manager.begin_transaction()
    commit = producer.manager.begin_commit()
    assert producer.sends() is None
    assert commit.is_successful
    assert producer.left == []


def test_version_2_can_abort_at_a_coordinator_that_is_not_asked_for_epochs() -> None:
    producer = Producer(transaction_version=2, broker_versions=versions(INIT_PRODUCER_ID=1)).initialised()
    assert producer.can_raise_epoch()


def test_what_an_older_epoch_of_features_says_is_no_news() -> None:
    producer = Producer(transaction_version=2)
    producer.brokers.learn_features(1, features_epoch=0)
    producer.initialised()
    assert producer.uses_v2()


def test_a_cluster_that_was_not_asked_for_its_features_follows_version_1() -> None:
    assert TransactionManager("foobar").transaction_version == 0
    assert Brokers().transaction_version == 0


# ---------------------------------------------------------------- what is asked for


def test_each_transactional_id_is_initialised_with_its_own_timeout_and_no_expectation() -> None:
    producer = Producer()
    producer.manager.init_transactions()
    producer.exchange("FC")
    producer.leave("IO")
    body = producer.request("IO").body
    assert isinstance(body, InitProducerId)
    assert (body.transactional_id, body.timeout_ms, body.producer_id, body.producer_epoch) == (
        "foobar",
        60_000,
        NONE,
        NONE,
    )


def test_coordinators_are_looked_up_by_transactional_id_and_by_group() -> None:
    producer = Producer(transaction_version=2)
    producer.manager.init_transactions()
    producer.leave("FC")
    assert producer.request("FC").body == FindCoordinator(6, "foobar", 1)
    producer.answer("FC")
    producer.exchange("IO")
    producer.manager.init_transactions().acknowledge()
    producer.manager.begin_transaction()
    producer.send_offsets()
    producer.leave("FC")
    assert producer.request("FC").body == FindCoordinator(6, GROUP.group, 0)


def test_an_idempotent_producer_asks_any_broker() -> None:
    producer = Producer(None)
    producer.leave("IO")
    request = producer.request("IO")
    assert request.node is None
    assert isinstance(request.body, InitProducerId)
    assert request.body.transactional_id is None
    assert request.body.timeout_ms == 2147483647


def test_offsets_of_two_groups_are_committed_apart() -> None:
    producer = Producer(transaction_version=2).initialised()
    producer.manager.begin_transaction()
    first = producer.manager.send_offsets(OFFSETS[:1], GROUP)
    second = producer.manager.send_offsets(OFFSETS[1:], GroupMetadata("another"))
    groups = {}
    while (name := producer.sends()) is not None:
        body = producer.request(name).body
        if isinstance(body, TxnOffsetCommit):
            groups[body.group] = body.offsets
        producer.answer(name)
    assert groups == {GROUP.group: OFFSETS[:1], "another": OFFSETS[1:]}
    assert first.is_successful
    assert second.is_successful


def test_no_offsets_are_sent_at_once() -> None:
    producer = Producer().in_transaction()
    assert producer.manager.send_offsets((), GROUP).is_successful
    assert producer.sends() is None


def test_an_end_that_the_coordinator_forgot_the_producer_of_can_be_aborted() -> None:
    producer = Producer().with_partition()
    commit = producer.manager.begin_commit()
    producer.exchange("ET", Error.UNKNOWN_PRODUCER_ID)
    assert failed_with(commit) == Error.UNKNOWN_PRODUCER_ID
    with pytest.raises(ProducerFailure):
        commit.acknowledge()
    abort = producer.manager.begin_abort()
    producer.exchange("ET")
    producer.exchange("IO", producer_epoch=EPOCH + 1)
    assert abort.is_successful
    assert producer.identity == (PID, EPOCH + 1)


def test_a_raised_epoch_that_is_wanted_only_during_the_abort_comes_before_the_abort_is_over() -> None:
    producer = Producer().with_partition(TP0)
    producer.manager.add_partition(TP1)
    producer.leave("APT")
    abort = producer.manager.begin_abort()
    producer.answer("APT", Error.UNKNOWN_PRODUCER_ID)
    assert producer.state == ProducerState.ABORTING_TRANSACTION
    producer.exchange("ET")
    assert not abort.is_completed
    producer.exchange("IO", producer_epoch=EPOCH + 1)
    assert abort.is_successful
    assert producer.state == ProducerState.READY
    assert producer.identity == (PID, EPOCH + 1)


def test_a_coordinator_that_cannot_raise_epochs_makes_such_errors_fatal() -> None:
    producer = Producer(broker_versions=versions(INIT_PRODUCER_ID=2)).with_partition()
    producer.manager.begin_commit()
    producer.exchange("ET", Error.UNKNOWN_PRODUCER_ID)
    assert producer.state == ProducerState.FATAL_ERROR


def test_what_one_transaction_needed_the_next_one_does_not() -> None:
    producer = Producer().with_partition()
    producer.send_now()
    producer.answer("Produce", Error.OUT_OF_ORDER_SEQUENCE_NUMBER)
    producer.manager.begin_abort()
    producer.exchange("ET")
    producer.exchange("IO", producer_epoch=EPOCH + 1)
    producer.manager.begin_abort().acknowledge()
    producer.left.clear()
    producer.with_begun_transaction().manager.begin_commit()
    producer.exchange("ET")
    producer.manager.begin_commit().acknowledge()
    assert producer.left == ["ET"], "no epoch is raised a second time"
    producer.manager.begin_transaction()
    empty = producer.manager.begin_commit()
    assert producer.sends() is None
    assert empty.is_successful
    assert producer.left == ["ET"], "an empty transaction is not ended at the coordinator"


def test_a_fatal_error_ends_the_call_whose_request_is_under_way() -> None:
    producer = Producer().with_partition()
    commit = producer.manager.begin_commit()
    producer.leave("ET")
    fatal = producer.fatal()
    assert commit.error is fatal


def test_after_a_raised_epoch_the_next_end_is_of_that_epoch() -> None:
    producer = Producer().with_partition()
    producer.send_now()
    producer.answer("Produce", Error.OUT_OF_ORDER_SEQUENCE_NUMBER)
    producer.manager.begin_abort()
    producer.exchange("ET")
    producer.exchange("IO", producer_epoch=EPOCH + 1)
    producer.manager.begin_abort().acknowledge()
    producer.with_begun_transaction()
    producer.manager.begin_commit()
    producer.leave("ET")
    body = producer.request("ET").body
    assert isinstance(body, EndTxn)
    assert (body.producer_id, body.producer_epoch) == (PID, EPOCH + 1)


# ---------------------------------------------------------------- prepared transactions (KIP-939)


def prepared(*, two_phase_commit: bool = True) -> tuple[Producer, PreparedTransaction]:
    """A transaction with one record, prepared."""
    producer = Producer(transaction_version=2, two_phase_commit=two_phase_commit).initialised()
    producer.manager.begin_transaction()
    producer.send_now()
    producer.answer("Produce")
    token = producer.manager.prepare_transaction()
    assert producer.state == ProducerState.PREPARED_TRANSACTION
    return producer, token


@pytest.mark.parametrize("same", [True, False])
def test_an_outer_commit_decides_about_what_is_prepared(same: bool) -> None:
    producer, token = prepared()
    assert str(token) == f"{PID}:{EPOCH}"
    for call in ("begin", "send", "send offsets"):
        with pytest.raises(IllegalState):
            producer.calls()[call]()
    end = producer.manager.complete_transaction(token if same else PreparedTransaction(PID, EPOCH + 1))
    producer.leave("ET")
    body = producer.request("ET").body
    assert isinstance(body, EndTxn)
    assert body.committed is same
    producer.answer("ET", producer_id=PID, producer_epoch=EPOCH + 1)
    assert end.is_successful
    assert producer.manager.prepared is None
    with pytest.raises(IllegalState, match="nothing is prepared"):
        producer.manager.complete_transaction(token)


def test_what_is_prepared_is_completed_once() -> None:
    producer, token = prepared()
    producer.manager.complete_transaction(token)
    with pytest.raises(IllegalState, match="nothing is prepared"):
        producer.manager.complete_transaction(token)


def test_a_transaction_that_can_only_be_aborted_is_not_prepared() -> None:
    producer = Producer(transaction_version=2, two_phase_commit=True).in_transaction()
    producer.abortable(Error.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(ProducerFailure) as raised:
        producer.manager.prepare_transaction()
    assert raised.value.error == Error.TOPIC_AUTHORIZATION_FAILED


def test_a_producer_without_two_phase_commit_prepares_nothing() -> None:
    with pytest.raises(ProducerFailure) as raised:
        prepared(two_phase_commit=False)
    assert raised.value.error == Error.INVALID_TXN_STATE


def test_a_new_instance_keeps_what_is_prepared_and_ends_it() -> None:
    producer = Producer(transaction_version=2, two_phase_commit=True)
    init = producer.manager.init_transactions(keep_prepared=True)
    producer.exchange("FC")
    producer.leave("IO")
    body = producer.request("IO").body
    assert isinstance(body, InitProducerId)
    assert (body.version, body.enable_2pc, body.keep_prepared) == (6, True, True)
    producer.answer("IO", ongoing_producer_id=PID, ongoing_producer_epoch=0)
    init.acknowledge()
    assert producer.state == ProducerState.PREPARED_TRANSACTION
    commit = producer.manager.complete_transaction(PreparedTransaction(PID, 0))
    producer.exchange("ET", producer_id=PID, producer_epoch=EPOCH + 1)
    assert commit.is_successful


def test_two_phase_commit_needs_a_broker_that_knows_it() -> None:
    producer = Producer(broker_versions=versions(INIT_PRODUCER_ID=5), two_phase_commit=True)
    producer.manager.init_transactions()
    producer.exchange("FC")
    assert producer.sends() is None
    assert producer.error == Error.UNSUPPORTED_VERSION


# ---------------------------------------------------------------- illegal


def test_offsets_are_refused_while_a_commit_was_not_waited_for() -> None:
    producer = Producer().with_partition()
    producer.manager.begin_commit()
    producer.exchange("ET")
    with pytest.raises(IllegalState, match="call commitTransaction again"):
        producer.send_offsets()


def test_what_is_over_is_forgotten() -> None:
    partitions = JoinedPartitions()
    partitions.new.append(TP0)
    partitions.settle(partitions.ask_for_new(), are_added=True)
    partitions.new.append(TP1)
    partitions.clear()
    assert (partitions.new, partitions.pending, partitions.added) == ([], set(), set())


def test_transactional_calls_need_a_transactional_id() -> None:
    producer = Producer(None).idempotent()
    for name, call in producer.calls().items():
        if name == "send":
            continue
        with pytest.raises(IllegalState, match="needs a transactional id"):
            call()


def test_a_generation_without_a_member_is_refused() -> None:
    producer = Producer().in_transaction()
    with pytest.raises(IllegalState, match="generation 5 without a member"):
        producer.send_offsets(GroupMetadata("group", generation=5))
    assert producer.state == ProducerState.IN_TRANSACTION


@pytest.mark.parametrize("call", ["begin", "send", "send offsets", "commit", "abort"])
def test_before_init_transactions_nothing_is_allowed(call: str) -> None:
    producer = Producer()
    with pytest.raises(IllegalState):
        producer.calls()[call]()
    assert producer.state == ProducerState.UNINITIALIZED
    assert producer.sends() is None


def test_a_result_cannot_be_seen_before_it_is_there() -> None:
    init = Producer().manager.init_transactions()
    with pytest.raises(IllegalState, match="initTransactions is not over"):
        init.acknowledge()


def test_an_illegal_move_that_an_answer_asks_for_poisons_the_producer() -> None:
    producer = Producer().initialised()
    lifecycle = producer.manager.lifecycle
    lifecycle.clear()
    assert not happen(lifecycle.producer, ProducerEvent.END_ACKNOWLEDGED, lifecycle.effects, lifecycle.notes)
    producer.manager.carry_out()
    assert producer.state == ProducerState.FATAL_ERROR
    for name, call in producer.calls().items():
        with pytest.raises(IllegalState, match="END_ACKNOWLEDGED is illegal in READY"):
            call()
        assert producer.state == ProducerState.FATAL_ERROR, name


def test_a_step_that_moves_otherwise_than_the_table_is_found() -> None:
    lifecycle = Producer().initialised().manager.lifecycle
    lifecycle.clear()
    lifecycle.notes.count, lifecycle.notes.moves[0].event = 1, int(ProducerEvent.END_ACKNOWLEDGED)
    with pytest.raises(IllegalTransition, match="END_ACKNOWLEDGED is illegal in READY"):
        lifecycle.follow(None)
    lifecycle.clear()
    lifecycle.producer.state = int(ProducerState.IN_TRANSACTION)
    with pytest.raises(AssertionError, match="noted"):
        lifecycle.follow(None)


def test_an_answer_that_comes_after_a_fatal_error_changes_nothing() -> None:
    producer = Producer()
    producer.manager.init_transactions()
    producer.exchange("FC")
    producer.leave("IO")
    fatal = producer.fatal()
    producer.answer("IO")
    assert producer.state == ProducerState.FATAL_ERROR
    assert producer.manager.lifecycle.last_error is fatal
