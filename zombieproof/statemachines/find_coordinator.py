"""FindCoordinator, as any broker answers it from what it knows of the cluster (reference §2.5)."""

from typing import NamedTuple

from zombieproof.model.decisions.find_coordinator import decide_find_coordinator
from zombieproof.model.vocabulary import NONE, Error
from zombieproof.statemachines.notes import Decision, Notes, note


class Found(NamedTuple):
    """The node that coordinates a key; NONE with an error."""

    error: int
    node: int


def find_coordinator(topic_exists: bool, leader: int, key_type: int, notes: Notes) -> Found:
    """Who leads the partition in which a key lives is asked for it; `leader` NONE: nobody that lives."""
    verdict = decide_find_coordinator(topic_exists, leader != NONE, key_type)
    note(notes, Decision.FIND_COORDINATOR, verdict.row, verdict.error)
    return Found(verdict.error, leader if verdict.error == Error.NONE else NONE)
