"""A cluster that runs: over logs on disk, or in memory, driven by whoever waits for an answer.

Theory of operation: there is no thread of its own unless `start` makes one. Whoever waits drives the cluster (`pump`):
he delivers what is in flight, then syncs all that waits to be durable at once, without keeping others from handing in
requests meanwhile, and delivers what that has released. Others who wait sleep until they have what they wait for; when
the driver has that, one of them drives on (`turns`). So the requests that come in while a disk syncs share the next
sync: a group commit, for any number of producers.
Source: DESIGN §6.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from zombieproof.broker.authorization.access_list import AccessList
from zombieproof.broker.authorization.principals import Principal
from zombieproof.broker.cluster.clock import Clock, ManualClock, SystemClock
from zombieproof.broker.cluster.cluster import Cluster, NoSuchNode, Replicas, in_memory, nothing_is_kept
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.network import Answer, Exchange, Message, Request
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.data_directory import DataDirectory, disk_at
from zombieproof.broker.partition.log import StorageFailure
from zombieproof.broker.storage import Storage
from zombieproof.broker.store.config import Durability, LogConfig
from zombieproof.broker.store.disk import Disk
from zombieproof.broker.store.log_directory import Syncing, sync_all
from zombieproof.broker.timers import Timers
from zombieproof.broker.turns import Turns, Waiter
from zombieproof.messages.groups import FindCoordinator, OffsetFetch
from zombieproof.messages.partitions import DescribeTopics, Fetch, ListOffsets, OffsetForLeaderEpoch
from zombieproof.model.releases import RELEASES
from zombieproof.model.rules import Rules

TICK_MS = 100
"""How often timers are looked at."""

IN_MEMORY = "em9tYmllcHJvb2YtMDAwMA"
"""The id of a cluster that leaves nothing behind."""

READS = (Fetch, ListOffsets, OffsetForLeaderEpoch, DescribeTopics, FindCoordinator, OffsetFetch)
"""Requests that are answered also while ``cluster.json`` cannot be written."""

Done = Callable[[Answer | None], None]
"""Called with the answer; None: the connection was lost."""


@dataclass(frozen=True, slots=True)
class Submitted:
    """A request of a client as it came: to which node (None: any), who hears the answer, and the client's name."""

    request: Request
    node: int | None
    done: Done
    client_id: str = ""
    principal: Principal | None = None


class Door(Protocol):
    """What requests pass on their way to the brokers of a cluster that runs. Whoever drives the cluster calls it."""

    @property
    def next_ms(self) -> int:
        """When something is to be done though nothing comes in."""
        ...

    def enter(self, come: Submitted) -> None:
        """A request has come: it is handed in (`Embedded.hand_in`), now, later, otherwise, or never."""
        ...

    def run(self) -> bool:
        """Do what is due; False: nothing was."""
        ...

    def look(self) -> None:
        """There may be messages in flight that were not there before."""
        ...

    def holds(self, message: Message) -> bool:
        """Whether a message in flight does not arrive yet."""
        ...


@dataclass(frozen=True, slots=True)
class Unsynced:
    """What waits to be durable, of each node; empty: nothing does."""

    logs: list[tuple[int, Syncing]]

    def __bool__(self) -> bool:
        return bool(self.logs)

    def sync(self) -> None:
        """Sync it; any thread may."""
        sync_all([each for _, each in self.logs])


