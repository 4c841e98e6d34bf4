"""Compaction on disk: which log is cleaned and how far, which segments are merged, what a crash leaves of a swap."""

from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from random import Random

import pytest

from tests.store.clients import Client, Notebook, fetch_offsets
from tests.store.crashing import IN, LATER_MS, crash_points, judge_survivor
from tests.store.workloads import (
    C0,
    CONFIGS,
    GROUP,
    OFTEN_CLEANED,
    SETTINGS,
    SMALL,
    WORKLOADS,
    Stage,
    compaction,
    open_on,
)
from zombieproof.bridge.again import live_again
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.live_trace import LiveTraceFile
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.partition.aborted_index import AbortedTransaction
from zombieproof.broker.partition.log import Damaged, MemoryLog
from zombieproof.broker.repairing import Repairs
from zombieproof.broker.store.cleaner import CleanerSettings, LastRecord, Plan
from zombieproof.broker.store.compaction import groups
from zombieproof.broker.store.config import Durability, LogConfig
from zombieproof.broker.store.fault_disk import Fate, FaultDisk
from zombieproof.broker.store.findings import NOTHING
from zombieproof.broker.store.log_cleaner import Dirty, dirt_of
from zombieproof.broker.store.segment import Segment
from zombieproof.broker.store.segment_log import SegmentLog
from zombieproof.broker.timers import CLEANER_MS
from zombieproof.formats.batches import Batch, Marker, Record
from zombieproof.formats.checkpoints import read_offsets
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from zombieproof.messages.transactions import DescribeTransactions
from zombieproof.model.vocabulary import Error, Isolation
from zombieproof.traces.trace_file import read_live

CONFIG = LogConfig(cleanup_policy="compact", segment_bytes=1000, index_interval_bytes=100)
NOW_MS = 1_000_000


def log_on(disk: FaultDisk, config: LogConfig = CONFIG, start: int | None = None) -> SegmentLog:
    disk.make_directory("d/t-0")
    disk.sync_directory("d")
    disk.sync_directory("")
    log = SegmentLog(disk, "d/t-0", "t", config, ManualClock(NOW_MS), Durability.FSYNC, lambda _: None)
    log.open(start, 0, was_clean=False)
    return log


def batch(key: str, value: str | None = "v" * 40, *, ms: int = 0, producer_id: int = -1) -> Batch:
    record = Record(key.encode(), None if value is None else value.encode())
    identity = (producer_id, 0, 0) if producer_id >= 0 else (-1, -1, -1)
    return Batch(*identity, producer_id >= 0, (record,), timestamp_ms=ms, leader_epoch=0)


def marker(producer_id: int, *, committed: bool) -> Batch:
    return Batch(producer_id, 0, transactional=True, marker=Marker(committed, 0), timestamp_ms=0, leader_epoch=0)


def written(log: SegmentLog, *segments: str, ms: int = 0) -> SegmentLog:
    """Segments of records with these keys, and one that is written to."""
    for keys in segments:
        for key in keys:
            log.append(batch(key, ms=ms))
        log.roll()
    return log


def plan_of(log: SegmentLog | MemoryLog, end: int, **about: object) -> Plan:
    plan = Plan(0, end, NOW_MS, (), {}, CleanerSettings())
    return replace(plan, **about)  # type: ignore[arg-type]  # fields of a plan


def keys_of(log: SegmentLog | MemoryLog) -> list[tuple[int, bytes]]:
    return [
        (offset, bytes(record.key or b""))  # type: ignore[arg-type]  # bytes, in data
        for each in log.read()
        for offset, record in zip(each.offsets, each.records, strict=True)
    ]


# ---------------------------------------------------------------- one pass


def test_only_the_newest_of_each_key_stays_at_its_offset() -> None:
    log = written(log_on(FaultDisk()), "ab", "ac", "b")
    log.append(batch("a"))
    log.compact(plan_of(log, 5))
    assert keys_of(log) == [(2, b"a"), (3, b"c"), (4, b"b"), (5, b"a")]
    assert [(each.offset_delta, each.key) for b in log.read(5) for each in b.records] == [(-1, b"a")]
    assert log.end_offset == 6


