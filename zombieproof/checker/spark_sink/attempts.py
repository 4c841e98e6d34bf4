"""What attempts of tasks do: they write, each by itself, and report to the driver that started them."""

from zombieproof.checker.spark_sink import brokers, claims, deliveries
from zombieproof.checker.spark_sink.state import ATTEMPTS, Attempt, Driver, Phase, Reads, Setup, Sink, State
from zombieproof.model.spark_sink.vocabulary import Purpose
from zombieproof.statemachines.delivery import steps
from zombieproof.statemachines.notes import Notes


def checkpoint_of(setup: Setup, d: int) -> int:
    """Return the number of the checkpoint that a driver has, and of its write: queries have their own."""
    return d if setup.reads >= Reads.QUERIES else 0


def is_batch_query(setup: Setup, sink: int) -> bool:
    """Whether the write with this number is that of a batch query."""
    return bool(setup.reads == Reads.KINDS and sink == 1)


def is_read_by(setup: Setup, d: int, partition: int) -> bool:
    """Whether a driver reads a partition: a query of two reads one."""
    return bool(setup.reads != Reads.QUERIES or partition == d)


def tasks_of(setup: Setup, d: int) -> int:
    """Return the tasks of a driver's batches, as a mask: one for each partition that it reads."""
    tasks = 0
    for task in range(setup.partitions):
        if is_read_by(setup, d, task):
            tasks = tasks | (1 << task)
    return tasks


def start(state: State, setup: Setup, trail: Notes, d: int, task: int) -> bool:
    """A driver starts an attempt of a task; a second one beside the first is a fault (speculation, a lost executor)."""
    driver = state.drivers[d]
    if (
        claims.sink_of(setup, d) == Sink.BATCH
        or (tasks_of(setup, d) >> task) & 1 == 0
        or is_decided(state, setup, driver)
    ):
        return False
    if driver.phase != Phase.RUNNING_TASKS or (driver.reported >> task) & 1 == 1:
        return False
    running = 0
    slot = ATTEMPTS
    for a in range(ATTEMPTS):
        attempt = state.attempts[a]
        if attempt.driver == d + 1 and attempt.task == task and not attempt.orphaned:
            running += 1
        elif attempt.driver == 0 and slot == ATTEMPTS and _is_free(state, setup, a):
            slot = a
    if slot == ATTEMPTS or (running > 0 and state.budget.extra_attempts == 0):
        return False
    if running > 0:
        state.budget.extra_attempts -= 1
    attempt = state.attempts[slot]
    attempt.driver = d + 1
    attempt.task = task
    work = attempt.work
    deliveries.assign(work, int(driver.query), int(driver.batch), driver.range)
    work.sink = checkpoint_of(setup, d)
    if setup.shuffled == 0:
        deliveries.keep_partition(work, task)
    deliveries.hold(setup, work, deliveries.rows_of(setup, task, driver.range))
    work.transactional_id = slot if setup.sink == Sink.NAIVE else brokers.place_of(setup, task)
    deliveries.begin(state, setup, trail, work, int(Purpose.DELIVER))
    return True


def is_decided(state: State, setup: Setup, driver: Driver) -> bool:
    """Whether a two-phase sink has recorded its decision for the driver's batch: its rows are not written again."""
    return setup.decides == 1 and state.decided.batch > 0 and state.decided.batch == driver.batch


def _is_free(state: State, setup: Setup, a: int) -> bool:
    """Whether the slot can be used: an id that nobody takes again stays as it is until its time-out."""
    return setup.sink != Sink.NAIVE or not state.transactions[a].is_open


def step(state: State, setup: Setup, trail: Notes, a: int, lost: bool) -> bool:
    """An attempt does its next step."""
    attempt = state.attempts[a]
    if attempt.driver == 0 or steps.is_over(attempt.work.delivery) or deliveries.is_ready(setup, attempt.work):
        return False
    if lost:
        if state.budget.lost == 0 or not deliveries.may_lose(attempt.work):
            return False
        state.budget.lost -= 1
    deliveries.advance(state, setup, trail, attempt.work, lost)
    return True


def report(state: State, setup: Setup, a: int, lost: bool) -> bool:
    """An attempt is over: its driver hears of it, if it still waits, or its message is lost."""
    attempt = state.attempts[a]
    is_ready = attempt.driver != 0 and deliveries.is_ready(setup, attempt.work)
    if attempt.driver == 0 or not (is_ready or steps.is_over(attempt.work.delivery)):
        return False
    driver = state.drivers[attempt.driver - 1]
    waits = is_ready and not attempt.orphaned and _waits(driver, attempt)
    if lost:
        if state.budget.lost == 0 or not waits:
            return False
        state.budget.lost -= 1
    elif waits:
        driver.reported = driver.reported | (1 << attempt.task)
        driver.epochs[attempt.task] = attempt.work.epoch
    release(attempt)
    return True


def _waits(driver: Driver, attempt: Attempt) -> bool:
    """Whether a driver waits for that task of that batch: a message that comes behind another is not looked at."""
    return (
        driver.phase == Phase.RUNNING_TASKS
        and driver.batch == attempt.work.batch
        and driver.query == attempt.work.query
        and (driver.reported >> attempt.task) & 1 == 0
    )


def fail(state: State, a: int) -> bool:
    """An attempt dies where it is; what it has opened stays open."""
    attempt = state.attempts[a]
    if attempt.driver == 0 or state.budget.failed_attempts == 0:
        return False
    state.budget.failed_attempts -= 1
    release(attempt)
    return True


def release(attempt: Attempt) -> None:
    """The slot is free."""
    attempt.driver = 0
    attempt.task = 0
    attempt.orphaned = False
    deliveries.clear(attempt.work)


def let_go(state: State, d: int, orphaned: bool) -> None:
    """The driver of these attempts is gone: they die with it, or go on with nobody who waits for them."""
    for a in range(ATTEMPTS):
        attempt = state.attempts[a]
        if attempt.driver == d + 1:
            if orphaned and not steps.is_over(attempt.work.delivery):
                attempt.orphaned = True
            else:
                release(attempt)


def has_any(state: State, d: int) -> bool:
    """Whether an attempt of the driver is under way."""
    found = False
    for a in range(ATTEMPTS):
        found = found or (state.attempts[a].driver == d + 1 and not state.attempts[a].orphaned)
    return found
