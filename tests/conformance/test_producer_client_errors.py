"""TransactionManagerTest: errors of coordinators, abortable and fatal (TP-046 to TP-072, TP-080, TP-092, TP-093)."""

import pytest

from tests.conformance.producer_client import (
    GROUP,
    MEMBER,
    TP0,
    TP1,
    Errors,
    Producer,
    failed_with,
    versions,
)
from zombieproof.clients.batches import SentRecord
from zombieproof.clients.errors import (
    CommitFailed,
    GroupAuthorizationFailed,
    InitialisationRefused,
    ProducerFailure,
    ProducerFenced,
    TopicAuthorizationFailed,
)
from zombieproof.clients.results import PendingResult
from zombieproof.clients.transactional_requests import GroupMetadata
from zombieproof.messages.transactions import EndTxn
from zombieproof.model.rules import preset
from zombieproof.model.vocabulary import Error, ProducerState


def is_abortable(producer: Producer, error: Error) -> None:
    """Only abort is left, and it leads to the next transaction."""
    assert producer.state == ProducerState.ABORTABLE_ERROR
    assert producer.error == error
    with pytest.raises(ProducerFailure) as raised:
        producer.manager.begin_commit()
    assert raised.value.error == error
    abort = producer.manager.begin_abort()
    while (name := producer.sends()) is not None:
        producer.answer(name)
    abort.acknowledge()
    producer.manager.begin_transaction()


def is_fatal(producer: Producer, error: Error) -> None:
    """Nothing is left."""
    assert producer.state == ProducerState.FATAL_ERROR
    assert producer.error == error
    producer.every_call_raises(error)


# ---------------------------------------------------------------- FindCoordinator, InitProducerId


@pytest.mark.case("TP-046")
@pytest.mark.parametrize("how", ["by the broker", "before it is sent", "in the answer"])
def test_tp_046_a_broker_that_cannot_initialise_is_fatal(how: str) -> None:
    producer = Producer(broker_versions=versions(INIT_PRODUCER_ID=-1) if how == "before it is sent" else versions())
    init = producer.manager.init_transactions()
    producer.exchange("FC")
    if how == "before it is sent":
        assert producer.sends() is None
    else:
        producer.leave("IO")
    if how == "by the broker":
        producer.sender.handle_unsupported(producer.request("IO"), producer.now_ms)
    elif how == "in the answer":
        producer.answer("IO", Error.UNSUPPORTED_VERSION)
    assert failed_with(init) == Error.UNSUPPORTED_VERSION
    with pytest.raises(ProducerFailure):
        init.acknowledge()
    is_fatal(producer, Error.UNSUPPORTED_VERSION)


def refused_start(*answers: tuple[str, Error], release: str = "newest") -> tuple[Producer, PendingResult]:
    """InitTransactions, answered so; the caller has seen that it failed."""
    producer = Producer(rules=preset(release))
    init = producer.manager.init_transactions()
    for name, error in answers:
        producer.exchange(name, error)
    with pytest.raises(ProducerFailure):
        init.acknowledge()
    return producer, init


@pytest.mark.case("TP-047")
def test_tp_047_no_right_to_the_transactional_id_at_the_look_up_is_fatal() -> None:
    producer, init = refused_start(("FC", Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))
    assert failed_with(init) == Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    is_fatal(producer, Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)


@pytest.mark.case("TP-048")
def test_tp_048_no_right_to_the_transactional_id_at_the_start_is_abortable() -> None:
    denied = Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    producer, init = refused_start(("FC", Error.NONE), ("IO", denied))
    assert failed_with(init) == denied
    assert producer.state == ProducerState.ABORTABLE_ERROR
    assert producer.error == denied
    assert producer.sends() is None
    again = producer.manager.init_transactions()
    producer.exchange("IO")
    assert again.is_successful, "once it has the right, it may try again"


