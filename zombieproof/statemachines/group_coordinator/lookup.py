"""Who answers for a group: the leader of its ``__consumer_offsets`` partition, once it has read the log (L1, L2).

Source: reference §2.5, §4.1; ``CoordinatorRuntime.java``.
"""

from zombieproof.model.decisions.find_coordinator import decide_lookup
from zombieproof.model.vocabulary import Error
from zombieproof.statemachines.notes import Decision, Notes, note


def look_up(is_loading: bool, is_held: bool, notes: Notes) -> int:
    """NONE, or why this broker does not answer for a partition of ``__consumer_offsets``."""
    verdict = decide_lookup(is_loading, is_held)
    if verdict.error != Error.NONE:
        note(notes, Decision.LOOKUP, verdict.row, verdict.error)
    return int(verdict.error)


def installs(loaded_epoch: int, leader_epoch: int) -> bool:
    """Whether a log that was read is answered from: the broker leads it under the epoch with which it was begun."""
    return loaded_epoch == leader_epoch
