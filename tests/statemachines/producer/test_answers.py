"""What the answer of a coordinator leads to (reference §5.3, §5.5, §5.7)."""

import pytest

from tests.statemachines.producer.stand import Stand
from zombieproof.model.rules import Rules, preset
from zombieproof.model.vocabulary import NONE, ApiKey, Error
from zombieproof.model.vocabulary import ProducerEvent as E
from zombieproof.model.vocabulary import ProducerState as S
from zombieproof.statemachines.producer import answers
from zombieproof.statemachines.producer.effects import Joins, Settlement
from zombieproof.statemachines.producer.records import Answer, Request

APT, TOC, END = ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.TXN_OFFSET_COMMIT, ApiKey.END_TXN
INIT = Request(ApiKey.INIT_PRODUCER_ID, 1)
RAISE = Request(ApiKey.INIT_PRODUCER_ID, 1, raises_epoch=True)


def handle(stand: Stand, request: Request, answer: Answer, still_open: int = 0, rules: Rules | None = None) -> None:
    rules = rules or Rules()
    answers.handle(stand.producer, request, answer, still_open, stand.host, rules, stand.effects, stand.notes)


@pytest.mark.parametrize(
    ("api", "errors", "comes_to"),
    [
        (APT, [], Error.NONE),
        (APT, [0, 0], Error.NONE),
        (APT, [0, 55, 0], Error.OPERATION_NOT_ATTEMPTED),
        (APT, [55, 29], Error.TOPIC_AUTHORIZATION_FAILED),
        (APT, [29, 55], Error.TOPIC_AUTHORIZATION_FAILED),
        (APT, [29, 90], Error.PRODUCER_FENCED),
        (APT, [55, 47, 90], Error.INVALID_PRODUCER_EPOCH),
        (APT, [0, 51, 29], Error.CONCURRENT_TRANSACTIONS),
        (APT, [29, 120], Error.TRANSACTION_ABORTABLE),
        (TOC, [0, 0], Error.NONE),
        (TOC, [14, 0], Error.COORDINATOR_LOAD_IN_PROGRESS),
        (TOC, [14, 16], Error.NOT_COORDINATOR),
        (TOC, [16, 14], Error.NOT_COORDINATOR),
        (TOC, [16, 25, 14], Error.UNKNOWN_MEMBER_ID),
        (TOC, [25, 90], Error.UNKNOWN_MEMBER_ID),
    ],
)
def test_what_the_errors_of_many_partitions_come_to(api: ApiKey, errors: list[int], comes_to: Error) -> None:
    total = 0
    for error in errors:
        total = answers.weigh(api, total, error, Rules())
    assert Error(total) == comes_to


@pytest.mark.parametrize("api", [INIT.api, APT, ApiKey.ADD_OFFSETS_TO_TXN, TOC, END])
def test_a_moved_coordinator_is_looked_up_and_asked_again(api: int, stand: Stand) -> None:
    handle(stand, Request(api, 1), Answer(Error.NOT_COORDINATOR))
    assert stand.wanted() == {"looks_up": 1, "repeats": 1, "wait_ms": 100}


def test_any_broker_is_asked_again_without_looking_it_up(stand: Stand) -> None:
    handle(stand, INIT._replace(to_coordinator=False), Answer(Error.NOT_COORDINATOR))
    assert stand.wanted() == {"repeats": 1, "wait_ms": 100}
    answers.lose(INIT._replace(to_coordinator=False), stand.host, stand.effects)
    assert stand.wanted() == {"repeats": 1, "wait_ms": 100}
    answers.lose(INIT, stand.host, stand.effects)
    assert stand.wanted() == {"looks_up": 1, "repeats": 1, "wait_ms": 100}


@pytest.mark.parametrize(("joined", "wait_ms"), [(0, 20), (1, 100)])
def test_the_first_partition_of_a_transaction_waits_shortly(joined: int, wait_ms: int, stand: Stand) -> None:
    stand.in_state(S.IN_TRANSACTION).host = stand.host._replace(joined=joined)
    handle(stand, Request(APT, 1), Answer(Error.CONCURRENT_TRANSACTIONS))
    assert stand.wanted() == {"repeats": 1, "wait_ms": wait_ms}


