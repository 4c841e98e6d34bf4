"""The workloads do what they say: a workload whose requests are refused would show nothing."""

from collections import Counter

import pytest

from tests.store.clients import Notebook
from tests.store.crashing import GROUPS, judge_survivor
from tests.store.workloads import WORKLOADS, Stage
from zombieproof.broker.store.fault_disk import Fate, FaultDisk

EXPECTED = {
    "plain": {"acknowledged"},
    "transactions": {"acknowledged", "committed", "aborted", "offsets ok"},
    "fences": {"acknowledged", "committed", "aborted", "fenced"},
    "groups": {"acknowledged", "committed", "aborted", "offsets ok"},
    "restarts": {"acknowledged", "committed", "aborted"},
    "compaction": {"acknowledged", "committed", "aborted", "offsets ok"},
}


def told(workload: str, size: int = 24) -> tuple[FaultDisk, Notebook, Counter[str]]:
    disk, notes = FaultDisk(), Notebook()
    stage = Stage(disk, notes, size)
    WORKLOADS[workload](stage)
    stage.embedded.close()
    counts = Counter[str]()
    for event in notes.as_history().events:
        outcome = getattr(event, "outcome", None)
        counts["offsets ok" if (event.kind, outcome) == ("offsets_committed", "ok") else str(outcome)] += 1
    return disk, notes, counts


@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_workload_does_what_it_says(workload: str) -> None:
    disk, notes, counts = told(workload, 96 if workload == "plain" else 24)
    assert EXPECTED[workload] <= set(counts)
    assert judge_survivor(disk.survivor(Fate.DROPPED), notes) == []
    seals = [line for line in disk.log if line.startswith("write") and line.endswith(".index")]
    assert len(seals) > 4, "segments were sealed on the way"


def test_logs_are_compacted_while_transactions_are_open_and_long_over() -> None:
    disk = told("compaction")[0]
    swapped = [line for line in disk.log if line.startswith("rename") and line.endswith(".log.swap")]
    folders = {line.split()[1].rpartition("/")[0] for line in swapped}
    assert folders >= {"broker-1/c-0", "broker-1/__transaction_state-0"}
    assert len(swapped) > 5


def test_each_group_whose_offsets_are_looked_at_has_some() -> None:
    groups = set[str]()
    for workload in ("transactions", "groups"):
        events = told(workload)[1].as_history().events
        groups |= {event.group for event in events if event.kind == "commit_offsets"}
    assert groups == set(GROUPS)
