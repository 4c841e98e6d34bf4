"""Who lacks a right is refused, and nothing has happened: requests and producers of one user (AZ-007 to AZ-034)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from zombieproof.broker.authorization.access_list import AccessList, Entry
from zombieproof.broker.authorization.principals import Principal
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.store.config import Durability
from zombieproof.clients.embedded_transport import EmbeddedTransport
from zombieproof.clients.errors import ProducerFailure
from zombieproof.clients.producer import Producer
from zombieproof.formats.batches import Batch, Record
from zombieproof.messages.groups import FindCoordinator, OffsetFetch, OffsetToCommit, TxnOffsetCommit
from zombieproof.messages.partitions import (
    DescribeProducers,
    MarkerToWrite,
    Produce,
    SentBatch,
    WriteTxnMarkers,
)
from zombieproof.messages.transactions import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    DescribeTransactions,
    EndTxn,
    InitProducerId,
    ListTransactions,
    TransactionToAdd,
)
from zombieproof.model.access import CLUSTER_NAME, EVERYTHING, AclOperation, PatternType, Permission, ResourceType
from zombieproof.model.rules import preset_for
from zombieproof.model.vocabulary import Error

ROOT, USER = Principal("root"), Principal("user")
SETTINGS = Settings(
    transaction_state_log_num_partitions=1, offsets_topic_num_partitions=1, group_initial_rebalance_delay_ms=0
)
ID, TOPIC, GROUP = ResourceType.TRANSACTIONAL_ID, ResourceType.TOPIC, ResourceType.GROUP

BOTH = pytest.mark.parametrize("rules", [preset_for("3.9"), preset_for("4.3")], ids=["2024-10", "2026"])


def may(operation: str, resource: ResourceType, name: str, *, by_prefix: bool = False, denied: bool = False) -> Entry:
    pattern = PatternType.PREFIXED if by_prefix else PatternType.LITERAL
    permission = Permission.DENY if denied else Permission.ALLOW
    return Entry(str(USER), permission, AclOperation[operation], resource, name, pattern)


def on_cluster(operation: str) -> Entry:
    return may(operation, ResourceType.CLUSTER, CLUSTER_NAME)


WRITE_ID = may("WRITE", ID, "x")
DESCRIBE_ID = may("DESCRIBE", ID, "x")
WRITE_T, DESCRIBE_T = may("WRITE", TOPIC, "t"), may("DESCRIBE", TOPIC, "t")


class Brokers:
    """A cluster whose root may do everything, and whose user what entries say."""

    def __init__(self, *entries: Entry, rules: Any = None) -> None:
        access = AccessList(frozenset(entries), frozenset({str(ROOT)}))
        self.cluster = Cluster(1, rules, SETTINGS, {"t": 2, "u": 1}, access=access)

    def ask(self, request: Request, who: Principal = USER) -> Any:
        answer: Answer | None = self.cluster.ask(request, None, who)
        assert answer is not None, f"{request} was not answered"
        return answer

    def begin(self, *partitions: tuple[str, int]) -> tuple[int, int]:
        """Root's producer has a transaction with these partitions."""
        granted = self.ask(InitProducerId(4, "x", 60_000), ROOT)
        named = TransactionToAdd("x", granted.producer_id, granted.producer_epoch, partitions)
        added = self.ask(AddPartitionsToTxn(3, (named,)), ROOT)
        assert set(added.transactions[0].errors.values()) <= {0}
        return granted.producer_id, granted.producer_epoch

    def facts(self) -> tuple[Any, ...]:
        """What there is: every record of every log, and what coordinators remember."""
        broker = self.cluster.brokers[1]
        logs = {tp: tuple(replica.log.read()) for tp, replica in broker.partitions.replicas.items()}
        return logs, dict(broker.coordinator.entries(0))


@contextmanager
def nothing_happens(brokers: Brokers) -> Iterator[None]:
    before = brokers.facts()
    yield
    assert brokers.facts() == before


def batch(producer_id: int, epoch: int) -> SentBatch:
    return SentBatch(Batch(producer_id, epoch, 0, transactional=True, records=(Record(None, b"v"),)))


# ---------------------------------------------------------------- requests


