"""Who waits for the outcome of an append: the tickets of requests, and the completions that nobody asked for.

What follows the outcome is not here but in the ``PendingTransition`` of the coordinator's machine.
"""

from dataclasses import dataclass, field

from zombieproof.broker.coordinator.markers import DecidedTransaction
from zombieproof.messages.transactions import TransactionAdded, TransactionToAdd
from zombieproof.statemachines.coordinator.records import PendingTransition


@dataclass(frozen=True, slots=True)
class Requester:
    """The request with `ticket`; of an AddPartitionsToTxn its transaction number `part`, which is `asked`."""

    ticket: int
    part: int = 0
    asked: TransactionToAdd | None = None


@dataclass(frozen=True, slots=True)
class Completing:
    """The completion of a transaction, with the time of its decision, that it carries."""

    transaction: DecidedTransaction
    decided_ms: int


Waiter = Requester | Completing | None
"""None: nobody waits (time-outs, tombstones)."""


@dataclass(frozen=True, slots=True)
class ServerEnd:
    """A transaction that is fenced and now has to be aborted by the server: I12 and X5 before their EndTxn."""

    transactional_id: str
    pending: PendingTransition
    waiter: Waiter


@dataclass(slots=True)
class Gathering:
    """An AddPartitionsToTxn whose transactions are answered one by one; the answer goes out with the last of them."""

    expected: int
    parts: dict[int, TransactionAdded] = field(default_factory=dict)
