"""AddOffsetsToTxn: reference §2.8."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from zombieproof.model.decisions.add_offsets_to_txn import decide_add_offsets_to_txn
from zombieproof.model.records import Transaction
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, NOTHING, Error, Row, TransactionState, TransactionVersion
from zombieproof.model.vocabulary import CoordinatorEvent as E


def nothing_right() -> dict[str, Any]:
    return {
        "txn": Transaction(
            known=False,
            state=TransactionState.PREPARE_ABORT,
            pending_state=TransactionState.COMPLETE_ABORT,
            producer_id=4000,
            producer_epoch=7,
        ),
        "request": SimpleNamespace(version=4, producer_id=5000, producer_epoch=8, partitions=0b1000),
        "rules": Rules(),
    }


LADDERS: dict[str, Any] = {
    "the group's partition joins": (
        decide_add_offsets_to_txn,
        nothing_right,
        (
            ("nothing is known", {}, Row.NOT_KNOWN, Error.INVALID_PRODUCER_ID_MAPPING, NOTHING),
            ("the id is known", {"txn.known": True}, Row.P3, Error.CONCURRENT_TRANSACTIONS, NOTHING),
            ("nothing is under way", {"txn.pending_state": NONE}, Row.P4, 49, NOTHING),
            ("the right producer id", {"request.producer_id": 4000}, Row.P5, Error.PRODUCER_FENCED, NOTHING),
            ("the right epoch", {"request.producer_epoch": 7}, Row.P6, Error.CONCURRENT_TRANSACTIONS, NOTHING),
            ("the abort is through", {"txn.state": TransactionState.COMPLETE_ABORT}, Row.P8, 0, E.ADD_PARTITION),
        ),
    ),
}


def test_rows_answer_in_the_brokers_order(rung: Callable[[], None]) -> None:
    rung()


def test_it_counts_as_transaction_version_0_whatever_its_version() -> None:
    arguments = nothing_right()
    arguments["txn"] = Transaction(known=True, producer_id=5000, producer_epoch=8)
    verdict = decide_add_offsets_to_txn(**arguments)
    assert (verdict.client_transaction_version, verdict.partitions) == (TransactionVersion.TV0, 0b1000)
