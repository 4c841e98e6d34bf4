"""What compaction leaves of a log: rule by rule, each with its neighbour, and what readers see before and after."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zombieproof.broker.partition.aborted_index import AbortedTransaction
from zombieproof.broker.store.cleaner import Cleaned, CleanerSettings, LastRecord, clean, delete_horizon_ms
from zombieproof.formats.batches import Batch, Marker, Record
from zombieproof.formats.compression import Codec
from zombieproof.formats.encoding import read_batches, write_batch
from zombieproof.formats.record_batch import TimestampType
from zombieproof.model.vocabulary import NONE

NOW_MS = 10_000
SETTINGS = CleanerSettings(delete_retention_ms=1000)
IDLE = LastRecord(None, 9)


def records(*words: str, ms: int = 0) -> tuple[Record, ...]:
    """`k=v`, `k` alone is a tombstone, `=v` has no key."""
    found = []
    for word in words:
        key, is_value, value = word.partition("=")
        found.append(Record(key.encode() or None, value.encode() if is_value else None, timestamp_ms=ms))
    return tuple(found)


def data(
    at: int, *words: str, pid: int = NONE, epoch: int = 0, transactional: bool = False, ms: int = 0, **more: object
) -> Batch:
    return replace(
        Batch(
            producer_id=pid,
            producer_epoch=NONE if pid == NONE else epoch,
            base_sequence=NONE if pid == NONE else at,
            transactional=transactional,
            records=records(*words, ms=ms),
            last_offset_delta=len(words) - 1,
            timestamp_ms=ms,
            base_offset=at,
            leader_epoch=0,
        ),
        **more,  # type: ignore[arg-type]  # fields of a batch
    )


def txn(at: int, *words: str, pid: int = 1) -> Batch:
    return data(at, *words, pid=pid, transactional=True)


def marker(at: int, *, committed: bool, pid: int = 1, epoch: int = 0) -> Batch:
    return Batch(
        producer_id=pid,
        producer_epoch=epoch,
        transactional=True,
        marker=Marker(committed, 0),
        timestamp_ms=0,
        base_offset=at,
        leader_epoch=0,
    )


def aborted(first: int, last: int, pid: int = 1) -> AbortedTransaction:
    return AbortedTransaction(pid, first, last, first)


END = data(1000, "end=1")
"""What is last is never forgotten; here it stands behind what a test is about."""


def as_stored(batches: Sequence[Batch]) -> list[Batch]:
    """As a store has them: read from bytes."""
    return [next(read_batches(write_batch(batch))) for batch in batches]


def cleaned(
    batches: Sequence[Batch],
    *entries: AbortedTransaction,
    now_ms: int = NOW_MS,
    first_dirty_offset: int = 0,
    producers: dict[int, LastRecord] | None = None,
    last_stable_offset: int = 2000,
) -> Cleaned:
    found = clean(
        as_stored([*batches, END]),
        entries,
        last_stable_offset=last_stable_offset,
        now_ms=now_ms,
        first_dirty_offset=first_dirty_offset,
        producers=producers,
        settings=SETTINGS,
    )
    for batch in found.batches:
        assert list(read_batches(write_batch(batch))) == [batch], "what is left can be stored, and is read as it was"
    return found


def told(batches: Sequence[Batch]) -> list[str]:
    """Every record that is left by its offset; markers, horizons and empty batches by their own words."""
    said = []
    for batch in batches[:-1]:
        horizon = delete_horizon_ms(batch)
        until = "" if horizon is None else f" until {horizon}"
        if batch.marker is not None:
            said.append(f"{batch.base_offset} {'commit' if batch.marker.committed else 'abort'}{until}")
        elif not batch.records:
            said.append(f"{batch.base_offset}-{batch.last_offset} empty{' control' * batch.is_control}")
        for offset, record in zip(batch.offsets, batch.records, strict=True):
            key, value = (b"" if each is None else each for each in (record.key, record.value))
            assert isinstance(key, bytes)
            assert isinstance(value, bytes)
            word = key.decode() + ("" if record.value is None else f"={value.decode()}")
            said.append(f"{offset} {word}{until}")
    return said


EMPTY = replace(marker(1, committed=True), marker=None, is_empty_control=True)
LATER_MS = NOW_MS + SETTINGS.delete_retention_ms
HORIZON = f"until {LATER_MS}"

KEPT = {
    "the newest of each key": ([data(0, "a=1"), data(1, "b=1"), data(2, "a=2")], (), ["1 b=1", "2 a=2"]),
    "the newest within one batch": ([data(0, "a=1", "b=1", "a=2")], (), ["1 b=1", "2 a=2"]),
    "a key that is newer outside of what is cleaned": ([data(0, "end=0"), data(1, "a=1")], (), ["1 a=1"]),
    "nothing without a key": ([data(0, "=1", "a=1"), data(2, "=2")], (), ["1 a=1"]),
    "an empty key is a key": ([data(0, "a=1")], (), ["0 a=1"]),
    "a tombstone, until its horizon": ([data(0, "a=1"), data(1, "a")], (), [f"1 a {HORIZON}"]),
    "no tombstone that is older than a value": ([data(0, "a"), data(1, "a=1")], (), ["1 a=1"]),
    "a value beside a tombstone, under its horizon": (
        [data(0, "a", "b=1")],
        (),
        [f"0 a {HORIZON}", f"1 b=1 {HORIZON}"],
    ),
    "an empty value is no tombstone": ([data(0, "a=")], (), ["0 a="]),
    "records of a committed transaction, with the marker": (
        [txn(0, "a=1"), marker(1, committed=True)],
        (),
        ["0 a=1", "1 commit"],
    ),
    "the marker of records that just went": (
        [txn(0, "a=1"), marker(1, committed=True), data(2, "a=2")],
        (),
        ["1 commit", "2 a=2"],
    ),
    "a marker without records, until its horizon": ([marker(1, committed=True)], (), [f"1 commit {HORIZON}"]),
    "nothing of an aborted transaction but its marker": (
        [txn(0, "a=1"), marker(1, committed=False)],
        (aborted(0, 1),),
        ["1 abort"],
    ),
    "what an aborted transaction would have replaced": (
        [data(0, "a=0"), txn(1, "a=1"), marker(2, committed=False)],
        (aborted(1, 2),),
        ["0 a=0", "2 abort"],
    ),
    "what is not transactional of a producer whose transaction is aborted": (
        [txn(0, "a=1"), data(1, "b=1", pid=1), marker(2, committed=False)],
        (aborted(0, 2),),
        ["1 b=1", "2 abort"],
    ),
    "a committed transaction between aborted ones of its producer": (
        [
            *(txn(0, "a=1"), marker(1, committed=False)),
            *(txn(2, "a=2"), marker(3, committed=True)),
            *(txn(4, "a=3"), marker(5, committed=False)),
        ],
        (aborted(0, 1), aborted(4, 5)),
        ["1 abort", "2 a=2", "3 commit", "5 abort"],
    ),
    "a committed transaction beside an aborted one of another": (
        [txn(0, "a=1"), txn(1, "b=1", pid=2), marker(2, committed=False), marker(3, committed=True, pid=2)],
        (aborted(0, 2),),
        ["1 b=1", "2 abort", "3 commit"],
    ),
    "an abort marker without records, until its horizon": ([marker(1, committed=False)], (), [f"1 abort {HORIZON}"]),
    "no control batch that is empty": (
        [replace(marker(1, committed=True), marker=None, is_empty_control=True)],
        (),
        [],
    ),
    "no control batch that is empty, whatever is left of its transaction": ([txn(0, "a=1"), EMPTY], (), ["0 a=1"]),
    "a control batch that ends no transaction": (
        [replace(marker(1, committed=True), marker=None, control_records=(Record(b"\0\0\0\2", b"\0\0"),))],
        (),
        ["1-1 empty control"],
    ),
}


@pytest.mark.parametrize("name", KEPT)
def test_one_pass_leaves(name: str) -> None:
    batches, entries, expected = KEPT[name]
    assert told(cleaned(batches, *entries).batches) == expected


def under_horizon(batch: Batch, ms: int) -> Batch:
    return replace(batch, has_delete_horizon=True, base_timestamp_ms=ms)


AT_HORIZON = {
    "a tombstone at its horizon goes": (data(0, "a"), NOW_MS, []),
    "a tombstone before its horizon stays, and so does the horizon": (
        data(0, "a"),
        NOW_MS + 1,
        [f"0 a until {NOW_MS + 1}"],
    ),
    "a value under a horizon stays": (data(0, "a=1"), NOW_MS, [f"0 a=1 until {NOW_MS}"]),
    "a marker at its horizon goes": (marker(0, committed=True), NOW_MS, []),
    "a marker before its horizon stays": (marker(0, committed=True), NOW_MS + 1, [f"0 commit until {NOW_MS + 1}"]),
    "an abort marker at its horizon goes": (marker(0, committed=False), NOW_MS, []),
}


@pytest.mark.parametrize("name", AT_HORIZON)
def test_behind_a_horizon(name: str) -> None:
    batch, horizon_ms, expected = AT_HORIZON[name]
    assert told(cleaned([under_horizon(batch, horizon_ms)]).batches) == expected


def test_a_marker_behind_its_horizon_stays_while_there_are_records() -> None:
    batches = [txn(0, "a=1"), under_horizon(marker(1, committed=True), 0)]
    assert told(cleaned(batches).batches) == ["0 a=1", "1 commit until 0"]


def test_a_horizon_without_any_record_before_the_base_time_is_found() -> None:
    """Where the first record's time is the horizon itself, reading does not tell the two apart."""
    batch = under_horizon(data(0, "a", ms=NOW_MS), NOW_MS)
    assert delete_horizon_ms(as_stored([batch])[0]) == NOW_MS
    assert told(cleaned([batch]).batches) == []


