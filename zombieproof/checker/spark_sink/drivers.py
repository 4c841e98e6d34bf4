"""What a driver does: start, plan a batch, wait for its tasks, commit, write the commit log; and how it ends."""

from zombieproof.checker.spark_sink import attempts, brokers, claims, deliveries
from zombieproof.checker.spark_sink.state import (
    DRIVERS,
    PARTITIONS,
    TASKS,
    Checkpoint,
    Driver,
    Key,
    Modes,
    Phase,
    Reads,
    Setup,
    Sink,
    State,
)
from zombieproof.model.spark_sink.vocabulary import DeliveryState, Purpose, ReaderState, Reply, Trait
from zombieproof.model.vocabulary import NONE
from zombieproof.statemachines.delivery import steps
from zombieproof.statemachines.micro_batch_reader import steps as reading
from zombieproof.statemachines.notes import Notes


def start(state: State, setup: Setup, trail: Notes, d: int) -> bool:
    """Start a driver on its checkpoint: it repeats the batch that is planned and not done, or continues after it.

    A query that is refused stays refused: its plan, its options, the positions of another write and the topic stay.
    """
    driver, checkpoint = state.drivers[d], state.checkpoints[attempts.checkpoint_of(setup, d)]
    if driver.phase != Phase.DOWN or attempts.has_any(state, d):
        return False
    if setup.reads < Reads.QUERIES:
        if state.drivers[(d + 1) % DRIVERS].phase != Phase.DOWN:
            if state.budget.second_drivers == 0:
                return False
            state.budget.second_drivers -= 1
        elif d > 0:
            return False
    is_taken = has_taken_group(state, setup, d) or has_other_topic(state, setup, d)
    if has_unsuitable_plan(setup) or is_taken or skips_records(state, setup, d):
        driver.phase = int(Phase.REFUSED)
        return True
    driver.query = checkpoint.query
    driver.batch = checkpoint.planned
    for p in range(PARTITIONS):
        driver.range.first[p] = checkpoint.range.first[p]
        driver.range.past[p] = checkpoint.range.past[p]
    if checkpoint.planned == 0:
        _place(state, setup, trail, d)
        return True
    reading.resume(driver.reader, trail)
    driver.phase = int(Phase.RUNNING_TASKS)
    if checkpoint.done == checkpoint.planned:
        _finish(driver, trail)
    return True


def has_unsuitable_plan(setup: Setup) -> bool:
    """Whether the sink refuses the plan."""
    if setup.checks_plan == 0:
        return False
    return (
        (setup.holds_back == 1 and not _is_exact(setup, int(Trait.STATEFUL)))
        or (setup.shuffled == 1 and not _is_exact(setup, int(Trait.MOVING)))
        or (setup.reads == Reads.BRANCHES and not _is_exact(setup, int(Trait.BRANCHES)))
        or (setup.reads == Reads.LOADS and not _is_exact(setup, int(Trait.LOADS)))
    )


def _is_exact(setup: Setup, trait: int) -> bool:
    by_batch = setup.key in (Key.BATCH, Key.QUERY_AND_BATCH)
    return steps.is_exact_for(trait, bool(by_batch), bool(setup.sink != Sink.BATCH))


def has_taken_group(state: State, setup: Setup, d: int) -> bool:
    """Whether the sink refuses to start because the positions of the group are those of another query's write."""
    group, sink = state.group, attempts.checkpoint_of(setup, d)
    if setup.reads == Reads.KINDS and not attempts.is_batch_query(setup, sink):
        return deliveries.is_of_other_kind(state, setup, sink)
    if setup.reads != Reads.QUERIES or setup.checks_group == 0 or group.batch == 0:
        return False
    return group.sink != sink and group.query != state.checkpoints[sink].query


def has_other_topic(state: State, setup: Setup, d: int) -> bool:
    """Whether the topic was created again: checkpoint or group have offsets of the one before."""
    if setup.compares_topics == 0:
        return False
    checkpoint = state.checkpoints[attempts.checkpoint_of(setup, d)]
    if state.drivers[d].batch > 0 or checkpoint.planned > 0:
        return bool(checkpoint.topic != state.topic)
    return bool(state.group.batch > 0 and state.group.topic != state.topic)


def skips_records(state: State, setup: Setup, d: int) -> bool:
    """Whether a query that has lost its checkpoint would begin after records that its sink has not written.

    A position shows that the query has run before. Of a partition without one, no record is known to be written.
    """
    is_placed = state.checkpoints[attempts.checkpoint_of(setup, d)].planned > 0
    if setup.checks_start == 0 or is_placed or attempts.is_batch_query(setup, d):
        return False
    has_run = False
    skips = False
    for p in range(setup.partitions):
        position = brokers.committed_position(state, setup, p)
        has_run = has_run or position > 0
        skips = skips or begin_of(state, setup, d, p) > position
    return has_run and skips


