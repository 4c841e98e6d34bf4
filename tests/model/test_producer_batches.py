"""What an answer to Produce means for a batch, and what may be sent: reference §5.3, §5.6."""

import pytest

from zombieproof.model.decisions.producer_batches import (
    BatchStanding,
    DrainStanding,
    advance,
    can_raise_locally,
    may_be_sent,
    react_to_batch,
    repair_after_failure,
    resolve_sequences,
)
from zombieproof.model.decisions.producer_client import react_to_produce
from zombieproof.model.rules import Rules, preset, with_switches
from zombieproof.model.vocabulary import NONE, PRODUCER_EPOCH_MAX, SEQUENCE_MAX, Error, Reaction, SequenceRepair

BEFORE_KIP_360 = with_switches(Rules(), off=["kip360"])
IDEMPOTENT, TRANSACTIONAL = BatchStanding(transactional=False), BatchStanding(transactional=True)


@pytest.mark.parametrize("error", list(Error), ids=lambda error: error.name)
@pytest.mark.parametrize("batch", [IDEMPOTENT, TRANSACTIONAL], ids=["idempotent", "transactional"])
def test_with_nothing_special_about_it_a_batch_is_judged_by_its_error_alone(error: Error, batch: BatchStanding) -> None:
    if error == Error.UNKNOWN_PRODUCER_ID:
        return  # it is never judged by itself
    assert react_to_batch(error, 0, batch, Rules()) == react_to_produce(error, batch.transactional, True, Rules())


@pytest.mark.parametrize(("records", "reaction"), [(1, Reaction.FAIL_BATCH), (2, Reaction.SPLIT_BATCH)])
def test_a_batch_that_is_too_large_is_split_if_it_can_be(records: int, reaction: Reaction) -> None:
    batch = IDEMPOTENT._replace(records=records, may_retry=False)
    assert react_to_batch(Error.MESSAGE_TOO_LARGE, 0, batch, Rules()) == reaction


@pytest.mark.parametrize(
    ("error", "transactional", "rules", "reaction"),
    [
        (Error.NONE, True, Rules(), Reaction.DONE),
        (Error.DUPLICATE_SEQUENCE_NUMBER, True, Rules(), Reaction.DONE),
        (Error.NOT_LEADER_OR_FOLLOWER, True, Rules(), Reaction.ABORTABLE_AND_BUMP),
        (Error.REQUEST_TIMED_OUT, True, BEFORE_KIP_360, Reaction.ABORTABLE),
        (Error.NOT_LEADER_OR_FOLLOWER, False, Rules(), Reaction.FAIL_BATCH),
        (Error.OUT_OF_ORDER_SEQUENCE_NUMBER, False, Rules(), Reaction.FAIL_BATCH),
        (Error.UNKNOWN_PRODUCER_ID, False, Rules(), Reaction.FAIL_BATCH),
        (Error.OUT_OF_ORDER_SEQUENCE_NUMBER, False, BEFORE_KIP_360, Reaction.FORGET_PRODUCER_ID),
        (Error.UNKNOWN_PRODUCER_ID, True, Rules(), Reaction.ABORTABLE_AND_BUMP),
        (Error.PRODUCER_FENCED, False, Rules(), Reaction.FATAL),
    ],
)
def test_a_batch_without_time_or_attempts_fails(
    error: Error, transactional: bool, rules: Rules, reaction: Reaction
) -> None:
    batch = BatchStanding(transactional=transactional, may_retry=False, is_next=False, has_been_renumbered=True)
    assert Reaction(react_to_batch(error, NONE, batch, rules)) == reaction


