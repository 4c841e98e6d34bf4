"""The actions of the 2014 proposal, by number."""

from enum import IntEnum
from typing import Final

from zombieproof.checker.proposal2014.state import INSTANCES, LATE
from zombieproof.model.proposal2014.records import DATA, PARTITIONS, TRANSACTIONS


class Action(IntEnum):
    """The kinds of actions; those from LOSE_ANSWER on may happen and need not, each within a budget."""

    GO_ON = 0
    """An instance starts, gets ready, asks for something, or is answered."""
    TELL = 1
    """A leader is told that a transaction has begun."""
    CONTROL = 2
    """A leader appends a control record, and acknowledges it."""
    EXPIRE = 3
    """What nobody is in any more is aborted: the connection was closed, or its time is over."""
    ARRIVE = 4
    """A late request arrives."""
    READ = 5
    """A reader reads a record, or hands over one that was held back."""
    LOSE_ANSWER = 6
    BE_LATE = 7
    LOSE_ACKNOWLEDGEMENT = 8
    TIME_OUT = 9
    ABORT = 10
    CRASH = 11
    FAIL_OVER = 12
    CHANGE_LEADER = 13
    CHECKPOINT_WATERMARK = 14
    APPEND_PLAIN = 15
    CHECKPOINT_READER = 16
    CRASH_READER = 17
    CLEAN = 18


_PLACES: Final = PARTITIONS * TRANSACTIONS
_SUBJECTS: Final = {
    Action.GO_ON: INSTANCES,
    Action.TELL: _PLACES,
    Action.CONTROL: _PLACES,
    Action.EXPIRE: TRANSACTIONS,
    Action.ARRIVE: LATE,
    Action.READ: DATA,
    Action.LOSE_ANSWER: INSTANCES,
    Action.BE_LATE: INSTANCES,
    Action.LOSE_ACKNOWLEDGEMENT: _PLACES,
    Action.TIME_OUT: TRANSACTIONS,
    Action.ABORT: INSTANCES,
    Action.CRASH: INSTANCES,
    Action.FAIL_OVER: 1,
    Action.CHANGE_LEADER: PARTITIONS,
    Action.CHECKPOINT_WATERMARK: 1,
    Action.APPEND_PLAIN: DATA,
    Action.CHECKPOINT_READER: DATA,
    Action.CRASH_READER: DATA,
    Action.CLEAN: PARTITIONS,
}
ACTIONS: Final = tuple((int(kind), i) for kind in Action for i in range(_SUBJECTS[kind]))
"""Action -> its kind, and who or what it is about: a place is TxId * PARTITIONS + partition."""

FAULTS: Final = frozenset(n for n, (kind, _) in enumerate(ACTIONS) if kind >= Action.LOSE_ANSWER)
"""What may happen, and need not."""

FIRST_TASK: Final = {
    Action.GO_ON: 1,
    Action.TELL: 1 + INSTANCES,
    Action.CONTROL: 1 + INSTANCES + _PLACES,
    Action.EXPIRE: 1 + INSTANCES + 2 * _PLACES,
    Action.ARRIVE: 1 + INSTANCES + 2 * _PLACES + TRANSACTIONS,
    Action.READ: 1 + INSTANCES + 2 * _PLACES + TRANSACTIONS + LATE,
}
TASKS: Final = tuple(FIRST_TASK[Action(kind)] + i if Action(kind) in FIRST_TASK else 0 for kind, i in ACTIONS)
"""Action -> who has to act: an instance, what a leader is told or asked, a time-out, a late request, a reader."""
