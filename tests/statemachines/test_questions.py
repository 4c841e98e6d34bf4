"""The way from a broker to a coordinator node: what waits, what leaves, what comes back."""

import pytest

from zombieproof.model.rules import Rules, with_switches
from zombieproof.model.vocabulary import NONE, Error, Mode
from zombieproof.statemachines.notes import Decision, Notes
from zombieproof.statemachines.partition_leader import questions
from zombieproof.statemachines.partition_leader.questions import Incoming, Lane, Returned

RULES = Rules()


def first(mode: Mode = Mode.ADD) -> Incoming:
    return Incoming(NONE, 4, mode)


def busy() -> Lane:
    """A request is under way, by the mode DEFAULT."""
    lane = Lane()
    questions.asks(lane, True, first(Mode.DEFAULT))
    questions.goes_out(lane)
    return lane


def test_a_question_leaves_at_once_where_nothing_is_under_way() -> None:
    lane = Lane()
    assert questions.asks(lane, True, first()) == (Error.NONE, Error.NONE)
    assert lane == Lane(waiting=1, mode=Mode.ADD, sends=True)
    questions.goes_out(lane)
    assert lane == Lane(under_way=True, mode_under_way=Mode.ADD)


def test_it_waits_while_a_request_is_under_way_and_leaves_when_that_ends() -> None:
    lane = busy()
    questions.asks(lane, True, first())
    assert (lane.waiting, lane.sends) == (1, 0)
    assert questions.ends(lane, RULES) == Mode.DEFAULT
    assert lane == Lane(waiting=1, mode=Mode.ADD, sends=True)


def test_where_nothing_waits_nothing_leaves() -> None:
    lane = busy()
    questions.ends(lane, RULES)
    assert lane == Lane()


def test_without_the_rule_what_waits_is_forgotten_until_somebody_asks() -> None:
    lane = busy()
    questions.asks(lane, True, first())
    questions.ends(lane, with_switches(RULES, off=["questions_follow"]))
    assert (lane.waiting, lane.under_way, lane.sends) == (1, 0, 0)


def test_the_mode_is_that_of_the_question_that_waits_first() -> None:
    lane = busy()
    for mode in (Mode.GENERIC, Mode.ADD):
        questions.asks(lane, True, first(mode))
    assert (lane.waiting, lane.mode) == (2, Mode.GENERIC)


@pytest.mark.parametrize(
    ("epoch", "of_queued", "of_incoming"),
    [
        (4, Error.NETWORK_EXCEPTION, Error.NONE),
        (5, Error.INVALID_PRODUCER_EPOCH, Error.NONE),
        (3, Error.NONE, Error.INVALID_PRODUCER_EPOCH),
    ],
)
def test_one_question_of_an_id_waits(epoch: int, of_queued: Error, of_incoming: Error) -> None:
    lane = busy()
    questions.asks(lane, True, first())
    assert questions.asks(lane, True, Incoming(4, epoch, Mode.ADD)) == (of_queued, of_incoming)
    assert lane.waiting == 1


def test_without_a_coordinator_nothing_waits() -> None:
    lane = Lane()
    assert questions.asks(lane, False, first()) == (Error.NONE, Error.COORDINATOR_NOT_AVAILABLE)
    assert lane == Lane()


def test_a_broker_that_is_gone_forgets_its_lanes() -> None:
    lane = busy()
    questions.asks(lane, True, first())
    questions.forget(lane)
    assert lane == Lane()


@pytest.mark.parametrize(
    ("returned", "error", "mode", "told"),
    [
        (Returned(NONE, 0), Error.PRODUCER_FENCED, Mode.ADD, Error.INVALID_PRODUCER_EPOCH),
        (Returned(NONE, 0), Error.TRANSACTION_ABORTABLE, Mode.DEFAULT, Error.INVALID_TXN_STATE),
        (Returned(NONE, Error.CLUSTER_AUTHORIZATION_FAILED), Error.NONE, Mode.ADD, Error.INVALID_TXN_STATE),
        (Returned(questions.DISCONNECTED, 0), Error.NONE, Mode.ADD, Error.NETWORK_EXCEPTION),
    ],
)
def test_what_a_leader_is_told_is_noted(returned: Returned, error: Error, mode: Mode, told: Error) -> None:
    notes = Notes()
    assert questions.word(returned, error, mode, notes) == told
    assert notes.decision_count == 1
    assert (notes.decisions[0].decision, notes.decisions[0].error) == (Decision.VERIFICATION, told)
