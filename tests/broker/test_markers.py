"""The marker channel of a coordinator: reference §2.12."""

import copy
from dataclasses import dataclass, field, replace

import pytest

from zombieproof.broker.cluster.journal import KeptJournal
from zombieproof.broker.coordinator.markers import (
    DecidedTransaction,
    Leader,
    MarkerChannel,
    MarkerRequest,
    MarkerResult,
)
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.partitions import MarkerWritten, WriteTxnMarkersAnswer
from zombieproof.model.rules import Rules, with_switches
from zombieproof.model.vocabulary import Error
from zombieproof.statemachines.coordinator.completion import MarkerOutcome, Standing

A, B, C = ("a", 0), ("b", 0), ("c", 0)
T1 = DecidedTransaction("t1", 0, 5, 1000, 7, committed=True, transaction_version=2)
T2 = DecidedTransaction("t2", 1, 5, 2000, 3, committed=False, transaction_version=0)


@dataclass
class Surroundings:
    """A channel, who leads what, and how the coordinator stands to its ids."""

    rules: Rules = field(default_factory=Rules)
    leaders: dict[TopicPartition, int | None] = field(default_factory=lambda: {A: 1, B: 2, C: 1})
    standings: dict[str, Standing] = field(default_factory=dict)
    channel: MarkerChannel = field(init=False)

    def __post_init__(self) -> None:
        self.channel = MarkerChannel(self.rules, KeptJournal())

    def leader_of(self, partition: TopicPartition) -> Leader:
        return Leader(partition in self.leaders, self.leaders.get(partition))

    def standing_of(self, name: str) -> Standing:
        return self.standings.get(name, Standing(0, known=True, coordinator_epoch=5))

    def add(self, transaction: DecidedTransaction, *partitions: TopicPartition) -> list[MarkerResult]:
        return self.channel.add(transaction, frozenset(partitions), self.leader_of, self.standing_of)

    def drain(self) -> list[MarkerRequest]:
        return self.channel.drain(self.leader_of, self.standing_of).requests

    def reply(self, request: MarkerRequest, *markers: MarkerWritten) -> list[MarkerResult]:
        answer = WriteTxnMarkersAnswer(markers)
        return self.channel.answered(request.number, answer, self.leader_of, self.standing_of)

    def disconnect(self, request: MarkerRequest) -> list[MarkerResult]:
        return self.channel.answered(request.number, None, self.leader_of, self.standing_of)


@pytest.fixture
def here() -> Surroundings:
    return Surroundings()


def written(transaction: DecidedTransaction, *partitions: TopicPartition) -> MarkerResult:
    return MarkerResult(transaction, MarkerOutcome.WRITTEN, frozenset(partitions))


def test_markers_for_one_broker_travel_together(here: Surroundings) -> None:
    assert here.add(T1, A, B, C) == []
    assert here.add(T2, A) == []
    requests = {one.broker: one.request for one in here.drain()}
    assert set(requests) == {1, 2}
    first, second = requests[1].markers
    assert (first.producer_id, first.producer_epoch, first.committed, first.coordinator_epoch) == (1000, 7, True, 5)
    assert (first.partitions, second.partitions, second.committed) == ((A, C), (A,), False)
    assert [marker.partitions for marker in requests[2].markers] == [(B,)]
    assert here.drain() == []


def test_markers_say_their_transaction_version_since_kip_1228() -> None:
    for rules, version, transaction_version in (
        (Rules(), 2, 2),
        (with_switches(Rules(), off=["marker_strict"]), 1, 0),
    ):
        here = Surroundings(rules)
        here.add(T1, A)
        (request,) = here.drain()
        assert (request.request.version, request.request.markers[0].transaction_version) == (
            version,
            transaction_version,
        )


def test_each_answer_names_the_partitions_that_have_their_marker(here: Surroundings) -> None:
    here.add(T1, A, C)
    here.add(T2, A)
    (request,) = here.drain()
    answer = MarkerWritten(1000, {A: 0, C: 0}), MarkerWritten(2000, {A: 0})
    assert here.reply(request, *answer) == [written(T1, A, C), written(T2, A)]
    assert here.reply(request, *answer) == [], "an answer that comes twice"


def test_a_partition_without_a_live_leader_waits_until_it_has_one(here: Surroundings) -> None:
    here.leaders[B] = None
    here.add(T1, A, B)
    assert [one.broker for one in here.drain()] == [1]
    assert here.drain() == []
    here.leaders[B] = 3
    assert [one.broker for one in here.drain()] == [3]


def test_kafka_4_3_1_gives_up_the_marker_of_a_partition_without_a_live_leader() -> None:
    here = Surroundings(with_switches(Rules(), off=["marker_waits_for_leader"]), leaders={A: 1, B: None})
    assert here.add(T1, A, B) == [written(T1, B)]


def test_a_deleted_topic_needs_no_marker(here: Surroundings) -> None:
    del here.leaders[B]
    assert here.add(T1, A, B) == [written(T1, B)]


def test_a_topic_that_is_deleted_while_its_marker_waits_needs_none_either(here: Surroundings) -> None:
    here.leaders[B] = None
    here.add(T1, B)
    del here.leaders[B]
    assert here.channel.drain(here.leader_of, here.standing_of) == ([], [written(T1, B)])


