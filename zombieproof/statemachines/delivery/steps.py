"""The steps of a delivery: its host does what `asks` says, and hands in what came of it.

    begin(delivery, Purpose.DELIVER, notes)
    while not is_over(delivery):
        # LOOKING_UP: read what is committed    -> looked_up(delivery, found, notes)
        # CLAIMING: make what other modes of the query have open impossible;
        # FENCING: take the transactional id; SENDING_ROWS, SENDING_OFFSETS: into the open transaction;
        # COMMITTING, ABORTING: end it          -> answered(delivery, reply, notes), as does a look-up that failed

What a look-up found is told by `find_by_positions` (with `first_to_send` for each partition) or `find_by_identity`.
The checker and the Spark sink are hosts of the same steps.
"""

from dataclasses import dataclass

from zombieproof.model.spark_sink.delivering import (
    decide_found,
    decide_reply,
    find_by_identity,
    find_by_positions,
    first_to_send,
    is_fenced,
    is_of_another_write,
    is_progress_lost,
    is_to_be_claimed,
)
from zombieproof.model.spark_sink.planning import is_exact_for
from zombieproof.model.spark_sink.vocabulary import DeliveryEvent, DeliveryState, Purpose
from zombieproof.statemachines.notes import MachineIndex, Notes, move

__all__ = [
    "Delivery",
    "answered",
    "begin",
    "find_by_identity",
    "find_by_positions",
    "first_to_send",
    "is_exact_for",
    "is_fenced",
    "is_in_the_output",
    "is_of_another_write",
    "is_over",
    "is_progress_lost",
    "is_to_be_claimed",
    "looked_up",
]


@dataclass(slots=True)
class Delivery:
    """A delivery: its state, and what it is for."""

    state: int = int(DeliveryState.NEW)
    purpose: int = int(Purpose.DELIVER)


def begin(delivery: Delivery, purpose: int, notes: Notes) -> None:
    """A new delivery: the transactional id is to be taken."""
    delivery.purpose = purpose
    delivery.state = move(notes, MachineIndex.DELIVERY, delivery.state, int(DeliveryEvent.BEGIN))


def answered(delivery: Delivery, reply: int, notes: Notes) -> None:
    """What was asked for has its reply (`Reply`); a look-up that succeeded goes to `looked_up`."""
    event = decide_reply(int(delivery.state), reply)
    delivery.state = move(notes, MachineIndex.DELIVERY, delivery.state, event)


def looked_up(delivery: Delivery, found: int, notes: Notes) -> None:
    """What is committed was read and compared with the rows (`Found`)."""
    event = decide_found(int(delivery.purpose), found)
    delivery.state = move(notes, MachineIndex.DELIVERY, delivery.state, event)


def is_over(delivery: Delivery) -> bool:
    """Whether nothing more is to be done."""
    return delivery.state >= DeliveryState.DELIVERED


def is_in_the_output(delivery: Delivery) -> bool:
    """Whether all rows are known to be committed, each once."""
    return delivery.state in (DeliveryState.DELIVERED, DeliveryState.FOUND_DELIVERED)
