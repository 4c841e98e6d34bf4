"""A transaction coordinator and the log under it: requests are asked, appends wait or are durable at once."""

from collections.abc import Iterable
from dataclasses import replace

from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.journal import KeptJournal
from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.partition_numbers import PartitionNumbers
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.coordinator.coordinator import TransactionCoordinator
from zombieproof.broker.coordinator.effects import Append, Effect, Reply
from zombieproof.broker.coordinator.producer_ids import ProducerIds
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE, TopicPartition
from zombieproof.messages.partitions import MarkerToWrite, MarkerWritten, WriteTxnMarkersAnswer
from zombieproof.messages.transactions import (
    AddPartitionsToTxn,
    AddPartitionsToTxnAnswer,
    DescribeTransactions,
    DescribeTransactionsAnswer,
    EndTxn,
    InitProducerId,
    TransactionAnswer,
    TransactionDescription,
    TransactionRequest,
    TransactionToAdd,
)
from zombieproof.model.records import Transaction
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE

NAME = "orders-1"
TOPIC = "t0"
FIRST, SECOND = (TOPIC, 0), (TOPIC, 1)
NODE = 1


class NoProducerIds(ProducerIds):
    """Nothing can be allocated."""

    def peek(self) -> int | None:
        """None."""
        return None

    def next(self) -> int | None:
        """None."""
        return None


class Host:
    """One coordinator with its log; `holds` makes appends wait for `finish`.

    Args:
        rules: the rules in force.
        producer_ids: where ids come from.
        settings: the broker's settings.
    """

    def __init__(
        self, rules: Rules | None = None, producer_ids: ProducerIds | None = None, settings: Settings | None = None
    ) -> None:
        self.clock, self.journal, self.metadata = ManualClock(), KeptJournal(), Metadata()
        self.metadata.create(TRANSACTION_STATE, [(NODE,)])
        self.metadata.create(CONSUMER_OFFSETS, [(NODE,)])
        self.metadata.create(TOPIC, [(NODE,), (NODE,)])
        self.coordinator = TransactionCoordinator(
            rules or Rules(),
            settings or Settings(),
            self.clock,
            self.journal,
            PartitionNumbers(),
            producer_ids or ProducerIds(first=4000),
            self.metadata,
        )
        self.log: list[Batch] = []
        self.waiting: list[Append] = []
        self.replies: dict[int, TransactionAnswer] = {}
        self.holds = False
        self._tickets = 0
        self.load(0)

    def load(self, coordinator_epoch: int) -> None:
        """The node becomes the coordinator and reads the log."""
        self.carry_out(self.coordinator.load(0, coordinator_epoch, list(self.log)))

    def carry_out(self, effects: Iterable[Effect]) -> None:
        """Answer, and append or let wait."""
        for effect in effects:
            if isinstance(effect, Reply):
                assert effect.ticket not in self.replies, "a request is answered once"
                self.replies[effect.ticket] = effect.answer
            elif self.holds:
                self.waiting.append(effect)
            else:
                self.make_durable(effect)

    def make_durable(self, append: Append, error: int = 0) -> None:
        """The outcome of an append; without `error` the record is in the log."""
        if error == 0:
            self.log.append(Batch(records=(Record(append.transactional_id, append.value),)))
        self.carry_out(self.coordinator.appended(append, error))

    def finish(self, error: int = 0) -> None:
        """The oldest append that waits has its outcome."""
        self.make_durable(self.waiting.pop(0), error)

    def send(self, request: TransactionRequest) -> int:
        """Ask without waiting for the answer; returned is the ticket."""
        self._tickets += 1
        self.carry_out(self.coordinator.handle(request, self._tickets))
        return self._tickets

    def ask(self, request: TransactionRequest) -> TransactionAnswer:
        """The answer to a request that is answered at once."""
        return self.replies[self.send(request)]

    def write_markers(self, error: int = 0) -> list[MarkerToWrite]:
        """Send what markers there are, and answer each with `error`; returned are the markers."""
        requests, effects = self.coordinator.markers_to_send()
        self.carry_out(effects)
        markers: list[MarkerToWrite] = []
        for sent in requests:
            markers += sent.request.markers
            rows = (
                MarkerWritten(each.producer_id, dict.fromkeys(each.partitions, error)) for each in sent.request.markers
            )
            self.carry_out(self.coordinator.markers_answered(sent.number, WriteTxnMarkersAnswer(tuple(rows))))
        return markers

    @property
    def entry(self) -> Transaction:
        """A copy of what the coordinator holds of `NAME`."""
        return replace(self.coordinator.entries(0)[NAME])

    def describe(self, name: str = NAME) -> TransactionDescription:
        """The row of DescribeTransactions."""
        answer = self.ask(DescribeTransactions(0, (name,)))
        assert isinstance(answer, DescribeTransactionsAnswer)
        return answer.transactions[0]

    def add(self, producer_id: int, producer_epoch: int, *partitions: TopicPartition, version: int = 3) -> int:
        """The error of AddPartitionsToTxn for `NAME`, the same for all partitions."""
        answer = self.ask(adding(producer_id, producer_epoch, *partitions, version=version))
        assert isinstance(answer, AddPartitionsToTxnAnswer)
        (error,) = {*answer.transactions[0].errors.values()}
        return error


def taking(
    producer_id: int = NONE, producer_epoch: int = NONE, name: str | None = NAME, version: int = 4
) -> InitProducerId:
    """InitProducerId."""
    return InitProducerId(version, name, 60_000, producer_id, producer_epoch)


def adding(
    producer_id: int, producer_epoch: int, *partitions: TopicPartition, name: str = NAME, version: int = 3
) -> AddPartitionsToTxn:
    """AddPartitionsToTxn for one transaction."""
    return AddPartitionsToTxn(version, (TransactionToAdd(name, producer_id, producer_epoch, partitions),))


def ending(producer_id: int, producer_epoch: int, committed: bool, version: int = 5) -> EndTxn:
    """EndTxn."""
    return EndTxn(version, NAME, producer_id, producer_epoch, committed)
