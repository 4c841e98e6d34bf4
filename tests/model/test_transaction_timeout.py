"""Transaction time-out: reference §2.13."""

from collections.abc import Callable
from typing import Any

import pytest

from zombieproof.model.decisions.transaction_timeout import decide_timeout, is_timed_out
from zombieproof.model.records import Transaction
from zombieproof.model.rules import Rules, preset
from zombieproof.model.vocabulary import NONE, NOTHING, Error, Row, TransactionState
from zombieproof.model.vocabulary import CoordinatorEvent as E


def nothing_right() -> dict[str, Any]:
    return {
        "txn": Transaction(
            known=False,
            state=TransactionState.COMPLETE_ABORT,
            pending_state=TransactionState.ONGOING,
            producer_id=4000,
            producer_epoch=7,
            partitions=0b0011,
        ),
        "producer_id": 3999,
        "rules": Rules(),
    }


LADDERS: dict[str, Any] = {
    "a candidate, looked at again": (
        decide_timeout,
        nothing_right,
        (
            ("nothing is known", {}, Row.X1, Error.NONE, NOTHING),
            ("the id is known", {"txn.known": True}, Row.X2, Error.NONE, NOTHING),
            ("of the same producer id", {"producer_id": 4000}, Row.X3, Error.NONE, NOTHING),
            ("nothing is under way", {"txn.pending_state": NONE}, Row.X4, Error.UNKNOWN_SERVER_ERROR, NOTHING),
            ("the transaction is still open", {"txn.state": TransactionState.ONGOING}, Row.X5, 0, E.FENCE),
        ),
    ),
}


def test_rows_answer_in_the_brokers_order(rung: Callable[[], None]) -> None:
    rung()


@pytest.fixture
def txn() -> Transaction:
    return Transaction(
        known=True, state=TransactionState.ONGOING, producer_id=4000, producer_epoch=7, timeout_ms=1000, start_ms=500
    )


def test_a_timed_out_transaction_is_fenced_under_a_raised_epoch(txn: Transaction) -> None:
    assert decide_timeout(txn, 4000, Rules()).producer_epoch == 8


def test_kafka_0_11_aborted_it_under_its_own_epoch(txn: Transaction) -> None:
    assert decide_timeout(txn, 4000, preset("kip98")).producer_epoch == 7


@pytest.mark.parametrize(
    ("change", "candidate"),
    [
        ({}, True),
        ({"known": False}, False),
        ({"pending_state": TransactionState.PREPARE_COMMIT}, False),
        ({"state": TransactionState.PREPARE_COMMIT}, False),
        ({"state": TransactionState.EMPTY}, False),
        ({"timeout_ms": 2147483647, "start_ms": -2147483647}, False),
        ({"start_ms": 501}, False),
    ],
    ids=["open for long", "unknown", "pending", "decided", "nothing open", "two-phase commit", "just in time"],
)
def test_the_scan_takes_what_is_open_for_longer_than_allowed(
    txn: Transaction, change: dict[str, int], candidate: bool
) -> None:
    for name, value in change.items():
        setattr(txn, name, value)
    assert is_timed_out(txn, now_ms=1501) is candidate
