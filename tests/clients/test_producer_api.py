"""The producer's calls, synchronous and for asyncio: transactions, and what an application is told."""

import re

import pytest

from tests.live.any_producer import Make, transactional
from tests.live.faulty_transport import FaultyTransport
from tests.live.reading import values_of
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.settings import Settings
from zombieproof.clients.errors import (
    AbortableError,
    ApplicationRecoverable,
    CallTimedOut,
    FatalError,
    IllegalState,
    InvalidConfiguration,
    ProducerFailure,
    ProducerFenced,
)
from zombieproof.clients.transactional_requests import GroupMetadata
from zombieproof.clients.values import OffsetAndMetadata
from zombieproof.messages.groups import OffsetFetch, OffsetFetchAnswer
from zombieproof.messages.transactions import EndTxn
from zombieproof.model.rules import preset
from zombieproof.model.vocabulary import Isolation

T0, T1 = ("t", 0), ("t", 1)


# ---------------------------------------------------------------- transactions


def test_what_is_committed_is_read_and_what_is_aborted_is_not(make: Make, transport: FaultyTransport) -> None:
    producer = transactional(make, transport)
    producer.begin_transaction()
    stored = [producer.send("t", b"kept", partition=number) for number in (0, 1)]
    producer.commit_transaction()
    producer.begin_transaction()
    dropped = producer.send("t", b"dropped", partition=0)
    producer.flush()
    producer.abort_transaction()
    assert [future.result().offset for future in stored] == [0, 0]
    assert dropped.result().offset == 2, "it is in the log, behind the marker of the first"
    assert values_of(transport.cluster, T0) == [b"kept"]
    assert values_of(transport.cluster, T1) == [b"kept"]
    assert values_of(transport.cluster, T0, Isolation.READ_UNCOMMITTED) == [b"kept", b"dropped"]


@pytest.mark.parametrize("release", ["newest", "4.3-tv1", "4.3-tv0", "3.9", "2.8", "0.11.0"])
def test_it_follows_the_rules_of_every_release(make: Make, release: str) -> None:
    rules = preset(release)
    kafka = "4.4" if release == "newest" else release.partition("-")[0]
    transport = FaultyTransport(Cluster(3, rules, topics={"t": 2, "in": 1}, release=kafka))
    producer = transactional(make, transport, rules=rules)
    for number in range(3):
        with producer.transaction():
            producer.send("t", b"%d" % number, partition=number % 2)
            producer.send_offsets_to_transaction({("in", 0): number}, "readers")
    assert values_of(transport.cluster, T0) == [b"0", b"2"]
    assert values_of(transport.cluster, T1) == [b"1"]
    assert committed(transport) == (2, "")


def committed(transport: FaultyTransport) -> tuple[int, str]:
    cluster = transport.cluster
    answer = cluster.ask(OffsetFetch(7, "readers", True, (("in", 0),)), cluster.group_coordinator_of("readers"))
    assert isinstance(answer, OffsetFetchAnswer)
    found = answer.partitions["in", 0]
    return found.offset, found.metadata


def test_offsets_are_committed_with_the_transaction_or_not_at_all(make: Make, transport: FaultyTransport) -> None:
    producer = transactional(make, transport)
    with producer.transaction():
        producer.send_offsets_to_transaction({("in", 0): OffsetAndMetadata(7, "note")}, GroupMetadata("readers"))
    assert committed(transport) == (7, "note")
    producer.begin_transaction()
    producer.send_offsets_to_transaction({("in", 0): 9}, "readers")
    producer.abort_transaction()
    assert committed(transport) == (7, "note")
    with producer.transaction():
        producer.send_offsets_to_transaction({}, "readers")
    assert committed(transport) == (7, "note")


