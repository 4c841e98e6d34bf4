"""The questions of a broker to the coordinators of transactions: which of them waits, and what comes back (KIP-890).

Theory of operation: one question waits for each transactional id at each coordinator node (`asks`); what comes back,
from the coordinator or from the channel to it, is one error for each partition (`word`), which ``verification`` judges.
Source: reference §3.4 (steps 3 to 5); ``AddPartitionsToTxnManager.java``.
"""

from typing import NamedTuple

from zombieproof.model.decisions.verification import (
    ChannelFailure,
    QueueVerdict,
    answer_of_broker_channel,
    answer_of_coordinator,
    answer_of_failed_channel,
    decide_queue,
    version_of_verification,
)
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, Error, Guard, Mode
from zombieproof.statemachines.notes import Decision, Notes, note

DISCONNECTED = ChannelFailure.DISCONNECTED

__all__ = ["DISCONNECTED", "ChannelFailure", "Returned", "asks", "only_verifies", "version_of", "word"]


class Returned(NamedTuple):
    """What came back of a request: a failure of the channel (NONE: an answer), and the error of the whole answer."""

    failure: int
    error: int


def asks(has_coordinator: int, queued_epoch: int, epoch: int) -> QueueVerdict:
    """A question comes; `queued_epoch` is that of the question that waits for the same id, or NONE."""
    if has_coordinator == 0:
        return QueueVerdict(int(Error.NONE), int(Error.COORDINATOR_NOT_AVAILABLE))
    return decide_queue(queued_epoch, epoch)


def version_of(rules: Rules) -> int:
    """The version of AddPartitionsToTxn that goes out."""
    return version_of_verification(rules)


def only_verifies(mode: int) -> bool:
    """Whether a question of this mode adds nothing."""
    return mode != Mode.ADD


def word(returned: Returned, error: int, mode: int, notes: Notes) -> int:
    """What a leader is told of one partition; `error` is the coordinator's answer for it, where there is one."""
    if returned.failure != NONE:
        told = answer_of_failed_channel(returned.failure)
    elif returned.error != Error.NONE:
        told = answer_of_broker_channel(returned.error)
    else:
        told = answer_of_coordinator(error, mode)
    note(notes, Decision.VERIFICATION, Guard.NO_GUARD, told)
    return told
