"""Six fixed workloads. Each says all it does into a history, and all of it happens again in the same way."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from tests.store.clients import COMPACTED, Client, Notebook
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.store.config import Durability, LogConfig
from zombieproof.broker.store.disk import Disk
from zombieproof.broker.timers import CLEANER_MS
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE, TopicPartition
from zombieproof.messages.admin import CreatePartitions, TopicToWiden
from zombieproof.messages.groups import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatAnswer, DeleteGroups
from zombieproof.messages.partitions import DeleteRecords, DeleteTopics

T0: TopicPartition = ("t", 0)
T1: TopicPartition = ("t", 1)
C0: TopicPartition = (COMPACTED, 0)
DATA = (T0, T1)
GROUP = "g"
SETTINGS = Settings(
    transaction_state_log_num_partitions=1, offsets_topic_num_partitions=1, group_initial_rebalance_delay_ms=0
)
SMALL = LogConfig(segment_bytes=1_500, index_interval_bytes=200)
SMALL_AND_COMPACTED = LogConfig(segment_bytes=1_500, index_interval_bytes=200, cleanup_policy="compact")
OFTEN_CLEANED = LogConfig(
    segment_bytes=1_000,
    index_interval_bytes=200,
    cleanup_policy="compact",
    min_cleanable_dirty_ratio=0.1,
    delete_retention_ms=30_000,
)
CONFIGS = {TRANSACTION_STATE: SMALL_AND_COMPACTED, CONSUMER_OFFSETS: SMALL_AND_COMPACTED, COMPACTED: OFTEN_CLEANED}


def open_on(disk: Disk, clock: ManualClock | None = None, durability: Durability = Durability.FSYNC) -> Embedded:
    """The cluster of all workloads: what the disk has of it, or a new one."""
    return Embedded(
        topics={"t": 2, "in": 2, COMPACTED: 1},
        settings=SETTINGS,
        clock=clock or ManualClock(),
        default_config=SMALL,
        configs=CONFIGS,
        disk=disk,
        durability=durability,
    )


@dataclass
class Stage:
    """A disk, the cluster on it, and the history so far."""

    disk: Disk
    notes: Notebook
    size: int
    durability: Durability = Durability.FSYNC

    def __post_init__(self) -> None:
        self.clock, self.chance, self._names = ManualClock(), Random(17), 0
        self.embedded = open_on(self.disk, self.clock, self.durability)

    def client(self, transactional_id: str | None) -> Client:
        """A new process, initialized."""
        self._names += 1
        found = Client(self.embedded, self.notes, f"p{self._names}", transactional_id)
        found.init()
        return found

    def name(self) -> str:
        """A value, or a transaction, that there was not before."""
        self._names += 1
        return f"v{self._names}"

    def restart(self) -> None:
        """Stop in order, and start again."""
        self.embedded.close()
        self.embedded = open_on(self.disk, self.clock, self.durability)


def plain(stage: Stage) -> None:
    """Idempotent producers without transactions, in two partitions; segments are sealed on the way."""
    clients = [stage.client(None) for _ in range(2)]
    for number in range(stage.size):
        client = clients[number % 2]
        client.send(DATA[number % 3 % 2], *(stage.name() for _ in range(1 + number % 3)))
        stage.clock.advance(10)


def transactions(stage: Stage) -> None:
    """Two producers whose transactions lie across two partitions and a group, most of them committed."""
    clients = [stage.client("a"), stage.client("b")]
    for number in range(stage.size // 4):
        for index, client in enumerate(clients):
            client.begin(stage.name())
            client.send(DATA[(number + index) % 2], stage.name(), stage.name())
        for index, client in enumerate(clients):
            if (number + index) % 3:
                client.send(DATA[(number + index + 1) % 2], stage.name())
            client.send_offsets(f"{GROUP}{index}", {("in", 0): number + 1})
        for index, client in enumerate(clients):
            client.end(committed=(number + index) % 5 != 0)


def fences(stage: Stage) -> None:
    """Transactions that are aborted, left open by who dies, taken over, or too old."""
    client = stage.client("a")
    for number in range(stage.size // 3):
        client.begin(stage.name())
        client.send(T0, stage.name())
        if number % 2:
            client.send(T1, stage.name())
        match number % 4:
            case 0:
                client.end(committed=False)
            case 1:
                zombie, client = client, stage.client("a")
                zombie.send(T0, stage.name())
                zombie.end(committed=True)
            case 2:
                client.end(committed=True)
            case 3:
                stage.clock.advance(120_000)
                stage.embedded.wait_until(lambda: False, 1_000)
                client.end(committed=True)
                client = stage.client("a")


def groups(stage: Stage) -> None:
    """Offsets with and without transactions, members that come and go, groups that are deleted."""
    plain_client, client = stage.client(None), stage.client("a")
    for number in range(stage.size // 4):
        plain_client.send_offsets("simple", {("in", 0): number + 1})
        joined = stage.embedded.ask(ConsumerGroupHeartbeat(0, "members", "", 0, ("t",)))
        assert isinstance(joined, ConsumerGroupHeartbeatAnswer)
        stage.clock.advance(2_000)
        client.begin(stage.name())
        client.send(T0, stage.name())
        client.send_offsets(GROUP, {("in", 0): number + 1, ("in", 1): 2 * number})
        client.end(committed=number % 3 != 0)
        left = stage.embedded.ask(ConsumerGroupHeartbeat(0, "members", joined.member, -1, None))
        assert isinstance(left, ConsumerGroupHeartbeatAnswer)
        if number % 4 == 3:
            stage.embedded.ask(DeleteGroups(2, ("members",)))


def restarts(stage: Stage) -> None:
    """Clean stops between transactions, deleted records, topics that are made, get more partitions, and are deleted."""
    for number in range(stage.size // 5):
        client = stage.client("a")
        for index in range(3):
            client.begin(stage.name())
            client.send(T0, stage.name(), stage.name())
            client.send(T1, stage.name())
            client.end(committed=index != 1)
        replica = stage.embedded.cluster.brokers[1].partitions.replicas[T0]
        stage.embedded.ask(DeleteRecords(2, {T0: max(replica.last_stable_offset - 7, 0)}))
        if number % 3 == 1:
            stage.embedded.create_topic(f"u{number}", 1)
            stage.embedded.ask(CreatePartitions(3, (TopicToWiden(f"u{number}", 3),)))
        elif number % 3 == 2:
            stage.embedded.ask(DeleteTopics(6, (f"u{number - 1}",)))
        if number % 2:
            stage.restart()


def compaction(stage: Stage) -> None:
    """Transactions in a topic that is cleaned while they are open, are aborted, and are long over.

    Those that are to be aborted also overwrite a record of one that was committed.
    """
    client, noise = stage.client("a"), Client(stage.embedded, Notebook(), "noise")
    noise.init()
    overwritten = ""
    for number in range(stage.size // 2):
        aborts, value = number % 3 == 2, stage.name()
        client.begin(stage.name())
        client.send(C0, value if not aborts else stage.name(), key=overwritten if aborts else None)
        for index in range(2):
            noise.overwrite(C0, f"{(number + index) % 3}", None if number % 4 == 3 else "x" * 60)
        client.send(C0, stage.name())
        client.send_offsets(GROUP, {("in", 0): number + 1})
        if aborts:
            noise.overwrite(C0, "filling", "x" * 900)
            stage.clock.advance(CLEANER_MS)
            stage.embedded.pump()
        client.end(committed=not aborts)
        overwritten = value
    stage.clock.advance(CLEANER_MS)
    stage.embedded.pump()


WORKLOADS: dict[str, Callable[[Stage], None]] = {
    "plain": plain,
    "transactions": transactions,
    "fences": fences,
    "groups": groups,
    "restarts": restarts,
    "compaction": compaction,
}
