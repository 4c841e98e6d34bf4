"""A data directory is compared with what is recorded of it: rebuilt, or refused with a remedy that works."""

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache

import pytest

from tests.store.clients import COMPACTED, Notebook
from tests.store.crashing import crash_points
from tests.store.damages import exchange_snapshots
from tests.store.workloads import C0, DATA, SETTINGS, T0, T1, WORKLOADS, Stage, open_on
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.data_directory import DataDirectoryError
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.inspection import inspect
from zombieproof.broker.partition.log import Damaged
from zombieproof.broker.repairing import Repairs
from zombieproof.broker.store.fault_disk import Fate, FaultDisk
from zombieproof.broker.store.findings import NOTHING
from zombieproof.broker.store.known_logs import (
    SEGMENTS,
    SNAPSHOT,
    FolderState,
    LogState,
    SegmentState,
    read_folder_state,
    read_log_states,
    write_folder_state,
    write_log_states,
)
from zombieproof.broker.store.segment_log import SegmentLog
from zombieproof.formats.batches import Batch, Marker, Record
from zombieproof.formats.encoding import write_batch
from zombieproof.formats.faults import Undecodable
from zombieproof.formats.record_batch import HEADER, LOG_OVERHEAD, BatchHeader
from zombieproof.formats.topics import TRANSACTION_STATE, TopicPartition
from zombieproof.messages.partitions import (
    DeleteRecords,
    DescribeProducers,
    DescribeProducersAnswer,
    Fetch,
    FetchAnswer,
    Produce,
    ProduceAnswer,
    SentBatch,
)
from zombieproof.messages.transactions import InitProducerId, InitProducerIdAnswer
from zombieproof.model.vocabulary import NONE, Error, Isolation

LATER_MS = 44_000_000
OURS = ("log-state-checkpoint", "segment-checkpoint", "cluster-copy.json")
"""The files that an earlier version did not write."""
T0_FOLDER, C0_FOLDER = "broker-1/t-0", f"broker-1/{COMPACTED}-0"
Damage = Callable[[FaultDisk], None]


# ---------------------------------------------------------------- directories


@cache
def stopped(*, is_clean: bool, is_old: bool = False) -> FaultDisk:
    """A directory with several segments, aborted transactions, a log that was compacted and one that starts later."""
    disk = FaultDisk()
    stage = Stage(disk, Notebook(), 0)
    for workload, size in (("transactions", 48), ("compaction", 8)):
        stage.size = size
        WORKLOADS[workload](stage)
    stage.embedded.ask(DeleteRecords(2, {T1: 5}))
    stage.clock.advance(1_000)
    stage.embedded.pump()
    if is_clean:
        stage.embedded.close()
    else:
        stage.embedded.abandon()
    found = disk.copy()
    found.close()
    if is_old:
        for path in [each for each in found._names if each.endswith(OURS)]:
            found.remove(path)
        text = found.read("cluster.json").decode()
        found.truncate("cluster.json", 0)
        found.write("cluster.json", 0, re.sub(r',\s*"checksum": "\w+"', "", text).encode())
    return found


def reading(embedded: Embedded) -> dict[TopicPartition, object]:
    """What consumers read of each partition that was written, and where it starts."""
    found: dict[TopicPartition, object] = {}
    for partition in (*DATA, C0):
        start = embedded.cluster.stores[1, partition].log.start_offset
        answers = []
        for isolation in (Isolation.READ_COMMITTED, Isolation.READ_UNCOMMITTED):
            answer = embedded.ask(Fetch(12, isolation, {partition: start}), 1)
            assert isinstance(answer, FetchAnswer)
            fetched = answer.partitions[partition]
            answers.append((fetched.error, visible(fetched.batches, fetched.aborted or ())))
        found[partition] = start, answers
    return found


