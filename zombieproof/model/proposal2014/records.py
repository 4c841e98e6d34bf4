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
class Known:
    """What a coordinator or leader has in memory of a producerId: the newest generation (-1: none).

    Of a coordinator also which instance is connected with it (1 + its number; 0: nobody), and whether it was closed.
    """

    generation: int = -1
    connected: int = 0
    closed: bool = False
