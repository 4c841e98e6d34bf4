"""A Produce request: which check answers, in which order, and what the coordinator is asked."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from tests.broker.partitions import Place, data, end, plain, verified
from tests.broker.questions import Word, told
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.partition.log import MemoryLog
from zombieproof.broker.partition.produce import PartitionsToVerify, ProduceInProgress
from zombieproof.broker.partition.replica import Replica
from zombieproof.formats.batches import Batch, Marker
from zombieproof.formats.topics import CONSUMER_OFFSETS, TopicPartition
from zombieproof.messages.partitions import ConnectionClosed, Produce, ProduceAnswer, Produced, SentBatch
from zombieproof.messages.transactions import AddPartitionsToTxnAnswer
from zombieproof.model.rules import Rules, with_switches
from zombieproof.model.vocabulary import NONE, Error, Mode
from zombieproof.statemachines.partition_leader.questions import ChannelFailure

T0, T1, NOPE = ("t", 0), ("t", 1), ("nope", 0)
INTERNAL = (CONSUMER_OFFSETS, 0)


@dataclass
class Broker:
    """One broker that leads some partitions; `elsewhere` exist, but are led by others."""

    place: Place = field(default_factory=Place)
    settings: Settings = field(default_factory=Settings)
    replicas: dict[TopicPartition, Replica] = field(default_factory=dict)
    elsewhere: frozenset[TopicPartition] = frozenset()
    asked: list[PartitionsToVerify] = field(default_factory=list)

    def __post_init__(self) -> None:
        for partition in (T0, T1, INTERNAL):
            self.replicas[partition] = replace(self.place, partition=partition, log=MemoryLog()).leader()

    def produce(
        self,
        batches: Mapping[TopicPartition, Batch | SentBatch | tuple[SentBatch, ...]],
        word: int | Mapping[TopicPartition, int] = 0,
        *,
        version: int = 11,
        transactional_id: str | None = "x",
        acks: int = -1,
    ) -> dict[TopicPartition, Produced]:
        """The answer, if the coordinator says `word` of each partition it is asked about."""
        answer = self.send(batches, word, version=version, transactional_id=transactional_id, acks=acks)
        assert isinstance(answer, ProduceAnswer)
        return answer.partitions

    def send(
        self,
        batches: Mapping[TopicPartition, Batch | SentBatch | tuple[SentBatch, ...]],
        word: int | Mapping[TopicPartition, int] = 0,
        *,
        version: int = 11,
        transactional_id: str | None = "x",
        acks: int = -1,
    ) -> ProduceAnswer | ConnectionClosed | None:
        """What comes back, if anything does."""
        request = Produce(version, transactional_id, acks, {at: sent(what) for at, what in batches.items()})
        under_way = ProduceInProgress(request, self.settings, self.place.journal)
        self.asked = under_way.start(self.replicas.get, lambda of: of in self.replicas or of in self.elsewhere)
        for question in self.asked:
            under_way.handle_verification(told(question, word))
        return under_way.finish(self.replicas.get)


def sent(what: Batch | SentBatch | tuple[SentBatch, ...]) -> tuple[SentBatch, ...]:
    if isinstance(what, tuple):
        return what
    return (what if isinstance(what, SentBatch) else SentBatch(what),)


def errors(answer: Mapping[TopicPartition, Produced]) -> dict[TopicPartition, int]:
    return {partition: produced.error for partition, produced in answer.items()}


def test_the_coordinator_is_asked_once_for_all_partitions_that_begin() -> None:
    broker = Broker()
    answer = broker.produce({T0: data(1, 0), T1: data(1, 0)})
    assert errors(answer) == {T0: 0, T1: 0}
    assert broker.asked == [PartitionsToVerify("x", 1, 0, (T0, T1), Mode.GENERIC)]
    broker.produce({T0: data(1, 1), T1: data(1, 1)})
    assert broker.asked == [], "both are in the transaction now"


@pytest.mark.parametrize(("version", "mode"), [(10, Mode.DEFAULT), (11, Mode.GENERIC), (12, Mode.ADD)])
def test_the_version_says_how_a_partition_joins(version: int, mode: Mode) -> None:
    broker = Broker()
    broker.produce({T0: data(1, 0)}, version=version)
    assert [question.mode for question in broker.asked] == [mode]


def test_only_transactional_batches_are_asked_about() -> None:
    broker = Broker()
    answer = broker.produce({T0: data(1, 0, transactional=False), T1: data(1, 0)})
    assert errors(answer) == {T0: 0, T1: 0}
    assert broker.asked[0].partitions == (T1,)


def test_what_the_coordinator_refuses_fails_alone() -> None:
    broker = Broker()
    answer = broker.produce({T0: data(1, 0), T1: data(1, 0)}, {T1: Error.TRANSACTION_ABORTABLE})
    assert errors(answer) == {T0: 0, T1: Error.TRANSACTION_ABORTABLE}
    assert (broker.replicas[T0].log.end_offset, broker.replicas[T1].log.end_offset) == (1, 0)


@pytest.mark.parametrize(
    ("version", "word", "told"),
    [
        (10, Error.TRANSACTION_ABORTABLE, Error.INVALID_TXN_STATE),
        (11, Error.TRANSACTION_ABORTABLE, Error.TRANSACTION_ABORTABLE),
        (11, Error.PRODUCER_FENCED, Error.INVALID_PRODUCER_EPOCH),
        (11, Error.CONCURRENT_TRANSACTIONS, Error.NOT_ENOUGH_REPLICAS),
        (12, Error.CONCURRENT_TRANSACTIONS, Error.CONCURRENT_TRANSACTIONS),
        (12, Error.NOT_COORDINATOR, Error.NOT_ENOUGH_REPLICAS),
        (12, Error.UNSUPPORTED_VERSION, Error.UNSUPPORTED_VERSION),
    ],
)
def test_the_coordinators_word_is_translated(version: int, word: Error, told: Error) -> None:
    (answer,) = Broker().produce({T0: data(1, 0)}, word, version=version).values()
    assert (answer.error, answer.base_offset, answer.log_start_offset) == (told, NONE, NONE)


THE_SAME = Produced(Error.NONE, 0, 0, log_append_time_ms=1_000_000)
"""What is told of a batch that is there already: its place and its time."""

BUSY = "CONCURRENT_TRANSACTIONS"


@pytest.mark.parametrize(
    ("version", "word", "message"),
    [
        (10, Error.TRANSACTION_ABORTABLE, "Partition was not added to the transaction"),
        (11, Error.TRANSACTION_ABORTABLE, ""),
        (
            11,
            Error.CONCURRENT_TRANSACTIONS,
            f"Unable to verify the partition has been added to the transaction. Underlying error: {BUSY}",
        ),
    ],
)
def test_the_answer_says_in_words_why_a_partition_was_not_verified(version: int, word: Error, message: str) -> None:
    (answer,) = Broker().produce({T0: data(1, 0)}, word, version=version).values()
    assert answer.message == message


@pytest.mark.parametrize(
    ("word", "error"),
    [
        (ChannelFailure.DISCONNECTED, Error.NOT_ENOUGH_REPLICAS),
        (AddPartitionsToTxnAnswer(Error.CLUSTER_AUTHORIZATION_FAILED, ()), Error.INVALID_TXN_STATE),
    ],
)
def test_a_question_that_fails_as_a_whole_fails_its_partitions(word: Word, error: Error) -> None:
    broker = Broker()
    under_way = ProduceInProgress(
        Produce(11, "x", -1, {T0: sent(data(1, 0)), T1: sent(data(1, 0, transactional=False))}),
        broker.settings,
        broker.place.journal,
    )
    (question,) = under_way.start(broker.replicas.get)
    under_way.handle_verification(told(question, word))
    answer = under_way.finish(broker.replicas.get)
    assert isinstance(answer, ProduceAnswer)
    assert errors(answer.partitions) == {T0: error, T1: 0}


def test_a_transactional_batch_without_an_id_fails_the_whole_request() -> None:
    answer = Broker().produce({T0: data(1, 0), NOPE: plain(1)}, transactional_id=None)
    assert set(errors(answer).values()) == {Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED}


def test_two_producers_in_one_request_fail_it_as_a_whole() -> None:
    answer = Broker().produce({T0: data(1, 0), T1: data(2, 0), NOPE: plain(1)})
    assert set(errors(answer).values()) == {Error.INVALID_PRODUCER_ID_MAPPING}


def test_what_is_refused_at_the_front_door_does_not_count_as_a_second_producer() -> None:
    answer = Broker().produce({T0: data(1, 0), NOPE: data(2, 0)})
    assert errors(answer) == {T0: 0, NOPE: Error.UNKNOWN_TOPIC_OR_PARTITION}


def test_a_topic_id_that_nobody_has_is_another_error() -> None:
    broker = Broker()
    request = Produce(13, None, -1, {NOPE: sent(plain(1))}, frozenset({"nope"}))
    under_way = ProduceInProgress(request, broker.settings, broker.place.journal)
    assert under_way.start(broker.replicas.get) == []
    assert under_way.finish(broker.replicas.get) == ProduceAnswer({NOPE: Produced(Error.UNKNOWN_TOPIC_ID)})


def test_a_transactional_batch_of_nobody_is_appended_unasked() -> None:
    broker = Broker()
    answer = broker.produce({T0: replace(plain(1), transactional=True)})
    assert (errors(answer), broker.asked) == ({T0: 0}, [])


@pytest.mark.parametrize("transactional", [True, False])
def test_who_does_not_lead_does_not_ask(transactional: bool) -> None:
    broker = Broker(elsewhere=frozenset({("t", 2)}))
    broker.replicas[T0].follow(1)
    batch = data(1, 0, transactional=transactional)
    answer = broker.produce({T0: batch, ("t", 2): batch})
    assert set(errors(answer).values()) == {Error.NOT_LEADER_OR_FOLLOWER}
    assert broker.asked == []


WRONG = SentBatch(replace(data(1, NONE, 2, transactional=False), last_offset_delta=4, marker=Marker(True, 0)), 5, True)
"""Wrong in every way that is looked at behind the coordinator's word."""


