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
        takes_producer_id: the producer id that was handed in is used.
        lacks_producer_id: one was needed and there was none.
        holds: the transaction was not known and is from now on; `drops`: it is known no more.
        owes_end: the owner is fenced, and the server's EndTxn (``ends.end_by_server``) is to be run.
        owes_look: a decision is durable and in memory, and is to be looked at again (``ends.look_again``).
        ends_pass: the sweep of time-outs ends here (X4, X5).
        appends: `PendingTransition.target` is to be appended (a tombstone, if its operation is EXPIRE).
        retries: the append of a completion is to be tried again.
        finishes: the markers are through, or given up: nobody drives the transaction any more.
        replies: who asked is answered with `error` (as the version of its request knows it), and with producer id
            and epoch; `ongoing_*` are those of a transaction that is kept (KIP-939).
        throws: the handler of the whole request fails with that error.
        sends_markers: the decision is durable: markers for `Transaction.partitions` set out, and the completion
            is looked at at once (there may be none).
    """

    takes_producer_id: bool = False
    lacks_producer_id: bool = False
    holds: bool = False
    drops: bool = False
    owes_end: bool = False
    owes_look: bool = False
    ends_pass: bool = False
    appends: bool = False
    retries: bool = False
    finishes: bool = False
    replies: bool = False
    throws: bool = False
    error: int = 0
    producer_id: int = integer(NONE)
    producer_epoch: int = integer(NONE)
    ongoing_producer_id: int = integer(NONE)
    ongoing_producer_epoch: int = integer(NONE)
    sends_markers: bool = False


def clear(effects: CoordinatorEffects) -> None:
    """Nothing is wanted."""
    effects.takes_producer_id = False
    effects.lacks_producer_id = False
    effects.holds = False
    effects.drops = False
    effects.owes_end = False
    effects.owes_look = False
    effects.ends_pass = False
    effects.appends = False
    effects.retries = False
    effects.finishes = False
    effects.replies = False
    effects.throws = False
    effects.error = 0
    effects.producer_id = NONE
    effects.producer_epoch = NONE
    effects.ongoing_producer_id = NONE
    effects.ongoing_producer_epoch = NONE
    effects.sends_markers = False


def reply(effects: CoordinatorEffects, error: int, producer_id: int = NONE, producer_epoch: int = NONE) -> None:
    """Who asked is answered."""
    effects.replies = True
    effects.error = error
    effects.producer_id = producer_id
    effects.producer_epoch = producer_epoch