def test_what_is_aborted_goes_in_three_passes() -> None:
    """Records; a horizon for the marker; the marker."""
    batches, entries = [txn(0, "a=1"), marker(1, committed=False)], [aborted(0, 1)]
    first = cleaned(batches, *entries)
    assert (told(first.batches), first.aborted) == (["1 abort"], (aborted(0, 1),))
    second = cleaned(first.batches[:-1], *first.aborted)
    assert (told(second.batches), second.aborted) == ([f"1 abort {HORIZON}"], ())
    third = cleaned(second.batches[:-1], now_ms=LATER_MS - 1)
    assert told(third.batches) == [f"1 abort {HORIZON}"]
    assert told(cleaned(third.batches[:-1], now_ms=LATER_MS).batches) == []


# ---------------------------------------------------------------- producers and ends

LAST = {
    "the batch with the last sequence stays empty": ({1: LastRecord(0, 0)}, ["0-1 empty", "2 a=2", "3 b=2"]),
    "an older batch of the producer goes": ({1: LastRecord(7, 0)}, ["2 a=2", "3 b=2"]),
    "a batch of a producer that is forgotten goes": ({}, ["2 a=2", "3 b=2"]),
    "a batch goes where only a marker is left of its producer": ({1: LastRecord(None, 0)}, ["2 a=2", "3 b=2"]),
}