def begin_of(state: State, setup: Setup, d: int, partition: int) -> int:
    """Return where a query without a checkpoint begins: at the position of its group, else at `startingOffsets`."""
    position = brokers.committed_position(state, setup, partition)
    if setup.begins_at_group == 1 and position > 0 and not attempts.is_batch_query(setup, d):
        return int(position)
    return starting_offset_of(state, setup, d)


def starting_offset_of(state: State, setup: Setup, d: int) -> int:
    """Return what `startingOffsets` means for a query: at *latest*, the source is empty when the first query starts."""
    is_later_query = state.checkpoints[attempts.checkpoint_of(setup, d)].query > 1
    return int(setup.records if setup.starts_at_latest == 1 and is_later_query else setup.starting_offset)


def _place(state: State, setup: Setup, trail: Notes, d: int) -> None:
    """There is no checkpoint: the reader begins where the group is, or at `startingOffsets`."""
    driver = state.drivers[d]
    committed = NONE
    for p in range(PARTITIONS):
        position = brokers.committed_position(state, setup, p)
        if setup.begins_at_group == 1 and position > 0 and not attempts.is_batch_query(setup, d):
            committed = position
    is_at_group = reading.place(driver.reader, committed, trail)
    for p in range(setup.partitions):
        if attempts.is_read_by(setup, d, p):
            begin = begin_of(state, setup, d, p) if is_at_group else starting_offset_of(state, setup, d)
            driver.range.past[p] = begin
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
    driver, checkpoint = state.drivers[d], state.checkpoints[attempts.checkpoint_of(setup, d)]
    if driver.phase != Phase.IDLE or most > setup.batch_records:
        return False
    if has_other_topic(state, setup, d):
        stop(state, d, False)
        driver.phase = int(Phase.REFUSED)
        return True
    size = 0
    for p in range(setup.partitions):
        first = first_of_next(setup, driver, d, p, most)
        size += past_of_next(setup, d, p, first, most) - first
    if size == 0:
        return False
    if checkpoint.planned != driver.batch:
        stop(state, d, False)
        return True
    checkpoint.topic = state.topic
    for p in range(setup.partitions):
        driver.range.first[p] = first_of_next(setup, driver, d, p, most)
        driver.range.past[p] = past_of_next(setup, d, p, int(driver.range.first[p]), most)
        checkpoint.range.first[p] = driver.range.first[p]
        checkpoint.range.past[p] = driver.range.past[p]
    driver.batch += 1
    checkpoint.planned = driver.batch
    reading.plan(driver.reader, trail)
    driver.phase = int(Phase.RUNNING_TASKS)
    return True


def first_of_next(setup: Setup, driver: Driver, d: int, partition: int, most: int) -> int:
    """Return where the next batch of a driver begins in a partition; a batch query reads the last records."""
    if attempts.is_batch_query(setup, d) and driver.batch == 0:
        return max(int(setup.records) - most, 0)
    return int(driver.range.past[partition])


def past_of_next(setup: Setup, d: int, partition: int, position: int, most: int) -> int:
    """Return where the next batch of a driver ends in a partition; the second of two loads has no limit."""
    if not attempts.is_read_by(setup, d, partition):
        return position
    limit = NONE if setup.reads == Reads.LOADS and partition == 1 else most
    return reading.past_of_batch(position, int(setup.records), int(limit))


def all_done(state: State, setup: Setup, trail: Notes, d: int) -> bool:
    """All tasks have reported: the sink commits. Tasks of a sink whose driver sends the rows have no other effect."""
    driver = state.drivers[d]
    sink = claims.sink_of(setup, d)
    needs_tasks = sink != Sink.BATCH and not attempts.is_decided(state, setup, driver)
    has_all = driver.reported == attempts.tasks_of(setup, d)
    if driver.phase != Phase.RUNNING_TASKS or (needs_tasks and not has_all):
        return False
    driver.phase = int(Phase.RETURNED)
    if sink == Sink.TWO_PHASE:
        driver.phase = int(Phase.COMMITTING)
    elif sink == Sink.BATCH:
        driver.phase = int(Phase.COMMITTING)
        _deliver(state, setup, trail, driver, attempts.checkpoint_of(setup, d))
    return True


def _deliver(state: State, setup: Setup, trail: Notes, driver: Driver, sink: int) -> None:
    """Begin a delivery in the driver: of all rows of its batch, or of those of one of two writes.

    Where positions tell what is written, a batch without rows has nothing to deliver.
    """
    work = driver.work
    deliveries.assign(work, int(driver.query), int(driver.batch), driver.range)
    work.sink = sink
    if setup.modes != Modes.ONE:
        work.transactional_id = claims.id_of(setup, int(Sink.BATCH))
    task = deliveries.EVERY_TASK_AT_ONCE
    if setup.reads == Reads.WRITES:
        task = sink
        deliveries.keep_partition(work, sink)
    deliveries.hold(setup, work, deliveries.rows_of(setup, int(task), driver.range))
    has_to_be_compared = setup.key in (Key.BATCH, Key.QUERY_AND_BATCH) and setup.delivers_empty == 1
    if work.rows == 0 and not has_to_be_compared:
        driver.phase = int(Phase.RETURNED)
        return
    deliveries.begin(state, setup, trail, work, int(Purpose.DELIVER))


