"""What brokers leave on a disk conforms, as `replay` judges it; and what was changed in it does not."""

from pathlib import Path

import pytest

from tests.store.clients import Notebook
from tests.store.workloads import T0, WORKLOADS, Stage
from zombieproof import replay
from zombieproof.broker.store.disk import RealDisk
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.encoding import read_batches, write_batch
from zombieproof.messages.admin import CreateTopics, NewTopic
from zombieproof.messages.partitions import DeleteTopics, Produce, ProduceAnswer, SentBatch
from zombieproof.messages.transactions import AddPartitionsToTxn, EndTxn, EndTxnAnswer, TransactionToAdd
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


def transaction(stage: Stage, identity: tuple[int, int], sequence: int, committed: bool) -> None:
    """One transaction with one record, as clients before Kafka 4.0 write it: the epoch stays."""
    ask = stage.embedded.ask
    while ask(AddPartitionsToTxn(3, (TransactionToAdd("a", *identity, (T0,)),))).transactions[0].errors[T0]:
        stage.embedded.pump()
    batch = Batch(*identity, sequence, True, (Record(None, b"v"),), timestamp_ms=stage.clock.now_ms())
    written = ask(Produce(11, "a", -1, {T0: (SentBatch(batch),)}))
    assert isinstance(written, ProduceAnswer)
    assert written.partitions[T0].error == Error.NONE
    stage.clock.advance(100)
    ended = ask(EndTxn(3, "a", *identity, committed))
    assert isinstance(ended, EndTxnAnswer)
    assert ended.error == Error.NONE
    stage.clock.advance(100)


@pytest.mark.parametrize("counts_on", [True, False])
@pytest.mark.parametrize("pause_ms", [0, 5_000])
def test_a_topic_that_was_created_again_is_not_held_against_a_producer(
    counts_on: bool, pause_ms: int, tmp_path: Path
) -> None:
    """The producer keeps its epoch, and may keep counting, when its topic is deleted and created again."""
    stage = Stage(RealDisk(tmp_path), Notebook(), 0)
    identity, sequence = stage.client("a").identity, 0
    for life in range(3):
        for number in range(3):
            transaction(stage, identity, sequence, committed=number != 1)
            sequence += 1
        if life < 2:
            stage.embedded.ask(DeleteTopics(6, ("t",)))
            stage.clock.advance(pause_ms)
            stage.embedded.ask(CreateTopics(7, (NewTopic("t", 2, 1),)))
            sequence = sequence if counts_on else 0
    stage.embedded.close()
    report = replay(tmp_path)
    assert report.findings == []
    if counts_on or pause_ms:
        assert report.verdict is Judgement.CONFORMS
    else:  # Neither times nor sequences tell when the present log began.
        assert [gap.name for gap in report.not_judged] == ["t-0"]
