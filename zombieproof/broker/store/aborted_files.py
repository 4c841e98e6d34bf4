"""The index of aborted transactions over the segments of a log: each segment has a file of its own.

Source: ``TransactionIndex.java``, ``LocalLog.java``; reference §6.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

import crc32c

from zombieproof.broker.partition.aborted_index import AbortedTransaction
from zombieproof.broker.store.log_files import LogFiles
from zombieproof.broker.store.segment import TRANSACTION_INDEX
from zombieproof.formats.transaction_index import IndexEntry, write_index
from zombieproof.model.vocabulary import NONE


def _end_of(entry: AbortedTransaction) -> int:
    return entry.last_offset


class AbortedFiles:
    """The aborted transactions of one log of which its files tell, in the order of their markers.

    `first_doubtful`: from here on the batches have to tell of them; None: nowhere.
    """

    def __init__(self, files: LogFiles) -> None:
        self._files = files
        self.entries: list[AbortedTransaction] = []
        self.first_doubtful: int | None = None
        self._counted = (0, 0, 0, 0)

    def digest(self, base_offset: int, end_offset: int) -> tuple[int, int]:
        """How many transactions the segment from `base_offset` on lists that end below `end_offset`, and a checksum.

        Entries are appended for the most part: what was counted before is not counted again.
        """
        first = bisect_left(self.entries, base_offset, key=_end_of)
        count = bisect_left(self.entries, end_offset, key=_end_of) - first
        known_base, known, last, seal = self._counted
        if known_base != base_offset or not 0 < known <= count or self.entries[first + known - 1].last_offset != last:
            known, seal = 0, 0
        data = write_index(IndexEntry(*entry) for entry in self.entries[first + known : first + count])
        seal = int(crc32c.crc32c(data, seal))
        self._counted = base_offset, count, self.entries[first + count - 1].last_offset if count else NONE, seal
        return count, seal

    def add(self, entry: AbortedTransaction) -> None:
        """An aborted transaction ends with the newest marker.

        Raises:
            StorageFailure: the disk has failed.
        """
        with self._files.failing():
            segment = self._files.held[self._files.index_of(entry.last_offset)]
            self._files.names_changed |= segment.aborted_size == 0
            segment.add_aborted(IndexEntry(*entry))
        self._files.touched[segment.path(TRANSACTION_INDEX)] = None
        self.entries.append(entry)

    def forget_before(self, offset: int) -> None:
        """The segments below `offset` are gone, and their files with them."""
        self.entries = [entry for entry in self.entries if entry.last_offset >= offset]

    def rewrite_last(self) -> None:
        """The last segment's index of aborted transactions has those whose marker is still there."""
        self.entries = [entry for entry in self.entries if entry.last_offset < self._files.end_offset]
        if not self._files.held:
            return
        segment = self._files.held[-1]
        if segment.exists(TRANSACTION_INDEX):
            segment.cut_aborted(sum(entry.last_offset >= segment.base_offset for entry in self.entries))
            self._files.touched[segment.path(TRANSACTION_INDEX)] = None

    @staticmethod
    def digest_of(entries: Sequence[IndexEntry]) -> tuple[int, int]:
        """How many entries these are, and the checksum over them."""
        return len(entries), int(crc32c.crc32c(write_index(entries)))

    def read(self, synced_offset: int, doubtful_from: int | None = None) -> None:
        """What the indexes of aborted transactions say; from `first_doubtful` on they have to be made anew.

        Whatever ends below `synced_offset` was synced with its batches, and is in the segments before `doubtful_from`.
        """
        self.entries, self.first_doubtful, self._counted = [], None, (0, 0, 0, 0)
        for segment in self._files.held:
            entries, fault = segment.read_aborted()
            if fault is not None or segment.base_offset == doubtful_from:
                self.first_doubtful = segment.base_offset
                break
            is_last = segment is self._files.held[-1]
            synced = [entry for entry in entries if entry.last_offset < synced_offset or not is_last]
            self.entries += [AbortedTransaction(*entry) for entry in synced]
            if is_last and synced_offset < segment.end_offset:
                self.first_doubtful = max(segment.base_offset, synced_offset)

    def index_anew(self, entries: Iterable[AbortedTransaction]) -> None:
        """The aborted transactions from `first_doubtful` on, as the batches tell them."""
        if self.first_doubtful is None:
            return
        files = self._files
        with files.failing():
            first = files.index_of(self.first_doubtful)
            doubtful = {index: list[AbortedTransaction]() for index in range(first, len(files.held))}
            base_offset = files.held[first].base_offset
            kept = [entry for entry in self.entries if entry.last_offset >= base_offset]
            del self.entries[len(self.entries) - len(kept) :]
            for entry in (*kept, *entries):
                doubtful[files.index_of(entry.last_offset)].append(entry)
            for index, found in doubtful.items():
                files.held[index].replace_aborted(IndexEntry(*entry) for entry in found)
                self.entries += found
            files.names_changed = True
        self.first_doubtful, self._counted = None, (0, 0, 0, 0)
        files.flush()
