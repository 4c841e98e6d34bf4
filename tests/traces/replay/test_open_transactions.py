"""What is open, compared with what real brokers said of it, and in histories made by hand."""

import functools
import json
import lzma
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from zombieproof.formats.topics import CONSUMER_OFFSETS
from zombieproof.model.vocabulary import TransactionState as S
from zombieproof.traces.explaining.open.models import EndedBy, Open
from zombieproof.traces.explaining.open.transactions import what_is_open
from zombieproof.traces.narrowing import Narrowing
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.replay import judge
from zombieproof.traces.verdict.report import TransactionOutcome

SAMPLES = Path(__file__).parents[2] / "recordings"
SHARED = Path(__file__).parents[4] / "shared/traces"
RECORDINGS = sorted(path for place in (SAMPLES, SHARED) if place.is_dir() for path in place.iterdir() if path.is_dir())
T0, T1 = ("t", 0), ("t", 1)
NEVER_ENDING = ("every_listed_partition_has_its_marker", "no_open_transaction_that_nobody_owns", "epochs_never_go_down")

Row = dict[str, Any]


def label(path: Path) -> str:
    return "/".join(path.parts[-2:])


@functools.cache
def opened(path: Path) -> Open:
    return what_is_open(judge(collect([path])))


def consumed(path: Path) -> Row:
    plain = path / "consumed.json"
    if plain.exists():
        return dict(json.loads(plain.read_bytes()))
    packed = path / "consumed.json.xz"
    return dict(json.loads(lzma.decompress(packed.read_bytes()))) if packed.exists() else {}


def of(history: Any) -> Open:
    return what_is_open(judge(history.evidence))


# ---------------------------------------------------------------- real brokers


@pytest.mark.long("19-soak", "20-epoch-exhaustion")
@pytest.mark.parametrize("path", RECORDINGS, ids=label)
def test_the_transactions_are_those_that_the_leaders_described(path: Path) -> None:
    told = consumed(path).get("describe_producers", {})
    found = {f"{held.topic}-{held.partition}": held for held in opened(path).partitions}
    for place, producers in told.items():
        mine = {(txn.producer_id, txn.first_offset) for txn in found[place].transactions} if place in found else set()
        theirs = {(p["producer_id"], p.get("current_transaction_start_offset")) for p in producers}
        # A recording with damage was copied whole: the broker still had what the copy lost.
        if not path.name.startswith("23-"):
            assert mine == {each for each in theirs if each[1] is not None}


@pytest.mark.share(2)
@pytest.mark.parametrize("path", RECORDINGS, ids=label)
def test_each_held_partition_has_the_last_stable_offset_that_consumers_saw(path: Path) -> None:
    told = consumed(path).get("partitions", {})
    held = {f"{held.topic}-{held.partition}": held.last_stable_offset for held in opened(path).partitions}
    for place, facts in told.items():
        if path.name.startswith("23-") or "last_stable_offset" not in facts:
            continue
        is_held = facts["last_stable_offset"] < facts["high_watermark"]
        assert held.get(place) == (facts["last_stable_offset"] if is_held else None)


@pytest.mark.parametrize("path", RECORDINGS, ids=label)
def test_the_ids_are_those_that_the_coordinators_listed(path: Path) -> None:
    told = consumed(path).get("list_transactions")
    mine = {(txn.transactional_id, txn.state.replace("_", "")) for txn in opened(path).transactions}
    theirs = {(row["transactional_id"], row["state"].upper()) for row in told or ()}
    assert mine == {row for row in theirs if row[1] in {"ONGOING", "PREPARECOMMIT", "PREPAREABORT"}}


@pytest.mark.slow
def test_recordings_of_brokers_are_compared() -> None:
    assert sum(bool(opened(path).partitions) for path in RECORDINGS) >= 1
    with_producers = [path for path in RECORDINGS if consumed(path).get("describe_producers")]
    assert len(with_producers) >= (40 if SHARED.is_dir() else 1)