@pytest.mark.parametrize("name", LAST)
def test_of_a_producer(name: str) -> None:
    producers, expected = LAST[name]
    producers = {pid: LastRecord(None if last is None else last + 1, e) for pid, (last, e) in producers.items()}
    batches = [data(0, "a=1", "b=1", pid=1), data(2, "a=2", "b=2")]
    assert told(cleaned(batches, producers=producers).batches) == expected


def test_an_empty_batch_keeps_what_a_leader_must_remember() -> None:
    whole = data(4, "a=1", "b=1", pid=7, epoch=3, ms=55, codec=Codec.GZIP)
    left = cleaned([whole, data(6, "a=2", "b=2")], producers={7: LastRecord(5, 3)}).batches[0]
    assert (left.producer_id, left.producer_epoch, left.base_sequence, left.last_sequence) == (7, 3, 4, 5)
    assert (left.base_offset, left.last_offset, left.timestamp_ms, left.leader_epoch) == (4, 5, 55, 0)
    assert (left.records, left.codec, left.is_control) == ((), Codec.NONE, False)


def test_an_aborted_batch_with_the_last_sequence_stays_empty_and_holds_its_marker() -> None:
    batches = [txn(0, "a=1"), marker(1, committed=False)]
    left = cleaned(batches, aborted(0, 1), producers={1: LastRecord(0, 0)})
    assert told(left.batches) == ["0-0 empty", "1 abort"]
    again = cleaned(left.batches[:-1], *left.aborted, producers={1: LastRecord(0, 0)})
    assert (told(again.batches), again.aborted) == (["0-0 empty", "1 abort"], (aborted(0, 1),))


