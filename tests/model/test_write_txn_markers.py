"""WriteTxnMarkers at the leader of a partition: reference §3.5."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from zombieproof.model.decisions.write_txn_markers import decide_marker, evolve_marker
from zombieproof.model.records import CachedBatch, ProducerEntry
from zombieproof.model.rules import Rules, preset, with_switches
from zombieproof.model.vocabulary import NONE, NOTHING, Error, Origin, PartitionState, Row
from zombieproof.model.vocabulary import PartitionEvent as E


def marker(producer_epoch: int, *, committed: int = 1, coordinator_epoch: int = 3, tv: int = 0) -> Any:
    return SimpleNamespace(
        producer_id=4000,
        producer_epoch=producer_epoch,
        committed=committed,
        coordinator_epoch=coordinator_epoch,
        transaction_version=tv,
    )


def nothing_right() -> dict[str, Any]:
    """A marker of an older epoch from a deposed coordinator, for an open transaction."""
    return {
        "entry": ProducerEntry(known=True, producer_epoch=7, coordinator_epoch=4, txn_first_offset=40),
        "marker": marker(6, tv=2),
        "origin": Origin.COORDINATOR,
        "rules": Rules(),
    }


LADDERS: dict[str, Any] = {
    "a marker of transaction version 2": (
        decide_marker,
        nothing_right,
        (
            ("of an older epoch", {}, Row.M2, Error.INVALID_PRODUCER_EPOCH, NOTHING),
            ("of the epoch of the data", {"marker.producer_epoch": 7}, Row.M2, 47, NOTHING),
            ("of the next epoch, deposed", {"marker.producer_epoch": 8}, Row.M4, 52, NOTHING),
            ("of the present coordinator", {"marker.coordinator_epoch": 4}, Row.M5, Error.NONE, E.COMMIT_MARKER),
            ("an abort", {"marker.committed": 0}, Row.M5, Error.NONE, E.ABORT_MARKER),
            ("repeated", {"entry.producer_epoch": 8, "entry.txn_first_offset": NONE}, Row.M3, 0, E.ABORT_MARKER),
        ),
    ),
    "a marker of transaction version 0": (
        decide_marker,
        lambda: {**nothing_right(), "marker": marker(6)},
        (
            ("of an older epoch", {}, Row.M1, Error.INVALID_PRODUCER_EPOCH, NOTHING),
            ("of the epoch of the data, deposed", {"marker.producer_epoch": 7}, Row.M4, 52, NOTHING),
            ("of the present coordinator", {"marker.coordinator_epoch": 4}, Row.M5, Error.NONE, E.COMMIT_MARKER),
            ("repeated", {"entry.txn_first_offset": NONE}, Row.M5, Error.NONE, E.COMMIT_MARKER),
        ),
    ),
}


def test_rows_answer_in_the_brokers_order(rung: Callable[[], None]) -> None:
    rung()


@pytest.mark.parametrize("tv", [0, 2])
def test_replication_accepts_what_the_log_holds(tv: int) -> None:
    arguments = nothing_right()
    arguments["marker"], arguments["origin"] = marker(1, coordinator_epoch=0, tv=tv), Origin.REPLICATION
    assert decide_marker(**arguments).row == Row.M5


def test_a_marker_where_nothing_is_known_is_accepted() -> None:
    assert decide_marker(ProducerEntry(), marker(0, tv=2), Origin.COORDINATOR, Rules()).row == Row.M5


def test_a_marker_of_the_next_epoch_with_nothing_to_end_is_no_repetition() -> None:
    entry = ProducerEntry(known=True, producer_epoch=7)
    assert decide_marker(entry, marker(8, tv=2), Origin.COORDINATOR, Rules()).row == Row.M5
    assert decide_marker(entry, marker(7, tv=2), Origin.COORDINATOR, Rules()).row == Row.M3


def test_at_the_last_epoch_a_repeated_marker_ends_what_is_open() -> None:
    entry = ProducerEntry(known=True, producer_epoch=32767, txn_first_offset=40)
    assert decide_marker(entry, marker(32767, tv=2), Origin.COORDINATOR, Rules()).row == Row.M3
    assert decide_marker(entry, marker(32767, tv=2), Origin.COORDINATOR, Rules(epoch_max=9)).row == Row.M2


def verifying(epoch: int, supports_epoch_bump: bool = True) -> ProducerEntry:
    return ProducerEntry(
        known=True,
        producer_epoch=7,
        txn_first_offset=40,
        guard=99,
        guard_epoch=epoch,
        lowest_sequence=0,
        supports_epoch_bump=supports_epoch_bump,
    )


@pytest.mark.parametrize(
    ("entry", "committed", "event"),
    [
        (verifying(8), 1, E.MARKER_KEEPS_GUARD),
        (verifying(8), 0, E.MARKER_KEEPS_GUARD),
        (verifying(7), 0, E.ABORT_MARKER),
        (verifying(9), 1, E.COMMIT_MARKER),
        (verifying(8, supports_epoch_bump=False), 1, E.COMMIT_MARKER),
    ],
    ids=["the next transaction", "after an abort", "this transaction", "a later one", "an older client"],
)
def test_only_the_guard_of_the_next_transaction_survives_a_marker(
    entry: ProducerEntry, committed: int, event: int
) -> None:
    assert decide_marker(entry, marker(8, committed=committed, tv=2), Origin.COORDINATOR, Rules()).event == event


@pytest.mark.parametrize("supports_epoch_bump", [True, False])
def test_a_late_copy_of_a_marker_voids_no_newer_guard_once_that_is_repaired(supports_epoch_bump: bool) -> None:
    """A fence has written epoch 8, InitProducerId has granted 9, and the leader verifies 9 (B82)."""
    rules = with_switches(Rules(), on=["marker_keeps_newer_guard"])
    for committed in (0, 1):
        copy, newer = marker(8, committed=committed, tv=2), verifying(9, supports_epoch_bump)
        assert decide_marker(newer, copy, Origin.COORDINATOR, rules).event == E.MARKER_KEEPS_GUARD
        assert decide_marker(newer, copy, Origin.COORDINATOR, preset("4.4")).event != E.MARKER_KEEPS_GUARD
        own = marker(9, committed=committed, tv=0)
        assert decide_marker(verifying(9, False), own, Origin.COORDINATOR, rules).event != E.MARKER_KEEPS_GUARD


def test_before_its_repair_every_marker_voided_the_guard() -> None:
    rules = with_switches(Rules(), off=["guard_keep_same_epoch"])
    assert decide_marker(verifying(8), marker(8, tv=2), Origin.COORDINATOR, rules).event == E.COMMIT_MARKER


@pytest.mark.parametrize(
    ("off", "epoch", "open_at", "guard"),
    [
        (["marker_strict"], 7, 40, Row.M5),
        (["marker_strict"], 6, 40, Row.M1),
        (["marker_retry_relax"], 7, NONE, Row.M2),
        (["marker_retry_relax"], 8, NONE, Row.M5),
    ],
)
def test_markers_before_their_repairs(off: list[str], epoch: int, open_at: int, guard: Row) -> None:
    entry = ProducerEntry(known=True, producer_epoch=7, txn_first_offset=open_at)
    assert decide_marker(entry, marker(epoch, tv=2), Origin.COORDINATOR, with_switches(Rules(), off=off)).row == guard


def test_without_its_rule_a_deposed_coordinator_is_obeyed() -> None:
    entry = ProducerEntry(known=True, producer_epoch=7, coordinator_epoch=4)
    rules = with_switches(Rules(), off=["marker_coordinator_epoch"])
    assert decide_marker(entry, marker(7), Origin.COORDINATOR, rules).row == Row.M5


def test_a_marker_ends_what_is_open_and_raises_the_epoch() -> None:
    entry = verifying(7)
    entry.batch_count, entry.batches[0] = 1, CachedBatch(3, 0, 43)
    assert evolve_marker(entry, marker(8, coordinator_epoch=5), E.COMMIT_MARKER, PartitionState.IDLE) == 40
    assert (entry.producer_epoch, entry.coordinator_epoch, entry.txn_first_offset) == (8, 5, NONE)
    assert (entry.state, entry.guard, entry.batch_count) == (PartitionState.IDLE, 0, 0)


def test_a_marker_of_the_same_epoch_keeps_the_remembered_batches() -> None:
    entry = ProducerEntry(known=True, producer_epoch=7, txn_first_offset=40, batch_count=1)
    evolve_marker(entry, marker(7), E.COMMIT_MARKER, PartitionState.IDLE)
    assert entry.batch_count == 1


def test_a_kept_guard_is_still_there_afterwards() -> None:
    entry = verifying(8)
    assert evolve_marker(entry, marker(8), E.MARKER_KEEPS_GUARD, PartitionState.VERIFYING) == 40
    assert (entry.guard, entry.guard_epoch, entry.state) == (99, 8, PartitionState.VERIFYING)


def test_a_marker_without_data_is_remembered_all_the_same() -> None:
    entry = ProducerEntry()
    assert evolve_marker(entry, marker(7), E.ABORT_MARKER, PartitionState.IDLE) == NONE
    assert (entry.known, entry.producer_epoch, entry.coordinator_epoch) == (1, 7, 3)