@BOTH
@pytest.mark.case("AZ-007")
def test_az_007_partitions_are_added_by_who_may_write_to_the_id_or_is_a_broker(rules: Any) -> None:
    brokers = Brokers(rules=rules)
    producer_id, epoch = brokers.begin(("t", 0))
    asked = TransactionToAdd("x", producer_id, epoch, (("t", 1), ("u", 0)))
    with nothing_happens(brokers):
        for version in range(4):
            [added] = brokers.ask(AddPartitionsToTxn(version, (asked,))).transactions
            assert added.errors == dict.fromkeys(asked.partitions, Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        for version in (4, 5):
            answer = brokers.ask(AddPartitionsToTxn(version, (asked,)))
            assert (answer.error, answer.transactions) == (Error.CLUSTER_AUTHORIZATION_FAILED, ())


@BOTH
@pytest.mark.case("AZ-013")
def test_az_013_a_transaction_is_described_without_topics_that_one_may_not_know(rules: Any) -> None:
    brokers = Brokers(DESCRIBE_ID, may("DESCRIBE", TOPIC, "t"), rules=rules)
    brokers.begin(("t", 0), ("u", 0))
    [row] = brokers.ask(DescribeTransactions(0, ("x",))).transactions
    assert (row.error, row.state, row.partitions) == (0, "Ongoing", {("t", 0)})
    [row] = brokers.ask(DescribeTransactions(0, ("x",)), ROOT).transactions
    assert row.partitions == {("t", 0), ("u", 0)}


@BOTH
@pytest.mark.case("AZ-014")
def test_az_014_of_two_ids_the_one_that_one_may_know_is_listed(rules: Any) -> None:
    brokers = Brokers(DESCRIBE_ID, rules=rules)
    for name in ("x", "y"):
        brokers.ask(InitProducerId(4, name, 60_000), ROOT)
    listed = brokers.ask(ListTransactions(0))
    assert (listed.error, [row.transactional_id for row in listed.transactions]) == (0, ["x"])
    assert len(brokers.ask(ListTransactions(0), ROOT).transactions) == 2


@BOTH
@pytest.mark.case("AZ-015")
def test_az_015_producers_are_described_where_one_may_read_and_there_is_such_a_topic(rules: Any) -> None:
    brokers = Brokers(may("READ", TOPIC, "t"), may("READ", TOPIC, "baz"), rules=rules)
    producer_id, epoch = brokers.begin(("t", 0))
    brokers.ask(Produce(11, "x", -1, {("t", 0): (batch(producer_id, epoch),)}), ROOT)
    asked = (("t", 0), ("u", 0), ("baz", 1), ("invalid;topic", 0))
    rows = brokers.ask(DescribeProducers(0, asked)).partitions
    assert [rows[each].error for each in asked] == [
        *(0, Error.TOPIC_AUTHORIZATION_FAILED, Error.UNKNOWN_TOPIC_OR_PARTITION, Error.INVALID_TOPIC_EXCEPTION)
    ]
    assert [row.producer_id for row in rows["t", 0].producers] == [producer_id]


NO_RIGHT_TO_WRITE: Sequence[Sequence[Entry]] = (
    (),
    (DESCRIBE_T, may("READ", TOPIC, EVERYTHING)),
    (on_cluster("DESCRIBE"), WRITE_ID),
    (WRITE_T, may("WRITE", TOPIC, EVERYTHING, denied=True)),
)


@BOTH
@pytest.mark.case("AZ-029")
def test_az_029_a_producer_id_is_for_who_may_write_idempotently_or_to_some_topic(rules: Any) -> None:
    for entry in (on_cluster("IDEMPOTENT_WRITE"), WRITE_T, may("WRITE", TOPIC, "q", by_prefix=True)):
        answer = Brokers(entry, rules=rules).ask(InitProducerId(4, None, 60_000))
        assert (answer.error, answer.producer_id >= 0) == (0, True)
    for entries in NO_RIGHT_TO_WRITE:
        answer = Brokers(*entries, rules=rules).ask(InitProducerId(4, None, 60_000))
        assert (answer.error, answer.producer_id) == (Error.CLUSTER_AUTHORIZATION_FAILED, -1)


@BOTH
@pytest.mark.case("AZ-030")
def test_az_030_a_transactional_batch_needs_the_right_to_its_id(rules: Any) -> None:
    brokers = Brokers(WRITE_T, rules=rules)
    producer_id, epoch = brokers.begin(("t", 0))
    request = Produce(11, "x", -1, {("t", 0): (batch(producer_id, epoch),)})
    with nothing_happens(brokers):
        rows = brokers.ask(request).partitions
        assert rows["t", 0].error == Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    brokers.cluster.set_access({WRITE_T, WRITE_ID})
    assert brokers.ask(request).partitions["t", 0].error == 0


@BOTH
@pytest.mark.case("AZ-031")
def test_az_031_offsets_need_the_id_then_the_group_then_each_topic(rules: Any) -> None:
    brokers = Brokers(rules=rules)
    producer_id, epoch = brokers.begin(("t", 0))
    assert brokers.ask(AddOffsetsToTxn(3, "x", producer_id, epoch, "g"), ROOT).error == 0
    rows = (OffsetToCommit(("t", 0), 5, ""), OffsetToCommit(("u", 0), 6, ""))
    request = TxnOffsetCommit(2, "x", "g", producer_id, epoch, rows)
    read_group, read_topic = may("READ", GROUP, "g"), may("READ", TOPIC, "t")
    every_right = {WRITE_ID, read_group, read_topic, may("READ", TOPIC, "u")}
    wanted = {
        Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: every_right - {WRITE_ID},
        Error.GROUP_AUTHORIZATION_FAILED: every_right - {read_group},
        Error.TOPIC_AUTHORIZATION_FAILED: {WRITE_ID, read_group},
    }
    for error, entries in wanted.items():
        brokers.cluster.set_access(entries)
        with nothing_happens(brokers):
            assert set(brokers.ask(request).errors.values()) == {error}
    brokers.cluster.set_access(every_right - {read_topic})
    errors = brokers.ask(request).errors
    assert errors == {("t", 0): Error.TOPIC_AUTHORIZATION_FAILED, ("u", 0): 0}
    brokers.cluster.set_access(every_right)
    assert set(brokers.ask(request).errors.values()) == {0}
    fetched = brokers.ask(OffsetFetch(7, "g", True, (("t", 0),)), ROOT)
    assert fetched.partitions["t", 0].error == Error.UNSTABLE_OFFSET_COMMIT


@BOTH
@pytest.mark.case("AZ-032")
def test_az_032_who_may_not_write_to_the_id_ends_nothing(rules: Any) -> None:
    brokers = Brokers(rules=rules)
    producer_id, epoch = brokers.begin(("t", 0))
    with nothing_happens(brokers):
        for version in range(5):
            answer = brokers.ask(EndTxn(version, "x", producer_id, epoch, committed=True))
            assert answer.error == Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert brokers.ask(EndTxn(3, "x", producer_id, epoch, committed=True), ROOT).error == 0


@BOTH
@pytest.mark.case("AZ-033")
def test_az_033_the_coordinator_of_an_id_is_for_who_may_know_of_it(rules: Any) -> None:
    brokers = Brokers(rules=rules)
    asked = FindCoordinator(3, "x", 1)
    assert brokers.ask(asked).error == Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    brokers.cluster.set_access({DESCRIBE_ID})
    assert (brokers.ask(asked).error, brokers.ask(asked).node) == (0, 1)


@BOTH
@pytest.mark.case("AZ-034")
@pytest.mark.parametrize("operation", ["ALTER", "CLUSTER_ACTION"])
def test_az_034_either_right_to_the_cluster_is_enough_for_markers(operation: str, rules: Any) -> None:
    brokers = Brokers(on_cluster(operation), rules=rules)
    producer_id, epoch = brokers.begin(("t", 0))
    brokers.ask(Produce(11, "x", -1, {("t", 0): (batch(producer_id, epoch),)}), ROOT)
    marker = MarkerToWrite(producer_id, epoch, False, 0, (("t", 0),))
    [row] = brokers.ask(WriteTxnMarkers(1, (marker,))).markers
    assert row.errors == {("t", 0): 0}
    brokers.cluster.set_access({on_cluster("DESCRIBE")})
    with nothing_happens(brokers):
        [row] = brokers.ask(WriteTxnMarkers(1, (marker,))).markers
        assert row.errors == {("t", 0): Error.CLUSTER_AUTHORIZATION_FAILED}


# ---------------------------------------------------------------- producers


class Application:
    """A cluster that runs, and a producer of the user."""

    def __init__(self, embedded: Embedded, transactional_id: str | None, **settings: Any) -> None:
        self.embedded = embedded
        self.producer = Producer(
            EmbeddedTransport(embedded, principal=USER), transactional_id=transactional_id, **settings
        )

    def give(self, *entries: Entry) -> None:
        self.embedded.cluster.set_access(entries)

    def transaction(self) -> Any:
        return self.described_to(ROOT)

    def described_to(self, who: Principal) -> Any:
        answer: Any = self.embedded.ask(DescribeTransactions(0, ("x",)), principal=who)
        return answer.transactions[0]


@pytest.fixture(params=[preset_for("3.9"), preset_for("4.3")], ids=["2024-10", "2026"])
def embedded(request: Any) -> Iterator[Embedded]:
    access = AccessList(frozenset(), frozenset({str(ROOT)}))
    with Embedded(
        topics={"t": 1, "u": 1}, settings=SETTINGS, rules=request.param, durability=Durability.MEMORY, access=access
    ) as cluster:
        yield cluster


@contextmanager
def refused(error: Error, *words: str) -> Iterator[None]:
    with pytest.raises(ProducerFailure) as caught:
        yield
    assert caught.value.error == error
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    "entries",
    [
        pytest.param((DESCRIBE_ID,), marks=pytest.mark.case("AZ-016"), id="AZ-016"),
        pytest.param((), marks=pytest.mark.case("AZ-017"), id="AZ-017"),
    ],
)
def test_az_016_and_017_without_the_right_to_write_there_is_no_producer(
    entries: tuple[Entry, ...], embedded: Embedded
) -> None:
    application = Application(embedded, "x")
    application.give(*entries)
    with refused(Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED):
        application.producer.init_transactions()
    assert application.transaction().error == Error.TRANSACTIONAL_ID_NOT_FOUND