@pytest.mark.parametrize(
    ("log_start_offset", "batch", "rules", "reaction"),
    [
        (NONE, TRANSACTIONAL, Rules(), Reaction.RETRY),
        (NONE, IDEMPOTENT, Rules(), Reaction.RETRY),
        (10, TRANSACTIONAL._replace(has_been_renumbered=True), Rules(), Reaction.RETRY),
        (10, IDEMPOTENT._replace(has_been_renumbered=True), Rules(), Reaction.RETRY),
        (10, TRANSACTIONAL._replace(last_acked_offset=9), Rules(), Reaction.RENUMBER_AND_RETRY),
        (10, TRANSACTIONAL._replace(last_acked_offset=10), Rules(), Reaction.ABORTABLE_AND_BUMP),
        (10, TRANSACTIONAL._replace(last_acked_offset=10), BEFORE_KIP_360, Reaction.ABORTABLE),
        (10, IDEMPOTENT._replace(last_acked_offset=9), Rules(), Reaction.BUMP_LOCALLY),
        (10, IDEMPOTENT._replace(last_acked_offset=10), Rules(), Reaction.BUMP_LOCALLY),
        (10, IDEMPOTENT._replace(last_acked_offset=9), BEFORE_KIP_360, Reaction.RENUMBER_AND_RETRY),
        (10, IDEMPOTENT._replace(last_acked_offset=10), BEFORE_KIP_360, Reaction.FORGET_PRODUCER_ID),
    ],
)
def test_a_leader_that_forgot_the_producer(
    log_start_offset: int, batch: BatchStanding, rules: Rules, reaction: Reaction
) -> None:
    assert Reaction(react_to_batch(Error.UNKNOWN_PRODUCER_ID, log_start_offset, batch, rules)) == reaction


@pytest.mark.parametrize(
    ("batch", "transactional", "idempotent"),
    [
        (BatchStanding(is_next=False), Reaction.RETRY, Reaction.RETRY),
        (BatchStanding(has_been_renumbered=True), Reaction.RETRY, Reaction.RETRY),
        (BatchStanding(), Reaction.ABORTABLE_AND_BUMP, Reaction.BUMP_LOCALLY),
        (BatchStanding(is_next=False, partition_is_unresolved=True), Reaction.ABORTABLE_AND_BUMP, Reaction.RETRY),
        (
            BatchStanding(is_next=False, partition_is_unresolved=True, follows_unresolved=True),
            Reaction.ABORTABLE_AND_BUMP,
            Reaction.BUMP_LOCALLY,
        ),
        (
            BatchStanding(has_been_renumbered=True, partition_is_unresolved=True),
            Reaction.ABORTABLE_AND_BUMP,
            Reaction.RETRY,
        ),
    ],
)
def test_a_gap_before_the_batch(batch: BatchStanding, transactional: Reaction, idempotent: Reaction) -> None:
    gap = Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert Reaction(react_to_batch(gap, 0, batch._replace(transactional=True), Rules())) == transactional
    assert Reaction(react_to_batch(gap, 0, batch._replace(transactional=False), Rules())) == idempotent


def test_before_kip_360_a_gap_ends_the_identity_of_an_idempotent_producer() -> None:
    gap = Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert react_to_batch(gap, 0, IDEMPOTENT, BEFORE_KIP_360) == Reaction.FORGET_PRODUCER_ID


