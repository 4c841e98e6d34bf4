"""What a driver does: start, plan a batch, wait for its tasks, commit, write the commit log; and how it ends."""

from zombieproof.checker.spark_sink import attempts, brokers, deliveries
from zombieproof.checker.spark_sink.state import (
    DRIVERS,
    PARTITIONS,
    TASKS,
    Driver,
    Phase,
    Setup,
    Sink,
    State,
)
from zombieproof.model.spark_sink.vocabulary import DeliveryState, Purpose, ReaderState, Reply
from zombieproof.model.vocabulary import NONE
from zombieproof.statemachines.delivery import steps
from zombieproof.statemachines.micro_batch_reader import steps as reading
from zombieproof.statemachines.notes import Notes


def start(state: State, setup: Setup, trail: Notes, d: int) -> bool:
    """A driver starts on the checkpoint: it runs the batch again that is planned and not done, or goes on behind it."""
    driver, checkpoint = state.drivers[d], state.checkpoint
    if driver.phase != Phase.DOWN or attempts.has_any(state, d):
        return False
    if state.drivers[(d + 1) % DRIVERS].phase != Phase.DOWN:
        if state.budget.second_drivers == 0:
            return False
        state.budget.second_drivers -= 1
    elif d > 0:
        return False
    driver.query = checkpoint.query
    driver.batch = checkpoint.planned
    for p in range(PARTITIONS):
        driver.range.first[p] = checkpoint.range.first[p]
        driver.range.past[p] = checkpoint.range.past[p]
    if checkpoint.planned == 0:
        _place(state, setup, trail, driver)
        return True
    reading.resume(driver.reader, trail)
    driver.phase = int(Phase.RUNNING_TASKS)
    if checkpoint.done == checkpoint.planned:
        _finish(driver, trail)
    return True


def _place(state: State, setup: Setup, trail: Notes, driver: Driver) -> None:
    """There is no checkpoint: the reader begins where the group is, or at the beginning."""
    committed = NONE
    for p in range(PARTITIONS):
        if setup.begins_at_group == 1 and state.group.positions[p] > 0:
            committed = int(state.group.positions[p])
    if reading.place(driver.reader, committed, trail):
        for p in range(PARTITIONS):
            driver.range.past[p] = state.group.positions[p]
    driver.phase = int(Phase.IDLE)


def _finish(driver: Driver, trail: Notes) -> None:
    """The batch is done: the next begins behind it."""
    reading.finish(driver.reader, trail)
    driver.phase = int(Phase.IDLE)
    for p in range(PARTITIONS):
        driver.range.first[p] = 0
    driver.reported = 0
    driver.ended = 0
    for task in range(TASKS):
        driver.epochs[task] = 0
    deliveries.clear(driver.work)


def plan(state: State, setup: Setup, trail: Notes, d: int, most: int) -> bool:
    """A driver writes the next batch into the offset log, unless another driver has done so."""
    driver, checkpoint = state.drivers[d], state.checkpoint
    if driver.phase != Phase.IDLE or most > setup.batch_records:
        return False
    size = 0
    for p in range(setup.partitions):
        size += reading.past_of_batch(int(driver.range.past[p]), int(setup.records), most) - driver.range.past[p]
    if size == 0:
        return False
    if checkpoint.planned != driver.batch:
        stop(state, d, False)
        return True
    driver.batch += 1
    for p in range(setup.partitions):
        driver.range.first[p] = driver.range.past[p]
        driver.range.past[p] = reading.past_of_batch(int(driver.range.first[p]), int(setup.records), most)
        checkpoint.range.first[p] = driver.range.first[p]
        checkpoint.range.past[p] = driver.range.past[p]
    checkpoint.planned = driver.batch
    reading.plan(driver.reader, trail)
    driver.phase = int(Phase.RUNNING_TASKS)
    return True


def all_done(state: State, setup: Setup, trail: Notes, d: int) -> bool:
    """All tasks have reported: the sink commits. Tasks of a sink whose driver sends the rows have no other effect."""
    driver = state.drivers[d]
    needs_tasks = setup.sink != Sink.BATCH and not attempts.is_decided(state, setup, driver)
    has_all = driver.reported == (1 << setup.partitions) - 1
    if driver.phase != Phase.RUNNING_TASKS or (needs_tasks and not has_all):
        return False
    driver.phase = int(Phase.RETURNED)
    if setup.sink == Sink.TWO_PHASE:
        driver.phase = int(Phase.COMMITTING)
    elif setup.sink == Sink.BATCH:
        driver.phase = int(Phase.COMMITTING)
        deliveries.assign(driver.work, int(driver.query), int(driver.batch), driver.range)
        driver.work.rows = deliveries.rows_of(setup, deliveries.EVERY_TASK_AT_ONCE, driver.range)
        deliveries.begin(state, setup, trail, driver.work, int(Purpose.DELIVER))
    return True


