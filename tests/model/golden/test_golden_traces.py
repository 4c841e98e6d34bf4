"""The golden traces G1 to G12 of the reference (§13), on the decisions, through the host of `conftest.py`."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from zombieproof.model.decisions import transition
from zombieproof.model.records import Transaction
from zombieproof.model.rules import preset, with_switches
from zombieproof.model.vocabulary import NONE, Error, Mode, Row
from zombieproof.model.vocabulary import TransactionState as S

Host = Any
NewHost = Callable[..., Host]
T0, OFFSETS = 0b01, 0b10


def test_g1_commit_by_the_rules_of_version_0(new_host: NewHost) -> None:
    host = new_host(0)
    assert host.init() == (0, 4000, 0)
    assert host.last == (S.EMPTY, 4000, 0, 0)
    assert host.add(4000, 0) == Error.NONE
    assert host.last == (S.ONGOING, 4000, 0, T0)
    assert host.log[-1].start_ms == 1000
    assert host.produce(4000, 0, 0, 2) == 2
    assert host.leader.lso == 0
    assert host.end(4000, 0, committed=1) == (0, NONE, NONE)
    assert host.last == (S.PREPARE_COMMIT, 4000, 0, T0)
    assert host.deliver_markers() == [Row.M5]
    assert host.leader.log[3] == (4000, 0, "COMMIT")
    assert host.leader.lso == 4
    assert host.last == (S.COMPLETE_COMMIT, 4000, 0, 0)


@pytest.fixture
def g2(new_host: NewHost) -> Host:
    """G2 up to its answered commit; the marker is on its way."""
    host = new_host(2)
    host.init()
    assert host.produce(4000, 0, 0, 2) == 2
    assert host.last == (S.ONGOING, 4000, 0, T0)
    assert host.log[-1].client_transaction_version == 2
    assert host.end(4000, 0, committed=1) == (0, 4000, 1)
    return host


def test_g2_commit_by_the_rules_of_version_2(g2: Host) -> None:
    assert g2.last == (S.PREPARE_COMMIT, 4000, 1, T0)
    record = g2.log[-1]
    assert (record.last_producer_epoch, record.previous_producer_id, record.next_producer_id) == (0, 4000, NONE)
    assert g2.deliver_markers() == [Row.M5]
    assert g2.leader.log[3] == (4000, 1, "COMMIT")
    assert g2.last == (S.COMPLETE_COMMIT, 4000, 1, 0)
    assert g2.produce(4000, 1, 0, 0) == 4


def test_g3_a_lost_answer_of_endtxn(g2: Host) -> None:
    assert g2.end(4000, 0, committed=1) == (Error.CONCURRENT_TRANSACTIONS, NONE, NONE)
    g2.deliver_markers()
    assert g2.end(4000, 0, committed=1) == (0, 4000, 1)
    assert g2.end(4000, 0, committed=0)[0] == Error.INVALID_TXN_STATE
    assert g2.last == (S.COMPLETE_COMMIT, 4000, 1, 0)


def test_g4_an_empty_abort(g2: Host) -> None:
    g2.deliver_markers()
    assert g2.end(4000, 1, committed=0) == (0, 4000, 2)
    assert [record.state for record in g2.log[-2:]] == [S.PREPARE_ABORT, S.COMPLETE_ABORT]
    assert (g2.log[-2].producer_epoch, g2.log[-2].partitions, g2.log[-2].start_ms) == (2, 0, 1000)
    assert g2.markers == []


def test_g5_overflow(new_host: NewHost) -> None:
    host = new_host(2)
    host.init()
    host.produce(4000, 0, 0, 0)
    host.txn.producer_epoch = host.leader.entry(4000).producer_epoch = 32766
    assert host.end(4000, 32766, committed=1) == (0, 4001, 0)
    record = host.log[-1]
    assert (record.producer_epoch, record.last_producer_epoch, record.next_producer_id) == (32767, 32766, 4001)
    assert host.markers[0][1].producer_epoch == 32767
    host.deliver_markers()
    record = host.log[-1]
    assert host.last == (S.COMPLETE_COMMIT, 4001, 0, 0)
    assert (record.previous_producer_id, record.next_producer_id) == (4000, NONE)
    assert host.end(4000, 32766, committed=1) == (0, 4001, 0)
    failed_over = Transaction()
    transition.load(failed_over, host.log[-1], -1, host.rules)
    assert host.init(4000, 32766) == (0, 4001, 0)
    host.txn = failed_over
    assert host.init(4000, 32766)[0] == Error.PRODUCER_FENCED


def test_g6_takeover_by_the_rules_of_version_0(new_host: NewHost) -> None:
    host = new_host(0)
    host.init()
    host.add(4000, 0)
    assert host.init() == (Error.CONCURRENT_TRANSACTIONS, NONE, NONE)
    assert host.last == (S.PREPARE_ABORT, 4000, 1, T0)
    assert host.produce(4000, 0, 0, 0) == Error.INVALID_PRODUCER_EPOCH
    host.deliver_markers()
    assert host.last == (S.COMPLETE_ABORT, 4000, 1, 0)
    assert host.init() == (0, 4000, 2)
    assert host.produce(4000, 0, 1, 1) == Error.INVALID_PRODUCER_EPOCH
    assert host.end(4000, 0, committed=1)[0] == Error.PRODUCER_FENCED
    assert host.init(4000, 0)[0] == Error.PRODUCER_FENCED


def test_g6_the_zombies_data_before_the_marker_is_aborted_with_the_rest(new_host: NewHost) -> None:
    host = new_host(0)
    host.init()
    host.add(4000, 0)
    assert host.produce(4000, 0, 0, 0) == 0
    host.init()
    assert host.produce(4000, 0, 1, 1) == 1
    host.deliver_markers()
    assert host.leader.log == [(4000, 0, "data"), (4000, 0, "data"), (4000, 1, "ABORT")]
    assert host.leader.lso == 3


def test_g7_a_timeout_by_the_rules_of_version_2(new_host: NewHost) -> None:
    host = new_host(2)
    host.init()
    host.produce(4000, 0, 0, 0)
    host.time_out()
    assert host.last == (S.PREPARE_ABORT, 4000, 1, T0)
    assert host.log[-1].last_producer_epoch == 0
    host.deliver_markers()
    assert host.last == (S.COMPLETE_ABORT, 4000, 1, 0)
    assert host.produce(4000, 0, 1, 1) == Error.INVALID_PRODUCER_EPOCH
    assert host.end(4000, 0, committed=1)[0] == Error.PRODUCER_FENCED
    assert host.end(4000, 0, committed=0) == (0, 4000, 1)
    host.rules = preset("4.4")  # KAFKA-20785 was merged later
    assert host.end(4000, 0, committed=1)[0] == Error.INVALID_TXN_STATE
    assert host.end(4000, 0, committed=0) == (0, 4000, 1)


def test_g7_the_same_by_the_rules_of_version_0(new_host: NewHost) -> None:
    host = new_host(0)
    host.init()
    host.add(4000, 0)
    host.produce(4000, 0, 0, 0)
    host.time_out()
    host.deliver_markers()
    for committed in (0, 1):
        assert host.end(4000, 0, committed)[0] == Error.PRODUCER_FENCED


def test_g8_the_client_raises_its_epoch_itself(new_host: NewHost) -> None:
    host = new_host(0)
    host.init()
    host.add(4000, 0)
    host.produce(4000, 0, 0, 0)
    assert host.end(4000, 0, committed=0) == (0, NONE, NONE)
    assert host.last == (S.PREPARE_ABORT, 4000, 0, T0)
    assert host.init(4000, 0)[0] == Error.CONCURRENT_TRANSACTIONS
    host.deliver_markers()
    assert host.leader.log[-1] == (4000, 0, "ABORT")
    assert host.init(4000, 0) == (0, 4000, 1)
    assert host.log[-1].last_producer_epoch == 0
    assert host.init(4000, 0) == (0, 4000, 1)


def hanging(host: Host) -> Any:
    """G9: a retry of the aborted transaction arrives after its marker."""
    host.init()
    if host.tv < 2:
        host.add(4000, 0)
    host.produce(4000, 0, 0, 2)
    host.end(4000, 0, committed=0)
    host.deliver_markers()
    return host.produce(4000, 0, 3, 3)


def test_g9_without_verification_late_data_opens_a_transaction_that_nobody_ends(new_host: NewHost) -> None:
    host = new_host(0, preset("kip98"))
    assert hanging(host) == 4
    assert host.leader.lso == 4
    assert host.txn.state == S.COMPLETE_ABORT


@pytest.mark.parametrize(
    ("transaction_version", "error"), [(0, Error.TRANSACTION_ABORTABLE), (2, Error.INVALID_PRODUCER_EPOCH)]
)
def test_g9_verification_or_the_raised_epoch_keep_it_out(
    new_host: NewHost, transaction_version: int, error: Error
) -> None:
    host = new_host(transaction_version)
    assert hanging(host) == error
    assert host.leader.lso == len(host.leader.log) == 4


def test_g10_offsets_wait_for_the_marker(new_host: NewHost) -> None:
    host = new_host(0)
    host.init()
    host.add(4000, 0)
    host.add_offsets(4000, 0)
    assert host.last == (S.ONGOING, 4000, 0, T0 | OFFSETS)
    host.commit_offset(4000, 0, 17)
    assert host.fetch_offset() == Error.UNSTABLE_OFFSET_COMMIT
    host.end(4000, 0, committed=1)
    assert host.fetch_offset() == Error.UNSTABLE_OFFSET_COMMIT
    host.deliver_markers()
    assert host.fetch_offset() == 17


def test_g11_an_answer_from_before_the_marker_authorises_nothing(new_host: NewHost) -> None:
    host = new_host(0)
    host.init()
    host.add(4000, 0)
    batch = SimpleNamespace(producer_id=4000, producer_epoch=0, base_sequence=0, last_sequence=0, transactional=1)
    error, guard = host.ask(batch, Mode.GENERIC)
    assert error == Error.NONE
    host.end(4000, 0, committed=0)
    host.deliver_markers()
    assert host.append_data(batch, guard) == (Error.INVALID_TXN_STATE, NONE)
    host.rules = with_switches(host.rules, off=["verification_guard"])
    assert host.append_data(batch, guard) == (Error.NONE, 1)


def test_g12_five_batches_are_recognised(new_host: NewHost) -> None:
    host = new_host(0)
    host.init()
    host.add(4000, 0)
    assert [host.produce(4000, 0, n, n) for n in range(5)] == [0, 1, 2, 3, 4]
    assert [host.produce(4000, 0, n, n) for n in range(5)] == [0, 1, 2, 3, 4]
    assert host.produce(4000, 0, 5, 5) == 5
    assert host.produce(4000, 0, 0, 0) == Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert len(host.leader.log) == 6
