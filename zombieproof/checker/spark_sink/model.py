"""Spark's environment as a model for the engine: its actions by number, and what they are in words."""

from dataclasses import replace
from enum import IntEnum
from typing import Final

from zombieproof.checker.engine.model import Model
from zombieproof.checker.engine.orders import Order
from zombieproof.checker.spark_sink import attempts, brokers, drivers, order
from zombieproof.checker.spark_sink.alike import sorts_of
from zombieproof.checker.spark_sink.narration import FIRST_ATTEMPT, FIRST_STARTED, describe_action, subject_name
from zombieproof.checker.spark_sink.normal_form import CURRENT, normalise
from zombieproof.checker.spark_sink.promises import PROMISES
from zombieproof.checker.spark_sink.state import ATTEMPTS, DRIVERS, IDS, RECORDS, TASKS, Reads, Setup, State
from zombieproof.statemachines.notes import Notes
from zombieproof.statemachines.registry import COVERED


class Action(IntEnum):
    """The kinds of actions; those from STEP_LOST on are faults, each with a budget."""

    START = 0
    PLAN = 1
    ALL_DONE = 2
    ADVANCE = 3
    WRITE_COMMIT_LOG = 4
    START_ATTEMPT = 5
    STEP = 6
    REPORT = 7
    STEP_LOST = 8
    REPORT_LOST = 9
    FAIL_ATTEMPT = 10
    ADVANCE_LOST = 11
    GIVE_UP = 12
    RAISE = 13
    CRASH = 14
    CRASH_LEAVING_ATTEMPTS = 15
    TIME_OUT = 16
    LOSE_CHECKPOINT = 17
    COPY_CHECKPOINT = 18
    RESTORE_CHECKPOINT = 19
    EXPIRE_POSITIONS = 20
    RECREATE_TOPIC = 21


_OF_ATTEMPTS: Final = (Action.STEP, Action.REPORT, Action.STEP_LOST, Action.REPORT_LOST, Action.FAIL_ATTEMPT)
_ARGUMENTS: Final = {
    Action.PLAN: DRIVERS * RECORDS,
    Action.START_ATTEMPT: DRIVERS * TASKS,
    Action.TIME_OUT: IDS,
    Action.LOSE_CHECKPOINT: 1,
    Action.COPY_CHECKPOINT: 1,
    Action.RESTORE_CHECKPOINT: 1,
    Action.EXPIRE_POSITIONS: 1,
    Action.RECREATE_TOPIC: 1,
    **dict.fromkeys(_OF_ATTEMPTS, ATTEMPTS),
}
ACTIONS: Final = tuple((int(kind), i) for kind in Action for i in range(_ARGUMENTS.get(kind, DRIVERS)))
"""Action -> its kind, and who or what it is about."""


def _subject(kind: int, i: int) -> int:
    if kind == Action.PLAN:
        return i // RECORDS
    if kind == Action.START_ATTEMPT:
        return FIRST_STARTED + i % TASKS
    return FIRST_ATTEMPT + i if kind in _OF_ATTEMPTS else i


_SUBJECTS: Final = tuple(_subject(kind, i) for kind, i in ACTIONS)
"""Action -> whom its moves are about, as `subject_name` tells it. TIME_OUT and actions on checkpoints move none."""


_ALONE: Final = (Action.STEP, Action.STEP_LOST)

ORDER: Final = Order(
    "attempts",
    tuple(tuple(n for n, (kind, i) in enumerate(ACTIONS) if kind in _ALONE and i == a) for a in range(ATTEMPTS)),
    order.is_alone,
    order.measure,
    seen_by=frozenset({"a_batch_is_all_or_nothing"}),
)
"""The steps of each attempt."""


def step(state: State, action: int, setup: Setup, trail: Notes) -> bool:
    """Take one action, if it is possible."""
    kind, i = ACTIONS[action]
    trail.subject = _SUBJECTS[action]
    is_taken = _take(state, setup, trail, kind, i)
    state.illegal = state.illegal or trail.illegal > 0
    return is_taken


