"""Snapshots of a partition's producer state, in Kafka's own bytes, and where they are kept.

A snapshot holds what a partition knew of its producers at an offset, but of the batches only the newest of each, and
no verification: that is what a broker remembers when it comes back. Source: reference §3.7.
"""

from collections.abc import Iterable
from typing import Protocol

from zombieproof.formats.faults import Undecodable
from zombieproof.formats.producer_snapshot import SnapshotEntry, has_snapshot_form, read_snapshot, write_snapshot
from zombieproof.model.records import ProducerEntry
from zombieproof.model.vocabulary import NONE, PartitionState


class SnapshotStore(Protocol):
    """Where the snapshots of one partition are kept: bytes under an offset."""

    def offsets(self) -> tuple[int, ...]:
        """The offsets for which there is a snapshot, ascending."""
        ...

    def write(self, offset: int, data: bytes) -> None:
        """Keep `data` for `offset`, in place of what was there."""
        ...

    def read(self, offset: int) -> bytes | None:
        """What is kept for `offset`, or None."""
        ...

    def delete(self, offset: int) -> bool:
        """Forget what is kept for `offset`; False if there was nothing."""
        ...

    def record(self) -> None:
        """Every snapshot that was written counts from now on, after a crash, too; the log is durable up to it."""
        ...


class MemorySnapshots:
    """Snapshots in memory. They outlive the broker that uses them, as a disk would."""

    def __init__(self) -> None:
        self._kept: dict[int, bytes] = {}

    def offsets(self) -> tuple[int, ...]:
        """The offsets for which there is a snapshot, ascending."""
        return tuple(sorted(self._kept))

    def write(self, offset: int, data: bytes) -> None:
        """Keep `data` for `offset`."""
        self._kept[offset] = data

    def read(self, offset: int) -> bytes | None:
        """What is kept for `offset`, or None."""
        return self._kept.get(offset)

    def delete(self, offset: int) -> bool:
        """Forget what is kept for `offset`; False if there was nothing."""
        return self._kept.pop(offset, None) is not None

    def record(self) -> None:
        """Every snapshot counts at once."""


def encode(entries: Iterable[tuple[int, ProducerEntry, int]]) -> bytes:
    """The snapshot of (producer id, entry, last timestamp in milliseconds) as Kafka writes it."""
    return write_snapshot(_entry_for(*each) for each in entries)


def _entry_for(producer_id: int, entry: ProducerEntry, timestamp_ms: int) -> SnapshotEntry:
    sequence, offset, delta = NONE, NONE, 0
    if entry.batch_count:
        newest = entry.batches[entry.batch_count - 1]
        sequence, offset, delta = newest.last_sequence, newest.last_offset, newest.offset_delta
    return SnapshotEntry(
        producer_id=producer_id,
        producer_epoch=entry.producer_epoch,
        last_sequence=sequence,
        last_offset=offset,
        offset_delta=delta,
        last_timestamp_ms=timestamp_ms,
        coordinator_epoch=entry.coordinator_epoch,
        current_txn_first_offset=entry.txn_first_offset,
    )


def entry_of(snapshot: SnapshotEntry) -> ProducerEntry:
    """The entry that a broker makes of an entry of a snapshot."""
    first = snapshot.current_txn_first_offset
    state = PartitionState.IDLE if first == NONE else PartitionState.IN_TRANSACTION
    entry = ProducerEntry(
        known=True,
        state=int(state),
        producer_epoch=snapshot.producer_epoch,
        coordinator_epoch=snapshot.coordinator_epoch,
        txn_first_offset=first,
    )
    if snapshot.last_offset != NONE:
        newest = entry.batches[0]
        newest.last_sequence, newest.last_offset = snapshot.last_sequence, snapshot.last_offset
        newest.offset_delta = snapshot.offset_delta
        entry.batch_count = 1
    return entry


class Snapshots:
    """What a broker knows of the snapshots of one partition.

    Args:
        store: where they are; what is there already is known at once.
    """

    def __init__(self, store: SnapshotStore) -> None:
        self._store = store
        self._known: set[int] = set(store.offsets())

    @property
    def offsets(self) -> tuple[int, ...]:
        """The offsets of the snapshots that are known, ascending."""
        return tuple(sorted(self._known))

    @property
    def newest(self) -> int | None:
        """The offset of the newest snapshot."""
        return max(self._known, default=None)

    @property
    def oldest(self) -> int | None:
        """The offset of the oldest snapshot."""
        return min(self._known, default=None)

    def write(self, offset: int, data: bytes) -> None:
        """Keep a snapshot."""
        self._store.write(offset, data)
        self._known.add(offset)

    def record(self) -> None:
        """Every snapshot that was written counts from now on; the log is durable up to it."""
        self._store.record()

    def load_newest(self) -> tuple[int, tuple[SnapshotEntry, ...]] | None:
        """The newest snapshot that can be read, with its offset; each newer one is deleted."""
        while (offset := self.newest) is not None:
            data = self._store.read(offset)
            try:
                return offset, read_snapshot(data or b"")
            except Undecodable:
                self.delete(offset)
        return None

    def newest_up_to(self, offset: int) -> tuple[int, bytes] | None:
        """The newest snapshot at or below `offset` that can be read, with its offset."""
        for known in reversed([each for each in self.offsets if each <= offset]):
            data = self._store.read(known) or b""
            if has_snapshot_form(data):
                return known, data
        return None

    def delete(self, offset: int) -> bool:
        """Delete one snapshot; False if somebody else has deleted it already."""
        self._known.discard(offset)
        return self._store.delete(offset)

    def delete_before(self, offset: int) -> None:
        """Delete every snapshot below `offset`."""
        self.keep_between(offset, None)

    def delete_all(self) -> None:
        """Delete every snapshot."""
        for offset in self.offsets:
            self.delete(offset)

    def keep_between(self, first: int, last: int | None) -> None:
        """Delete every snapshot below `first` or above `last`."""
        for offset in self.offsets:
            if offset < first or (last is not None and offset > last):
                self.delete(offset)

    def remove_strays(self, segments: Iterable[int]) -> None:
        """Delete what is at the start of no segment, but for one behind the last: a clean stop leaves it there."""
        bases = set(segments)
        newest, last_base = self.newest, max(bases, default=NONE)
        for offset in self.offsets:
            if offset not in bases and (offset != newest or offset < last_base):
                self.delete(offset)

    def look_again(self) -> None:
        """Know what is in the store now."""
        self._known = set(self._store.offsets())
