"""What may change places: the slots of attempts, and two partitions whose tasks commit by themselves.

With a partition its task changes places, and the transactional id that the task has. After a shuffle a task has rows of
both partitions, two reads of one partition share its position, and a two-phase sink ends the transactions of tasks in
their order: there they do not. Drivers do not either, because the first one starts where none runs.
"""

from typing import Final

from zombieproof.checker.engine.sorts import Sort, renamed
from zombieproof.checker.spark_sink.state import (
    ATTEMPTS,
    PARTITIONS,
    RECORDS,
    Attempt,
    Decided,
    Driver,
    Group,
    Range,
    Reads,
    Setup,
    Sink,
    State,
    Transaction,
    Work,
)

_SLOTS: Final = Sort("attempts", ATTEMPTS, arrays={(State, "attempts"): 1})


def sorts_of(setup: Setup) -> tuple[Sort, ...]:
    """The attempts, where no id belongs to a slot; the partitions, where nothing is done in their order."""
    if setup.sink not in (Sink.PARTITION, Sink.TWO_PHASE):
        return ()
    if (
        setup.sink == Sink.TWO_PHASE
        or setup.shuffled == 1
        or setup.partitions < PARTITIONS
        or setup.reads != Reads.PARTITIONS
    ):
        return (_SLOTS,)
    return (_SLOTS, _PARTITIONS)


def exchange(attempt: Attempt, i: int, j: int) -> None:
    """Two partitions change places in an attempt, if there is one."""
    if attempt.driver != 0:
        attempt.task = renamed(attempt.task, i, j, 0, 1)
        attempt.work.transactional_id = renamed(attempt.work.transactional_id, i, j, 0, 1)


_PARTITIONS: Final = Sort(
    "partitions",
    PARTITIONS,
    arrays={
        (Range, "first"): 1,
        (Range, "past"): 1,
        (Work, "start"): 1,
        (Transaction, "positions"): 1,
        (Group, "positions"): 1,
        (Group, "generations"): 1,
        (Driver, "epochs"): 1,
        (Decided, "epochs"): 1,
        (State, "output"): RECORDS,
        (State, "transactions"): 1,
    },
    masks={
        (Work, "rows"): RECORDS,
        (Transaction, "rows"): RECORDS,
        (Group, "rows"): RECORDS,
        (Group, "expired"): 1,
        (Driver, "reported"): 1,
        (Driver, "ended"): 1,
    },
    special={Attempt: exchange},
)
