"""Verification of a partition before the first batch of a transaction: reference §3.4."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from zombieproof.model.decisions.verification import (
    SENTINEL,
    ChannelFailure,
    answer_of_broker_channel,
    answer_of_coordinator,
    answer_of_failed_channel,
    answer_to_produce,
    answer_to_txn_offset_commit,
    decide_queue,
    decide_verification,
    evolve_verification,
    mode_of_produce,
    mode_of_txn_offset_commit,
)
from zombieproof.model.records import ProducerEntry
from zombieproof.model.rules import Rules, with_switches
from zombieproof.model.vocabulary import NONE, NOTHING, Error, Mode, PartitionState, Row
from zombieproof.model.vocabulary import PartitionEvent as E


def nothing_to_ask() -> dict[str, Any]:
    """Plain data of an old epoch, beside an open transaction, where nobody verifies."""
    return {
        "entry": ProducerEntry(known=True, producer_epoch=7, txn_first_offset=3),
        "batch": SimpleNamespace(producer_epoch=6, base_sequence=0, last_sequence=0, transactional=0),
        "mode": Mode.GENERIC,
        "rules": with_switches(Rules(), off=["verification"]),
    }


LADDERS: dict[str, Any] = {
    "whether to ask": (
        decide_verification,
        nothing_to_ask,
        (
            ("plain data", {}, Row.W5, Error.NONE, NOTHING),
            ("nobody verifies", {"batch.transactional": 1}, Row.STEP_1, Error.NONE, NOTHING),
            ("TV2 always does; the epoch is old", {"mode": Mode.ADD}, Row.STEP_2, 47, NOTHING),
            ("an older client is verified as well", {"mode": Mode.DEFAULT, "rules.verification": 1},
             Row.STEP_2, Error.INVALID_PRODUCER_EPOCH, NOTHING),
            ("of the open transaction", {"batch.producer_epoch": 7}, Row.STEP_2, Error.NONE, NOTHING),
            ("of the next epoch", {"batch.producer_epoch": 8}, Row.STEP_3, Error.NONE, E.VERIFY),
            ("nothing is open", {"entry.txn_first_offset": NONE, "batch.producer_epoch": 7},
             Row.STEP_3, Error.NONE, E.VERIFY),
        ),
    ),
}  # fmt: skip


def test_rows_answer_in_the_brokers_order(rung: Callable[[], None]) -> None:
    rung()


@pytest.mark.parametrize(
    ("version", "produce", "commit"),
    [
        (3, Mode.DEFAULT, Mode.DEFAULT),
        (4, Mode.DEFAULT, Mode.GENERIC),
        (5, Mode.DEFAULT, Mode.ADD),
        (10, Mode.DEFAULT, Mode.ADD),
        (11, Mode.GENERIC, Mode.ADD),
        (12, Mode.ADD, Mode.ADD),
    ],
)
def test_the_version_of_a_request_chooses_how_its_partition_joins(version: int, produce: Mode, commit: Mode) -> None:
    assert (mode_of_produce(version), mode_of_txn_offset_commit(version)) == (produce, commit)


def batch(producer_epoch: int, base_sequence: int) -> Any:
    return SimpleNamespace(producer_epoch=producer_epoch, base_sequence=base_sequence, transactional=1)


def test_the_first_request_makes_the_guard() -> None:
    entry = ProducerEntry()
    assert evolve_verification(entry, batch(7, 5), Mode.ADD, 99, PartitionState.VERIFYING) == 99
    assert (entry.guard, entry.guard_epoch, entry.lowest_sequence, entry.supports_epoch_bump) == (99, 7, 5, 1)
    assert (entry.state, entry.known) == (PartitionState.VERIFYING, 0)


@pytest.mark.parametrize(
    ("epoch", "sequence", "waits_for"),
    [(7, 3, (7, 3)), (7, 6, (7, 5)), (8, 9, (8, 9)), (6, 0, (7, 5))],
    ids=["lower sequence", "higher sequence", "newer epoch", "older epoch"],
)
def test_later_requests_use_the_same_guard(epoch: int, sequence: int, waits_for: tuple[int, int]) -> None:
    entry = ProducerEntry()
    evolve_verification(entry, batch(7, 5), Mode.ADD, 99, PartitionState.VERIFYING)
    assert evolve_verification(entry, batch(epoch, sequence), Mode.GENERIC, 100, PartitionState.VERIFYING) == 99
    assert (entry.guard_epoch, entry.lowest_sequence, entry.supports_epoch_bump) == (*waits_for, 1)


def test_the_sentinel_is_no_guard() -> None:
    assert ProducerEntry().guard == SENTINEL


@pytest.mark.parametrize(
    ("queued", "incoming", "verdict"),
    [(NONE, 7, (0, 0)), (6, 7, (47, 0)), (7, 7, (13, 0)), (8, 7, (0, 47))],
    ids=["nothing waits", "an older epoch waits", "the same epoch waits", "a newer epoch waits"],
)
def test_one_request_of_an_id_waits_at_a_time(queued: int, incoming: int, verdict: tuple[int, int]) -> None:
    assert decide_queue(queued, incoming) == verdict


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (ChannelFailure.DISCONNECTED, Error.NETWORK_EXCEPTION),
        (ChannelFailure.TIMED_OUT, Error.NETWORK_EXCEPTION),
        (ChannelFailure.VERSION_MISMATCH, Error.NONE),
        (ChannelFailure.NOT_AUTHENTICATED, Error.SASL_AUTHENTICATION_FAILED),
    ],
)
def test_a_question_without_an_answer_can_be_asked_again(failure: ChannelFailure, error: Error) -> None:
    assert answer_of_failed_channel(failure) == error


def test_an_unauthorised_broker_is_an_invalid_state_for_the_producer() -> None:
    assert answer_of_broker_channel(Error.CLUSTER_AUTHORIZATION_FAILED) == Error.INVALID_TXN_STATE
    assert answer_of_broker_channel(Error.NOT_COORDINATOR) == Error.NOT_COORDINATOR


@pytest.mark.parametrize(
    ("error", "mode", "answer"),
    [
        (90, Mode.DEFAULT, 47),
        (90, Mode.ADD, 47),
        (120, Mode.DEFAULT, 48),
        (120, Mode.GENERIC, 120),
        (120, Mode.ADD, 120),
        (51, Mode.DEFAULT, 51),
        (49, Mode.GENERIC, 49),
        (0, Mode.ADD, 0),
    ],
)
def test_the_leader_translates_the_coordinators_answer(error: int, mode: Mode, answer: int) -> None:
    assert answer_of_coordinator(error, mode) == answer


@pytest.mark.parametrize(
    ("error", "mode", "answer"),
    [
        *[(error, mode, 19) for error in (13, 14, 15, 16) for mode in Mode],
        (51, Mode.DEFAULT, 19),
        (51, Mode.GENERIC, 19),
        (51, Mode.ADD, 51),
        *[(error, Mode.GENERIC, error) for error in (0, 47, 48, 49, 120)],
    ],
)
def test_the_producer_is_told_what_it_can_retry(error: int, mode: Mode, answer: int) -> None:
    assert answer_to_produce(error, mode) == answer


@pytest.mark.parametrize(
    ("error", "answer"),
    [(13, 14), (3, 15), (19, 15), (7, 15), (6, 16), (56, 16), (10, -1), (18, -1)]
    + [(error, error) for error in (0, 47, 48, 49, 51, 120)],
)
def test_the_committer_of_offsets_is_told_a_coordinators_error(error: int, answer: int) -> None:
    assert answer_to_txn_offset_commit(error) == answer
