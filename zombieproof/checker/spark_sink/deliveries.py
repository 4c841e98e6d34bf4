"""A host of the steps of a delivery: it asks the brokers for what the state says, and hands in what came of it."""

from zombieproof.checker.spark_sink import brokers, claims
from zombieproof.checker.spark_sink.state import (
    PARTITIONS,
    RECORDS,
    TASKS,
    Key,
    Modes,
    Range,
    Reads,
    Setup,
    Sink,
    State,
    Work,
)
from zombieproof.model.spark_sink.vocabulary import DeliveryState, Found, Purpose, Reply
from zombieproof.model.vocabulary import NONE
from zombieproof.statemachines.delivery import steps
from zombieproof.statemachines.notes import Notes

EVERY_TASK_AT_ONCE = -1


def begin(state: State, setup: Setup, trail: Notes, work: Work, purpose: int) -> None:
    """A delivery begins. A sink that does not fence first looks here, and not again."""
    steps.begin(work.delivery, purpose, trail)
    if setup.fences_first == 0:
        work.found = 1 + look_up(state, setup, work)


def rows_of(setup: Setup, task: int, range_: Range) -> int:
    """Return the labels that `task` writes of a range: of its partition, or every second one after a shuffle.

    A plan that holds rows back adds the first one of a partition to the batch that reads the last one.
    """
    rows = 0
    for p in range(PARTITIONS):
        for offset in range(RECORDS):
            is_written = offset >= range_.first[p] and offset < range_.past[p]
            if setup.holds_back == 1 and offset == 0:
                is_written = range_.past[p] > range_.first[p] and is_due(setup, offset, int(range_.past[p]))
            owner = (p + offset) % TASKS if setup.shuffled == 1 else p
            if is_written and task in (EVERY_TASK_AT_ONCE, owner):
                rows = rows | (1 << (p * RECORDS + offset))
    return rows


def is_due(setup: Setup, offset: int, past: int) -> bool:
    """Whether a plan has handed on the record at `offset` when it has read up to `past`."""
    return bool(setup.holds_back == 0 or offset > 0 or past == setup.records)


def left_of(work: Work) -> int:
    """The labels that are still to be sent: those of each partition from `start` on."""
    left = 0
    for p in range(PARTITIONS):
        for offset in range(work.start[p], RECORDS):
            left = left | (work.rows & (1 << (p * RECORDS + offset)))
    return left


def count(labels: int) -> int:
    """How many labels there are."""
    found = 0
    for label in range(PARTITIONS * RECORDS):
        found += (labels >> label) & 1
    return found


def look_up(state: State, setup: Setup, work: Work) -> int:
    """Read what is committed, by the key of the sink; leaves in `start` from where rows are to be sent."""
    group = state.group
    for p in range(PARTITIONS):
        work.start[p] = work.range.first[p]
    if setup.key == Key.POSITIONS:
        for p in range(PARTITIONS):
            position = brokers.committed_position(state, setup, p)
            committed = position if position > 0 else NONE
            work.start[p] = steps.first_to_send(int(work.range.first[p]), int(work.range.past[p]), int(committed))
        others = 1 if setup.compares_writes == 1 and is_of_another_write(state, setup, work) else 0
        found = steps.find_by_positions(count(int(work.rows)), count(left_of(work)), others)
        has_to_claim = setup.modes != Modes.ONE and setup.claims == 1
        if has_to_claim and found not in (Found.NOT_COMPARABLE, Found.ALL_DELIVERED):
            return int(Found.UNCLAIMED) if claims.is_needed(state, setup, work) else found
        return found
    is_lost = setup.keeps_progress == 0 and group.expired > 0
    if setup.key == Key.NOTHING or group.batch == 0 or is_lost:
        return int(Found.NONE_DELIVERED)
    query = int(work.query) if setup.key == Key.BATCH else int(group.query)
    batch = int(group.batch)
    has_same_rows = setup.compares_rows == 0 or setup.key == Key.BATCH or group.rows == work.rows
    if setup.compares_numbers == 0 and batch > work.batch:
        batch = int(work.batch)
        has_same_rows = True
    # The sink also compares runs (`is_known`), because a function of foreachBatch may leave batches out.
    return steps.find_by_identity(int(work.query), int(work.batch), query, batch, bool(has_same_rows), True)


def is_of_another_write(state: State, setup: Setup, work: Work) -> bool:
    """Whether another write has committed the position that `work` finds."""
    group = state.group  # all writes of the model have one output
    if setup.reads == Reads.KINDS:
        return is_of_other_kind(state, setup, int(work.sink))
    return group.batch > 0 and steps.is_of_another_write(
        bool(group.query == work.query), bool(group.sink == work.sink), True, int(work.batch), int(group.batch)
    )


