"""Snapshots of producer state as files in a partition's folder: ``<offset>.snapshot``."""

from zombieproof.broker.store.known_logs import SNAPSHOT, checksum
from zombieproof.broker.store.segment import file_name
from zombieproof.broker.store.segment_log import SegmentLog


class SnapshotFiles:
    """The snapshots of one partition; a store of `partition.snapshots`.

    Args:
        log: the log of the partition. It is closed when the disk fails, and its record says which snapshots count.
    """

    def __init__(self, log: SegmentLog) -> None:
        self._log, self._disk, self._directory, self._fail = log, log.disk, log.directory, log.fail

    def offsets(self) -> tuple[int, ...]:
        """The offsets for which there is a snapshot, ascending."""
        names = (name.removesuffix(SNAPSHOT) for name in self._disk.listed(self._directory) if name.endswith(SNAPSHOT))
        return tuple(sorted(int(name) for name in names if name.isdecimal()))

    def write(self, offset: int, data: bytes) -> None:
        """Keep `data` for `offset`: on the disk when this returns, but for the name, which comes with the next sync.

        No start believes it before it is recorded: when the log rolls or is closed, or by `record`.

        Raises:
            StorageFailure: the disk has failed.
        """
        path = self._path(offset)
        try:
            if self._disk.exists(path):
                self._disk.truncate(path, 0)
            self._disk.write(path, 0, data)
            self._disk.sync(path)
        except OSError as error:
            raise self._fail(error) from error
        self._log.states.snapshots[offset] = checksum(data)
        self._log.names_changed = True

    def record(self) -> None:
        """Let the next start believe the snapshots that were written.

        Raises:
            StorageFailure: the disk has failed.
        """
        self._log.record_snapshots()

    def read(self, offset: int) -> bytes | None:
        """What is kept for `offset`, or None."""
        try:
            return self._disk.read(self._path(offset)) if self._disk.exists(self._path(offset)) else None
        except OSError:
            return b""  # As one that is damaged: an older one is read, or the log.

    def delete(self, offset: int) -> bool:
        """Remove the file; False if there was none."""
        self._log.states.snapshots.pop(offset, None)
        if not self._disk.exists(self._path(offset)):
            return False
        try:
            self._disk.remove(self._path(offset))
        except OSError as error:
            raise self._fail(error) from error
        return True

    def _path(self, offset: int) -> str:
        return f"{self._directory}/{file_name(offset, SNAPSHOT)}"
