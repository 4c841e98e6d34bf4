"""EndTxn version 5, transaction version 2: reference §2.11."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from zombieproof.model.decisions.end_txn import (
    completion_of,
    decide_after_append,
    decide_end_txn,
    decide_end_txn_front_door,
)
from zombieproof.model.records import Transaction
from zombieproof.model.releases import RELEASES
from zombieproof.model.rules import Rules, preset, with_switches
from zombieproof.model.vocabulary import NONE, NOTHING, Error, Row, TransactionState, TransactionVersion
from zombieproof.model.vocabulary import CoordinatorEvent as E

FENCE = TransactionState.PREPARE_EPOCH_FENCE
EXHAUSTED, LAST = 32766, 32767


def nothing_right() -> dict[str, Any]:
    return {
        "txn": Transaction(
            known=False,
            state=TransactionState.ONGOING,
            pending_state=TransactionState.COMPLETE_COMMIT,
            producer_id=4000,
            previous_producer_id=3999,
            producer_epoch=7,
            last_producer_epoch=6,
            partitions=0b0011,
        ),
        "request": SimpleNamespace(version=5, producer_id=5000, producer_epoch=8, committed=1, partitions=0),
        "rules": Rules(),
        "from_client": 1,
        "next_producer_id": NONE,
    }


def right(state: int, committed: int) -> dict[str, Any]:
    """A client's request that is right in every way, for an id in `state`."""
    arguments = nothing_right()
    txn, request = arguments["txn"], arguments["request"]
    txn.known, txn.pending_state, txn.state = 1, NONE, state
    txn.partitions = 0b0011 if state == TransactionState.ONGOING else 0
    request.producer_id, request.producer_epoch, request.committed = 4000, 7, committed
    return arguments


LADDERS: dict[str, Any] = {
    "ending needs an id": (
        decide_end_txn_front_door,
        lambda: {"has_transactional_id": 0, "version": 5},
        (
            ("no id", {}, Row.T1, Error.INVALID_REQUEST, NOTHING),
            ("an id", {"has_transactional_id": 1}, Row.NO_ROW, Error.NONE, NOTHING),
        ),
    ),
    "commit": (
        decide_end_txn,
        nothing_right,
        (
            ("nothing is known", {}, Row.NOT_KNOWN, Error.INVALID_PRODUCER_ID_MAPPING, NOTHING),
            ("the id is known", {"txn.known": True}, Row.T3, Error.CONCURRENT_TRANSACTIONS, NOTHING),
            ("nothing is under way", {"txn.pending_state": NONE}, Row.T4, 49, NOTHING),
            ("the right producer id", {"request.producer_id": 4000}, Row.T5, Error.PRODUCER_FENCED, NOTHING),
            ("the epoch before is no retry here", {"request.producer_epoch": 6}, Row.T5, 90, NOTHING),
            ("the right epoch", {"request.producer_epoch": 7}, Row.T6, Error.NONE, E.COMMIT),
            ("exhausted", {"txn.producer_epoch": EXHAUSTED, "request.producer_epoch": EXHAUSTED}, Row.T6, 14, 0),
            ("an id is to be had", {"next_producer_id": 6000}, Row.T6, Error.NONE, E.COMMIT),
            ("a fence is under way", {"txn.pending_state": FENCE}, Row.T6, Error.UNKNOWN_SERVER_ERROR, NOTHING),
            ("nothing is under way again", {"txn.pending_state": NONE}, Row.T6, Error.NONE, E.COMMIT),
            ("no epoch is left", {"txn.producer_epoch": LAST, "request.producer_epoch": LAST}, Row.T6, -1, NOTHING),
            ("being committed, epoch not raised", {"txn.state": TransactionState.PREPARE_COMMIT}, Row.T5, 90, 0),
            ("the epoch before", {"request.producer_epoch": EXHAUSTED}, Row.T9, 51, NOTHING),
            ("being aborted", {"txn.state": TransactionState.PREPARE_ABORT}, Row.T10, 48, NOTHING),
            ("committed already", {"txn.state": TransactionState.COMPLETE_COMMIT}, Row.T7, Error.NONE, NOTHING),
            ("aborted already", {"txn.state": TransactionState.COMPLETE_ABORT}, Row.T8, 90, NOTHING),
            ("no retry", {"request.producer_epoch": LAST}, Row.T8, Error.INVALID_TXN_STATE, NOTHING),
            ("never begun", {"txn.state": TransactionState.EMPTY}, Row.T11, Error.INVALID_TXN_STATE, NOTHING),
            ("internal", {"txn.state": FENCE}, Row.T12, Error.UNKNOWN_SERVER_ERROR, NOTHING),
            ("gone", {"txn.state": TransactionState.DEAD}, Row.T12, Error.UNKNOWN_SERVER_ERROR, NOTHING),
        ),
    ),
}


