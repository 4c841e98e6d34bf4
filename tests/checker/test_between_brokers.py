"""Questions of leaders and blocks of producer ids, step by step where a scenario lets them travel."""

import copy
import random

import pytest

from zombieproof.checker.engine.explore import explore
from zombieproof.checker.engine.replay import replay
from zombieproof.checker.scenario import Scenario, UnknownBound
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.transactions import actions, network
from zombieproof.checker.transactions.action_kinds import ACTIONS, Action
from zombieproof.checker.transactions.model import BETWEEN_BROKERS, TRANSACTIONS, initial_state
from zombieproof.checker.transactions.questions_under_way import place_of
from zombieproof.checker.transactions.scenario import transaction_scenario
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import Message, State, Trail
from zombieproof.checker.transactions.vocabulary import Kind, Op, Stage
from zombieproof.model.vocabulary import NONE, Error
from zombieproof.statemachines.partition_leader.questions import Lane

ONE = (Op.SEND_0, Op.COMMIT)


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


# ---------------------------------------------------------------- questions


def slot(state: State, client: int, stage: Stage) -> int:
    """Where the record of a client is that has come so far."""
    return next(
        i
        for i, message in enumerate(state.messages)
        if (message.kind, message.client, message.stage) == (Kind.PRODUCE, client, stage)
    )


def of(state: State, client: int) -> Message:
    return next(each for each in state.messages if (each.kind, each.client) == (Kind.PRODUCE, client))


@pytest.fixture
def setup() -> Setup:
    return setup_of(SCENARIOS["waiting_questions"], leader_changes=1, lost=2)


@pytest.fixture
def state(setup: Setup) -> State:
    """The question about A's record is under way, the one about B's waits."""
    state = initial_state(setup)
    for client in (0, 1):
        take(state, setup, Action.STEP, client)
        take(state, setup, Action.DELIVER)
        take(state, setup, Action.STEP, client)
        take(state, setup, Action.DELIVER, slot(state, client, Stage.TO_LEADER))
    assert (of(state, 0).stage, of(state, 1).stage) == (Stage.TO_COORDINATOR, Stage.WAITING)
    return state


def test_what_waits_cannot_arrive(state: State, setup: Setup) -> None:
    waits = slot(state, 1, Stage.WAITING)
    assert is_disabled(state, setup, Action.DELIVER, waits)
    assert is_disabled(state, setup, Action.LOSE_ANSWER, waits)


def test_when_the_answer_arrives_the_leader_goes_on_and_what_waited_leaves(state: State, setup: Setup) -> None:
    take(state, setup, Action.DELIVER, slot(state, 0, Stage.TO_COORDINATOR))
    assert (of(state, 0).stage, state.partitions[0].end) == (Stage.BACK_TO_LEADER, 0)
    assert of(state, 1).stage == Stage.WAITING
    take(state, setup, Action.DELIVER, slot(state, 0, Stage.BACK_TO_LEADER))
    assert state.partitions[0].end == 1
    assert of(state, 1).stage == Stage.TO_COORDINATOR
    assert state.lanes[0] == Lane(under_way=True, mode_under_way=state.lanes[0].mode_under_way)


def test_an_answer_waits_for_every_question_of_its_request(state: State, setup: Setup) -> None:
    for client in (0, 1):
        of(state, client).stage = Stage.TO_COORDINATOR
    state.lanes[0] = Lane(under_way=True)
    network.normalise(state, setup)
    take(state, setup, Action.DELIVER, slot(state, 1, Stage.TO_COORDINATOR))
    assert is_disabled(state, setup, Action.DELIVER, slot(state, 1, Stage.BACK_TO_LEADER))
    take(state, setup, Action.DELIVER, slot(state, 0, Stage.TO_COORDINATOR))
    arrives = [not is_disabled(copy.deepcopy(state), setup, Action.DELIVER, i) for i in range(2)]
    assert sorted(arrives) == [False, True], "one delivery of the one answer"
    take(state, setup, Action.DELIVER, arrives.index(True))
    assert (state.partitions[0].end, state.lanes[0]) == (2, Lane())


def test_when_the_connection_breaks_all_are_told_and_a_question_may_still_arrive(state: State, setup: Setup) -> None:
    take(state, setup, Action.DISCONNECT, place_of(0, 0))
    assert state.budget.lost == 1
    live = next(each for each in state.messages if (each.client, each.live) == (0, 1))
    assert (live.stage, live.node, live.guard, live.error) == (Stage.TO_LEADER, 0, 0, Error.NONE)
    assert of(state, 1).stage == Stage.TO_COORDINATOR
    left = slot(state, 0, Stage.ABANDONED)
    assert state.durable[0].partitions == 0
    take(state, setup, Action.DELIVER, left)
    assert (state.durable[0].partitions, state.partitions[0].end) == (1, 0), "the coordinator has seen it, nobody else"
    assert Stage.ABANDONED not in [each.stage for each in state.messages]


