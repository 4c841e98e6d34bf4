"""Kafka's cases of a partition's log that are plain prose: UnifiedLogTest and ReplicaManagerTest.

The notation of the others is understood by `suite_lg`.
"""

import itertools
from dataclasses import replace

import pytest

from tests.broker.partitions import Place, Tokens, data, end, verified
from tests.broker.questions import told
from tests.conformance.log_phrases import World, perform
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.partition.log import MemoryLog
from zombieproof.broker.partition.produce import PartitionsToVerify, ProduceInProgress
from zombieproof.broker.partition.replica import Replica
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.partitions import Produce, ProduceAnswer, Produced, SentBatch
from zombieproof.model.rules import Rules, with_switches
from zombieproof.model.vocabulary import NONE, Error, Isolation, Mode, Origin

TP0, TP1 = ("tp", 0), ("tp", 1)
UNVERIFIED = with_switches(Rules(), off=["verification"])


class Broker:
    """A broker that leads two partitions, and Produce requests to it."""

    def __init__(self, rules: Rules | None = None) -> None:
        self.place = Place(rules=Rules() if rules is None else rules, tokens=Tokens())
        self.replicas: dict[TopicPartition, Replica] = {
            partition: replace(self.place, partition=partition, log=MemoryLog()).leader() for partition in (TP0, TP1)
        }
        self.asked: list[PartitionsToVerify] = []

    def begin(self, batches: dict[TopicPartition, SentBatch], version: int = 11) -> ProduceInProgress:
        """A request on its way, of which the coordinator is asked what it must be."""
        request = Produce(version, "x", -1, {partition: (sent,) for partition, sent in batches.items()})
        under_way = ProduceInProgress(request, Settings(), self.place.journal)
        self.asked = under_way.start(self.replicas.get)
        return under_way

    def answer(self, under_way: ProduceInProgress, word: int = 0) -> dict[TopicPartition, Produced]:
        """The coordinator says `word` of every partition it was asked about, and the request is finished."""
        for question in self.asked:
            under_way.handle_verification(told(question, word))
        answer = under_way.finish(self.replicas.get)
        assert isinstance(answer, ProduceAnswer)
        return answer.partitions

    def guard(self, partition: TopicPartition, producer_id: int = 1) -> int:
        """The guard of a producer id, 0 for none."""
        entry = self.replicas[partition].producers.get(producer_id)
        return 0 if entry is None else entry.guard

    def switch_verification_off(self) -> None:
        """The broker's setting changes while it runs."""
        for replica in self.replicas.values():
            replica.rules = replica.producers.rules = with_switches(replica.rules, off=["verification"])

    def is_ongoing(self, partition: TopicPartition, producer_id: int = 1) -> bool:
        """Whether a transaction of a producer id is open."""
        entry = self.replicas[partition].producers.get(producer_id)
        return entry is not None and entry.txn_first_offset != NONE


@pytest.mark.case("LG-017")
@pytest.mark.parametrize("moves", list(itertools.product((False, True), repeat=3)), ids=str)
def test_no_undecided_data_is_read_however_the_high_watermark_moves(moves: tuple[bool, bool, bool]) -> None:
    """The two threads as interleavings: behind each step the high watermark reaches the log's end, or it does not."""
    replica = Place(rules=UNVERIFIED).leader()
    replica.high_watermark = 0
    for transaction in range(25):
        offset = replica.log.end_offset
        replica.append(data(1, transaction), 0, Origin.CLIENT)
        raise_if(replica, moves[0])
        assert replica.fetch(offset, Isolation.READ_COMMITTED).batches == ()
        raise_if(replica, moves[1])
        assert replica.fetch(offset, Isolation.READ_COMMITTED).batches == ()
        end(replica, 1, committed=False)
        raise_if(replica, moves[2])
    assert replica.log.end_offset == 50
    assert bool(replica.fetch(0, Isolation.READ_COMMITTED).batches) is any(moves), "what is decided is read"


def raise_if(replica: Replica, moves: bool) -> None:
    """The high watermark reaches the end of the log, if it `moves`."""
    if moves:
        replica.high_watermark = replica.log.end_offset


@pytest.mark.case("LG-019")
def test_a_follower_has_the_aborted_index_of_its_leader() -> None:
    leader = World(UNVERIFIED)
    perform(
        leader,
        "p1 T5, N3, p2 T2, p1 T4, p3 T3, N2, p1 T10, p1 ABORT (29), p2 T6, p4 T3, N10, p3 T9, p3 COMMIT (58), p4 T8, "
        "p2 T7, p2 ABORT (74), N10, p4 T4, p4 COMMIT (89)",
    )
    follower = Place(rules=UNVERIFIED).replica()
    follower.high_watermark = 0
    for batch in leader.replica.log.read():
        follower.replicate(batch)
    assert [tuple(entry) for entry in follower.aborted] == [(1, 0, 29, 8), (2, 8, 74, 36)]
    first_unstable = []
    for high_watermark in (30, 75, follower.log.end_offset):
        follower.high_watermark = high_watermark
        first_unstable.append(follower.first_unstable_offset)
    assert first_unstable == [8, 36, NONE]


@pytest.mark.case("LG-029")
def test_only_transactional_data_is_verified() -> None:
    broker = Broker()
    broker.begin({TP0: SentBatch(data(1, 0, transactional=False)), TP1: SentBatch(data(1, 0))})
    assert [question.partitions for question in broker.asked] == [(TP1,)]
    assert broker.guard(TP0) == 0
    assert broker.guard(TP1) != 0