def test_a_consumer_that_lost_its_place_cannot_commit_its_offsets(make: Make, transport: FaultyTransport) -> None:
    producer = transactional(make, transport)
    producer.begin_transaction()
    with pytest.raises(AbortableError, match="ILLEGAL_GENERATION: group readers has gone on without this consumer; a"):
        producer.send_offsets_to_transaction({("in", 0): 9}, GroupMetadata("readers", 3, "somebody"))
    with pytest.raises(AbortableError, match="abort the transaction"):
        producer.commit_transaction()
    producer.abort_transaction()
    with producer.transaction():
        producer.send("t", b"after", partition=0)
    assert values_of(transport.cluster, T0) == [b"after"]


def test_a_second_instance_fences_the_first(make: Make, transport: FaultyTransport) -> None:
    zombie = transactional(make, transport)
    zombie.begin_transaction()
    zombie.send("t", b"before", partition=0)
    zombie.flush()
    successor = transactional(make, transport)
    zombie.send("t", b"after", partition=0)
    with pytest.raises((AbortableError, FatalError)):
        zombie.commit_transaction()
    with pytest.raises(ProducerFenced, match="close this one"):
        zombie.abort_transaction()
    for call in (
        zombie.begin_transaction,
        zombie.commit_transaction,
        zombie.abort_transaction,
        lambda: zombie.send("t", b"more"),
        lambda: zombie.send_offsets_to_transaction({("in", 0): 1}, "readers"),
    ):
        with pytest.raises(ProducerFenced):
            call()
    zombie.close()
    with successor.transaction():
        successor.send("t", b"mine", partition=0)
    assert values_of(transport.cluster, T0) == [b"mine"]


def test_a_transaction_that_timed_out_is_lost_and_its_producer_too(make: Make, transport: FaultyTransport) -> None:
    producer = transactional(make, transport, transaction_timeout_ms=20_000)
    producer.begin_transaction()
    producer.send("t", b"slow", partition=0).result()
    transport.wait_until(lambda: False, 31_000)
    with pytest.raises(ApplicationRecoverable, match="close"):
        producer.commit_transaction()
    assert values_of(transport.cluster, T0) == []
    again = transactional(make, transport)
    with again.transaction():
        again.send("t", b"again", partition=0)
    assert values_of(transport.cluster, T0) == [b"again"]


def test_a_timeout_above_that_of_the_brokers_is_named(make: Make) -> None:
    transport = FaultyTransport(Cluster(settings=Settings(transaction_max_timeout_ms=10_000)))
    producer = make(transport, {"transactional.id": "shop"})
    with pytest.raises(InvalidConfiguration, match=r"above the transaction\.max\.timeout\.ms of the brokers: lower"):
        producer.init_transactions()
    with pytest.raises(InvalidConfiguration, match="a new one fails as well"):
        producer.begin_transaction()
    producer.close()


@pytest.mark.parametrize(
    ("calls", "says"),
    [
        (["begin_transaction"], "BEGIN is illegal in UNINITIALIZED; legal here: INIT_TRANSACTIONS"),
        (["init_transactions", "init_transactions"], "INIT_TRANSACTIONS is illegal in READY"),
        (["init_transactions", "commit_transaction"], "COMMIT is illegal in READY"),
        (["init_transactions", "abort_transaction"], "ABORT is illegal in READY"),
        (["init_transactions", "begin_transaction", "begin_transaction"], "BEGIN is illegal in IN_TRANSACTION"),
        (["init_transactions", "begin_transaction", "close", "commit_transaction"], "the producer is closed"),
        (["close", "init_transactions"], "the producer is closed: make a new one"),
        (["close", "flush"], "the producer is closed"),
        (["init_transactions", "begin_transaction", "prepare_transaction"], "needs two-phase commit"),
    ],
)
def test_a_call_at_the_wrong_time_is_refused_and_changes_nothing(
    make: Make, transport: FaultyTransport, calls: list[str], says: str
) -> None:
    producer = make(transport, {"transactional.id": "shop"})
    for name in calls[:-1]:
        getattr(producer, name)()
    before = producer.runtime.manager.state
    with pytest.raises((IllegalState, ProducerFailure), match=re.escape(says)):
        getattr(producer, calls[-1])()
    assert producer.runtime.manager.state == before