@pytest.mark.long("19-soak", "20-epoch-exhaustion")
@pytest.mark.parametrize("path", RECORDINGS, ids=label)
def test_what_nobody_ends_is_a_finding(path: Path) -> None:
    report = judge(collect([path])).report
    known = {(f.topic, f.partition, f.producer_id) for f in report.findings if f.promise in NEVER_ENDING}
    for held in opened(path).partitions:
        for txn in held.transactions:
            is_known = (held.topic, held.partition, txn.producer_id) in known
            assert (txn.ended_by is EndedBy.NOBODY) == is_known


def test_a_hanging_transaction_is_told_with_what_waits_behind_it() -> None:
    [held] = opened(SAMPLES / "10-hanging").partitions
    assert (held.topic, held.partition, held.last_stable_offset, held.end_offset) == ("t", 0, 4, 7)
    assert (held.waiting_records, held.held_ms) == (2, 20 * 60_000 + 139)
    [txn] = held.transactions
    assert (txn.transactional_id, txn.state, txn.ended_by) == ("orders-1", "COMPLETE_ABORT", EndedBy.NOBODY)
    assert (txn.first_offset, txn.records, txn.due_ms, txn.decided) == (4, 1, None, None)


def test_where_the_marker_may_be_lost_nobody_is_said_to_end_nothing() -> None:
    [held] = opened(SAMPLES / "23-truncated-segment").partitions
    assert [(txn.ended_by, txn.is_certain, txn.decided) for txn in held.transactions] == [
        (EndedBy.UNKNOWN, False, None)
    ]


# ---------------------------------------------------------------- made by hand


def begun(made: Any, *places: tuple[str, int]) -> Any:
    """A transaction that is committed, then one that is open on t-0 and, as far as the coordinator knows, `places`."""
    history = made()
    history.state(S.EMPTY, 7, 0)
    history.transaction(0, T0)
    history.state(S.ONGOING, 7, 1, T0, *places)
    history.data(T0, 7, 1, 0, 3)
    return history


def test_nothing_open_is_nothing(made: Any) -> None:
    history = made.two_transactions()
    found = of(history)
    assert (found.partitions, found.transactions, found.as_of_ms) == ([], [], history.now)
    assert of(made()).as_of_ms is None


def test_an_open_transaction_has_its_owner_and_the_time_when_it_is_due(made: Any) -> None:
    history = begun(made, T1)
    since, start = history.now, history.evidence.transaction_states[-1].value.last_update_ms
    history.plain(T0)
    history.plain(T0)
    found = of(history)
    [held] = found.partitions
    [txn] = held.transactions
    assert (held.waiting_records, held.held_ms) == (2, 20)
    assert (txn.since_ms, txn.first_offset, txn.last_offset, txn.records) == (since, 3, 5, 3)
    assert (txn.ended_by, txn.state, txn.due_ms) == (EndedBy.OWNER, "ONGOING", start + 60_000)
    [mine] = found.transactions
    assert (mine.state, mine.since_ms, mine.offset, mine.is_overdue) == ("ONGOING", start, 4, False)
    assert (mine.pending, mine.marked, mine.unread) == (["t-0"], [], ["t-1"])


def test_the_start_that_the_coordinator_wrote_down_counts(made: Any) -> None:
    history = begun(made)
    history.restate(4, start_ms=5)
    [mine] = of(history).transactions
    assert (mine.due_ms, mine.is_overdue) == (60_005, True)


def test_it_is_overdue_behind_its_time_and_not_at_it(made: Any) -> None:
    history = begun(made)
    start = history.evidence.transaction_states[-1].value.last_update_ms
    history.now = start + 60_000 - 10
    history.plain(T0)
    assert not of(history).transactions[0].is_overdue
    history.plain(T0)
    assert of(history).transactions[0].is_overdue


def test_a_transaction_that_another_system_decides_is_never_due(made: Any) -> None:
    history = begun(made)
    history.restate(4, timeout_ms=2**31 - 1)
    found = of(history)
    assert (found.transactions[0].due_ms, found.partitions[0].transactions[0].due_ms) == (None, None)


