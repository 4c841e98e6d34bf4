"""What a sink promises, and what a scenario has to reach so that it tests that."""

from collections.abc import Callable
from typing import Final

from zombieproof.checker.engine.model import Kind, Promise
from zombieproof.checker.spark_sink.attempts import checkpoint_of
from zombieproof.checker.spark_sink.brokers import place_of
from zombieproof.checker.spark_sink.claims import mode_of
from zombieproof.checker.spark_sink.deliveries import is_due
from zombieproof.checker.spark_sink.state import (
    ATTEMPTS,
    DRIVERS,
    LABELS,
    PARTITIONS,
    RECORDS,
    Phase,
    Reads,
    Setup,
    State,
    Work,
)
from zombieproof.model.spark_sink.vocabulary import DeliveryState


def no_record_is_in_the_output_twice(state: State, setup: Setup) -> bool:
    """Every record of the source is in the committed output at most once."""
    for label in range(LABELS):
        if state.output[label] > 1:
            return False
    return True


def what_is_done_is_in_the_output(state: State, setup: Setup) -> bool:
    """Every record up to the end of Spark's commit log is in the committed output, also those before its beginning."""
    # Only those from `starting_offset` on, and all that a batch query has read.
    if setup.reads == Reads.KINDS and state.checkpoints[1].done == 1:
        for offset in range(state.checkpoints[1].range.first[0], state.checkpoints[1].range.past[0]):
            if state.output[offset] == 0:
                return False
    for p in range(PARTITIONS):
        checkpoint = state.checkpoints[checkpoint_of(setup, p)]
        done = checkpoint.range.past[p] if checkpoint.done == checkpoint.planned else checkpoint.range.first[p]
        for offset in range(setup.starting_offset, done if checkpoint.topic == state.topic else 0):
            if state.output[p * RECORDS + offset] == 0 and is_due(setup, offset, int(done)):
                return False
    return True


def what_the_group_has_passed_is_in_the_output(state: State, setup: Setup) -> bool:
    """Every record below a position that the group has committed is in the output of the write that committed it."""
    for p in range(PARTITIONS):
        position = state.group.positions[place_of(setup, p)]
        if setup.reads >= Reads.WRITES and p != state.group.sink:
            position = 0
        if state.group.topic != state.topic:
            position = 0
        for offset in range(setup.starting_offset, position):
            if state.output[p * RECORDS + offset] == 0 and is_due(setup, offset, int(position)):
                return False
    return True


def a_batch_is_all_or_nothing(state: State, setup: Setup) -> bool:
    """Of a batch either all records are in the committed output or none."""
    checkpoint = state.checkpoints[0]
    some = False
    every = True
    for p in range(PARTITIONS):
        for offset in range(checkpoint.range.first[p], checkpoint.range.past[p]):
            is_there = state.output[p * RECORDS + offset] > 0
            some = some or is_there
            every = every and is_there
    return every or not some


def no_machine_leaves_its_table(state: State, setup: Setup) -> bool:
    """No machine makes a move that its table does not have."""
    return not state.illegal


def every_record_is_delivered(state: State, setup: Setup) -> bool:
    """A query has come to the end of the source, and every record that it has read is in the output once."""
    if setup.reads == Reads.QUERIES:
        return _is_read_and_written(state, setup, 0) or _is_read_and_written(state, setup, 1)
    for p in range(setup.partitions):
        if not _is_read_and_written(state, setup, p):
            return False
    return True


def _is_read_and_written(state: State, setup: Setup, p: int) -> bool:
    checkpoint = state.checkpoints[checkpoint_of(setup, p)]
    if checkpoint.done == 0 or checkpoint.done != checkpoint.planned or checkpoint.range.past[p] != setup.records:
        return False
    for offset in range(setup.starting_offset, setup.records):
        if state.output[p * RECORDS + offset] != 1:
            return False
    return True


def every_record_is_in_the_output_once(state: State, setup: Setup) -> bool:
    """At rest, each record is in the output once, except those of a query that was refused before it read rows."""
    for p in range(setup.partitions):
        is_read = True
        for d in range(DRIVERS):
            if checkpoint_of(setup, d) == checkpoint_of(setup, p) and state.drivers[d].phase == Phase.REFUSED:
                is_read = False
        for offset in range(setup.starting_offset, setup.records):
            if is_read and state.output[p * RECORDS + offset] != 1:
                return False
    return True


def _is_any(state: State, wanted: int) -> bool:
    for d in range(DRIVERS):
        if state.drivers[d].work.delivery.state == wanted:
            return True
    for a in range(ATTEMPTS):
        if state.attempts[a].work.delivery.state == wanted:
            return True
    return False


