"""What Kafka does by a timer, each at its own interval: for a cluster that runs."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.partition.log import Damaged, StorageFailure
from zombieproof.broker.storage import RETRY_MS, Storage
from zombieproof.broker.store.log_directory import CHECKPOINT_INTERVAL_MS, LogDirectory

MARKERS_MS = 50
"""How often coordinators look at markers that could not be written."""
RETENTION_MS = 300_000
"""``log.retention.check.interval.ms``"""
CLEANER_MS = 15_000
"""``log.cleaner.backoff.ms``"""


def sweeps_of(cluster: Cluster) -> tuple[tuple[int, Callable[[], None]], ...]:
    """The sweeps of all brokers, each with its interval (ms): Kafka's settings say how often."""
    settings = cluster.settings
    return (
        (
            settings.transaction_abort_timed_out_transaction_cleanup_interval_ms,
            cluster.abort_timed_out_transactions,
        ),
        (settings.transaction_remove_expired_transaction_cleanup_interval_ms, cluster.remove_expired_ids),
        (settings.producer_id_expiration_check_interval_ms, cluster.expire_producers),
        (settings.offsets_retention_check_interval_ms, cluster.expire_offsets),
    )


@dataclass(slots=True)
class _Timer:
    interval_ms: int
    act: Callable[[], object]
    due_ms: int


@dataclass(slots=True)
class Timers:
    """The timers of all brokers of a cluster; `storage` is what it has on disk, if it has something."""

    cluster: Cluster
    storage: Storage | None
    _timers: list[_Timer] = field(default_factory=list)

    def __post_init__(self) -> None:
        cluster, now_ms = self.cluster, self.cluster.clock.now_ms()
        for interval_ms, act in (
            (MARKERS_MS, cluster.resend_markers),
            *sweeps_of(cluster),
            (RETENTION_MS, self._delete_old),
            (CLEANER_MS, self._clean),
            (RETRY_MS, self._try_again),
            (CHECKPOINT_INTERVAL_MS, self._checkpoint),
        ):
            self._timers.append(_Timer(interval_ms, act, now_ms + interval_ms))

    @property
    def directories(self) -> Mapping[int, LogDirectory]:
        """The logs on disk, by broker."""
        return {} if self.storage is None else self.storage.data.logs

    def survives(self) -> AbstractContextManager[None]:
        """What is inside may fail because of the disk."""
        return nullcontext() if self.storage is None else self.storage.survives()

    def _try_again(self) -> None:
        if self.storage is not None:
            self.storage.try_again()

    def run(self) -> bool:
        """Do what is due; False: nothing was. When the clock goes back, nothing waits for longer than its interval."""
        now_ms, ran = self.cluster.clock.now_ms(), False
        if self.cluster.next_wait_ms <= now_ms:
            self.cluster.end_waits()
            ran = True
        for timer in self._timers:
            if not timer.due_ms - timer.interval_ms <= now_ms < timer.due_ms:
                with self.survives():
                    timer.act()
                timer.due_ms, ran = now_ms + timer.interval_ms, True
        return ran

    def _checkpoint(self) -> None:
        """What was synced since the last checkpoint is noted, also while nothing more is written."""
        for directory in self.directories.values():
            with self.survives():
                directory.checkpoint()

    def _delete_old(self) -> None:
        """Old segments go, by the settings of their topics; files that were renamed long enough ago are removed."""
        for node, directory in self.directories.items():
            broker = self.cluster.brokers.get(node)
            for partition, log in directory.logs.items():
                replica = None if broker is None else broker.partitions.replicas.get(partition)
                if replica is not None and log.failure is None and log.offline is None:
                    with self.survives():
                        start = log.expired_before(replica.high_watermark)
                        if start > log.start_offset:
                            self.cluster.raise_log_start(node, partition, start)
                        log.remove_deleted()
            with self.survives():
                directory.discarded.remove()

    def _clean(self) -> None:
        """Each broker cleans its logs, the dirtiest first, until none is dirty enough."""
        for node, directory in self.directories.items():
            broker = self.cluster.brokers.get(node)
            replicas = {} if broker is None else broker.partitions.replicas
            while (dirt := directory.cleaner.dirtiest(replicas)) is not None:
                retention_ms = directory.logs[dirt.partition].config.delete_retention_ms
                try:
                    self.cluster.compact(node, dirt.partition, (dirt.first_dirty_offset, dirt.end_offset), retention_ms)
                except (StorageFailure, Damaged):
                    directory.cleaner.uncleanable.add(dirt.partition)
                with self.survives():
                    directory.checkpoint_cleaned()