def visible(batches: Sequence[Batch], aborted: Sequence[tuple[int, int]]) -> list[tuple[object, ...]]:
    """What a consumer makes of an answer: markers, and the records of transactions that are not aborted."""
    found, aborting = list[tuple[object, ...]](), set[int]()
    firsts = sorted(aborted, key=lambda each: -each[1])
    for batch in batches:
        while firsts and firsts[-1][1] <= batch.last_offset:
            aborting.add(firsts.pop()[0])
        if batch.marker is not None:
            aborting.discard(batch.producer_id)
            found.append((batch.base_offset, batch.producer_id, batch.marker.committed))
        elif not (batch.transactional and batch.producer_id in aborting):
            found += [(at, each.key, each.value) for at, each in zip(batch.offsets, batch.records, strict=True)]
    return found


def opened(disk: FaultDisk) -> tuple[dict[TopicPartition, object], list[str]]:
    """What is read of a directory, and what its start reports."""
    lines: list[str] = []
    with listening(lines):
        embedded = open_on(disk, ManualClock(LATER_MS))
        found = reading(embedded)
        embedded.abandon()
    return found, lines


@contextmanager
def listening(lines: list[str]) -> Iterator[None]:
    """What brokers report is added to `lines`, and goes nowhere else."""
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]  # to listen
    logger = logging.getLogger("zombieproof.broker")
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = True


def refusal_of(disk: FaultDisk) -> str:
    """Why a start refuses a directory, or takes one of its partitions offline."""
    lines: list[str] = []
    with listening(lines):
        try:
            embedded = open_on(disk, ManualClock(LATER_MS))
        except Damaged as error:
            disk.close()
            return str(error)
    embedded.abandon()
    offline = [line for line in lines if "is offline" in line]
    assert len(offline) == 1, lines
    return offline[0]


@cache
def expected(*, is_clean: bool) -> dict[TopicPartition, object]:
    found, lines = opened(stopped(is_clean=is_clean).copy())
    assert not lines, "a sound directory has nothing to rebuild"
    return found


def segments(disk: FaultDisk, folder: str, suffix: str = ".log") -> list[str]:
    return [f"{folder}/{name}" for name in disk.listed(folder) if name.endswith(suffix)]


def boundaries(data: bytes) -> list[int]:
    """Where the batches of a log begin."""
    found, at = list[int](), 0
    while at + HEADER.size <= len(data):
        found.append(at)
        at += BatchHeader(*HEADER.unpack_from(data, at)).length + LOG_OVERHEAD
    return found


def last(disk: FaultDisk, folder: str, suffix: str = ".log") -> str:
    """The last segment with something in it."""
    return [path for path in segments(disk, folder, suffix) if disk.size(path)][-1]


def put(disk: FaultDisk, path: str, data: bytes) -> None:
    disk.truncate(path, 0)
    disk.write(path, 0, data)


def flip(suffix: str, folder: str = "broker-1/t-0") -> Damage:
    def act(disk: FaultDisk) -> None:
        disk.damage(last(disk, folder, suffix), 8 * 11)

    return act


def cut_last_batch(disk: FaultDisk) -> None:
    path = last(disk, T0_FOLDER)
    disk.truncate(path, boundaries(disk.read(path))[-1])


def remove_folder(folder: str) -> Damage:
    return lambda disk: disk.remove(folder)


def remove_segment(disk: FaultDisk, folder: str, base_offset: str) -> None:
    for path in segments(disk, folder, ""):
        if path.startswith(f"{folder}/{base_offset}."):
            disk.remove(path)


# ---------------------------------------------------------------- rebuilt


