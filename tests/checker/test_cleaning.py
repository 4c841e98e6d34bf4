"""Fetches in steps, the cleaner, snapshots and retention, step by step where a scenario has them."""

import copy
from collections.abc import Sequence

import pytest

from zombieproof.checker.scenario import UnknownBound
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.transactions import actions, cleaning_actions, partition_actions
from zombieproof.checker.transactions.action_kinds import ACTIONS, Action
from zombieproof.checker.transactions.capacities import LOG, OFFSETS
from zombieproof.checker.transactions.model import ON_REPLICAS, TRANSACTIONS, initial_state
from zombieproof.checker.transactions.narration import describe
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import State, Trail
from zombieproof.model.folds import (
    memory_is_the_fold_of_the_log,
    offsets_in_memory_are_the_fold_of_their_log,
    sequences_in_memory_are_the_fold_of_their_log,
)
from zombieproof.model.vocabulary import NONE, LogEntry
from zombieproof.report.cleaning import of_logs

D, C, A, F = LogEntry.DATA, LogEntry.COMMIT, LogEntry.ABORT, LogEntry.OFFSET
Written = tuple[LogEntry, int, int, int]
"""Kind, producer id, epoch, and value."""


def begun(name: str, *, off: Sequence[str] = (), **bounds: int) -> tuple[State, Setup]:
    """A scenario before anything happened."""
    scenario = SCENARIOS[name]
    rules = scenario.own_rules()
    for switch in off:
        setattr(rules, switch, 0)
    setup = scenario.setup(rules, scenario.own_bounds(bounds))
    assert isinstance(setup, Setup)
    return initial_state(setup), setup


def write(state: State, setup: Setup, p: int, *records: Written) -> None:
    """Put records into a log, and let its leader know what they say."""
    partition = state.partitions[p]
    for kind, producer_id, epoch, value in records:
        record = partition.log[partition.end]
        record.kind, record.producer_id, record.producer_epoch, record.value = kind, producer_id, epoch, value
        partition.end += 1
    partition_actions.elect_leader(state, setup, Trail(), p)


def take(state: State, setup: Setup, kind: Action, i: int = 0) -> None:
    assert actions.step(state, ACTIONS.index((int(kind), i)), setup, Trail()), f"{kind.name} {i} is disabled"


def is_disabled(state: State, setup: Setup, kind: Action, i: int = 0) -> bool:
    return not actions.step(state, ACTIONS.index((int(kind), i)), setup, Trail())


def clean(state: State, setup: Setup, end: int, p: int = 0) -> None:
    take(state, setup, Action.CLEAN, p * LOG + end - 1)


def left(state: State, p: int = 0) -> str:
    """What is left of a log, a letter for each offset: whole, empty, or gone."""
    letters = []
    for offset in range(state.partitions[p].end):
        is_empty = cleaning_actions.is_empty(state, p, offset)
        letters.append("." if cleaning_actions.is_gone(state, p, offset) else "e" if is_empty else "w")
    return "".join(letters)


# ---------------------------------------------------------------- fetches in steps

ABORTED = ((D, 0, 0, 0), (A, 0, 1, 0))


def test_a_fetch_reads_up_to_the_bound_that_it_has() -> None:
    state, setup = begun("fetches_in_steps")
    write(state, setup, 0, *ABORTED)
    take(state, setup, Action.BEGIN_FETCH)
    write(state, setup, 0, (D, 0, 1, 0), (C, 0, 2, 0))
    take(state, setup, Action.READ_ALL)
    assert (state.readers[0].position, state.readers[0].delivered) == (2, 0)


def test_no_fetch_is_read_that_has_not_begun_and_none_begins_twice() -> None:
    state, setup = begun("fetches_in_steps")
    write(state, setup, 0, *ABORTED)
    assert is_disabled(state, setup, Action.READ_ALL)
    take(state, setup, Action.BEGIN_FETCH)
    assert is_disabled(state, setup, Action.BEGIN_FETCH)
    take(state, setup, Action.READ_ALL)
    assert (state.fetches[0].under_way, state.fetches[0].bound) == (False, NONE)


def test_a_fetch_without_anything_below_its_bound_does_not_begin() -> None:
    state, setup = begun("fetches_in_steps")
    assert is_disabled(state, setup, Action.BEGIN_FETCH)
    write(state, setup, 0, (D, 0, 0, 0))
    assert is_disabled(state, setup, Action.BEGIN_FETCH, 0)
    take(state, setup, Action.BEGIN_FETCH, 1)
    assert state.fetches[1].bound == 1