def is_of_other_kind(state: State, setup: Setup, sink: int) -> bool:
    """Whether a stream compares a position with that of a batch query, or a batch query with that of a stream."""
    compares = setup.stream_compares_kinds if sink == 0 else setup.batch_query_compares_kinds
    return bool(compares == 1 and state.group.batch > 0 and state.group.sink != sink)


def advance(state: State, setup: Setup, trail: Notes, work: Work, lost: bool) -> None:
    """Do what the delivery waits for; with `lost` the brokers do it, and their answer does not come."""
    waits = int(work.delivery.state)
    if waits == DeliveryState.LOOKING_UP:
        found = int(work.found) - 1 if setup.fences_first == 0 else look_up(state, setup, work)
        steps.looked_up(work.delivery, found, trail)
        return
    reply = ask(state, setup, work, waits)
    if reply != claims.GOES_ON:
        steps.answered(work.delivery, int(Reply.UNKNOWN) if lost else reply, trail)


def ask(state: State, setup: Setup, work: Work, waits: int) -> int:
    """What the brokers do and reply."""
    if waits == DeliveryState.FENCING:
        return brokers.take_id(state, work)
    if waits == DeliveryState.SENDING_ROWS:
        return brokers.send_rows(state, work, left_of(work))
    if waits == DeliveryState.SENDING_OFFSETS:
        return send_positions(state, setup, work)
    if waits == DeliveryState.CLAIMING:
        return claims.advance(state, setup, work)
    commits = waits == DeliveryState.COMMITTING
    return brokers.end(state, setup, int(work.transactional_id), int(work.epoch), commits)


def send_positions(state: State, setup: Setup, work: Work) -> int:
    """Positions go into the transaction; of a sink that does it otherwise into the group at once, or nowhere."""
    if setup.key == Key.NOTHING:
        return int(Reply.DONE)
    if setup.offsets_inside == 1:
        return brokers.send_positions(state, setup, work)
    for p in range(PARTITIONS):
        if work.range.past[p] > work.range.first[p]:
            state.group.positions[brokers.place_of(setup, p)] = work.range.past[p]
    return int(Reply.DONE)


def may_lose(work: Work) -> bool:
    """Whether a lost answer makes a difference: reading has no effect, and nothing else is left to be lost.

    A claim begins again if an answer is lost, so that only the answer to its last step is lost here.
    """
    if work.delivery.state == DeliveryState.CLAIMING:
        return bool(work.takes_tasks or work.is_newest)
    return not steps.is_over(work.delivery) and work.delivery.state not in (
        DeliveryState.NEW,
        DeliveryState.LOOKING_UP,
    )


def is_ready(setup: Setup, work: Work) -> bool:
    """Whether a task with this work is done: delivered, or in a two-phase sink everything is sent."""
    if setup.sink == Sink.TWO_PHASE and work.delivery.state == DeliveryState.COMMITTING:
        return True
    return steps.is_in_the_output(work.delivery)


def clear(work: Work) -> None:
    """There is no delivery."""
    work.delivery.state = int(DeliveryState.NEW)
    work.delivery.purpose = int(Purpose.DELIVER)
    work.query = 0
    work.sink = 0
    work.batch = 0
    work.rows = 0
    work.transactional_id = 0
    work.epoch = 0
    work.found = 0
    work.seen_mode = 0
    work.seen = 0
    work.takes_tasks = False
    work.holder_epoch = 0
    work.is_newest = False
    work.taken = 0
    for p in range(PARTITIONS):
        work.range.first[p] = 0
        work.range.past[p] = 0
        work.start[p] = 0


def assign(work: Work, query: int, batch: int, range_: Range) -> None:
    """The work is about this batch."""
    work.query = query
    work.batch = batch
    for p in range(PARTITIONS):
        work.range.first[p] = range_.first[p]
        work.range.past[p] = range_.past[p]


def hold(setup: Setup, work: Work, rows: int) -> None:
    """Set the rows of the work; of a plan that holds rows back, its range goes from the first of them to the last."""
    work.rows = rows
    if setup.holds_back == 0:
        return
    for p in range(PARTITIONS):
        work.range.first[p] = work.range.past[p]
        past = 0
        for offset in range(RECORDS):
            if (rows >> (p * RECORDS + offset)) & 1 == 1:
                past = offset + 1
                work.range.first[p] = min(work.range.first[p], offset)
        if past > 0:
            work.range.past[p] = past


def keep_partition(work: Work, partition: int) -> None:
    """The work is about this partition alone."""
    for p in range(PARTITIONS):
        if p != partition:
            work.range.past[p] = work.range.first[p]
