"""AddPartitionsToTxn, adding and verifying: reference §2.8, §2.9."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from zombieproof.model.decisions.add_partitions_to_txn import (
    decide_add_partitions_front_door,
    decide_add_partitions_to_txn,
    decide_verify_partitions,
)
from zombieproof.model.records import Transaction
from zombieproof.model.rules import Rules, preset, with_switches
from zombieproof.model.vocabulary import NONE, NOTHING, Error, Row, TransactionState, TransactionVersion
from zombieproof.model.vocabulary import CoordinatorEvent as E


def nothing_right() -> dict[str, Any]:
    return {
        "txn": Transaction(
            known=False,
            state=TransactionState.PREPARE_COMMIT,
            pending_state=TransactionState.COMPLETE_COMMIT,
            producer_id=4000,
            producer_epoch=7,
            last_producer_epoch=6,
            partitions=0b0011,
        ),
        "request": SimpleNamespace(version=3, producer_id=5000, producer_epoch=8, partitions=0b0110),
        "rules": Rules(),
    }


def nothing_right_at_kip98() -> dict[str, Any]:
    return {**nothing_right(), "rules": preset("kip98")}


LADDERS: dict[str, Any] = {
    "adding needs an id": (
        decide_add_partitions_front_door,
        lambda: {"has_transactional_id": 0, "verify_only": 0},
        (
            ("no id", {}, Row.P1, Error.INVALID_REQUEST, NOTHING),
            ("an id", {"has_transactional_id": 1}, Row.NO_ROW, Error.NONE, NOTHING),
        ),
    ),
    "verifying needs an id": (
        decide_add_partitions_front_door,
        lambda: {"has_transactional_id": 0, "verify_only": 1},
        (("no id", {}, Row.V1, Error.INVALID_REQUEST, NOTHING),),
    ),
    "adding": (
        decide_add_partitions_to_txn,
        nothing_right,
        (
            ("nothing is known", {}, Row.NOT_KNOWN, Error.INVALID_PRODUCER_ID_MAPPING, NOTHING),
            ("the id is known", {"txn.known": True}, Row.P3, Error.CONCURRENT_TRANSACTIONS, NOTHING),
            ("nothing is under way", {"txn.pending_state": NONE}, Row.P4, 49, NOTHING),
            ("the right producer id", {"request.producer_id": 4000}, Row.P5, Error.PRODUCER_FENCED, NOTHING),
            ("the right epoch", {"request.producer_epoch": 7}, Row.P6, Error.CONCURRENT_TRANSACTIONS, NOTHING),
            ("or after a decision to abort", {"txn.state": TransactionState.PREPARE_ABORT}, Row.P6, 51, NOTHING),
            ("a transaction is open", {"txn.state": TransactionState.ONGOING}, Row.P8, Error.NONE, E.ADD_PARTITION),
            ("the partitions are in it", {"txn.partitions": 0b0111}, Row.P7, Error.NONE, NOTHING),
        ),
    ),
    "adding by the rules of 0.11": (
        decide_add_partitions_to_txn,
        nothing_right_at_kip98,
        (
            ("nothing is known", {}, Row.NOT_KNOWN, Error.INVALID_PRODUCER_ID_MAPPING, NOTHING),
            ("the id is known", {"txn.known": True}, Row.P4, Error.INVALID_PRODUCER_ID_MAPPING, NOTHING),
            ("the right producer id", {"request.producer_id": 4000}, Row.P5, Error.PRODUCER_FENCED, NOTHING),
            ("the right epoch", {"request.producer_epoch": 7}, Row.P3, Error.CONCURRENT_TRANSACTIONS, NOTHING),
            ("nothing is under way", {"txn.pending_state": NONE}, Row.P6, 51, NOTHING),
            ("the commit is through", {"txn.state": TransactionState.COMPLETE_COMMIT}, Row.P8, 0, E.ADD_PARTITION),
        ),
    ),
    "verifying": (
        decide_verify_partitions,
        nothing_right,
        (
            ("nothing is known", {}, Row.NOT_KNOWN, Error.INVALID_PRODUCER_ID_MAPPING, NOTHING),
            ("the id is known, pending or not", {"txn.known": True}, Row.V3, 49, NOTHING),
            ("the right producer id", {"request.producer_id": 4000}, Row.V4, Error.PRODUCER_FENCED, NOTHING),
            ("the right epoch", {"request.producer_epoch": 7}, Row.V5, Error.CONCURRENT_TRANSACTIONS, NOTHING),
            ("or after a decision to abort", {"txn.state": TransactionState.PREPARE_ABORT}, Row.V5, 51, NOTHING),
            ("a transaction without it is open", {"txn.state": 1}, Row.V7, Error.TRANSACTION_ABORTABLE, NOTHING),
            ("the partition is in it", {"request.partitions": 0b0010}, Row.V6, Error.NONE, NOTHING),
        ),
    ),
}


def test_rows_answer_in_the_brokers_order(rung: Callable[[], None]) -> None:
    rung()


def ready(state: int, partitions: int = 0) -> dict[str, Any]:
    arguments = nothing_right()
    txn, request = arguments["txn"], arguments["request"]
    txn.known, txn.pending_state, txn.state, txn.partitions = 1, NONE, state, partitions
    request.producer_id, request.producer_epoch = 4000, 7
    return arguments


def test_partitions_join_those_that_are_there() -> None:
    verdict = decide_add_partitions_to_txn(**ready(TransactionState.ONGOING, 0b0011))
    assert (verdict.partitions, verdict.last_producer_epoch) == (0b0111, 6)
    assert (verdict.producer_id, verdict.producer_epoch) == (4000, 7)


@pytest.mark.parametrize("state", [0, 4, 5], ids=["EMPTY", "COMPLETE_COMMIT", "COMPLETE_ABORT"])
def test_the_first_partitions_open_a_transaction(state: int) -> None:
    verdict = decide_add_partitions_to_txn(**ready(state))
    assert (verdict.event, verdict.partitions) == (E.ADD_PARTITION, 0b0110)


def test_an_empty_list_opens_a_transaction_too() -> None:
    arguments = ready(TransactionState.EMPTY)
    arguments["request"].partitions = 0
    assert decide_add_partitions_to_txn(**arguments).event == E.ADD_PARTITION
    arguments["txn"].state = TransactionState.ONGOING
    assert decide_add_partitions_to_txn(**arguments).row == Row.P7


@pytest.mark.parametrize(("version", "client"), [(0, 0), (3, 0), (4, 2), (5, 2)])
def test_the_form_of_brokers_counts_as_transaction_version_2(version: int, client: int) -> None:
    arguments = ready(TransactionState.EMPTY)
    arguments["request"].version = version
    assert decide_add_partitions_to_txn(**arguments).client_transaction_version == TransactionVersion(client)


def test_a_higher_epoch_than_the_present_one_is_fenced_too() -> None:
    arguments = ready(TransactionState.EMPTY)
    arguments["request"].producer_epoch = 8
    assert decide_add_partitions_to_txn(**arguments).error == Error.PRODUCER_FENCED


def test_until_3_7_a_partition_outside_the_transaction_was_an_invalid_state() -> None:
    arguments = ready(TransactionState.ONGOING)
    arguments["rules"] = with_switches(Rules(), off=["abortable_code"])
    assert decide_verify_partitions(**arguments).error == Error.INVALID_TXN_STATE
