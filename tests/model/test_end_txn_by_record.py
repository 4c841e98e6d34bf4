"""EndTxn as the development line before 4.0 answered it, where the record's version said what a retry is: §2.11."""

from types import SimpleNamespace
from typing import Any

import pytest

from zombieproof.model.decisions.end_txn import decide_end_txn
from zombieproof.model.records import Transaction
from zombieproof.model.rules import Rules, with_switches
from zombieproof.model.vocabulary import NONE, CoordinatorEvent, Error, TransactionState

BEFORE = with_switches(Rules(), off=["end_by_request_version"])
S = TransactionState


def ended(
    rules: Rules, state: int, version: int, epoch: int, committed: int = 1, of_record: int = 2, **facts: Any
) -> Any:
    usual = {"known": True, "producer_id": 10, "producer_epoch": 2, "last_producer_epoch": 1, "partitions": 1}
    record = Transaction(**({**usual, "state": state, "client_transaction_version": of_record} | facts))
    asked = SimpleNamespace(version=version, producer_id=10, producer_epoch=epoch, committed=committed, partitions=0)
    return decide_end_txn(record, asked, rules, True, NONE)


@pytest.mark.parametrize(
    ("state", "version", "epoch", "error"),
    [
        (S.PREPARE_COMMIT, 4, 1, Error.CONCURRENT_TRANSACTIONS),
        (S.PREPARE_COMMIT, 4, 2, Error.PRODUCER_FENCED),
        (S.COMPLETE_COMMIT, 4, 1, Error.NONE),
        (S.COMPLETE_COMMIT, 5, 2, Error.PRODUCER_FENCED),
        (S.COMPLETE_ABORT, 5, 1, Error.INVALID_TXN_STATE),
        (S.EMPTY, 5, 2, Error.INVALID_TXN_STATE),
    ],
)
def test_a_retry_of_a_record_of_version_2_carries_the_epoch_below(
    state: int, version: int, epoch: int, error: int
) -> None:
    verdict = ended(BEFORE, state, version, epoch)
    assert (verdict.error, verdict.event) == (error, CoordinatorEvent.NOTHING)
    if error == Error.NONE:
        assert (verdict.producer_id, verdict.producer_epoch) == (10, 2)


def test_a_retry_of_a_record_of_version_0_carries_its_epoch_whatever_its_own_version() -> None:
    assert ended(BEFORE, S.COMPLETE_COMMIT, 5, 2, of_record=0).error == Error.NONE
    assert ended(BEFORE, S.COMPLETE_COMMIT, 5, 1, of_record=0).error == Error.PRODUCER_FENCED


def test_there_was_no_empty_abort() -> None:
    assert ended(BEFORE, S.EMPTY, 5, 2, committed=0).error == Error.INVALID_TXN_STATE
    assert ended(Rules(), S.EMPTY, 5, 2, committed=0).event == CoordinatorEvent.ABORT


@pytest.mark.parametrize(("version", "epoch"), [(4, 2), (5, 3)])
def test_what_is_open_is_ended_by_the_rules_of_the_request(version: int, epoch: int) -> None:
    verdict = ended(BEFORE, S.ONGOING, version, 2)
    assert (verdict.event, verdict.producer_epoch) == (CoordinatorEvent.COMMIT, epoch)


def test_a_wrong_producer_an_unknown_id_and_a_transition_under_way_are_refused_in_this_order() -> None:
    facts = {"known": False, "producer_id": 11, "producer_epoch": 9, "pending_state": int(S.ONGOING)}
    for repair, error in (
        ({"known": True}, Error.INVALID_PRODUCER_ID_MAPPING),
        ({"producer_id": 10}, Error.INVALID_PRODUCER_ID_MAPPING),
        ({"producer_epoch": 2}, Error.PRODUCER_FENCED),
        ({"pending_state": NONE}, Error.CONCURRENT_TRANSACTIONS),
        ({}, Error.NONE),
    ):
        assert ended(BEFORE, S.ONGOING, 5, 2, **facts).error == error
        facts |= repair
