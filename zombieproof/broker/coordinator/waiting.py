"""What a coordinator goes on with when an append has its outcome: plain data, one kind for each operation.

Source: reference §2.7 to §2.14 (what each operation does after its append).
"""

from dataclasses import dataclass

from zombieproof.broker.coordinator.markers import DecidedTransaction
from zombieproof.messages.transactions import TransactionAdded, TransactionToAdd


@dataclass(frozen=True, slots=True)
class IdRequest:
    """A request as decisions see it (``records.TransactionRequest``): `partitions` is a mask."""

    version: int
    producer_id: int
    producer_epoch: int
    committed: int = 0
    partitions: int = 0


@dataclass(frozen=True, slots=True)
class Grant:
    """InitProducerId: what its record says is granted when it is durable."""

    ticket: int
    version: int


@dataclass(frozen=True, slots=True)
class Join:
    """AddPartitionsToTxn: part number `part` of the request has joined."""

    ticket: int
    part: int
    asked: TransactionToAdd


@dataclass(frozen=True, slots=True)
class JoinOffsets:
    """AddOffsetsToTxn."""

    ticket: int
    version: int


@dataclass(frozen=True, slots=True)
class EndedByClient:
    """Who ended a transaction: a client's EndTxn of `version`."""

    ticket: int
    version: int


@dataclass(frozen=True, slots=True)
class EndedByInit:
    """Who ended a transaction: InitProducerId of `version`, which fenced its owner (I12)."""

    ticket: int
    version: int


@dataclass(frozen=True, slots=True)
class EndedByTimeout:
    """Who ended a transaction: the coordinator, because it was open for too long (X5)."""


EndedBy = EndedByClient | EndedByInit | EndedByTimeout


@dataclass(frozen=True, slots=True)
class ServerEnd:
    """A transaction that is fenced and now has to be aborted under `producer_epoch`: I12 and X5 before their EndTxn."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    ended_by: EndedBy


@dataclass(frozen=True, slots=True)
class Decide:
    """EndTxn: when the decision is durable, look again, answer, and send the markers. `fences`: a fence preceded it."""

    request: IdRequest
    fences: bool
    ended_by: EndedBy


@dataclass(frozen=True, slots=True)
class Complete:
    """Every marker is written, and the completion is on its way; it carries the time at which the decision was made."""

    transaction: DecidedTransaction
    decided_ms: int


@dataclass(frozen=True, slots=True)
class Expire:
    """The tombstone of an id that nobody used."""


Purpose = Grant | Join | JoinOffsets | Decide | Complete | Expire


@dataclass(slots=True)
class Gathering:
    """An AddPartitionsToTxn whose transactions are answered one by one; the answer goes out with the last of them."""

    version: int
    parts: list[TransactionAdded | None]
