"""DeleteRecords: what goes, when it is answered, what followers and readers make of it, and what a crash leaves."""

from collections.abc import Mapping
from random import Random

import pytest

from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.partition.log import MemoryLog
from zombieproof.broker.partition.replica import Replica
from zombieproof.broker.store.config import LogConfig
from zombieproof.broker.store.fault_disk import Fate, Fault, FaultDisk, Plan
from zombieproof.broker.store.segment_log import SegmentLog
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE, TopicPartition
from zombieproof.messages.partitions import (
    EARLIEST,
    DeleteRecords,
    Fetch,
    FetchAnswer,
    ListOffsets,
    ListOffsetsAnswer,
    Produce,
    RecordsDeleted,
    SentBatch,
)
from zombieproof.messages.transactions import EndTxn, InitProducerId, InitProducerIdAnswer
from zombieproof.model.vocabulary import NONE, Error, Isolation

T: TopicPartition = ("t", 0)
SETTINGS = Settings(transaction_state_log_num_partitions=1, offsets_topic_num_partitions=1)
SMALL = LogConfig(segment_bytes=300)


def batch(value: str = "v") -> SentBatch:
    return SentBatch(Batch(records=(Record(b"k", value.encode()),)))


def produced(host: Cluster | Embedded, count: int, partition: TopicPartition = T, node: int = 1) -> None:
    for _ in range(count):
        host.ask(Produce(9, None, -1, {partition: (batch(),)}), node)


def deleted(
    host: Cluster | Embedded, offsets: Mapping[TopicPartition, int], node: int = 1
) -> dict[TopicPartition, tuple[int, int]]:
    answer = host.ask(DeleteRecords(2, dict(offsets)), node)
    assert isinstance(answer, RecordsDeleted)
    return answer.partitions


def start_of(host: Cluster | Embedded, node: int = 1) -> int:
    answer = host.ask(ListOffsets(5, Isolation.READ_UNCOMMITTED, {T: EARLIEST}), node)
    assert isinstance(answer, ListOffsetsAnswer)
    return answer.partitions[T].offset


def error_of_fetch(host: Cluster, offset: int) -> int:
    answer = host.ask(Fetch(12, Isolation.READ_UNCOMMITTED, {T: offset}, max_wait_ms=0))
    assert isinstance(answer, FetchAnswer)
    return answer.partitions[T].error


def on(disk: FaultDisk, config: LogConfig = SMALL, nodes: int = 1) -> Embedded:
    replicas = tuple(range(1, nodes + 1))
    return Embedded(
        nodes=nodes,
        topics={"t": [replicas]},
        settings=SETTINGS,
        clock=ManualClock(),
        default_config=config,
        disk=disk,
    )


# ---------------------------------------------------------------- at the leader


def test_records_below_the_offset_are_not_served_any_more() -> None:
    cluster = Cluster(settings=SETTINGS, topics={"t": 1})
    produced(cluster, 5)
    assert deleted(cluster, {T: 3}) == {T: (3, 0)}
    assert start_of(cluster) == 3
    assert [error_of_fetch(cluster, offset) for offset in (2, 3, 5, 6)] == [1, 0, 0, 1]


def test_minus_one_is_the_high_watermark_and_less_than_the_start_changes_nothing() -> None:
    cluster = Cluster(settings=SETTINGS, topics={"t": 1})
    produced(cluster, 5)
    assert deleted(cluster, {T: -1}) == {T: (5, 0)}
    assert deleted(cluster, {T: 2}) == {T: (5, 0)}
    assert start_of(cluster) == 5
    produced(cluster, 1)
    assert deleted(cluster, {T: 6}) == {T: (6, 0)}


def test_each_partition_is_answered_by_itself() -> None:
    cluster = Cluster(2, settings=SETTINGS, topics={"t": [(1,)], "u": [(2,)]})
    produced(cluster, 2)
    asked = {T: 1, ("u", 0): 0, ("t", 1): 0, ("v", 0): 0, (TRANSACTION_STATE, 0): 0, (CONSUMER_OFFSETS, 0): 0}
    assert deleted(cluster, asked) == {
        T: (1, Error.NONE),
        ("u", 0): (NONE, Error.NOT_LEADER_OR_FOLLOWER),
        ("t", 1): (NONE, Error.UNKNOWN_TOPIC_OR_PARTITION),
        ("v", 0): (NONE, Error.UNKNOWN_TOPIC_OR_PARTITION),
        (TRANSACTION_STATE, 0): (NONE, Error.INVALID_TOPIC_EXCEPTION),
        (CONSUMER_OFFSETS, 0): (NONE, Error.INVALID_TOPIC_EXCEPTION),
    }
    assert deleted(cluster, {}) == {}


