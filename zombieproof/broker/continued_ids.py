"""Transactional ids whose newest states a repair has lost: they continue above the epochs that the data shows.

A coordinator that acts on an older state would use epochs that the partitions fence: its markers would be refused, and
the id would stay locked. A partition that has records of a newer epoch of the producer shows that the transaction of
the older state was completed there, so that no marker is due.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from zombieproof.broker.coordinator.store import last_values
from zombieproof.broker.store.disk import Disk
from zombieproof.broker.store.segment import LOG
from zombieproof.formats.batches import Batch, Record, TransactionValue
from zombieproof.formats.segments import PartKind, parts_of
from zombieproof.formats.topics import TopicPartition
from zombieproof.model.vocabulary import NONE

Epochs = Mapping[int, Mapping[TopicPartition, int]]
"""The newest epoch of a producer id in each partition."""


def segments_of(disk: Disk, folder: str) -> Iterator[bytes]:
    """The bytes of the segments in a folder, in order."""
    if disk.exists(folder):
        for name in sorted(disk.listed(folder)):
            if name.endswith(LOG) and name[:20].isdecimal():
                yield disk.read(f"{folder}/{name}")


def epochs_in(disk: Disk, folders: Iterable[tuple[TopicPartition, str]]) -> Epochs:
    """The epochs in the sound batches of the logs in these folders."""
    found: dict[int, dict[TopicPartition, int]] = {}
    for partition, folder in folders:
        for data in segments_of(disk, folder):
            for part in parts_of(memoryview(data)):
                header = part.header
                if part.kind is PartKind.BATCH and header is not None and header.producer_id != NONE:
                    of_producer = found.setdefault(header.producer_id, {})
                    of_producer[partition] = max(of_producer.get(partition, NONE), header.producer_epoch)
    return found


def continued(batches: Sequence[Batch], epochs: Epochs, base_offset: int) -> Batch | None:
    """A batch of states at `base_offset` with which the ids of a log of states continue; None: none needs one."""
    changed = {
        name: above
        for name, value in last_values(batches).items()
        if (above := _above(value, epochs.get(value.producer_id, {}))) != value
    }
    if not changed:
        return None
    return Batch(
        records=tuple(Record(name, value) for name, value in changed.items()),
        last_offset_delta=len(changed) - 1,
        base_offset=base_offset,
        leader_epoch=max((batch.leader_epoch for batch in batches), default=0),
        timestamp_ms=max(value.last_update_ms for value in changed.values()),
    )


def _above(value: TransactionValue, epochs: Mapping[TopicPartition, int]) -> TransactionValue:
    """The state with the newest epoch, and without the partitions in which its transaction was completed."""
    newest = max(epochs.values(), default=NONE)
    if newest <= value.producer_epoch:
        return value
    left = frozenset(each for each in value.partitions if epochs.get(each, NONE) <= value.producer_epoch)
    return replace(value, producer_epoch=newest, partitions=left)
