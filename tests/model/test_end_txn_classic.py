"""EndTxn versions 0 to 4, and what follows the append: reference §2.10."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from zombieproof.model.decisions.end_txn import decide_after_append, decide_end_txn, decide_end_txn_front_door
from zombieproof.model.records import Transaction
from zombieproof.model.rules import Rules, with_switches
from zombieproof.model.vocabulary import NONE, NOTHING, Error, Row, TransactionState
from zombieproof.model.vocabulary import CoordinatorEvent as E

FENCE = TransactionState.PREPARE_EPOCH_FENCE


def nothing_right() -> dict[str, Any]:
    return {
        "txn": Transaction(
            known=False,
            state=TransactionState.DEAD,
            pending_state=TransactionState.COMPLETE_COMMIT,
            producer_id=4000,
            producer_epoch=7,
            last_producer_epoch=6,
            partitions=0b0011,
        ),
        "request": SimpleNamespace(version=4, producer_id=5000, producer_epoch=8, committed=1, partitions=0),
        "rules": Rules(),
        "from_client": 1,
        "next_producer_id": NONE,
    }


def nothing_right_after_the_append() -> dict[str, Any]:
    arguments = nothing_right()
    return {
        "txn": arguments["txn"],
        "request": arguments["request"],
        "prepared_state": TransactionState.PREPARE_COMMIT,
        "append_error": Error.COORDINATOR_NOT_AVAILABLE,
        "lookup_error": Error.NOT_COORDINATOR,
        "is_same_coordinator_epoch": 0,
    }


LADDERS: dict[str, Any] = {
    "ending needs an id": (
        decide_end_txn_front_door,
        lambda: {"has_transactional_id": 0, "version": 4},
        (
            ("no id", {}, Row.E1, Error.INVALID_REQUEST, NOTHING),
            ("an id", {"has_transactional_id": 1}, Row.NO_ROW, Error.NONE, NOTHING),
        ),
    ),
    "commit": (
        decide_end_txn,
        nothing_right,
        (
            ("nothing is known", {}, Row.NOT_KNOWN, Error.INVALID_PRODUCER_ID_MAPPING, NOTHING),
            ("the id is known", {"txn.known": True}, Row.E3, Error.INVALID_PRODUCER_ID_MAPPING, NOTHING),
            ("the right producer id", {"request.producer_id": 4000}, Row.E4, Error.PRODUCER_FENCED, NOTHING),
            ("an older epoch", {"request.producer_epoch": 6}, Row.E4, Error.PRODUCER_FENCED, NOTHING),
            ("the right epoch", {"request.producer_epoch": 7}, Row.E5, Error.CONCURRENT_TRANSACTIONS, NOTHING),
            ("a fence is under way", {"txn.pending_state": FENCE, "txn.state": 1}, Row.E6, -1, NOTHING),
            ("nothing is under way", {"txn.pending_state": NONE}, Row.E6, Error.NONE, E.COMMIT),
            ("committed already", {"txn.state": TransactionState.COMPLETE_COMMIT}, Row.E7, Error.NONE, NOTHING),
            ("aborted already", {"txn.state": TransactionState.COMPLETE_ABORT}, Row.E8, 48, NOTHING),
            ("being committed", {"txn.state": TransactionState.PREPARE_COMMIT}, Row.E9, 51, NOTHING),
            ("being aborted", {"txn.state": TransactionState.PREPARE_ABORT}, Row.E10, 48, NOTHING),
            ("never begun", {"txn.state": TransactionState.EMPTY}, Row.E11, Error.INVALID_TXN_STATE, NOTHING),
            ("gone", {"txn.state": TransactionState.DEAD}, Row.E12, Error.UNKNOWN_SERVER_ERROR, NOTHING),
            ("internal", {"txn.state": FENCE}, Row.E12, Error.UNKNOWN_SERVER_ERROR, NOTHING),
        ),
    ),
    "abort": (
        decide_end_txn,
        lambda: {
            **nothing_right(),
            "txn": Transaction(known=True, state=1, producer_id=4000, producer_epoch=7),
            "request": SimpleNamespace(version=0, producer_id=4000, producer_epoch=7, committed=0, partitions=0),
        },
        (
            ("a transaction is open", {}, Row.E6, Error.NONE, E.ABORT),
            ("committed already", {"txn.state": TransactionState.COMPLETE_COMMIT}, Row.E7, 48, NOTHING),
            ("aborted already", {"txn.state": TransactionState.COMPLETE_ABORT}, Row.E8, Error.NONE, NOTHING),
            ("being committed", {"txn.state": TransactionState.PREPARE_COMMIT}, Row.E9, 48, NOTHING),
            ("being aborted", {"txn.state": TransactionState.PREPARE_ABORT}, Row.E10, 51, NOTHING),
            ("never begun", {"txn.state": TransactionState.EMPTY}, Row.E11, Error.INVALID_TXN_STATE, NOTHING),
        ),
    ),
    "after the append": (
        decide_after_append,
        nothing_right_after_the_append,
        (
            ("the append failed", {}, Row.F1, Error.COORDINATOR_NOT_AVAILABLE, NOTHING),
            ("it is durable", {"append_error": Error.NONE}, Row.F2, Error.NOT_COORDINATOR, NOTHING),
            ("still the coordinator", {"lookup_error": Error.NONE}, Row.F3, Error.NOT_COORDINATOR, NOTHING),
            ("in the same epoch", {"is_same_coordinator_epoch": 1}, Row.F4, 49, NOTHING),
            ("the right producer id", {"request.producer_id": 4000}, Row.F4, Error.PRODUCER_FENCED, NOTHING),
            ("raised is not enough", {"request.producer_epoch": 6}, Row.F4, Error.PRODUCER_FENCED, NOTHING),
            ("the right epoch", {"request.producer_epoch": 7}, Row.F4, Error.CONCURRENT_TRANSACTIONS, NOTHING),
            ("nothing is under way", {"txn.pending_state": NONE}, Row.F4, Error.INVALID_TXN_STATE, NOTHING),
            ("what was prepared", {"txn.state": TransactionState.PREPARE_COMMIT}, Row.F5, Error.NONE, NOTHING),
        ),
    ),
}


def test_rows_answer_in_the_brokers_order(rung: Callable[[], None]) -> None:
    rung()


@pytest.fixture
def arguments() -> dict[str, Any]:
    """A client's abort of an open transaction, right in every way."""
    arguments = nothing_right()
    arguments["txn"] = Transaction(
        known=True, state=1, producer_id=4000, producer_epoch=7, last_producer_epoch=6, partitions=0b0011
    )
    arguments["request"] = SimpleNamespace(version=4, producer_id=4000, producer_epoch=7, committed=0, partitions=0)
    return arguments