def a_delivery_finds_its_rows_delivered(state: State, setup: Setup) -> bool:
    """A delivery has found that an earlier one had committed all of its rows."""
    return _is_any(state, int(DeliveryState.FOUND_DELIVERED))


def a_zombie_is_fenced(state: State, setup: Setup) -> bool:
    """A delivery has been told that another producer has its transactional id."""
    return _is_any(state, int(DeliveryState.FENCED))


def a_delivery_is_refused(state: State, setup: Setup) -> bool:
    """A delivery has ended because its batch cannot be compared with what is committed."""
    return _is_any(state, int(DeliveryState.REFUSED))


def a_query_is_refused_at_the_start(state: State, setup: Setup) -> bool:
    """A query has ended before it read rows: its plan, group, topic or first offset does not suit the sink."""
    for d in range(DRIVERS):
        if state.drivers[d].phase == Phase.REFUSED:
            return True
    return False


def a_batch_is_written_that_an_older_checkpoint_repeats(state: State, setup: Setup) -> bool:
    """The next batch of a checkpoint that was replaced by an older copy has a number that is committed already."""
    gone_back = state.budget.old_checkpoints < setup.budget.old_checkpoints
    return gone_back and state.checkpoints[0].planned < state.group.batch


def an_abort_finds_its_rows_delivered(state: State, setup: Setup) -> bool:
    """Spark has called `abort` for a batch whose commit had taken effect, and the sink has found that out."""
    for d in range(DRIVERS):
        work = state.drivers[d].work
        if work.delivery.purpose == 1 and work.delivery.state == DeliveryState.FOUND_DELIVERED:
            return True
    return False


def a_decided_batch_is_finished_by_the_next_driver(state: State, setup: Setup) -> bool:
    """A driver ends the transactions of a batch that an earlier driver had decided."""
    for d in range(DRIVERS):
        driver = state.drivers[d]
        if driver.phase == Phase.COMMITTING and driver.reported == 0 and state.decided.batch == driver.batch:
            return True
    return False


def a_new_query_goes_on_where_the_lost_one_was(state: State, setup: Setup) -> bool:
    """A query without a checkpoint has planned a batch that begins at the position of the group."""
    checkpoint = state.checkpoints[0]
    begins = checkpoint.range.first[0] > 0 or checkpoint.range.first[1] > 0
    return checkpoint.query > 1 and checkpoint.planned == 1 and begins


def a_mode_takes_over_from_the_other(state: State, setup: Setup) -> bool:
    """A delivery claims a group that the other mode of the query has claimed, and holds its transactional id."""
    for d in range(DRIVERS):
        if _takes_over(state.drivers[d].work):
            return True
    for a in range(ATTEMPTS):
        if _takes_over(state.attempts[a].work):
            return True
    return False


def _takes_over(work: Work) -> bool:
    return bool(work.holder_epoch > 0 and work.seen_mode not in (0, mode_of(work)))


def a_batch_is_found_by_the_progress_topic(state: State, setup: Setup) -> bool:
    """A delivery has found its rows delivered, although the group has lost its positions."""
    is_lost = state.group.expired > 0
    return is_lost and _is_any(state, int(DeliveryState.FOUND_DELIVERED))


_SOURCE: Final = "spark-facts.md, A; KIP-447"


def _promise(kind: Kind, holds: Callable[[State, Setup], bool]) -> Promise:
    return Promise(holds.__name__, kind, holds, (holds.__doc__ or "").strip(), _SOURCE)


PROMISES: Final = (
    _promise("always", no_record_is_in_the_output_twice),
    _promise("always", what_is_done_is_in_the_output),
    _promise("always", what_the_group_has_passed_is_in_the_output),
    _promise("always", a_batch_is_all_or_nothing),
    _promise("always", no_machine_leaves_its_table),
    _promise("at_rest", every_record_is_in_the_output_once),
    _promise("sometimes", every_record_is_delivered),
    _promise("sometimes", a_delivery_finds_its_rows_delivered),
    _promise("sometimes", a_zombie_is_fenced),
    _promise("sometimes", a_delivery_is_refused),
    _promise("sometimes", a_query_is_refused_at_the_start),
    _promise("sometimes", a_batch_is_written_that_an_older_checkpoint_repeats),
    _promise("sometimes", an_abort_finds_its_rows_delivered),
    _promise("sometimes", a_decided_batch_is_finished_by_the_next_driver),
    _promise("sometimes", a_new_query_goes_on_where_the_lost_one_was),
    _promise("sometimes", a_batch_is_found_by_the_progress_topic),
    _promise("sometimes", a_mode_takes_over_from_the_other),
)
