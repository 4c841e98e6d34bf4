"""What brokers leave on a disk conforms, as `replay` judges it; and what was changed in it does not."""

from pathlib import Path

import pytest

from tests.store.clients import Notebook
from tests.store.workloads import WORKLOADS, Stage
from zombieproof import replay
from zombieproof.broker.store.disk import RealDisk
from zombieproof.formats.encoding import read_batches, write_batch
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
