"""The index of aborted transactions over the segments of a log: each segment has a file of its own.

Source: ``TransactionIndex.java``, ``LocalLog.java``; reference §6.
"""

from collections.abc import Iterable

from zombieproof.broker.partition.aborted_index import AbortedTransaction
from zombieproof.broker.store.log_files import LogFiles
from zombieproof.broker.store.segment import TRANSACTION_INDEX
from zombieproof.formats.transaction_index import IndexEntry


class AbortedFiles:
    """The aborted transactions of one log of which its files tell, in the order of their markers.

    `first_doubtful`: from here on the batches have to tell of them; None: nowhere.
    """

    def __init__(self, files: LogFiles) -> None:
        self._files = files
        self.entries: list[AbortedTransaction] = []
        self.first_doubtful: int | None = None

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

    def read(self, synced_offset: int) -> None:
        """What the indexes of aborted transactions say; from `first_doubtful` on they have to be made anew.

        Whatever ends below `synced_offset` was synced with its batches.
        """
        self.entries, self.first_doubtful = [], None
        for segment in self._files.held:
            entries, fault = segment.read_aborted()
            if fault is not None:
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
        self.first_doubtful = None
        files.flush()