REBUILT: dict[str, tuple[Damage, str]] = {
    "offset index": (flip(".index"), r"\.index: it is not what was written"),
    "time index": (flip(".timeindex"), r"\.timeindex: it is not what was written"),
    "aborted transactions cut": (
        lambda disk: disk.truncate(last(disk, T0_FOLDER, ".txnindex"), 0),
        r"\.txnindex: it is not what was written",
    ),
    "aborted transactions flipped": (flip(".txnindex"), r"\.txnindex: it is not what was written"),
    "aborted transactions deleted": (
        lambda disk: disk.remove(last(disk, T0_FOLDER, ".txnindex")),
        r"\.txnindex: it is missing",
    ),
    "leader epochs of another log": (
        lambda disk: put(disk, f"{T0_FOLDER}/leader-epoch-checkpoint", b"0\n2\n0 0\n7 3\n"),
        "leader-epoch-checkpoint: it is not what was written",
    ),
    "leader epochs deleted": (
        lambda disk: disk.remove(f"{T0_FOLDER}/leader-epoch-checkpoint"),
        "leader-epoch-checkpoint: it is missing",
    ),
    "log starts deleted": (
        lambda disk: disk.remove("broker-1/log-start-offset-checkpoint"),
        "log-start-offset-checkpoint: it is missing",
    ),
    "log starts garbled": (
        lambda disk: put(disk, "broker-1/log-start-offset-checkpoint", b"0\n7\n"),
        "log-start-offset-checkpoint: a checkpoint of 7 entries has 0",
    ),
    "recovery points garbled": (
        lambda disk: put(disk, "broker-1/recovery-point-offset-checkpoint", b""),
        "recovery-point-offset-checkpoint: a checkpoint begins",
    ),
    "our record of logs": (
        lambda disk: disk.damage("broker-1/log-state-checkpoint", 80),
        "log-state-checkpoint: its checksum does not match",
    ),
    "our record of segments": (
        lambda disk: disk.damage(f"{T0_FOLDER}/segment-checkpoint", 80),
        "segment-checkpoint: its checksum does not match",
    ),
    "record of segments of another partition": (
        lambda disk: put(disk, f"{T0_FOLDER}/segment-checkpoint", disk.read("broker-1/t-1/segment-checkpoint")),
        "segment-checkpoint: it is of partition 1",
    ),
    "topic id": (
        lambda disk: put(disk, f"{T0_FOLDER}/partition.metadata", b"version: 0\n"),
        "partition.metadata: it holds no topic id",
    ),
    "snapshot of another partition": (
        lambda disk: put(disk, last(disk, T0_FOLDER, ".snapshot"), disk.read(last(disk, "broker-1/t-1", ".snapshot"))),
        r"\.snapshot: it is not what was written",
    ),
    "copy of the cluster file": (lambda disk: put(disk, "cluster-copy.json", b"{"), "cluster-copy.json: the file"),
}


@pytest.mark.parametrize("is_clean", [True, False])
@pytest.mark.parametrize("name", REBUILT)
def test_a_file_that_the_batches_tell_is_rebuilt_with_one_line(name: str, is_clean: bool) -> None:
    disk = stopped(is_clean=is_clean).copy()
    damage, words = REBUILT[name]
    if not is_clean and name in ("offset index", "time index"):
        pytest.skip("after a crash the index of the last segment is rebuilt in any case: the clean stop is tested")
    damage(disk)
    found, lines = opened(disk)
    assert found == expected(is_clean=is_clean)
    assert len(lines) == 1
    assert re.search(words, lines[0]), lines
    assert opened(disk) == (found, []), "once is enough"


# ---------------------------------------------------------------- refused


