"""A cluster that runs: over logs on disk, or in memory, driven by whoever waits for an answer.

Theory of operation: there is no thread of its own unless `start` makes one. Whoever waits drives the cluster (`pump`):
he delivers what is in flight, then syncs all that waits to be durable at once, without keeping others from handing in
requests meanwhile, and delivers what that has released. Others who wait sleep until they have what they wait for; when
the driver has that, one of them drives on (`turns`). So the requests that come in while a disk syncs share the next
sync: a group commit, for any number of producers.
Source: DESIGN §6.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self
from uuid import uuid4

from zombieproof.broker.cluster.clock import Clock, ManualClock, SystemClock
from zombieproof.broker.cluster.cluster import Cluster, NoSuchNode, Replicas, in_memory
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.network import Answer, Exchange, Request
from zombieproof.broker.cluster.node import Store
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.store.cluster_file import FILE, metadata_of, read_cluster, saved_of, write_cluster
from zombieproof.broker.store.config import Durability, LogConfig
from zombieproof.broker.store.disk import Disk, InUse, RealDisk
from zombieproof.broker.store.log_directory import LogDirectory, Syncing, encoded, identify, sync_all
from zombieproof.broker.timers import Timers
from zombieproof.broker.turns import Turns, Waiter
from zombieproof.formats.topics import TopicPartition
from zombieproof.model.releases import RELEASES
from zombieproof.model.rules import Rules

LOCK = ".lock"
TICK_MS = 100
"""How often timers are looked at."""

Done = Callable[[Answer | None], None]
"""Called with the answer; None: the connection was lost."""


class DataDirectoryError(ValueError):
    """A path that cannot be the data directory of a cluster; nothing was touched."""


@dataclass(slots=True)
class _Submitted:
    request: Request
    node: int | None
    done: Done


class Embedded:
    """A cluster in this process. Its methods may be called by any thread.

    Args:
        path: the data directory, which is made where it is not there; None: everything is in memory.
        nodes: how many brokers; a directory that exists goes on with as many as it has.
        topics: topics that are to exist, each with its number of partitions or the replicas of each.
        durability: when an append counts as durable; see `Durability` for what each loses.
        clock: where the time comes from; the system's by default.
        configs: the settings of logs by topic; those that are not named have `default_config`.
        disk: the disk, in place of that of the operating system at `path`.

    Raises:
        DataDirectoryError: `path` is no data directory, of another version, in use, or may not be written.
        Damaged: what is in it cannot be believed; the error says where and what to do.
    """

    def __init__(  # noqa: PLR0913  # each has a default, and who builds a cluster names the few that matter
        self,
        path: Path | str | None = None,
        *,
        nodes: int = 1,
        topics: Mapping[str, int | Replicas] | None = None,
        settings: Settings | None = None,
        rules: Rules | None = None,
        durability: Durability = Durability.FSYNC,
        clock: Clock | None = None,
        default_config: LogConfig | None = None,
        configs: Mapping[str, LogConfig] | None = None,
        release: str = RELEASES[-1],
        journal: Journal | None = None,
        disk: Disk | None = None,
    ) -> None:
        self.clock = clock or SystemClock()
        self.lock, self._pumping = threading.RLock(), threading.Lock()
        self._turns, self._news = Turns(), threading.Event()
        self._submitted: deque[_Submitted] = deque()
        self._waiting: dict[int, tuple[Exchange, Done]] = {}
        self._thread: threading.Thread | None = None
        self._broken: BaseException | None = None
        self.is_closed = False
        self.directories: dict[int, LogDirectory] = {}
        self._disk = None if durability is Durability.MEMORY else _disk_at(path) if disk is None else disk
        self._metadata, was_clean, count = Metadata(), True, nodes
        try:
            if self._disk is not None:
                self._metadata, count = self._open(self._disk, nodes, durability, default_config, configs)
                was_clean = all(directory.was_clean for directory in self.directories.values())
            self.cluster = Cluster(
                count,
                rules,
                settings,
                {topic: given for topic, given in (topics or {}).items() if not self._metadata.count(topic)},
                self.clock,
                self._metadata,
                release,
                in_memory if self._disk is None else self._open_store,
                journal,
                was_clean,
            )
            self._saved = self._save()
            self._timers = Timers(self.cluster, self.directories)
            while self.pump():
                pass
        except BaseException:
            if self._disk is not None:
                self._disk.close()
            raise

    def _open(
        self,
        disk: Disk,
        nodes: int,
        durability: Durability,
        default: LogConfig | None,
        configs: Mapping[str, LogConfig] | None,
    ) -> tuple[Metadata, int]:
        """Take the lock, and know what the directory says of the cluster."""
        try:
            disk.lock(LOCK)
        except InUse as error:
            raise DataDirectoryError(
                f"{disk.name('')}: another process uses it: end that one, or choose another directory"
            ) from error
        saved = read_cluster(disk)
        self._cluster_id = encoded(uuid4()) if saved is None else saved.cluster_id
        metadata, count = (Metadata(), nodes) if saved is None else (metadata_of(saved), saved.nodes)
        if saved is None:
            # Whose directory it is stands there before anything is in it that could belong to another.
            write_cluster(disk, saved_of(self._cluster_id, count, metadata, 0))
        for node in range(1, count + 1):
            folder = f"broker-{node}"
            identify(disk, folder, {"version": "1", "cluster.id": self._cluster_id, "node.id": str(node)})
            self.directories[node] = LogDirectory(disk, folder, self.clock, durability, default, configs)
        metadata.producer_ids.keep = self._keep_next_id
        return metadata, count

    def _open_store(self, node: int, partition: TopicPartition) -> Store:
        return self.directories[node].open_store(partition, self._metadata.topic_ids[partition[0]])

    def _keep_next_id(self, next_id: int) -> None:
        """No block of producer ids is handed out before the disk knows that it is."""
        assert self._disk is not None, "in memory nobody keeps it"
        write_cluster(self._disk, saved_of(self._cluster_id, len(self.directories), self._metadata, next_id))

    def _save(self) -> int:
        """What the cluster knows of itself is on the disk; returned is its version."""
        if self._disk is not None:
            self._keep_next_id(self._metadata.producer_ids.next_id)
        return self._metadata.version

    # ---------------------------------------------------------------- requests

    def submit(self, request: Request, node: int | None, done: Done) -> None:
        """Hand in a request, to `node` or to any broker; `done` is called, by whoever drives the cluster then.

        Raises:
            RuntimeError: the cluster was closed.
        """
        if self.is_closed:
            raise RuntimeError("the cluster was closed: open it again")
        self._submitted.append(_Submitted(request, node, done))
        if not self._news.is_set():
            self._news.set()

    def ask(self, request: Request, node: int | None = None, timeout_ms: int = 30_000) -> Answer | None:
        """The answer to a request; None: there was none in time, or the connection was lost."""
        answers: list[Answer | None] = []
        self.submit(request, node, answers.append)
        self.wait_until(lambda: bool(answers), timeout_ms)
        return answers[0] if answers else None

    def wait_until(self, is_over: Callable[[], bool], timeout_ms: int) -> bool:
        """Drive the cluster, or let another drive it, until `is_over`; False: the time is over, or it is closed."""
        if is_over():
            return True
        deadline_ms, waiter = self.clock.now_ms() + timeout_ms, Waiter(is_over)
        self._turns.come(waiter)
        try:
            while not is_over():
                left_ms = deadline_ms - self.clock.now_ms()
                if left_ms <= 0 or self.is_closed:
                    return is_over()
                if waiter.drives:
                    self._drive(is_over, left_ms)
                else:
                    self._turns.sleep(waiter, min(left_ms, TICK_MS) / 1000)
            return True
        finally:
            self._turns.leave(waiter)

    def _drive(self, is_over: Callable[[], bool], left_ms: int) -> None:
        try:
            with self._pumping:
                moved = self._turn(is_over)
        finally:
            self._turns.wake()
        if not moved and not is_over():
            self._rest(left_ms)

    def _rest(self, left_ms: int) -> None:
        """Nothing is to be done: time goes on, and where it stands still whoever waits moves it."""
        with self.lock:
            due_ms = self.cluster.next_wait_ms - self.clock.now_ms()
        milliseconds = min(left_ms, TICK_MS, max(due_ms, 1))
        if isinstance(self.clock, ManualClock):
            self.clock.advance(milliseconds)
            return
        self._news.clear()
        if not self._submitted and not self.is_closed:
            self._news.wait(milliseconds / 1000)

    def pump(self) -> bool:
        """Deliver what is in flight, make durable what waits for it, and deliver what that has released.

        Returns:
            False: nothing was to be done.
        """
        with self._pumping:
            moved = self._turn()
        self._turns.wake()
        return moved

    def _turn(self, is_over: Callable[[], bool] | None = None) -> bool:
        """One turn of whoever drives, who leaves the syncs to the next one where `is_over` before them."""
        if self._broken is not None:
            raise self._broken
        if self.is_closed:
            return False
        try:
            # Who is alone brings to its end what was begun before he hands in more, which may depend on it.
            synced = is_over is not None and not self._turns.is_shared and self._sync()
            with self.lock:
                moved = self._deliver()
            if is_over is not None and is_over():
                return True
            return self._sync() or moved or synced
        except BaseException as error:
            self._broken = error
            raise

    def _sync(self) -> bool:
        """Make durable what waits for it, and deliver what that releases; False: nothing waits."""
        with self.lock:
            syncing = self._begin_sync()
        if not syncing:
            return False
        sync_all([each for _, each in syncing])
        with self.lock:
            self._end_sync(syncing)
            self._deliver()
        return True

    def _deliver(self) -> bool:
        moved = self._timers.run()
        while self._submitted:
            moved = True
            each = self._submitted.popleft()
            try:
                exchange = self.cluster.send(each.request, each.node)
            except NoSuchNode:
                each.done(None)
                continue
            self._waiting[exchange.number] = exchange, each.done
        moved |= bool(self.cluster.network.in_flight)
        self.cluster.settle()
        over = [number for number, (exchange, _) in self._waiting.items() if exchange.is_over]
        for number in over:
            exchange, done = self._waiting.pop(number)
            self.cluster.network.exchanges.pop(number, None)
            done(exchange.answer)
        if self._metadata.version != self._saved:
            self._saved = self._save()
        return moved or bool(over)

    def _begin_sync(self) -> list[tuple[int, Syncing]]:
        begun = ((node, directory.begin_sync()) for node, directory in self.directories.items())
        return [(node, syncing) for node, syncing in begun if syncing is not None]

    def _end_sync(self, syncing: list[tuple[int, Syncing]]) -> None:
        for node, each in syncing:
            for log in each.end():
                self.cluster.flushed(node, self.directories[node].partition_of(log))
            self.directories[node].checkpoint()

    # ---------------------------------------------------------------- administration

    def create_topic(self, topic: str, partitions: int | Replicas = 1) -> None:
        """A new topic; see `Cluster.create_topic`. It is on the disk when this returns.

        Raises:
            ValueError: there is one, or Kafka takes no such name.
        """
        with self._pumping, self.lock:
            self.cluster.create_topic(topic, partitions)
            self._saved = self._save()

    def start(self) -> None:
        """Drive the cluster by a thread of its own, until `close`: timers run also while nobody waits."""
        self._thread = threading.Thread(target=self._run, name="zombieproof-brokers", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self.wait_until(lambda: self.is_closed, 1 << 62)

    def close(self) -> None:
        """Stop in order: everything is on the disk, and who still waits sees his connection end.

        Raises:
            StorageFailure: the disk has failed; what was acknowledged is there all the same.
        """
        if self.is_closed:
            return
        self.is_closed = True
        self._news.set()
        if self._thread is not None:
            self._thread.join()
        try:
            with self._pumping, self.lock:
                if self._broken is None:
                    self._deliver()
                    self._stop()
        finally:
            self.abandon()

    def _stop(self) -> None:
        for broker in self.cluster.brokers.values():
            broker.close()
        for directory in self.directories.values():
            directory.close()
        self._save()

    def abandon(self) -> None:
        """Stop at once, as when the process is killed: nothing is written any more."""
        self.is_closed = True
        if self._disk is not None:
            self._disk.close()
        for _, done in self._waiting.values():
            done(None)
        self._waiting.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _disk_at(path: Path | str | None) -> Disk | None:
    """The disk below a data directory; None: there is to be none.

    Raises:
        DataDirectoryError: the path cannot be one.
    """
    if path is None:
        return None
    path, fault = Path(path), None
    try:
        if path.exists() and not path.is_dir():
            fault = "is a file: a data directory is a folder"
        elif path.is_dir() and any(path.iterdir()) and not (path / FILE).exists() and not _is_begun(path):
            fault = (
                f"is not empty and has no {FILE}: it is no data directory of a cluster. Choose another, or an empty one"
            )
        else:
            path.mkdir(parents=True, exist_ok=True)
            if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
                fault = "may not be written by this user: give the right, or choose another directory"
    except OSError as error:
        raise DataDirectoryError(f"{path}: {error.strerror}: a data directory must be read and written") from error
    if fault is not None:
        raise DataDirectoryError(f"{path} {fault}")
    return RealDisk(path)


def _is_begun(path: Path) -> bool:
    """Whether a first start was cut short here: nothing but what it makes before it writes ``cluster.json``."""
    return all(each.name in (LOCK, f"{FILE}.tmp") or each.name.startswith("broker-") for each in path.iterdir())
