"""Snapshots of producer state as files in a partition's folder: ``<offset>.snapshot``."""

from collections.abc import Callable

from zombieproof.broker.partition.log import StorageFailure
from zombieproof.broker.store.disk import Disk
from zombieproof.broker.store.known_logs import SNAPSHOT
from zombieproof.broker.store.segment import file_name


class SnapshotFiles:
    """The snapshots of one partition; a store of `partition.snapshots`.

    Args:
        fail: closes the log beside them when the disk fails.
    """

    def __init__(self, disk: Disk, directory: str, fail: Callable[[OSError], StorageFailure]) -> None:
        self._disk, self._directory, self._fail = disk, directory, fail

    def offsets(self) -> tuple[int, ...]:
        """The offsets for which there is a snapshot, ascending."""
        names = (name.removesuffix(SNAPSHOT) for name in self._disk.listed(self._directory) if name.endswith(SNAPSHOT))
        return tuple(sorted(int(name) for name in names if name.isdecimal()))

    def write(self, offset: int, data: bytes) -> None:
        """Keep `data` for `offset`: on the disk when this returns, but for the name, which comes with the next sync.

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

    def read(self, offset: int) -> bytes | None:
        """What is kept for `offset`, or None."""
        try:
            return self._disk.read(self._path(offset)) if self._disk.exists(self._path(offset)) else None
        except OSError:
            return b""  # As one that is damaged: an older one is read, or the log.

    def delete(self, offset: int) -> bool:
        """Remove the file; False if there was none."""
        if not self._disk.exists(self._path(offset)):
            return False
        try:
            self._disk.remove(self._path(offset))
        except OSError as error:
            raise self._fail(error) from error
        return True

    def _path(self, offset: int) -> str:
        return f"{self._directory}/{file_name(offset, SNAPSHOT)}"