def test_an_answer_that_is_lost_leaves_nothing_behind(state: State, setup: Setup) -> None:
    take(state, setup, Action.DELIVER, slot(state, 0, Stage.TO_COORDINATOR))
    take(state, setup, Action.DISCONNECT, place_of(0, 0))
    assert [each.stage for each in state.messages if each.client == 0 and each.kind == Kind.PRODUCE] == [
        Stage.TO_LEADER
    ]


def test_nothing_breaks_where_nothing_is_under_way_or_too_often(state: State, setup: Setup) -> None:
    assert is_disabled(state, setup, Action.DISCONNECT, place_of(1, 0))
    assert is_disabled(state, setup, Action.DISCONNECT, place_of(0, 1))
    state.budget.lost = 0
    assert is_disabled(state, setup, Action.DISCONNECT, place_of(0, 0))


def test_a_leader_that_is_gone_has_forgotten_what_waited(state: State, setup: Setup) -> None:
    state.partitions[0].end = 1
    take(state, setup, Action.CHANGE_LEADER, 0)
    assert state.lanes[0] == Lane()
    stages = sorted((each.client, each.stage) for each in state.messages if each.kind == Kind.PRODUCE)
    assert stages == [(0, Stage.TO_LEADER), (0, Stage.ABANDONED), (1, Stage.TO_LEADER)]


def test_a_question_of_a_newer_epoch_takes_the_place_of_the_one_that_waits(state: State, setup: Setup) -> None:
    waits = of(state, 1)
    newer = state.messages[network.free_slot(state)]
    network.copy(waits, newer)
    newer.stage, newer.node, newer.guard, newer.producer_epoch = Stage.TO_LEADER, 0, 0, 1
    waits.live = False
    network.normalise(state, setup)
    take(state, setup, Action.DELIVER, slot(state, 1, Stage.TO_LEADER))
    assert (of(state, 1).stage, of(state, 1).producer_epoch) == (Stage.WAITING, 1)
    assert (state.lanes[0].waiting, state.ghost.outrun) == (1, 1)


def test_a_question_of_an_older_epoch_is_refused_at_once(state: State, setup: Setup) -> None:
    waits = of(state, 1)
    older = state.messages[network.free_slot(state)]
    network.copy(waits, older)
    older.stage, older.node, older.guard, older.live = Stage.TO_LEADER, 0, 0, False
    waits.producer_epoch = 1
    network.normalise(state, setup)
    trail = take(state, setup, Action.DELIVER, slot(state, 1, Stage.TO_LEADER))
    assert (trail.answered, trail.error) == (1, Error.INVALID_PRODUCER_EPOCH)
    assert (of(state, 1).stage, state.lanes[0].waiting, state.ghost.outrun) == (Stage.WAITING, 1, 0)


# ---------------------------------------------------------------- blocks of producer ids


@pytest.fixture
def of_blocks() -> Setup:
    return setup_of(SCENARIOS["producer_id_blocks"])


def test_without_a_block_a_producer_is_told_to_wait_and_one_block_is_asked_for(of_blocks: Setup) -> None:
    state = initial_state(of_blocks)
    assert [each.asked for each in state.allocations] == [1, 1], "a broker that starts asks"
    take(state, of_blocks, Action.STEP, 0)
    take(state, of_blocks, Action.DELIVER)
    assert (state.clients[0].producer_id, state.messages[0].live) == (NONE, 1), "it asks again"
    take(state, of_blocks, Action.ALLOCATE_BLOCK, 0)
    assert is_disabled(state, of_blocks, Action.ALLOCATE_BLOCK, 0)
    take(state, of_blocks, Action.GIVE_BLOCK, 0)
    take(state, of_blocks, Action.DELIVER)
    assert (state.clients[0].producer_id, state.next_producer_id, state.blocks[0].used) == (0, 1, 1)
    assert state.allocations[0].asked, "the next one is asked for in time"


def test_a_block_whose_answer_is_lost_is_nobodys(of_blocks: Setup) -> None:
    state = initial_state(of_blocks)
    take(state, of_blocks, Action.LOSE_BLOCK, 0)
    assert (state.next_block, state.blocks[0].is_asked_for, state.budget.lost) == (1, 0, 0)
    take(state, of_blocks, Action.STEP, 0)
    take(state, of_blocks, Action.DELIVER)
    for kind in (Action.ALLOCATE_BLOCK, Action.GIVE_BLOCK):
        take(state, of_blocks, kind, 0)
    take(state, of_blocks, Action.DELIVER)
    assert (state.clients[0].producer_id, state.given[0], state.next_block) == (0, 1, 2)