def test_rows_answer_in_the_brokers_order(rung: Callable[[], None]) -> None:
    rung()


@pytest.mark.parametrize(
    ("state", "committed", "retry", "current"),
    [
        (TransactionState.EMPTY, 0, 90, E.ABORT),
        (TransactionState.EMPTY, 1, 90, 48),
        (TransactionState.COMPLETE_ABORT, 0, "again", E.ABORT),
        (TransactionState.COMPLETE_ABORT, 1, 90, 48),
        (TransactionState.COMPLETE_COMMIT, 0, 48, E.ABORT),
        (TransactionState.COMPLETE_COMMIT, 1, "again", 48),
        (TransactionState.PREPARE_COMMIT, 0, 48, 90),
        (TransactionState.PREPARE_COMMIT, 1, 51, 90),
        (TransactionState.PREPARE_ABORT, 0, 51, 90),
        (TransactionState.PREPARE_ABORT, 1, 48, 90),
        (TransactionState.ONGOING, 0, 90, E.ABORT),
        (TransactionState.ONGOING, 1, 90, E.COMMIT),
    ],
)
def test_the_summary_matrix(state: int, committed: int, retry: int | str, current: int) -> None:
    """`retry`: the epoch before the present one. An event means a transition, "again" the answer given before."""
    for epoch, expected in ((6, retry), (7, current)):
        arguments = right(state, committed)
        arguments["request"].producer_epoch = epoch
        verdict = decide_end_txn(**arguments)
        if isinstance(expected, E):
            assert (verdict.error, verdict.event) == (Error.NONE, expected)
        elif expected == "again":
            assert (verdict.error, verdict.event) == (Error.NONE, NOTHING)
            assert (verdict.producer_id, verdict.producer_epoch) == (4000, 7)
        else:
            assert (verdict.error, verdict.event) == (expected, NOTHING)


@pytest.mark.parametrize("line", [line for line in RELEASES if line.startswith("4.")])
def test_every_release_answers_a_commit_after_the_coordinators_own_abort_as_an_illegal_state(line: str) -> None:
    """KAFKA-20785 was merged after 4.4.0."""
    arguments = right(TransactionState.COMPLETE_ABORT, committed=1) | {"rules": preset(line)}
    arguments["request"].producer_epoch = 6
    assert decide_end_txn(**arguments).error == Error.INVALID_TXN_STATE
    arguments["rules"] = with_switches(preset(line), on=["late_commit_is_fenced"])
    assert decide_end_txn(**arguments).error == Error.PRODUCER_FENCED


def test_every_end_raises_the_epoch() -> None:
    verdict = decide_end_txn(**right(TransactionState.ONGOING, committed=1))
    assert (verdict.producer_id, verdict.producer_epoch, verdict.last_producer_epoch) == (4000, 8, 7)
    assert (verdict.next_producer_id, verdict.partitions) == (NONE, 0b0011)
    assert verdict.client_transaction_version == TransactionVersion.TV2


def test_an_abort_without_a_transaction_raises_the_epoch_too() -> None:
    verdict = decide_end_txn(**right(TransactionState.COMPLETE_COMMIT, committed=0))
    assert (verdict.producer_epoch, verdict.last_producer_epoch, verdict.partitions) == (8, 7, 0)


def test_an_exhausted_epoch_is_ended_under_the_last_one_and_a_new_id_follows() -> None:
    arguments = right(TransactionState.ONGOING, committed=1)
    arguments["txn"].producer_epoch = arguments["request"].producer_epoch = EXHAUSTED
    arguments["next_producer_id"] = 6000
    verdict = decide_end_txn(**arguments)
    assert (verdict.producer_id, verdict.producer_epoch, verdict.last_producer_epoch) == (4000, LAST, EXHAUSTED)
    assert verdict.next_producer_id == 6000


def test_a_retry_over_the_rotation_gets_the_new_id_again() -> None:
    arguments = right(TransactionState.COMPLETE_COMMIT, committed=1)
    txn, request = arguments["txn"], arguments["request"]
    txn.producer_epoch, request.producer_id, request.producer_epoch = 0, 3999, EXHAUSTED
    verdict = decide_end_txn(**arguments)
    assert (verdict.row, verdict.error) == (Row.T7, Error.NONE)
    assert (verdict.producer_id, verdict.producer_epoch) == (4000, 0)
    request.producer_epoch = EXHAUSTED - 1
    assert decide_end_txn(**arguments).row == Row.T4


@pytest.mark.parametrize(("epoch", "row"), [(7, Row.T6), (6, Row.T5), (8, Row.T5)])
def test_under_a_fence_a_client_needs_the_present_epoch(epoch: int, row: Row) -> None:
    arguments = right(TransactionState.ONGOING, committed=0)
    arguments["txn"].pending_state, arguments["request"].producer_epoch = FENCE, epoch
    assert decide_end_txn(**arguments).row == row


