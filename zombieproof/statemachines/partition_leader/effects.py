"""What a step of the partition leader wants done: plain numbers, which the driver carries out and then clears."""

from dataclasses import dataclass

from zombieproof.model.fields import integer
from zombieproof.model.vocabulary import NONE


@dataclass(slots=True)
class PartitionEffects:
    """What is to be done after a step. At most one of the first four is 1; what stands behind them says what exactly.

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

    asks: int = 0
    goes_on: int = 0
    appends: int = 0
    answers: int = 0
    guard: int = 0
    takes_token: int = 0
    event: int = 0
    row: int = integer(0, width="u1")
    error: int = 0
    cause: int = 0
    duplicate_of: int = NONE
    tells_log_start: int = 0
    ended_from: int = NONE


def clear(effects: PartitionEffects) -> None:
    """Nothing is to be done."""
    effects.asks = 0
    effects.goes_on = 0
    effects.appends = 0
    effects.answers = 0
    effects.guard = 0
    effects.takes_token = 0
    effects.event = 0
    effects.row = 0
    effects.error = 0
    effects.cause = 0
    effects.duplicate_of = NONE
    effects.tells_log_start = 0
    effects.ended_from = NONE


def answer(effects: PartitionEffects, error: int, row: int) -> None:
    """The sender is told `error`, as it is."""
    effects.answers = 1
    effects.error = error
    effects.cause = error
    effects.row = row
