"""How a broker asks coordinators about partitions: reference §3.4, steps 3 to 5."""

import copy
from dataclasses import replace

import pytest

from zombieproof.broker.cluster.journal import KeptJournal
from zombieproof.broker.partition.verification_channel import Question, VerificationChannel, Verified
from zombieproof.messages.transactions import AddPartitionsToTxnAnswer, TransactionAdded, TransactionToAdd
from zombieproof.model.decisions.verification import ChannelFailure
from zombieproof.model.rules import Rules, with_switches
from zombieproof.model.vocabulary import Error, Mode

A, B = ("a", 0), ("b", 0)
ONE = Question(1, "one", 1000, 7, (A, B), Mode.GENERIC)
TWO = Question(2, "two", 2000, 0, (A,), Mode.ADD)


@pytest.fixture
def channel() -> VerificationChannel:
    return VerificationChannel(Rules(), KeptJournal())


def answer(**errors: dict[tuple[str, int], int]) -> AddPartitionsToTxnAnswer:
    return AddPartitionsToTxnAnswer(0, tuple(TransactionAdded(name, told) for name, told in errors.items()))


def test_questions_for_one_node_travel_together(channel: VerificationChannel) -> None:
    assert channel.ask(1, ONE) == []
    assert channel.ask(1, TWO) == []
    (sent,) = channel.drain()
    assert sent.node == 1
    assert sent.request.version == 5
    assert sent.request.transactions == (
        TransactionToAdd("one", 1000, 7, (A, B), verify_only=True),
        TransactionToAdd("two", 2000, 0, (A,), verify_only=False),
    )
    told = answer(one={A: 0, B: 0}, two={A: 51})
    assert channel.answered(1, told) == [Verified(1, {A: 0, B: 0}), Verified(2, {A: 51})]
    assert channel.answered(1, told) == [], "an answer that comes twice"


def test_one_request_is_under_way_to_each_node(channel: VerificationChannel) -> None:
    channel.ask(1, ONE)
    channel.drain()
    channel.ask(1, TWO)
    channel.ask(2, replace(ONE, ticket=3))
    assert [sent.node for sent in channel.drain()] == [2]
    channel.answered(1, answer(one={A: 0, B: 0}))
    assert [sent.node for sent in channel.drain()] == [1]


def test_before_kafka_3_8_brokers_spoke_version_4() -> None:
    channel = VerificationChannel(with_switches(Rules(), off=["abortable_code"]), KeptJournal())
    channel.ask(1, ONE)
    assert channel.drain()[0].request.version == 4


def test_without_a_coordinator_the_answer_is_there_at_once(channel: VerificationChannel) -> None:
    assert channel.ask(None, ONE) == [Verified(1, {A: 15, B: 15})]
    assert channel.drain() == []


@pytest.mark.parametrize(
    ("epoch", "told", "sent"),
    [
        (7, [Verified(1, {A: 13, B: 13})], 7),
        (8, [Verified(1, {A: 47, B: 47})], 8),
        (6, [Verified(9, {A: 47, B: 47})], 7),
    ],
    ids=["the same epoch", "a newer epoch", "an older epoch"],
)
def test_one_question_of_an_id_waits(channel: VerificationChannel, epoch: int, told: list[Verified], sent: int) -> None:
    channel.ask(1, ONE)
    assert channel.ask(1, replace(ONE, ticket=9, producer_epoch=epoch)) == told
    (request,) = channel.drain()
    assert [one.producer_epoch for one in request.request.transactions] == [sent]


def test_what_is_under_way_is_not_replaced(channel: VerificationChannel) -> None:
    channel.ask(1, ONE)
    channel.drain()
    assert channel.ask(1, replace(ONE, ticket=9)) == []
    assert channel.answered(1, answer(one={A: 0, B: 0})) == [Verified(1, {A: 0, B: 0})]


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (ChannelFailure.DISCONNECTED, 13),
        (ChannelFailure.TIMED_OUT, 13),
        (ChannelFailure.VERSION_MISMATCH, 0),
        (ChannelFailure.NOT_AUTHENTICATED, 58),
        (AddPartitionsToTxnAnswer(Error.CLUSTER_AUTHORIZATION_FAILED, ()), 48),
        (AddPartitionsToTxnAnswer(Error.NOT_COORDINATOR, ()), 16),
    ],
)
def test_a_question_that_failed_as_a_whole_failed_for_each_partition(
    channel: VerificationChannel, failure: ChannelFailure | AddPartitionsToTxnAnswer, error: int
) -> None:
    channel.ask(1, ONE)
    channel.ask(1, TWO)
    channel.drain()
    assert channel.answered(1, failure) == [Verified(1, {A: error, B: error}), Verified(2, {A: error})]
    assert channel == VerificationChannel(Rules(), KeptJournal())


def test_errors_are_translated_by_the_mode_of_the_question_that_waited_first(channel: VerificationChannel) -> None:
    channel.ask(1, ONE)
    channel.ask(1, replace(TWO, mode=Mode.DEFAULT))
    channel.drain()
    told = channel.answered(1, answer(one={A: 90, B: 120}, two={A: 120}))
    assert told == [Verified(1, {A: 47, B: 120}), Verified(2, {A: 120})]
    channel.ask(1, replace(TWO, mode=Mode.DEFAULT))
    channel.drain()
    assert channel.answered(1, answer(two={A: 120})) == [Verified(2, {A: 48})]


def test_an_answer_about_an_id_that_was_not_asked_for_is_passed_over(channel: VerificationChannel) -> None:
    channel.ask(1, ONE)
    channel.drain()
    assert channel.answered(1, answer(other={A: 0})) == []


def test_channels_with_the_same_past_are_equal_and_copies_go_their_own_way(channel: VerificationChannel) -> None:
    channel.ask(1, ONE)
    twin = copy.deepcopy(channel)
    assert twin == channel
    twin.drain()
    assert twin != channel
    assert len(channel.drain()) == 1


def test_what_a_leader_is_told_is_in_the_journal(channel: VerificationChannel) -> None:
    channel.ask(None, TWO)
    assert isinstance(channel.journal, KeptJournal)
    (decided,) = channel.journal.decisions
    assert (decided.decision, decided.error, decided.subject) == ("verification", 15, "two ('a', 0)")