def test_of_a_decided_transaction_the_markers_are_told_that_are_to_come(made: Any) -> None:
    history = begun(made, T1)
    history.data(T1, 7, 1, 0)
    history.state(S.PREPARE_COMMIT, 7, 2, T0, T1, ("gone", 0))
    history.marker(T1, 7, 2)
    found = of(history)
    [mine] = found.transactions
    assert (mine.state, mine.due_ms, mine.is_overdue) == ("PREPARE_COMMIT", None, False)
    assert (mine.pending, mine.marked, mine.unread) == (["t-0"], ["t-1"], ["gone-0"])
    [held] = found.partitions
    assert [(txn.first_offset, txn.ended_by) for txn in held.transactions] == [(3, EndedBy.MARKER)]


def test_a_forgotten_marker_is_told_with_what_was_decided(made: Any) -> None:
    for commit, outcome in ((True, TransactionOutcome.COMMIT), (False, TransactionOutcome.ABORT)):
        history = begun(made)
        history.state(S.PREPARE_COMMIT if commit else S.PREPARE_ABORT, 7, 2, T0)
        history.state(S.COMPLETE_COMMIT if commit else S.COMPLETE_ABORT, 7, 2)
        [held] = of(history).partitions
        assert [(txn.ended_by, txn.decided) for txn in held.transactions] == [(EndedBy.NOBODY, outcome)]


def test_without_the_coordinators_log_nobody_knows_who_ends_it(made: Any) -> None:
    found = of(begun(made).without_coordinator())
    [txn] = found.partitions[0].transactions
    assert (txn.transactional_id, txn.state, txn.ended_by) == (None, None, EndedBy.UNKNOWN)
    assert found.transactions == []


def test_a_cut_coordinators_log_makes_it_uncertain(made: Any) -> None:
    history = begun(made)
    history.log(("__transaction_state", 0)).torn_tail = True
    found = of(history)
    assert [txn.is_certain for txn in found.transactions] == [False]
    history.restate(4, state=S.COMPLETE_COMMIT, producer_epoch=1)
    assert [txn.ended_by for txn in of(history).partitions[0].transactions] == [EndedBy.UNKNOWN]


def test_what_is_open_or_aborted_does_not_wait(made: Any) -> None:
    history = begun(made)
    history.data(T0, 8, 0, 0, 4)
    history.marker(T0, 8, 0, commit=False)
    history.data(T0, 8, 0, 4, 5)
    history.marker(T0, 8, 0)
    history.data(T0, 9, 0, 0, 6)
    history.plain(T0)
    [held] = of(history).partitions
    assert held.waiting_records == 5 + 1
    assert [(txn.producer_id, txn.records) for txn in held.transactions] == [(7, 3), (9, 6)]


def test_offsets_of_groups_wait_too(made: Any) -> None:
    history = made.copier()
    history.state(S.ONGOING, 7, 1, (CONSUMER_OFFSETS, 0))
    history.offset(7, 1, 9)
    [held] = of(history).partitions
    assert held.transactions[0].pending_offsets == ["group copier: in-0 to 9"]


def test_an_id_that_was_forgotten_is_told_so(made: Any) -> None:
    history = begun(made)
    history.restate(4, state=S.COMPLETE_COMMIT, producer_epoch=1, partitions=frozenset())
    history.state(None, 7, 1)
    [txn] = of(history).partitions[0].transactions
    assert (txn.transactional_id, txn.state) == ("orders-1", None)


def test_narrowing_leaves_other_topics_and_later_ones_out(made: Any) -> None:
    history = begun(made)
    since = history.now
    judged = judge(history.evidence)
    assert what_is_open(judged, Narrowing(("t",))).transactions
    assert not what_is_open(judged, Narrowing(("other",))).transactions
    assert what_is_open(judged, Narrowing(since_ms=since + 10**9)).partitions
    assert what_is_open(judged, Narrowing(until_ms=since)).partitions
    early = what_is_open(judged, Narrowing(until_ms=since - 100))
    assert (early.partitions, early.transactions) == ([], [])


def test_a_batch_without_a_time_is_open_since_a_time_that_is_not_known(made: Any) -> None:
    history = begun(made)
    log = history.log(T0)
    log.batches = [*log.batches[:-1], replace(log.batches[-1], max_timestamp_ms=-1)]
    [held] = of(history).partitions
    assert (held.held_ms, held.transactions[0].since_ms) == (None, None)
