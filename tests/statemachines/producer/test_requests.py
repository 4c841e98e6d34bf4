"""Which request leaves next, and what is settled before (reference §5.3, §5.4, §5.6)."""

import pytest

from tests.statemachines.producer.stand import Stand
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, PRODUCER_EPOCH_MAX, ApiKey, ProducerEvent
from zombieproof.model.vocabulary import ProducerState as S
from zombieproof.statemachines.producer import requests
from zombieproof.statemachines.producer.effects import Settlement, Turn
from zombieproof.statemachines.producer.records import Destination, Request

FIND = Request(ApiKey.FIND_COORDINATOR, 1, to_coordinator=False)
END = Request(ApiKey.END_TXN, 1)
RAISE = Request(ApiKey.INIT_PRODUCER_ID, 1, raises_epoch=True)
ADD = Request(ApiKey.ADD_PARTITIONS_TO_TXN, 1)
THERE = Destination(is_known=True, is_ready=True, newest=5, newest_init=6, coordinates_transactions=True)


def turn(stand: Stand, request: Request, incomplete: bool = False, early: bool = False) -> Turn:
    requests.take_turn(stand.producer, request, incomplete, early, stand.effects, stand.notes)
    return Turn(stand.effects.turn)


def settle(stand: Stand, starts_over: bool = False, wants_bump: bool = False) -> None:
    producer, effects, notes = stand.producer, stand.effects, stand.notes
    requests.settle(producer, starts_over, wants_bump, stand.host, Rules(), effects, notes)


def test_the_order_in_which_requests_leave() -> None:
    init = Request(ApiKey.INIT_PRODUCER_ID)
    assert sorted([RAISE, END, ADD, init, FIND], key=requests.rank) == [FIND, init, ADD, END, RAISE]


@pytest.mark.parametrize(
    ("incomplete", "early", "waits"), [(False, False, False), (True, False, True), (False, True, True)]
)
def test_an_end_waits_for_batches_and_for_its_time(incomplete: bool, early: bool, waits: bool, stand: Stand) -> None:
    stand.in_state(S.COMMITTING_TRANSACTION).producer.started = True
    assert turn(stand, END, incomplete, early) == (Turn.WAITS if waits else Turn.LEAVES)
    assert turn(stand, ADD, incomplete, early) == (Turn.WAITS if early else Turn.LEAVES), "others wait for time alone"


@pytest.mark.parametrize(
    ("state", "request_", "goes"),
    [
        (S.ABORTABLE_ERROR, ADD, Turn.FAILS_UNSENT),
        (S.ABORTABLE_ERROR, RAISE, Turn.FAILS_UNSENT),
        (S.ABORTABLE_ERROR, FIND, Turn.LEAVES),
        (S.FATAL_ERROR, FIND, Turn.FAILS_UNSENT),
        (S.ABORTING_TRANSACTION, RAISE, Turn.LEAVES),
    ],
)
def test_after_an_error_requests_fail_unsent(state: S, request_: Request, goes: Turn, stand: Stand) -> None:
    stand.in_state(state).producer.raises = True
    assert turn(stand, request_) == goes
    dropped = goes == Turn.FAILS_UNSENT and request_ == RAISE
    assert stand.producer.raises == (0 if dropped else 1)


def test_an_end_of_nothing_is_not_sent(stand: Stand) -> None:
    assert turn(stand.in_state(S.COMMITTING_TRANSACTION), END) == Turn.IS_SKIPPED
    assert stand.wanted() == {"turn": Turn.IS_SKIPPED, "ends": 1, "settles": Settlement.SUCCEEDS}
    assert stand.state == S.READY


@pytest.mark.parametrize(("known", "ready", "wait_ms"), [(False, False, 0), (True, False, 100)])
def test_a_coordinator_that_is_not_there_is_looked_up(known: bool, ready: bool, wait_ms: int, stand: Stand) -> None:
    there = THERE._replace(is_known=known, is_ready=ready)
    requests.address(stand.producer, ADD, there, stand.host, stand.effects, stand.notes)
    waits = {"wait_ms": wait_ms} if wait_ms else {}
    assert stand.wanted() == {"looks_up": 1, "repeats": 1, **waits}
    nobody = THERE._replace(is_known=False, is_ready=False, coordinates_transactions=False, newest=6)
    requests.address(stand.producer, FIND, nobody, stand.host, stand.effects, stand.notes)
    assert stand.wanted() == {"version": 6}, "any broker will do"


