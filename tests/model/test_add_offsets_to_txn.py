"""AddOffsetsToTxn, and which partition an id or group belongs to: reference §1, §2.8."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from zombieproof.model.decisions.add_offsets_to_txn import decide_add_offsets_to_txn, java_hash, partition_for
from zombieproof.model.records import Transaction
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, NOTHING, Error, Guard, TransactionState, TransactionVersion
from zombieproof.model.vocabulary import CoordinatorEvent as E


def nothing_right() -> dict[str, Any]:
    return {
        "txn": Transaction(
            known=0,
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
            ("nothing is known", {}, Guard.NOT_KNOWN, Error.INVALID_PRODUCER_ID_MAPPING, NOTHING),
            ("the id is known", {"txn.known": 1}, Guard.P3, Error.CONCURRENT_TRANSACTIONS, NOTHING),
            ("nothing is under way", {"txn.pending_state": NONE}, Guard.P4, 49, NOTHING),
            ("the right producer id", {"request.producer_id": 4000}, Guard.P5, Error.PRODUCER_FENCED, NOTHING),
            ("the right epoch", {"request.producer_epoch": 7}, Guard.P6, Error.CONCURRENT_TRANSACTIONS, NOTHING),
            ("the abort is through", {"txn.state": TransactionState.COMPLETE_ABORT}, Guard.P8, 0, E.ADD_PARTITION),
        ),
    ),
}


def test_guards_answer_in_the_brokers_order(rung: Callable[[], None]) -> None:
    rung()


def test_it_counts_as_transaction_version_0_whatever_its_version() -> None:
    arguments = nothing_right()
    arguments["txn"] = Transaction(known=1, producer_id=5000, producer_epoch=8)
    verdict = decide_add_offsets_to_txn(**arguments)
    assert (verdict.client_transaction_version, verdict.partitions) == (TransactionVersion.TV0, 0b1000)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        ("Hello, World!", 1498789909),
        ("AaAa", 2031744),
        ("BBBB", 2031744),
        ("billing", -109829509),
        ("polygenelubricants", -2147483648),
        ("\N{GREEK SMALL LETTER OMEGA}", 969),
        ("\N{GRINNING FACE}", 1772899),
    ],
)
def test_the_hash_is_that_of_javas_string(text: str, value: int) -> None:
    assert java_hash(text) == value


@pytest.mark.parametrize(
    ("name", "partitions", "partition"),
    [
        # Where real clusters with two partitions put them.
        ("orders-0", 2, 0),
        ("orders-1", 2, 1),
        ("copier-1", 2, 0),
        ("id-lz4", 2, 0),
        ("wordcount-d9fc9fd8-8433-4456-bccd-5406eeadd99a-1", 2, 1),
        ("copier", 2, 0),
        ("wordcount", 2, 1),
        ("", 50, 0),
        ("hello", 50, 22),
        ("billing", 50, 9),
        # The one hash whose absolute value does not exist counts as 0.
        ("polygenelubricants", 50, 0),
    ],
)
def test_an_id_belongs_to_the_partition_of_its_hash(name: str, partitions: int, partition: int) -> None:
    assert partition_for(name, partitions) == partition
