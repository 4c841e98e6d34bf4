"""Several lanes of requests at one coordinator, in an order that is given.

One turn of a lane is one event: its next request is handled, or its append becomes durable. Markers are
written at once.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from tests.conformance.coordinator_scenario import ListedProducerIds
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.partition_numbers import PartitionNumbers
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.coordinator.coordinator import TransactionCoordinator
from zombieproof.broker.coordinator.effects import Append, Effect, Reply
from zombieproof.formats.batches import Batch, Record, TransactionValue
from zombieproof.formats.topics import TRANSACTION_STATE, TopicPartition
from zombieproof.messages.partitions import MarkerWritten, WriteTxnMarkersAnswer
from zombieproof.messages.transactions import (
    AddPartitionsToTxnAnswer,
    EndTxnAnswer,
    InitProducerIdAnswer,
    TransactionAnswer,
    TransactionRequest,
)
from zombieproof.model.records import Transaction
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, TransactionState

TOPIC_PARTITION: TopicPartition = ("topic", 0)
EVENTS_OF_A_REQUEST = 2
"""It is handled; its append becomes durable."""

Ask = Callable[["Lane"], TransactionRequest]
"""What a lane asks next, by what it knows by then."""


def interleavings(counts: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every order of the turns of some lanes; `counts` says how many each has."""
    if not any(counts):
        yield ()
    for lane, count in enumerate(counts):
        if count:
            left = [*counts[:lane], count - 1, *counts[lane + 1 :]]
            yield from ((lane, *rest) for rest in interleavings(left))


def some_orders(counts: Sequence[int], how_many: int, seed: int) -> Iterator[tuple[int, ...]]:
    """Some orders of the turns, the same ones every time."""
    chance = random.Random(seed)  # an order of a test, no secret
    turns = [lane for lane, count in enumerate(counts) for _ in range(count)]
    for _ in range(how_many):
        chance.shuffle(turns)
        yield tuple(turns)


@dataclass(slots=True)
class Lane:
    """One client: what it asks one after the other, what it was answered, and what it waits for."""

    transactional_id: str
    script: Sequence[Ask]
    answers: list[TransactionAnswer] = field(default_factory=list)
    asked: int = 0
    appends: list[Append] = field(default_factory=list)
    identity: tuple[int, int] | None = None

    @property
    def errors(self) -> list[int]:
        """The error of each answer."""
        return [error_of_answer(answer) for answer in self.answers]

    @property
    def granted(self) -> tuple[int, int]:
        """The identity to go by: that of `identity`, or what InitProducerId or EndTxn gave last."""
        if self.identity is not None:
            return self.identity
        for answer in reversed(self.answers):
            if isinstance(answer, InitProducerIdAnswer | EndTxnAnswer) and answer.producer_id != NONE:
                return answer.producer_id, answer.producer_epoch
        return NONE, NONE


def error_of_answer(answer: TransactionAnswer) -> int:
    """The error of an answer to one request about one partition."""
    if isinstance(answer, AddPartitionsToTxnAnswer):
        return next(iter(answer.transactions[0].errors.values())) if answer.transactions else answer.error
    assert isinstance(answer, InitProducerIdAnswer | EndTxnAnswer), "lanes ask nothing else"
    return answer.error


class Lanes:
    """A coordinator with some partitions of the transaction log, and the lanes that ask it.

    Args:
        rules: the rules in force.
        producer_ids: those that can be allocated; None: as many as are needed.
        partitions: how many partitions are loaded, each empty.
        place: the partition of an id.
    """

    def __init__(
        self,
        rules: Rules,
        producer_ids: Sequence[int] | None = None,
        partitions: int = 1,
        place: Callable[[str, int], int] = lambda name, count: 0,
    ) -> None:
        self.numbers = PartitionNumbers()
        self.metadata = Metadata(place_transactional_id=place)
        self.metadata.create(TRANSACTION_STATE, [(0,)] * partitions)
        self.metadata.create(TOPIC_PARTITION[0], [(0,)])
        self.coordinator = TransactionCoordinator(
            rules,
            Settings(),
            ManualClock(),
            Journal(),
            self.numbers,
            ListedProducerIds(producer_ids),
            self.metadata,
        )
        for partition in range(partitions):
            self.coordinator.load(partition, 0, [])
        self._tickets: dict[int, Lane] = {}

    def hold(self, transactional_id: str, record: Transaction) -> None:
        """The coordinator knows an id, as `record` says it."""
        _, partition = self.metadata.transaction_partition(transactional_id)
        value = TransactionValue(1, NONE, NONE, 0, NONE, 1, TransactionState.EMPTY, frozenset(), 0, NONE, 0)
        self.coordinator.load(partition, 0, [Batch(records=(Record(transactional_id, value),))])
        held = self.coordinator.entries(partition)[transactional_id]
        for name in Transaction.__dataclass_fields__:
            setattr(held, name, getattr(record, name))

    def entry(self, transactional_id: str) -> Transaction:
        """What is held of an id."""
        _, partition = self.metadata.transaction_partition(transactional_id)
        return self.coordinator.entries(partition).get(transactional_id, Transaction())

    def turn(self, lane: Lane) -> None:
        """The next event of a lane; nothing where it has none."""
        if lane.appends:
            appends, lane.appends = lane.appends, []
            for append in appends:
                self.carry_out(self.coordinator.appended(append, 0), None)
            self.write_markers()
        elif lane.asked < len(lane.script):
            ticket = len(self._tickets)
            self._tickets[ticket] = lane
            request = lane.script[lane.asked](lane)
            lane.asked += 1
            self.carry_out(self.coordinator.handle(request, ticket), lane)

    def carry_out(self, effects: Sequence[Effect], lane: Lane | None) -> None:
        """Answers reach their lanes; appends wait in `lane`, or are durable at once without one."""
        for effect in effects:
            if isinstance(effect, Reply):
                self._tickets[effect.ticket].answers.append(effect.answer)
            elif lane is None:
                self.carry_out(self.coordinator.appended(effect, 0), None)
            else:
                lane.appends.append(effect)

    def write_markers(self) -> None:
        """Every marker that is to be sent is written, and the completions are durable."""
        while True:
            requests, effects = self.coordinator.markers_to_send()
            self.carry_out(effects, None)
            if not requests:
                return
            for request in requests:
                markers = request.request.markers
                answer = WriteTxnMarkersAnswer(
                    tuple(MarkerWritten(each.producer_id, dict.fromkeys(each.partitions, 0)) for each in markers)
                )
                self.carry_out(self.coordinator.markers_answered(request.number, answer), None)