@pytest.mark.parametrize(("off", "delivered"), [((), 0b00), (("aborted_list_last",), 0b01)])
def test_a_list_from_before_the_bound_lacks_what_was_aborted_since(off: tuple[str, ...], delivered: int) -> None:
    state, setup = begun("fetches_in_steps", off=off)
    write(state, setup, 0, (D, 0, 0, 0), (D, 1, 0, 0), (C, 1, 1, 0))
    state.readers[0].position = 0
    if not off:
        write(state, setup, 0, (A, 0, 1, 0))
        take(state, setup, Action.BEGIN_FETCH)
    else:
        take(state, setup, Action.BEGIN_FETCH)
        write(state, setup, 0, (A, 0, 1, 0))
    take(state, setup, Action.READ_ALL)
    assert state.readers[0].delivered == 0b10 | delivered


# ---------------------------------------------------------------- the cleaner


def test_what_was_aborted_goes_and_its_marker_two_passes_later() -> None:
    state, setup = begun("cleaned_log", compactions=3)
    write(state, setup, 0, *ABORTED, (D, 0, 1, 0), (C, 0, 2, 0))
    seen = []
    for _ in range(3):
        clean(state, setup, 4)
        seen.append((left(state), state.remains[0].under_horizon, state.remains[0].unlisted))
    assert seen == [(".www", 0b00, 0b00), (".www", 0b10, 0b10), ("..ww", 0b00, 0b10)]


def test_the_batch_with_the_last_sequence_stays_empty_and_its_marker_with_it() -> None:
    state, setup = begun("cleaned_log_of_version_0")
    write(state, setup, 0, (D, 0, 0, 0), (A, 0, 0, 0))
    clean(state, setup, 2)
    assert left(state) == "ew"
    assert is_disabled(state, setup, Action.CLEAN, 1)
    partition_actions.elect_leader(state, setup, Trail(), 0)
    assert memory_is_the_fold_of_the_log(state)
    assert sequences_in_memory_are_the_fold_of_their_log(state)


def test_the_last_batch_of_a_pass_stays_empty() -> None:
    state, setup = begun("cleaned_log")
    write(state, setup, 0, *ABORTED, (D, 0, 1, 0), (C, 0, 2, 0))
    clean(state, setup, 1)
    assert left(state) == "ewww"


@pytest.mark.parametrize(("off", "reaches"), [((), False), (("cleaner_stops_at_stable",), True)])
def test_the_cleaner_stops_at_the_last_stable_offset(off: tuple[str, ...], reaches: bool) -> None:
    state, setup = begun("cleaned_log", off=off)
    write(state, setup, 0, *ABORTED, (D, 0, 1, 0), (D, 1, 0, 0), (A, 1, 1, 0))
    assert is_disabled(state, setup, Action.CLEAN, 2) is not reaches
    if not reaches:
        clean(state, setup, 2)
        assert left(state) == ".wwww"


def test_a_pass_that_changes_nothing_costs_nothing() -> None:
    state, setup = begun("cleaned_log")
    write(state, setup, 0, (D, 0, 0, 0), (C, 0, 1, 0))
    assert is_disabled(state, setup, Action.CLEAN, 1)
    assert state.budget.compactions == setup.budget.compactions


def test_only_the_newest_position_of_a_group_stays() -> None:
    state, setup = begun("cleaned_offsets")
    write(state, setup, OFFSETS, (F, 0, 0, 1), (C, 0, 1, 0), (F, 0, 1, 2), (C, 0, 2, 0))
    clean(state, setup, 4, OFFSETS)
    assert left(state, OFFSETS) == ".www"
    partition_actions.elect_leader(state, setup, Trail(), OFFSETS)
    assert (state.group.committed.offset, state.group.committed.record_offset) == (2, 2)
    assert offsets_in_memory_are_the_fold_of_their_log(state)


def test_a_position_that_is_aborted_supersedes_nothing() -> None:
    state, setup = begun("cleaned_offsets")
    write(state, setup, OFFSETS, (F, 0, 0, 1), (C, 0, 1, 0), (F, 0, 1, 2), (A, 0, 2, 0))
    clean(state, setup, 4, OFFSETS)
    assert left(state, OFFSETS) == "ww.w"


def test_a_cleaned_fetch_skips_what_is_gone_and_delivers_the_rest() -> None:
    state, setup = begun("cleaned_log")
    write(state, setup, 0, *ABORTED, (D, 0, 1, 0), (C, 0, 2, 0))
    take(state, setup, Action.BEGIN_FETCH)
    clean(state, setup, 4)
    clean(state, setup, 4)
    take(state, setup, Action.READ_ALL)
    assert (state.readers[0].position, state.readers[0].delivered) == (4, 0b100)


# ---------------------------------------------------------------- snapshots and retention

OPEN = ((D, 0, 0, 0), (D, 0, 0, 1))


def test_a_leader_reads_its_snapshot_and_what_lies_behind_it() -> None:
    state, setup = begun("shortened_log")
    write(state, setup, 0, *OPEN)
    take(state, setup, Action.CLOSE_SEGMENT)
    take(state, setup, Action.DROP_SEGMENTS)
    write(state, setup, 0, (D, 0, 0, 2))
    entry = state.partitions[0].entries[0]
    assert (state.remains[0].start, entry.txn_first_offset, entry.batch_count) == (2, 0, 2)
    assert memory_is_the_fold_of_the_log(state)
    assert sequences_in_memory_are_the_fold_of_their_log(state)


