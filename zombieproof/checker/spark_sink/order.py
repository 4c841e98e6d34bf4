"""Where an attempt's next step meets nothing that others do: it is the only one of its task, and nobody can end it.

An attempt writes under the transactional id of its task, and reads and commits the positions of its partition. While
it is the only one that has these, its driver waits for it, and no fault is left that could end it or start another one
of its task, what others do changes neither what it does next nor what comes of it.

Its report does not come first: it frees a slot, and the next attempt that starts takes the first that is free.
"""

from typing import Final

from zombieproof.checker.spark_sink import deliveries
from zombieproof.checker.spark_sink.state import ATTEMPTS, Attempt, Driver, Key, Modes, Phase, Reads, Setup, Sink, State
from zombieproof.statemachines.delivery import steps


def is_alone(state: State, setup: Setup, a: int) -> bool:
    """Whether attempt `a` can go on, and its next step meets nothing that may happen before."""
    if state.attempts[a].driver == 0 or not _keeps_to_itself(setup) or _may_be_ended(state):
        return False
    attempt = state.attempts[a]
    driver = state.drivers[attempt.driver - 1]
    if not _is_waited_for(driver, attempt) or state.drivers[2 - attempt.driver].phase != Phase.DOWN:
        return False
    if _attempts_of(state, int(attempt.task)) > 1:
        return False
    return not (steps.is_over(attempt.work.delivery) or deliveries.is_ready(setup, attempt.work))


def _keeps_to_itself(setup: Setup) -> bool:
    """Whether tasks share neither ids nor positions, and positions are committed with the rows."""
    shares = setup.shuffled == 1 or setup.offsets_inside == 0 or setup.reads != Reads.PARTITIONS
    shares = shares or setup.modes != Modes.ONE
    return setup.sink in (Sink.PARTITION, Sink.TWO_PHASE) and setup.key in (Key.NOTHING, Key.POSITIONS) and not shares


def _may_be_ended(state: State) -> bool:
    """Whether a fault is left that ends an attempt or its transaction, or starts another one."""
    budget = state.budget
    starts = budget.second_drivers > 0 or budget.extra_attempts > 0
    changes = budget.expiries > 0 or budget.recreated_topics > 0
    return budget.crashes > 0 or budget.failed_attempts > 0 or budget.timeouts > 0 or starts or changes


def _is_waited_for(driver: Driver, attempt: Attempt) -> bool:
    if attempt.orphaned or driver.phase != Phase.RUNNING_TASKS:
        return False
    return driver.batch == attempt.work.batch and (driver.reported >> attempt.task) & 1 == 0


def _attempts_of(state: State, task: int) -> int:
    """How many attempts there are of a task, waited for or not."""
    count = 0
    for attempt in state.attempts:
        if attempt.driver > 0 and attempt.task == task:
            count += 1
    return count


def measure(state: State, setup: Setup) -> int:
    """How much attempts may still do: what can be lost, and the steps of their deliveries."""
    left = _MORE_THAN_ALL_STEPS * state.budget.lost
    for attempt in state.attempts:
        if attempt.driver > 0 and not steps.is_over(attempt.work.delivery):
            left += _STEPS - attempt.work.delivery.state
    return left


_STEPS: Final = 16
_MORE_THAN_ALL_STEPS: Final = ATTEMPTS * _STEPS
