"""The questions of a broker to the coordinators of transactions: which of them waits, and what comes back (KIP-890).

Theory of operation: to each coordinator node there is a `Lane`. One question of each transactional id waits in it
(`asks`): a later one takes its place, or is refused. What waits leaves in one request, and there is one under way
(`goes_out`). When that has come back, or never will, the next one leaves (`ends`). What comes back, from the
coordinator or from the channel to it, is one error for each partition (`word`), which ``verification`` judges.
Source: reference §3.4 (steps 3 to 5); ``AddPartitionsToTxnManager.java``.
"""

from dataclasses import dataclass
from typing import NamedTuple

from zombieproof.model.decisions.verification import (
    ChannelFailure,
    QueueVerdict,
    answer_of_broker_channel,
    answer_of_coordinator,
    answer_of_failed_channel,
    asks_what_waits,
    decide_queue,
    version_of_verification,
)
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, Error, Mode, Row
from zombieproof.statemachines.notes import Decision, Notes, note

DISCONNECTED = ChannelFailure.DISCONNECTED

__all__ = [
    "DISCONNECTED",
    "ChannelFailure",
    "Incoming",
    "Lane",
    "Returned",
    "answered",
    "asks",
    "ends",
    "forget",
    "goes_out",
    "only_verifies",
    "version_of",
    "word",
]


@dataclass(slots=True)
class Lane:
    """The way from a broker to one coordinator node: how many questions wait, and whether a request is under way.

    `mode` is that of the question that waits first, `mode_under_way` that of the request: by it all its answers are
    translated. `sends`: what waits is to leave now.
    """

    waiting: int = 0
    under_way: bool = False
    mode: int = 0
    mode_under_way: int = 0
    sends: bool = False


class Incoming(NamedTuple):
    """A question that comes; `queued_epoch` is that of the question that waits for the same id, or NONE."""

    queued_epoch: int
    epoch: int
    mode: int


class Returned(NamedTuple):
    """What came back of a request: a failure of the channel (NONE: an answer), and the error of the whole answer."""

    failure: int
    error: int


def asks(lane: Lane, has_coordinator: bool, question: Incoming) -> QueueVerdict:
    """A question comes to its lane: it waits there, alone of its id, or is refused at once."""
    if not has_coordinator:
        return QueueVerdict(int(Error.NONE), int(Error.COORDINATOR_NOT_AVAILABLE))
    verdict = decide_queue(question.queued_epoch, question.epoch)
    if verdict.error_of_incoming == Error.NONE:
        if lane.waiting == 0:
            lane.mode = question.mode
        if question.queued_epoch == NONE:
            lane.waiting += 1
        lane.sends = not lane.under_way
    return verdict


def goes_out(lane: Lane) -> None:
    """All that waits leaves, in one request."""
    lane.under_way = True
    lane.mode_under_way = lane.mode
    lane.waiting = 0
    lane.mode = 0
    lane.sends = False


def ends(lane: Lane, rules: Rules) -> int:
    """The request under way has come back, or never will: the mode of its answers. What waits is next."""
    mode = int(lane.mode_under_way)
    lane.under_way = False
    lane.mode_under_way = 0
    if asks_what_waits(lane.waiting, rules):
        lane.sends = True
    return mode


def forget(lane: Lane) -> None:
    """The broker is gone, and what it has asked and wanted to ask with it."""
    lane.waiting = 0
    lane.under_way = False
    lane.mode = 0
    lane.mode_under_way = 0
    lane.sends = False


def version_of(rules: Rules) -> int:
    """The version of AddPartitionsToTxn that goes out."""
    return version_of_verification(rules)


def only_verifies(mode: int) -> bool:
    """Whether a question of this mode adds nothing."""
    return mode != Mode.ADD


def word(returned: Returned, error: int, mode: int, notes: Notes) -> int:
    """What a leader is told of one partition; `error` is the coordinator's answer for it, where there is one."""
    if returned.failure != NONE:
        return answered(answer_of_failed_channel(returned.failure), notes)
    if returned.error != Error.NONE:
        return answered(answer_of_broker_channel(returned.error), notes)
    return answered(answer_of_coordinator(error, mode), notes)


def answered(error: int, notes: Notes) -> int:
    """What a leader is told by the channel itself: of a question that was refused, or gave its place to another."""
    note(notes, Decision.VERIFICATION, Row.NO_ROW, error)
    return int(error)
