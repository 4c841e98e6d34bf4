"""What a request costs does not depend on how many partitions there are, nor on how many requests came before."""

from collections.abc import Iterator
from typing import Any, NoReturn

import pytest

from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.journal import Journal, KeptJournal
from zombieproof.broker.cluster.partition_numbers import FEWEST, PartitionNumbers
from zombieproof.broker.cluster.settings import Settings
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.groups import ConsumerGroupHeartbeat, OffsetFetch, OffsetToCommit, TxnOffsetCommit
from zombieproof.messages.partitions import LATEST, Fetch, ListOffsets, Produce, ProduceAnswer, SentBatch
from zombieproof.messages.transactions import (
    DescribeTransactions,
    DescribeTransactionsAnswer,
    EndTxn,
    EndTxnAnswer,
    InitProducerId,
    InitProducerIdAnswer,
)
from zombieproof.model.vocabulary import NONE, Error, Isolation

SMALL = Settings(transaction_state_log_num_partitions=1, offsets_topic_num_partitions=1)


class LookedUpOnly(dict[TopicPartition, Any]):
    """A dictionary that nobody may walk through."""

    def __iter__(self) -> NoReturn:
        raise AssertionError("a request walked over all partitions")

    keys = values = items = __iter__


def begun(cluster: Cluster, name: str | None) -> tuple[int, int]:
    """A producer's identity."""
    granted = cluster.ask(InitProducerId(5, name, 60_000, NONE, NONE))
    assert isinstance(granted, InitProducerIdAnswer)
    return granted.producer_id, granted.producer_epoch


def produced(cluster: Cluster, identity: tuple[int, int], at: TopicPartition, name: str | None) -> int:
    """Append one record; the error."""
    batch = Batch(*identity, 0, name is not None, (Record(None, b"v"),), timestamp_ms=cluster.clock.now_ms())
    answer = cluster.ask(Produce(12, name, -1, {at: (SentBatch(batch),)}))
    assert isinstance(answer, ProduceAnswer)
    return answer.partitions[at].error


def ended(cluster: Cluster, identity: tuple[int, int], name: str) -> tuple[int, int]:
    """Commit; the next identity."""
    answer = cluster.ask(EndTxn(5, name, *identity, True))
    assert isinstance(answer, EndTxnAnswer)
    assert answer.error == Error.NONE
    return answer.producer_id, answer.producer_epoch


def requests(cluster: Cluster) -> Iterator[None]:
    """One request of each kind that clients send all the time."""
    identity, at = begun(cluster, "x"), ("t", 7)
    assert produced(cluster, identity, at, "x") == Error.NONE
    yield
    cluster.ask(TxnOffsetCommit(5, "x", "g", *identity, (OffsetToCommit(at, 1, ""),)))
    yield
    ended(cluster, identity, "x")
    yield
    cluster.ask(Fetch(12, Isolation.READ_COMMITTED, {at: 0}))
    cluster.ask(ListOffsets(5, Isolation.READ_COMMITTED, {at: LATEST}))
    yield
    cluster.ask(ConsumerGroupHeartbeat(0, "readers", "", 0, ("t",)))
    cluster.ask(OffsetFetch(7, "g", True, (at,)))
    yield


def test_no_request_walks_over_all_partitions() -> None:
    cluster = Cluster(1, settings=SMALL, topics={"t": 20})
    cluster.metadata.partitions = LookedUpOnly(cluster.metadata.partitions)
    cluster.brokers[1].partitions.replicas = LookedUpOnly(cluster.brokers[1].partitions.replicas)
    assert len(list(requests(cluster))) == 5


def test_a_walk_over_all_partitions_is_seen() -> None:
    cluster = Cluster(1, settings=SMALL, topics={"t": 20})
    cluster.metadata.partitions = LookedUpOnly(cluster.metadata.partitions)
    with pytest.raises(AssertionError, match="walked over all partitions"):
        cluster.resign(1)


# ---------------------------------------------------------------- numbers of partitions


def test_numbers_of_partitions_that_no_transaction_mentions_are_given_out_again() -> None:
    cluster = Cluster(1, settings=SMALL, topics={"t": 5 * FEWEST})
    stays, identity = begun(cluster, "stays"), begun(cluster, "x")
    assert produced(cluster, stays, ("t", 3), "stays") == Error.NONE
    for number in range(5 * FEWEST):
        assert produced(cluster, identity, ("t", number), "x") == Error.NONE
        identity = ended(cluster, identity, "x")
    assert len(cluster.brokers[1].numbers) <= FEWEST + 2
    answer = cluster.ask(DescribeTransactions(0, ("stays", "x")))
    assert isinstance(answer, DescribeTransactionsAnswer)
    described = [(row.state, row.partitions) for row in answer.transactions]
    assert described == [("Ongoing", frozenset({("t", 3)})), ("CompleteCommit", frozenset())]


def test_a_mask_that_is_mentioned_keeps_its_meaning() -> None:
    numbers = PartitionNumbers()
    kept = numbers.mask([("t", 1), ("t", 3)])
    numbers.mask(("t", number) for number in range(FEWEST))
    assert numbers.may_free
    numbers.free_others([kept, 0])
    assert (len(numbers), numbers.may_free) == (2, False)
    assert numbers.mask([("u", 0)]).bit_length() <= 3, "the lowest number that is free"
    assert numbers.partitions(kept) == {("t", 1), ("t", 3)}


def test_who_looks_at_many_masks_looks_seldom() -> None:
    numbers = PartitionNumbers()
    numbers.free_others([0] * 1000)
    numbers.mask(("t", number) for number in range(999))
    assert not numbers.may_free
    numbers.mask([("t", 999)])
    assert numbers.may_free


# ---------------------------------------------------------------- the journal


def test_a_cluster_keeps_a_journal_only_where_one_is_asked_for() -> None:
    kept = KeptJournal()
    for journal in (None, kept):
        cluster = Cluster(1, settings=SMALL, topics={"t": 20}, journal=journal)
        assert len(list(requests(cluster))) == 5
    assert {"coordinator", "partition_leader"} <= {move.machine for move in kept.moves}
    assert {"produce", "end_txn"} <= {decided.decision for decided in kept.decisions}
    assert not hasattr(Journal(), "__dict__"), "there is nowhere to keep anything"
