"""Deciding at a consumer that buffers: where it goes on from its checkpoint, and what it had delivered before.

Behaviour: a checkpoint is a tuple (o1, o2) and an optional third number. From o1 on it reads again; what ends before o2
is delivered, a plain message by its own offset and a transaction by that of its control record; of the transaction
whose control record is at o2, the records up to the third number are. What becomes of each record is decided where the
live consumer decides it (`zombieproof.model.decisions.consume`).
Source: reference §10.8.
"""

from typing import NamedTuple

from zombieproof.model.proposal2014.rules import Rules
from zombieproof.model.vocabulary import NONE, Isolation


class Reached(NamedTuple):
    """The o2 and the third number of a checkpoint; the third is NONE where nothing is partly delivered."""

    delivered_to: int
    partly: int


def reaches(position: int, partly: int, delivered_to: int, partly_before: int) -> Reached:
    """How far all is delivered to who stands at `position`; who reads again what he had got before has got no less."""
    if position > delivered_to:
        return Reached(position, partly)
    return Reached(delivered_to, max(partly, partly_before))


def starts_at(position: int, first_held: int, rules: Rules) -> int:
    """The o1 of a checkpoint: the first record of the earliest transaction that is held back (NONE: none), or o2."""
    if first_held == NONE or rules.restarts_at_first_pending == 0:
        return position
    return min(position, first_held)


def was_delivered(offset: int, delivered_to: int) -> bool:
    """Whether a plain message, or the transaction of a control record, was delivered before a restart."""
    return offset < delivered_to


def delivered_up_to(control: int, delivered_to: int, partly: int) -> int:
    """The last record of the transaction of a control record that was delivered before a restart; NONE: none was."""
    return int(partly if control == delivered_to else NONE)


def is_second_control(is_finished: bool, rules: Rules) -> bool:
    """Whether a control record is passed over, because the TxId had one."""
    return is_finished and rules.second_controls_are_ignored == 1


def isolation_of(is_committed: bool, rules: Rules) -> int:
    """Under which isolation a reader judges payload."""
    holds = is_committed and rules.buffering_starts_with_payload == 1
    return int(Isolation.READ_COMMITTED_BUFFERING if holds else Isolation.READ_UNCOMMITTED)