def advance(state: State, setup: Setup, trail: Notes, d: int, lost: bool) -> bool:
    """The sink's `commit` or `abort` does its next step in the driver."""
    driver = state.drivers[d]
    if driver.phase not in (Phase.COMMITTING, Phase.ABORTING):
        return False
    if lost:
        is_by_driver = claims.sink_of(setup, d) == Sink.BATCH
        if state.budget.lost == 0 or not is_by_driver or not deliveries.may_lose(driver.work):
            return False
        state.budget.lost -= 1
    if setup.sink == Sink.TWO_PHASE:
        return _end_next(state, setup, d)
    delivery = driver.work.delivery
    if not steps.is_over(delivery):
        deliveries.advance(state, setup, trail, driver.work, lost)
    elif driver.phase == Phase.ABORTING:
        stop(state, d, False)
    elif steps.is_in_the_output(delivery) and setup.reads == Reads.WRITES and driver.work.sink == 0:
        delivery.state = int(DeliveryState.NEW)
        _deliver(state, setup, trail, driver, 1)
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
            brokers.end(state, setup, task, int(epoch), commits)
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
    """Spark calls `abort`: a sink that trusts it aborts what tasks have opened, one that does not looks first.

    It does not where `foreachBatch` writes: the query ends with the error of the function.
    """
    if setup.sink == Sink.TWO_PHASE and setup.trusts_abort == 1:
        driver.phase = int(Phase.ABORTING)
        driver.ended = 0
    elif claims.sink_of(setup, d) == Sink.BATCH and setup.reads != Reads.WRITES and driver.work.rows > 0:
        driver.phase = int(Phase.ABORTING)
        driver.work.delivery.state = int(DeliveryState.NEW)
        deliveries.begin(state, setup, trail, driver.work, int(Purpose.RESOLVE))
    else:
        stop(state, d, False)


def write_commit_log(state: State, setup: Setup, trail: Notes, d: int) -> bool:
    """The batch is done in Spark's eyes, unless another driver has said so."""
    driver, checkpoint = state.drivers[d], state.checkpoints[attempts.checkpoint_of(setup, d)]
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
    if state.drivers[d].phase in (Phase.DOWN, Phase.REFUSED) or state.budget.crashes == 0:
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


def _is_anyone_up(state: State) -> bool:
    found = False
    for d in range(DRIVERS):
        found = found or state.drivers[d].phase != Phase.DOWN
    return found


def copy_checkpoint(state: State) -> bool:
    """Copy the checkpoint, at most once before each restore; a driver may be using it."""
    if state.budget.old_checkpoints == 0 or state.old.query > 0:
        return False
    _copy(state.checkpoints[0], state.old)
    return True


def restore_checkpoint(state: State) -> bool:
    """Replace the checkpoint by its copy while no driver uses it."""
    if state.budget.old_checkpoints == 0 or state.old.query == 0 or _is_anyone_up(state):
        return False
    state.budget.old_checkpoints -= 1
    _copy(state.old, state.checkpoints[0])
    _forget(state.old)
    state.old.query = 0
    return True


def _copy(of: Checkpoint, into: Checkpoint) -> None:
    into.query = of.query
    into.planned = of.planned
    into.done = of.done
    into.topic = of.topic
    for p in range(PARTITIONS):
        into.range.first[p] = of.range.first[p]
        into.range.past[p] = of.range.past[p]


def _forget(checkpoint: Checkpoint) -> None:
    """Remove the batch from a checkpoint."""
    checkpoint.planned = 0
    checkpoint.done = 0
    checkpoint.topic = 0
    for p in range(PARTITIONS):
        checkpoint.range.first[p] = 0
        checkpoint.range.past[p] = 0


def lose_checkpoint(state: State, setup: Setup) -> bool:
    """Delete the checkpoint while no driver uses it: the next start is that of a new query, which counts from 1."""
    checkpoint = state.checkpoints[0]
    # Without a position, nothing shows that a query at *latest* ran before: docs/pipeline.md lists that loss.
    if setup.starts_at_latest == 1 and state.group.batch == 0:
        return False
    if state.budget.lost_checkpoints == 0 or checkpoint.planned == 0 or _is_anyone_up(state):
        return False
    state.budget.lost_checkpoints -= 1
    checkpoint.query = 1 + setup.budget.lost_checkpoints - state.budget.lost_checkpoints
    _forget(checkpoint)
    return True
