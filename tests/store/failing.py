"""Disks that fail without a crash: an error, no room, a sync that lies, at each operation in turn."""

import contextlib
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.store.clients import NoAnswer, Notebook
from tests.store.crashing import Reached, judge_survivor
from tests.store.workloads import WORKLOADS, Stage
from zombieproof.broker.partition.log import Damaged, StorageFailure
from zombieproof.broker.store.disk import RealDisk
from zombieproof.broker.store.fault_disk import Fate, Fault, FaultDisk, Plan

FAILURES = (OSError, StorageFailure, NoAnswer, Damaged)
"""What clients of a cluster see whose disk has failed."""
TMPFS_BYTES = 1 << 20


def run(workload: str, size: int, plan: Plan) -> tuple[FaultDisk, Notebook, bool]:
    """A workload on such a disk: the disk, what clients were told, and whether they noticed something."""
    disk, notes = FaultDisk(plan), Notebook()
    try:
        stage = Stage(disk, notes, size)
        WORKLOADS[workload](stage)
        if plan.fault is not Fault.LIE:
            stage.embedded.close()
    except FAILURES:
        return disk, notes, True
    return disk, notes, False


def disk_errors(workload: str, size: int, fault: Fault, *, every: int = 1, repeats: bool = False) -> Reached:
    """The fault at one of `every` operations; then the disk is sound, and opened again.

    A sync that lies loses what it should have saved if the power fails before the next one: that is counted, and no
    finding, for nobody can notice. With the power on nothing may be lost.
    """
    reached, number = Reached(), 0
    total = run(workload, size, Plan())[0].operations
    for number in range(1, total + 1, every):
        disk, notes, noticed = run(workload, size, Plan(number, fault, torn_at=7, repeats=repeats))
        reached.counts["runs"] += 1
        reached.counts["runs in which clients noticed"] += noticed
        for fate in (Fate.KEPT, Fate.DROPPED):
            found = judge_survivor(disk.survivor(fate), notes)
            if fault is Fault.LIE and fate is Fate.DROPPED:
                reached.counts["losses after a false sync"] += bool(found)
            else:
                reached.findings += [
                    f"{workload}, {fault.value} at operation {number}, {fate.value}: {each}" for each in found
                ]
    return reached


def full_tmpfs(workload: str) -> Reached | None:
    """A real file system of 1 MiB that fills up; None: this user may not mount one."""
    folder, reached = Path(tempfile.mkdtemp()), Reached()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={TMPFS_BYTES}", "tmpfs", folder], capture_output=True, check=False
    )
    try:
        if mounted.returncode != 0:
            return None
        notes = Notebook()
        with contextlib.suppress(*FAILURES):
            stage = Stage(RealDisk(folder), notes, 1 << 20)
            WORKLOADS[workload](stage)
            reached.findings.append("1 MiB was not full")
        stage.embedded.abandon()
        reached.counts["full file systems"] += 1
        with tempfile.TemporaryDirectory() as larger:
            shutil.copytree(folder, larger, dirs_exist_ok=True)
            reached.findings += [
                f"{workload} on a full tmpfs: {each}" for each in judge_survivor(RealDisk(Path(larger)), notes)
            ]
    finally:
        if mounted.returncode == 0:
            subprocess.run(["umount", folder], check=True)
        folder.rmdir()
    return reached