def test_what_is_left_is_read_again_after_a_crash_and_after_a_clean_stop() -> None:
    disk = FaultDisk()
    log = written(log_on(disk), "ab", "ac", "b")
    log.compact(plan_of(log, 5))
    log.flush()
    for fate in Fate:
        again = log_on(disk.survivor(fate))
        assert keys_of(again) == [(2, b"a"), (3, b"c"), (4, b"b")]
        assert again.append(batch("z")).base_offset == 5


def test_a_log_in_memory_is_compacted_as_one_on_disk_is() -> None:
    on_disk, in_memory, aborted = log_on(FaultDisk()), MemoryLog(), AbortedTransaction(2, 3, 5, 6)
    for each in (
        batch("a"),
        batch("b"),
        None,
        batch("a", producer_id=1),
        batch("b", producer_id=2),
        marker(1, committed=True),
        marker(2, committed=False),
        None,
        batch("a", None),
        None,
    ):
        if each is None:
            on_disk.roll()
        else:
            assert on_disk.append(each).base_offset == in_memory.append(each).base_offset
    on_disk.add_aborted(aborted)
    for end, first in ((6, 0), (7, 6)):
        known = {2: LastRecord(3, 0)}
        done = [
            log.compact(plan_of(log, end, first_dirty_offset=first, aborted=(aborted,), producers=known))
            for log in (on_disk, in_memory)
        ]
        assert list(on_disk.read()) == list(in_memory.read())
        assert done[0].aborted == done[1].aborted == on_disk.aborted()
    assert keys_of(on_disk) == [(1, b"b"), (6, b"a")]


def test_the_aborted_index_of_a_segment_that_was_cleaned_lies_beside_it() -> None:
    disk = FaultDisk()
    log = log_on(disk)
    for each in (batch("a", producer_id=2), batch("b"), marker(2, committed=False)):
        log.append(each)
    entry = AbortedTransaction(2, 0, 2, 3)
    log.add_aborted(entry)
    log.roll()
    log.compact(plan_of(log, 3, aborted=(entry,)))
    assert log_on(disk.survivor(Fate.DROPPED)).aborted() == (entry,), "its data was met: readers may have it still"
    log.compact(plan_of(log, 3, first_dirty_offset=3, aborted=(entry,)))
    assert log.aborted() == log_on(disk.survivor(Fate.DROPPED)).aborted() == ()


def test_indexes_of_a_cleaned_segment_find_what_is_left() -> None:
    disk = FaultDisk()
    log = written(log_on(disk, replace(CONFIG, segment_bytes=10_000)), "abcdefghijklmnopqrstuvwxyz" * 2)
    log.compact(plan_of(log, 52))
    log.close()
    again = log_on(disk)
    assert disk.size("d/t-0/00000000000000000000.index") > 8
    for cleaned in (log.segments[0], again.segments[0]):
        for offset in (0, 26, 30, 51):
            position = cleaned.position_of(offset)
            assert position == max(offset - 26, 0) * cleaned.size // 26


def test_damage_in_a_closed_segment_ends_the_pass_and_nothing_is_swapped() -> None:
    disk = FaultDisk()
    log = written(log_on(disk), "ab", "ac")
    disk.damage("d/t-0/00000000000000000002.log", 8 * 70)
    with pytest.raises(Damaged, match="damaged at byte 0"):
        log.compact(plan_of(log, 4))
    assert disk.exists("d/t-0/00000000000000000000.log")
    assert not any(name.endswith(".swap") for name in disk.listed("d/t-0"))


# ---------------------------------------------------------------- groups


def segments_of(*sizes: tuple[int, int, int]) -> list[Segment]:
    """Segments of (base offset, bytes, entries of the index)."""
    found = []
    for base, size, entries in sizes:
        segment = Segment(FaultDisk(), "d", base, "t", 100)
        segment.size = size
        segment._indexes._offsets.extend(range(entries))
        found.append(segment)
    return found


