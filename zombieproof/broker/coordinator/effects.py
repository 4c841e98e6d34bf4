"""What a transaction coordinator wants done: answers to give, and records to make durable.

Effects are data. Whoever hosts the coordinator carries them out in their order, at once or later, and tells the
coordinator the outcome of each append.
Source: reference §2.6, §2.17.
"""

from dataclasses import dataclass

from zombieproof.formats.batches import TransactionValue
from zombieproof.messages.transactions import TransactionAnswer


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to the request that was handed in with `ticket`."""

    ticket: int
    answer: TransactionAnswer


@dataclass(frozen=True, slots=True)
class Append:
    """One record for `partition` of ``__transaction_state``, prepared under `coordinator_epoch`.

    `value` None is a tombstone. `number` names the append within its coordinator: each is answered exactly once.
    """

    partition: int
    coordinator_epoch: int
    transactional_id: str
    value: TransactionValue | None
    number: int


Effect = Reply | Append
