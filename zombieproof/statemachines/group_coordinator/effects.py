"""What a step of the group coordinator wants done: plain numbers, which the driver carries out and then clears."""

from dataclasses import dataclass

from zombieproof.model.fields import integer


@dataclass(slots=True)
class GroupEffects:
    """What is to be done after a step; at most one of the first two is set.

    - `goes_on`: the commit goes on: from the front door to the leader of the group's partition, which may ask the
      transaction's coordinator (``partition_leader.verification``, `of_group`); from the judgement of its sender to the
      log of that partition (``partition_leader.batches.append``, of origin COORDINATOR).
    - `answers`: every partition that has no error of its own is told `error`; with `tells_all` the others are, too.

    `row` is the row of the ladder that answered.
    """

    goes_on: bool = False
    answers: bool = False
    error: int = 0
    row: int = integer(0, width="u1")
    tells_all: bool = False


def clear(effects: GroupEffects) -> None:
    """Nothing is to be done."""
    effects.goes_on = False
    effects.answers = False
    effects.error = 0
    effects.row = 0
    effects.tells_all = False


def answer(effects: GroupEffects, error: int, row: int) -> None:
    """The sender is told `error`."""
    effects.answers = True
    effects.error = error
    effects.row = row