@pytest.mark.parametrize(("epoch", "row"), [(8, Row.T6), (7, Row.T6), (6, Row.T5)])
def test_under_a_fence_the_server_needs_an_epoch_not_below_the_present_one(epoch: int, row: Row) -> None:
    arguments = right(TransactionState.ONGOING, committed=0)
    arguments["txn"].pending_state, arguments["request"].producer_epoch, arguments["from_client"] = FENCE, epoch, 0
    assert decide_end_txn(**arguments).row == row


def fenced(epoch: int) -> dict[str, Any]:
    """The server's abort under its fence."""
    arguments = right(TransactionState.ONGOING, committed=0)
    arguments["txn"].pending_state, arguments["txn"].producer_epoch = FENCE, epoch
    arguments["request"].producer_epoch, arguments["from_client"] = min(epoch + 1, LAST), 0
    return arguments


def test_a_fence_raises_the_epoch_once() -> None:
    verdict = decide_end_txn(**fenced(7))
    assert (verdict.producer_epoch, verdict.last_producer_epoch) == (8, 7)


def test_before_its_repair_a_fence_raised_the_epoch_twice() -> None:
    arguments = fenced(7) | {"rules": with_switches(Rules(), off=["single_fence_bump"])}
    verdict = decide_end_txn(**arguments)
    assert (verdict.producer_epoch, verdict.last_producer_epoch) == (9, 8)


def test_before_its_repair_a_fence_of_an_exhausted_epoch_failed_for_good() -> None:
    off = ["single_fence_bump", "fence_rotation"]
    arguments = fenced(EXHAUSTED) | {"rules": with_switches(Rules(), off=off)}
    verdict = decide_end_txn(**arguments)
    assert (verdict.row, verdict.error) == (Row.T6, Error.UNKNOWN_SERVER_ERROR)


def test_a_fence_of_an_exhausted_epoch_rotates_the_producer_id() -> None:
    arguments = fenced(EXHAUSTED) | {"next_producer_id": 6000}
    verdict = decide_end_txn(**arguments)
    assert (verdict.producer_epoch, verdict.next_producer_id) == (LAST, 6000)
    arguments["rules"] = with_switches(Rules(), off=["fence_rotation"])
    assert decide_end_txn(**arguments).next_producer_id == NONE


def test_at_the_last_epoch_an_abort_stays_there_and_rotates() -> None:
    arguments = right(TransactionState.ONGOING, committed=0) | {"next_producer_id": 6000}
    arguments["txn"].producer_epoch = arguments["request"].producer_epoch = LAST
    verdict = decide_end_txn(**arguments)
    assert (verdict.event, verdict.producer_epoch, verdict.next_producer_id) == (E.ABORT, LAST, 6000)


def test_without_strict_end_any_epoch_of_a_client_ends_the_transaction() -> None:
    arguments = right(TransactionState.ONGOING, committed=1)
    arguments["request"].producer_epoch = 3
    arguments["rules"] = with_switches(Rules(), off=["strict_end"])
    assert decide_end_txn(**arguments).event == E.COMMIT


@pytest.mark.parametrize(("next_id", "answered"), [(NONE, (4000, 8)), (6000, (6000, 0))])
def test_the_answer_carries_what_the_client_goes_on_with(next_id: int, answered: tuple[int, int]) -> None:
    txn = Transaction(
        known=True,
        state=TransactionState.PREPARE_COMMIT,
        producer_id=4000,
        next_producer_id=next_id,
        producer_epoch=8,
        last_producer_epoch=7,
        client_transaction_version=TransactionVersion.TV2,
    )
    request = SimpleNamespace(version=5, producer_id=4000, producer_epoch=7, committed=1, partitions=0)
    verdict = decide_after_append(txn, request, TransactionState.PREPARE_COMMIT)
    assert (verdict.row, verdict.producer_id, verdict.producer_epoch) == (Row.F5, *answered)


@pytest.mark.parametrize(
    ("client", "next_id", "completed"),
    [(2, NONE, (4000, 8)), (2, 6000, (6000, 0)), (0, NONE, (4000, 8)), (0, 6000, (4000, 8))],
)
def test_only_transaction_version_2_rotates_at_completion(
    client: int, next_id: int, completed: tuple[int, int]
) -> None:
    txn = Transaction(
        known=True, state=2, producer_id=4000, next_producer_id=next_id, producer_epoch=8, last_producer_epoch=7
    )
    txn.client_transaction_version, txn.partitions = client, 0b11
    verdict = completion_of(txn)
    assert (verdict.event, verdict.producer_id, verdict.producer_epoch) == (E.MARKERS_WRITTEN, *completed)
    assert (verdict.last_producer_epoch, verdict.next_producer_id, verdict.partitions) == (7, NONE, 0)
