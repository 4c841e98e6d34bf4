"""DescribeTransactions and ListTransactions: reference §2.16."""

from typing import Any

import pytest

from zombieproof.model.decisions.describe_transactions import decide_describe_transactions
from zombieproof.model.decisions.list_transactions import STATE_NAMES, decide_list_transactions, is_listed
from zombieproof.model.records import Transaction
from zombieproof.model.vocabulary import Error, Row, TransactionState

LOADING, ELSEWHERE = int(Error.COORDINATOR_LOAD_IN_PROGRESS), int(Error.NOT_COORDINATOR)
KNOWN, DEAD = Transaction(known=True), Transaction(known=True, state=TransactionState.DEAD)

LADDERS: dict[str, Any] = {
    "describing one id": (
        decide_describe_transactions,
        {"txn": Transaction(), "id_is_empty": 1, "lookup_error": LOADING},
        (
            ("an empty id", {"id_is_empty": 0}, Row.EMPTY_ID, Error.INVALID_REQUEST, 0),
            ("its partition is being loaded", {"lookup_error": ELSEWHERE}, Row.L1, Error(LOADING), 0),
            ("it lives elsewhere", {"lookup_error": 0}, Row.L2, Error.NOT_COORDINATOR, 0),
            ("not known", {"txn": DEAD}, Row.NOT_KNOWN, Error.TRANSACTIONAL_ID_NOT_FOUND, 0),
            ("dead", {"txn": KNOWN}, Row.NOT_KNOWN, Error.TRANSACTIONAL_ID_NOT_FOUND, 0),
            ("nothing", {}, Row.NO_ROW, Error.NONE, 0),
        ),
    ),
    "listing": (
        decide_list_transactions,
        {"is_loading": 1, "is_pattern_valid": 0},
        (
            ("a partition is being loaded", {"is_loading": 0}, Row.L1, Error.COORDINATOR_LOAD_IN_PROGRESS, 0),
            ("a malformed pattern", {"is_pattern_valid": 1}, Row.BAD_PATTERN, Error.INVALID_REGULAR_EXPRESSION, 0),
            ("nothing", {}, Row.NO_ROW, Error.NONE, 0),
        ),
    ),
}
"""Name -> the decision, arguments with every fault, rows: (fault, its repair, guard, error, event)."""


@pytest.mark.parametrize("name", LADDERS)
def test_the_first_fault_answers(name: str) -> None:
    decide, arguments, rows = LADDERS[name]
    for fault, repair, row, error, event in rows:
        verdict = decide(**arguments)
        assert (fault, verdict.row, verdict.error, verdict.event) == (fault, row, error, event)
        arguments = arguments | repair


def test_an_id_that_is_known_is_described_with_its_producer() -> None:
    verdict = decide_describe_transactions(Transaction(known=True, producer_id=7, producer_epoch=3), False, 0)
    assert (verdict.producer_id, verdict.producer_epoch) == (7, 3)


def test_states_have_the_names_that_kafka_gives_them() -> None:
    assert STATE_NAMES[TransactionState.PREPARE_EPOCH_FENCE] == "PrepareEpochFence"
    assert STATE_NAMES[TransactionState.ONGOING] == "Ongoing"
    assert len(set(STATE_NAMES.values())) == len(TransactionState)


@pytest.mark.parametrize(
    ("state", "passes", "duration_ms", "listed"),
    [
        (TransactionState.ONGOING, True, -1, True),
        (TransactionState.ONGOING, False, -1, False),
        (TransactionState.DEAD, True, -1, False),
        (TransactionState.ONGOING, True, 0, True),
        (TransactionState.ONGOING, True, 2999, True),
        (TransactionState.ONGOING, True, 3000, False),
    ],
)
def test_a_transaction_is_listed_that_passes_and_is_open_for_longer_than_asked(
    state: TransactionState, passes: bool, duration_ms: int, listed: bool
) -> None:
    transaction = Transaction(known=True, state=state, start_ms=1000)
    assert is_listed(transaction, 4000, duration_ms, passes) is listed
