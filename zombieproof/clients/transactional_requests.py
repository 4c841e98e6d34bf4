"""What a producer asks of coordinators: the queue of such requests, and a request of any kind that has left.

Source: reference §5.3; ``TransactionManager.TxnRequestHandler``.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from zombieproof.clients.results import PendingResult
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.groups import FindCoordinator, OffsetToCommit, TxnOffsetCommit
from zombieproof.messages.partitions import Produce
from zombieproof.messages.transactions import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    EndTxn,
    InitProducerId,
)
from zombieproof.model.vocabulary import NONE, ApiKey
from zombieproof.statemachines.producer.records import Request
from zombieproof.statemachines.producer.requests import rank

GROUP, TRANSACTION = 0, 1
"""The two kinds of coordinators, as FindCoordinator numbers them."""

Body = FindCoordinator | InitProducerId | AddPartitionsToTxn | AddOffsetsToTxn | TxnOffsetCommit | EndTxn

API_OF: dict[type, ApiKey] = {
    FindCoordinator: ApiKey.FIND_COORDINATOR,
    InitProducerId: ApiKey.INIT_PRODUCER_ID,
    AddPartitionsToTxn: ApiKey.ADD_PARTITIONS_TO_TXN,
    AddOffsetsToTxn: ApiKey.ADD_OFFSETS_TO_TXN,
    TxnOffsetCommit: ApiKey.TXN_OFFSET_COMMIT,
    EndTxn: ApiKey.END_TXN,
    Produce: ApiKey.PRODUCE,
}


@dataclass(frozen=True, slots=True)
class GroupMetadata:
    """Whose offsets are committed: a group and, from TxnOffsetCommit 3 on, the member that consumes for it."""

    group: str
    generation: int = NONE
    member: str = ""
    instance: str | None = None

    @property
    def names_member(self) -> bool:
        """Whether it says more than the group."""
        return self.generation != NONE or self.member != "" or self.instance is not None


class PreparedTransaction(NamedTuple):
    """What an outer commit remembers of a prepared transaction (KIP-939): its producer id and epoch."""

    producer_id: int
    producer_epoch: int

    def __str__(self) -> str:
        """The text ``id:epoch``, as Kafka writes it."""
        return f"{self.producer_id}:{self.producer_epoch}"


@dataclass(slots=True)
class TransactionalRequest:
    """A request in the queue. `body` has version NONE until it is sent.

    `coordinator` is GROUP, TRANSACTION, or None where any broker will do. `offsets` and `group` belong to
    AddOffsetsToTxn: what is committed behind it. `unsettled` are the partitions of a TxnOffsetCommit
    whose offset is not known to be stored.
    """

    body: Body
    result: PendingResult
    coordinator: int | None = TRANSACTION
    transaction_version: int = 0
    raises_epoch: bool = False
    not_before_ms: int = 0
    offsets: tuple[OffsetToCommit, ...] = ()
    group: GroupMetadata | None = None
    unsettled: set[TopicPartition] = field(default_factory=set)

    @property
    def api(self) -> ApiKey:
        """Its API key."""
        return API_OF[type(self.body)]

    @property
    def view(self) -> Request:
        """The request as a step reads it."""
        body = self.body
        keeps = isinstance(body, InitProducerId) and body.keep_prepared
        return Request(
            api=self.api,
            transaction_version=self.transaction_version,
            committed=isinstance(body, EndTxn) and body.committed,
            raises_epoch=self.raises_epoch,
            keep_prepared=keeps,
            to_coordinator=self.coordinator is not None,
            names_member=self.group is not None and self.group.names_member,
            two_phase_commit=keeps or (isinstance(body, InitProducerId) and body.enable_2pc),
        )


@dataclass(frozen=True, slots=True)
class OutgoingRequest:
    """A request that has left. `node` None: any broker. An answer belongs to the `number` of its request."""

    number: int
    node: int | None
    body: Body | Produce
    sent_ms: int

    @property
    def api(self) -> ApiKey:
        """Its API key."""
        return API_OF[type(self.body)]


class RequestQueue:
    """The requests that wait, by Kafka's priority and, within one, in the order in which they came."""

    def __init__(self) -> None:
        self._requests: list[TransactionalRequest] = []

    def __iter__(self) -> Iterator[TransactionalRequest]:
        return iter(list(self._requests))

    def __len__(self) -> int:
        return len(self._requests)

    def put(self, request: TransactionalRequest) -> None:
        """One more request."""
        self._requests.append(request)
        self._requests.sort(key=lambda other: rank(other.view))

    @property
    def first(self) -> TransactionalRequest | None:
        """The one that leaves next."""
        return self._requests[0] if self._requests else None

    def remove(self, request: TransactionalRequest) -> None:
        """Remove this one, wherever it stands."""
        self._requests = [other for other in self._requests if other is not request]