REFUSED: dict[str, tuple[Damage, str]] = {
    "the last batch is cut off": (cut_last_batch, r"\.log: (it has \d+ bytes, and had|damaged at byte|it ends at)"),
    "the last segment is empty": (lambda disk: disk.truncate(last(disk, T0_FOLDER), 0), r"\.log: "),
    "the last segment is missing": (lambda disk: disk.remove(last(disk, T0_FOLDER)), r"\.log: "),
    "the first segment is missing": (
        lambda disk: disk.remove(segments(disk, T0_FOLDER)[0]),
        r"00000000000000000000.log: it is missing, with the offsets 0 to",
    ),
    "a sealed segment of a compacted log is empty": (
        lambda disk: disk.truncate(segments(disk, C0_FOLDER)[0], 0),
        r"\.log: it has 0 bytes, and had",
    ),
    "a sealed segment of a compacted log is missing": (
        lambda disk: remove_segment(disk, C0_FOLDER, "00000000000000000000"),
        r"00000000000000000000.log: it is missing",
    ),
    "the log of another partition": (
        lambda disk: put(disk, segments(disk, T0_FOLDER)[0], disk.read(segments(disk, "broker-1/t-1")[0])),
        r"its first batch is not the one that was there",
    ),
    "the folder of a partition is missing": (
        remove_folder(T0_FOLDER),
        r"t-0: the folder is missing, with the offsets 0 to",
    ),
    "the folder of a broker is missing": (remove_folder("broker-1"), r"broker-1: the folder is missing or empty"),
    "the cluster file is missing": (lambda disk: disk.remove("cluster.json"), r"cluster.json: it is missing"),
    "the cluster file has another number": (
        lambda disk: put(disk, "cluster.json", disk.read("cluster.json").replace(b'"nodes": 1', b'"nodes": 2')),
        r"cluster.json: its checksum does not match. If you have edited it, remove the line",
    ),
    "the identity of another broker": (
        lambda disk: put(disk, "broker-1/meta.properties", b"version=1\ncluster.id=x\nnode.id=1\n"),
        r"meta.properties: cluster.id is x",
    ),
    "a folder that nobody knows": (
        lambda disk: disk.rename(T0_FOLDER, "broker-1/other-0"),
        r"broker-1/other-0: cluster.json knows no such partition",
    ),
}


@pytest.mark.parametrize("is_clean", [True, False])
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_missing_is_named_and_the_remedy_works(name: str, is_clean: bool) -> None:
    disk = stopped(is_clean=is_clean).copy()
    damage, words = REFUSED[name]
    damage(disk)
    reported = refusal_of(disk)
    assert re.search(words, reported), reported
    assert "estore it from a backup, or see what a repair keeps and loses: zombieproof repair" in reported
    before = {path: disk.read(path) for path, content in disk._names.items() if content is not None}
    repairs = Repairs(disk, "kept")
    planned = repairs.plan()[1]
    assert planned
    assert before == {path: disk.read(path) for path, content in disk._names.items() if content is not None}
    done = repairs.apply()
    found, _ = opened(disk)
    if all(each.loses == NOTHING for each in done):
        assert found == expected(is_clean=is_clean)
    disk.close()
    embedded = open_on(disk, ManualClock(LATER_MS))
    old_ends = {partition: end_of(rows) for partition, rows in expected(is_clean=is_clean).items()}
    if "broker-1" not in {each.finding.path for each in done}:
        for partition, end in old_ends.items():
            assert embedded.cluster.stores[1, partition].log.end_offset >= end, "no offset is given twice"
    embedded.close()
    for path in repairs.set_aside:
        assert disk.exists(f"kept/{path}")


@pytest.mark.parametrize("is_clean", [True, False])
def test_folders_of_one_topic_that_were_swapped_are_refused_with_their_names(is_clean: bool) -> None:
    disk = stopped(is_clean=is_clean).copy()

    def swap() -> None:
        for old, new in ((T0_FOLDER, "aside"), ("broker-1/t-1", T0_FOLDER), ("aside", "broker-1/t-1")):
            disk.rename(old, new)

    swap()
    reported = refusal_of(disk)
    for was, now in ((1, 0), (0, 1)):
        assert f"broker-1/t-{now}: the folder holds t-{was}, and is called t-{now}" in reported
        assert f"ename the folder to t-{was}" in reported
    assert not Repairs(disk, "kept").apply()
    swap()
    assert opened(disk)[0] == expected(is_clean=is_clean)


def end_of(rows: object) -> int:
    """The offset behind the last batch of a reading."""
    _, answers = rows  # type: ignore[misc]  # as `reading` gives it
    return max((row[0] for row in answers[1][1]), default=-1) + 1  # type: ignore[has-type]


