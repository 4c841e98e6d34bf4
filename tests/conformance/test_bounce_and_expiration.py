"""Copies while brokers come and go, and what expires: TransactionsBounce-, Expiration- and ProducerIdExpirationTest.

EB-001 to EB-006.
"""

from typing import Any

import pytest

from tests.conformance.baselines import rules_of
from tests.conformance.end_to_end import acked, committed, producers_at, read, replicated, stage_of, value_of
from tests.live.bounces import bounce_brokers
from tests.live.copier import Copier, Flavour
from tests.live.stage import Stage
from tests.live.staged_producer import StagedProducer
from zombieproof.clients.errors import InErrorState, ProducerFailure
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.transactions import DescribeTransactions, DescribeTransactionsAnswer
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import Error, Isolation

ID = "my-transactional-id"
T0: TopicPartition = ("topic1", 0)
T3: TopicPartition = ("topic1", 3)
NODES = 4
SWEEP_MS = 500


@pytest.mark.sample("EB-001-1")
@pytest.mark.parametrize("transaction_version", [1, 2])
@pytest.mark.parametrize(
    "flavour",
    [
        pytest.param(Flavour.GROUP_ID, marks=pytest.mark.case("EB-001"), id="EB-001"),
        pytest.param(Flavour.GROUP_METADATA, marks=pytest.mark.case("EB-002"), id="EB-002"),
    ],
)
def test_eb_001_and_002_a_copy_survives_brokers_that_come_and_go(flavour: Flavour, transaction_version: int) -> None:
    topics = {"input": replicated(4, NODES), "output": replicated(4, NODES)}
    rules = Rules(transaction_version=transaction_version)
    stage = stage_of(topics, nodes=NODES, rules=rules, min_insync_replicas=2)
    seeder = StagedProducer(stage, None)
    for number in range(10_000):
        seeder.send(("input", number % 4), str(number).encode())
    seeder.flush()
    expected = {number: [str(n).encode() for n in range(number, 10_000, 4)] for number in range(4)}

    copier = Copier(
        stage, ID, "input", "output", flavour=flavour, transaction_size=200, aborts=lambda turn: turn % 3 == 0
    )
    copy = stage.start(copier.run_as_member())
    bounces = stage.start(bounce_brokers(stage, lambda: copier.committed < 10_000, clean=True))
    assert stage.run(lambda: copier.committed >= 10_000)
    stage.wait(bounces)
    copier.stop()
    stage.wait(copy)
    assert bounces.result is not None
    assert bounces.result > NODES, "every broker was away at least once"
    assert copier.aborted >= 10_000 // 200 // 3
    output: dict[int, list[bytes]] = {number: [] for number in range(4)}
    for one in read(stage, Isolation.READ_COMMITTED, "output"):
        output[one.partition[1]].append(value_of(one))
    assert output == expected


def expiring(rules: Rules | None = None, **settings: Any) -> Stage:
    """A cluster that looks every half second for what has expired."""
    return stage_of(
        rules=rules,
        transaction_remove_expired_transaction_cleanup_interval_ms=SWEEP_MS,
        producer_id_expiration_check_interval_ms=SWEEP_MS,
        **settings,
    )


def gone(stage: Stage, partition: TopicPartition = T0) -> bool:
    """Whether nobody is left whom the leader remembers, when time passes."""
    return stage.run(lambda: not producers_at(stage, partition), 100_000)


@pytest.mark.parametrize(("transaction_version", "raised"), [(1, 1), (2, 2)])
@pytest.mark.case("EB-003")
def test_eb_003_a_partition_forgets_a_producer_whose_id_lives(transaction_version: int, raised: int) -> None:
    rules = rules_of("2024-10" if transaction_version == 1 else "both", transaction_version)
    stage = expiring(rules, producer_id_expiration_ms=5000, transactional_id_expiration_ms=10_000)
    p1 = StagedProducer(stage, ID)
    p1.init()
    p1.begin()
    acked(p1, p1.send(T0, b"p1"))
    (before,) = producers_at(stage, T0)
    p1.abort()
    assert gone(stage)
    p1.close_now()

    p2 = StagedProducer(stage, ID)
    p2.init()
    p2.begin()
    p2.send(T0, b"p2")
    acked(p2, p2.send(T3, b"p2"))
    p2.flush()
    (after,) = producers_at(stage, T0)
    p2.commit()
    assert after.producer_id == before.producer_id
    assert after.producer_epoch == before.producer_epoch + raised, "with version 2 the abort raises it as well"
    assert committed(stage, "topic1") == [b"p2", b"p2"]