def test_partitions_join_and_the_transaction_has_to_be_ended(stand: Stand) -> None:
    handle(stand.in_state(S.IN_TRANSACTION), Request(APT, 1), Answer(Error.NONE))
    assert stand.wanted() == {"joins": Joins.JOIN, "settles": Settlement.SUCCEEDS}
    assert stand.producer.started


@pytest.mark.parametrize(
    ("error", "joins"),
    [(Error.OPERATION_NOT_ATTEMPTED, Joins.ARE_REFUSED), (Error.TRANSACTION_ABORTABLE, Joins.NOTHING)],
)
def test_partitions_that_are_refused_together_are_no_longer_pending(error: Error, joins: int, stand: Stand) -> None:
    handle(stand.in_state(S.IN_TRANSACTION), Request(APT, 1), Answer(error))
    wanted = stand.wanted()
    assert wanted.get("joins", Joins.NOTHING) == joins
    assert (wanted["settles"], wanted["fails"], stand.state) == (Settlement.FAILS, 1, S.ABORTABLE_ERROR)
    assert not stand.producer.started


def test_behind_added_offsets_they_are_committed(stand: Stand) -> None:
    handle(stand.in_state(S.IN_TRANSACTION), Request(ApiKey.ADD_OFFSETS_TO_TXN, 1), Answer(Error.NONE))
    assert stand.wanted() == {"sends": TOC, "transaction_version": 1}
    assert stand.producer.started


def test_offsets_that_are_not_known_to_be_stored_are_sent_again(stand: Stand) -> None:
    stand.in_state(S.IN_TRANSACTION)
    handle(stand, Request(TOC, 1), Answer(Error.NONE), still_open=1)
    assert stand.wanted() == {"repeats": 1, "wait_ms": 100}
    handle(stand, Request(TOC, 1), Answer(Error.REQUEST_TIMED_OUT), still_open=1)
    assert stand.wanted() == {"looks_up": 1, "repeats": 1, "wait_ms": 100}
    handle(stand, Request(TOC, 1), Answer(Error.NONE))
    assert stand.wanted() == {"settles": Settlement.SUCCEEDS}


def test_an_identity_is_granted(stand: Stand) -> None:
    stand.in_state(S.INITIALIZING).host = stand.host._replace(cluster_version=2)
    handle(stand, INIT, Answer(Error.NONE, 9, 4))
    assert stand.wanted() == {"adopts": 1, "settles": Settlement.SUCCEEDS}
    producer = stand.producer
    assert (producer.producer_id, producer.producer_epoch, producer.transaction_version) == (9, 4, 2)
    assert stand.moves() == [(E.INITIALIZED, S.READY)]


@pytest.mark.parametrize(
    ("keep", "ongoing", "event"), [(True, 9, E.PREPARE), (False, 9, E.INITIALIZED), (True, -1, E.INITIALIZED)]
)
def test_a_prepared_transaction_is_kept_if_it_was_asked_for(keep: bool, ongoing: int, event: E, stand: Stand) -> None:
    stand.in_state(S.INITIALIZING)
    handle(stand, INIT._replace(keep_prepared=keep), Answer(Error.NONE, 9, 4, ongoing, 3))
    assert [moved for moved, _ in stand.moves()] == [event]
    kept = event == E.PREPARE
    producer = stand.producer
    assert (producer.prepared_id, producer.prepared_epoch) == ((9, 3) if kept else (NONE, NONE))
    assert producer.started == kept, "it has to be ended"


def test_a_refused_initialisation_may_start_over(stand: Stand) -> None:
    handle(stand.in_state(S.INITIALIZING), INIT, Answer(Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))
    assert stand.wanted() == {"fails": 1, "settles": Settlement.FAILS, "starts_over": 1}
    assert stand.state == S.ABORTABLE_ERROR