@pytest.mark.parametrize(
    ("sizes", "end", "expected"),
    [
        ([(0, 40, 0), (10, 60, 0), (20, 1, 0)], 30, [[0, 10], [20]]),
        ([(0, 40, 0), (10, 61, 0), (20, 39, 0)], 30, [[0], [10, 20]]),
        ([(0, 1, 3), (10, 1, 2), (20, 1, 1)], 30, [[0, 10], [20]]),
        ([(0, 1, 0), (10, 1, 0)], 0x7FFFFFFF + 1, [[0, 10]]),
        ([(0, 1, 0), (10, 1, 0)], 0x7FFFFFFF + 2, [[0], [10]]),
        ([(0, 1, 0), (10, 0, 0)], 0x7FFFFFFF + 2, [[0, 10]]),
        ([], 0, []),
    ],
    ids=["bytes", "next to each other", "index", "offsets fit", "offsets do not fit", "an empty one fits", "none"],
)
def test_adjacent_segments_that_fit_become_one(
    sizes: list[tuple[int, int, int]], end: int, expected: list[list[int]]
) -> None:
    found = groups(segments_of(*sizes), most_bytes=100, most_index_bytes=40, end_offset=end)
    assert [[segment.base_offset for segment in group] for group in found] == expected


def test_segments_that_were_cleaned_small_become_one() -> None:
    disk = FaultDisk()
    log = written(log_on(disk), "ab", "ab", "ab")
    assert log.compact(plan_of(log, 6)).merged == (2, 4)
    assert [segment.base_offset for segment in log.segments] == [0, 6]


# ---------------------------------------------------------------- which log, and how far


def dirt(log: SegmentLog, stable: int | None = None, now_ms: int = NOW_MS) -> Dirty:
    return dirt_of(("t", 0), log, log.end_offset if stable is None else stable, now_ms)


def test_a_log_is_as_dirty_as_the_share_of_its_bytes_that_no_pass_has_seen() -> None:
    log = written(log_on(FaultDisk()), "ab", "ab")
    assert (dirt(log).first_dirty_offset, dirt(log).end_offset, dirt(log).ratio) == (0, 4, 1.0)
    log.cleaned_offset = 2
    assert (dirt(log).first_dirty_offset, dirt(log).end_offset, dirt(log).ratio) == (2, 4, 0.5)
    assert not dirt(log).is_due(CONFIG)
    assert dirt(log).is_due(replace(CONFIG, min_cleanable_dirty_ratio=0.49))


def test_no_pass_goes_into_the_segment_of_the_last_stable_offset_or_the_one_that_is_written_to() -> None:
    log = written(log_on(FaultDisk()), "ab", "ab", "ab")
    assert [dirt(log, stable).end_offset for stable in (0, 1, 2, 3, 4, 6)] == [0, 0, 2, 2, 4, 6]
    log.append(batch("z"))
    assert dirt(log).end_offset == 6
    assert not dirt(log, 1).is_due(CONFIG)


@pytest.mark.parametrize(("known", "expected"), [(None, 0), (2, 2), (7, 0), (6, 6)])
def test_a_checkpoint_behind_the_end_counts_for_nothing(known: int | None, expected: int) -> None:
    log = written(log_on(FaultDisk()), "ab", "ab", "ab")
    log.cleaned_offset = known
    assert dirt(log).first_dirty_offset == expected


def test_a_checkpoint_below_the_start_counts_for_nothing() -> None:
    log = written(log_on(FaultDisk()), "ab", "ab", "ab")
    log.cleaned_offset = 1
    log.raise_start(3)
    assert dirt(log).first_dirty_offset == 3


def test_records_that_are_too_young_are_left_alone() -> None:
    log = written(written(log_on(FaultDisk(), replace(CONFIG, min_compaction_lag_ms=100)), "ab", ms=10), "ab", ms=200)
    log.append(batch("z"))
    assert [dirt(log, now_ms=now).end_offset for now in (109, 110, 299, 300)] == [0, 2, 2, 4]


def test_records_that_have_waited_for_too_long_are_cleaned_however_few_they_are() -> None:
    config = replace(CONFIG, max_compaction_lag_ms=100, min_cleanable_dirty_ratio=1.0)
    log = written(log_on(FaultDisk(), config), "ab", ms=50)
    log.append(batch("z"))
    assert [dirt(log, now_ms=now).is_due(config) for now in (150, 151)] == [False, True]
    assert config.longest_segment_ms == 100
    assert replace(config, cleanup_policy="delete").longest_segment_ms == config.segment_ms