def repaired(
    base_offset: int = 5, is_corrupt: bool = True, marker: bool = True, delta: int = 4, first: int = -1
) -> SentBatch:
    batch = replace(
        WRONG.batch, marker=WRONG.batch.marker if marker else None, last_offset_delta=delta, base_sequence=first
    )
    return SentBatch(batch, base_offset, is_corrupt)


@pytest.mark.parametrize(
    ("partition", "in_sync", "what", "told"),
    [
        (INTERNAL, 1, repaired(), Produced(Error.INVALID_TOPIC_EXCEPTION)),
        (T0, 1, repaired(), Produced(Error.NOT_ENOUGH_REPLICAS, log_start_offset=0)),
        (T0, 2, repaired(), Produced(Error.INVALID_RECORD, log_start_offset=0)),
        (T0, 2, repaired(0), Produced(Error.CORRUPT_MESSAGE)),
        (T0, 2, repaired(0, False), Produced(Error.INVALID_RECORD, log_start_offset=0)),
        (T0, 2, repaired(0, False, False), Produced(Error.INVALID_RECORD, log_start_offset=0)),
        (T0, 2, repaired(0, False, False, 1), Produced(Error.INVALID_RECORD, log_start_offset=0)),
        (T0, 2, repaired(0, False, False, 1, 0), Produced(Error.NONE, 0, 0)),
    ],
    ids=["internal topic", "replicas", "base offset", "checksum", "control", "count", "no sequence", "sound"],
)
def test_a_batch_is_looked_at_in_the_brokers_order(
    partition: TopicPartition, in_sync: int, what: SentBatch, told: Produced
) -> None:
    broker = Broker(settings=Settings(min_insync_replicas=2))
    for replica in broker.replicas.values():
        replica.in_sync = in_sync
    assert broker.produce({partition: what}, transactional_id=None) == {partition: told}


