"""A crash at every operation of a disk: what is left is opened again, and what clients were told is held against it."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count
from random import Random

from tests.store.clients import Client, Notebook, fetch_offsets, read_all
from tests.store.workloads import C0, DATA, GROUP, T0, WORKLOADS, Stage, open_on
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.store.disk import Disk
from zombieproof.broker.store.fault_disk import Fate, FaultDisk
from zombieproof.model.vocabulary import Error, Isolation
from zombieproof.traces.history.judge import judge
from zombieproof.traces.history.verdict import HistoryFinding

IN = (("in", 0), ("in", 1))
LATER_MS = 44_000_000
"""Half a day after the workloads begin: no producer is forgotten for its silence."""
FOUR_KIB = 4096
GROUPS = ("simple", GROUP, f"{GROUP}0", f"{GROUP}1")


def judge_survivor(disk: Disk, past: Notebook) -> list[str]:
    """What is wrong with a disk that was left by clients with this history: it cannot be opened, or tells otherwise."""
    try:
        embedded = open_on(disk, ManualClock(LATER_MS))
        try:
            return [f"{each.anomaly}: {each.message}" for each in _judge_opened(embedded, past.copy())]
        finally:
            embedded.abandon()
    except Exception as error:  # noqa: BLE001  # whatever it is, the survivor is not what it should be
        return [f"{type(error).__name__}: {error}"]


def _judge_opened(embedded: Embedded, notes: Notebook) -> list[HistoryFinding]:
    """New clients take over and go on; then everything is read."""
    for transactional_id in ("a", "b"):
        client = Client(embedded, notes, f"after {transactional_id}", transactional_id)
        client.init()
        client.begin(f"after {transactional_id}")
        assert client.send(T0, f"after {transactional_id}") == Error.NONE
        assert client.end(committed=True) == Error.NONE
    plain = Client(embedded, notes, "after plain")
    plain.init()
    for partition in DATA:
        assert plain.send(partition, f"after plain in {partition[1]}") == Error.NONE, "its producer id is another's"
    while embedded.pump():
        pass
    for isolation in (Isolation.READ_COMMITTED, Isolation.READ_UNCOMMITTED):
        # Compaction removes what was aborted before the others have read it.
        for partition in (*DATA, C0) if isolation is Isolation.READ_COMMITTED else DATA:
            read_all(embedded, notes, f"{isolation.name} {partition}", partition, isolation)
    for group in GROUPS:
        fetch_offsets(embedded, notes, group, IN)
    return judge(notes.as_history()).findings


@dataclass
class Reached:
    """What a check has come to: how many of what, and what it has found."""

    counts: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)

    def add(self, other: "Reached") -> None:
        self.counts.update(other.counts)
        self.findings += other.findings


Examine = Callable[[FaultDisk, Notebook, str], None]


def crash_points(
    workload: str,
    size: int,
    *,
    every: int = 1,
    part: int = 0,
    fates: tuple[Fate, ...] = tuple(Fate),
    examine: Callable[[FaultDisk, Notebook], list[str]] = judge_survivor,
    within: tuple[str, ...] = (),
) -> Reached:
    """A workload once; at one of `every` operations of its disk what a crash there leaves is examined, by each fate.

    `part` says at which one: 0 to `every` - 1 together examine all. Operations are counted in the first part.
    `within`: only where the operation before was one on a file whose name ends so.
    """
    reached, disk, notes, points = Reached(), FaultDisk(), Notebook(), count(1)

    def look() -> None:
        if within and not (disk.log and disk.log[-1].endswith(within)):
            return
        point = next(points)
        reached.counts["operations"] += part == 0
        if point % every != part:
            return
        reached.counts["crash points"] += 1
        for fate in fates:
            survivor = disk.survivor(fate, Random(f"{workload} {point}"))
            reached.counts["recoveries"] += 1
            found = examine(survivor, notes)
            reached.findings += [f"{workload}, {fate.value} at operation {point}: {each}" for each in found]

    disk.before = look
    stage = Stage(disk, notes, size)
    WORKLOADS[workload](stage)
    stage.embedded.close()
    look()
    return reached


def crash_in_recovery(workload: str, size: int, images: int, *, part: int = 0, parts: int = 1) -> Reached:
    """So many survivors of a workload, spread over it; each is opened, and crashes at every operation of that.

    `part` 0 to `parts` - 1 together examine all.
    """
    operations = crash_points(workload, size, every=1 << 30).counts["operations"]
    reached = Reached()

    def again(image: FaultDisk, notes: Notebook) -> list[str]:
        reached.counts["images"] += 1
        found = []

        def look() -> None:
            reached.counts["recoveries"] += 1
            chance = Random(f"{workload} {reached.counts['recoveries']}")
            survivor = image.survivor(list(Fate)[reached.counts["recoveries"] % len(Fate)], chance)
            found.extend(judge_survivor(survivor, notes))

        image.before = look
        open_on(image, ManualClock(LATER_MS)).abandon()
        return found

    step = max(operations // images, 1)
    outer = crash_points(workload, size, every=step * parts, part=step * part, fates=(Fate.RANDOM,), examine=again)
    reached.findings = outer.findings
    return reached


def torn_writes(workload: str, size: int, *, every: int = 1, part: int = 0, longest: int = 0) -> Reached:
    """The last write of a workload to the log of a partition is cut at every byte (at most 4 KiB).

    `longest`: a record of so many bytes is written last. `part` says at which one of `every` bytes: 0 to `every` - 1
    together cut at all.
    """
    disk, notes = FaultDisk(), Notebook()
    stage = Stage(disk, notes, size)
    last: dict[str, tuple[FaultDisk, Notebook, int]] = {}
    files = {f"broker-1/{name}/" for name in ("t-0", "__transaction_state-0")}

    def look(path: str, at: int, data: bytes) -> None:
        folder = path[: path.rfind("/") + 1]
        if folder in files and path.endswith(".log"):
            last[folder] = disk.survivor(Fate.KEPT), notes.copy(), len(data)
            cut[folder] = path, at, data

    cut: dict[str, tuple[str, int, bytes]] = {}
    disk.on_write = look
    WORKLOADS[workload](stage)
    if longest:
        # The topic takes what is larger than its segments: a record has one for itself then.
        replica = stage.embedded.cluster.brokers[1].partitions.replicas[T0]
        replica.config = replace(replica.config, segment_bytes=2 * longest)
        assert stage.client(None).send(T0, stage.name().ljust(longest, ".")) == Error.NONE
    reached = Reached()
    for folder, (image, past, length) in last.items():
        path, at, data = cut[folder]
        reached.counts["writes"] += part == 0
        reached.counts["writes of 4 KiB and more"] += part == 0 and length >= FOUR_KIB
        for kept in range(part, min(length, FOUR_KIB) + 1, every):
            survivor = image.copy()
            survivor.write(path, at, data[:kept])
            survivor.sync(path)
            reached.counts["cuts"] += 1
            found = judge_survivor(survivor, past)
            reached.findings += [f"{path} cut {kept} bytes into its last write: {each}" for each in found]
    return reached