@pytest.mark.parametrize("denied", [Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, Error.CLUSTER_AUTHORIZATION_FAILED])
@pytest.mark.parametrize(("release", "lives"), [("3.5", False), ("3.6", True)])
def test_a_right_that_is_given_later_helps_a_producer_since_3_6(release: str, lives: bool, denied: Error) -> None:
    """As seen of clients 2.4.1, 2.5.1 and 3.5.2 on one side, 3.6.2 and 4.3.1 on the other."""
    producer, init = refused_start(("FC", Error.NONE), ("IO", denied), release=release)
    assert (failed_with(init), isinstance(init.error, InitialisationRefused)) == (denied, lives)
    assert producer.sends() is None
    if not lives:
        is_fatal(producer, denied)
        return
    again = producer.manager.init_transactions()
    producer.exchange("IO")
    again.acknowledge()
    assert producer.state == ProducerState.READY


@pytest.mark.case("TP-067")
def test_tp_067_an_invalid_epoch_at_the_start_means_fenced() -> None:
    producer, init = refused_start(("FC", Error.NONE), ("IO", Error.INVALID_PRODUCER_EPOCH))
    assert isinstance(init.error, ProducerFenced)
    for name in ("init", "begin", "commit", "abort", "send offsets"):
        with pytest.raises(ProducerFenced):
            producer.calls()[name]()
    is_fatal(producer, Error.PRODUCER_FENCED)


@pytest.mark.case("TP-092")
def test_tp_092_abortable_at_the_start_is_abortable() -> None:
    producer, init = refused_start(("FC", Error.NONE), ("IO", Error.TRANSACTION_ABORTABLE))
    assert failed_with(init) == Error.TRANSACTION_ABORTABLE
    assert producer.state == ProducerState.ABORTABLE_ERROR
    assert producer.error == Error.TRANSACTION_ABORTABLE


# ---------------------------------------------------------------- AddPartitionsToTxn


def adding(error: Errors, *partitions: tuple[str, int]) -> tuple[Producer, list[SentRecord]]:
    """A record for each partition was sent, and AddPartitionsToTxn is answered so."""
    producer = Producer().in_transaction()
    records = [producer.send(partition) for partition in partitions or (TP0,)]
    producer.exchange("APT", error)
    return producer, records


def records_fail(producer: Producer, records: list[SentRecord], error: Error) -> None:
    assert producer.sends() is None
    assert [failed_with(record) for record in records] == [error] * len(records)
    assert "Produce" not in producer.left