@pytest.mark.parametrize(
    "batch",
    [
        replace(data(1, 0, 2, transactional=False), last_offset_delta=2),
        replace(data(1, 0, 2, transactional=False), last_offset_delta=0),
        replace(data(1, 0, transactional=False), records=()),
        replace(data(1, 0, transactional=False), records=(), last_offset_delta=-1),
        data(1, NONE, transactional=False),
        replace(data(1, 0, transactional=False), marker=Marker(True, 0)),
    ],
    ids=["longer than it says", "shorter than it says", "empty", "empty and says so", "no sequence", "a marker"],
)
def test_each_fault_of_a_batch_alone_is_enough(batch: Batch) -> None:
    assert Broker().produce({T0: batch}, transactional_id=None) == {T0: Produced(Error.INVALID_RECORD, NONE, 0)}


def test_a_transactional_batch_for_a_partition_led_elsewhere_is_refused_before_its_topic_is_looked_at() -> None:
    broker = Broker()
    broker.replicas[INTERNAL].follow(1)
    assert errors(broker.produce({INTERNAL: data(1, 0)})) == {INTERNAL: Error.NOT_LEADER_OR_FOLLOWER}
    plain_batch = data(1, 0, transactional=False)
    assert errors(broker.produce({INTERNAL: plain_batch})) == {INTERNAL: Error.INVALID_TOPIC_EXCEPTION}


