"""A delivery step by step: the ways to its ends, and what is illegal."""

import pytest

from zombieproof.model.spark_sink.vocabulary import DeliveryState, Found, Purpose, ReaderState, Reply
from zombieproof.model.vocabulary import NONE
from zombieproof.statemachines.delivery import steps
from zombieproof.statemachines.micro_batch_reader import steps as reading
from zombieproof.statemachines.notes import MachineIndex, Notes, clear

D, U, F, A, X, G = Reply.DONE, Reply.UNKNOWN, Reply.FENCED, Reply.ABORTABLE, Reply.FATAL, Reply.GIVEN_UP
NOTHING = Found.NONE_DELIVERED


def end(*told: Reply | Found, purpose: Purpose = Purpose.DELIVER) -> DeliveryState:
    """Where a delivery ends (or waits) that is told this."""
    delivery, notes = steps.Delivery(), Notes()
    steps.begin(delivery, purpose, notes)
    for each in told:
        assert not steps.is_over(delivery), f"{each!r} comes behind the end"
        if isinstance(each, Found):
            steps.looked_up(delivery, each, notes)
        else:
            steps.answered(delivery, each, notes)
    assert notes.illegal == 0
    return DeliveryState(delivery.state)


@pytest.mark.parametrize(
    ("told", "state"),
    [
        ((D, NOTHING, D, D, D), "DELIVERED"),
        ((D, Found.SOME_DELIVERED, D, D, D), "DELIVERED"),
        ((U, U, D, U, NOTHING, D, D, U, U, D), "DELIVERED"),
        ((D, Found.ALL_DELIVERED), "FOUND_DELIVERED"),
        ((D, Found.NOT_COMPARABLE), "REFUSED"),
        ((F,), "FENCED"),
        ((D, NOTHING, F), "FENCED"),
        ((D, NOTHING, D, F), "FENCED"),
        ((D, NOTHING, D, D, F), "FENCED"),
        ((D, NOTHING, D, D, U, F), "FENCED"),
        ((D, NOTHING, A, D), "FAILED"),
        ((D, NOTHING, U, D), "FAILED"),
        ((D, NOTHING, D, A, U, D), "FAILED"),
        ((D, NOTHING, D, D, A, D), "FAILED"),
        ((D, NOTHING, D, D, A, F), "FENCED"),
        ((D, NOTHING, D, D, A, G), "FAILED"),
        ((D, NOTHING, D, D, U, G), "UNCERTAIN"),
        ((X,), "FAILED"),
        ((D, X), "FAILED"),
        ((D, NOTHING, D, D, X), "UNCERTAIN"),
        ((D, NOTHING, D, D), "COMMITTING"),
    ],
)
def test_a_delivery_ends_as_what_it_is_told_says(told: tuple[Reply | Found, ...], state: str) -> None:
    assert end(*told).name == state


@pytest.mark.parametrize(
    ("found", "state"),
    [(NOTHING, "KNOWN_ABSENT"), (Found.SOME_DELIVERED, "KNOWN_ABSENT"), (Found.ALL_DELIVERED, "FOUND_DELIVERED")],
)
def test_a_resolution_ends_with_the_look_up(found: Found, state: str) -> None:
    assert end(D, found, purpose=Purpose.RESOLVE).name == state


@pytest.mark.parametrize("state", list(DeliveryState))
def test_only_delivered_rows_are_called_so(state: DeliveryState) -> None:
    delivery = steps.Delivery(int(state))
    assert steps.is_in_the_output(delivery) == (state.name in {"DELIVERED", "FOUND_DELIVERED"})
    assert steps.is_over(delivery) == (state >= DeliveryState.DELIVERED)


def test_an_answer_to_nothing_is_illegal() -> None:
    delivery, notes = steps.Delivery(), Notes()
    steps.answered(delivery, Reply.UNKNOWN, notes)
    assert (delivery.state, notes.illegal) == (DeliveryState.NEW, MachineIndex.DELIVERY + 1)


def test_a_reader_plans_one_batch_behind_the_other() -> None:
    reader, notes = reading.Reader(), Notes()
    assert not reading.place(reader, NONE, notes)
    for _ in range(2):
        reading.plan(reader, notes)
        reading.finish(reader, notes)
    assert (reader.state, notes.illegal) == (ReaderState.PLACED, 0)
    reading.finish(reader, notes)
    assert notes.illegal == MachineIndex.MICRO_BATCH_READER + 1
    clear(notes, 0)
    reading.place(reader, 5, notes)
    assert notes.illegal == MachineIndex.MICRO_BATCH_READER + 1


def test_a_reader_goes_on_where_the_group_is_or_with_what_is_planned() -> None:
    placed, resumed, notes = reading.Reader(), reading.Reader(), Notes()
    assert reading.place(placed, 5, notes)
    reading.resume(resumed, notes)
    assert (placed.state, resumed.state, notes.illegal) == (ReaderState.PLACED, ReaderState.PLANNED, 0)
