"""Logs that are longer than what is replicated of them, step by step where a scenario asks for it."""

import copy

import pytest

from zombieproof.checker.engine.explore import explore
from zombieproof.checker.engine.replay import replay
from zombieproof.checker.scenario import Scenario, UnknownBound
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.transactions import actions, network, replicas
from zombieproof.checker.transactions.action_kinds import (
    ACTIONS,
    ACTIONS_AT_ONCE,
    ACTIONS_BETWEEN_BROKERS,
    KINDS_ON_REPLICAS,
    Action,
)
from zombieproof.checker.transactions.causes import has_cause
from zombieproof.checker.transactions.model import BETWEEN_BROKERS, ON_REPLICAS, TRANSACTIONS, initial_state
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import Message, State, Trail
from zombieproof.checker.transactions.vocabulary import Kind, Stage
from zombieproof.model.vocabulary import NONE, LogEntry


def setup_of(scenario: Scenario, **bounds: int) -> Setup:
    setup = scenario.setup(scenario.own_rules(), {**scenario.bounds, **bounds})
    assert isinstance(setup, Setup)
    return setup


def take(state: State, setup: Setup, kind: Action, i: int = 0) -> Trail:
    trail = Trail()
    assert actions.step(state, ACTIONS.index((int(kind), i)), setup, trail), f"{kind.name} {i} is disabled"
    network.normalise(state, setup)
    return trail


def is_disabled(state: State, setup: Setup, kind: Action, i: int = 0) -> bool:
    return not actions.step(state, ACTIONS.index((int(kind), i)), setup, Trail())


def waiting(state: State) -> list[Message]:
    return [each for each in state.messages if replicas.is_waiting(each)]


@pytest.fixture
def setup() -> Setup:
    return setup_of(SCENARIOS["cut_transaction"], late=1, leader_changes=1, leaderless=1)


@pytest.fixture
def appended(setup: Setup) -> State:
    """A record is in the log of p0, and at no other replica."""
    state = initial_state(setup)
    for kind in (Action.STEP, Action.DELIVER, Action.STEP, *[Action.DELIVER] * 3):
        take(state, setup, kind)
    assert (state.partitions[0].end, replicas.high_watermark(state, 0)) == (1, 0)
    assert [each.stage for each in waiting(state)] == [Stage.REPLICATING]
    return state


@pytest.fixture
def ended(setup: Setup, appended: State) -> State:
    """The record is replicated and acknowledged, and the marker behind it is at no other replica."""
    state = appended
    for kind in (Action.REPLICATE, Action.DELIVER, Action.STEP, Action.DELIVER, Action.DELIVER):
        take(state, setup, kind)
    assert (state.partitions[0].end, replicas.high_watermark(state, 0)) == (2, 1)
    assert [each.kind for each in waiting(state)] == [Kind.MARKER]
    return state


# ---------------------------------------------------------------- who waits


def test_nobody_is_answered_before_the_record_is_replicated(appended: State, setup: Setup) -> None:
    assert is_disabled(appended, setup, Action.DELIVER)
    assert appended.ghost.labels[0].acked == 0
    take(appended, setup, Action.REPLICATE)
    assert appended.ghost.labels[0].acked == 0, "the answer is a step of its own"
    take(appended, setup, Action.DELIVER)
    assert appended.ghost.labels[0].acked == 1
    assert is_disabled(appended, setup, Action.REPLICATE), "there is no more to replicate"


def test_what_is_in_the_log_is_not_on_its_way_any_more(appended: State, setup: Setup) -> None:
    for kind in (Action.DOUBLE, Action.UNKNOWN_APPEND, Action.REFUSE):
        assert is_disabled(appended, setup, kind)


def test_a_batch_that_is_sent_again_waits_like_the_first(appended: State, setup: Setup) -> None:
    take(appended, setup, Action.LOSE_ANSWER)
    assert waiting(appended) == []
    take(appended, setup, Action.DELIVER)
    assert [each.error for each in waiting(appended)] == [1], "it is a duplicate of what is not replicated"
    assert appended.partitions[0].end == 1
    assert is_disabled(appended, setup, Action.DELIVER)


def test_an_answer_may_be_lost_in_the_step_that_appends(setup: Setup) -> None:
    state = initial_state(setup)
    for kind in (Action.STEP, Action.DELIVER, Action.STEP, Action.DELIVER, Action.DELIVER, Action.LOSE_ANSWER):
        take(state, setup, kind)
    assert state.partitions[0].end == 1
    assert [(each.kind, each.stage, each.error) for each in state.messages if each.kind != Kind.EMPTY] == [
        (Kind.PRODUCE, Stage.TO_LEADER, 0)
    ]