@pytest.mark.parametrize(("epoch", "expected"), [(4, ["0-0 empty control"]), (5, [])])
def test_the_last_marker_of_a_producer_stays_empty(epoch: int, expected: list[str]) -> None:
    batch = under_horizon(marker(0, committed=True, epoch=4), 0)
    left = cleaned([batch], producers={1: LastRecord(None, epoch)})
    assert told(left.batches) == expected


def test_the_last_batch_of_a_pass_stays_empty() -> None:
    batches = as_stored([data(0, "a=1"), txn(1, "a=2"), marker(2, committed=False)])
    left = clean(batches[:2], [aborted(1, 2)], last_stable_offset=3, now_ms=0)
    assert [(batch.base_offset, len(batch.records)) for batch in left.batches] == [(0, 1), (1, 0)]


def test_nothing_is_cleaned_from_the_last_stable_offset_on() -> None:
    batches = [data(0, "a=1"), data(1, "a=2"), data(2, "a=3")]
    left = cleaned(batches, last_stable_offset=2)
    assert told(left.batches) == ["1 a=2", "2 a=3"]
    assert left.end_offset == 2
    nothing = cleaned(batches, aborted(5, 6), last_stable_offset=0, first_dirty_offset=0)
    assert (told(nothing.batches), nothing.end_offset, nothing.aborted) == (
        ["0 a=1", "1 a=2", "2 a=3"],
        0,
        (aborted(5, 6),),
    )


def test_a_batch_across_the_last_stable_offset_is_not_cleaned() -> None:
    left = cleaned([data(0, "a=1"), data(1, "a=2", "a=3")], last_stable_offset=2)
    assert told(left.batches) == ["0 a=1", "1 a=2", "2 a=3"]


def test_what_was_cleaned_before_is_compared_with_what_is_dirty() -> None:
    batches = [data(0, "a=1"), data(1, "b=1"), data(2, "b=2")]
    assert told(cleaned(batches, first_dirty_offset=2).batches) == ["0 a=1", "2 b=2"]
    assert told(cleaned(batches, first_dirty_offset=3).batches) == ["0 a=1", "1 b=1", "2 b=2"]


def test_without_a_word_everything_is_dirty_and_tombstones_stay_for_a_day() -> None:
    batches = as_stored([data(0, "a"), data(1, "a=1"), data(2, "b", "c=1")])
    left = clean(batches, [], last_stable_offset=4, now_ms=7)
    assert [delete_horizon_ms(batch) for batch in left.batches] == [None, 7 + 86_400_000]
    assert left.batches[0].base_offset == 1


def test_a_batch_that_is_dirty_in_part_is_compared_from_there_on() -> None:
    batches = [data(0, "a=1"), data(1, "a=2", "b=1"), data(3, "b=2")]
    assert told(cleaned(batches, first_dirty_offset=2).batches) == ["0 a=1", "1 a=2", "3 b=2"]
    assert told(cleaned(batches, first_dirty_offset=1).batches) == ["1 a=2", "3 b=2"]


@pytest.mark.parametrize("at", [0, 1])
def test_batches_out_of_order_are_refused(at: int) -> None:
    with pytest.raises(ValueError, match=f"a batch at offset {at} cannot follow one that ends at 1"):
        clean([data(0, "a=1", "b=1"), data(at, "c=1")], [], last_stable_offset=9, now_ms=0)


