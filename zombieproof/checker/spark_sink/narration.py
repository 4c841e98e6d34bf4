"""An action in words: which driver or attempt does what, to which rows, what comes of it, and whose moves there are."""

import copy
from dataclasses import replace
from typing import Final

from zombieproof.checker.spark_sink import claims, deliveries, drivers
from zombieproof.checker.spark_sink.attempts import checkpoint_of, is_batch_query, is_decided
from zombieproof.checker.spark_sink.brokers import place_of
from zombieproof.checker.spark_sink.deliveries import is_due
from zombieproof.checker.spark_sink.state import (
    ATTEMPTS,
    DRIVERS,
    LABELS,
    PARTITIONS,
    RECORDS,
    TASKS,
    Driver,
    Key,
    Modes,
    Phase,
    Range,
    Reads,
    Setup,
    Sink,
    State,
    Transaction,
    Work,
)
from zombieproof.model.spark_sink.vocabulary import DeliveryState, Found, Purpose
from zombieproof.statemachines.delivery import steps

NAMES = "AB"

FIRST_ATTEMPT: Final = DRIVERS
FIRST_STARTED: Final = FIRST_ATTEMPT + ATTEMPTS
"""Subjects of moves are the drivers, the attempts, and behind them by its task an attempt that is being started."""


def subject_name(machine: int, subject: int) -> str:
    """Whom a move is about; the same for both machines, each of which drivers have."""
    if subject < FIRST_ATTEMPT:
        return f"driver {NAMES[subject]}"
    if subject < FIRST_STARTED:
        return f"attempt {subject - FIRST_ATTEMPT}"
    return f"new attempt of task {subject - FIRST_STARTED}"