def test_of_the_batches_of_a_producer_a_snapshot_keeps_the_newest() -> None:
    state, setup = begun("shortened_log")
    write(state, setup, 0, *OPEN)
    take(state, setup, Action.CLOSE_SEGMENT)
    kept = state.snapshots[0].entries[0]
    assert (kept.batch_count, kept.batches[0].last_sequence, kept.batches[0].last_offset) == (1, 1, 1)


def test_no_segment_is_closed_twice_and_none_is_dropped_that_is_not_closed() -> None:
    state, setup = begun("shortened_log")
    assert is_disabled(state, setup, Action.CLOSE_SEGMENT)
    write(state, setup, 0, *OPEN)
    assert is_disabled(state, setup, Action.DROP_SEGMENTS)
    take(state, setup, Action.CLOSE_SEGMENT)
    assert is_disabled(state, setup, Action.CLOSE_SEGMENT)


def test_offsets_of_a_group_are_never_too_old() -> None:
    state, setup = begun("cleaned_offsets", snapshots=1, retentions=1)
    write(state, setup, OFFSETS, (F, 0, 0, 1), (C, 0, 1, 0))
    take(state, setup, Action.CLOSE_SEGMENT, OFFSETS)
    assert is_disabled(state, setup, Action.DROP_SEGMENTS, OFFSETS)


def test_a_reader_goes_on_where_the_log_begins() -> None:
    state, setup = begun("shortened_log")
    write(state, setup, 0, *OPEN, (C, 0, 1, 0), (D, 0, 1, 0), (C, 0, 2, 0))
    take(state, setup, Action.CLOSE_SEGMENT)
    state.snapshots[0].offset = 3
    take(state, setup, Action.DROP_SEGMENTS)
    take(state, setup, Action.READ_ALL)
    assert (state.readers[0].position, state.readers[0].delivered) == (5, 0b1000)


# ---------------------------------------------------------------- who pays, and what is said


@pytest.mark.parametrize("name", ["reads_in_steps", "compactions", "snapshots", "retentions"])
def test_who_asks_for_none_of_it_has_no_room_for_it(name: str) -> None:
    scenario = SCENARIOS["skipping_reader"]
    assert scenario.model(scenario.bounds) is TRANSACTIONS
    assert scenario.model(scenario.own_bounds({name: 1})) is ON_REPLICAS
    with pytest.raises(UnknownBound, match=f"{name}=1 and id_blocks=1 are not in one world; leave one of them away"):
        scenario.own_bounds({name: 1, "id_blocks": 1})


def test_no_log_with_snapshots_is_cut() -> None:
    with pytest.raises(UnknownBound, match="snapshots=2 and truncations=1 are not in one world"):
        SCENARIOS["shortened_log"].own_bounds({"replicated": 1, "truncations": 1})


@pytest.mark.parametrize(
    ("kind", "i", "off", "words"),
    [
        (Action.BEGIN_FETCH, 0, (), "a fetch of the read_committed reader gets its bound, and reads nothing yet"),
        (Action.BEGIN_FETCH, 1, ("aborted_list_last",), "gets its list of aborted transactions, and nothing else yet"),
        (Action.CLEAN, OFFSETS * LOG + 2, (), "the cleaner goes over __consumer_offsets below offset 3"),
        (Action.CLOSE_SEGMENT, 0, (), "a segment of p0 is closed, and a snapshot of its producers is kept at offset 2"),
        (Action.DROP_SEGMENTS, 1, (), "retention drops what p1 has below offset -1"),
    ],
)
def test_what_happens_is_told(kind: Action, i: int, off: tuple[str, ...], words: str) -> None:
    state, setup = begun("shortened_log", off=off)
    write(state, setup, 0, *OPEN)
    assert words in describe(state, ACTIONS.index((int(kind), i)), setup)


def told(state: State, setup: Setup, kind: Action, i: int) -> list[str]:
    """What is said to come of an action."""
    before = copy.deepcopy(state)
    take(state, setup, kind, i)
    return list(of_logs(before, state))


def test_what_is_not_there_any_more_is_told() -> None:
    state, setup = begun("shortened_log", compactions=2)
    write(state, setup, 0, *ABORTED, (D, 0, 1, 0), (C, 0, 2, 0))
    state.partitions[0].log[0].label = 1
    assert told(state, setup, Action.CLEAN, 3) == [
        "p0 has nothing left at offset 0: data of A.1 (producer 0, epoch 0, sequence 0)"
    ]
    assert told(state, setup, Action.CLEAN, 3) == [
        "p0 has no batch before the marker at offset 1: the next pass takes it"
    ]
    take(state, setup, Action.CLOSE_SEGMENT)
    assert told(state, setup, Action.DROP_SEGMENTS, 0) == ["the log of p0 begins at offset 4"]
