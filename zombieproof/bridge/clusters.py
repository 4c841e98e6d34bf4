"""The live clusters of twins: what travels between brokers only where a scenario asks for it travels one by one.

`TwinCluster` is for scenarios in which nothing of it does. In each of the others one thing travels: the questions of
leaders (`QueueingCluster`), appends to the log of coordinators (`AppendsCluster`), producer ids (`BlocksCluster`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.network import Message
from zombieproof.broker.cluster.node import Broker
from zombieproof.broker.cluster.transactions import Transactions
from zombieproof.broker.coordinator.coordinator import TransactionCoordinator
from zombieproof.broker.coordinator.effects import Append, Effect
from zombieproof.broker.coordinator.waiting import Waiter
from zombieproof.broker.partition.verification_channel import (
    Question,
    VerificationChannel,
    VerificationRequest,
    Verified,
)
from zombieproof.checker.transactions.vocabulary import Phase
from zombieproof.messages.controller import AllocateProducerIds, AllocateProducerIdsAnswer
from zombieproof.model.vocabulary import Error
from zombieproof.statemachines.coordinator.records import Operation, PendingTransition

COORDINATOR_NODES = (1, 2)
"""The brokers that may coordinate: nodes 0 and 1 of a state."""

OF_PRODUCER_IDS = AllocateProducerIds | AllocateProducerIdsAnswer

# ---------------------------------------------------------------- questions of leaders


@dataclass(slots=True)
class QuestionsAlone(VerificationChannel):
    """Each question travels at once and alone, as in the checker's state where no scenario asks for the queue."""

    nodes: dict[int, int] = field(default_factory=dict)

    def ask(self, node: int | None, question: Question) -> list[Verified]:
        """Let a question wait in a lane of its own."""
        if node is None:
            return VerificationChannel.ask(self, None, question)
        self.nodes[question.ticket] = node
        return VerificationChannel.ask(self, question.ticket, question)

    def drain(self) -> list[VerificationRequest]:
        """The requests to send now, each to the node that its question is for."""
        return [sent._replace(node=self.nodes.pop(sent.lane)) for sent in VerificationChannel.drain(self)]


class QueueingCluster(Cluster):
    """A cluster whose brokers have their producer ids when they start."""

    def _start(self, node: int, was_clean: bool) -> None:
        super()._start(node, was_clean)
        while ids := [message for message in self.network.in_flight if isinstance(message.body, OF_PRODUCER_IDS)]:
            self.deliver(ids[0])


class TwinCluster(QueueingCluster):
    """The same, and its brokers ask coordinators question by question."""

    def _start(self, node: int, was_clean: bool) -> None:
        super()._start(node, was_clean)
        _ask_one_by_one(self.brokers[node])


def _ask_one_by_one(broker: Broker) -> None:
    broker.writes.channel = QuestionsAlone(broker.software.rules, broker.writes.channel.journal)


# ---------------------------------------------------------------- appends to the transaction log


class LookBehind(NamedTuple):
    """A decision about an id that is durable and in memory, and is to be looked at again."""

    transactional_id: str
    pending: PendingTransition
    waiter: Waiter


class UnderWay(NamedTuple):
    """An append of a broker that is under way: how far, what the log has answered, what follows, who waits for it."""

    number: int
    transactional_id: str
    phase: Phase
    error: int
    pending: PendingTransition
    waiter: Waiter


