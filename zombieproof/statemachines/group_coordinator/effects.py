"""What a step of the group coordinator wants done: plain numbers, which the driver carries out and then clears."""

from dataclasses import dataclass

from zombieproof.model.fields import integer


@dataclass(slots=True)
class GroupEffects:
    """What is to be done after a step; at most one of the first two is 1.

    - `goes_on`: the commit goes on: from the front door to the leader of the group's partition, which may ask the
      transaction's coordinator (``partition_leader.verification``, `of_group`); from the judgement of its sender to the
      log of that partition (``partition_leader.batches.append``, of origin COORDINATOR).
    - `answers`: every partition that has no error of its own is told `error`; with `tells_all` the others are, too.

    `row` is the row of the ladder that answered.
    """

    goes_on: int = 0
    answers: int = 0
    error: int = 0
    row: int = integer(0, width="u1")
    tells_all: int = 0


def clear(effects: GroupEffects) -> None:
    """Nothing is to be done."""
    effects.goes_on = 0
    effects.answers = 0
    effects.error = 0
    effects.row = 0
    effects.tells_all = 0


def answer(effects: GroupEffects, error: int, row: int) -> None:
    """The sender is told `error`."""
    effects.answers = 1
    effects.error = error
    effects.row = row