def test_a_control_batch_that_ends_no_transaction_stays_as_it_is() -> None:
    leader_change = replace(EMPTY, is_empty_control=False, control_records=(Record(b"\0\0\0\2", b"\0\0"),))
    left = cleaned([leader_change]).batches[0]
    assert (left.control_records, delete_horizon_ms(left)) == (leader_change.control_records, None)


def test_an_abort_marker_that_no_index_knows_adds_nothing_to_it() -> None:
    left = cleaned([txn(0, "a=1"), marker(1, committed=False)])
    assert (told(left.batches), left.aborted) == (["0 a=1", "1 abort"], ())


def test_the_index_keeps_what_ends_where_the_pass_ends_or_later() -> None:
    batches = [txn(0, "a=1", pid=2), txn(1, "b=1"), marker(2, committed=False)]
    left = cleaned(batches, aborted(1, 2), last_stable_offset=2)
    assert (told(left.batches), left.end_offset, left.aborted) == (
        ["0 a=1", "1-1 empty", "2 abort"],
        2,
        (aborted(1, 2),),
    )


# ---------------------------------------------------------------- bytes


def test_a_batch_that_keeps_all_its_records_keeps_its_bytes() -> None:
    batches = as_stored([data(0, "a=1", "b=1", codec=Codec.GZIP), data(2, "c=1"), marker(3, committed=True, pid=2)])
    kept = clean([*batches, *as_stored([END])], [], last_stable_offset=2000, now_ms=0).batches
    assert [each is batch for each, batch in zip(kept, batches, strict=False)] == [True, True, False]
    assert [write_batch(batch) for batch in kept[:2]] == [batch.encoded.data for batch in batches[:2] if batch.encoded]


@pytest.mark.parametrize("codec", Codec)
def test_a_batch_with_fewer_records_has_its_codec_headers_offsets_and_times(codec: Codec) -> None:
    of_times = tuple(
        replace(record, timestamp_ms=ms, headers=(("h", bytes([i])),))
        for i, (record, ms) in enumerate(zip(records("a=1", "b=1", "c=1", "a=2"), (40, 10, 30, 20), strict=True))
    )
    whole = data(0, "a=1", "b=1", "c=1", "a=2", pid=3, ms=40, codec=codec, records=of_times)
    [left, _] = cleaned([whole, data(4, "c=2")]).batches[:2]
    assert (left.offsets, left.timestamps, left.last_offset, left.last_sequence) == ((1, 3), (10, 20), 3, 3)
    assert [record.headers for record in left.records] == [(("h", b"\1"),), (("h", b"\3"),)]
    assert (left.codec, left.timestamp_ms) == (codec, 20)


def test_times_that_the_broker_stamped_stay() -> None:
    whole = data(0, "a=1", "b=1", ms=77, timestamp_type=TimestampType.LOG_APPEND_TIME)
    left = cleaned([whole, data(2, "a=2")]).batches[0]
    assert (left.timestamps, left.timestamp_type) == ((77,), TimestampType.LOG_APPEND_TIME)


def test_times_stay_under_a_horizon() -> None:
    left = cleaned([data(0, "a=1", "b", ms=77), data(2, "a=2")]).batches[0]
    assert (left.timestamps, delete_horizon_ms(left)) == ((77,), LATER_MS)
    again = cleaned([left]).batches[0]
    assert (again.timestamps, delete_horizon_ms(again)) == ((77,), LATER_MS)


# ---------------------------------------------------------------- readers


