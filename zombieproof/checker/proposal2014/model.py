"""The 2014 proposal as a model for the engine."""

from dataclasses import replace
from typing import Final

from zombieproof.checker.engine.model import Model
from zombieproof.checker.proposal2014 import actions
from zombieproof.checker.proposal2014.action_kinds import ACTIONS, FAULTS, TASKS, Action
from zombieproof.checker.proposal2014.narration import action_name, describe, subject_name
from zombieproof.checker.proposal2014.promises import PROMISES
from zombieproof.checker.proposal2014.state import FULL, Setup, State, Trail
from zombieproof.model.vocabulary import NONE
from zombieproof.statemachines.registry import COVERED


def step(state: State, action: int, setup: Setup, trail: Trail) -> bool:
    """Take one action, if it is possible."""
    kind, i = ACTIONS[action]
    is_taken = _take(state, setup, trail, kind, i)
    state.is_stuck = state.is_stuck or trail.illegal > 0
    return is_taken


def _take(state: State, setup: Setup, trail: Trail, kind: int, i: int) -> bool:
    if kind == Action.GO_ON:
        return actions.go_on(state, setup, trail, i)
    if kind == Action.TELL:
        return actions.tell(state, trail, i)
    if kind in (Action.CONTROL, Action.LOSE_ACKNOWLEDGEMENT):
        return actions.control(state, setup, trail, i, kind == Action.LOSE_ACKNOWLEDGEMENT)
    if kind in (Action.EXPIRE, Action.TIME_OUT):
        return actions.expire(state, setup, trail, i, kind == Action.TIME_OUT)
    if kind == Action.ARRIVE:
        return actions.arrive(state, setup, trail, i)
    if kind == Action.READ:
        return actions.read(state, setup, trail, i)
    return _fault(state, setup, trail, kind, i)


def _fault(state: State, setup: Setup, trail: Trail, kind: int, i: int) -> bool:
    if kind == Action.LOSE_ANSWER:
        return actions.lose_answer(state, setup, trail, i)
    if kind == Action.BE_LATE:
        return actions.be_late(state, setup, trail, i)
    if kind == Action.ABORT:
        return actions.abort(state, trail, i)
    if kind == Action.CRASH:
        return actions.crash(state, setup, trail, i)
    if kind == Action.FAIL_OVER:
        return actions.fail_over(state, setup, trail)
    if kind == Action.CHANGE_LEADER:
        return actions.change_leader(state, setup, trail, i)
    return _of_logs(state, setup, kind, i)


def _of_logs(state: State, setup: Setup, kind: int, i: int) -> bool:
    if kind == Action.CHECKPOINT_WATERMARK:
        return actions.checkpoint_watermark(state)
    if kind == Action.APPEND_PLAIN:
        return actions.append_plain(state, setup, i)
    if kind == Action.CHECKPOINT_READER:
        return actions.checkpoint_reader(state, setup, i)
    if kind == Action.CRASH_READER:
        return actions.crash_reader(state, setup, i)
    return actions.clean(state, setup, i)


def tasks(state: State, action: int, setup: Setup) -> int:
    """Return who has to act."""
    return TASKS[action]


def bound_hit(state: State, setup: Setup) -> int:
    """What had no room."""
    return int(state.full)


def initial_state(setup: Setup) -> State:
    """Nothing has begun."""
    state = State(budget=replace(setup.budget))
    state.stored = [NONE] * len(state.stored)
    state.newest = [NONE] * len(state.newest)
    return state


PROPOSAL2014: Final = Model(
    name="proposal2014",
    state=State,
    setup=Setup,
    trail=Trail,
    actions=len(ACTIONS),
    step=step,
    tasks=tasks,
    describe=describe,
    names=action_name,
    subjects=subject_name,
    faults=FAULTS,
    initial=initial_state,
    promises=PROMISES,
    bound_hit=bound_hit,
    bounds=FULL,
    coverage=COVERED,
)
