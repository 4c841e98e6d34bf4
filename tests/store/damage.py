"""One bit of a log turns: it is noticed when the log is recovered, or it is not in live data."""

from itertools import product
from uuid import UUID

from tests.store.crashing import Reached
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.partition.log import Damaged
from zombieproof.broker.store.config import Durability, LogConfig
from zombieproof.broker.store.contract import batch_of
from zombieproof.broker.store.fault_disk import FaultDisk
from zombieproof.broker.store.log_directory import LogDirectory
from zombieproof.broker.store.segment_log import SegmentLog
from zombieproof.formats.batches import Batch

LOG, INDEX = "d/t-0/00000000000000000000.log", "d/t-0/00000000000000000000.index"
BYTES = 64 << 10
RECORD = bytes(range(256)) * 16


def fixed_log() -> tuple[FaultDisk, list[Batch]]:
    """A log of 64 KiB, to the byte, that was closed in order."""
    disk = FaultDisk()
    directory = LogDirectory(disk, "d", ManualClock())
    log = directory.open_store(("t", 0), UUID(int=1)).log
    batches: list[Batch] = []
    while disk.exists(LOG) is False or disk.size(LOG) + 2 * len(RECORD) < BYTES:
        batches.append(log.append(batch_of(RECORD, RECORD[:-300], producer_id=len(batches))))
    # The last records are as long as it takes. The length of a length has steps: a second record fills them.
    room = BYTES - disk.size(LOG)
    for size, rest in product(range(room, 0, -1), range(3)):
        twin = disk.copy()
        again = LogDirectory(twin, "d", ManualClock()).open_store(("t", 0), UUID(int=1)).log
        again.append(batch_of(RECORD[:1] * size, RECORD[:1] * rest))
        if twin.size(LOG) == BYTES:
            batches.append(log.append(batch_of(RECORD[:1] * size, RECORD[:1] * rest)))
            break
    assert disk.size(LOG) == BYTES
    directory.close()
    return disk, batches


def is_noticed(disk: FaultDisk, batches: list[Batch], *, is_indexed: bool = False) -> bool:
    """Whether a start after a crash refuses the log, or whoever reads it then; a log that is taken is what it was.

    Args:
        disk: where it is.
        batches: what was in it.
        is_indexed: the start believes the index, and leaves what lies below its last entry to readers.

    Raises:
        AssertionError: it is taken, and is something else.
    """
    if disk.exists(INDEX) and not is_indexed:
        disk.remove(INDEX)
    log = SegmentLog(disk, "d/t-0", "t", LogConfig(), ManualClock(), Durability.FSYNC, lambda _: None)
    try:
        log.open(0, batches[-1].last_offset + 1, was_clean=False)
        found = list(log.read()) if is_indexed else None
    except Damaged:
        return True
    assert (list(log.read()) if found is None else found) == batches, "a damaged log was taken for sound"
    return False


def bit_flips(first: int, step: int, *, is_indexed: bool = False) -> Reached:
    """Every `step`th bit of the log, from `first` on; see `is_noticed`."""
    reached, (disk, batches) = Reached(), fixed_log()
    assert not is_noticed(disk, batches, is_indexed=is_indexed)
    reached.counts["bytes"] = disk.size(LOG) if first == 0 else 0
    for bit in range(first, 8 * disk.size(LOG), step):
        disk.damage(LOG, bit)
        try:
            noticed = is_noticed(disk, batches, is_indexed=is_indexed)
            reached.counts["bits noticed" if noticed else "bits outside live data"] += 1
        except AssertionError as error:
            reached.findings.append(f"bit {bit}: {error}")
        disk.damage(LOG, bit)
    return reached