def test_of_a_batch_that_is_given_up_only_the_record_is_left(appended: State, setup: Setup) -> None:
    take(appended, setup, Action.GIVE_UP)
    assert [each.kind for each in appended.messages if each.kind != Kind.EMPTY] == []
    assert appended.partitions[0].end == 1


def test_a_transaction_is_complete_when_its_marker_is_replicated(ended: State, setup: Setup) -> None:
    assert is_disabled(ended, setup, Action.DELIVER)
    assert ended.nodes[0].cache[0].partitions == 1, "p0 is still to have its marker"
    take(ended, setup, Action.REPLICATE)
    take(ended, setup, Action.DELIVER)
    assert ended.nodes[0].cache[0].partitions == 0


def test_a_marker_whose_sender_is_gone_leaves_its_record(ended: State, setup: Setup) -> None:
    network.hang_up_node(ended, 0)
    network.normalise(ended, setup)
    assert waiting(ended) == []
    assert ended.partitions[0].end == 2


def test_a_committed_offset_is_told_when_its_marker_is_replicated() -> None:
    setup = setup_of(SCENARIOS["cut_offsets"])
    state = initial_state(setup)
    take(state, setup, Action.STEP)
    take(state, setup, Action.DELIVER)
    state.partitions[2].log[0].kind, state.partitions[2].log[0].producer_id = LogEntry.PLAIN_OFFSET, NONE
    state.partitions[2].end = 1
    assert is_disabled(state, setup, Action.STEP)
    take(state, setup, Action.REPLICATE, 2)
    take(state, setup, Action.STEP)


# ---------------------------------------------------------------- what is read


def test_nobody_reads_above_the_high_watermark(appended: State, setup: Setup) -> None:
    assert is_disabled(appended, setup, Action.READ_ALL, 1)
    take(appended, setup, Action.REPLICATE)
    take(appended, setup, Action.READ_ALL, 1)
    assert appended.readers[1].position == 1


def test_a_transaction_is_stable_when_its_marker_is_replicated(ended: State, setup: Setup) -> None:
    assert replicas.stable(ended, 0, setup.rules) == (0, 0)
    assert is_disabled(ended, setup, Action.READ_ALL, 0)
    take(ended, setup, Action.REPLICATE)
    assert replicas.stable(ended, 0, setup.rules) == (NONE, 2)


def test_a_marker_where_nothing_is_open_holds_nothing_back(ended: State, setup: Setup) -> None:
    take(ended, setup, Action.REPLICATE)
    marker = ended.partitions[0].log[2]
    marker.kind, marker.producer_id = LogEntry.ABORT, 0
    ended.partitions[0].end = 3
    assert replicas.first_unsettled(ended, 0, setup.rules) == NONE


def test_a_producer_id_of_its_own_holds_its_own_back(ended: State, setup: Setup) -> None:
    record = ended.partitions[0].log[2]
    record.kind, record.producer_id = LogEntry.DATA, 1
    ended.partitions[0].end = 3
    assert replicas.first_unsettled(ended, 0, setup.rules) == 0


# ---------------------------------------------------------------- elections


@pytest.mark.parametrize("kind", [Action.CHANGE_LEADER, Action.LOSE_LEADER, Action.TRUNCATE])
def test_who_waits_for_a_leader_that_is_gone_sends_again(kind: Action, appended: State, setup: Setup) -> None:
    take(appended, setup, kind)
    assert [
        (each.kind, each.stage, each.live, each.error) for each in appended.messages if each.kind != Kind.EMPTY
    ] == [(Kind.PRODUCE, Stage.TO_LEADER, True, 0)]
    assert appended.partitions[0].end == (0 if kind == Action.TRUNCATE else 1)
    assert appended.ghost.labels[0].acked == 0


def test_a_marker_that_was_lost_is_sent_again(ended: State, setup: Setup) -> None:
    take(ended, setup, Action.TRUNCATE)
    assert (ended.partitions[0].end, ended.partitions[0].entries[0].txn_first_offset) == (1, 0)
    for kind in (Action.DELIVER, Action.REPLICATE, Action.DELIVER):
        take(ended, setup, kind)
    assert ended.partitions[0].log[1].kind == LogEntry.COMMIT
    assert ended.nodes[0].cache[0].partitions == 0