@pytest.mark.parametrize(("newest_init", "raises"), [(2, 0), (3, 1)])
def test_the_coordinator_shows_whether_it_raises_epochs(newest_init: int, raises: int, stand: Stand) -> None:
    there = THERE._replace(newest_init=newest_init)
    requests.address(stand.producer, ADD, there, stand.host, stand.effects, stand.notes)
    assert stand.producer.coordinator_raises == raises
    assert requests.can_raise_epoch(stand.producer, stand.host) == bool(raises)
    assert requests.can_raise_epoch(stand.producer, stand.host._replace(transactional=False))
    stand.producer.transaction_version = 2
    assert requests.can_raise_epoch(stand.producer, stand.host)


@pytest.mark.parametrize(
    ("request_", "newest", "version"),
    [
        (END, 5, 4),
        (END._replace(transaction_version=2), 5, 5),
        (END, 2, 2),
        (Request(ApiKey.INIT_PRODUCER_ID, 1, two_phase_commit=True), 6, 6),
        (Request(ApiKey.TXN_OFFSET_COMMIT, 1, names_member=True), 3, 3),
    ],
)
def test_the_version_in_which_a_request_leaves(request_: Request, newest: int, version: int, stand: Stand) -> None:
    there = THERE._replace(newest=newest)
    requests.address(stand.producer, request_, there, stand.host, stand.effects, stand.notes)
    assert stand.wanted() == {"version": version}


@pytest.mark.parametrize(
    ("request_", "newest"),
    [
        (END, NONE),
        (Request(ApiKey.INIT_PRODUCER_ID, 1, two_phase_commit=True), 5),
        (Request(ApiKey.TXN_OFFSET_COMMIT, 1, names_member=True), 2),
    ],
)
def test_what_no_version_can_say_is_the_end(request_: Request, newest: int, stand: Stand) -> None:
    there = THERE._replace(newest=newest)
    requests.address(stand.producer, request_, there, stand.host, stand.effects, stand.notes)
    assert stand.state == S.FATAL_ERROR
    assert stand.wanted()["unsupported"] == 1


@pytest.mark.parametrize(("version", "newest", "sent"), [(1, 13, 11), (2, 13, 12), (2, 9, 9), (1, NONE, NONE)])
def test_the_version_of_a_produce(version: int, newest: int, sent: int) -> None:
    assert requests.produce_version(Stand(S.IN_TRANSACTION, version).producer, newest) == sent


def test_at_its_end_everything_fails(stand: Stand) -> None:
    settle(stand.in_state(S.FATAL_ERROR))
    assert stand.wanted() == {"gives_up": 1, "fails_batches": 1}


def test_a_refused_initialisation_starts_over(stand: Stand) -> None:
    settle(stand.in_state(S.ABORTABLE_ERROR), starts_over=True)
    assert stand.wanted() == {"fails_batches": 1}
    assert stand.moves() == [(ProducerEvent.RESET, S.UNINITIALIZED)]


@pytest.mark.parametrize("state", [s for s in S if s != S.FATAL_ERROR], ids=lambda s: s.name)
def test_what_was_not_sent_fails_with_the_transaction(state: S, stand: Stand) -> None:
    settle(stand.in_state(state))
    fails = state in (S.ABORTABLE_ERROR, S.ABORTING_TRANSACTION)
    assert stand.wanted() == ({"fails_unsent": 1} if fails else {})


@pytest.mark.parametrize("state", [S.UNINITIALIZED, S.INITIALIZING])
def test_an_idempotent_producer_asks_for_an_identity_once(state: S, stand: Stand) -> None:
    stand.in_state(state).producer.producer_id = NONE
    stand.host = stand.host._replace(transactional=False)
    settle(stand)
    assert stand.wanted() == ({"sends_init": 1} if state == S.UNINITIALIZED else {})


def test_an_idempotent_producer_raises_its_epoch_itself(stand: Stand) -> None:
    stand.host = stand.host._replace(transactional=False)
    settle(stand, wants_bump=True)
    assert stand.wanted() == {"restarts": 1}
    assert (stand.producer.producer_id, stand.producer.producer_epoch, stand.moves()) == (7, 3, [])


def test_behind_the_largest_epoch_it_asks_for_another_producer_id(stand: Stand) -> None:
    stand.host = stand.host._replace(transactional=False)
    stand.producer.producer_epoch = PRODUCER_EPOCH_MAX
    settle(stand, wants_bump=True)
    assert stand.wanted() == {"restarts": 1, "sends_init": 1}
    assert (stand.producer.producer_id, stand.state) == (NONE, S.INITIALIZING)
    assert [event for event, _ in stand.moves()] == [ProducerEvent.RESET, ProducerEvent.INIT_TRANSACTIONS]