def describe_action(state: State, setup: Setup, kind: str, i: int) -> str:
    """An action by the name of its kind."""
    if kind == "PLAN":
        return _plans(state, setup, i // RECORDS, i % RECORDS + 1)
    if kind == "START_ATTEMPT":
        d, task = i // TASKS, i % TASKS
        return f"driver {NAMES[d]} starts an attempt of task {task} of batch {state.drivers[d].batch}"
    if kind in ("STEP", "REPORT", "STEP_LOST", "REPORT_LOST", "FAIL_ATTEMPT"):
        return _of_attempt(state, setup, kind, i)
    if kind == "TIME_OUT":
        rows = rows_in_words(setup, state.transactions[i].rows)
        return f"the transaction {id_name(setup, i)} with {rows} is open for too long, and is aborted"
    if kind == "LOSE_CHECKPOINT":
        return "the checkpoint is lost: the next start is that of a new query"
    if kind == "COPY_CHECKPOINT":
        planned = state.checkpoints[0].planned
        return f"a copy of the checkpoint is made, {f'with batch {planned}' if planned else 'without a batch'}"
    if kind == "RESTORE_CHECKPOINT":
        newest = f"batch {state.old.planned} is the newest again" if state.old.planned else "it has no batch"
        return f"the copy replaces the checkpoint: {newest}"
    if kind == "EXPIRE_POSITIONS":
        return "the positions of the group expire"
    if kind == "RECREATE_TOPIC":
        return "the topic of the source is deleted and created again, and the output is that of the new records"
    return _of_driver(state, setup, kind, i)


def _plans(state: State, setup: Setup, d: int, most: int) -> str:
    driver = state.drivers[d]
    if drivers.has_other_topic(state, setup, d):
        return f"driver {NAMES[d]} finds that its offsets are those of the topic before, and stops"
    if state.checkpoints[checkpoint_of(setup, d)].planned != driver.batch:
        return f"driver {NAMES[d]} finds that another driver has planned batch {driver.batch + 1}, and stops"
    planned = Range()
    for p in range(setup.partitions):
        planned.first[p] = drivers.first_of_next(setup, driver, d, p, most)
        planned.past[p] = drivers.past_of_next(setup, d, p, planned.first[p], most)
    rows = deliveries.rows_of(setup, deliveries.EVERY_TASK_AT_ONCE, planned)
    read = deliveries.rows_of(replace(setup, holds_back=0), deliveries.EVERY_TASK_AT_ONCE, planned)
    kept = f", and keeps {rows_in_words(setup, read & ~rows)}" if read & ~rows else ""
    passed = _missing(state, setup, Range(past=planned.first), setup.starting_offset)
    although = f", although {rows_in_words(setup, passed)} {_are(passed)} not in the output" if passed else ""
    although = although or _although_there(state, setup, rows)
    if is_batch_query(setup, d):
        return f"driver {NAMES[d]} plans the batch query: {rows_in_words(setup, rows)}"
    return f"driver {NAMES[d]} plans batch {driver.batch + 1}: {rows_in_words(setup, rows)}{kept}{although}"


def _of_attempt(state: State, setup: Setup, kind: str, a: int) -> str:
    attempt = state.attempts[a]
    orphaned = ", which no driver waits for," if attempt.orphaned else ""
    who = f"attempt {a} of task {attempt.task}{orphaned}"
    if kind == "FAIL_ATTEMPT":
        return f"{who} fails"
    if kind in ("REPORT", "REPORT_LOST"):
        lost = ", and its message is lost" if kind == "REPORT_LOST" else ""
        return f"{who} ends: {_end(setup, attempt.work)}{lost}"
    return f"{who} {_asks(state, setup, attempt.work)}{_lost(kind)}"


def _of_driver(state: State, setup: Setup, kind: str, d: int) -> str:
    driver, who = state.drivers[d], f"driver {NAMES[d]}"
    if kind == "START":
        return f"{who} starts{_begins_with(state, setup, d)}"
    if kind in ("ADVANCE", "ADVANCE_LOST"):
        write = f" (write {driver.work.sink})" if setup.reads == Reads.WRITES else ""
        return f"{who}{write} {_in_sink(state, setup, driver)}{_lost(kind)}"
    if kind == "WRITE_COMMIT_LOG":
        begins = driver.range.first[0] if is_batch_query(setup, d) else setup.starting_offset
        missing = _missing(state, setup, driver.range, begins)
        although = f", although {rows_in_words(setup, missing)} {_are(missing)} not in the output" if missing else ""
        if is_batch_query(setup, d):
            return f"{who} ends the batch query{although}"
        return f"{who} writes batch {driver.batch} into the commit log{although}"
    words = {
        "ALL_DONE": f"{_has(state, setup, driver)}, and calls the sink's commit",
        "GIVE_UP": "has asked often enough, and gives up",
        "RAISE": "sees the sink's commit raise, and calls its abort",
        "CRASH": "crashes",
        "CRASH_LEAVING_ATTEMPTS": "crashes, and its attempts go on",
    }
    return f"{who} {words[kind]}"


def _has(state: State, setup: Setup, driver: Driver) -> str:
    if is_decided(state, setup, driver):
        return f"finds that batch {driver.batch} is decided"
    return f"has all tasks of batch {driver.batch}"


def _begins_with(state: State, setup: Setup, d: int) -> str:
    if drivers.has_unsuitable_plan(setup):
        return ", and is refused: the sink does not write this plan exactly once"
    if drivers.has_taken_group(state, setup, d) and setup.reads == Reads.KINDS:
        return ", and is refused: the position is that of a batch query"
    if drivers.has_taken_group(state, setup, d):
        return ", and is refused: the positions of the group are those of the other query's write"
    if drivers.has_other_topic(state, setup, d):
        return ", and is refused: the offsets are those of the topic before"
    if drivers.skips_records(state, setup, d):
        return ", and is refused: it would begin after records that the sink has not written"
    checkpoint = state.checkpoints[checkpoint_of(setup, d)]
    if is_batch_query(setup, d):
        return ", and repeats the batch query" if checkpoint.planned > 0 else " to run a batch query"
    if checkpoint.planned == 0:
        return f" without a checkpoint{_from(state, setup, d)}"
    if checkpoint.planned > checkpoint.done:
        return f", and runs batch {checkpoint.planned} of the offset log"
    return f" behind batch {checkpoint.planned}"


def _from(state: State, setup: Setup, d: int) -> str:
    """Say where a query begins, unless it begins at the first record."""
    begins = [drivers.begin_of(state, setup, d, p) for p in range(setup.partitions)]
    if setup.starting_offset == setup.starts_at_latest == 0 or not any(begins):
        return ""
    return f" at {' and '.join(f'p{p}@{begin}' for p, begin in enumerate(begins))}"


def _in_sink(state: State, setup: Setup, driver: Driver) -> str:
    """What the sink does in the driver."""
    if setup.sink == Sink.TWO_PHASE:
        return _in_two_phases(state, setup, driver)
    if steps.is_over(driver.work.delivery):
        return f"leaves the sink: {_end(setup, driver.work)}"
    aborts = " in the sink's abort" if driver.work.delivery.purpose == Purpose.RESOLVE else ""
    return f"{_asks(state, setup, driver.work)}{aborts}"


def _in_two_phases(state: State, setup: Setup, driver: Driver) -> str:
    commits = driver.phase == Phase.COMMITTING
    if commits and setup.decides == 1 and not is_decided(state, setup, driver):
        return f"records that batch {driver.batch} is decided"
    for task in range(TASKS):
        if (driver.ended >> task) & 1 == 0:
            epoch = state.decided.epochs[task] if setup.decides == 1 and commits else driver.epochs[task]
            return _ends(state, setup, task, int(epoch), commits)
    return "returns from the sink"


def _asks(state: State, setup: Setup, work: Work) -> str:
    """What a delivery does next."""
    waits = DeliveryState(work.delivery.state)
    if waits == DeliveryState.FENCING:
        return f"takes the transactional id {id_name(setup, work.transactional_id)}"
    if waits == DeliveryState.LOOKING_UP:
        return _looks_up(state, setup, work)
    if waits == DeliveryState.CLAIMING:
        return _claims(state, setup, work)
    if waits == DeliveryState.SENDING_ROWS:
        return f"sends {rows_in_words(setup, deliveries.left_of(work))} into the transaction"
    if waits == DeliveryState.SENDING_OFFSETS:
        return _sends_positions(state, setup, work)
    return _ends(state, setup, work.transactional_id, work.epoch, waits == DeliveryState.COMMITTING)


def _claims(state: State, setup: Setup, work: Work) -> str:
    if work.takes_tasks:
        return (
            f"takes the transactional id {id_name(setup, claims.ID_OF_TASK)}, which keeps earlier tasks from committing"
        )
    mode, holder = _MODES[Sink(claims.mode_of(work))], claims.holder_of(setup, work)
    if work.holder_epoch == 0:
        return f"takes the transactional id {id_name(setup, holder)} to claim the group for mode {mode}"
    if not work.is_newest and state.group.claim.generation == work.seen:
        return "reads that the group was not claimed again"
    if not work.is_newest:
        return "reads that the group was claimed again, and does not claim it"
    if work.holder_epoch != 1 + state.transactions[holder].epoch:
        return f"claims the group for mode {mode}, and is told that another producer has the id"
    return f"claims the group for mode {mode}"


_MODES: Final = {Sink.BATCH: "batch", Sink.PARTITION: "partition"}


def _looks_up(state: State, setup: Setup, work: Work) -> str:
    if setup.key == Key.NOTHING:
        return "has nothing to look up by"
    read = copy.deepcopy(work)
    found = int(work.found) - 1 if setup.fences_first == 0 else deliveries.look_up(state, setup, read)
    when = "has looked up" if setup.fences_first == 0 else "looks up"
    left = deliveries.left_of(read)
    told = {
        Found.ALL_DELIVERED: "everything is delivered",
        Found.NOT_COMPARABLE: _not_comparable(state, setup, work),
        Found.UNCLAIMED: f"{rows_in_words(setup, left)} {_are(left)} not delivered, and the other mode may deliver",
    }.get(Found(found), f"{rows_in_words(setup, left)} {_are(left)} not delivered")
    return f"{when} what is committed: {told}"


def _not_comparable(state: State, setup: Setup, work: Work) -> str:
    if setup.reads == Reads.KINDS:
        return f"the position is that of a {'batch query' if is_batch_query(setup, state.group.sink) else 'stream'}"
    if setup.key == Key.POSITIONS:
        return "the position is that of another write"
    if state.group.query != work.query:
        return "the newest batch is another query's"
    return f"batch {state.group.batch} is there, with {rows_in_words(setup, state.group.rows)}"


def _sends_positions(state: State, setup: Setup, work: Work) -> str:
    if setup.key == Key.NOTHING:
        return "has no position to send"
    if setup.key != Key.POSITIONS:
        return "sends the identity of the batch into the transaction"
    if setup.offsets_inside == 1:
        return "sends the source's positions into the transaction"
    missing = _missing(state, setup, work.range)
    return (
        "commits the source's positions outside of the transaction, "
        f"although {rows_in_words(setup, missing)} {_are(missing)} not in the output"
    )


def _ends(state: State, setup: Setup, transactional_id: int, epoch: int, commits: bool) -> str:
    """An end of a transaction, with what it holds."""
    transaction = state.transactions[transactional_id]
    what = f"{'commits' if commits else 'aborts'} the transaction {id_name(setup, transactional_id)}"
    if transaction.epoch != epoch:
        return f"{what}, and is told that another producer has the id"
    if not transaction.is_open:
        return f"{what}, which is not open any more"
    there, passed = _although_there(state, setup, transaction.rows), _passes_over(state, setup, transaction)
    although = there or passed if commits else ""
    return f"{what} with {rows_in_words(setup, transaction.rows)}{although}"


def _passes_over(state: State, setup: Setup, transaction: Transaction) -> str:
    """Which rows the transaction's positions pass that are neither in it nor in the output."""
    positions = Range()
    for p in range(PARTITIONS):
        if setup.reads < Reads.WRITES or p == transaction.sink:
            positions.past[p] = transaction.positions[place_of(setup, p)]
    passed = _missing(state, setup, positions, setup.starting_offset) & ~transaction.rows
    if not passed or setup.key != Key.POSITIONS:
        return ""
    return f", and positions behind {rows_in_words(setup, passed)}, which {_are(passed)} not in the output"


def _end(setup: Setup, work: Work) -> str:
    if work.delivery.state == DeliveryState.COMMITTING and setup.sink == Sink.TWO_PHASE:
        return "its rows are sent, and its transaction stays open"
    return DeliveryState(work.delivery.state).name.lower().replace("_", " ")


def _missing(state: State, setup: Setup, range_: Range, begins: int = 0) -> int:
    """The labels below the end of a range that are not in the output, although the plan has handed them on."""
    labels = 0
    for p in range(PARTITIONS):
        for offset in range(begins, range_.past[p]):
            if state.output[p * RECORDS + offset] == 0 and is_due(setup, offset, range_.past[p]):
                labels |= 1 << (p * RECORDS + offset)
    return labels


def _although_there(state: State, setup: Setup, rows: int) -> str:
    """Which of the rows are in the output already."""
    there = sum(1 << label for label in range(LABELS) if (rows >> label) & 1 and state.output[label] > 0)
    return f", although {rows_in_words(setup, there)} {_are(there)} in the output" if there else ""


def _are(labels: int) -> str:
    return "is" if labels.bit_count() == 1 else "are"


def _lost(kind: str) -> str:
    return ", and the answer is lost" if kind.endswith("_LOST") else ""


def id_name(setup: Setup, i: int) -> str:
    """Whose a transactional id is: the query's, a task's, an attempt's."""
    if setup.modes != Modes.ONE and i != claims.ID_OF_TASK:
        if i == claims.ID_OF_FIRST_CLAIM:
            return "of the group"
        return "of the query" if setup.modes == Modes.TWO else f"of driver {NAMES[i - claims.ID_OF_DRIVERS]}"
    if setup.modes != Modes.ONE:
        return "of task 0"
    if setup.sink == Sink.BATCH:
        return "of the group" if setup.reads >= Reads.QUERIES else "of the query"
    if setup.reads not in (Reads.PARTITIONS, Reads.KINDS):
        return f"of partition {i}"
    return f"of attempt {i}" if setup.sink == Sink.NAIVE else f"of task {i}"


_READ: Final = {Reads.PARTITIONS: "p", Reads.BRANCHES: "branch", Reads.LOADS: "load", Reads.WRITES: "write"}


def rows_in_words(setup: Setup, rows: int) -> str:
    """Labels in words: p0@1 is the row of offset 1 of partition 0; load0@1 that of the first of two loads."""
    read = "p" if setup.reads == Reads.KINDS else _READ.get(Reads(setup.reads), "query")
    named = [f"{read}{label // RECORDS}@{label % RECORDS}" for label in range(LABELS) if (rows >> label) & 1]
    return " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named) or "no rows"
