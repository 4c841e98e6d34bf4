"""A transaction coordinator alone, with an injected clock, for the suites of its parts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.partition_numbers import PartitionNumbers
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.coordinator.coordinator import TransactionCoordinator
from zombieproof.broker.coordinator.producer_ids import ProducerIds
from zombieproof.formats.batches import Batch, Record, TransactionValue
from zombieproof.formats.topics import TRANSACTION_STATE, TopicPartition
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, TransactionState


@dataclass(slots=True)
class CoordinatorHost:
    """A coordinator and what it stands on; `places` says in which log partition an id lives (0 for all others)."""

    rules: Rules
    places: Mapping[str, int] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)
    clock: ManualClock = field(default_factory=ManualClock)
    numbers: PartitionNumbers = field(default_factory=PartitionNumbers)
    metadata: Metadata = field(init=False)
    coordinator: TransactionCoordinator = field(init=False)

    def __post_init__(self) -> None:
        places = self.places
        self.metadata = Metadata(place_transactional_id=lambda name, _: places.get(name, 0))
        self.metadata.create(TRANSACTION_STATE, [(0,)] * (1 + max(places.values(), default=0)))
        self.coordinator = TransactionCoordinator(
            self.rules, self.settings, self.clock, Journal(), self.numbers, ProducerIds(), self.metadata
        )


def value(
    producer_id: int,
    state: TransactionState,
    partitions: Iterable[TopicPartition] = (),
    *,
    producer_epoch: int = 0,
    timeout_ms: int = 1000,
    start_ms: int = 0,
    last_update_ms: int = 0,
    client_transaction_version: int = 0,
) -> TransactionValue:
    """The value of a record of the transaction log."""
    return TransactionValue(
        producer_id=producer_id,
        previous_producer_id=NONE,
        next_producer_id=NONE,
        producer_epoch=producer_epoch,
        last_producer_epoch=NONE,
        timeout_ms=timeout_ms,
        state=state,
        partitions=frozenset(partitions),
        last_update_ms=last_update_ms,
        start_ms=start_ms,
        client_transaction_version=client_transaction_version,
    )


def batch(offset: int, transactional_id: str, record: TransactionValue | None) -> Batch:
    """A batch of one record of the transaction log."""
    return Batch(records=(Record(transactional_id, record),), base_offset=offset)
