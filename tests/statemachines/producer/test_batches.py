"""What the answer to a batch leads to, for the producer and for the sequences of the partition (reference §5.6)."""

import pytest

from tests.statemachines.producer.stand import Stand
from zombieproof.model.rules import Rules, with_switches
from zombieproof.model.vocabulary import NONE, Error, ProducerEvent
from zombieproof.model.vocabulary import ProducerState as S
from zombieproof.statemachines.producer import batches
from zombieproof.statemachines.producer.effects import Fate
from zombieproof.statemachines.producer.records import Batch, BatchAnswer, Numbering

BEFORE_KIP_360 = with_switches(Rules(), off=["kip360"])
IDEMPOTENT = Batch(False, 7, 3, records=2)
TRANSACTIONAL = Batch(True, 7, 3, records=2)
GAP = Error.OUT_OF_ORDER_SEQUENCE_NUMBER


@pytest.fixture
def stand() -> Stand:
    """Sequences 3 and 4 are in flight, and the last ones; up to 2, at offset 12, all is acknowledged."""
    stand = Stand(S.IN_TRANSACTION)
    stand.numbering = Numbering(True, 7, 2, next_sequence=5, last_acked_sequence=2, last_acked_offset=12)
    return stand


def handle(stand: Stand, batch: Batch, answer: BatchAnswer, rules: Rules | None = None) -> None:
    known, rules = stand.numbering, rules or Rules()
    batches.handle_batch(stand.producer, known, batch, answer, rules, stand.effects, stand.notes)


@pytest.mark.parametrize("is_done", [False, True])
def test_a_batch_is_stored_even_if_it_was_given_up(is_done: bool, stand: Stand) -> None:
    handle(stand, TRANSACTIONAL._replace(is_done=is_done), BatchAnswer(Error.NONE, 20))
    assert stand.wanted() == {"fate": Fate.STORED, "base_offset": 20}
    assert (stand.numbering.last_acked_sequence, stand.numbering.last_acked_offset) == (4, 21)


def test_a_batch_that_was_there_already_is_stored_somewhere(stand: Stand) -> None:
    handle(stand, TRANSACTIONAL, BatchAnswer(Error.DUPLICATE_SEQUENCE_NUMBER, 20))
    assert stand.wanted() == {"fate": Fate.STORED}, "nobody knows at which offset"
    assert (stand.numbering.last_acked_sequence, stand.numbering.last_acked_offset) == (4, 12)


def test_what_is_acknowledged_late_takes_nothing_back(stand: Stand) -> None:
    handle(stand, TRANSACTIONAL._replace(base_sequence=0), BatchAnswer(Error.NONE, 2))
    assert (stand.numbering.last_acked_sequence, stand.numbering.last_acked_offset) == (2, 12)


def test_a_partition_that_was_forgotten_stays_forgotten(stand: Stand) -> None:
    stand.numbering = Numbering()
    handle(stand, TRANSACTIONAL, BatchAnswer(Error.NONE, 20))
    assert stand.numbering == Numbering()


def test_a_batch_fails_once(stand: Stand) -> None:
    handle(stand, TRANSACTIONAL._replace(is_done=True), BatchAnswer(Error.INVALID_TXN_STATE))
    assert (stand.wanted(), stand.state) == ({}, S.IN_TRANSACTION)


@pytest.mark.parametrize("batch", [IDEMPOTENT, TRANSACTIONAL], ids=["idempotent", "transactional"])
def test_a_batch_is_sent_again_while_it_may(batch: Batch, stand: Stand) -> None:
    handle(stand, batch, BatchAnswer(Error.NOT_LEADER_OR_FOLLOWER))
    assert stand.wanted() == {"fate": Fate.REPEATED}
    handle(stand, batch, BatchAnswer(Error.MESSAGE_TOO_LARGE))
    assert stand.wanted() == {"fate": Fate.SPLIT}