@pytest.mark.case("AZ-018")
def test_az_018_the_right_to_write_to_the_id_is_enough(embedded: Embedded) -> None:
    application = Application(embedded, "x")
    application.give(WRITE_ID)
    application.producer.init_transactions()
    assert application.transaction().state == "Empty"


def begun(embedded: Embedded, *entries: Entry) -> Application:
    application = Application(embedded, "x")
    application.give(WRITE_ID, *entries)
    application.producer.init_transactions()
    application.producer.begin_transaction()
    return application


@pytest.mark.case("AZ-019")
def test_az_019_who_may_not_write_to_the_topic_is_told_by_the_record(embedded: Embedded) -> None:
    application = begun(embedded, DESCRIBE_T)
    failure = application.producer.send("t", b"v").exception()
    assert isinstance(failure, ProducerFailure)
    assert failure.error == Error.TOPIC_AUTHORIZATION_FAILED
    assert "t" in str(failure)


@pytest.mark.case("AZ-020")
def test_az_020_or_by_the_commit(embedded: Embedded) -> None:
    application = begun(embedded, DESCRIBE_T)
    application.producer.send("t", b"v")
    with refused(Error.TOPIC_AUTHORIZATION_FAILED, "write to t"):
        application.producer.commit_transaction()


@pytest.mark.case("AZ-021")
def test_az_021_a_transaction_that_met_a_denied_topic_can_be_aborted(embedded: Embedded) -> None:
    application = begun(embedded, WRITE_T, may("DESCRIBE", TOPIC, "u"))
    application.producer.send("t", b"v").result()
    failure = application.producer.send("u", b"v").exception()
    assert isinstance(failure, ProducerFailure)
    assert failure.error == Error.TOPIC_AUTHORIZATION_FAILED
    application.producer.abort_transaction()
    assert application.transaction().state == "CompleteAbort"