@pytest.mark.case("TP-053")
def test_tp_053_no_right_to_the_transactional_id_when_a_partition_is_added_is_fatal() -> None:
    producer, records = adding(Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    records_fail(producer, records, Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    is_fatal(producer, Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)


@pytest.mark.case("TP-054")
@pytest.mark.parametrize(("denied", "other"), [(TP0, TP1), (TP1, TP0)])
def test_tp_054_a_commit_is_cancelled_when_its_partition_is_denied(
    denied: tuple[str, int], other: tuple[str, int]
) -> None:
    producer = Producer().in_transaction()
    records = [producer.send(TP0), producer.send(TP1)]
    producer.leave("APT")
    commit = producer.manager.begin_commit()
    producer.answer(
        "APT", dict(sorted({denied: Error.TOPIC_AUTHORIZATION_FAILED, other: Error.OPERATION_NOT_ATTEMPTED}.items()))
    )
    records_fail(producer, records, Error.TOPIC_AUTHORIZATION_FAILED)
    assert isinstance(commit.error, TopicAuthorizationFailed)
    assert commit.error.topics == {"test"}
    with pytest.raises(ProducerFailure):
        commit.acknowledge()
    assert producer.left == ["APT"], "no EndTxn"
    is_abortable(producer, Error.TOPIC_AUTHORIZATION_FAILED)
    assert producer.left == ["APT"], "and none for the abort: nothing had joined"


@pytest.mark.case("TP-056")
def test_tp_056_an_invalid_state_when_a_partition_is_added_is_fatal() -> None:
    producer, records = adding(Error.INVALID_TXN_STATE)
    records_fail(producer, records, Error.INVALID_TXN_STATE)
    is_fatal(producer, Error.INVALID_TXN_STATE)


@pytest.mark.case("TP-068")
def test_tp_068_fenced_when_a_partition_is_added_is_fatal() -> None:
    producer, records = adding(Error.PRODUCER_FENCED)
    records_fail(producer, records, Error.PRODUCER_FENCED)
    assert isinstance(records[0].error, ProducerFenced)
    is_fatal(producer, Error.PRODUCER_FENCED)


@pytest.mark.case("TP-093")
def test_tp_093_abortable_when_a_partition_is_added_is_abortable() -> None:
    producer, records = adding(Error.TRANSACTION_ABORTABLE)
    records_fail(producer, records, Error.TRANSACTION_ABORTABLE)
    is_abortable(producer, Error.TRANSACTION_ABORTABLE)


# ---------------------------------------------------------------- AddOffsetsToTxn, TxnOffsetCommit


def sending_offsets(
    aot: Error = Error.NONE, *, fc: Error = Error.NONE, toc: Errors | None = None, group: GroupMetadata = GROUP
) -> tuple[Producer, PendingResult]:
    """Offsets are sent, and answered so as far as it comes."""
    producer = Producer().in_transaction()
    result = producer.send_offsets(group)
    producer.exchange("AOT", aot)
    if aot == Error.NONE:
        producer.exchange("FC", fc)
    if toc is not None:
        producer.exchange("TOC", toc)
    return producer, result


@pytest.mark.case("TP-049")
def test_tp_049_no_right_to_the_group_at_the_look_up_is_abortable() -> None:
    producer, result = sending_offsets(fc=Error.GROUP_AUTHORIZATION_FAILED)
    assert isinstance(producer.manager.lifecycle.last_error, GroupAuthorizationFailed)
    assert producer.manager.lifecycle.last_error.group == GROUP.group
    assert producer.sends() is None
    assert isinstance(result.error, GroupAuthorizationFailed), "the offsets are not sent"
    assert result.error.group == GROUP.group
    is_abortable(producer, Error.GROUP_AUTHORIZATION_FAILED)


@pytest.mark.case("TP-050")
def test_tp_050_no_right_to_the_group_when_offsets_are_committed_is_abortable() -> None:
    denied = Error.GROUP_AUTHORIZATION_FAILED
    producer, result = sending_offsets(toc={TP0: Error.NONE, TP1: denied})
    assert isinstance(result.error, GroupAuthorizationFailed)
    assert result.error.group == GROUP.group
    assert not producer.has_pending_offset_commits()
    is_abortable(producer, denied)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        pytest.param(
            Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            marks=pytest.mark.case("TP-051"),
        ),
        pytest.param(Error.INVALID_TXN_STATE, Error.INVALID_TXN_STATE, marks=pytest.mark.case("TP-055")),
    ],
)
def test_tp_051_tp_055_adding_offsets_fails_fatally(error: Error, told: Error) -> None:
    producer, result = sending_offsets(error)
    assert failed_with(result) == told
    assert "TOC" not in producer.left
    is_fatal(producer, told)


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(Error.PRODUCER_FENCED, marks=pytest.mark.case("TP-069")),
        pytest.param(Error.INVALID_PRODUCER_EPOCH, marks=pytest.mark.case("TP-069")),
        pytest.param(Error.INVALID_PRODUCER_EPOCH, marks=pytest.mark.case("TP-070")),
    ],
)
def test_tp_069_tp_070_fenced_when_offsets_are_added_is_fatal(error: Error) -> None:
    producer = Producer().with_partition()
    result = producer.send_offsets()
    record = producer.send()
    producer.exchange("AOT", error)
    assert isinstance(result.error, ProducerFenced)
    assert producer.sends() is None
    assert isinstance(record.error, ProducerFenced)
    is_fatal(producer, Error.PRODUCER_FENCED)


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, marks=pytest.mark.case("TP-052")),
        pytest.param(Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, marks=pytest.mark.case("TP-065")),
        pytest.param(Error.PRODUCER_FENCED, marks=pytest.mark.case("TP-064")),
        pytest.param(Error.UNSUPPORTED_FOR_MESSAGE_FORMAT, marks=pytest.mark.case("TP-066")),
    ],
)
def test_tp_052_tp_064_to_tp_066_committing_offsets_fails_fatally(error: Error) -> None:
    producer, result = sending_offsets(toc={TP0: Error.NONE, TP1: error})
    assert failed_with(result) == error
    with pytest.raises(ProducerFailure) as raised:
        result.acknowledge()
    assert raised.value.error == error
    assert not producer.has_pending_offset_commits()
    is_fatal(producer, error)


