"""The records of the 2014 proposal that decisions read."""

from dataclasses import dataclass

from zombieproof.model.proposal2014.vocabulary import TransactionState


@dataclass(slots=True)
class Transaction:
    """What a coordinator has in memory of a TxId: who began it, for which partitions (bits), who has acknowledged."""

    state: int = int(TransactionState.NONE)
    producer: int = 0
    generation: int = 0
    partitions: int = 0
    acknowledged: int = 0
    has_timeout: bool = False


@dataclass(slots=True)
class KnownProducer:
    """What a coordinator has in memory of a producerId.

    Attributes:
        generation: the newest that it has heard of; -1: none.
        connected: 1 + the number of the instance that is connected with it; 0: nobody.
        closed: whether two were, so that both connections are closed.
    """

    generation: int = -1
    connected: int = 0
    closed: bool = False