def advance(state: State, setup: Setup, trail: Notes, d: int, lost: bool) -> bool:
    """The sink's `commit` or `abort` does its next step in the driver."""
    driver = state.drivers[d]
    if driver.phase not in (Phase.COMMITTING, Phase.ABORTING):
        return False
    if lost:
        if state.budget.lost == 0 or setup.sink != Sink.BATCH or not deliveries.may_lose(driver.work):
            return False
        state.budget.lost -= 1
    if setup.sink == Sink.TWO_PHASE:
        return _end_next(state, setup, d)
    delivery = driver.work.delivery
    if not steps.is_over(delivery):
        deliveries.advance(state, setup, trail, driver.work, lost)
    elif driver.phase == Phase.ABORTING:
        stop(state, d, False)
    elif steps.is_in_the_output(delivery):
        driver.phase = int(Phase.RETURNED)
    else:
        _abort(state, setup, trail, driver, d)
    return True


def give_up(state: State, trail: Notes, d: int) -> bool:
    """A commit or an abort was asked for often enough."""
    driver = state.drivers[d]
    asks = driver.work.delivery.state in (DeliveryState.COMMITTING, DeliveryState.ABORTING)
    if not asks or state.budget.lost == 0:
        return False
    state.budget.lost -= 1
    steps.answered(driver.work.delivery, int(Reply.GIVEN_UP), trail)
    return True


def _end_next(state: State, setup: Setup, d: int) -> bool:
    """A two-phase sink: decide, then end the transaction of one task after the other."""
    driver, decided = state.drivers[d], state.decided
    commits = driver.phase == Phase.COMMITTING
    if commits and setup.decides == 1 and not attempts.is_decided(state, setup, driver):
        decided.batch = driver.batch
        for task in range(TASKS):
            decided.epochs[task] = driver.epochs[task]
        return True
    for task in range(TASKS):
        if (driver.ended >> task) & 1 == 0:
            epoch = decided.epochs[task] if setup.decides == 1 and commits else driver.epochs[task]
            brokers.end(state, task, int(epoch), commits)
            driver.ended = driver.ended | (1 << task)
            return True
    if commits:
        driver.phase = int(Phase.RETURNED)
    else:
        stop(state, d, False)
    return True


def raise_behind_commit(state: State, setup: Setup, trail: Notes, d: int) -> bool:
    """The sink's `commit` raises although some or all of it took effect; Spark calls `abort`."""
    driver = state.drivers[d]
    is_amid = setup.sink == Sink.TWO_PHASE and driver.phase == Phase.COMMITTING and driver.ended > 0
    if state.budget.raised == 0 or not (driver.phase == Phase.RETURNED or is_amid):
        return False
    state.budget.raised -= 1
    _abort(state, setup, trail, driver, d)
    return True


def _abort(state: State, setup: Setup, trail: Notes, driver: Driver, d: int) -> None:
    """Spark calls `abort`: a sink that trusts it aborts what tasks have opened, one that does not looks first."""
    if setup.sink == Sink.TWO_PHASE and setup.trusts_abort == 1:
        driver.phase = int(Phase.ABORTING)
        driver.ended = 0
    elif setup.sink == Sink.BATCH:
        driver.phase = int(Phase.ABORTING)
        driver.work.delivery.state = int(DeliveryState.NEW)
        deliveries.begin(state, setup, trail, driver.work, int(Purpose.RESOLVE))
    else:
        stop(state, d, False)


def write_commit_log(state: State, trail: Notes, d: int) -> bool:
    """The batch is done in Spark's eyes, unless another driver has said so."""
    driver, checkpoint = state.drivers[d], state.checkpoint
    if driver.phase != Phase.RETURNED:
        return False
    if checkpoint.done != driver.batch - 1 or checkpoint.planned != driver.batch:
        stop(state, d, False)
        return True
    checkpoint.done = driver.batch
    _finish(driver, trail)
    return True


def crash(state: State, d: int, orphaned: bool) -> bool:
    """A driver dies anywhere; its attempts die with it, or go on."""
    if state.drivers[d].phase == Phase.DOWN or state.budget.crashes == 0:
        return False
    if orphaned:
        if state.budget.orphans == 0 or not attempts.has_any(state, d):
            return False
        state.budget.orphans -= 1
    state.budget.crashes -= 1
    stop(state, d, orphaned)
    return True


def stop(state: State, d: int, orphaned: bool) -> None:
    """The query ends, and the driver forgets all."""
    driver = state.drivers[d]
    attempts.let_go(state, d, orphaned)
    driver.phase = int(Phase.DOWN)
    driver.reader.state = int(ReaderState.UNPLACED)
    driver.query = 0
    driver.batch = 0
    for p in range(PARTITIONS):
        driver.range.first[p] = 0
        driver.range.past[p] = 0
    driver.reported = 0
    driver.ended = 0
    for task in range(TASKS):
        driver.epochs[task] = 0
    deliveries.clear(driver.work)


def lose_checkpoint(state: State) -> bool:
    """The checkpoint is gone when nobody uses it: the next start is that of a new query, which counts anew."""
    checkpoint = state.checkpoint
    if state.budget.lost_checkpoints == 0 or checkpoint.planned == 0:
        return False
    for d in range(DRIVERS):
        if state.drivers[d].phase != Phase.DOWN:
            return False
    state.budget.lost_checkpoints -= 1
    checkpoint.query += 1
    checkpoint.planned = 0
    checkpoint.done = 0
    for p in range(PARTITIONS):
        checkpoint.range.first[p] = 0
        checkpoint.range.past[p] = 0
    return True