def test_records_outside_of_a_transaction_are_refused(make: Make, transport: FaultyTransport) -> None:
    producer = transactional(make, transport)
    with pytest.raises(IllegalState, match="t-0 cannot be sent in READY"):
        producer.send("t", b"v", partition=0)
    with pytest.raises(IllegalState, match="cannot be sent in READY"):
        producer.send("t", b"v" * 2_000_000, partition=0)
    idempotent = make(transport)
    with pytest.raises(IllegalState, match="needs a transactional id"):
        idempotent.begin_transaction()


def test_a_prepared_transaction_is_ended_by_who_is_told_of_it(make: Make) -> None:
    cluster = Cluster(
        settings=Settings(transaction_two_phase_commit_enable=True, unstable_api_versions_enable=True), topics={"t": 2}
    )
    transport = FaultyTransport(cluster)
    producer = transactional(make, transport, transaction_two_phase_commit_enable=True)
    producer.begin_transaction()
    producer.send("t", b"prepared", partition=0)
    prepared = producer.prepare_transaction()
    with pytest.raises(IllegalState, match="PREPARED_TRANSACTION"):
        producer.send("t", b"late", partition=0)
    transport.wait_until(lambda: False, 3_600_000)
    producer.complete_transaction(prepared)
    assert values_of(cluster, T0) == [b"prepared"]
    producer.begin_transaction()
    producer.send("t", b"forgotten", partition=0)
    producer.prepare_transaction()
    producer.complete_transaction(prepared)
    assert values_of(cluster, T0) == [b"prepared"], "the outer commit tells of another transaction"


# ---------------------------------------------------------------- the block


def test_a_block_commits_at_its_end(make: Make, transport: FaultyTransport) -> None:
    producer = transactional(make, transport)
    with producer.transaction():
        producer.send("t", b"v", partition=0)
        assert values_of(transport.cluster, T0) == []
    assert values_of(transport.cluster, T0) == [b"v"]


def test_a_block_that_an_exception_leaves_is_aborted_and_the_exception_goes_on(
    make: Make, transport: FaultyTransport
) -> None:
    producer = transactional(make, transport)

    def leave_early() -> None:
        with producer.transaction():
            producer.send("t", b"v", partition=0)
            producer.flush()
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        leave_early()
    with producer.transaction():
        producer.send("t", b"next", partition=0)
    assert values_of(transport.cluster, T0) == [b"next"]


def test_a_block_of_a_fenced_producer_aborts_nothing_and_raises_the_first_failure(
    make: Make, transport: FaultyTransport
) -> None:
    producer = transactional(make, transport)

    def be_fenced() -> None:
        with producer.transaction():
            producer.send("t", b"v", partition=0)
            producer.flush()
            transactional(make, transport)
            transport.seen.clear()
            producer.commit_transaction()

    with pytest.raises(ProducerFenced):
        be_fenced()
    assert sum(isinstance(message.body, EndTxn) for message in transport.seen) == 1, "the commit, and no abort"


def test_a_block_whose_commit_fails_for_this_transaction_only_is_aborted(
    make: Make, transport: FaultyTransport
) -> None:
    producer = transactional(make, transport)

    def send_nowhere() -> None:
        with producer.transaction():
            producer.send("t", b"v", partition=0)
            producer.send("nowhere", b"v")

    with pytest.raises(AbortableError):
        send_nowhere()
    with producer.transaction():
        producer.send("t", b"next", partition=0)
    assert values_of(transport.cluster, T0) == [b"next"]


def test_a_block_whose_commit_timed_out_is_not_aborted(make: Make, transport: FaultyTransport) -> None:
    producer = transactional(make, transport)
    transport.plan = lambda message: "is held" if isinstance(message.body, EndTxn) else "arrives"
    with pytest.raises(CallTimedOut, match="call commitTransaction again") as raised, producer.transaction():
        producer.send("t", b"v", partition=0)
    [note] = raised.value.__notes__
    assert "the transaction was not aborted: abortTransaction is refused: commitTransaction timed out" in note
    transport.plan = lambda _: "arrives"
    producer.commit_transaction()
    assert values_of(transport.cluster, T0) == [b"v"]
