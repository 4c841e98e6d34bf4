"""What transitions write and what a load finds: reference §2.2 to §2.4, §2.15."""

from dataclasses import fields, replace
from typing import Any, cast

import pytest

from zombieproof.model.decisions.transition import (
    complete,
    fence_counts_at_once,
    fence_in_memory,
    give_up,
    is_valid,
    load,
    prepare,
)
from zombieproof.model.decisions.verdicts import transit
from zombieproof.model.records import Transaction, Verdict
from zombieproof.model.rules import Rules, with_switches
from zombieproof.model.vocabulary import NONE, Row, TransactionVersion
from zombieproof.model.vocabulary import CoordinatorEvent as E
from zombieproof.model.vocabulary import TransactionState as S


def ongoing(**changes: Any) -> Transaction:
    return replace(
        Transaction(
            known=True,
            state=S.ONGOING,
            producer_id=4000,
            previous_producer_id=3999,
            producer_epoch=7,
            last_producer_epoch=6,
            partitions=0b0011,
            timeout_ms=60_000,
            start_ms=100,
            last_update_ms=200,
            client_transaction_version=TransactionVersion.TV2,
        ),
        **changes,
    )


def wants(event: E, **changes: Any) -> Verdict:
    verdict = transit(Row.NO_ROW, event, 4000, 7, 6, NONE, 0b0011, TransactionVersion.TV2)
    return verdict._replace(**changes)


def prepared(txn: Transaction, verdict: Verdict, state: S, timeout_ms: int = 30_000) -> Transaction:
    target = Transaction()
    prepare(txn, verdict, state, timeout_ms, 999, target)
    return target


@pytest.mark.parametrize(
    ("source", "event", "state", "timeout_ms", "start_ms", "last_update_ms"),
    [
        (S.COMPLETE_COMMIT, E.INIT, S.EMPTY, 30_000, NONE, 999),
        (S.EMPTY, E.INIT, S.EMPTY, 30_000, NONE, 999),
        (S.EMPTY, E.ADD_PARTITION, S.ONGOING, 60_000, 999, 999),
        (S.COMPLETE_ABORT, E.ADD_PARTITION, S.ONGOING, 60_000, 999, 999),
        (S.ONGOING, E.ADD_PARTITION, S.ONGOING, 60_000, 100, 999),
        (S.ONGOING, E.COMMIT, S.PREPARE_COMMIT, 60_000, 100, 999),
        (S.ONGOING, E.ABORT, S.PREPARE_ABORT, 60_000, 100, 999),
        (S.EMPTY, E.ABORT, S.PREPARE_ABORT, 60_000, 999, 999),
        (S.COMPLETE_COMMIT, E.ABORT, S.PREPARE_ABORT, 60_000, 999, 999),
        (S.PREPARE_COMMIT, E.MARKERS_WRITTEN, S.COMPLETE_COMMIT, 60_000, 100, 999),
        (S.ONGOING, E.FENCE, S.PREPARE_EPOCH_FENCE, 60_000, 100, 200),
        (S.EMPTY, E.EXPIRE, S.DEAD, 60_000, 100, 200),
    ],
)
def test_clocks_and_timeout_of_a_prepared_record(
    source: S, event: E, state: S, timeout_ms: int, start_ms: int, last_update_ms: int
) -> None:
    target = prepared(ongoing(state=source), wants(event), state)
    assert (target.state, target.timeout_ms) == (state, timeout_ms)
    assert (target.start_ms, target.last_update_ms) == (start_ms, last_update_ms)


def test_the_record_is_what_the_verdict_says() -> None:
    verdict = Verdict(0, 0, E.COMMIT, 4000, 8, 7, 6000, 0b0111, 2)
    target = prepared(ongoing(), verdict, S.PREPARE_COMMIT)
    assert (target.producer_id, target.producer_epoch, target.last_producer_epoch) == (4000, 8, 7)
    assert (target.next_producer_id, target.partitions, target.client_transaction_version) == (6000, 0b0111, 2)
    assert (target.known, target.pending_state) == (1, NONE)


def test_the_previous_producer_id_is_the_one_before_the_transition() -> None:
    rotated = wants(E.MARKERS_WRITTEN, producer_id=6000, producer_epoch=0)
    assert prepared(ongoing(state=S.PREPARE_COMMIT), rotated, S.COMPLETE_COMMIT).previous_producer_id == 4000
    assert prepared(Transaction(), wants(E.INIT), S.EMPTY).previous_producer_id == 4000


