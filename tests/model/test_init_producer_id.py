"""InitProducerId: reference §2.7."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from zombieproof.model.decisions.init_producer_id import decide_init_front_door, decide_init_producer_id, fence_epoch
from zombieproof.model.records import Transaction
from zombieproof.model.rules import Rules, preset, with_switches
from zombieproof.model.vocabulary import NONE, NOTHING, Error, Row, TransactionState, TransactionVersion
from zombieproof.model.vocabulary import CoordinatorEvent as E

EXHAUSTED = 32766


def nothing_right_at_the_door() -> dict[str, Any]:
    return {
        "has_id": 0,
        "id_is_empty": 1,
        "enable_2pc": 1,
        "two_phase_commit_enabled": 0,
        "keep_prepared": 1,
        "timeout_ms": 0,
        "max_timeout_ms": 900_000,
        "is_half_an_expectation": 1,
    }


def nothing_right_at_the_coordinator() -> dict[str, Any]:
    """Unknown, while a transition is under way, an expectation that nobody granted, and no producer id to be had."""
    return {
        "txn": Transaction(
            known=False,
            state=TransactionState.PREPARE_COMMIT,
            pending_state=TransactionState.COMPLETE_COMMIT,
            producer_id=4000,
            producer_epoch=7,
            last_producer_epoch=6,
            timeout_ms=60_000,
        ),
        "request": SimpleNamespace(producer_id=5000, producer_epoch=3),
        "rules": Rules(),
        "new_producer_id": NONE,
    }


def an_idle_id_without_expectation() -> dict[str, Any]:
    arguments = nothing_right_at_the_coordinator()
    arguments["txn"].known = True
    arguments["request"].producer_id = arguments["request"].producer_epoch = NONE
    return arguments


COORDINATOR: Any = (
    ("nothing is known, and no id is to be had", {}, Row.I7, Error.COORDINATOR_LOAD_IN_PROGRESS, NOTHING),
    ("an id is to be had", {"new_producer_id": 6000}, Row.I7, Error.NONE, E.INIT),
    ("the transactional id is known", {"txn.known": True}, Row.I8, Error.CONCURRENT_TRANSACTIONS, NOTHING),
    ("no transition is under way", {"txn.pending_state": NONE}, Row.I9, Error.PRODUCER_FENCED, NOTHING),
    ("the expected id is the present one", {"request.producer_id": 4000}, Row.I10, 51, NOTHING),
    ("the markers of an abort are missing", {"txn.state": TransactionState.PREPARE_ABORT}, Row.I10, 51, NOTHING),
    ("it can only be an internal state", {"txn.state": TransactionState.PREPARE_EPOCH_FENCE}, Row.I13, -1, NOTHING),
    ("or is gone", {"txn.state": TransactionState.DEAD}, Row.I13, Error.UNKNOWN_SERVER_ERROR, NOTHING),
    ("the last transaction is through", {"txn.state": TransactionState.COMPLETE_COMMIT}, Row.I11F, 90, NOTHING),
    ("the expected epoch is the one before", {"request.producer_epoch": 6}, Row.I11E, Error.NONE, E.INIT),
    ("the expected epoch is the present one", {"request.producer_epoch": 7}, Row.I11D, Error.NONE, E.INIT),
    ("the present epoch is exhausted", {"txn.producer_epoch": EXHAUSTED}, Row.I11B, -1, NOTHING),
    ("the expectation is exhausted too", {"request.producer_epoch": EXHAUSTED}, Row.I11A, Error.NONE, E.INIT),
    ("but no id is to be had", {"new_producer_id": NONE}, Row.I11A, Error.COORDINATOR_LOAD_IN_PROGRESS, NOTHING),
    ("a transaction is open", {"txn.state": TransactionState.ONGOING}, Row.I12, Error.NONE, E.FENCE),
)

LADDERS: dict[str, Any] = {
    "front door": (
        decide_init_front_door,
        nothing_right_at_the_door,
        (
            ("half an expectation", {}, Row.HALF_AN_EXPECTATION, Error.INVALID_REQUEST, NOTHING),
            ("no transactional id", {"is_half_an_expectation": 0}, Row.I1, Error.NONE, NOTHING),
            ("an empty one", {"has_id": 1}, Row.I2, Error.INVALID_REQUEST, NOTHING),
            ("a name", {"id_is_empty": 0}, Row.I3, Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, NOTHING),
            ("two-phase commit is allowed", {"two_phase_commit_enabled": 1}, Row.I4, 35, NOTHING),
            ("nothing is kept; any timeout will do", {"keep_prepared": 0}, Row.NO_ROW, Error.NONE, NOTHING),
            ("one phase: the timeout counts", {"enable_2pc": 0}, Row.I5, 50, NOTHING),
            ("longer than allowed", {"timeout_ms": 900_001}, Row.I5, Error.INVALID_TRANSACTION_TIMEOUT, NOTHING),
            ("as long as allowed", {"timeout_ms": 900_000}, Row.NO_ROW, Error.NONE, NOTHING),
        ),
    ),
    "with an expectation": (decide_init_producer_id, nothing_right_at_the_coordinator, COORDINATOR),
    "without one": (
        decide_init_producer_id,
        an_idle_id_without_expectation,
        (
            ("a transition is under way", {}, Row.I8, Error.CONCURRENT_TRANSACTIONS, NOTHING),
            ("markers are missing", {"txn.pending_state": NONE}, Row.I10, Error.CONCURRENT_TRANSACTIONS, NOTHING),
            ("an abort is through", {"txn.state": TransactionState.COMPLETE_ABORT}, Row.I11C, 0, E.INIT),
            ("nothing was ever open", {"txn.state": TransactionState.EMPTY}, Row.I11C, 0, E.INIT),
            ("the epoch is exhausted", {"txn.producer_epoch": EXHAUSTED}, Row.I11A, 14, NOTHING),
            ("an id is to be had", {"new_producer_id": 6000}, Row.I11A, Error.NONE, E.INIT),
        ),
    ),
}


def test_rows_answer_in_the_brokers_order(rung: Callable[[], None]) -> None:
    rung()


@pytest.fixture
def txn() -> Transaction:
    return Transaction(
        known=True,
        state=TransactionState.COMPLETE_ABORT,
        producer_id=4000,
        previous_producer_id=3999,
        producer_epoch=7,
        last_producer_epoch=6,
        client_transaction_version=TransactionVersion.TV2,
    )


def expect(producer_id: int, producer_epoch: int) -> Any:
    return SimpleNamespace(producer_id=producer_id, producer_epoch=producer_epoch)


NOBODY = expect(NONE, NONE)


def test_a_fresh_id_gets_epoch_0_of_the_new_producer_id() -> None:
    verdict = decide_init_producer_id(Transaction(), NOBODY, Rules(), 6000)
    assert (verdict.producer_id, verdict.producer_epoch, verdict.last_producer_epoch) == (6000, 0, NONE)
    assert (verdict.partitions, verdict.client_transaction_version) == (0, TransactionVersion.TV0)


def test_fresh_metadata_whose_first_append_failed_accepts_any_expectation() -> None:
    fresh = Transaction(known=True, producer_id=4000, producer_epoch=NONE)
    verdict = decide_init_producer_id(fresh, expect(5000, 3), Rules(), 6000)
    assert (verdict.row, verdict.producer_id, verdict.producer_epoch) == (Row.I11D, 4000, 0)


def test_without_expectation_the_epoch_is_raised_and_the_one_before_is_forgotten(txn: Transaction) -> None:
    verdict = decide_init_producer_id(txn, NOBODY, Rules(), NONE)
    assert (verdict.producer_id, verdict.producer_epoch, verdict.last_producer_epoch) == (4000, 8, NONE)


def test_a_met_expectation_raises_the_epoch_and_remembers_the_one_before(txn: Transaction) -> None:
    verdict = decide_init_producer_id(txn, expect(4000, 7), Rules(), NONE)
    assert (verdict.producer_id, verdict.producer_epoch, verdict.last_producer_epoch) == (4000, 8, 7)


def test_a_retry_with_the_epoch_before_is_granted_the_same_epoch_again(txn: Transaction) -> None:
    verdict = decide_init_producer_id(txn, expect(4000, 6), Rules(), NONE)
    assert (verdict.producer_id, verdict.producer_epoch, verdict.last_producer_epoch) == (4000, 7, 6)


def test_a_grant_keeps_the_transaction_version_of_the_client(txn: Transaction) -> None:
    assert decide_init_producer_id(txn, NOBODY, Rules(), NONE).client_transaction_version == TransactionVersion.TV2


@pytest.mark.parametrize(("request_", "last"), [(NOBODY, NONE), (expect(4000, EXHAUSTED), EXHAUSTED)])
def test_an_exhausted_epoch_is_followed_by_a_new_producer_id(txn: Transaction, request_: Any, last: int) -> None:
    txn.producer_epoch = EXHAUSTED
    verdict = decide_init_producer_id(txn, request_, Rules(), 6000)
    assert (verdict.producer_id, verdict.producer_epoch, verdict.last_producer_epoch) == (6000, 0, last)


def test_the_holder_of_the_rotated_producer_id_is_not_fenced_outright(txn: Transaction) -> None:
    txn.producer_epoch, txn.last_producer_epoch = 0, EXHAUSTED
    assert decide_init_producer_id(txn, expect(3999, EXHAUSTED), Rules(), NONE).row == Row.I11E
    assert decide_init_producer_id(txn, expect(3999, EXHAUSTED - 1), Rules(), NONE).row == Row.I9
    assert decide_init_producer_id(txn, expect(3998, EXHAUSTED), Rules(), NONE).row == Row.I9


@pytest.mark.parametrize(
    ("epoch", "failed_before", "raised"),
    [(7, False, 8), (7, True, 7), (EXHAUSTED, False, 32767), (32767, False, 32767)],
    ids=["raised", "raised before, and the append failed", "to the last epoch", "nothing is above the last epoch"],
)
def test_a_fence_raises_the_epoch_once(txn: Transaction, epoch: int, failed_before: bool, raised: int) -> None:
    txn.state, txn.producer_epoch, txn.failed_epoch_fence, txn.partitions = 1, epoch, failed_before, 0b101
    assert fence_epoch(txn, Rules()) == raised
    verdict = decide_init_producer_id(txn, expect(4000, 1), Rules(), NONE)
    assert (verdict.row, verdict.event) == (Row.I12, E.FENCE)
    assert (verdict.producer_id, verdict.producer_epoch, verdict.partitions) == (4000, raised, 0b101)


def test_kip98_knows_no_expectation(txn: Transaction) -> None:
    verdict = decide_init_producer_id(txn, expect(5000, 3), preset("kip98"), NONE)
    assert (verdict.row, verdict.producer_epoch, verdict.last_producer_epoch) == (Row.I11C, 8, NONE)


def test_without_fence_bump_an_open_transaction_is_aborted_under_its_own_epoch(txn: Transaction) -> None:
    txn.state = TransactionState.ONGOING
    verdict = decide_init_producer_id(txn, NOBODY, with_switches(Rules(), off=["fence_bump"]), NONE)
    assert (verdict.row, verdict.producer_epoch) == (Row.I12, 7)
