"""Expiry of transactional ids: reference §2.14."""

from collections.abc import Callable
from typing import Any

from zombieproof.model.decisions.transactional_id_expiration import decide_expiration
from zombieproof.model.records import Transaction
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, NOTHING, Error, Row, TransactionState
from zombieproof.model.vocabulary import CoordinatorEvent as E


def nothing_right() -> dict[str, Any]:
    return {
        "txn": Transaction(
            known=False,
            state=TransactionState.ONGOING,
            pending_state=TransactionState.PREPARE_COMMIT,
            producer_id=4000,
            producer_epoch=7,
            last_update_ms=9001,
        ),
        "now_ms": 10_000,
        "expiration_ms": 1000,
        "rules": Rules(),
    }


LADDERS: dict[str, Any] = {
    "an id": (
        decide_expiration,
        nothing_right,
        (
            ("nothing is known", {}, Row.Y1, Error.NONE, NOTHING),
            ("the id is known", {"txn.known": True}, Row.Y1, Error.NONE, NOTHING),
            ("nothing is under way", {"txn.pending_state": NONE}, Row.Y1, Error.NONE, NOTHING),
            ("it is being committed", {"txn.state": TransactionState.PREPARE_COMMIT}, Row.Y1, Error.NONE, NOTHING),
            ("it is idle", {"txn.state": TransactionState.COMPLETE_COMMIT}, Row.Y1, Error.NONE, NOTHING),
            ("unused for that long", {"txn.last_update_ms": 9000}, Row.Y2, Error.NONE, E.EXPIRE),
            ("after an abort", {"txn.state": TransactionState.COMPLETE_ABORT}, Row.Y2, Error.NONE, E.EXPIRE),
            ("never used", {"txn.state": TransactionState.EMPTY}, Row.Y2, Error.NONE, E.EXPIRE),
        ),
    ),
}


def test_rows_answer_in_the_brokers_order(rung: Callable[[], None]) -> None:
    rung()


def test_the_tombstone_names_the_epoch_that_was_forgotten() -> None:
    txn = Transaction(known=True, producer_id=4000, producer_epoch=7, last_producer_epoch=6, last_update_ms=0)
    verdict = decide_expiration(txn, 10_000, 1000, Rules())
    assert (verdict.producer_id, verdict.producer_epoch, verdict.last_producer_epoch) == (4000, 7, 6)
    assert verdict.partitions == 0


def test_without_its_rule_an_open_transaction_expires_too() -> None:
    txn = Transaction(known=True, state=TransactionState.ONGOING, producer_id=4000, last_update_ms=0)
    assert decide_expiration(txn, 10_000, 1000, Rules()).row == Row.Y1
    assert decide_expiration(txn, 10_000, 1000, Rules(only_idle_ids_expire=0)).event == E.EXPIRE