@pytest.mark.parametrize("error", [3, 6, 19, 20, 7, 56])
def test_a_retriable_error_queues_those_partitions_again_for_whoever_leads_now(here: Surroundings, error: int) -> None:
    here.add(T1, A, C)
    (request,) = here.drain()
    here.leaders[C] = 2
    results = here.reply(request, MarkerWritten(1000, {A: 0, C: error}))
    assert results == [written(T1, A), MarkerResult(T1, MarkerOutcome.RETRY, frozenset({C}))]
    (again,) = here.drain()
    assert (again.broker, again.request.markers[0].partitions) == (2, (C,))


def test_a_lost_connection_queues_every_marker_again(here: Surroundings) -> None:
    here.add(T1, A, C)
    here.add(T2, A)
    (request,) = here.drain()
    here.disconnect(request)
    (again,) = here.drain()
    assert again.request == request.request


@pytest.mark.parametrize("error", [47, 52])
def test_a_fenced_transaction_is_driven_no_longer(here: Surroundings, error: int) -> None:
    here.add(T1, A, C)
    (request,) = here.drain()
    results = here.reply(request, MarkerWritten(1000, {A: 3, C: error}))
    assert MarkerResult(T1, MarkerOutcome.FORGET, frozenset({C})) in results
    assert here.drain() == [], "nor is what could have been tried again"
    assert not here.channel.finish(T1)


@pytest.mark.parametrize(
    "standing",
    [
        Standing(Error.NOT_COORDINATOR, known=False, coordinator_epoch=-1),
        Standing(Error.COORDINATOR_LOAD_IN_PROGRESS, known=False, coordinator_epoch=-1),
        Standing(0, known=True, coordinator_epoch=6),
    ],
    ids=["deposed", "loading", "newer epoch"],
)
def test_an_answer_counts_for_nothing_when_the_coordinator_has_moved_on(here: Surroundings, standing: Standing) -> None:
    for lost in (False, True):
        here.add(T1, A)
        (request,) = here.drain()
        here.standings["t1"] = standing
        results = here.disconnect(request) if lost else here.reply(request, MarkerWritten(1000, {A: 0}))
        assert results == [MarkerResult(T1, MarkerOutcome.FORGET, frozenset({A}))]
        assert here.channel.pending == {}
        assert here.drain() == []


@pytest.mark.parametrize(
    "markers",
    [
        (),
        (MarkerWritten(1000, {A: -1}),),
        (MarkerWritten(1000, {A: 2}),),
    ],
    ids=["left out", "unknown error", "corrupt"],
)
def test_an_answer_that_no_leader_gives_is_an_internal_error_and_the_rest_of_it_is_lost(
    here: Surroundings, markers: tuple[MarkerWritten, ...]
) -> None:
    here.add(T1, A)
    here.add(T2, A)
    (request,) = here.drain()
    results = here.reply(request, *markers, MarkerWritten(2000, {A: 0}))
    assert results == [MarkerResult(T1, MarkerOutcome.INTERNAL_ERROR, frozenset({A}))]
    assert here.drain() == []
    assert set(here.channel.pending) == {"t1", "t2"}


def test_an_id_in_office_that_is_not_known_is_an_internal_error(here: Surroundings) -> None:
    here.add(T1, A)
    (request,) = here.drain()
    here.standings["t1"] = Standing(0, known=False, coordinator_epoch=5)
    (result,) = here.reply(request, MarkerWritten(1000, {A: 0}))
    assert result.outcome == MarkerOutcome.INTERNAL_ERROR


def test_a_completion_is_appended_by_one_caller_only(here: Surroundings) -> None:
    here.add(T1)
    assert here.channel.finish(T1)
    assert not here.channel.finish(T1)


def test_only_the_newest_of_an_id_is_finished(here: Surroundings) -> None:
    newer = replace(T1, coordinator_epoch=6)
    here.add(T1, A)
    here.add(newer, A)
    assert not here.channel.finish(T1)
    assert here.channel.finish(newer)


def test_an_old_answer_does_not_make_the_channel_forget_the_newer_one(here: Surroundings) -> None:
    here.add(T1, A)
    (old,) = here.drain()
    here.channel.remove(T1.txn_partition)
    newer = replace(T1, coordinator_epoch=6)
    here.standings["t1"] = Standing(0, known=True, coordinator_epoch=6)
    here.add(newer, A)
    here.reply(old, MarkerWritten(1000, {A: 0}))
    assert here.channel.pending == {"t1": newer}
    (request,) = here.drain()
    assert here.reply(request, MarkerWritten(1000, {A: 0})) == [written(newer, A)]


def test_unloading_drops_what_is_queued_of_that_partition_only(here: Surroundings) -> None:
    here.leaders[B] = None
    here.add(T1, A, B)
    here.add(T2, A)
    here.channel.remove(T1.txn_partition)
    (request,) = here.drain()
    assert [marker.producer_id for marker in request.request.markers] == [2000]
    assert set(here.channel.pending) == {"t2"}
    here.leaders[B] = 2
    assert here.drain() == []


def test_channels_with_the_same_past_are_equal_and_copies_go_their_own_way(here: Surroundings) -> None:
    here.add(T1, A, B)
    twin = copy.deepcopy(here.channel)
    assert twin == here.channel
    twin.remove(T1.txn_partition)
    assert twin != here.channel
    assert len(here.drain()) == 2


def test_what_was_judged_is_in_the_journal(here: Surroundings) -> None:
    here.add(T1, A)
    (request,) = here.drain()
    here.reply(request, MarkerWritten(1000, {A: 6}))
    assert isinstance(here.channel.journal, KeptJournal)
    (decided,) = here.channel.journal.decisions
    assert (decided.decision, decided.error, decided.subject) == ("marker_delivery", 6, "t1 ('a', 0)")
