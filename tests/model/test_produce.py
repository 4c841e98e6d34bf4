"""Produce at the leader of a partition: reference §3.2, §3.3."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from zombieproof.model.decisions.log_validation import FITS, Fit
from zombieproof.model.decisions.produce import (
    decide_append,
    decide_expiry,
    decide_produce_batch,
    decide_produce_front_door,
    decide_produce_place,
    evolve_append,
    evolve_expiry,
    find_duplicate,
    first_sequence,
    has_open_transaction,
    is_late,
    newest_sequence,
    should_expire,
    tells_log_start,
)
from zombieproof.model.records import CachedBatch, ProducerEntry
from zombieproof.model.rules import Rules, preset, with_switches
from zombieproof.model.vocabulary import NONE, NOTHING, SEQUENCE_MAX, Error, Origin, PartitionState, Row
from zombieproof.model.vocabulary import PartitionEvent as E

UNFIT = Fit(is_too_large=False, error_of_records=Error.INVALID_TIMESTAMP, fits_no_segment=True)
LONG = Fit(is_too_large=False, error_of_records=0, fits_no_segment=True)


def batch(producer_epoch: int, first: int, last: int, transactional: int = 1) -> Any:
    return SimpleNamespace(
        producer_id=4000,
        producer_epoch=producer_epoch,
        base_sequence=first,
        last_sequence=last,
        transactional=transactional,
    )


def nothing_right() -> dict[str, Any]:
    """The batch in the log already (epoch 7, sequences 3 to 5), while a guard nobody asked for waits for sequence 1."""
    entry = ProducerEntry(
        known=True,
        producer_epoch=7,
        guard=99,
        guard_epoch=7,
        lowest_sequence=1,
        supports_epoch_bump=True,
        batch_count=1,
    )
    entry.batches[0] = CachedBatch(last_sequence=5, offset_delta=2, last_offset=42)
    return {
        "entry": entry,
        "batch": batch(7, 3, 5),
        "request_guard": 0,
        "origin": Origin.CLIENT,
        "rules": Rules(),
    }


LADDERS: dict[str, Any] = {
    "front door": (
        decide_produce_front_door,
        lambda: {
            "any_transactional": 1,
            "has_transactional_id": 0,
            "identities": 2,
            "batches": 0,
            "topic_exists": 0,
            "topic_id_is_known": 0,
            "codec_is_allowed": 0,
        },
        (
            ("no transactional id", {}, Row.W1, Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, NOTHING),
            ("an id", {"has_transactional_id": 1}, Row.W2, Error.UNKNOWN_TOPIC_ID, NOTHING),
            ("a topic's name", {"topic_id_is_known": 1}, Row.W2, Error.UNKNOWN_TOPIC_OR_PARTITION, NOTHING),
            ("the topic exists", {"topic_exists": 1}, Row.W3, Error.INVALID_RECORD, NOTHING),
            ("two batches", {"batches": 2}, Row.W3, Error.UNSUPPORTED_COMPRESSION_TYPE, NOTHING),
            ("a codec of this version", {"codec_is_allowed": 1}, Row.W3, Error.INVALID_RECORD, NOTHING),
            ("one batch", {"batches": 1}, Row.W4, Error.INVALID_PRODUCER_ID_MAPPING, NOTHING),
            ("of one producer", {"identities": 1}, Row.NO_ROW, Error.NONE, NOTHING),
        ),
    ),
    "a place": (
        decide_produce_place,
        lambda: {"acks": 2, "is_internal": 1, "leads": 0},
        (
            ("acks that do not exist", {}, Row.UNKNOWN_ACKS, Error.INVALID_REQUIRED_ACKS, NOTHING),
            ("all replicas", {"acks": -1}, Row.INTERNAL_TOPIC, Error.INVALID_TOPIC_EXCEPTION, NOTHING),
            ("a client's topic", {"is_internal": 0}, Row.NOT_THE_LEADER, Error.NOT_LEADER_OR_FOLLOWER, NOTHING),
            ("the leader", {"leads": 1}, Row.NO_ROW, Error.NONE, NOTHING),
            ("one replica", {"acks": 1}, Row.NO_ROW, Error.NONE, NOTHING),
            ("no answer", {"acks": 0}, Row.NO_ROW, Error.NONE, NOTHING),
        ),
    ),
    "a batch": (
        decide_produce_batch,
        lambda: {
            "batch": batch(7, NONE, NONE),
            "control": 1,
            "is_consistent": 0,
            "needs_all_replicas": 1,
            "in_sync": 1,
            "min_in_sync": 2,
            "base_offset": 5,
            "is_corrupt": 1,
            "fit": Fit(is_too_large=True, error_of_records=Error.INVALID_TIMESTAMP, fits_no_segment=True),
        },
        (
            ("too few replicas", {}, Row.W7, Error.NOT_ENOUGH_REPLICAS, NOTHING),
            ("enough of them", {"in_sync": 2}, Row.W8, Error.INVALID_RECORD, NOTHING),
            ("no offset of its own", {"base_offset": 0}, Row.TOO_LARGE, Error.MESSAGE_TOO_LARGE, NOTHING),
            ("small enough", {"fit": UNFIT}, Row.CORRUPT_BATCH, Error.CORRUPT_MESSAGE, NOTHING),
            ("a sound checksum", {"is_corrupt": 0}, Row.W8, Error.INVALID_RECORD, NOTHING),
            ("not a control batch", {"control": 0}, Row.W8, Error.INVALID_RECORD, NOTHING),
            ("offsets that fit", {"is_consistent": 1}, Row.W8, Error.INVALID_RECORD, NOTHING),
            ("sequences", {"batch.base_sequence": 0}, Row.RECORDS_REFUSED, Error.INVALID_TIMESTAMP, NOTHING),
            ("records that nobody refuses", {"fit": LONG}, Row.TOO_LARGE, Error.RECORD_LIST_TOO_LARGE, NOTHING),
            ("a size that fits a segment", {"fit": FITS}, Row.NO_ROW, Error.NONE, NOTHING),
            ("one replica will do", {"in_sync": 1, "needs_all_replicas": 0}, Row.NO_ROW, Error.NONE, NOTHING),
            ("nobody's batch", {"batch.producer_id": NONE, "batch.base_sequence": NONE}, Row.NO_ROW, 0, NOTHING),
        ),
    ),
    "append": (
        decide_append,
        nothing_right,
        (
            ("a duplicate", {}, Row.A1, Error.NONE, NOTHING),
            ("of an older epoch", {"batch.producer_epoch": 6}, Row.A2, Error.INVALID_PRODUCER_EPOCH, NOTHING),
            ("of the next epoch, unverified", {"batch.producer_epoch": 8}, Row.A3, 48, NOTHING),
            ("under another guard", {"request_guard": 98}, Row.A3, Error.INVALID_TXN_STATE, NOTHING),
            ("under the guard, but above the lowest sequence", {"request_guard": 99}, Row.S2, 45, NOTHING),
            ("nothing is remembered, TV2 starts with 0", {"entry.batch_count": 0}, Row.S1, 45, NOTHING),
            ("the guard of an older client", {"entry.supports_epoch_bump": 0}, Row.S2, 45, NOTHING),
            ("the lowest sequence", {"entry.lowest_sequence": 3}, Row.S3, 45, NOTHING),
            ("the same epoch, nothing remembered", {"entry.producer_epoch": 8}, Row.S5, 45, NOTHING),
            ("the first sequence", {"batch.base_sequence": 0}, Row.A7, Error.NONE, E.BEGIN),
            ("a transaction is open", {"entry.txn_first_offset": 40}, Row.A7, Error.NONE, E.CONTINUE),
            ("the batch is not of it", {"batch.transactional": 0}, Row.A6, Error.INVALID_TXN_STATE, NOTHING),
            ("an older epoch", {"batch.producer_epoch": 7}, Row.A4, Error.INVALID_PRODUCER_EPOCH, NOTHING),
            ("the same epoch, none is open", {"batch.producer_epoch": 8, "entry.txn_first_offset": NONE},
             Row.A7, Error.NONE, E.APPEND),
        ),
    ),
}  # fmt: skip


def test_rows_answer_in_the_brokers_order(rung: Callable[[], None]) -> None:
    rung()


def known(epoch: int, *lasts: int, open_at: int = NONE) -> ProducerEntry:
    """An entry that remembers batches of one record each, with these last sequences; offset = 100 + sequence."""
    entry = ProducerEntry(known=True, producer_epoch=epoch, txn_first_offset=open_at, batch_count=len(lasts))
    for cached, last in zip(entry.batches, lasts, strict=False):
        cached.last_sequence, cached.last_offset = last, 100 + last
    return entry


PLAIN = with_switches(Rules(), off=["verification"])


@pytest.mark.parametrize(
    ("entry", "first", "guard"),
    [
        (ProducerEntry(), 0, Row.A7),
        (ProducerEntry(), 17, Row.A7),
        (known(7), 0, Row.A7),
        (known(7), 1, Row.S5),
        (known(7, 3, 4), 5, Row.A7),
        (known(7, 3, 4), 6, Row.S5),
        (known(7, 3, 4), 2, Row.S5),
        (known(7, SEQUENCE_MAX), 0, Row.A7),
        (known(7, SEQUENCE_MAX - 1), 0, Row.S5),
        (known(6, 3), 0, Row.A7),
        (known(6, 3), 4, Row.S3),
    ],
    ids=[
        "an unknown producer begins",
        "an unknown producer may continue",
        "after a marker from 0",
        "after a marker from nowhere else",
        "the next one",
        "a gap",
        "an old one that is not remembered",
        "over the end of the numbers",
        "not before their end",
        "a new epoch begins",
        "a new epoch does not continue",
    ],
)
def test_the_sequence_rule(entry: ProducerEntry, first: int, guard: Row) -> None:
    verdict = decide_append(entry, batch(7, first, first, 0), 0, Origin.CLIENT, PLAIN)
    assert (verdict.row, verdict.error) == (guard, Error.NONE if guard == Row.A7 else 45)


def test_nothing_is_demanded_of_an_entry_without_an_epoch() -> None:
    entry = ProducerEntry(known=True)
    assert decide_append(entry, batch(NONE, 5, 5, 0), 0, Origin.CLIENT, PLAIN).row == Row.A7


def test_kafka_0_11_demands_sequence_0_of_an_unknown_producer() -> None:
    assert decide_append(ProducerEntry(), batch(7, 17, 17), 0, Origin.CLIENT, preset("kip98")).row == Row.S3
    assert decide_append(ProducerEntry(), batch(7, 0, 0), 0, Origin.CLIENT, preset("kip98")).row == Row.A7


def test_a_duplicate_is_answered_with_the_offset_it_has() -> None:
    verdict = decide_append(known(7, 1, 2, 3), batch(7, 2, 2, 0), 0, Origin.CLIENT, Rules())
    assert (verdict.row, verdict.duplicate_of) == (Row.A1, 102)
    assert verdict.event == E.NOTHING


@pytest.mark.parametrize(("first", "last"), [(2, 3), (1, 2)], ids=["other first", "other last"])
def test_half_a_duplicate_is_none(first: int, last: int) -> None:
    assert find_duplicate(known(7, 2), batch(7, first, last), Rules()) == NONE


def test_a_duplicate_is_of_the_same_epoch() -> None:
    assert find_duplicate(known(6, 2), batch(7, 2, 2), Rules()) == NONE


def test_a_duplicate_over_the_end_of_the_numbers_is_found() -> None:
    entry = known(7, 1)
    entry.batches[0].offset_delta = 3
    assert find_duplicate(entry, batch(7, SEQUENCE_MAX - 1, 1), Rules()) == 101
    entry.batches[0].offset_delta = 4
    assert find_duplicate(entry, batch(7, 4, 1), Rules(sequence_max=6)) == 101


@pytest.mark.parametrize(
    ("last", "delta", "first"), [(4, 0, 4), (4, 3, 1), (4, 4, 0), (4, 5, 9), (0, 0, 0), (0, 1, 9), (0, 9, 1)]
)
def test_the_first_sequence_of_a_batch_follows_from_its_last_and_its_length(last: int, delta: int, first: int) -> None:
    assert first_sequence(CachedBatch(last_sequence=last, offset_delta=delta), Rules(sequence_max=9)) == first


@pytest.mark.parametrize(
    ("is_known", "open_at", "epoch", "since_4_0", "before"),
    [
        (True, 3, 7, True, True),
        (True, 0, 7, True, True),
        (True, 3, 8, False, True),
        (True, 3, 6, False, True),
        (True, NONE, 7, False, False),
        (False, NONE, NONE, False, False),
    ],
)
def test_what_counts_as_an_open_transaction(
    is_known: bool, open_at: int, epoch: int, since_4_0: bool, before: bool
) -> None:
    entry = ProducerEntry(known=is_known, producer_epoch=7 if is_known else NONE, txn_first_offset=open_at)
    assert has_open_transaction(entry, epoch, Rules()) is since_4_0
    assert has_open_transaction(entry, epoch, with_switches(Rules(), off=["epoch_aware_ongoing"])) is before


def test_the_group_coordinator_is_not_asked_for_sequences_or_duplicates() -> None:
    entry = known(7, 0, open_at=3)
    assert decide_append(entry, batch(7, 0, 0), 0, Origin.COORDINATOR, Rules()).event == E.CONTINUE


@pytest.mark.parametrize("epoch", [6, 7, 8])
def test_replication_accepts_what_the_log_holds(epoch: int) -> None:
    assert decide_append(known(7, 3), batch(epoch, 9, 9), 0, Origin.REPLICATION, Rules()).event == E.BEGIN


def test_even_replication_keeps_plain_data_out_of_a_transaction() -> None:
    assert decide_append(known(7, 3, open_at=3), batch(7, 4, 4, 0), 0, Origin.REPLICATION, Rules()).row == Row.A6


def test_a_newer_epoch_joins_what_is_still_open_once_it_is_verified() -> None:
    entry = known(7, 3, open_at=3)
    assert decide_append(entry, batch(8, 0, 0), 0, Origin.CLIENT, Rules()).row == Row.A3
    entry.guard, entry.guard_epoch, entry.lowest_sequence = 99, 8, 0
    assert decide_append(entry, batch(8, 0, 0), 99, Origin.CLIENT, Rules()).event == E.CONTINUE


def test_an_append_is_remembered() -> None:
    entry = ProducerEntry()
    evolve_append(entry, batch(7, 0, 2), 10, 12, PartitionState.IN_TRANSACTION, Rules())
    assert (entry.known, entry.state, entry.producer_epoch) == (1, PartitionState.IN_TRANSACTION, 7)
    assert (entry.txn_first_offset, entry.batch_count, entry.coordinator_epoch) == (10, 1, NONE)
    assert entry.batches[0] == CachedBatch(last_sequence=2, offset_delta=2, last_offset=12)


def test_the_first_batch_of_a_transaction_uses_the_guard_up() -> None:
    entry = nothing_right()["entry"]
    evolve_append(entry, batch(7, 6, 6), 50, 50, PartitionState.IN_TRANSACTION, Rules())
    assert (entry.guard, entry.guard_epoch, entry.lowest_sequence, entry.supports_epoch_bump) == (0, NONE, NONE, 0)


def test_plain_data_leaves_the_guard_alone_and_opens_nothing() -> None:
    entry = nothing_right()["entry"]
    evolve_append(entry, batch(7, 6, 6, transactional=0), 50, 50, PartitionState.VERIFYING, Rules())
    assert (entry.guard, entry.txn_first_offset) == (99, NONE)


def test_more_data_leaves_the_first_offset_where_it_is() -> None:
    entry = known(7, 3, open_at=103)
    evolve_append(entry, batch(7, 4, 4), 104, 104, PartitionState.IN_TRANSACTION, Rules())
    assert (entry.txn_first_offset, entry.batch_count, newest_sequence(entry)) == (103, 2, 4)


def test_a_new_epoch_forgets_the_batches_but_not_what_is_open() -> None:
    entry = known(7, 3, 4, open_at=103)
    evolve_append(entry, batch(8, 0, 0), 105, 105, PartitionState.IN_TRANSACTION, Rules())
    assert (entry.producer_epoch, entry.batch_count, entry.txn_first_offset) == (8, 1, 103)
    assert entry.batches[1] == CachedBatch()


@pytest.mark.parametrize("window", [1, 3, 5])
def test_only_the_newest_batches_are_remembered(window: int) -> None:
    entry, rules = ProducerEntry(), Rules(cached_batches=window)
    for sequence in range(8):
        evolve_append(entry, batch(7, sequence, sequence, 0), sequence, sequence, PartitionState.IDLE, rules)
    remembered = [sequence for sequence in range(8) if find_duplicate(entry, batch(7, sequence, sequence), rules) >= 0]
    assert remembered == list(range(8 - window, 8))
    assert entry.batch_count == window


def test_lengths_and_offsets_move_with_the_window() -> None:
    entry, batches, next_sequence = ProducerEntry(), [], 0
    for length in (1, 4, 2, 5, 3, 1, 2):
        sent, base = batch(7, next_sequence, next_sequence + length - 1), 10 * next_sequence
        evolve_append(entry, sent, base, base + length - 1, PartitionState.IN_TRANSACTION, Rules())
        batches.append((sent, base + length - 1))
        next_sequence += length
    assert [find_duplicate(entry, sent, Rules()) for sent, _ in batches[-5:]] == [last for _, last in batches[-5:]]
    assert [find_duplicate(entry, sent, Rules()) for sent, _ in batches[:2]] == [NONE, NONE]


def test_a_producer_without_batches_has_no_newest_sequence() -> None:
    assert newest_sequence(known(7)) == NONE


@pytest.mark.parametrize(("open_at", "now_ms", "silent"), [(NONE, 1100, True), (NONE, 1099, False), (3, 5000, False)])
def test_a_silent_producer_is_forgotten_unless_its_transaction_is_open(open_at: int, now_ms: int, silent: bool) -> None:
    assert should_expire(known(7, 3, open_at=open_at), 100, now_ms, 1000) is silent


@pytest.mark.parametrize(
    ("guard", "is_known", "producer_is_silent", "guard_is_old", "event"),
    [
        (0, False, False, False, NOTHING),
        (0, True, False, False, NOTHING),
        (0, True, True, False, E.EXPIRE_PRODUCER),
        (99, True, True, False, NOTHING),
        (99, False, True, False, NOTHING),
        (99, True, False, True, E.EXPIRE_VERIFICATION),
        (99, False, False, True, E.EXPIRE_PRODUCER),
        (99, True, True, True, E.EXPIRE_PRODUCER),
    ],
)
def test_what_is_forgotten(
    guard: int, is_known: bool, producer_is_silent: bool, guard_is_old: bool, event: int
) -> None:
    assert decide_expiry(ProducerEntry(known=is_known, guard=guard), producer_is_silent, guard_is_old) == event


def test_forgetting_a_guard_keeps_the_producer() -> None:
    entry = nothing_right()["entry"]
    evolve_expiry(entry, E.EXPIRE_VERIFICATION, PartitionState.IDLE)
    assert (entry.guard, entry.known, entry.producer_epoch, entry.batch_count) == (0, 1, 7, 1)
    assert entry.state == PartitionState.IDLE


def test_forgetting_a_producer_leaves_an_entry_like_new() -> None:
    entry = nothing_right()["entry"]
    entry.coordinator_epoch = 3
    evolve_expiry(entry, E.EXPIRE_PRODUCER, PartitionState.NO_ENTRY)
    assert entry == ProducerEntry()


@pytest.mark.parametrize(
    ("error", "is_of_the_append", "told"),
    [
        (Error.OUT_OF_ORDER_SEQUENCE_NUMBER, True, True),
        (Error.INVALID_PRODUCER_EPOCH, True, True),
        (Error.INVALID_PRODUCER_EPOCH, False, False),
        (Error.NOT_ENOUGH_REPLICAS, True, True),
        (Error.NOT_ENOUGH_REPLICAS, False, False),
        (Error.INVALID_RECORD, True, True),
        (Error.CORRUPT_MESSAGE, True, False),
        (Error.INVALID_TOPIC_EXCEPTION, True, False),
        (Error.NOT_LEADER_OR_FOLLOWER, True, False),
    ],
)
def test_a_refusal_tells_where_the_log_starts_only_if_the_log_was_reached(
    error: Error, is_of_the_append: bool, told: bool
) -> None:
    assert tells_log_start(error, is_of_the_append) is told


@pytest.mark.parametrize(
    ("last", "now", "late"), [(100, 300_200, False), (100, 300_201, True), (NONE, 10**9, False), (0, 10**9, False)]
)
def test_an_open_transaction_is_late_five_minutes_behind_the_largest_timeout(last: int, now: int, late: bool) -> None:
    assert is_late(last, now, 100) is late