def test_a_log_that_was_cut_is_dirty_where_it_was_cut() -> None:
    log = written(log_on(FaultDisk()), "ab", "ab", "ab")
    log.cleaned_offset = 6
    log.truncate(3)
    assert log.cleaned_offset == 2
    log.restart_at(9)
    assert log.cleaned_offset is None


# ---------------------------------------------------------------- what a crash leaves of a swap


def interrupted(within: str) -> Iterator[FaultDisk]:
    """What a crash leaves at each operation of one pass on a file whose name ends so, or on its folder."""
    disk = FaultDisk()
    log = written(log_on(disk), "ab", "ac", "b")
    log.flush()
    left: list[FaultDisk] = []
    disk.before = lambda: left.extend(disk.survivor(fate, Random(len(left))) for fate in Fate)
    log.compact(plan_of(log, 5))
    disk.before = None
    assert any(within in name for each in left for name in each.listed("d/t-0")), f"no {within} was left"
    return iter(left)


@pytest.mark.parametrize("name", [".cleaned", ".swap", ".deleted"])
def test_whoever_opens_an_interrupted_swap_has_the_old_log_or_the_new_one(name: str) -> None:
    old, new = [(0, b"a"), (1, b"b"), (2, b"a"), (3, b"c"), (4, b"b")], [(2, b"a"), (3, b"c"), (4, b"b")]
    for image in interrupted(name):
        assert keys_of(log_on(image)) in (old, new)
        assert all(left.endswith((".log", ".index", ".timeindex", ".txnindex", "t")) for left in image.listed("d/t-0"))


@pytest.mark.slow
def test_a_crash_while_a_swap_is_ended_changes_nothing() -> None:
    count = 0
    for image in interrupted(".swap"):
        if not any(name.endswith((".swap", ".cleaned")) for name in image.listed("d/t-0")):
            continue
        expected, again = keys_of(log_on(image.copy())), image.copy()
        left: list[FaultDisk] = []
        again.before = lambda disk=again, found=left: found.extend(disk.survivor(fate, Random(3)) for fate in Fate)
        log_on(again)
        count += len(left)
        assert all(keys_of(log_on(each)) == expected for each in left)
    assert count > 100


def files_of(disk: FaultDisk) -> set[str]:
    return {name for name in disk.listed("d/t-0") if name[:1] == "0"}


def test_a_swap_file_at_or_behind_a_cleaned_one_is_removed_with_it() -> None:
    disk = FaultDisk()
    written(log_on(disk), "ab", "ac").close()
    before = files_of(disk)
    for name in ("00000000000000000002.log.swap", "00000000000000000002.index.cleaned"):
        disk.write(f"d/t-0/{name}", 0, b"nothing")
    assert keys_of(log_on(disk)) == [(0, b"a"), (1, b"b"), (2, b"a"), (3, b"c")]
    assert files_of(disk) == before


def test_a_swap_file_takes_the_place_of_all_segments_that_begin_in_it_and_of_no_other() -> None:
    disk = FaultDisk()
    log = written(log_on(disk), "ab", "cd", "ef")
    log.close()
    whole = b"".join(disk.read(f"d/t-0/{base:020d}.log") for base in (0, 2))
    disk.write("d/t-0/00000000000000000000.log.swap", 0, whole)
    again = log_on(disk)
    assert [segment.base_offset for segment in again.segments] == [0, 4, 6]
    assert [key for _, key in keys_of(again)] == [b"a", b"b", b"c", b"d", b"e", b"f"]


def test_a_swap_file_that_is_damaged_is_refused() -> None:
    disk = FaultDisk()
    written(log_on(disk), "ab", "cd").close()
    disk.write("d/t-0/00000000000000000000.log.swap", 0, disk.read("d/t-0/00000000000000000000.log")[:-1])
    with pytest.raises(Damaged, match=r"00000000000000000000\.log\.swap: damaged at byte"):
        log_on(disk)
    assert disk.exists("d/t-0/00000000000000000002.log"), "nothing was touched"