@pytest.mark.parametrize(
    ("policy", "error"), [("compact", Error.POLICY_VIOLATION), ("compact,delete", Error.NONE), ("delete", Error.NONE)]
)
def test_a_topic_that_is_only_compacted_keeps_its_records(policy: str, error: int) -> None:
    embedded = on(FaultDisk(), LogConfig(cleanup_policy=policy))
    produced(embedded, 2)
    assert deleted(embedded, {T: 1})[T][1] == error
    embedded.close()


def test_what_is_deleted_may_be_part_of_an_open_or_an_aborted_transaction() -> None:
    cluster = Cluster(settings=SETTINGS, topics={"t": 1})
    identity = cluster.ask(InitProducerId(4, "x", 60_000, NONE, NONE))
    assert isinstance(identity, InitProducerIdAnswer)
    who = identity.producer_id, identity.producer_epoch
    for sequence in range(3):
        records = (Record(None, b"v"),)
        cluster.ask(Produce(12, "x", -1, {T: (SentBatch(Batch(*who, sequence, transactional=True, records=records)),)}))
    replica = cluster.brokers[1].partitions.replicas[T]
    assert deleted(cluster, {T: 2}) == {T: (2, 0)}
    assert replica.last_stable_offset == 2
    cluster.ask(EndTxn(4, "x", *who, False))
    assert replica.last_stable_offset == 4
    fetched = replica.fetch(2, Isolation.READ_COMMITTED)
    assert fetched.aborted == ((who[0], 0),)
    assert deleted(cluster, {T: -1}) == {T: (4, 0)}


# ---------------------------------------------------------------- followers


def test_followers_that_are_up_follow_before_the_answer() -> None:
    cluster = Cluster(3, settings=SETTINGS, topics={"t": [(1, 2, 3)]})
    produced(cluster, 5)
    assert deleted(cluster, {T: 4}) == {T: (4, 0)}
    assert {cluster.stores[node, T].log.start_offset for node in (1, 2, 3)} == {4}
    cluster.elect(T, 2)
    assert start_of(cluster, 2) == 4


def test_a_follower_that_is_down_is_not_waited_for_and_follows_when_it_is_back() -> None:
    cluster = Cluster(2, settings=SETTINGS, topics={"t": [(1, 2)]})
    produced(cluster, 5)
    cluster.stop(2)
    assert deleted(cluster, {T: 4}) == {T: (4, 0)}
    cluster.start(2)
    assert cluster.stores[2, T].log.start_offset == 4


def test_a_follower_that_has_nothing_of_what_is_left_begins_anew() -> None:
    cluster = Cluster(2, settings=SETTINGS, topics={"t": [(1, 2)]})
    produced(cluster, 2)
    cluster.stop(2)
    produced(cluster, 4)
    assert deleted(cluster, {T: 5}) == {T: (5, 0)}
    cluster.start(2)
    logs = [cluster.stores[node, T].log for node in (1, 2)]
    assert [(log.start_offset, log.end_offset) for log in logs] == [(5, 6), (5, 6)]
    assert list(logs[0].read()) == list(logs[1].read())
    cluster.elect(T, 2)
    produced(cluster, 1, node=2)
    assert logs[1].end_offset == 7


