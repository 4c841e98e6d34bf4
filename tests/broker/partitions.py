"""Replicas over logs in memory, and short names for what is sent to them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.journal import KeptJournal
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.partition.log import MemoryLog
from zombieproof.broker.partition.replica import Appended, Replica
from zombieproof.broker.partition.snapshots import MemorySnapshots
from zombieproof.formats.batches import Batch, Marker, Record
from zombieproof.formats.topics import TopicPartition
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, Error, Mode, Origin

PARTITION: TopicPartition = ("t", 0)


@dataclass(slots=True)
class Tokens:
    """Guards: 1, 2, 3 …"""

    last: int = 0

    def next(self) -> int:
        """The next one."""
        self.last += 1
        return self.last


@dataclass(slots=True)
class Place:
    """What of a replica outlives its broker, and what surrounds it."""

    rules: Rules = field(default_factory=Rules)
    settings: Settings = field(default_factory=Settings)
    clock: ManualClock = field(default_factory=ManualClock)
    journal: KeptJournal = field(default_factory=KeptJournal)
    tokens: Tokens = field(default_factory=Tokens)
    log: MemoryLog = field(default_factory=MemoryLog)
    snapshots: MemorySnapshots = field(default_factory=MemorySnapshots)
    partition: TopicPartition = PARTITION

    def replica(self) -> Replica:
        """A replica on this log, which knows nothing of it yet."""
        return Replica(
            self.partition,
            self.log,
            self.rules,
            self.settings,
            self.clock,
            self.journal,
            self.tokens,
            self.snapshots,
        )

    def leader(self) -> Replica:
        """A replica that leads."""
        replica = self.replica()
        replica.lead(0)
        return replica

    def restart(self, *, clean: bool) -> Replica:
        """Another broker on the same data."""
        replica = self.replica()
        replica.recover(clean)
        replica.lead(1)
        return replica


def data(
    producer_id: int, first: int, count: int = 1, *, epoch: int = 0, transactional: bool = True, at: int = NONE
) -> Batch:
    """A batch of `count` records with sequences from `first` on; `at` is its offset, if it has one."""
    records = tuple(Record(None, f"{producer_id}.{first}.{i}".encode()) for i in range(count))
    return Batch(producer_id, epoch, first, transactional, records, None, count - 1, base_offset=at)


def plain(count: int) -> Batch:
    """A batch that nobody numbers."""
    return data(NONE, NONE, count, epoch=NONE, transactional=False)


def verified(replica: Replica, batch: Batch, mode: Mode = Mode.GENERIC) -> Appended:
    """Append a client's batch as the coordinator's word allows it."""
    verification = replica.begin_verification(batch, mode)
    if verification.error != Error.NONE:
        raise AssertionError(f"verification was refused with {verification.error}")
    return replica.append(batch, verification.guard, Origin.CLIENT)


def end(
    replica: Replica,
    producer_id: int,
    *,
    committed: bool = True,
    epoch: int = 0,
    coordinator: int = 0,
    version: int = 0,
) -> Appended:
    """A marker of the transaction coordinator."""
    return replica.append_marker(producer_id, epoch, Marker(committed, coordinator, version), Origin.COORDINATOR)


def copied(batches: Sequence[Batch], replica: Replica) -> None:
    """What a leader has, taken by a follower."""
    for batch in batches:
        replica.replicate(replace(batch))
