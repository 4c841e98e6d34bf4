"""Ids that nobody used for too long go together: tombstones of a partition in batches as large as its log takes."""

from collections.abc import Sequence

import pytest

from tests.live.held_log import crash, flush, held, settle
from zombieproof.broker.cluster import transactions
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.node import AppendFault
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.store.config import LogConfig
from zombieproof.formats.batches import Batch
from zombieproof.formats.encoding import write_batch
from zombieproof.formats.topics import TRANSACTION_STATE
from zombieproof.messages.transactions import InitProducerId, InitProducerIdAnswer
from zombieproof.model.vocabulary import NONE, Error

NAMES = [f"id-{number:03}" for number in range(40)]
DAY_MS = 86_400_000


def cluster_of(limit: int = 1_048_588, partitions: int = 1, **how: object) -> Cluster:
    """A broker whose ids were used long ago."""
    settings = Settings(transaction_state_log_num_partitions=partitions, transactional_id_expiration_ms=7 * DAY_MS)
    metadata = Metadata(configs={TRANSACTION_STATE: LogConfig(cleanup_policy="compact", max_message_bytes=limit)})
    cluster = Cluster(settings=settings, metadata=metadata, clock=ManualClock(), **how)  # type: ignore[arg-type]  # a store
    for name in NAMES:
        asked = cluster.send(InitProducerId(5, name, 60_000, NONE, NONE))
        settle(cluster) if how else cluster.settle()
        assert isinstance(asked.answer, InitProducerIdAnswer)
        assert asked.answer.error == Error.NONE
    assert isinstance(cluster.clock, ManualClock)
    cluster.clock.advance(8 * DAY_MS)
    return cluster


def tombstones(cluster: Cluster) -> list[Batch]:
    every = [
        each
        for (_, tp), store in sorted(cluster.stores.items())
        if tp[0] == TRANSACTION_STATE
        for each in store.log.read()
    ]
    return [batch for batch in every if all(record.value is None for record in batch.records)]


def names_in(batches: Sequence[Batch]) -> list[object]:
    return [record.key for batch in batches for record in batch.records]


def known(cluster: Cluster) -> int:
    coordinator = cluster.brokers[1].coordinator
    return sum(len(coordinator.entries(number)) for number in range(cluster.metadata.count(TRANSACTION_STATE)))


def test_what_expires_in_one_sweep_goes_in_one_batch() -> None:
    cluster = cluster_of()
    cluster.remove_expired_ids()
    (batch,) = tombstones(cluster)
    assert names_in([batch]) == NAMES
    assert batch.offsets[-1] == cluster.stores[1, (TRANSACTION_STATE, 0)].log.end_offset - 1
    assert known(cluster) == 0


def test_each_partition_has_a_batch_of_its_own() -> None:
    cluster = cluster_of(partitions=3)
    cluster.remove_expired_ids()
    assert len(tombstones(cluster)) == 3
    assert sorted(map(str, names_in(tombstones(cluster)))) == NAMES


@pytest.mark.parametrize(("limit", "most"), [(300, 6), (150, 2), (100, 1), (10, 1)])
def test_a_batch_is_no_larger_than_the_log_takes_and_holds_one_at_least(limit: int, most: int) -> None:
    cluster = cluster_of(limit)
    cluster.remove_expired_ids()
    found = tombstones(cluster)
    assert max(len(batch.records) for batch in found) == most
    assert all(len(write_batch(batch)) <= limit for batch in found if len(batch.records) > 1)
    assert names_in(found) == NAMES


def test_batches_that_ignore_the_limit_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "TOMBSTONE_OVERHEAD", -6)
    cluster = cluster_of(300)
    cluster.remove_expired_ids()
    assert any(len(write_batch(batch)) > 300 for batch in tombstones(cluster))


def test_a_batch_that_is_not_appended_is_tried_again_by_the_next_sweep() -> None:
    cluster = cluster_of()
    faults = cluster.brokers[1].transactions.append_faults
    faults.append(AppendFault(Error.NOT_ENOUGH_REPLICAS, is_written=False))
    cluster.remove_expired_ids()
    assert (len(tombstones(cluster)), known(cluster), len(faults)) == (0, len(NAMES), 0)
    cluster.remove_expired_ids()
    assert (len(tombstones(cluster)), known(cluster)) == (1, 0)


def test_ids_go_when_their_tombstones_are_durable_and_come_back_when_they_never_were() -> None:
    cluster = cluster_of(open_store=held)
    cluster.remove_expired_ids()
    assert known(cluster) == len(NAMES), "the batch is in the log, and not on the disk"
    flush(cluster)
    assert known(cluster) == 0

    class Dropped:
        def choice(self, places: Sequence[int]) -> int:
            return places[0]

    lost = cluster_of(open_store=held)
    lost.remove_expired_ids()
    crash(lost, Dropped(), (1,))  # type: ignore[arg-type]  # the oldest of what may be lost
    settle(lost)
    assert known(lost) == len(NAMES)