def test_nobody_is_told_that_records_are_gone_which_a_follower_still_has(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(2, settings=SETTINGS, topics={"t": [(1, 2)]})
    produced(cluster, 5)
    monkeypatch.setattr(MemoryLog, "raise_start", _only_first(cluster))
    exchange = cluster.send(DeleteRecords(2, {T: 4}, timeout_ms=500), 1)
    cluster.settle()
    assert exchange.answer is None
    assert isinstance(cluster.clock, ManualClock)
    cluster.clock.advance(500)
    cluster.end_waits()
    cluster.settle()
    assert exchange.answer == RecordsDeleted({T: (0, Error.REQUEST_TIMED_OUT)})


def _only_first(cluster: Cluster) -> object:
    """The log of node 1 does what it is told."""
    raise_start, leading = MemoryLog.raise_start, cluster.stores[1, T].log

    def raised(log: MemoryLog, offset: int) -> None:
        if log is leading:
            raise_start(log, offset)

    return raised


def test_who_loses_its_office_says_so() -> None:
    cluster = Cluster(2, settings=SETTINGS, topics={"t": [(1, 2)]})
    produced(cluster, 5)
    cluster.elect(T, 2)
    assert deleted(cluster, {T: 4}) == {T: (NONE, Error.NOT_LEADER_OR_FOLLOWER)}


# ---------------------------------------------------------------- on a disk


def starts_after_crashes(nodes: int) -> list[tuple[int, int, int]]:
    """At every operation: the last start that was told, the one that was asked for, the one after a crash there."""
    disk = FaultDisk()
    embedded = on(disk, nodes=nodes)
    produced(embedded, 12)
    told, points = [0], list[tuple[FaultDisk, int, int]]()
    for offset, asked in ((3, 3), (7, 7), (-1, 12)):
        disk.before = lambda end=asked: points.extend(
            (disk.survivor(fate, Random(len(points))), told[-1], end) for fate in Fate
        )
        told.append(deleted(embedded, {T: offset})[T][0])
    produced(embedded, 1)
    disk.before = None
    assert told == [0, 3, 7, 12]
    found = []
    for survivor, least, asked in points:
        again = on(survivor, nodes=nodes)
        assert again.cluster.stores[1, T].log.end_offset >= 12
        found.append((least, asked, start_of(again)))
        again.abandon()
    return found


@pytest.mark.sample("1")
@pytest.mark.parametrize("nodes", [1, 2])
def test_what_was_answered_outlives_a_crash_at_every_operation(nodes: int) -> None:
    found = starts_after_crashes(nodes)
    assert len(found) > 50
    assert [each for each in found if not each[0] <= each[2] <= each[1]] == []


def test_a_start_that_is_not_kept_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    raise_start = SegmentLog.raise_start

    def forgetful(log: SegmentLog, offset: int) -> None:
        if len(log.held) > 1 and log.held[1].base_offset <= offset:
            raise_start(log, offset)
        log.start_offset = offset

    monkeypatch.setattr(SegmentLog, "raise_start", forgetful)
    assert any(start < least for least, _, start in starts_after_crashes(1))


def starts_after_crashes_with_the_only_snapshot() -> list[int]:
    """The starts after a crash at each operation of a deletion beyond the snapshot that a clean stop has left."""
    disk, points = FaultDisk(), list[FaultDisk]()
    embedded = on(disk)
    produced(embedded, 3)
    assert deleted(embedded, {T: 2})[T] == (2, Error.NONE)
    embedded.close()
    embedded = on(disk)
    produced(embedded, 2)
    disk.before = lambda: points.extend(disk.survivor(fate, Random(len(points))) for fate in Fate)
    assert deleted(embedded, {T: 5})[T] == (5, Error.NONE)
    produced(embedded, 1)
    disk.before = None
    assert len(points) > 20
    found = []
    for survivor in points:
        again = on(survivor)
        found.append(start_of(again))
        again.abandon()
    return found


def test_the_only_snapshot_goes_behind_the_start_that_makes_it_unnecessary() -> None:
    assert set(starts_after_crashes_with_the_only_snapshot()) == {2, 5}


def test_a_snapshot_that_goes_too_early_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    raise_log_start = Replica.raise_log_start

    def early(replica: Replica, offset: int) -> None:
        replica.producers.snapshots.delete_before(offset)
        raise_log_start(replica, offset)

    monkeypatch.setattr(Replica, "raise_log_start", early)
    assert NONE in starts_after_crashes_with_the_only_snapshot()


def test_a_disk_that_fails_is_answered_with_a_storage_error() -> None:
    disk = FaultDisk()
    embedded = on(disk)
    produced(embedded, 4)
    disk.plan = Plan(disk.operations + 1, Fault.EIO, repeats=True)
    assert deleted(embedded, {T: 2})[T] == (NONE, Error.KAFKA_STORAGE_ERROR)
    disk.plan = Plan()
    assert deleted(embedded, {T: 3})[T] == (NONE, Error.KAFKA_STORAGE_ERROR)
    embedded.abandon()