def test_a_directory_of_an_earlier_version_opens_and_is_recorded() -> None:
    for is_clean in (True, False):
        disk = stopped(is_clean=is_clean, is_old=True).copy()
        assert opened(disk) == (expected(is_clean=is_clean), [])
        assert disk.exists("broker-1/log-state-checkpoint")
        assert disk.exists(f"{T0_FOLDER}/segment-checkpoint")


@pytest.mark.parametrize("name", ["the last batch is cut off", "the folder of a partition is missing"])
def test_a_directory_of_an_earlier_version_is_compared_with_kafkas_checkpoints(name: str) -> None:
    disk = stopped(is_clean=True, is_old=True).copy()
    REFUSED[name][0](disk)
    assert "recovery-point-offset-checkpoint" in refusal_of(disk)
    Repairs(disk, "kept").apply()
    opened(disk)


def test_the_aborted_transactions_of_an_earlier_version_are_taken_from_the_batches() -> None:
    for is_clean in (True, False):
        disk = stopped(is_clean=is_clean, is_old=True).copy()
        for path in [*segments(disk, T0_FOLDER, ".txnindex"), *segments(disk, C0_FOLDER, ".txnindex")]:
            put(disk, path, b"")
        assert opened(disk)[0] == expected(is_clean=is_clean)


def test_a_cluster_file_that_is_gone_with_its_copy_is_rebuilt_from_the_folders() -> None:
    disk = stopped(is_clean=True).copy()
    disk.remove("cluster.json")
    disk.remove("cluster-copy.json")
    with pytest.raises(Damaged, match=r"cluster.json: it is missing"):
        open_on(disk, ManualClock(LATER_MS))
    disk.close()
    assert not disk.exists("cluster.json"), "nothing is written before"
    assert "the settings of topics" in Repairs(disk, "kept").apply()[0].loses
    assert opened(disk)[0] == expected(is_clean=True)


def test_the_line_of_the_checksum_may_be_removed_as_the_error_says() -> None:
    disk = stopped(is_clean=True).copy()
    text = (
        disk.read("cluster.json").decode().replace('"delete.retention.ms": "30000"', '"delete.retention.ms": "30001"')
    )
    put(disk, "cluster.json", re.sub(r',\s*"checksum": "\w+"', "", text).encode())
    assert opened(disk)[0] == expected(is_clean=True)


def test_a_directory_that_kafka_wrote_is_refused_with_the_commands_that_read_it(tmp_path: object) -> None:
    path = tmp_path / "kafka"  # type: ignore[operator]  # a path
    (path / "__cluster_metadata-0").mkdir(parents=True)
    (path / "meta.properties").write_text("version=1\nnode.id=1\n")
    with pytest.raises(DataDirectoryError, match=r"data directory of Kafka.*zombieproof replay .*zombieproof audit "):
        Embedded(path, settings=SETTINGS)


# ---------------------------------------------------------------- what continues


def given_id(embedded: Embedded) -> int:
    answer = embedded.ask(InitProducerId(5, None, 60_000, NONE, NONE))
    assert isinstance(answer, InitProducerIdAnswer)
    return answer.producer_id


@pytest.mark.parametrize("has_copy", [True, False])
def test_ids_and_epochs_continue_above_those_in_the_logs_after_an_older_cluster_file(has_copy: bool) -> None:
    disk = FaultDisk()
    for number in range(3):
        stage = Stage(disk, Notebook(), 4)
        WORKLOADS["transactions"](stage)
        if number == 2:
            used = max(given_id(stage.embedded), *(log.highest.producer_id for log in logs_of(stage.embedded)))
        epochs = {
            partition: log.leader_epochs[-1][0] for partition, log in by_partition(stage.embedded) if log.end_offset
        }
        stage.embedded.close()
        if number == 0:
            older = disk.read("cluster.json")
    put(disk, "cluster.json", older)
    if not has_copy:
        put(disk, "cluster-copy.json", older)
    embedded = open_on(disk, ManualClock(LATER_MS))
    metadata = embedded.cluster.metadata
    assert all(metadata.partitions[partition].leader_epoch > epoch for partition, epoch in epochs.items())
    assert given_id(embedded) > (used if has_copy else max(log.highest.producer_id for log in logs_of(embedded)))
    Stage.client(stage_on(embedded, disk), "a").send(T0, "after")
    assert embedded.cluster.brokers[1].partitions.replicas[T0].log.end_offset > 0
    embedded.close()
    opened(disk)