def test_a_coordinator_that_crashed_asks_anew_and_its_successor_has_its_own(of_blocks: Setup) -> None:
    state = initial_state(of_blocks)
    for node in (0, 1):
        take(state, of_blocks, Action.ALLOCATE_BLOCK, node)
        take(state, of_blocks, Action.GIVE_BLOCK, node)
    take(state, of_blocks, Action.FAIL_OVER)
    assert (state.blocks[0].next_size, state.allocations[0].asked) == (0, 1)
    take(state, of_blocks, Action.STEP, 0)
    take(state, of_blocks, Action.DELIVER)
    assert state.given[0] == 1


def test_a_late_copy_of_an_answer_is_refused(of_blocks: Setup) -> None:
    state = initial_state(of_blocks)
    take(state, of_blocks, Action.ALLOCATE_BLOCK, 0)
    take(state, of_blocks, Action.DOUBLE_BLOCK, 0)
    assert is_disabled(state, of_blocks, Action.DOUBLE_BLOCK, 0)
    take(state, of_blocks, Action.GIVE_BLOCK, 0)
    assert is_disabled(state, of_blocks, Action.GIVE_LATE_BLOCK, 0), "it waits for none"
    take(state, of_blocks, Action.STEP, 0)
    take(state, of_blocks, Action.DELIVER)
    take(state, of_blocks, Action.GIVE_LATE_BLOCK, 0)
    assert (state.blocks[0].next_size, state.allocations[0].late) == (0, NONE)


# ---------------------------------------------------------------- scopes


def test_other_scenarios_have_no_room_for_what_travels_between_brokers() -> None:
    for scenario in SCENARIOS.values():
        travels = (
            *("appends_travel", "verification_queue", "id_blocks", "group_appends", "more_producer_ids"),
            *("group_deletions", "recreations"),
        )
        asks = any(scenario.bounds.get(name) for name in travels)
        if scenario.model(scenario.bounds) is TRANSACTIONS:
            assert not asks
            assert initial_state(setup_of(scenario)).lanes == []
        elif scenario.model(scenario.bounds) is BETWEEN_BROKERS:
            assert asks


def test_what_is_neither_off_nor_on_is_refused() -> None:
    for name in ("appends_travel", "verification_queue"):
        with pytest.raises(UnknownBound, match="give 0 or 1"):
            SCENARIOS["timeout"].own_bounds({name: 2})


def test_a_producer_without_transactional_id_has_no_such_bounds() -> None:
    assert not {"verification_queue", "id_blocks"} & set(SCENARIOS["idempotent_producer"].bounds)


QUEUE = transaction_scenario(
    "queue",
    "Questions wait for each other.",
    ((ONE, (Op.SEND_0, Op.SEND_1, Op.COMMIT)),),
    always=SCENARIOS["waiting_questions"].always,
    sometimes=("a_question_waits", "an_answer_comes_behind_a_marker"),
    verification_queue=1,
    doubled_batches=1,
    late=1,
)


@pytest.mark.parametrize(
    "also",
    [
        {},
        {"answers_travel": 1},
        {"keep_refused_copies": 1},
        {"appends_travel": 1},
        {"lost": 1, "failovers": 1},
        {"lost": 1, "leaderless": 1},
        {"id_blocks": 2, "unknown_appends": 1},
        {"crashes": 1, "timeouts": 1},
    ],
    ids=str,
)
def test_promises_hold_where_other_faults_meet_the_queue(also: dict[str, int]) -> None:
    owed = {*QUEUE.always, *QUEUE.sometimes} - QUEUE.not_owed({**QUEUE.bounds, **also})
    result = explore(BETWEEN_BROKERS, setup_of(QUEUE, **also), promises=owed)
    assert result.verdict == "holds", (result.why, result.violated)


@pytest.mark.parametrize("seed", range(6))
def test_compiled_and_interpreted_agree_on_random_walks(seed: int) -> None:
    chance, setup = random.Random(seed), setup_of(QUEUE, id_blocks=1, lost=2, doubled=1, failovers=1)
    state, taken = initial_state(setup), list[int]()
    while len(taken) < 60:
        order = chance.sample(range(len(ACTIONS)), len(ACTIONS))
        action = next((each for each in order if actions.step(state, each, setup, Trail())), None)
        if action is None:
            break
        network.normalise(state, setup)
        taken.append(action)
    steps = replay(BETWEEN_BROKERS, setup, taken)
    assert len(steps) == len(taken) > 10
    assert steps[-1].after == state
