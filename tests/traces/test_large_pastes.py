"""Evidence of many small parts is read and judged in a time that grows with its size, not with the square of it."""

import random
from pathlib import Path

import pytest

from tests.traces.dumps import PATH, Printed, text_of
from zombieproof.traces.evidence import PartitionLog
from zombieproof.traces.judging.gathering import clusters
from zombieproof.traces.judging.histories.coordinator_history import Doubt, IdHistory
from zombieproof.traces.readers import merge
from zombieproof.traces.readers.collect import collect

PARTS = 300


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Each comparison of two copies, and each look for the folder of one."""
    calls: list[str] = []
    contained, node_folder = merge._contained, merge.node_folder

    def count_contained(log: PartitionLog, better: PartitionLog) -> bool:
        calls.append("contained")
        return contained(log, better)

    def count_folder(log: PartitionLog) -> str:
        calls.append("folder")
        return node_folder(log)

    monkeypatch.setattr(merge, "_contained", count_contained)
    monkeypatch.setattr(clusters, "node_folder", count_folder)
    return calls


def test_many_logs_of_no_known_partition_are_not_all_compared(tmp_path: Path, compared: list[str]) -> None:
    parts = [text_of("4.3 batches", (Printed(0, 1, producer_id=number),), None) for number in range(PARTS)]
    (tmp_path / "paste.txt").write_text("".join(parts))
    assert len(collect([tmp_path]).logs) == PARTS
    assert len(compared) <= PARTS


def test_a_log_of_no_known_partition_that_repeats_another_is_left_out(tmp_path: Path) -> None:
    log = (Printed(0, 2, sequence=0), Printed(2, 1, marker="COMMIT"))
    (tmp_path / "a.txt").write_text(text_of("4.3", log))
    (tmp_path / "b.txt").write_text(text_of("4.3", log[:1], None))
    (tmp_path / "c.txt").write_text(text_of("4.3", (Printed(0, 2, producer_id=9, sequence=0),), None))
    assert [each.partition for each in collect([tmp_path]).logs] == [0, -1]


def test_logs_of_different_partitions_are_no_pairs(tmp_path: Path, compared: list[str]) -> None:
    paths = (PATH.replace("orders-0", f"orders-{number}") for number in range(PARTS))
    (tmp_path / "all.txt").write_text("".join(text_of("4.3", (Printed(0, 1),), path) for path in paths))
    evidence = collect([tmp_path])
    assert len(evidence.logs) == PARTS
    assert clusters.several_clusters(evidence) == []
    assert compared == []


@pytest.mark.parametrize("seed", range(20))
def test_doubts_are_asked_for_as_if_each_were_looked_at(seed: int) -> None:
    """Doubts come while the log is folded, and between two questions."""
    chance = random.Random(seed)
    history = IdHistory("orders-1", 0)
    for _ in range(30):
        first, last = sorted(chance.choices(range(12), k=2))
        doubt = Doubt(chance.randrange(3), chance.choice([first, None]), chance.choice([last, None, last]))
        history.doubts.append(doubt)
        for producer_id in range(4):
            for epoch in range(-1, 14):
                assert history.is_whole(producer_id, epoch) == (
                    not any(covers(each, producer_id, epoch) for each in history.doubts)
                )
        if chance.random() < 0.2:
            history = IdHistory("orders-1", 0)


def covers(doubt: Doubt, producer_id: int, epoch: int) -> bool:
    is_after = doubt.first_epoch is None or epoch >= doubt.first_epoch
    return doubt.producer_id == producer_id and is_after and (doubt.last_epoch is None or epoch <= doubt.last_epoch)