def test_only_the_completion_forgets_a_failed_fence() -> None:
    txn = ongoing(state=S.PREPARE_ABORT, failed_epoch_fence=1)
    assert not prepared(txn, wants(E.MARKERS_WRITTEN), S.COMPLETE_ABORT).failed_epoch_fence
    assert prepared(ongoing(failed_epoch_fence=1), wants(E.ABORT), S.PREPARE_ABORT).failed_epoch_fence


def test_a_durable_record_is_what_memory_becomes() -> None:
    txn = Transaction(pending_state=S.PREPARE_COMMIT)
    target = ongoing(next_producer_id=6000, failed_epoch_fence=1)
    complete(txn, target)
    assert txn == target
    assert txn.pending_state == NONE


def test_no_field_of_a_transaction_is_left_behind() -> None:
    """A field that is added to the record has to be added to `prepare`, `complete` and `load`."""
    odd = Transaction(**dict.fromkeys([field.name for field in fields(Transaction)], cast("Any", 77)))
    txn = Transaction()
    complete(txn, odd)
    assert {field.name for field in fields(Transaction) if getattr(txn, field.name) != 77} == {"known", "pending_state"}
    target = replace(odd)
    prepare(ongoing(), wants(E.COMMIT), S.PREPARE_COMMIT, 1, 999, target)
    assert {field.name for field in fields(Transaction) if getattr(target, field.name) == 77} == set()


def test_a_failed_append_leaves_state_and_epoch_alone() -> None:
    txn = ongoing(pending_state=S.PREPARE_COMMIT)
    give_up(txn, False, Rules())
    assert txn == ongoing()


@pytest.mark.parametrize(
    ("fenced", "off", "remembered"), [(True, [], 1), (False, [], 0), (True, ["fence_failed_flag"], 0)]
)
def test_a_failed_fence_is_remembered(fenced: bool, off: list[str], remembered: int) -> None:
    txn = ongoing(pending_state=S.PREPARE_ABORT)
    give_up(txn, fenced, with_switches(Rules(), off=off))
    assert (txn.pending_state, txn.failed_epoch_fence) == (NONE, remembered)


def test_a_fence_counts_before_it_is_durable() -> None:
    txn = ongoing()
    fence_in_memory(txn, 8)
    assert (txn.producer_epoch, txn.last_producer_epoch) == (8, NONE)


@pytest.mark.parametrize(
    ("version", "off", "at_once"), [(4, [], True), (5, [], False), (5, ["single_fence_bump"], True)]
)
def test_a_fence_of_transaction_version_2_counts_when_it_is_durable(
    version: int, off: list[str], at_once: bool
) -> None:
    assert fence_counts_at_once(version, with_switches(Rules(), off=off)) is at_once


def test_a_load_loses_what_is_only_in_memory() -> None:
    durable = ongoing(next_producer_id=6000, failed_epoch_fence=1)
    txn = Transaction(pending_state=S.PREPARE_COMMIT)
    load(txn, durable, -1, Rules())
    assert txn == replace(durable, last_producer_epoch=NONE, failed_epoch_fence=False)


@pytest.mark.parametrize(("state", "completing"), [(S.PREPARE_COMMIT, S.COMPLETE_COMMIT), (S.ONGOING, -1)])
def test_a_load_goes_on_with_what_is_decided(state: S, completing: int) -> None:
    txn = Transaction()
    load(txn, ongoing(state=state), completing, Rules())
    assert (txn.state, txn.pending_state) == (state, completing)


@pytest.mark.parametrize(
    "rules",
    [with_switches(Rules(), off=["persist_prev_next"]), Rules(transaction_version=TransactionVersion.TV0)],
    ids=["before 4.3", "value version 0"],
)
def test_a_load_may_lose_the_other_producer_ids(rules: Rules) -> None:
    txn = Transaction()
    load(txn, ongoing(next_producer_id=6000), -1, rules)
    assert (txn.producer_id, txn.previous_producer_id, txn.next_producer_id) == (4000, NONE, NONE)


def test_a_load_of_nothing_knows_nothing() -> None:
    txn = ongoing()
    load(txn, Transaction(), S.COMPLETE_COMMIT, Rules())
    assert txn == Transaction()


