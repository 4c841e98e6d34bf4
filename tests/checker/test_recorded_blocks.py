"""Blocks of producer ids where the controller may change: its log has them first, then whoever asked is answered."""

import pytest

from zombieproof.checker.scenario import UnknownBound
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.transactions import actions, network
from zombieproof.checker.transactions.action_kinds import ACTIONS, Action
from zombieproof.checker.transactions.model import initial_state
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import State, Trail
from zombieproof.model.rules import with_switches
from zombieproof.model.vocabulary import NONE

SCENARIO = SCENARIOS["recorded_blocks"]


def fresh(off: tuple[str, ...] = ()) -> tuple[State, Setup]:
    setup = SCENARIO.setup(with_switches(SCENARIO.own_rules(), off=off), SCENARIO.bounds)
    assert isinstance(setup, Setup)
    return initial_state(setup), setup


def happens(state: State, setup: Setup, kind: Action, i: int = 0) -> bool:
    taken = actions.step(state, ACTIONS.index((int(kind), i)), setup, Trail())
    network.normalise(state, setup)
    return taken


def test_an_answer_waits_until_the_log_has_it() -> None:
    state, setup = fresh()
    assert happens(state, setup, Action.ALLOCATE_BLOCK)
    assert (state.next_block, state.recorded[0], state.allocations[0].held) == (1, 0, True)
    assert not happens(state, setup, Action.GIVE_BLOCK)
    assert happens(state, setup, Action.RECORD_BLOCK)
    assert (state.recorded[0], state.allocations[0].held) == (1, False)
    assert happens(state, setup, Action.GIVE_BLOCK)
    assert (state.blocks[0].next_first, state.blocks[0].next_size) == (0, 1)
    assert not happens(state, setup, Action.RECORD_BLOCK), "the log has all of it"


def test_a_successor_hands_out_what_was_answered_to_nobody() -> None:
    state, setup = fresh()
    assert happens(state, setup, Action.ALLOCATE_BLOCK)
    assert happens(state, setup, Action.CHANGE_CONTROLLER)
    assert (state.next_block, state.allocations[0].first, state.budget.controller_changes) == (0, NONE, 0)
    assert not state.blocks[0].is_asked_for, "node 0 asks again when it needs one"
    assert happens(state, setup, Action.ALLOCATE_BLOCK, 1)
    assert happens(state, setup, Action.RECORD_BLOCK)
    assert happens(state, setup, Action.GIVE_BLOCK, 1)
    assert state.blocks[1].next_first == 0


def test_a_change_of_controllers_keeps_what_is_recorded() -> None:
    state, setup = fresh()
    assert happens(state, setup, Action.ALLOCATE_BLOCK)
    assert happens(state, setup, Action.RECORD_BLOCK)
    assert not happens(state, setup, Action.CHANGE_CONTROLLER), "its successor knows the same"
    assert happens(state, setup, Action.ALLOCATE_BLOCK, 1)
    assert happens(state, setup, Action.CHANGE_CONTROLLER)
    assert (state.next_block, state.allocations[0].first, state.allocations[1].first) == (1, 0, NONE)
    assert happens(state, setup, Action.GIVE_BLOCK), "what was answered arrives"


def test_without_the_rule_a_block_is_there_before_the_log_has_it() -> None:
    state, setup = fresh(("block_recorded_first",))
    assert happens(state, setup, Action.ALLOCATE_BLOCK)
    assert happens(state, setup, Action.GIVE_BLOCK)
    assert happens(state, setup, Action.CHANGE_CONTROLLER)
    assert happens(state, setup, Action.ALLOCATE_BLOCK, 1)
    assert happens(state, setup, Action.GIVE_BLOCK, 1)
    assert [blocks.next_first for blocks in state.blocks] == [0, 0]


def test_a_broker_that_restarts_has_lost_its_block_and_asks_for_the_next() -> None:
    state, setup = fresh()
    for kind in (Action.ALLOCATE_BLOCK, Action.RECORD_BLOCK, Action.GIVE_BLOCK, Action.FAIL_OVER):
        assert happens(state, setup, kind)
    assert (state.blocks[0].size, state.blocks[0].next_size, state.allocations[0].asked) == (0, 0, True)
    for kind in (Action.ALLOCATE_BLOCK, Action.RECORD_BLOCK, Action.GIVE_BLOCK):
        assert happens(state, setup, kind)
    assert state.blocks[0].next_first == 1


def test_other_scenarios_of_blocks_record_nothing() -> None:
    other = SCENARIOS["producer_id_blocks"]
    setup = other.setup(other.own_rules(), other.bounds)
    assert isinstance(setup, Setup)
    state = initial_state(setup)
    assert happens(state, setup, Action.ALLOCATE_BLOCK)
    assert not state.allocations[0].held
    assert not happens(state, setup, Action.RECORD_BLOCK)


def test_a_change_of_controllers_is_refused_where_ids_are_counted() -> None:
    with pytest.raises(UnknownBound, match="controller_changes=1 changes nothing where producer ids are counted; add"):
        SCENARIOS["timeout"].own_bounds({"controller_changes": 1})