def _take(state: State, setup: Setup, trail: Notes, kind: int, i: int) -> bool:
    if kind >= Action.START_ATTEMPT and kind <= Action.FAIL_ATTEMPT:
        return _of_attempt(state, setup, trail, kind, i)
    if kind == Action.START:
        return drivers.start(state, setup, trail, i)
    if kind == Action.PLAN:
        return drivers.plan(state, setup, trail, i // RECORDS, i % RECORDS + 1)
    if kind == Action.ALL_DONE:
        return drivers.all_done(state, setup, trail, i)
    if kind in (Action.ADVANCE, Action.ADVANCE_LOST):
        return drivers.advance(state, setup, trail, i, kind == Action.ADVANCE_LOST)
    if kind == Action.WRITE_COMMIT_LOG:
        return drivers.write_commit_log(state, setup, trail, i)
    return _fault(state, setup, trail, kind, i)


def _of_attempt(state: State, setup: Setup, trail: Notes, kind: int, i: int) -> bool:
    if kind == Action.START_ATTEMPT:
        return attempts.start(state, setup, trail, i // TASKS, i % TASKS)
    if kind in (Action.STEP, Action.STEP_LOST):
        return attempts.step(state, setup, trail, i, kind == Action.STEP_LOST)
    if kind in (Action.REPORT, Action.REPORT_LOST):
        return attempts.report(state, setup, i, kind == Action.REPORT_LOST)
    return attempts.fail(state, i)


def _fault(state: State, setup: Setup, trail: Notes, kind: int, i: int) -> bool:
    if kind == Action.GIVE_UP:
        return drivers.give_up(state, trail, i)
    if kind == Action.RAISE:
        return drivers.raise_behind_commit(state, setup, trail, i)
    if kind in (Action.CRASH, Action.CRASH_LEAVING_ATTEMPTS):
        return drivers.crash(state, i, kind == Action.CRASH_LEAVING_ATTEMPTS)
    if kind == Action.TIME_OUT:
        return brokers.time_out(state, i)
    if kind == Action.COPY_CHECKPOINT:
        return drivers.copy_checkpoint(state)
    if kind == Action.RESTORE_CHECKPOINT:
        return drivers.restore_checkpoint(state)
    if kind == Action.EXPIRE_POSITIONS:
        return brokers.expire(state, setup)
    if kind == Action.RECREATE_TOPIC:
        return brokers.recreate_topic(state)
    return drivers.lose_checkpoint(state, setup)


def describe(state: State, action: int, setup: Setup) -> str:
    """What the action does in this state, in one line."""
    kind, i = ACTIONS[action]
    return describe_action(state, setup, Action(kind).name, i)


def action_name(action: int) -> tuple[str, int]:
    """The name of the action's kind, and its argument."""
    kind, i = ACTIONS[action]
    return Action(kind).name.lower(), i


def initial_state(setup: Setup) -> State:
    """Nothing has run."""
    state = State(budget=replace(setup.budget))
    for transaction in state.transactions:
        transaction.epoch = CURRENT
    state.old.query = 0
    state.group.claim.generation = CURRENT
    if setup.reads >= Reads.QUERIES:
        state.checkpoints[1].query = OTHER_QUERY
    return state


OTHER_QUERY: Final = 101
"""Greater than any query that begins because a checkpoint was lost."""


SPARK_SINK: Final = Model(
    name="spark_sink",
    state=State,
    setup=Setup,
    trail=Notes,
    actions=len(ACTIONS),
    step=step,
    normalise=normalise,
    describe=describe,
    faults=frozenset(action for action, (kind, _) in enumerate(ACTIONS) if kind >= Action.STEP_LOST),
    initial=initial_state,
    promises=PROMISES,
    sorts=sorts_of,
    order=lambda setup: ORDER,
    coverage=COVERED,
    names=action_name,
    subjects=subject_name,
)
