"""The logs of a cluster folded by other means than a broker's, and compared with what the brokers hold."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.live.frozen import Frozen
from tests.live.recovery import EPOCHS
from tests.live.recovery_memory import (
    FORGET,
    coordinator,
    forget,
    group_store,
    logged_transactions,
    transactions,
)
from tests.live.recovery_program import PARTITIONS, Program
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.partition.replica import Replica
from zombieproof.formats.batches import Batch, OffsetKey, OffsetValue
from zombieproof.formats.topics import TopicPartition
from zombieproof.model.decisions.produce import newest_sequence
from zombieproof.model.vocabulary import NONE

DURABLE = ("state", "producer_id", "producer_epoch", "timeout_ms", "start_ms", "last_update_ms")
"""The fields of a transaction that every version of its record has, besides the partitions."""

Picture = dict[str, object]
"""Facts by name."""


@dataclass(slots=True)
class Producer:
    """What the log says of a producer id: of its newest batch the sequence, and where its open transaction began."""

    epoch: int = NONE
    sequence: int = NONE
    coordinator_epoch: int = NONE
    open_since: int = NONE


@dataclass(slots=True)
class Partition:
    """What the log of a partition says. `empty_aborts`: before 2.8 an abort counts also where nothing is open."""

    empty_aborts: bool = False
    producers: dict[int, Producer] = field(default_factory=dict)
    aborted: list[tuple[int, int, int]] = field(default_factory=list)
    end: int = 0

    def read(self, batch: Batch) -> None:
        """The next batch."""
        self.end = batch.last_offset + 1
        if batch.producer_id == NONE:
            return
        producer = self.producers.setdefault(batch.producer_id, Producer())
        if batch.producer_epoch != producer.epoch:
            producer.epoch, producer.sequence = batch.producer_epoch, NONE
        if batch.marker is None:
            producer.sequence = batch.last_sequence
            if batch.transactional and producer.open_since == NONE:
                producer.open_since = batch.base_offset
            return
        producer.coordinator_epoch = batch.marker.coordinator_epoch
        if not batch.marker.committed and (self.empty_aborts or producer.open_since != NONE):
            first = batch.last_offset if producer.open_since == NONE else producer.open_since
            self.aborted.append((batch.producer_id, first, batch.last_offset))
        producer.open_since = NONE

    def picture(self) -> Picture:
        """What a leader should hold."""
        first = [each.open_since for each in self.producers.values() if each.open_since != NONE]
        return {
            "producers": self.producers,
            "aborted": self.aborted,
            "last stable offset": min([*first, self.end]),
        }


def held(replica: Replica) -> Picture:
    """What a leader does hold."""
    producers = {}
    for producer_id in replica.producers:
        entry = replica.producers.get(producer_id)
        assert entry is not None
        producers[producer_id] = Producer(
            entry.producer_epoch, newest_sequence(entry), entry.coordinator_epoch, entry.txn_first_offset
        )
    aborted = [(each.producer_id, each.first_offset, each.last_offset) for each in replica.aborted]
    return {"producers": producers, "aborted": aborted, "last stable offset": replica.last_stable_offset}


@dataclass(slots=True)
class Offsets:
    """What the log of the offsets topic says: committed with the offset of the record, and waiting by producer id."""

    committed: dict[OffsetKey, tuple[int, OffsetValue]] = field(default_factory=dict)
    waiting: dict[int, dict[OffsetKey, tuple[int, OffsetValue]]] = field(default_factory=dict)

    def read(self, batch: Batch) -> None:
        """The next batch."""
        if batch.marker is not None:
            for key, found in self.waiting.pop(batch.producer_id, {}).items():
                if batch.marker.committed and self.committed.get(key, (NONE,))[0] < found[0]:
                    self.committed[key] = found
        for at, key, value in _offset_records(batch):
            if value is None:
                for keys in (self.committed, *self.waiting.values()):
                    keys.pop(key, None)
            elif batch.producer_id == NONE:
                self.committed[key] = at, value
            else:
                self.waiting.setdefault(batch.producer_id, {})[key] = at, value


def _offset_records(batch: Batch) -> Iterator[tuple[int, OffsetKey, OffsetValue | None]]:
    for at, record in zip(batch.offsets, batch.records, strict=True):
        if isinstance(record.key, OffsetKey):
            assert record.value is None or isinstance(record.value, OffsetValue)
            yield at, record.key, record.value


def difference_to_the_logs(program: Program) -> Picture:
    """Each fact that the brokers hold otherwise than the logs say, with both; empty where memory is their fold."""
    cluster = forget(Frozen(program.cluster), program.cluster, program, frozenset(FORGET) - EPOCHS)
    return {
        what: (said, known)
        for facts in (_transactions(cluster), _partitions(cluster), _offsets(cluster))
        for what, (said, known) in facts.items()
        if said != known
    }


def _transactions(cluster: Cluster) -> dict[str, tuple[object, object]]:
    known, logged = transactions(cluster), logged_transactions(cluster)
    partitions_of = coordinator(cluster).numbers.partitions
    facts: dict[str, tuple[object, object]] = {"ids": (sorted(logged), sorted(known))}
    for name in known.keys() & logged.keys():
        value = logged[name][1]
        facts |= {f"{each} of {name}": (getattr(value, each), getattr(known[name], each)) for each in DURABLE}
        waits_for_replicas = cluster.settings.min_insync_replicas > len(cluster.brokers)
        if not waits_for_replicas:
            facts[f"partitions of {name}"] = value.partitions, partitions_of(known[name].partitions)
    return facts


def _partitions(cluster: Cluster) -> dict[str, tuple[object, object]]:
    facts = dict[str, tuple[object, object]]()
    for at in PARTITIONS:
        replica, partition = _leading(cluster, at), Partition(cluster.rules.marker_needs_data == 0)
        for batch in replica.log.read():
            partition.read(batch)
        said, known = partition.picture(), held(replica)
        facts |= {f"{what} of {at}": (said[what], known[what]) for what in said}
    return facts


def _leading(cluster: Cluster, at: TopicPartition) -> Replica:
    leader = cluster.leader_of(at)
    assert leader is not None
    return cluster.brokers[leader].partitions.replicas[at]


def _offsets(cluster: Cluster) -> dict[str, tuple[object, object]]:
    store, fold = group_store(cluster), Offsets()
    for batch in store.replica.log.read():
        fold.read(batch)
    facts: dict[str, tuple[object, object]] = {}
    for key in {*fold.committed, *store.offsets._committed}:
        said = fold.committed.get(key)
        facts[f"committed for {key}"] = None if said is None else said[1], store.offsets.committed(key)
    for producer_id in {*fold.waiting, *store.offsets._waiting}:
        waiting = {key: value for key, (_, value) in fold.waiting.get(producer_id, {}).items()}
        facts[f"waiting for {producer_id}"] = waiting, store.offsets.waiting(producer_id)
    return facts