def test_segments_that_kafka_wrote_continue_with_higher_epochs_and_producer_ids() -> None:
    disk = FaultDisk()
    open_on(disk).close()
    disk.close()
    data = Batch(9_000, 2, 0, transactional=True, records=(Record(None, b"kafka"),), leader_epoch=40, timestamp_ms=1)
    end = Batch(9_000, 2, transactional=True, marker=Marker(True, 33), leader_epoch=41, timestamp_ms=1)
    log = write_batch(replace(data, base_offset=0)) + write_batch(replace(end, base_offset=1))
    put(disk, f"{T0_FOLDER}/00000000000000000000.log", log)
    put(disk, f"{T0_FOLDER}/leader-epoch-checkpoint", b"0\n2\n40 0\n41 1\n")
    for _ in range(2):
        embedded = open_on(disk, ManualClock(LATER_MS))
        metadata = embedded.cluster.metadata
        assert metadata.leader_epoch(T0) > 41
        assert metadata.leader_epoch((TRANSACTION_STATE, 0)) > 33
        assert given_id(embedded) > 9_000
        client = stage_on(embedded, disk).client("a")
        client.begin("x")
        assert client.send(T0, "after") == Error.NONE
        assert client.end(committed=True) == Error.NONE
        embedded.close()
    found, lines = opened(disk)
    rows = found[T0]
    assert isinstance(rows, tuple)
    assert [row[2] for row in rows[1][0][1] if row[2] is not True] == [b"kafka", b"after", b"after"]
    assert lines == []


def stage_on(embedded: Embedded, disk: FaultDisk) -> Stage:
    stage = object.__new__(Stage)
    stage.disk, stage.notes, stage.size, stage.embedded, stage._names = disk, Notebook(), 1, embedded, 0
    return stage


def by_partition(embedded: Embedded) -> list[tuple[TopicPartition, SegmentLog]]:
    return list(embedded.directories[1].logs.items())


def logs_of(embedded: Embedded) -> list[SegmentLog]:
    return [log for _, log in by_partition(embedded)]


# ---------------------------------------------------------------- the files themselves