def last_values(disk: FaultDisk) -> dict[object, tuple[int, object]]:
    """The last record of each key in the compacted partition, with its offset."""
    embedded = open_on(disk, ManualClock(LATER_MS))
    log = embedded.cluster.stores[1, C0].log
    found: dict[object, tuple[int, object]] = {
        record.key: (offset, record.value)
        for each in log.read(log.start_offset)
        for offset, record in zip(each.offsets, each.records, strict=True)
    }
    embedded.abandon()
    disk.close()
    return found


@pytest.mark.parametrize("byte", [40, -1])
def test_the_old_segments_are_put_back_where_the_new_one_was_damaged(byte: int) -> None:
    disk, folder, left = FaultDisk(), "broker-1/c-0", list[FaultDisk]()
    stage = Stage(disk, Notebook(), 12)

    def look() -> None:
        names = disk.listed(folder) if disk.exists(folder) else ()
        ends = {name[20:] for name in names}
        if {".log.swap", ".log.deleted"} <= ends and not any(end.endswith(".cleaned") for end in ends):
            left.append(disk.survivor(Fate.KEPT, Random(1)))

    def swap_of(image: FaultDisk) -> str:
        return next(f"{folder}/{name}" for name in image.listed(folder) if name.endswith(".log.swap"))

    disk.before = look
    compaction(stage)
    left = [each for each in left if each.size(swap_of(each))]
    assert left
    for image in left[:: max(1, len(left) // 6)]:
        expected = last_values(image.copy())
        image.damage(swap_of(image), 8 * (byte % image.size(swap_of(image))))
        with pytest.raises(Damaged, match=r"\.swap"):
            open_on(image.copy(), ManualClock(LATER_MS))
        repaired = Repairs(image, "kept").apply()
        assert all(each.loses in (NOTHING, "nothing that can be read") for each in repaired)
        assert last_values(image) == expected


# ---------------------------------------------------------------- brokers that clean


@pytest.fixture(scope="module")
def cleaned() -> tuple[FaultDisk, Notebook]:
    disk, notes = FaultDisk(), Notebook()
    stage = Stage(disk, notes, 24)
    compaction(stage)
    stage.embedded.close()
    return disk, notes


def test_how_far_logs_were_cleaned_is_in_kafkas_checkpoint(cleaned: tuple[FaultDisk, Notebook]) -> None:
    offsets = read_offsets(cleaned[0].read("broker-1/cleaner-offset-checkpoint"))
    assert offsets.keys() >= {C0, (TRANSACTION_STATE, 0)}
    assert all(offset > 0 for offset in offsets.values())
    embedded = open_on(cleaned[0].copy(), ManualClock(LATER_MS))
    assert embedded.directories[1].logs[C0].cleaned_offset == offsets[C0]
    embedded.abandon()


def test_a_checkpoint_that_cannot_be_read_makes_everything_dirty(cleaned: tuple[FaultDisk, Notebook]) -> None:
    disk = cleaned[0].copy()
    disk.write("broker-1/cleaner-offset-checkpoint", 0, b"x")
    embedded = open_on(disk, ManualClock(LATER_MS))
    assert embedded.directories[1].logs[C0].cleaned_offset is None
    embedded.abandon()


def test_coordinators_know_from_cleaned_logs_what_they_knew() -> None:
    """Offsets, groups that were deleted, and ids; the logs are those of all workloads, one behind the other."""
    disk, notes = FaultDisk(), Notebook()
    stage = Stage(disk, notes, 24)
    for name in ("groups", "transactions", "compaction"):
        WORKLOADS[name](stage)
    logs = stage.embedded.directories[1].logs
    for _ in range(3):
        stage.clock.advance(15_000)
        stage.embedded.pump()
    for topic in (TRANSACTION_STATE, CONSUMER_OFFSETS):
        assert logs[topic, 0].cleaned_offset, f"{topic} was cleaned"
        assert len(list(logs[topic, 0].read())) < logs[topic, 0].end_offset / 2
    before = known(stage)
    stage.restart()
    assert known(stage) == before
    assert judge_survivor(disk.survivor(Fate.DROPPED), notes) == []


def known(stage: Stage) -> tuple[object, ...]:
    asked, notes = stage.embedded.ask(DescribeTransactions(0, ("a", "b"))), Notebook()
    for group in ("simple", GROUP, "members", f"{GROUP}0", f"{GROUP}1"):
        fetch_offsets(stage.embedded, notes, group, IN)
    told = [{**asdict(event), "at": 0, "since": 0} for event in notes.as_history().events]
    return asked, told


def test_a_live_run_in_which_logs_are_cleaned_is_taken_again_from_its_trace(tmp_path: Path) -> None:
    stage = Stage(FaultDisk(), Notebook(), 24)
    with LiveTraceFile(tmp_path / "run.jsonl") as trace:
        stage.embedded = Embedded(
            topics={"in": 2, C0[0]: 1},
            settings=SETTINGS,
            clock=stage.clock,
            default_config=SMALL,
            configs=CONFIGS,
            disk=FaultDisk(),
            journal=trace,
        )
        compaction(stage)
        stage.embedded.close()
    record = read_live(tmp_path / "run.jsonl")
    assert [event.cause.what for event in record.events].count("compact") > 3
    judged = live_again(record, "run.jsonl")
    assert (judged.finding, judged.judged) == (None, len(record.events))
    first = next(event.number for event in record.events if event.cause.what == "compact")
    assert judged.open_question.startswith(
        f"event {first} removes records: promises are judged of what was there before"
    )


def test_a_record_that_nobody_wrote_again_outlives_passes_and_restarts() -> None:
    stage = Stage(FaultDisk(), Notebook(), 24)
    client = Client(stage.embedded, stage.notes, "p")
    client.init()
    client.send(C0, "first")
    for number in range(12):
        client.overwrite(C0, "same", None if number % 2 else "x" * 300)
        stage.clock.advance(15_000)
        stage.embedded.pump()
    replica = stage.embedded.cluster.brokers[1].partitions.replicas[C0]
    left = [record.value for each in replica.fetch(0, Isolation.READ_COMMITTED).batches for record in each.records]
    assert b"first" in left
    assert len(left) < 7, "of the others few are left"
    assert stage.embedded.directories[1].logs[C0].config is OFTEN_CLEANED


@pytest.mark.slow
def test_a_crash_at_each_operation_of_each_swap_loses_nothing() -> None:
    reached = crash_points("compaction", 8, within=(".cleaned", ".swap"), fates=(Fate.RANDOM,))
    assert reached.counts["crash points"] > 90
    assert reached.findings == []


def test_followers_clean_their_own_logs_and_go_on_over_the_gaps_of_their_leader() -> None:
    clock, disk = ManualClock(), FaultDisk()
    embedded = Embedded(
        nodes=3,
        topics={C0[0]: [(1, 2, 3)]},
        settings=SETTINGS,
        clock=clock,
        default_config=SMALL,
        configs=CONFIGS,
        disk=disk,
    )
    cluster, client = embedded.cluster, Client(embedded, Notebook(), "p")
    client.init()

    def write_and_clean(count: int) -> None:
        for number in range(count):
            client.overwrite(C0, f"{number % 2}", "x" * 200)
        for _ in range(2):
            clock.advance(CLEANER_MS)
            embedded.pump()

    def left(node: int) -> dict[object, object]:
        return {record.key: record.value for each in cluster.stores[node, C0].log.read() for record in each.records}

    client.send(C0, "first")
    write_and_clean(8)
    cleaned = [embedded.directories[node].logs[C0].cleaned_offset for node in (1, 2, 3)]
    assert all(cleaned), "each broker cleans"
    cluster.stop(3)
    write_and_clean(12)
    cluster.start(3)
    while embedded.pump():
        pass
    ends = {node: cluster.stores[node, C0].log.end_offset for node in (1, 2, 3)}
    assert len(set(ends.values())) == 1
    assert left(1) == left(2) == left(3)
    assert left(3)[b"first"] == b"first"
    cluster.elect(C0, 3)
    assert cluster.brokers[3].partitions.replicas[C0].fetch(0, Isolation.READ_COMMITTED).error == Error.NONE
    embedded.close()
    again = Embedded(settings=SETTINGS, clock=clock, default_config=SMALL, configs=CONFIGS, disk=disk)
    cluster = again.cluster
    assert left(1) == left(2) == left(3)
    again.close()
