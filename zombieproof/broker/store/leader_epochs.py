"""Where leader epochs begin in a log, and the checkpoint that says so.

Source: ``LeaderEpochFileCache.java``.
"""

from collections.abc import Iterable
from contextlib import suppress

from zombieproof.broker.store.known_logs import replace_file
from zombieproof.broker.store.log_files import LogFiles
from zombieproof.formats.checkpoints import read_leader_epochs, write_leader_epochs
from zombieproof.formats.faults import Undecodable
from zombieproof.model.vocabulary import NONE

LEADER_EPOCHS = "leader-epoch-checkpoint"


class LeaderEpochs:
    """The leader epochs of one log, oldest first, each with the offset of its first batch."""

    def __init__(self, files: LogFiles) -> None:
        self._files = files
        self._entries: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def entries(self) -> tuple[tuple[int, int], ...]:
        """All of them."""
        return tuple(self._entries)

    def at(self, offset: int) -> int:
        """The epoch under which a batch at `offset` was written, as far as is known; NONE: it is not."""
        return next((epoch for epoch, start in reversed(self._entries) if start <= offset), NONE)

    def contradicts(self, epoch: int, first_offset: int, end_offset: int) -> int | None:
        """The first offset from `first_offset` on, and below `end_offset`, of which another epoch is known."""
        starts = [first_offset, *(start for _, start in self._entries if start > first_offset)]
        return next((at for at in starts if at < end_offset and self.at(at) not in (NONE, epoch)), None)

    def know(self, entries: Iterable[tuple[int, int]]) -> None:
        """These are the epochs."""
        self._entries = list(entries)

    def cut(self, end_offset: int) -> None:
        """Forget those that begin at or behind `end_offset`."""
        self._entries = [entry for entry in self._entries if entry[1] < end_offset]

    def assign(self, epoch: int, offset: int) -> None:
        """A batch of `epoch` is to be at `offset`; where it is the first of it the checkpoint says so."""
        if self.begins(epoch, offset):
            self.write()

    def begins(self, epoch: int, offset: int) -> bool:
        """Whether the batch at `offset` is the first of its leader epoch; then it is noted."""
        is_first = epoch != NONE and (not self._entries or epoch > self._entries[-1][0])
        if is_first:
            self._entries.append((epoch, offset))
        return is_first

    def write(self) -> None:
        """Replace the checkpoint."""
        path = f"{self._files.directory}/{LEADER_EPOCHS}"
        replace_file(self._files.disk, path, write_leader_epochs(self._entries))
        self._files.names_changed = True

    def read(self) -> None:
        """Know what the checkpoint says; nothing where it cannot be read, for the batches say the same."""
        path = f"{self._files.directory}/{LEADER_EPOCHS}"
        self._entries = []
        if self._files.disk.exists(path):
            with suppress(Undecodable):
                self._entries = list(read_leader_epochs(self._files.disk.read(path)))
