"""A repair of a data directory: it can be interrupted and run again, and corrects leader epochs."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from random import Random

import pytest

from tests.store.clients import Notebook
from tests.store.damages import boundaries
from tests.store.workloads import C0, T0, Stage
from zombieproof.broker.repairing import Repairs
from zombieproof.broker.store.fault_disk import Fate, Fault, FaultDisk, Plan, PowerLost
from zombieproof.formats.segments import PartKind, parts_of

FOLDER = "broker-1/t-0"


@cache
def stopped(*, is_clean: bool) -> FaultDisk:
    """A directory whose log t-0 has four segments or more."""
    disk = FaultDisk()
    stage = Stage(disk, Notebook(), 0)
    client = stage.client(None)
    for number in range(64):
        client.send(T0, f"value {number}")
        client.send(C0, f"value {number}", key=f"key {number % 3}")
        stage.clock.advance(100)
    stage.clock.advance(2_000)
    while stage.embedded.pump():
        pass
    (stage.embedded.close if is_clean else stage.embedded.abandon)()
    disk.close()
    assert len(logs(disk, FOLDER)) > 3
    return disk


def logs(disk: FaultDisk, folder: str) -> list[str]:
    """The segments in a folder that hold something."""
    paths = (f"{folder}/{name}" for name in sorted(disk.listed(folder)) if name.endswith(".log"))
    return [path for path in paths if disk.size(path)]


def sound_batches(disk: FaultDisk, folder: str) -> list[bytes]:
    """Every sound batch of a log."""
    found = list[bytes]()
    for path in logs(disk, folder):
        data = disk.read(path)
        for part in parts_of(memoryview(data)):
            assert part.kind is PartKind.BATCH, (path, part)
            found.append(data[part.position : part.position + part.size])
    return found


def in_batches(disk: FaultDisk, *places: tuple[int, int]) -> None:
    """Turn a bit of a record in some batches, each given by its segment and its number there."""
    paths = logs(disk, FOLDER)
    for segment, number in places:
        starts = [*boundaries(disk.read(paths[segment]))]
        disk.damage(paths[segment], 8 * (starts[number] + 65))


def cut(disk: FaultDisk, segment: int) -> None:
    path = logs(disk, FOLDER)[segment]
    disk.truncate(path, disk.size(path) // 2)


def foreign(disk: FaultDisk, segment: int) -> None:
    in_batches(disk, (0, 0))
    path, other = logs(disk, FOLDER)[segment], logs(disk, "broker-1/c-0")[0]
    data = disk.read(other)
    disk.truncate(path, 0)
    disk.write(path, 0, data)


def without_cluster(disk: FaultDisk, *, copy: bool) -> None:
    disk.damage("cluster.json", 80)
    if not copy:
        disk.remove("cluster-copy.json")


DAMAGES: dict[str, Callable[[FaultDisk], object]] = {
    "the first batch of a sealed segment": lambda disk: in_batches(disk, (0, 0)),
    "the first batch of the second segment": lambda disk: in_batches(disk, (1, 0)),
    "the last batch of a sealed segment": lambda disk: in_batches(disk, (1, -1)),
    "two batches of two segments": lambda disk: in_batches(disk, (0, 1), (2, 0), (2, 1)),
    "the first batch of the last segment": lambda disk: in_batches(disk, (-1, 0)),
    "the last batch": lambda disk: in_batches(disk, (-1, -1)),
    "a sealed segment that is cut": lambda disk: cut(disk, 1),
    "the last segment, cut": lambda disk: cut(disk, -1),
    "a segment of another log, and a batch": lambda disk: foreign(disk, 2),
    "a segment that is missing": lambda disk: disk.remove(logs(disk, FOLDER)[1]),
    "the folder of a log": lambda disk: disk.remove(FOLDER),
    "cluster.json": lambda disk: without_cluster(disk, copy=True),
    "cluster.json and its copy": lambda disk: without_cluster(disk, copy=False),
    "meta.properties of another cluster": lambda disk: disk.write("broker-1/meta.properties", 30, b"xyz"),
}


def survivors(damaged: FaultDisk, fate: Fate | None = None) -> Iterator[tuple[FaultDisk, str]]:
    """What crashes at every operation of a repair leave, each with its name; `fate` None: each in its turn."""
    whole = damaged.copy()
    Repairs(whole, "kept").apply()
    for operation in range(1, whole.operations + 1):
        disk = damaged.copy()
        disk.plan = Plan(operation, Fault.CRASH)
        with suppress(PowerLost):
            Repairs(disk, "kept").apply()
        left = [*Fate][operation % len(Fate)] if fate is None else fate
        yield disk.survivor(left, Random(operation)), f"{operation}: {disk.log[-1]}, {left.value}"


@pytest.mark.share(2)
@pytest.mark.sample("two batches")
@pytest.mark.parametrize("name", DAMAGES)
def test_a_repair_that_was_interrupted_loses_no_more_when_it_is_run_again(name: str) -> None:
    damaged = stopped(is_clean="last" not in name).copy()
    DAMAGES[name](damaged)
    whole = damaged.copy()
    assert Repairs(whole, "kept").apply()
    assert Repairs(whole, "kept").plan()[1] == []
    expected = [sound_batches(whole, folder) for folder in (FOLDER, "broker-1/c-0")]
    for disk, crash in survivors(damaged):
        Repairs(disk, "kept again").apply()
        assert Repairs(disk, "kept again").plan()[1] == [], crash
        assert [sound_batches(disk, folder) for folder in (FOLDER, "broker-1/c-0")] == expected, crash


@pytest.mark.parametrize("name", ["two batches of two segments", "cluster.json"])
def test_what_a_repair_replaces_is_kept_wherever_it_is_interrupted(name: str) -> None:
    damaged = stopped(is_clean=True).copy()
    DAMAGES[name](damaged)
    originals = {path: damaged.read(path) for path in (*logs(damaged, FOLDER), "cluster.json")}
    for disk, crash in survivors(damaged, Fate.DROPPED):
        for path, data in originals.items():
            held = [each for each in (path, f"kept/{path}") if disk.exists(each)]
            assert any(disk.read(each) == data for each in held), (path, crash)


def test_the_next_start_refuses_a_segment_that_a_repair_has_begun_to_replace() -> None:
    damaged = stopped(is_clean=True).copy()
    in_batches(damaged, (1, 0))
    due = (each for disk, _ in survivors(damaged, Fate.KEPT) for each in Repairs(disk, "kept again").plan()[1])
    faults = {each.finding.fault for each in due}
    assert "a repair of it was interrupted" in faults, faults


# ---------------------------------------------------------------- leader epochs


@cache
def of_three_epochs() -> FaultDisk:
    """A directory of a cluster that was started three times; its log t-0 has segments of one and of many batches."""
    disk = FaultDisk()
    stage = Stage(disk, Notebook(), 0)
    for start in range(3):
        client = stage.client(None)
        for number in range(12):
            client.send(T0, f"{start} {number}")
        client.send(T0, 1_600 * "long")
        if start < 2:
            stage.restart()
    stage.embedded.close()
    disk.close()
    return disk


def with_all_records(disk: FaultDisk) -> None:
    """Nothing is changed."""


def without_records(disk: FaultDisk) -> None:
    disk.remove(f"{FOLDER}/segment-checkpoint")
    disk.remove("broker-1/log-state-checkpoint")


def without_checkpoint(disk: FaultDisk) -> None:
    disk.remove(f"{FOLDER}/leader-epoch-checkpoint")


def with_batches_alone(disk: FaultDisk) -> None:
    without_records(disk)
    without_checkpoint(disk)


@pytest.mark.parametrize("bit", [7, 24, 25], ids=["negative", "one off", "two off"])
@pytest.mark.parametrize("prepare", [with_all_records, without_records, without_checkpoint, with_batches_alone])
def test_a_leader_epoch_that_is_damaged_is_corrected(prepare: Callable[[FaultDisk], object], bit: int) -> None:
    original, tried = sound_batches(of_three_epochs(), FOLDER), 0
    for segment, path in enumerate(paths := logs(of_three_epochs(), FOLDER)):
        starts = [*boundaries(of_three_epochs().read(path))]
        for number in sorted({0, 1, len(starts) // 2, len(starts) - 1} & {*range(len(starts))}):
            is_recorded = prepare in (with_all_records, without_checkpoint)
            if not is_recorded and bit != 7 and not 0 < number < len(starts) - 1:
                continue  # At a change of epochs, batches that are not recorded do not tell which one is right.
            disk = of_three_epochs().copy()
            prepare(disk)
            disk.damage(path, 8 * (starts[number] + 12) + bit)
            repaired = Repairs(disk, "kept").apply()
            faults = [each.finding.fault for each in repaired]
            assert len(faults) == 1 or (faults and not is_recorded), (segment, number, faults)
            assert Repairs(disk, "kept").plan()[1] == [], (segment, number)
            assert sound_batches(disk, FOLDER) == original, (segment, number)
            tried += 1
    assert tried >= len(paths)


def test_a_fault_that_a_repair_does_not_help_is_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    disk = stopped(is_clean=True).copy()
    in_batches(disk, (0, 0))
    monkeypatch.setattr(Repairs, "_salvage", lambda *_: None)
    assert len(Repairs(disk, "kept").apply()) == 1
