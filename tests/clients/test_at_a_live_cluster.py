"""Our producer at our brokers, by the rules of every kind of release: it commits, aborts, is fenced, and goes on."""

import pytest

from tests.live.producer import LiveProducer
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.clients.errors import ProducerFailure, TransactionAborted
from zombieproof.clients.transactional_requests import GroupMetadata
from zombieproof.messages.groups import OffsetToCommit
from zombieproof.model.rules import preset
from zombieproof.model.vocabulary import Error

RELEASES = ("newest", "4.3-tv1", "4.3-tv0", "3.9", "2.8", "2.4", "0.11.0")
T0, T1 = ("t", 0), ("t", 1)


def cluster_of(release: str) -> Cluster:
    return Cluster(nodes=3, rules=preset(release), topics={"t": 2}, clock=ManualClock())


@pytest.mark.parametrize("release", RELEASES)
def test_it_commits_what_it_consumed_and_produced(release: str) -> None:
    producer = LiveProducer(cluster_of(release), "copier")
    producer.init()
    for position in range(3):
        producer.begin()
        records = [producer.send(partition, b"value") for partition in (T0, T1)]
        offsets = producer.manager.send_offsets((OffsetToCommit(T0, position, ""),), GroupMetadata("group"))
        producer.wait_for(offsets)
        producer.commit()
        assert all(record.is_successful for record in records)
        # Behind each transaction stands its marker.
        assert [record.offset for record in records] == [2 * position, 2 * position]


@pytest.mark.parametrize("release", RELEASES)
def test_after_an_abort_it_goes_on(release: str) -> None:
    producer = LiveProducer(cluster_of(release), "copier")
    producer.init()
    producer.begin()
    stored = producer.send(T0, b"stored")
    producer.flush()
    unsent = producer.send(T1, b"never sent")
    producer.abort()
    assert stored.is_successful
    assert isinstance(unsent.error, TransactionAborted)
    producer.begin()
    record = producer.send(T0, b"value")
    producer.commit()
    assert record.offset == 2, "behind the aborted record and its marker"


@pytest.mark.parametrize("release", RELEASES)
def test_a_successor_fences_it(release: str) -> None:
    cluster = cluster_of(release)
    zombie, successor = LiveProducer(cluster, "copier"), LiveProducer(cluster, "copier")
    zombie.init()
    zombie.begin()
    zombie.send(T0, b"before")
    zombie.flush()
    successor.init()
    late = zombie.send(T0, b"after")
    with pytest.raises(ProducerFailure) as raised:
        zombie.commit()
    assert raised.value.error in (Error.PRODUCER_FENCED, Error.INVALID_PRODUCER_EPOCH)
    assert not late.is_successful
    successor.begin()
    record = successor.send(T0, b"value")
    successor.commit()
    assert record.offset == 2


@pytest.mark.parametrize("release", RELEASES)
def test_without_a_transactional_id_records_are_in_order(release: str) -> None:
    producer = LiveProducer(cluster_of(release), None)
    records = [producer.send(T0, b"value") for _ in range(7)]
    producer.flush()
    assert [record.offset for record in records] == list(range(7))