@pytest.mark.parametrize("limit", ["in_time", "has_attempts"])
def test_without_time_or_attempts_it_fails(limit: str, stand: Stand) -> None:
    batch = TRANSACTIONAL._replace(in_time=limit != "in_time", has_attempts=limit != "has_attempts")
    handle(stand, batch, BatchAnswer(Error.NOT_LEADER_OR_FOLLOWER))
    wanted = stand.wanted()
    assert (wanted["fate"], wanted["application_error"]) == (Fate.FAILED, Error.TRANSACTION_ABORTABLE)
    assert (stand.state, stand.producer.bump) == (S.ABORTABLE_ERROR, 1)
    known = limit == "in_time"
    assert wanted.get("shifts", 0) == (2 if known else 0), "attempts that are used up leave the outcome open"
    assert stand.numbering.next_sequence == (3 if known else 5)


@pytest.mark.parametrize("state", [S.COMMITTING_TRANSACTION, S.ABORTING_TRANSACTION])
def test_a_batch_that_fails_while_its_transaction_ends_wants_no_raised_epoch(state: S, stand: Stand) -> None:
    handle(stand.in_state(state), TRANSACTIONAL, BatchAnswer(Error.INVALID_TXN_STATE))
    assert not stand.producer.bump
    committing = state == S.COMMITTING_TRANSACTION
    assert stand.state == (S.ABORTABLE_ERROR if committing else state)
    assert stand.wanted().get("fails", 0) == committing


def test_a_fenced_producer_repairs_nothing(stand: Stand) -> None:
    handle(stand, TRANSACTIONAL, BatchAnswer(Error.PRODUCER_FENCED))
    assert stand.wanted() == {
        "fate": Fate.FAILED,
        "application_error": Error.PRODUCER_FENCED,
        "fails": 1,
        "gives_up": 1,
    }
    assert stand.numbering.next_sequence == 5


def test_a_gap_behind_a_batch_that_is_not_answered_is_not_the_fault_of_this_one(stand: Stand) -> None:
    handle(stand, TRANSACTIONAL._replace(base_sequence=5), BatchAnswer(GAP))
    assert stand.wanted() == {"fate": Fate.REPEATED}


def test_a_gap_raises_the_epoch_of_an_idempotent_producer(stand: Stand) -> None:
    handle(stand.in_state(S.READY), IDEMPOTENT, BatchAnswer(GAP))
    assert stand.wanted() == {"fate": Fate.REPEATED}
    assert stand.numbering.wants_bump


@pytest.mark.parametrize("error", [GAP, Error.UNKNOWN_PRODUCER_ID])
@pytest.mark.parametrize("named", [7, 6])
def test_before_kip_360_a_gap_ends_the_identity_that_it_is_about(error: Error, named: int, stand: Stand) -> None:
    stand.in_state(S.READY)
    handle(stand, IDEMPOTENT._replace(producer_id=named), BatchAnswer(error, log_start_offset=0), BEFORE_KIP_360)
    ended = named == 7
    wanted = stand.wanted()
    assert (wanted["fate"], wanted.get("forgets_sequences", 0)) == (Fate.FAILED, int(ended))
    assert stand.producer.producer_id == (NONE if ended else 7), "what was given up before concerns nobody"
    assert stand.moves() == ([(ProducerEvent.RESET, S.UNINITIALIZED)] if ended else [])


def test_a_leader_that_forgot_the_producer_makes_the_partition_begin_again(stand: Stand) -> None:
    handle(stand, TRANSACTIONAL, BatchAnswer(Error.UNKNOWN_PRODUCER_ID, log_start_offset=13))
    assert stand.wanted() == {"fate": Fate.REPEATED, "renumbers": 1}
    assert stand.numbering == Numbering(True, 7, 2, last_acked_offset=12)


def test_what_the_leader_should_know_fails_and_the_partition_is_forgotten(stand: Stand) -> None:
    handle(stand, TRANSACTIONAL, BatchAnswer(Error.UNKNOWN_PRODUCER_ID, log_start_offset=12))
    wanted = stand.wanted()
    assert (wanted["fate"], wanted["forgets_partition"]) == (Fate.FAILED, 1)
    assert stand.numbering == Numbering()
    assert stand.state == S.ABORTABLE_ERROR


def test_a_batch_that_is_given_up_leaves_its_partition_unresolved(stand: Stand) -> None:
    batches.expire_batch(stand.producer, stand.numbering, TRANSACTIONAL, Rules(), stand.effects, stand.notes)
    assert stand.wanted() == {"fate": Fate.FAILED, "application_error": Error.TRANSACTION_ABORTABLE, "fails": 1}
    assert (stand.numbering.unresolved, stand.numbering.next_sequence) == (5, 5)


