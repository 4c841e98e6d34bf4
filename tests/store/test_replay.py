"""What brokers leave on a disk conforms, as `replay` judges it; and what was changed in it does not."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

import pytest

from tests.store.clients import Notebook
from tests.store.damages import files_of
from tests.store.workloads import DATA, T0, WORKLOADS, Stage, open_on
from zombieproof import replay
from zombieproof.broker.store.disk import RealDisk
from zombieproof.broker.store.fault_disk import Fate, FaultDisk
from zombieproof.broker.store.log_directory import RECOVERY_POINTS
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.encoding import read_batches, write_batch
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.admin import CreateTopics, NewTopic
from zombieproof.messages.partitions import DeleteRecords, DeleteTopics, Produce, ProduceAnswer, SentBatch
from zombieproof.messages.transactions import (
    AddPartitionsToTxn,
    AddPartitionsToTxnAnswer,
    EndTxn,
    EndTxnAnswer,
    TransactionToAdd,
)
from zombieproof.model.vocabulary import Error
from zombieproof.traces.verdict.report import Judgement


def left_by(workload: str, folder: Path) -> None:
    stage = Stage(RealDisk(folder), Notebook(), 40)
    WORKLOADS[workload](stage)
    stage.embedded.close()


@pytest.mark.parametrize("workload", WORKLOADS)
def test_what_brokers_leave_on_a_disk_conforms(workload: str, tmp_path: Path) -> None:
    left_by(workload, tmp_path)
    report = replay(tmp_path)
    assert report.findings == []
    assert report.verdict is Judgement.CONFORMS


def test_a_marker_that_is_missing_is_found(tmp_path: Path) -> None:
    left_by("fences", tmp_path)
    log = next(iter(sorted((tmp_path / "broker-1" / "t-0").glob("*.log"))))
    batches = list(read_batches(log.read_bytes()))
    first = next(index for index, batch in enumerate(batches) if batch.marker is not None)
    kept = [batch for index, batch in enumerate(batches) if index != first]
    log.write_bytes(b"".join(write_batch(batch) for batch in kept))
    assert replay(tmp_path).findings


@pytest.mark.parametrize("fate", [None, Fate.KEPT])
@pytest.mark.parametrize(
    ("writers", "start", "ends"),
    [
        ("aa", 1, [("a", False)]),
        ("aba", 1, [("b", False), ("a", False)]),
        ("aba", 2, [("a", False), ("b", True)]),
        ("ab", 1, [("b", False), ("a", False)]),
        ("a", 1, [("a", False)]),
    ],
)
def test_records_deleted_inside_open_transactions_conform(
    writers: str, start: int, ends: list[tuple[str, bool]], fate: Fate | None, tmp_path: Path
) -> None:
    disk = FaultDisk()
    stage = Stage(disk, Notebook(), 0)
    clients = {name: stage.client(name) for name in "ab"}
    for name, client in clients.items():
        client.begin(name)
    for number, name in enumerate(writers):
        clients[name].send(T0, f"v{number}")
    stage.embedded.ask(DeleteRecords(2, {T0: start}))
    stage.clock.advance(1_500)
    stage.embedded.pump()
    if fate is None:
        stage.restart()
    else:
        stage.embedded.abandon()
        disk.close()
        stage.disk = disk = disk.survivor(fate)
        stage.embedded = open_on(disk, stage.clock)
    for name, committed in ends:
        clients[name].embedded = stage.embedded
        clients[name].end(committed=committed)
        stage.embedded.pump()
    stage.embedded.close()
    for path in files_of(disk):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(disk.read(path))
    report = replay(tmp_path)
    assert (report.findings, report.verdict) == ([], Judgement.CONFORMS)


@dataclass
class Script:
    """Transactions of the old protocol, drawn by chance, between which topics are deleted and created again.

    A producer keeps its epoch then, and may keep counting its sequences.
    """

    stage: Stage
    chance: Random
    counts_on: bool
    pauses_ms: tuple[int, ...] = (1, 20, 300, 3_000)
    sequences: dict[TopicPartition, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.identity = self.stage.client("a").identity

    def pause(self) -> None:
        self.stage.clock.advance(self.chance.choice(self.pauses_ms))

    def transaction(self, places: Sequence[TopicPartition], empty: Sequence[TopicPartition], committed: bool) -> None:
        """One transaction; partitions that are `empty` join it without records."""
        ask = self.stage.embedded.ask
        joins = AddPartitionsToTxn(3, (TransactionToAdd("a", *self.identity, tuple(places)),))
        while True:
            joined = ask(joins)
            assert isinstance(joined, AddPartitionsToTxnAnswer)
            if not any(joined.transactions[0].errors.values()):
                break
            self.stage.embedded.pump()
        for place in places:
            if place in empty:
                continue
            sequence, count = self.sequences.get(place, 0), self.chance.randint(1, 3)
            records, now_ms = (Record(None, b"v"),) * count, self.stage.clock.now_ms()
            sent = Batch(*self.identity, sequence, True, records, last_offset_delta=count - 1, timestamp_ms=now_ms)
            written = ask(Produce(11, "a", -1, {place: (SentBatch(sent),)}))
            assert isinstance(written, ProduceAnswer)
            assert written.partitions[place].error == Error.NONE
            self.sequences[place] = sequence + count
            self.pause()
        ended = ask(EndTxn(3, "a", *self.identity, committed))
        assert isinstance(ended, EndTxnAnswer)
        assert ended.error == Error.NONE
        self.pause()

    def recreate(self) -> None:
        self.stage.embedded.ask(DeleteTopics(6, ("t",)))
        self.pause()
        self.stage.embedded.ask(CreateTopics(7, (NewTopic("t", 2, 1),)))
        if not self.counts_on:
            self.sequences.clear()

    def play(self) -> None:
        for _ in range(self.chance.randint(4, 14)):
            if self.chance.random() < 0.2:
                self.recreate()
                continue
            places = self.chance.sample(DATA, self.chance.randint(1, 2))
            empty = [place for place in places if self.chance.random() < 0.15]
            self.transaction(places, empty, self.chance.random() < 0.7)
        self.end()

    def end(self) -> None:
        """The last transaction is completed, then the broker stops."""
        while self.stage.embedded.pump():
            pass
        self.stage.embedded.close()


@pytest.mark.long(*(f"[{seed}-" for seed in range(4, 40)))
@pytest.mark.sample("[0-")
@pytest.mark.parametrize("counts_on", [True, False])
@pytest.mark.parametrize("seed", range(40))
def test_a_topic_that_was_created_again_is_not_held_against_a_producer(
    seed: int, counts_on: bool, tmp_path: Path
) -> None:
    script = Script(Stage(RealDisk(tmp_path), Notebook(), 0), Random(seed), counts_on)
    script.play()
    report = replay(tmp_path)
    assert report.findings == []
    assert {gap.name for gap in report.not_judged} <= {"t-0", "t-1"}


@pytest.mark.parametrize("seed", [0, 7, 9])
def test_a_topic_that_was_created_again_in_the_same_millisecond_is_not_accused(seed: int, tmp_path: Path) -> None:
    script = Script(Stage(RealDisk(tmp_path), Notebook(), 0), Random(seed), counts_on=False, pauses_ms=(0,))
    script.play()
    report = replay(tmp_path)
    assert report.findings == []
    assert {gap.name for gap in report.not_judged} <= {"t-0", "t-1"}


@pytest.mark.parametrize("place", DATA)
def test_a_marker_of_the_present_topic_that_is_missing_is_not_taken_for_one_of_the_earlier(
    place: TopicPartition, tmp_path: Path
) -> None:
    script = Script(Stage(RealDisk(tmp_path), Notebook(), 0), Random(1), counts_on=False, pauses_ms=(300,))
    for _ in range(2):
        script.transaction(DATA, (), committed=True)
        script.recreate()
    for _ in range(3):
        script.transaction(DATA, (), committed=True)
    script.end()
    log = tmp_path / "broker-1" / f"{place[0]}-{place[1]}" / f"{0:020}.log"
    batches = list(read_batches(log.read_bytes()))
    at = next(index for index, batch in enumerate(batches) if batch.marker is not None)
    behind = [replace(batch, base_offset=batch.base_offset - 1) for batch in batches[at + 1 :]]
    log.write_bytes(b"".join(map(write_batch, [*batches[:at], *behind])))
    for witness in (*log.parent.glob("*.snapshot"), log.parent.parent / RECOVERY_POINTS):
        witness.unlink()  # It tells that one offset more was there.
    found = [finding.promise for finding in replay(tmp_path).findings]
    assert "every_listed_partition_has_its_marker" in found