def test_a_partition_without_a_leader_may_get_one_that_lacks_records(appended: State, setup: Setup) -> None:
    take(appended, setup, Action.LOSE_LEADER)
    assert is_disabled(appended, setup, Action.REPLICATE)
    take(appended, setup, Action.TRUNCATE)
    assert (appended.partitions[0].leader, appended.partitions[0].end) == (True, 0)


def test_what_is_replicated_no_election_takes_away(appended: State, setup: Setup) -> None:
    take(appended, setup, Action.REPLICATE)
    assert is_disabled(appended, setup, Action.TRUNCATE)


def test_the_producers_of_a_log_that_is_cut_are_those_of_the_rest(appended: State, setup: Setup) -> None:
    other = copy.deepcopy(appended)
    setup.rules.cut_log_reloads = 0
    take(other, setup, Action.TRUNCATE)
    assert other.partitions[0].entries[0].known
    setup.rules.cut_log_reloads = 1
    take(appended, setup, Action.TRUNCATE)
    assert not appended.partitions[0].entries[0].known


def test_a_late_copy_is_kept_while_an_election_can_bring_its_epoch_back(ended: State, setup: Setup) -> None:
    assert ended.partitions[0].entries[0].producer_epoch == 1
    assert replicas.settled_epoch(ended, 0, 0) == 0
    assert replicas.settled_epoch(ended, 0, 1) == NONE
    take(ended, setup, Action.REPLICATE)
    assert replicas.settled_epoch(ended, 0, 0) == 1


# ---------------------------------------------------------------- parts and bounds


def test_a_world_without_replicas_has_the_actions_that_it_had() -> None:
    assert (TRANSACTIONS.actions, BETWEEN_BROKERS.actions, ON_REPLICAS.actions) == (98, 180, len(ACTIONS))
    assert (ACTIONS_AT_ONCE, ACTIONS_BETWEEN_BROKERS) == (98, 180)
    assert {kind for kind, _ in ACTIONS[180:]} == set(KINDS_ON_REPLICAS)
    assert max(BETWEEN_BROKERS.faults) < BETWEEN_BROKERS.actions


def test_without_replicas_everything_is_replicated_and_nothing_of_it_has_a_cause() -> None:
    scenario = SCENARIOS["delayed_commit"]
    setup = setup_of(scenario)
    state = initial_state(setup)
    state.partitions[0].end = 3
    assert replicas.high_watermark(state, 0) == 3
    assert not any(has_cause(state, int(kind), setup) for kind in KINDS_ON_REPLICAS)
    assert scenario.model(scenario.bounds) is TRANSACTIONS


@pytest.mark.parametrize(
    ("bounds", "says"),
    [
        ({"truncations": 1}, "truncations=1 changes nothing where what is in a log is replicated; add replicated=1"),
        ({"replicated": 2}, "replicated=2 is neither off nor on"),
        ({"replicated": 1, "appends_travel": 1}, "replicated=1 and appends_travel=1 are not in one world"),
        ({"replicated": 1, "aborts_by_hand": 1}, "replicated=1 and aborts_by_hand=1 are not in one world"),
    ],
)
def test_bounds_that_do_not_go_together_are_refused(bounds: dict[str, int], says: str) -> None:
    with pytest.raises(UnknownBound, match=says):
        SCENARIOS["delayed_commit"].own_bounds(bounds)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cut_transaction", "cut_offsets", "cut_batches"])
@pytest.mark.parametrize("switch", ["answers_travel", "keep_refused_copies"])
def test_a_reduction_changes_no_verdict_of_logs_that_are_cut(name: str, switch: str) -> None:
    scenario = SCENARIOS[name]
    for mutant in (None, *scenario.mutants):
        rules = scenario.own_rules(mutant=mutant)
        judged = (*scenario.kept, *scenario.sometimes) if mutant is None else (mutant.breaks,)
        reduced, full = (
            explore(ON_REPLICAS, scenario.setup(rules, {**scenario.bounds, **also}), promises=judged)
            for also in ({}, {switch: 1})
        )
        assert full.verdict == reduced.verdict, mutant


@pytest.mark.slow
def test_it_is_replayed_step_by_step() -> None:
    scenario = SCENARIOS["cut_transaction"]
    mutant = scenario.mutant("a_marker_counts_when_it_is_appended")
    assert mutant is not None
    setup = scenario.setup(scenario.own_rules(mutant=mutant), scenario.bounds)
    found = explore(ON_REPLICAS, setup, promises=(mutant.breaks,)).violated
    assert found is not None
    assert found.actions is not None
    assert len(replay(ON_REPLICAS, setup, found.actions)) == mutant.steps