class Drawn:
    """A log as producers leave it, some with transactions, some without."""

    def __init__(self, steps: list[tuple[int, str, int]]) -> None:
        self.batches: list[Batch] = []
        self.aborted: list[AbortedTransaction] = []
        self.producers: dict[int, LastRecord] = {}
        self._open: dict[int, int] = {}
        self._end = 0
        for pid, what, number in steps:
            self._step(pid, what, number)
        for pid in sorted(self._open):
            self._step(pid, "abort", 0)

    def _step(self, pid: int, what: str, number: int) -> None:
        at = self._end
        if what in ("commit", "abort"):
            if pid not in self._open:
                return
            first = self._open.pop(pid)
            if what == "abort":
                self.aborted.append(AbortedTransaction(pid, first, at, first))
            self.batches.append(marker(at, committed=what == "commit", pid=pid))
            self._end += 1
            return
        words = [f"{key}={at}" if key != "d" else "abc"[number % 3] for key in what]
        self.batches.append(data(at, *words, pid=pid, transactional=pid > 1))
        self._end += len(words)
        self.producers[pid] = LastRecord(self._end - 1, 0)
        if pid > 1:
            self._open.setdefault(pid, at)


def committed(batches: Sequence[Batch], entries: Sequence[AbortedTransaction]) -> dict[bytes, tuple[int, object]]:
    """The newest record of each key for a read_committed reader: its offset and value."""
    newest: dict[bytes, tuple[int, object]] = {}
    for batch in batches:
        skipped = batch.transactional and any(
            entry.producer_id == batch.producer_id and entry.first_offset <= batch.base_offset <= entry.last_offset
            for entry in entries
        )
        if not skipped:
            newest |= {
                record.key: (offset, record.value)
                for offset, record in zip(batch.offsets, batch.records, strict=True)
                if isinstance(record.key, bytes)
            }
    return newest


STEPS = st.lists(
    st.tuples(
        st.integers(1, 3), st.sampled_from(["a", "b", "ab", "aab", "d", "ad", "commit", "abort"]), st.integers(0, 9)
    ),
    max_size=30,
)


def values(newest: dict[bytes, tuple[int, object]]) -> dict[bytes, object]:
    """What a reader that builds a table has in the end."""
    return {key: value for key, (_, value) in newest.items() if value is not None}


@given(steps=STEPS, passes=st.lists(st.sampled_from([1, 500, 1000, 5000]), min_size=1, max_size=5))
def test_readers_see_the_same_newest_values_before_and_behind_any_passes(
    steps: list[tuple[int, str, int]], passes: list[int]
) -> None:
    drawn = Drawn(steps)
    before = committed(drawn.batches, drawn.aborted)
    batches, entries, now_ms, dirty = as_stored(drawn.batches), tuple(drawn.aborted), NOW_MS, 0
    for elapsed_ms in passes:
        left = clean(
            batches,
            entries,
            last_stable_offset=10_000,
            now_ms=now_ms,
            first_dirty_offset=dirty,
            producers=drawn.producers,
            settings=SETTINGS,
        )
        assert [b.base_offset for b in left.batches] == sorted({b.base_offset for b in left.batches})
        after = committed(left.batches, left.aborted)
        assert values(after) == values(before)
        assert after.items() <= before.items(), "what is left lies where it lay"
        if now_ms < NOW_MS + SETTINGS.delete_retention_ms:
            assert after == before, "nobody can have missed a tombstone yet"
        assert (left.batches[-1].last_offset if left.batches else NONE) == (
            batches[-1].last_offset if batches else NONE
        )
        kept = {b.producer_id: b.last_sequence for b in left.batches if b.producer_id != NONE and not b.is_control}
        assert kept.keys() == drawn.producers.keys()
        batches, entries, dirty = as_stored(left.batches), left.aborted, left.end_offset
        now_ms += elapsed_ms


@given(steps=STEPS)
def test_a_second_pass_at_once_changes_only_markers(steps: list[tuple[int, str, int]]) -> None:
    drawn = Drawn(steps)
    once = clean(as_stored(drawn.batches), drawn.aborted, last_stable_offset=10_000, now_ms=NOW_MS, settings=SETTINGS)
    again = clean(once.batches, once.aborted, last_stable_offset=10_000, now_ms=NOW_MS, settings=SETTINGS)
    data_once = [batch for batch in once.batches if batch.records]
    assert [batch for batch in again.batches if batch.records] == data_once