def test_what_is_recorded_is_read_back_and_every_bit_of_it_counts() -> None:
    state = LogState("id", *range(1, 11))
    data = write_log_states({("t", 0): state})
    assert read_log_states(data).logs == {("t", 0): state}
    segment = SegmentState(*range(12))
    folder = FolderState("id", 2, 3, {0: segment}, ((1, 2),), {4: 5})
    other = write_folder_state(folder)
    assert read_folder_state(other) == folder
    for read, written in ((read_log_states, data), (read_folder_state, other)):
        for bit in range(8 * len(written)):
            changed = bytearray(written)
            changed[bit // 8] ^= 1 << bit % 8
            with pytest.raises(Undecodable):
                read(bytes(changed))


def test_an_inspection_of_a_sound_directory_finds_nothing_and_writes_nothing() -> None:
    for is_clean in (True, False):
        disk = stopped(is_clean=is_clean).copy()
        operations = disk.operations
        assert inspect(disk).findings == []
        assert disk.operations == operations


@pytest.mark.parametrize("is_deleted", [True, False])
@pytest.mark.parametrize("is_clean", [True, False])
def test_snapshots_that_alone_know_a_producer_are_not_rebuilt(is_deleted: bool, is_clean: bool) -> None:
    disk = FaultDisk()
    stage = Stage(disk, Notebook(), 1)
    gone, other = stage.client(None), stage.client(None)
    again = Batch(*gone.identity, 0, False, (Record(None, b"once"),))
    sent = [(gone, "once"), *((other, str(number) * 1_000) for number in range(4))]
    assert {client.send(T0, value) for client, value in sent} == {Error.NONE}
    stage.embedded.ask(DeleteRecords(2, {T0: 3}))
    stage.clock.advance(600_000)
    while stage.embedded.pump():
        pass
    (stage.embedded.close if is_clean else stage.embedded.abandon)()
    disk.close()
    snapshots = segments(disk, T0_FOLDER, ".snapshot")
    assert segments(disk, T0_FOLDER)[0] > f"{T0_FOLDER}/{1:020}.log", "nothing of the first producer is in the log"

    def offered(left: Sequence[str]) -> tuple[tuple[int, int], list[str], FaultDisk]:
        damaged, lines = disk.copy(), list[str]()
        for snapshot in snapshots:
            if snapshot not in left and is_deleted:
                damaged.remove(snapshot)
            elif snapshot not in left:
                damaged.damage(snapshot, 80)
        with listening(lines):
            embedded = open_on(damaged, ManualClock(LATER_MS))
            answer = embedded.ask(Produce(12, None, -1, {T0: (SentBatch(again),)}), 1)
            embedded.abandon()
        assert isinstance(answer, ProduceAnswer)
        damaged.close()
        told = answer.partitions[T0]
        return (told.error, told.base_offset), lines, damaged

    for snapshot in snapshots[1:]:  # The first one is where the log starts, and does not count.
        assert offered([snapshot])[0] == (Error.NONE, 0), f"{snapshot} tells that it was written"
    answer, lines, damaged = offered([])
    assert answer == (Error.KAFKA_STORAGE_ERROR, NONE), "the batch would be written twice"
    assert "and with it the producers from before offset" in "".join(lines)
    [repaired] = Repairs(damaged, "repaired").apply()
    assert "the last sequences of producers whose records are all below offset" in repaired.loses
    lines.clear()
    with listening(lines):
        open_on(damaged, ManualClock(LATER_MS)).close()
    assert "offline" not in "".join(lines)


# ---------------------------------------------------------------- snapshots of another log


def known_of(disk: FaultDisk) -> tuple[dict[TopicPartition, object], list[str]]:
    """The records and producers that a directory serves, and the reports of its start."""
    lines: list[str] = []
    with listening(lines):
        embedded = open_on(disk, ManualClock(LATER_MS))
        found = reading(embedded)
        answer = embedded.ask(DescribeProducers(0, (*DATA, C0)), 1)
        embedded.abandon()
    assert isinstance(answer, DescribeProducersAnswer)
    return found | {(topic, ~number): rows for (topic, number), rows in answer.partitions.items()}, lines


@pytest.mark.parametrize(
    ("workload", "size", "every"), [("restarts", 20, 7), ("compaction", 16, 9), ("transactions", 24, 7)]
)
def test_no_crash_leaves_a_snapshot_of_another_log_that_is_believed(workload: str, size: int, every: int) -> None:
    """Wherever a snapshot or its record was written: at a roll, a stop or a start, by a deletion or the cleaner."""

    def examine(survivor: FaultDisk, _: Notebook) -> list[str]:
        sound, lines = known_of(survivor.copy())
        faults = [line for line in lines if SNAPSHOT in line]
        exchange_snapshots(survivor)
        found, lines = known_of(survivor)
        if any("the producers from before" in line for line in lines):
            return faults
        return faults + [f"{each}: {sound[each]} -> {now}" for each, now in found.items() if now != sound[each]]

    within = (SNAPSHOT, f"{SEGMENTS}.tmp")
    reached = crash_points(workload, size, every=every, fates=(Fate.RANDOM,), examine=examine, within=within)
    assert reached.findings == []
