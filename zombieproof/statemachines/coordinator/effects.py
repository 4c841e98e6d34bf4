"""What a coordinator's step wants done. A host clears the effects before a step and carries them out after it.

Source: reference §2.6, §2.17.
"""

from dataclasses import dataclass

from zombieproof.model.fields import integer
from zombieproof.model.vocabulary import NONE


@dataclass(slots=True)
class CoordinatorEffects:
    """The effects of one step, carried out in the order of the fields.

    Attributes:
        takes_producer_id: 1: the producer id that was handed in is used.
        lacks_producer_id: 1: one was needed and there was none.
        holds: 1: the transaction was not known and is from now on; `drops` 1: it is known no more.
        owes_end: 1: the owner is fenced, and the server's EndTxn (``ends.end_by_server``) is to be run.
        owes_look: 1: a decision is durable and in memory, and is to be looked at again (``ends.look_again``).
        ends_pass: 1: the sweep of time-outs ends here (X4, X5).
        appends: 1: `PendingTransition.target` is to be appended (a tombstone, if its operation is EXPIRE).
        retries: 1: the append of a completion is to be tried again.
        finishes: 1: the markers are through, or given up: nobody drives the transaction any more.
        replies: 1: who asked is answered with `error` (as the version of its request knows it), and with producer id
            and epoch; `ongoing_*` are those of a transaction that is kept (KIP-939).
        throws: 1: the handler of the whole request fails with that error.
        sends_markers: 1: the decision is durable: markers for `Transaction.partitions` set out, and the completion
            is looked at at once (there may be none).
    """

    takes_producer_id: int = 0
    lacks_producer_id: int = 0
    holds: int = 0
    drops: int = 0
    owes_end: int = 0
    owes_look: int = 0
    ends_pass: int = 0
    appends: int = 0
    retries: int = 0
    finishes: int = 0
    replies: int = 0
    throws: int = 0
    error: int = 0
    producer_id: int = integer(NONE)
    producer_epoch: int = integer(NONE)
    ongoing_producer_id: int = integer(NONE)
    ongoing_producer_epoch: int = integer(NONE)
    sends_markers: int = 0


def clear(effects: CoordinatorEffects) -> None:
    """Nothing is wanted."""
    effects.takes_producer_id = 0
    effects.lacks_producer_id = 0
    effects.holds = 0
    effects.drops = 0
    effects.owes_end = 0
    effects.owes_look = 0
    effects.ends_pass = 0
    effects.appends = 0
    effects.retries = 0
    effects.finishes = 0
    effects.replies = 0
    effects.throws = 0
    effects.error = 0
    effects.producer_id = NONE
    effects.producer_epoch = NONE
    effects.ongoing_producer_id = NONE
    effects.ongoing_producer_epoch = NONE
    effects.sends_markers = 0


def reply(effects: CoordinatorEffects, error: int, producer_id: int = NONE, producer_epoch: int = NONE) -> None:
    """Who asked is answered."""
    effects.replies = 1
    effects.error = error
    effects.producer_id = producer_id
    effects.producer_epoch = producer_epoch
