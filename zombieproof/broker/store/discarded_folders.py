"""Folders of topics that were deleted: renamed at once, so that nobody takes them for logs, and removed later.

What a crash leaves of a deletion is known by the id of its topic, which lies in each folder: the cluster has said that
it is gone before the first folder is renamed. Source: ``LogManager.asyncDelete``, ``UnifiedLog.logDeleteDirName``.
"""

from collections.abc import Iterable
from contextlib import suppress
from uuid import UUID, uuid4

from zombieproof.broker.cluster.clock import Clock
from zombieproof.broker.store.disk import Disk
from zombieproof.formats.faults import Undecodable
from zombieproof.formats.identity import TOPIC_IDENTITY, encoded, read_topic_id

DISCARDED = "-delete"
"""How the name of such a folder ends."""
LONGEST_NAME = 255


class DiscardedFolders:
    """The discarded folders below `path`, each with the time at which it goes."""

    def __init__(self, disk: Disk, path: str, clock: Clock) -> None:
        self._disk, self._path, self._clock = disk, path, clock
        self._renamed: list[tuple[int, str]] = []

    def add(self, directory: str, delay_ms: int) -> None:
        """Rename a partition's folder: a name that no partition has, no longer than a file system takes."""
        topic, _, number = directory.rpartition("/")[2].rpartition("-")
        ending = f"-{number}.{uuid4().hex}{DISCARDED}"
        path = f"{self._path}/{topic[: LONGEST_NAME - len(ending)]}{ending}"
        self._disk.rename(directory, path)
        self._renamed.append((self._clock.now_ms() + delay_ms, path))

    def remove(self, *, at_once: bool = False) -> None:
        """Remove those that were renamed long enough ago."""
        now_ms = self._clock.now_ms()
        for due_ms, path in self._renamed:
            if at_once or due_ms <= now_ms:
                self._disk.remove(path)
        self._renamed = [each for each in self._renamed if not at_once and each[0] > now_ms]

    def remove_left_over(self, topic_ids: Iterable[UUID]) -> None:
        """Remove those of the process before, and folders of topics with these ids, which a crash has left."""
        left = {encoded(each) for each in topic_ids}
        for name in self._disk.listed(self._path):
            directory = f"{self._path}/{name}"
            if name.endswith(DISCARDED):
                self._renamed.append((0, directory))
            elif left and self._topic_id_of(directory) in left:
                self.add(directory, 0)
        if self._renamed:
            self._disk.sync_directory(self._path)
            self.remove(at_once=True)

    def _topic_id_of(self, directory: str) -> str | None:
        path = f"{directory}/{TOPIC_IDENTITY}"
        with suppress(Undecodable):
            return read_topic_id(self._disk.read(path)) if self._disk.exists(path) else None
        return None