class UnhurriedCoordinator(TransactionCoordinator):
    """A coordinator that looks again behind a decision when it is told to: `looks`, by the number of the append."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.looks: dict[int, LookBehind] = {}
        self._told = 0

    def appended(self, append: Append, error: int) -> list[Effect]:
        """The outcome of an append, without the look behind it."""
        self._told = append.number
        return super().appended(append, error)

    def _look_again(self, name: str, pending: PendingTransition, waiter: Waiter) -> list[Effect]:
        self.looks[self._told] = LookBehind(name, pending, waiter)
        return []

    def look(self, number: int) -> list[Effect]:
        """The look behind the decision that append `number` made durable."""
        return super()._look_again(*self.looks.pop(number))

    def mentioned_partitions(self) -> Iterator[int]:
        """The masks of partitions that are in memory here, also of decisions that are looked at later."""
        yield from super().mentioned_partitions()
        for behind in self.looks.values():
            yield behind.pending.target.partitions

    def is_at_log(self, transactional_id: str, coordinator_epoch: int) -> bool:
        """Whether a completion of an office is under way, or a decision of it is there and will be looked at again."""
        completions = [w for w in self._store._in_flight.values() if w.pending.operation == Operation.COMPLETE]
        found = [(each.append.transactional_id, each.pending.coordinator_epoch) for each in completions]
        found += [(name, pending.coordinator_epoch) for name, pending, _ in self.looks.values()]
        return (transactional_id, coordinator_epoch) in found

    def under_way(self, outcomes: Mapping[int, int]) -> Iterator[UnderWay]:
        """Every append that is not over; `outcomes` are those that the log has answered."""
        for number, waits in self._store._in_flight.items():
            phase = Phase.ANSWERED if number in outcomes else Phase.PREPARED
            error = outcomes.get(number, int(Error.NONE))
            yield UnderWay(number, waits.append.transactional_id, phase, error, waits.pending, waits.waiter)
        for number, (name, pending, waiter) in self.looks.items():
            yield UnderWay(number, name, Phase.COMPLETED, int(Error.NONE), pending, waiter)


@dataclass(slots=True)
class UnhurriedTransactions(Transactions):
    """The coordinator's desk where nothing is done before somebody says so: neither an append nor what follows it.

    `outcomes`: what the log has answered, by the number of the append. They are told by `tell`.
    """

    outcomes: dict[int, int] = field(default_factory=dict)

    def _appended(self, append: Append, error: int) -> list[Effect]:
        self.outcomes[append.number] = error
        return []

    def tell(self, number: int) -> None:
        """The coordinator handles what became of an append; behind a decision it looks again, when told once more."""
        coordinator = self.coordinator
        assert isinstance(coordinator, UnhurriedCoordinator), "both are put in together"
        if number in coordinator.looks:
            self.carry_out(coordinator.look(number))
            return
        append = coordinator._store._in_flight[number].append
        self.carry_out(Transactions._appended(self, append, self.outcomes.pop(number)))


class AppendsCluster(TwinCluster):
    """A cluster in which appends to the transaction log are made when somebody says so, and told of likewise."""

    def _start(self, node: int, was_clean: bool) -> None:
        super()._start(node, was_clean)
        broker, around = self.brokers[node], self._surroundings
        metadata, producer_ids = self.metadata, broker.producer_ids
        broker.coordinator = UnhurriedCoordinator(
            broker.software.rules,
            around.settings,
            around.clock,
            around.journal,
            broker.numbers,
            producer_ids,
            metadata,
        )
        broker.transactions = UnhurriedTransactions(
            broker.desk, metadata, broker.coordinator, producer_ids, around.software, holds_appends=True
        )


def transactions_of(broker: Broker) -> UnhurriedTransactions:
    """The desk of a broker of an `AppendsCluster`."""
    assert isinstance(broker.transactions, UnhurriedTransactions), "where appends travel every broker has such a desk"
    return broker.transactions


def appends_of(cluster: Cluster) -> dict[tuple[int, int], UnderWay]:
    """Every append that is under way, by the broker and its number there."""
    found = {}
    for node in COORDINATOR_NODES:
        broker = cluster.brokers[node]
        if isinstance(broker.coordinator, UnhurriedCoordinator):
            for each in broker.coordinator.under_way(transactions_of(broker).outcomes):
                found[node, each.number] = each
    return found


# ---------------------------------------------------------------- blocks of producer ids


class BlocksCluster(TwinCluster):
    """A cluster in which what coordinators and the controller say of producer ids waits in the network.

    No other broker ever needs a producer id: it hears nothing from the controller.
    """

    def _start(self, node: int, was_clean: bool) -> None:
        Cluster._start(self, node, was_clean)
        _ask_one_by_one(self.brokers[node])
        if node not in COORDINATOR_NODES:
            (asked,) = (each for each in self.network.in_flight if asker_of_block(each) == node)
            self.network.lose(asked)
            self.deliver(self.network.in_flight[-1])

    def settle(self) -> None:
        """Step until nothing is in flight but producer ids of coordinators."""
        while others := [each for each in self.network.in_flight if asker_of_block(each) not in COORDINATOR_NODES]:
            self.deliver(others[0])


def asker_of_block(message: Message) -> int | None:
    """Whose producer ids a message is about; None: it is about something else."""
    if isinstance(message.body, AllocateProducerIds):
        return message.sender
    return message.receiver if isinstance(message.body, AllocateProducerIdsAnswer) else None
