"""A running cluster whose disk fails: reports, failover, and another attempt every second.

Theory of operation: a log that cannot be written is closed (`Log.failure`), and one that cannot be read is offline
(`Log.offline`); the cluster continues without them (`Cluster.lost_store`). Once a second each folder with closed logs
is written to. If that works, its logs are opened again as after a crash: batches that were never durable, and never
acknowledged, are dropped. Checkpoints and ``cluster.json`` are written again later.
"""

import logging
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.data_directory import DataDirectory
from zombieproof.broker.partition.log import StorageFailure

RETRY_MS = 1_000
"""How often a disk that has failed is tried again."""
REPORT_MS = 10_000
"""How often a failure that lasts is reported."""
LOGGER = logging.getLogger("zombieproof.broker")


@dataclass(slots=True)
class Storage:
    """The data directory of a running cluster.

    `saved` is the version of the metadata that is on the disk.
    """

    cluster: Cluster
    data: DataDirectory
    saved: int = -1
    _save_again_ms: int = 0
    _report_ms: int | None = None
    _untold: int = 0
    _failed: set[int] = field(default_factory=set)

    def begin(self) -> None:
        """The cluster runs: it is saved, and from now on it continues when the disk fails.

        Raises:
            OSError: the disk fails now.
        """
        # Replicas in older copies of folders are in sync no more, on the disk, before these count as current.
        self.data.save()
        self.data.begin_generation()
        self.data.save()
        self.saved, self.data.is_serving = self.cluster.metadata.version, True
        self.data.offsets_can_go = self.cluster.offsets_can_go
        self.cluster.metadata.keep_deletion = self._keep_deletion

    # ---------------------------------------------------------------- logs

    def mind_logs(self) -> bool:
        """Act on logs that were found damaged or cannot be written any more; False: there are none."""
        found = False
        for node, directory in self.data.logs.items():
            for log in directory.take_troubled():
                partition = directory.partition_of(log)
                if node in self.cluster.brokers and directory.logs.get(partition) is log:
                    if log.failure is not None:
                        self._report(str(log.failure))
                        self._failed.add(node)
                    self.cluster.lost_store(node, partition)
                    found = True
        return found

    def try_again(self) -> None:
        """Open closed logs again where the disk can be written again, or say that it still cannot."""
        for node in sorted(self._failed):
            with self.survives():
                self._try_again(node)

    def _try_again(self, node: int) -> None:
        directory = self.data.logs[node]
        closed = directory.closed
        if not closed:
            self._failed.discard(node)
        if not closed or node not in self.cluster.brokers:
            return
        fault = directory.fault_of_writing()
        if fault is not None:
            if self._is_due and (refused := directory.take_refused()):
                self._report(f"{fault}. Logs that are closed: {len(closed)}; refused writes: {refused}")
            return
        sound = 0
        for partition in closed:
            store = self.data.reopen(node, partition)
            if store is not None:
                self.cluster.reopened(node, partition, store)
                sound += store.log.offline is None
        if not directory.closed:
            self._failed.discard(node)
            self._report_ms = None
            if sound:
                LOGGER.warning("%s: %d logs are written again", self.data.disk.name(directory.path), sound)

    # ---------------------------------------------------------------- everything else

    def _keep_deletion(self, topics: Collection[str]) -> None:
        """Topics are to be deleted: the disk knows that first.

        Raises:
            OSError: it refuses; that was reported.
        """
        if not topics:
            return
        try:
            self.data.keep_deletion(topics)
        except OSError as error:
            self._report(f"{_of(error, self.data)}; not deleted: {', '.join(topics)}")
            raise

    def save(self) -> bool:
        """Write ``cluster.json`` if it has changed; False: the disk refuses, and a call a second later tries again."""
        if self.saved == self.cluster.metadata.version:
            return True
        now_ms = self.cluster.clock.now_ms()
        if now_ms < self._save_again_ms <= now_ms + RETRY_MS:
            return False
        version = self.cluster.metadata.version
        with self.survives():
            self.data.save()
            self.saved = version
        self._save_again_ms = 0 if self.saved == version else now_ms + RETRY_MS
        return self.saved == version

    @contextmanager
    def survives(self) -> Iterator[None]:
        """Report a failure of the disk inside this block, and continue."""
        try:
            yield
        except OSError as error:
            self._report(_of(error, self.data))
        except StorageFailure as failure:
            self._report(str(failure))

    @property
    def _is_due(self) -> bool:
        """Whether the last report is ten seconds old; the first failure is reported at once."""
        now_ms = self.cluster.clock.now_ms()
        return self._report_ms is None or not self._report_ms <= now_ms < self._report_ms + REPORT_MS

    def _report(self, text: str) -> None:
        if not self._is_due:
            self._untold += 1
            return
        LOGGER.error("%s%s", text, f" (failures that were not reported: {self._untold})" if self._untold else "")
        self._report_ms, self._untold = self.cluster.clock.now_ms(), 0


def _of(error: OSError, data: DataDirectory) -> str:
    return f"{error.filename or data.disk.name('')}: {error.strerror or error}"