@pytest.mark.parametrize(
    ("error", "transactional", "known", "rules", "repair"),
    [
        (Error.INVALID_RECORD, True, True, Rules(), SequenceRepair.SHIFT_LATER_BATCHES),
        (Error.INVALID_RECORD, True, False, Rules(), SequenceRepair.KEEP),
        (Error.INVALID_RECORD, False, True, Rules(), SequenceRepair.BUMP_LOCALLY),
        (Error.INVALID_RECORD, False, False, Rules(), SequenceRepair.KEEP),
        (Error.INVALID_RECORD, False, True, BEFORE_KIP_360, SequenceRepair.SHIFT_LATER_BATCHES),
        (Error.INVALID_RECORD, False, False, BEFORE_KIP_360, SequenceRepair.KEEP),
        (Error.OUT_OF_ORDER_SEQUENCE_NUMBER, True, True, Rules(), SequenceRepair.SHIFT_LATER_BATCHES),
        (Error.OUT_OF_ORDER_SEQUENCE_NUMBER, False, False, Rules(), SequenceRepair.BUMP_LOCALLY),
        (Error.OUT_OF_ORDER_SEQUENCE_NUMBER, False, False, BEFORE_KIP_360, SequenceRepair.FORGET_PRODUCER_ID),
        (Error.UNKNOWN_PRODUCER_ID, True, True, Rules(), SequenceRepair.FORGET_PARTITION),
        (Error.UNKNOWN_PRODUCER_ID, False, True, Rules(), SequenceRepair.FORGET_PARTITION),
        (Error.UNKNOWN_PRODUCER_ID, True, True, BEFORE_KIP_360, SequenceRepair.FORGET_PARTITION),
        (Error.UNKNOWN_PRODUCER_ID, False, True, BEFORE_KIP_360, SequenceRepair.FORGET_PRODUCER_ID),
    ],
)
def test_what_a_failed_batch_leaves_behind(
    error: Error, transactional: bool, known: bool, rules: Rules, repair: SequenceRepair
) -> None:
    assert SequenceRepair(repair_after_failure(error, transactional, known, rules)) == repair


@pytest.mark.parametrize(
    ("in_flight", "is_next", "transactional", "rules", "reaction"),
    [
        (1, True, False, Rules(), Reaction.RETRY),
        (0, True, False, Rules(), Reaction.DONE),
        (0, True, True, Rules(), Reaction.DONE),
        (0, False, False, Rules(), Reaction.BUMP_LOCALLY),
        (0, False, False, BEFORE_KIP_360, Reaction.FORGET_PRODUCER_ID),
        (0, False, True, Rules(), Reaction.ABORTABLE_AND_BUMP),
        (0, False, True, preset("kip98"), Reaction.FATAL),
    ],
)
def test_a_partition_that_gave_a_batch_up_is_resolved_when_nothing_is_in_flight(
    in_flight: int, is_next: bool, transactional: bool, rules: Rules, reaction: Reaction
) -> None:
    assert Reaction(resolve_sequences(in_flight, is_next, transactional, rules)) == reaction


READY = DrainStanding()


@pytest.mark.parametrize(
    ("standing", "leaves"),
    [
        (READY, True),
        (READY._replace(joined=False), False),
        (READY._replace(has_producer_id=False), False),
        (READY._replace(is_unresolved=True), False),
        (READY._replace(in_flight=4), True),
        (READY._replace(is_stale=True), True),
        (READY._replace(in_flight=1, is_stale=True), False),
        (READY._replace(has_sequence=True, in_flight=2, is_lowest_in_flight=True), True),
        (READY._replace(has_sequence=True, in_flight=2), False),
        (READY._replace(has_sequence=True), True),
        (
            READY._replace(has_sequence=True, in_flight=1, is_lowest_in_flight=True, is_stale=True, is_unresolved=True),
            True,
        ),
        (READY._replace(has_sequence=True, joined=False), False),
    ],
)
def test_which_batch_may_leave(standing: DrainStanding, leaves: bool) -> None:
    assert may_be_sent(standing) is leaves


@pytest.mark.parametrize(
    ("sequence", "records", "after"),
    [(0, 1, 1), (SEQUENCE_MAX - 1, 1, SEQUENCE_MAX), (SEQUENCE_MAX, 1, 0), (SEQUENCE_MAX - 1, 3, 1), (5, 0, 5)],
)
def test_behind_the_largest_sequence_comes_0(sequence: int, records: int, after: int) -> None:
    assert advance(sequence, records, Rules()) == after


def test_an_epoch_can_be_raised_until_it_is_used_up() -> None:
    assert can_raise_locally(PRODUCER_EPOCH_MAX - 1, Rules())
    assert not can_raise_locally(PRODUCER_EPOCH_MAX, Rules())