def test_a_batch_that_never_left_leaves_nothing_open(stand: Stand) -> None:
    unsent = TRANSACTIONAL._replace(producer_id=NONE, base_sequence=NONE)
    batches.expire_batch(stand.producer, stand.numbering, unsent, Rules(), stand.effects, stand.notes)
    assert (stand.wanted()["fate"], stand.numbering.unresolved) == (Fate.FAILED, NONE)


@pytest.mark.parametrize(
    ("transactional", "in_flight", "last_acked", "rules", "state", "bumps"),
    [
        (True, 1, 2, Rules(), S.IN_TRANSACTION, (0, 0)),
        (True, 0, 4, Rules(), S.IN_TRANSACTION, (0, 0)),
        (True, 0, 2, Rules(), S.ABORTABLE_ERROR, (1, 0)),
        (True, 0, 2, BEFORE_KIP_360, S.FATAL_ERROR, (0, 0)),
        (False, 0, 2, Rules(), S.READY, (0, 1)),
        (False, 0, 2, BEFORE_KIP_360, S.UNINITIALIZED, (0, 0)),
    ],
)
def test_what_becomes_of_an_unresolved_partition(
    transactional: bool, in_flight: int, last_acked: int, rules: Rules, state: S, bumps: tuple[int, int], stand: Stand
) -> None:
    stand.in_state(S.IN_TRANSACTION if transactional else S.READY)
    stand.host = stand.host._replace(transactional=transactional)
    known = stand.numbering
    known.unresolved, known.last_acked_sequence = 5, last_acked
    batches.resolve(stand.producer, known, in_flight, stand.host, rules, stand.effects, stand.notes)
    assert stand.state == state
    assert (stand.producer.bump, known.wants_bump) == bumps
    assert known.unresolved == (5 if in_flight else NONE)


def test_nothing_is_resolved_at_the_end(stand: Stand) -> None:
    stand.in_state(S.FATAL_ERROR).numbering.unresolved = 5
    batches.resolve(stand.producer, stand.numbering, 0, stand.host, Rules(), stand.effects, stand.notes)
    assert (stand.wanted(), stand.numbering.unresolved) == ({}, 5)


@pytest.mark.parametrize(("transactional", "state"), [(True, S.ABORTABLE_ERROR), (False, S.IN_TRANSACTION)])
def test_a_record_that_is_refused_ends_the_transaction_if_there_is_one(
    transactional: bool, state: S, stand: Stand
) -> None:
    stand.host = stand.host._replace(transactional=transactional)
    error = Error.TOPIC_AUTHORIZATION_FAILED
    batches.refuse_record(stand.producer, error, stand.host, Rules(), stand.effects, stand.notes)
    assert (stand.state, stand.wanted()["application_error"]) == (state, error)


def forget(stand: Stand, rules: Rules) -> None:
    batches.forget_partition(stand.producer, stand.numbering, rules, stand.effects, stand.notes)


def test_a_partition_that_metadata_takes_away_is_begun_again_under_a_raised_epoch(stand: Stand) -> None:
    stand.in_state(S.READY)
    forget(stand, Rules())
    assert stand.wanted() == {"forgets_partition": 1, "forgets_sequences": 1, "restarts": 1}
    assert stand.numbering == Numbering()
    assert (stand.producer.producer_id, stand.producer.producer_epoch, stand.state) == (7, 3, S.READY)


def test_before_kip_360_another_producer_id_is_needed(stand: Stand) -> None:
    stand.in_state(S.READY)
    forget(stand, BEFORE_KIP_360)
    assert stand.wanted() == {"forgets_partition": 1, "forgets_sequences": 1}
    assert (stand.producer.producer_id, stand.state) == (NONE, S.UNINITIALIZED)


def test_without_the_rule_the_identity_stays(stand: Stand) -> None:
    stand.in_state(S.READY)
    forget(stand, with_switches(Rules(), off=["forgotten_partition_changes_identity"]))
    assert stand.wanted() == {"forgets_partition": 1}
    assert (stand.producer.producer_id, stand.producer.producer_epoch) == (7, 2)