@pytest.mark.case("AZ-022")
def test_az_022_who_lost_the_right_to_the_id_cannot_commit(embedded: Embedded) -> None:
    application = begun(embedded, WRITE_T)
    application.producer.send("t", b"v").result()
    application.give()
    with refused(Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED):
        application.producer.commit_transaction()
    assert application.transaction().state == "Ongoing"


@pytest.mark.case("AZ-023")
def test_az_023_nor_send_offsets(embedded: Embedded) -> None:
    application = begun(embedded)
    application.give(may("READ", GROUP, "g"))
    with refused(Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED):
        application.producer.send_offsets_to_transaction({("t", 0): 1}, "g")


@pytest.mark.case("AZ-024")
def test_az_024_an_idempotent_producer_that_lost_its_rights_is_refused_by_the_topic(embedded: Embedded) -> None:
    application = Application(embedded, None)
    application.give(on_cluster("IDEMPOTENT_WRITE"), WRITE_T)
    application.producer.send("t", b"v").result()
    application.give()
    failure = application.producer.send("t", b"v").exception()
    assert isinstance(failure, ProducerFailure)
    assert failure.error == Error.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.case("AZ-025")
def test_az_025_an_idempotent_producer_with_both_rights_writes(embedded: Embedded) -> None:
    application = Application(embedded, None)
    application.give(on_cluster("IDEMPOTENT_WRITE"), WRITE_T)
    assert application.producer.send("t", b"v").result().offset == 0


@pytest.mark.case("AZ-026")
def test_az_026_a_producer_goes_on_when_it_is_not_denied_any_more(embedded: Embedded) -> None:
    application = Application(embedded, None)
    application.give(may("WRITE", TOPIC, EVERYTHING, denied=True))
    assert isinstance(application.producer.send("t", b"v").exception(), ProducerFailure)
    application.give(may("WRITE", TOPIC, "t", by_prefix=True), WRITE_T)
    assert application.producer.send("t", b"v").result().offset == 0


@pytest.mark.case("AZ-027")
def test_az_027_a_topic_whose_right_was_withdrawn_is_not_told_of(embedded: Embedded) -> None:
    application = begun(embedded, WRITE_T)
    application.producer.send("t", b"v").result()
    assert application.described_to(USER).partitions == {("t", 0)}
    application.give(WRITE_ID)
    row = application.described_to(USER)
    assert (row.state, row.partitions) == ("Ongoing", frozenset())