VALID = [
    ("the epoch is raised", ongoing(state=0, partitions=0, start_ms=NONE), S.EMPTY, {"producer_epoch": 8}),
    ("the epoch stays", ongoing(state=0, partitions=0, start_ms=NONE), S.EMPTY, {}),
    ("a new id", ongoing(state=0, partitions=0, start_ms=NONE), S.EMPTY, {"producer_id": 6000, "producer_epoch": 0}),
    ("more partitions", ongoing(), S.ONGOING, {"partitions": 0b0111}),
    ("decided under TV0", ongoing(), S.PREPARE_COMMIT, {"client_transaction_version": 0}),
    ("decided under TV2", ongoing(), S.PREPARE_ABORT, {"producer_epoch": 8, "last_producer_epoch": 7}),
    ("empty abort", ongoing(state=5), S.PREPARE_ABORT,
     {"producer_epoch": 8, "last_producer_epoch": 7, "start_ms": 999}),
    ("completed", ongoing(state=2), S.COMPLETE_COMMIT, {}),
    ("rotated", ongoing(state=2), S.COMPLETE_COMMIT,
     {"producer_id": 6000, "producer_epoch": 0, "previous_producer_id": 4000}),
    ("rotated while TV2 was made", ongoing(state=2), S.COMPLETE_COMMIT,
     {"producer_id": 6000, "producer_epoch": 0, "previous_producer_id": 4000, "last_producer_epoch": 7}),
]  # fmt: skip

INVALID = [
    ("two epochs at once", ongoing(state=0, partitions=0, start_ms=NONE), S.EMPTY, {"producer_epoch": 9}),
    ("a new id in the middle of its epochs", ongoing(state=0, partitions=0, start_ms=NONE), S.EMPTY,
     {"producer_id": 6000, "producer_epoch": 3}),
    ("epoch 0 of the same id", ongoing(state=0, partitions=0, start_ms=NONE), S.EMPTY, {"producer_epoch": 0}),
    ("partitions in EMPTY", ongoing(state=0, start_ms=NONE), S.EMPTY, {}),
    ("a clock in EMPTY", ongoing(state=0, partitions=0), S.EMPTY, {}),
    ("a partition is lost", ongoing(), S.ONGOING, {"partitions": 0b0010}),
    ("another epoch in ONGOING", ongoing(), S.ONGOING, {"producer_epoch": 8}),
    ("another id in ONGOING", ongoing(), S.ONGOING, {"producer_id": 6000}),
    ("another timeout", ongoing(), S.ONGOING, {"timeout_ms": 1}),
    ("partitions change when decided", ongoing(), S.PREPARE_COMMIT,
     {"producer_epoch": 8, "last_producer_epoch": 7, "partitions": 0b0111}),
    ("the clock changes when decided", ongoing(), S.PREPARE_COMMIT,
     {"producer_epoch": 8, "last_producer_epoch": 7, "start_ms": 999}),
    ("TV2 forgets the epoch before", ongoing(), S.PREPARE_COMMIT, {"producer_epoch": 8}),
    ("TV2 changes the id when decided", ongoing(), S.PREPARE_COMMIT,
     {"producer_epoch": 8, "last_producer_epoch": 7, "producer_id": 6000}),
    ("TV0 raises the epoch", ongoing(), S.PREPARE_COMMIT,
     {"producer_epoch": 8, "client_transaction_version": 0}),
    ("no clock when completed", ongoing(state=2, start_ms=NONE), S.COMPLETE_COMMIT, {}),
    ("rotated with another last epoch", ongoing(state=2), S.COMPLETE_COMMIT,
     {"producer_id": 6000, "previous_producer_id": 4000, "producer_epoch": 0, "last_producer_epoch": 3}),
    ("rotated from nowhere", ongoing(state=2), S.COMPLETE_COMMIT, {"producer_id": 6000, "producer_epoch": 0}),
    ("a fence is never durable", ongoing(), S.PREPARE_EPOCH_FENCE, {}),
    ("a tombstone is never completed", ongoing(state=0), S.DEAD, {}),
]  # fmt: skip


def follows(txn: Transaction, state: S, changes: dict[str, Any]) -> bool:
    target = replace(txn, state=state, pending_state=NONE, **changes)
    return is_valid(replace(txn, pending_state=state), target)


@pytest.mark.parametrize(("txn", "state", "changes"), [row[1:] for row in VALID], ids=[row[0] for row in VALID])
def test_a_record_may_follow(txn: Transaction, state: S, changes: dict[str, int]) -> None:
    assert follows(txn, state, changes)


@pytest.mark.parametrize(("txn", "state", "changes"), [row[1:] for row in INVALID], ids=[row[0] for row in INVALID])
def test_a_record_must_not_follow(txn: Transaction, state: S, changes: dict[str, int]) -> None:
    assert not follows(txn, state, changes)


def test_a_record_that_nobody_prepared_must_not_follow() -> None:
    assert not is_valid(ongoing(pending_state=NONE), ongoing())
    assert not is_valid(ongoing(pending_state=S.PREPARE_ABORT), ongoing(state=S.PREPARE_COMMIT))