class Embedded:
    """A cluster in this process. Its methods may be called by any thread.

    Args:
        path: the data directory, which is made where it is not there; None: everything is in memory.
        nodes: how many brokers. None: as many as the directory has, and 1 where there is none yet.
        topics: topics that are to exist, each with its number of partitions or the replicas of each.
        durability: when an append counts as durable; see `Durability` for what each loses.
        clock: where the time comes from; the system's by default.
        configs: the settings of logs by topic, which the directory keeps; topics that were never given any have
            `default_config`.
        disk: the disk, in place of that of the operating system at `path`.
        access: who may do what; None: everybody everything.
        first_node: the number of the first broker, where everything is in memory; those of a directory begin with 1.

    Raises:
        DataDirectoryError: `path` is no data directory, of another version or another number of brokers, in use, or
            may not be written.
        Damaged: what is in it cannot be believed; the error says where and what to do.
    """

    def __init__(  # noqa: PLR0913  # each has a default, and who builds a cluster names the few that matter
        self,
        path: Path | str | None = None,
        *,
        nodes: int | None = None,
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
        access: AccessList | None = None,
        first_node: int = 1,
    ) -> None:
        self.clock = clock or SystemClock()
        self.lock, self._pumping = threading.RLock(), threading.Lock()
        self._turns, self._news = Turns(), threading.Event()
        self._submitted: deque[Submitted] = deque()
        self.door: Door | None = None
        self._waiting: dict[int, tuple[Exchange, Done]] = {}
        self._thread: threading.Thread | None = None
        self._broken: BaseException | None = None
        self.is_closed = False
        self._disk = None if durability is Durability.MEMORY else disk_at(path) if disk is None else disk
        try:
            data = None
            if self._disk is not None:
                data = DataDirectory(self._disk, nodes, self.clock, durability, default_config, configs)
            metadata = Metadata() if data is None else data.metadata
            if data is None:
                metadata.configs |= configs or {}
                metadata.default_config = default_config or LogConfig()
            self._data, self.directories = data, {} if data is None else data.logs
            missing = {topic: given for topic, given in (topics or {}).items() if not metadata.count(topic)}
            # The offsets of a deleted topic go before there is one of its name again.
            late = {topic: missing.pop(topic) for topic in metadata.deleted_names & missing.keys()}
            self.cluster = Cluster(
                nodes or 1 if data is None else data.nodes,
                rules,
                settings,
                missing,
                self.clock,
                metadata,
                release,
                in_memory if data is None else data.open_store,
                journal,
                data is None or data.was_clean,
                access,
                nothing_is_kept if data is None else data.set_aside,
                first_node if data is None else 1,
            )
            self.cluster.network.over = []
            self._storage = None if data is None else Storage(self.cluster, data)
            self._timers = Timers(self.cluster, self._storage)
            if self._storage is not None:
                self._storage.begin()
            while self.pump():
                pass
            for topic, given in late.items():
                self.create_topic(topic, given)
        except BaseException:
            if self._disk is not None:
                self._disk.close()
            raise

    # ---------------------------------------------------------------- requests

    def submit(
        self,
        request: Request,
        node: int | None,
        done: Done,
        client_id: str = "",
        principal: Principal | None = None,
    ) -> None:
        """Hand in a request, to `node` or to any broker; `done` is called, by whoever drives the cluster then.

        It is not called for what gets no answer: a Produce with acks 0. `client_id`: what the client calls itself;
        `principal`: who asks, where the cluster has an access list.

        Raises:
            RuntimeError: the cluster was closed.
        """
        if self.is_closed:
            raise RuntimeError("the cluster was closed: open it again")
        self._submitted.append(Submitted(request, node, done, client_id, principal))
        self.wake()

    def wake(self) -> None:
        """There is something to do for whoever drives the cluster and waits."""
        if not self._news.is_set():
            self._news.set()

    def ask(
        self,
        request: Request,
        node: int | None = None,
        timeout_ms: int = 30_000,
        principal: Principal | None = None,
    ) -> Answer | None:
        """The answer to a request; None: there was none in time, or the connection was lost."""
        answers: list[Answer | None] = []
        self.submit(request, node, answers.append, principal=principal)
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
            due_ms = self.next_ms
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

    def begin_turn(self) -> "Unsynced":
        """The first half of a turn, of whoever has a loop of his own: deliver what is in flight.

        What is returned waits to be durable: it is synced (`Unsynced.sync`, by any thread), and then comes `end_turn`,
        at once if nothing waits. Between the two nobody else drives.
        """
        self._pumping.acquire()
        with self._halves():
            while self._deliver() and self._submitted:
                pass
            return Unsynced(self._begin_sync())

    def end_turn(self, unsynced: "Unsynced") -> None:
        """The second half: what was begun is durable; deliver what that releases."""
        if unsynced:
            with self._halves():
                self._end_sync(unsynced.logs)
                self._deliver()
        self._pumping.release()

    @contextmanager
    def _halves(self) -> Iterator[None]:
        try:
            with self.lock:
                if self._broken is not None:
                    raise self._broken
                yield
        except BaseException as error:
            self._broken = error
            self._pumping.release()
            raise

    @property
    def cluster_id(self) -> str:
        """The id of the cluster, as Kafka writes ids; of one in memory always the same."""
        return IN_MEMORY if self._data is None else self._data.cluster_id

    @property
    def open_transactions(self) -> int:
        """How many transactions are open at their coordinators."""
        return sum(broker.coordinator.open_transactions for broker in self.cluster.brokers.values())

    @property
    def next_ms(self) -> int:
        """In how long (ms) something is to be done though nothing comes in."""
        at_ms = self.cluster.next_wait_ms
        if self.door is not None:
            at_ms = min(at_ms, self.door.next_ms)
        return at_ms - self.clock.now_ms()

    def run_timers(self) -> bool:
        """Do what is due by the clock; False: nothing is. For whoever drives the cluster, who does so anyway."""
        return self._timers.run()

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
        moved = self.run_timers()
        if self.door is not None:
            moved |= self.door.run()
        while self._submitted:
            moved = True
            each = self._submitted.popleft()
            if self.door is None:
                self.hand_in(each)
            else:
                self.door.enter(each)
                self.settle()
        moved |= self.settle()
        while (self._storage is not None and self._storage.mind_logs()) or self._tell():
            moved = True
            self.settle()
        return moved

    def hand_in(self, come: Submitted) -> Exchange | None:
        """Give a request to the brokers, for whoever drives the cluster; None: there is no such broker."""
        try:
            exchange = self.cluster.send(come.request, come.node, come.principal)
        except NoSuchNode:
            come.done(None)
            return None
        self._waiting[exchange.number] = exchange, come.done
        return exchange

    def settle(self) -> bool:
        """Let everything arrive that nobody holds; False: nothing was in flight."""
        moved, network = False, self.cluster.network
        while self.step():
            moved = True
            if network.over and self.door is None:
                # Whoever has his answer goes on while the rest is done.
                self._tell()
        return moved

    def step(self) -> bool:
        """Let the oldest message arrive that nobody holds; False: there is none."""
        door = self.door
        if door is None:
            return self.cluster.step()
        door.look()
        found = next((each for each in self.cluster.network.in_flight if not door.holds(each)), None)
        if found is not None:
            self.cluster.deliver(found)
        return found is not None

    def _tell(self) -> bool:
        """What was changed is on the disk; tell whoever has an answer, or will have none; False: nobody.

        While it cannot be written, only those are told who have read something.
        """
        is_saved, network = self._storage is None or self._storage.save(), self.cluster.network
        over, network.over = network.over or [], []
        for number in over:
            exchange, done = self._waiting.get(number, (None, _nobody))
            if not is_saved and exchange is not None and not isinstance(exchange.request, READS):
                network.over.append(number)
                continue
            self._waiting.pop(number, None)
            network.exchanges.pop(number, None)
            if exchange is not None and exchange.is_over:
                done(exchange.answer)
        return len(network.over) < len(over)

    def _begin_sync(self) -> list[tuple[int, Syncing]]:
        return [] if self._data is None else self._data.begin_sync()

    def _end_sync(self, syncing: list[tuple[int, Syncing]]) -> None:
        for node, each in syncing:
            for log in each.end():
                self.cluster.flushed(node, self.directories[node].partition_of(log))
            if self._storage is not None:
                with self._storage.survives():
                    self.directories[node].checkpoint()

    # ---------------------------------------------------------------- administration

    def create_topic(self, topic: str, partitions: int | Replicas = 1, config: LogConfig | None = None) -> None:
        """A new topic; see `Cluster.create_topic`. It is on the disk when this returns.

        Raises:
            ValueError: there is one, or Kafka takes no such name.
        """
        with self._pumping, self.lock:
            self.cluster.create_topic(topic, partitions, config)
            if self._storage is not None:
                self._storage.data.save()

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
        failures = list[StorageFailure]()
        for broker in self.cluster.brokers.values():
            try:
                broker.close()
            except StorageFailure as failure:
                failures.append(failure)
        if self._data is not None:
            self._data.close()
        if failures:
            raise failures[0]

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


def _nobody(_: Answer | None) -> None:
    """Nobody waits for this answer."""