@pytest.mark.case("LG-030")
def test_what_was_refused_can_be_verified_again() -> None:
    broker = Broker()
    sent = {TP0: SentBatch(data(1, 6))}
    answer = broker.answer(broker.begin(sent), Error.INVALID_TXN_STATE)
    guard = broker.guard(TP0)
    assert answer[TP0].error == Error.INVALID_TXN_STATE
    assert broker.replicas[TP0].log.end_offset == 0
    assert guard != 0
    under_way = broker.begin(sent)
    assert broker.guard(TP0) == guard, "the retry is verified under the same guard"
    assert broker.answer(under_way)[TP0] == Produced(Error.NONE, 0, 0)
    assert broker.guard(TP0) == 0
    assert broker.is_ongoing(TP0)


@pytest.mark.case("LG-030")
def test_what_was_refused_can_be_verified_again_for_records_of_the_group_coordinator() -> None:
    replica = Place().leader()
    records = data(1, 0, 2)
    first = replica.begin_verification(replace(records, base_sequence=NONE), Mode.GENERIC)
    assert first.asks
    assert replica.append(records, 0, Origin.COORDINATOR).error == Error.INVALID_TXN_STATE
    assert replica.log.end_offset == 0
    again = replica.begin_verification(replace(records, base_sequence=NONE), Mode.GENERIC)
    assert again.guard == first.guard != 0
    assert replica.append(records, again.guard, Origin.COORDINATOR).error == Error.NONE
    entry = replica.producers.get(1)
    assert entry is not None
    assert (entry.guard, entry.txn_first_offset) == (0, 0)


@pytest.mark.case("LG-031")
def test_who_does_not_lead_a_partition_does_not_ask_about_it() -> None:
    broker = Broker()
    broker.replicas[TP0].follow(1)
    answer = broker.answer(broker.begin({TP0: SentBatch(data(1, 0))}))
    assert answer[TP0].error == Error.NOT_LEADER_OR_FOLLOWER
    assert broker.asked == []


@pytest.mark.case("LG-032")
def test_with_verification_off_everything_is_written_unasked() -> None:
    broker = Broker(UNVERIFIED)
    answer = broker.answer(broker.begin({TP0: SentBatch(data(1, 0)), TP1: SentBatch(data(1, 0))}))
    assert broker.asked == []
    assert {produced.error for produced in answer.values()} == {Error.NONE}
    assert [replica.log.end_offset for replica in broker.replicas.values()] == [1, 1]


@pytest.mark.case("LG-033")
def test_verification_can_be_switched_off_while_an_answer_is_awaited() -> None:
    broker = Broker()
    sent = {TP0: SentBatch(data(1, 6))}
    under_way = broker.begin(sent)
    guard = broker.guard(TP0)
    assert guard != 0
    broker.switch_verification_off()
    assert broker.answer(under_way, Error.INVALID_TXN_STATE)[TP0].error == Error.INVALID_TXN_STATE
    assert broker.guard(TP0) == guard
    answer = broker.answer(broker.begin(sent))
    assert broker.asked == []
    assert answer[TP0] == Produced(Error.NONE, 0, 0)
    assert broker.replicas[TP0].log.end_offset == 1
    assert broker.guard(TP0) == 0
    assert broker.is_ongoing(TP0)


@pytest.mark.case("LG-034")
@pytest.mark.parametrize(
    "word",
    [
        Error.NOT_COORDINATOR,
        Error.CONCURRENT_TRANSACTIONS,
        Error.NETWORK_EXCEPTION,
        Error.COORDINATOR_LOAD_IN_PROGRESS,
        Error.COORDINATOR_NOT_AVAILABLE,
    ],
)
def test_trouble_with_the_coordinator_is_retriable_for_the_client(word: Error) -> None:
    broker = Broker()
    answer = broker.answer(broker.begin({TP0: SentBatch(data(1, 0))}), word)[TP0]
    assert answer.error == Error.NOT_ENOUGH_REPLICAS
    assert answer.message.startswith("Unable to verify the partition has been added to the transaction.")
    assert answer.message.endswith(f"Underlying error: {word.name}"), "which is one that may be retried"
    assert broker.replicas[TP0].log.end_offset == 0


@pytest.mark.case("LG-035")
def test_a_leader_that_has_not_taken_over_yet_asks_nobody() -> None:
    broker = Broker()
    broker.replicas[TP0] = replace(broker.place, partition=TP0, log=MemoryLog()).replica()
    answer = broker.answer(broker.begin({TP0: SentBatch(data(1, 0))}))
    assert answer[TP0].error == Error.NOT_LEADER_OR_FOLLOWER
    assert broker.asked == []
    assert broker.guard(TP0) == 0


@pytest.mark.case("LG-036")
def test_a_fetch_that_waited_for_the_end_of_a_transaction_is_told_that_it_was_aborted() -> None:
    """A fetch that waits is answered with what there is when its wait ends."""
    replica = Place().leader()
    verified(replica, data(1, 0, 3))
    replica.high_watermark = 3
    first = replica.fetch(0, Isolation.READ_COMMITTED)
    assert (first.batches, first.aborted) == ((), ()), "nothing yet: whoever asks for more bytes than that waits"
    end(replica, 1, committed=False)
    replica.high_watermark = replica.log.end_offset
    answer = replica.fetch(0, Isolation.READ_COMMITTED)
    assert answer.aborted == ((1, 0),)
    assert [len(batch.records) for batch in answer.batches if batch.marker is None] == [3]