def test_too_few_replicas_matter_only_to_who_waits_for_all() -> None:
    broker = Broker(settings=Settings(min_insync_replicas=2))
    assert errors(broker.produce({T0: plain(1)}, acks=1)) == {T0: 0}


@pytest.mark.parametrize("count", [0, 2])
def test_a_partition_gets_exactly_one_batch(count: int) -> None:
    batches = tuple(SentBatch(data(1, first, transactional=False)) for first in range(count))
    answer = Broker().produce({T0: batches, T1: plain(1)})
    assert answer == {T0: Produced(Error.INVALID_RECORD), T1: Produced(Error.NONE, 0, 0)}


def test_the_log_refuses_last_and_says_where_it_starts() -> None:
    broker = Broker()
    broker.produce({T0: data(1, 0)})
    broker.replicas[T0].raise_log_start(1)
    assert broker.produce({T0: data(1, 7)}) == {T0: Produced(Error.OUT_OF_ORDER_SEQUENCE_NUMBER, log_start_offset=1)}
    stale = broker.produce({T0: data(1, 0, epoch=-1)})
    assert stale == {T0: Produced(Error.INVALID_PRODUCER_EPOCH)}, "verification refuses it, and has no log at hand"


def test_a_duplicate_behind_the_marker_has_to_be_verified_like_new_data() -> None:
    broker = Broker()
    batch = data(1, 0, 2)
    broker.produce({T0: batch})
    end(broker.replicas[T0], 1)
    assert errors(broker.produce({T0: batch}, Error.TRANSACTION_ABORTABLE)) == {T0: Error.TRANSACTION_ABORTABLE}
    assert broker.produce({T0: batch}) == {T0: THE_SAME}
    assert broker.replicas[T0].log.end_offset == 3


def test_internal_topics_join_the_transaction_before_they_are_refused() -> None:
    broker = Broker()
    answer = broker.produce({INTERNAL: data(1, 0)}, version=12)
    assert errors(answer) == {INTERNAL: Error.INVALID_TOPIC_EXCEPTION}
    assert broker.asked[0].partitions == (INTERNAL,)


def test_without_verification_nobody_is_asked() -> None:
    broker = Broker(Place(rules=with_switches(Rules(), off=["verification"])))
    assert errors(broker.produce({T0: data(1, 0)})) == {T0: 0}
    assert broker.asked == []


def test_with_acks_0_nobody_is_answered_and_an_error_closes_the_connection() -> None:
    broker = Broker()
    assert broker.send({T0: plain(1)}, acks=0) is None
    assert broker.replicas[T0].log.end_offset == 1
    assert broker.send({T0: plain(1), NOPE: plain(1)}, acks=0) == ConnectionClosed()


def test_other_acks_are_refused_behind_the_coordinators_word() -> None:
    broker = Broker()
    assert broker.produce({T0: data(1, 0)}, acks=2) == {T0: Produced(Error.INVALID_REQUIRED_ACKS)}
    assert broker.asked[0].partitions == (T0,)


def test_the_journal_names_the_row_that_refused() -> None:
    broker = Broker()
    broker.produce({NOPE: plain(1)})
    (decided,) = broker.place.journal.decisions
    assert (decided.decision, decided.row.name, decided.subject) == ("produce", "W2", "nope-0")


def test_what_comes_between_question_and_answer_counts() -> None:
    """The ABA of KIP-890: verified for one transaction, a batch may not join the next one."""
    broker = Broker()
    request = Produce(11, "x", -1, {T0: sent(data(1, 0))})
    late = ProduceInProgress(request, broker.settings, broker.place.journal)
    (question,) = late.start(broker.replicas.get)
    verified(broker.replicas[T0], data(1, 0))
    end(broker.replicas[T0], 1, committed=False)
    late.handle_verification(told(question))
    answer = late.finish(broker.replicas.get)
    assert isinstance(answer, ProduceAnswer)
    # Its sequences are those of the batch that was aborted: a duplicate is told so, guard or not.
    assert answer.partitions == {T0: THE_SAME}
    later = ProduceInProgress(Produce(11, "x", -1, {T0: sent(data(1, 1))}), broker.settings, broker.place.journal)
    (question,) = later.start(broker.replicas.get)
    end(broker.replicas[T0], 1, committed=False)
    later.handle_verification(told(question))
    answer = later.finish(broker.replicas.get)
    assert isinstance(answer, ProduceAnswer)
    assert answer.partitions == {T0: Produced(Error.INVALID_TXN_STATE, log_start_offset=0)}
