"""What a step of the partition leader wants done: plain numbers, which the driver carries out and then clears."""

from dataclasses import dataclass

from zombieproof.model.fields import integer
from zombieproof.model.vocabulary import NONE


@dataclass(slots=True)
class PartitionEffects:
    """What is to be done after a step. At most one of the first four is so; what stands behind them says what exactly.

    - `asks`: the batch waits with `guard`, and the coordinator is asked; its word goes to ``verification.concludes``.
      With `takes_token` the guard is the token that the host gave: it is as old as this step.
    - `goes_on`: the batch comes to the log at once, or when the rest of its request does, with `guard`.
    - `appends`: it is written to the log now; `event` is what its producer id does when it is (``batches.appended``,
      ``markers.appended``).
    - `answers`: its sender is told `error`, which was `cause` before it was translated. With error NONE the batch is in
      the log already, and `duplicate_of` is its last offset. `tells_log_start`: the answer says where the log starts.

    `row` is the row of the ladder that answered. `ended_from` is where the transaction begins that a marker has ended,
    or NONE.
    """

    asks: bool = False
    goes_on: bool = False
    appends: bool = False
    answers: bool = False
    guard: int = 0
    takes_token: bool = False
    event: int = 0
    row: int = integer(0, width="u1")
    error: int = 0
    cause: int = 0
    duplicate_of: int = NONE
    tells_log_start: bool = False
    ended_from: int = NONE


def clear(effects: PartitionEffects) -> None:
    """Nothing is to be done."""
    effects.asks = False
    effects.goes_on = False
    effects.appends = False
    effects.answers = False
    effects.guard = 0
    effects.takes_token = False
    effects.event = 0
    effects.row = 0
    effects.error = 0
    effects.cause = 0
    effects.duplicate_of = NONE
    effects.tells_log_start = False
    effects.ended_from = NONE


def answer(effects: PartitionEffects, error: int, row: int) -> None:
    """The sender is told `error`, as it is."""
    effects.answers = True
    effects.error = error
    effects.cause = error
    effects.row = row