def test_the_epoch_stays_what_it_is(arguments: dict[str, Any]) -> None:
    verdict = decide_end_txn(**arguments)
    assert (verdict.producer_id, verdict.producer_epoch, verdict.last_producer_epoch) == (4000, 7, 6)
    assert (verdict.next_producer_id, verdict.partitions, verdict.client_transaction_version) == (NONE, 0b0011, 0)


def test_the_server_ends_under_the_epoch_of_its_fence(arguments: dict[str, Any]) -> None:
    arguments["txn"].pending_state = FENCE
    arguments["request"].producer_epoch = 8
    assert decide_end_txn(**arguments).row == Row.E4
    arguments["from_client"] = 0
    verdict = decide_end_txn(**arguments)
    assert (verdict.row, verdict.event) == (Row.E6, E.ABORT)
    assert (verdict.producer_epoch, verdict.last_producer_epoch) == (8, NONE)


@pytest.mark.parametrize(("epoch", "row"), [(6, Row.E4), (7, Row.E6), (8, Row.E6)])
def test_the_server_is_refused_only_below_the_present_epoch(arguments: dict[str, Any], epoch: int, row: Row) -> None:
    arguments["from_client"], arguments["request"].producer_epoch = 0, epoch
    assert decide_end_txn(**arguments).row == row


def test_a_clients_abort_takes_over_a_fence_under_way(arguments: dict[str, Any]) -> None:
    arguments["txn"].pending_state = FENCE
    verdict = decide_end_txn(**arguments)
    assert (verdict.event, verdict.producer_epoch, verdict.last_producer_epoch) == (E.ABORT, 7, NONE)


def test_without_strict_end_any_epoch_of_a_client_ends_the_transaction(arguments: dict[str, Any]) -> None:
    arguments["request"].producer_epoch = 3
    arguments["rules"] = with_switches(Rules(), off=["strict_end"])
    assert decide_end_txn(**arguments).event == E.ABORT


def test_the_answer_carries_no_producer_id(arguments: dict[str, Any]) -> None:
    arguments["txn"].state = TransactionState.PREPARE_ABORT
    verdict = decide_after_append(arguments["txn"], arguments["request"], TransactionState.PREPARE_ABORT)
    assert (verdict.row, verdict.producer_id, verdict.producer_epoch) == (Row.F5, NONE, NONE)