@pytest.mark.case("EB-004")
def test_eb_004_an_idempotent_producer_expires_and_returns() -> None:
    stage = expiring(producer_id_expiration_ms=10_000)
    producer = StagedProducer(stage, None)
    acked(producer, producer.send(T0, b"first"))
    counts = [len(producers_at(stage, T0))]
    assert gone(stage)
    counts.append(len(producers_at(stage, T0)))
    acked(producer, producer.send(T0, b"second"))
    counts.append(len(producers_at(stage, T0)))
    assert counts == [1, 0, 1]
    assert committed(stage, "topic1") == [b"first", b"second"]


def id_is_unknown(stage: Stage) -> bool:
    """Whether the coordinator has forgotten the transactional id."""
    request = DescribeTransactions(0, (ID,))
    answer = stage.cluster.ask(request, stage.cluster.coordinator_of(ID))
    assert isinstance(answer, DescribeTransactionsAnswer)
    return answer.transactions[0].error == Error.TRANSACTIONAL_ID_NOT_FOUND


def with_expired_id(rules: Rules) -> tuple[Stage, StagedProducer]:
    """A producer whose id has expired after an aborted transaction."""
    stage = expiring(rules, transactional_id_expiration_ms=5000, producer_id_expiration_ms=10_000)
    producer = StagedProducer(stage, ID)
    producer.init()
    producer.begin()
    acked(producer, producer.send(T0, b"aborted"))
    producer.abort()
    assert not id_is_unknown(stage)
    assert stage.run(lambda: id_is_unknown(stage), 100_000)
    assert len(producers_at(stage, T0)) == 1, "the partition remembers the producer"
    return stage, producer


@pytest.mark.case("EB-005")
def test_eb_005_an_id_expires_and_its_producer_id_remains() -> None:
    stage, producer = with_expired_id(rules_of("2024-10", 1))
    producer.begin()
    with pytest.raises(ProducerFailure) as refused:
        acked(producer, producer.send(T0, b"refused"))
    assert refused.value.error == Error.INVALID_PRODUCER_ID_MAPPING
    producer.abort()
    producer.begin()
    producer.send(T0, b"committed")
    producer.send(T3, b"committed")
    producer.commit()
    assert len(committed(stage, "topic1")) == 2


@pytest.mark.parametrize("transaction_version", [1, 2])
def test_after_kip_1050_an_expired_id_ends_its_producer(transaction_version: int) -> None:
    """What EB-005 became: the error is fatal, and another producer with the id goes on."""
    stage, producer = with_expired_id(Rules(transaction_version=transaction_version))
    producer.begin()
    with pytest.raises(ProducerFailure) as refused:
        acked(producer, producer.send(T0, b"refused"))
    assert refused.value.error == Error.INVALID_PRODUCER_ID_MAPPING
    with pytest.raises(InErrorState):
        producer.abort()
    again = StagedProducer(stage, ID)
    again.init()
    again.begin()
    again.send(T0, b"committed")
    again.send(T3, b"committed")
    again.commit()
    assert committed(stage, "topic1") == [b"committed", b"committed"]


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.case("EB-006")
def test_eb_006_the_expiry_time_is_changed_while_brokers_run(clean: bool) -> None:
    stage = expiring(producer_id_expiration_ms=10_000)
    producer = StagedProducer(stage, None)
    acked(producer, producer.send(T0, b"first"))
    assert gone(stage)
    assert producers_at(stage, T0) == ()

    stage.cluster.configure("producer_id_expiration_ms", 100_000)
    acked(producer, producer.send(T0, b"second"))
    until_ms = stage.now_ms + 4000
    while stage.now_ms < until_ms:
        stage.turn()
        assert len(producers_at(stage, T0)) == 1

    stage.cluster.configure("producer_id_expiration_ms", 100)
    stage.cluster.restart(clean)
    assert stage.cluster.settings.producer_id_expiration_ms == 100
    assert stage.run(lambda: not producers_at(stage, T0), 2 * SWEEP_MS), "long before the 100000 ms are over"