@pytest.mark.parametrize(("version", "producer_id"), [(1, NONE), (2, 7)])
def test_an_end_ends_the_transaction(version: int, producer_id: int) -> None:
    stand = Stand(S.COMMITTING_TRANSACTION, version)
    producer = stand.producer
    producer.started, producer.prepared_id, producer.prepared_epoch = True, 7, 2
    handle(stand, Request(END, version, committed=True), Answer(Error.NONE, producer_id, 3 if version == 2 else NONE))
    new = {"adopts": 1, "forgets_sequences": 1} if version == 2 else {}
    assert stand.wanted() == {"ends": 1, "settles": Settlement.SUCCEEDS, **new}
    assert producer.producer_epoch == (3 if version == 2 else 2)
    assert (producer.started, producer.prepared_id, producer.prepared_epoch) == (0, NONE, NONE)
    assert stand.moves() == [(E.END_ACKNOWLEDGED, S.READY)]


@pytest.mark.parametrize("queued", [False, True])
def test_a_raised_epoch_follows_the_end(queued: bool, stand: Stand) -> None:
    """It waits behind EndTxn already, or is asked for now if a failure came while EndTxn was under way."""
    producer = stand.in_state(S.ABORTING_TRANSACTION).producer
    producer.bump, producer.raises = True, queued
    handle(stand, Request(END, 1), Answer(Error.NONE))
    follows = {"settles": Settlement.SUCCEEDS} if queued else {"sends_init": 1, "raises_epoch": 1}
    assert stand.wanted() == {"ends": 1, **follows}
    assert stand.moves() == [(E.BUMP_EPOCH, S.INITIALIZING)]
    assert (producer.bump, producer.raises) == (0, 1)
    handle(stand, RAISE, Answer(Error.NONE, 7, 3))
    assert stand.wanted() == {"adopts": 1, "forgets_sequences": 1, "settles": Settlement.SUCCEEDS}
    assert (stand.state, producer.raises, producer.producer_epoch) == (S.READY, 0, 3)


def test_until_3_9_an_abort_that_is_refused_succeeds_with_the_new_identity(stand: Stand) -> None:
    """What had joined counts as joined still, and the next end raises the epoch once more."""
    producer, old = stand.in_state(S.ABORTING_TRANSACTION).producer, preset("3.9")
    producer.started = producer.bump = producer.raises = True
    handle(stand, Request(END, 1), Answer(Error.INVALID_PRODUCER_ID_MAPPING), rules=old)
    assert stand.wanted() == {"settles": Settlement.FAILS}
    assert (stand.state, producer.raises) == (S.ABORTING_TRANSACTION, 1)
    handle(stand, RAISE, Answer(Error.NONE, 9, 0), rules=old)
    wanted = stand.wanted()
    assert "ends" not in wanted
    assert stand.moves() == [(E.INITIALIZED, S.READY)]
    assert (producer.started, producer.bump, producer.raises) == (1, 1, 0)


def test_version_2_is_not_learned_where_an_epoch_is_raised(stand: Stand) -> None:
    stand.in_state(S.INITIALIZING).host = stand.host._replace(cluster_version=2)
    handle(stand, RAISE, Answer(Error.NONE, 7, 3))
    assert stand.producer.transaction_version == 1


def test_an_answer_in_a_state_that_does_not_wait_for_it_poisons(stand: Stand) -> None:
    handle(stand, Request(END, 1), Answer(Error.NONE))
    assert stand.wanted() == {"illegal": E.END_ACKNOWLEDGED, "gives_up": 1}
    assert stand.state == S.FATAL_ERROR


def test_at_its_end_a_producer_adopts_nothing_and_its_calls_are_settled(stand: Stand) -> None:
    stand.in_state(S.FATAL_ERROR)
    handle(stand, Request(TOC, 1), Answer(Error.NONE))
    assert stand.wanted() == {"settles": Settlement.SUCCEEDS}
    handle(stand, Request(TOC, 1), Answer(Error.ILLEGAL_GENERATION))
    assert stand.wanted() == {"settles": Settlement.FAILS, "gives_up": 1}
    assert stand.moves() == []


def test_a_version_that_the_broker_does_not_have_is_the_end(stand: Stand) -> None:
    answers.refuse_version(stand.in_state(S.IN_TRANSACTION).producer, Request(TOC, 2), stand.effects, stand.notes)
    assert stand.wanted() == {"unsupported": 1, "settles": Settlement.FAILS, "fails": 1, "gives_up": 1}