@pytest.mark.case("TP-058")
def test_tp_058_a_fenced_member_is_abortable() -> None:
    producer, result = sending_offsets(toc=Error.FENCED_INSTANCE_ID, group=MEMBER)
    assert failed_with(result) == Error.FENCED_INSTANCE_ID
    is_abortable(producer, Error.FENCED_INSTANCE_ID)


@pytest.mark.case("TP-059")
def test_tp_059_a_wrong_generation_is_abortable() -> None:
    producer, result = sending_offsets(toc=Error.ILLEGAL_GENERATION, group=MEMBER)
    assert isinstance(result.error, CommitFailed)
    assert isinstance(producer.manager.lifecycle.last_error, CommitFailed)
    is_abortable(producer, Error.ILLEGAL_GENERATION)


@pytest.mark.case("TP-061")
def test_tp_061_group_metadata_needs_a_broker_that_takes_it() -> None:
    producer = Producer(broker_versions=versions(TXN_OFFSET_COMMIT=2)).in_transaction()
    result = producer.send_offsets(MEMBER)
    producer.exchange("AOT")
    producer.exchange("FC")
    assert producer.sends() is None
    assert failed_with(result) == Error.UNSUPPORTED_VERSION
    assert producer.left == ["AOT", "FC"]
    is_fatal(producer, Error.UNSUPPORTED_VERSION)


def test_an_old_broker_takes_offsets_that_name_only_the_group() -> None:
    producer = Producer(broker_versions=versions(TXN_OFFSET_COMMIT=2)).in_transaction()
    result = producer.send_offsets(GROUP)
    for name in ("AOT", "FC", "TOC"):
        producer.exchange(name)
    assert result.is_successful


@pytest.mark.case("TP-080")
def test_tp_080_an_abort_fails_when_adding_offsets_fails_fatally() -> None:
    producer = Producer().in_transaction()
    offsets = producer.send_offsets()
    producer.leave("AOT")
    abort = producer.manager.begin_abort()
    producer.answer("AOT", Error.UNKNOWN_SERVER_ERROR)
    assert producer.sends() is None
    assert failed_with(offsets) == Error.UNKNOWN_SERVER_ERROR
    assert abort.is_completed
    assert failed_with(abort) == Error.UNKNOWN_SERVER_ERROR
    with pytest.raises(ProducerFailure):
        abort.acknowledge()
    assert producer.left == ["AOT"]
    is_fatal(producer, Error.UNKNOWN_SERVER_ERROR)


# ---------------------------------------------------------------- EndTxn, Produce


@pytest.mark.case("TP-071")
def test_tp_071_an_invalid_epoch_at_the_end_is_fatal() -> None:
    producer = Producer().with_partition()
    commit = producer.manager.begin_commit()
    producer.exchange("ET", Error.INVALID_PRODUCER_EPOCH)
    assert isinstance(commit.error, ProducerFenced)
    with pytest.raises(ProducerFenced):
        commit.acknowledge()
    is_fatal(producer, Error.PRODUCER_FENCED)


@pytest.mark.case("TP-072")
def test_tp_072_an_invalid_epoch_from_a_leader_is_abortable() -> None:
    producer = Producer().with_partition()
    record = producer.send_now()
    producer.answer("Produce", Error.INVALID_PRODUCER_EPOCH)
    assert failed_with(record) == Error.INVALID_PRODUCER_EPOCH
    assert producer.state == ProducerState.ABORTABLE_ERROR
    assert producer.error == Error.INVALID_PRODUCER_EPOCH
    abort = producer.manager.begin_abort()
    producer.left.clear()
    producer.leave("ET")
    end = producer.request("ET").body
    assert isinstance(end, EndTxn)
    assert not end.committed
    producer.answer("ET")
    assert not abort.is_completed
    producer.exchange("IO")
    assert producer.left == ["ET", "IO"]
    assert abort.is_successful
    assert producer.state == ProducerState.READY
